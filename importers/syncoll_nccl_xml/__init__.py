"""NCCL and RCCL topology XML: both libraries write it with ``NCCL_TOPO_DUMP_FILE``.

One importer reads both: RCCL has ``xgmi`` links where NCCL has ``nvlink``, and another attribute
for the generation of a GPU.  The file states which it is.
"""

import re

from syncoll.plugins import CLUSTER_OPTIONS, NETWORK_OPTION, ImporterRecord, Option

# No comment matches in two ways: otherwise a file of many comments would take for ever.
_START = re.compile(
    r"\s*(<\?xml[^>]*>\s*)?(<!--((?!-->).)*-->\s*)*<(system|graphs)[\s>]", re.DOTALL
)


RECORD = ImporterRecord(
    name="nccl-xml",
    summary="NCCL and RCCL topology XML: a job run with NCCL_TOPO_DUMP_FILE=FILE writes it",
    load="syncoll_nccl_xml.importer:NcclXmlImporter",
    # Also NCCL's files of rings and trees, for a good error from the importer.
    recognises=lambda text: _START.match(text.removeprefix("\ufeff")[:20_000]) is not None,
    options=(
        NETWORK_OPTION,
        Option(
            "link",
            "",
            "bandwidth of one NVLink or xGMI link and direction, such as 25GB/s; by default as "
            "NCCL and RCCL assume for the GPU",
        ),
        Option(
            "socket",
            "",
            "bandwidth between two CPUs and direction, such as 20GB/s; by default as NCCL "
            "assumes for the CPU",
        ),
        *CLUSTER_OPTIONS,
    ),
)
