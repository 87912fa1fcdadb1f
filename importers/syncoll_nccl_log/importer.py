"""A machine from the lines that NCCL prints of it (``ncclTopoPrint`` in ``src/graph/topo.cc``).

::

    === System : maxBw 48.0 totalBw 370.8 ===
    CPU/0-0 (1/2/-1)
    + SYS[16.0] - CPU/0-1
    + PCI[48.0] - PCI/0-65000 (104c823200000000)
                  + PCI[48.0] - NIC/0-67000
                                + NET[50.0] - NET/0-c (0/d4f9fc0003ae6d94/1/50.000000)
                  + PCI[48.0] - GPU/0-68000 (8)
                                + NVL[370.8] - NVS/0-0
    ==========================================

A line's links belong to the device that begins in the column of its plus.  Bandwidths are GB/s.
Only links of PCIe are printed once, below their upper end.
"""

import re
from fractions import Fraction

from syncoll.importing import Machine, TextError
from syncoll.plugins import Imported, NetworkCard, Options
from syncoll.wording import counted

_INFO = re.compile(r"^(.*?(?:NCCL|RCCL) INFO )?(.*)$")
_SYSTEM = re.compile(r"\s*=== System : maxBw ")
_END = re.compile(r"\s*={20,}\s*$")
_ROOT = re.compile(r"([A-Z]{3})/([0-9A-Fa-f-]+)")
_LINK = re.compile(
    r"( *)\+ ([A-Z0-9]{3,5})\[([0-9]{1,7}(?:\.[0-9]{1,3})?)\] - ([A-Z]{3})/([0-9A-Fa-f-]+)(.*)"
)
_RANK = re.compile(r"\s*\((\d{1,7})\)\s*$")
_LABELS = {"NVL": "NVLink", "XGMI": "xGMI", "C2C": "C2C", "SYS": "between CPUs", "PCI": "PCIe"}
_HOST = ("SYS", "C2C")
_Lines = list[tuple[int, str]]
_REMEDY = (
    "the lines of one rank from `=== System` to `=====`, of a job that runs with NCCL_DEBUG=INFO "
    "and NCCL_DEBUG_SUBSYS=INIT,GRAPH; or the file of NCCL_TOPO_DUMP_FILE=topo.xml (importer "
    "nccl-xml)"
)


class NcclLogImporter:
    """Reads the system of a log that is whole first."""

    def read(self, text: str, label: str, options: Options) -> Imported:
        """See `syncoll.plugins.Importer`."""
        whole, cut = _systems(text)
        if not whole:
            why = "this is a log of NCCL without a whole system: it is cut off"
            raise TextError(why if cut else "no line `=== System`", _REMEDY)
        reader = _Reader(whole[0], Machine(options, label, "importer nccl-log"))
        first, *rest = ([line for _, line in system] for system in whole)
        others = [system for system in rest if system != first]
        if others:
            reader.machine.note(
                f"Left out: {counted(len(others), 'other system')} in the log, of other ranks."
            )
        return reader.imported()


def _systems(text: str) -> tuple[list[_Lines], dict[str, _Lines]]:
    """The numbered lines of each whole system, and of the others by their prefixes."""
    whole: list[_Lines] = []
    cut: dict[str, _Lines] = {}
    for number, raw in enumerate(text.split("\n"), 1):
        match = _INFO.match(raw.rstrip())
        assert match is not None
        prefix, rest = match[1] or "", match[2]
        if _SYSTEM.match(rest):
            cut[prefix] = []
        elif prefix in cut and _END.match(rest):
            whole.append(cut.pop(prefix))
        elif prefix in cut:
            cut[prefix].append((number, rest))
    return whole, cut


class _Reader:
    def __init__(self, lines: _Lines, machine: Machine) -> None:
        self.machine = machine
        self.kinds: set[str] = set()
        self.gpus: list[tuple[int, str, str]] = []
        self.listed: set[str] = set()
        self.above: dict[str, tuple[str, Fraction]] = {}
        self.cards: list[tuple[str, str, Fraction]] = []
        self.links: list[tuple[str, str, str, Fraction]] = []
        columns: dict[int, str] = {}
        for number, line in lines:
            if line.strip():
                self._line(number, line, columns)

    def _line(self, number: int, line: str, columns: dict[int, str]) -> None:
        root = _ROOT.match(line)
        if root is not None:
            columns.clear()
            columns[0] = key = f"{root[1]}/{root[2]}"
            self._list(key, number, line)
            return
        match = _LINK.fullmatch(line)
        owner = columns.get(len(match[1])) if match else None
        rate = Fraction(match[3]) if match else Fraction(0)
        if match is None or owner is None or not rate or ("NIC/" in owner and match[2] != "NET"):
            what = "belongs to no device above" if match and rate else "is no link of a device"
            raise TextError(f"a line that {what}", _REMEDY, number, line)
        indent, kind, _, device, name, rest = match.groups()
        key = f"{device}/{name}"
        if kind == "NET":
            self.cards.append((key, owner, rate))
        elif kind == "PCI":
            self._list(key, number, line)
            self.above[key] = owner, rate
            for column in [column for column in columns if column > len(indent)]:
                del columns[column]
            columns[match.start(4)] = key
            if device == "GPU":
                rank = _RANK.fullmatch(rest)
                self.gpus.append((int(rank[1]) if rank else len(self.gpus), key, rest.strip()))
        else:
            self._list(f"{owner} - {key} {kind}", number, line)  # else a device's line is lost
            self.links.append((owner, key, kind, rate))

    def _list(self, key: str, number: int, line: str) -> None:
        if key in self.listed:
            raise TextError(f"{key} occurs twice", _REMEDY, number, line)
        self.listed.add(key)

    def imported(self) -> Imported:
        machine = self.machine
        for _, key, rank in sorted(self.gpus):
            machine.node(key, f"{key} {rank}".strip())
        for _, key, kind, _ in self.links:
            if not key.startswith("NVS/") and key not in self.listed:
                raise TextError(f"a link to {key}, which is not listed", _REMEDY)
            self.kinds.add(kind)
        for key, (owner, rate) in self.above.items():
            if not key.startswith("NIC/"):
                machine.join(key, owner, rate, "PCIe", below=True)
        pairs = {(one, other) for one, other, *_ in self.links}
        for one, other, kind, rate in self.links:
            switch = other.startswith("NVS/")
            if not switch and (other, one) not in pairs:
                raise TextError(f"a link from {one} to {other}, and none back", _REMEDY)
            if switch:
                machine.names[other] = "NVSwitch"
            host = kind in _HOST or "CPU/" in one + other
            machine.join(one, other, rate, _LABELS.get(kind, kind), both_ways=switch, host=host)
        for key, owner, rate in self.cards:
            at, lanes = self.above.get(owner, (owner, None))
            machine.card(NetworkCard(key, (), rate, lanes=lanes), at)
        joined = {owner for _, owner, _ in self.cards}
        bare = [key for key in self.above if key.startswith("NIC/") and key not in joined]
        if self.cards and bare:
            machine.note(f"Left out: {', '.join(bare)}, without a line of its network (NET).")
        direct = "xGMI links" if "XGMI" in self.kinds else "NVLinks"
        host = machine.takes_host(direct, "NCCL leaves out GPUs that the job did not use")
        machine.note("Bandwidths are those by which NCCL chose its rings and trees, from its log.")
        return machine.imported(
            host=host,
            thin=True,
            interconnect="xGMI" if "XGMI" in self.kinds else "NVLink",
            shared=[key for key in machine.names if str(key).startswith("NVS/")],
        )
