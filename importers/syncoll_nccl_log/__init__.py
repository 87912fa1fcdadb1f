"""The log of NCCL and RCCL, written with ``NCCL_DEBUG=INFO`` and ``NCCL_DEBUG_SUBSYS=GRAPH``."""

import re

from syncoll.plugins import CLUSTER_OPTIONS, NETWORK_OPTION, ImporterRecord

_SYSTEM = re.compile(
    r"=== System : maxBw|\+ (?:PCI|NVL|NET|SYS|XGMI)\[[\d.]+\] - [A-Z]+/|NCCL INFO "
)

RECORD = ImporterRecord(
    name="nccl-log",
    summary="the lines from `=== System` on in a log of NCCL or RCCL "
    "(NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=GRAPH), of one rank",
    load="syncoll_nccl_log.importer:NcclLogImporter",
    recognises=lambda text: _SYSTEM.search(text, 0, 2_000_000) is not None,
    options=(NETWORK_OPTION, *CLUSTER_OPTIONS),
)
