"""Fabrics that join hosts: ``ibnetdiscover`` of InfiniBand, and ``topology.conf`` of SLURM."""

import re

from syncoll.plugins import ImporterRecord, Option

_GLANCE = 200_000
_DEVICE = re.compile(r'^(?:Switch|Ca|Rt)\s+\d+\s+"[SHR]-[0-9a-f]+"', re.MULTILINE)
_SLURM = re.compile(
    r"^[ \t]*(?:(?:SwitchName|BlockName)\s*=\s*\S+\s+\w+\s*=|BlockSizes\s*=)",
    re.MULTILINE | re.IGNORECASE,
)
_UNKNOWN = "; without any speed, each link carries one chunk per round"

IBNETDISCOVER = ImporterRecord(
    name="ibnetdiscover",
    summary="the InfiniBand fabric that `ibnetdiscover` prints",
    load="syncoll_fabrics.infiniband:IbnetdiscoverImporter",
    recognises=lambda text: _DEVICE.search(text, 0, _GLANCE) is not None,
    options=(
        Option("link", "", "speed of cables for which none is printed, such as 400Gb/s" + _UNKNOWN),
    ),
)
SLURM = ImporterRecord(
    name="slurm",
    summary="SLURM's topology.conf, of switches or blocks",
    load="syncoll_fabrics.slurm:SlurmImporter",
    recognises=lambda text: _SLURM.search(text, 0, _GLANCE) is not None,
    options=(
        Option("link", "", "speed from a node to its switch or block, such as 200Gb/s" + _UNKNOWN),
        Option("uplink", "", "speed between switches, and from a block to the others"),
    ),
)
RECORDS = (IBNETDISCOVER, SLURM)
