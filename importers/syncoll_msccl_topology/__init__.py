"""MSCCL topology JSON: input of msccl-tools' ``msccl`` command and output of its encoder."""

import re

from syncoll.plugins import ImporterRecord

_TYPE = re.compile(r'"msccl_type"\s*:\s*"topology"')


RECORD = ImporterRecord(
    name="msccl-topology",
    summary="topology JSON of msccl-tools: links in chunks per round, and switches that cap sums",
    load="syncoll_msccl_topology.importer:MscclTopologyImporter",
    recognises=lambda text: _TYPE.search(text) is not None,
)
