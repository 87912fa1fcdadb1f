"""The XML of hwloc: ``lstopo --of xml topo.xml``."""

import re

from syncoll.plugins import CLUSTER_OPTIONS, NETWORK_OPTION, ImporterRecord, Option

_MARKS = (re.compile(r"<topology[\s>]"), re.compile(r'<object type="(?:Machine|System)"'))

RECORD = ImporterRecord(
    name="lstopo",
    summary="hwloc's XML that `lstopo --of xml` writes",
    load="syncoll_lstopo.importer:LstopoImporter",
    recognises=lambda text: all(mark.search(text, 0, 20_000) for mark in _MARKS),
    options=(
        NETWORK_OPTION,
        Option("pcie", "31.5", "speed of PCIe links for which the file has none"),
        Option("socket", "16", "speed between two CPUs and direction"),
        *CLUSTER_OPTIONS,
    ),
)
