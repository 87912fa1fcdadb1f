"""``npu-smi info -t topo`` of Ascend and ``xpu-smi topology -m`` of Intel.

Both have the matrix of `Grammar` without speeds.  Ascend: ``HCCS`` is a link, ``HCCS_SW`` leads to
a switch, ``SIO`` joins the dies of a chip (Ascend's documentation of ``aclrtGetDevicesTopo``).
Intel: ``MDF`` joins the tiles of a card, ``XL16`` is 16 lanes of Xe Link, and ``XL*`` a way over
the other tile (CLI guide of XPU Manager).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from syncoll.importing import Machine, speed_option
from syncoll.plugins import Imported, Options
from syncoll_smi.grammar import Grammar, affinities
from syncoll_smi.matrices import groups, lines_of
from syncoll_smi.options import pcie_option
from syncoll_smi.pcie import LEVELS, add_pcie

_SWITCHED = "HCCS switch"


@dataclass(frozen=True)
class MatrixImporter:
    """Reads a matrix; `speeds` has the option for each kind of link, and glued names `spelt`."""

    owner: str
    grammar: Grammar
    speeds: Mapping[str, str]
    spelt: tuple[str, str] = (r"$^", "")

    def read(self, text: str, label: str, options: Options) -> Imported:
        """See `syncoll.plugins.Importer`."""
        grammar, command = self.grammar, self.grammar.command
        matrix = grammar.matrix(lines_of(re.sub(*self.spelt, text)))
        if len(matrix.names) < 2:
            only = f"{matrix.names[0]} is the only {grammar.noun}; a collective needs at least two"
            raise matrix.header.wrong(only)
        cells = grammar.cells(matrix)
        rates = {
            kind: speed_option(options, option, self.owner) for kind, option in self.speeds.items()
        }
        machine = Machine()
        for device, name in enumerate(matrix.names):
            machine.node(device, name)
        for pair, kind in cells.kinds.items():
            rate, count = rates.get(kind), cells.counts[pair]
            if kind and kind != _SWITCHED:
                what = kind if count == 1 else f"{count} lanes of {kind}"
                machine.join(*pair, rate and rate * count, what)
        switched = [pair for pair, kind in cells.kinds.items() if kind == _SWITCHED]
        for group in groups(switched, len(matrix.names)):
            for device in group if len(group) > 1 else ():
                machine.switch(("switch", group[0]), _SWITCHED)
                machine.join(device, ("switch", group[0]), rates[_SWITCHED], _SWITCHED)
        over = sum(not kind for kind in cells.kinds.values())
        if over:
            machine.note(f"{over} of {len(matrix.pairs)} pairs have no link, but ways over others.")
        host, _ = add_pcie(
            machine,
            matrix,
            cells.levels,
            lambda: affinities(matrix, command),
            pcie_option(options, self.owner),
            ("links", "have no link"),
        )
        kinds = dict.fromkeys(kind for kind in cells.kinds.values() if kind)
        missing = dict.fromkeys(self.speeds[kind] for kind in kinds if rates[kind] is None)
        machine.speeds(None, " and ".join(f"option {one}=28GB/s" for one in missing))
        for kind in kinds:
            if rate := rates[kind]:
                speed = f"{float(rate):g} GB/s in each direction (option {self.speeds[kind]})"
                machine.note(f"{kind}: {speed}.")
        return machine.imported(host=host)


def npu_smi() -> MatrixImporter:
    """The importer of Ascend's matrix."""
    grammar = Grammar(
        "npu-smi info -t topo",
        "NPU",
        re.compile(r"(?:NPU|Phy-ID)\d{1,4}"),
        re.compile(r"(?:NPU|Phy-ID)\d{1,4}"),
        "X",
        {"HCCS": re.compile("HCCS"), "SIO": re.compile("SIO"), _SWITCHED: re.compile("HCCS_SW")},
        LEVELS,
        "one of HCCS, HCCS_SW, SIO",
    )
    speeds = {"HCCS": "link", _SWITCHED: "link", "SIO": "sio"}
    return MatrixImporter("importer npu-smi", grammar, speeds)


def xpu_smi() -> MatrixImporter:
    """The importer of Intel's matrix."""
    device = re.compile(r"GPU\d{1,4}(?:/\d{1,2})?")
    links = {
        "Xe Link": re.compile(r"XL(\d{1,3})"),
        "MDF": re.compile("MDF"),
        "": re.compile(r"XL\*"),
    }
    grammar = Grammar(
        "xpu-smi topology -m",
        "GPU ",
        device,
        device,
        "S",
        links,
        LEVELS,
        "MDF, XL with the number of lanes, XL*, or one of",
    )
    speeds = {"Xe Link": "link", "MDF": "mdf"}
    return MatrixImporter("importer xpu-smi", grammar, speeds, (r"\bGPU (?=\d+(?:/\d+)?\b)", "GPU"))
