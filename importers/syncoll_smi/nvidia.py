"""``nvidia-smi topo -m``: for each pair of GPUs the number of NVLinks, or how PCIe joins them.

A matrix has neither speeds nor switches.  With NVSwitches every pair shows all NVLinks of a GPU, so
that a GPU seems to have more than any GPU has, which reveals NVSwitches.  The number is then the
total of each GPU, not of each pair.  Pairs with four NVLinks are bridges of workstation cards.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import combinations

from syncoll.importing import Machine, TextError, used_cards, wants_cards
from syncoll.plugins import Imported, NetworkCard, Options
from syncoll_smi.grammar import Cells, Grammar, affinities
from syncoll_smi.islands import MOST_NVLINKS, islands
from syncoll_smi.matrices import DeviceMatrix, Line, lines_of
from syncoll_smi.options import Pcie, link_speed, pcie_option
from syncoll_smi.pcie import LEVELS, Level, add_pcie

_OWNER = "importer nvidia-smi"
_COMMAND = "nvidia-smi topo -m"
_PCIE_ONLY = re.compile(r"nvidia-smi\s.{0,80}?(?:-mp\b|--matrix_pci\b)")
_LEVELS = {**LEVELS, "SOC": Level.SOCKETS}
_GRAMMAR = Grammar(
    _COMMAND,
    "GPU",
    re.compile(r"GPU\d{1,4}"),
    re.compile(r"[A-Za-z]\w*\d\w*"),
    "X",
    {"NVLink": re.compile(r"NV(\d{1,2})")},
    _LEVELS,
    "NV with the number of NVLinks, or one of PIX",
)
_GRACE = re.compile(r"(\d+)-(\d+)")
_TRAYS = 18
"""Of a rack of GB200 or GB300: 18 trays of four GPUs share their NVSwitches."""


class NvidiaSmiImporter:
    """Reads the matrix of ``nvidia-smi topo -m``."""

    def read(self, text: str, label: str, options: Options) -> Imported:
        """See `syncoll.plugins.Importer`."""
        lines = lines_of(text)
        matrix = _GRAMMAR.matrix(lines)
        boxes = int(options["boxes"])
        if len(matrix.names) < 2 and boxes == 1:
            raise matrix.header.wrong(
                f"{matrix.names[0]} is the only GPU; a collective needs at least two",
                "several GPUs, or boxes=2 and the speed of the network cards that join such boxes",
            )
        cells = _GRAMMAR.cells(matrix)
        tray = _is_tray(matrix, cells)
        looks, why = _looks(cells, tray)
        pcie = pcie_option(options, _OWNER, looks)
        speed = link_speed(options, _OWNER, looks)
        hidden = (
            "" if cells.counts or len(matrix.names) < 2 else _hides_nvlinks(lines, matrix, pcie)
        )
        found = islands(matrix, cells.counts, str(options["nvswitch"]))
        machine = Machine(options, label, _OWNER)
        for gpu, name in enumerate(matrix.names):
            machine.node(gpu, name)
        for island in found:
            island.add(machine, speed.rate)
        if hidden:
            machine.note(hidden)
        if found:
            because = why if options["gpu"] == "auto" and not speed.given else ""
            machine.note(
                f"Each NVLink carries {float(speed.rate):g} GB/s in each direction, "
                f"{speed.reason}{because}; the matrix has no speeds."
            )
            machine.notes += [text for island in found for text in island.notes(matrix.names)]
        switches = [("NVSwitch", island.gpus[0]) for island in found if island.ports]
        domain = _TRAYS if tray and switches else 1
        cards, levels = _cards(matrix, lines, _legend(lines))
        words = "NVLinks", "have no NVLinks, and no link"
        host, _ = add_pcie(
            machine,
            matrix,
            {**cells.levels, **levels},
            lambda: affinities(matrix, _COMMAND),
            pcie,
            words,
            cards,
            used_cards(cards, options, label, _OWNER) if wants_cards(options, domain) else (),
        )
        return machine.imported(host=host, interconnect="NVLink", shared=switches, domain=domain)


def _looks(cells: Cells, tray: bool) -> tuple[str, str]:
    """The model of GPU that a matrix looks like, and why in words; empty if any."""
    counts = set(cells.counts.values())
    ends = [gpu for pair in cells.counts for gpu in pair]
    if tray:
        return "b200", ": 18 NVLinks at CPUs of 72 cores are a tray of GB200"
    if counts == {4} and len(set(ends)) == len(ends):
        return "a6000", ": pairs with 4 NVLinks are bridges of such cards"
    if max(counts, default=0) == MOST_NVLINKS:
        return "h100", "; 18 NVLinks are an H100's or a B200's, which has 50 GB/s (gpu=b200)"
    return "", ""


def _is_tray(matrix: DeviceMatrix, cells: Cells) -> bool:
    """Whether these are the four GPUs of two Grace CPUs in a rack whose NVSwitches are outside."""
    cores = [_GRACE.fullmatch(rest[0]) if rest else None for rest in matrix.rest]
    return (
        len(cores) == 4
        and all(core and (int(core[1]) % 72, int(core[2]) % 72) == (0, 71) for core in cores)
        and len(cells.counts) == 6
        and set(cells.counts.values()) == {MOST_NVLINKS}
    )


def _hides_nvlinks(lines: Sequence[Line], matrix: DeviceMatrix, pcie: Pcie) -> str:
    """A note if a matrix without NVLinks may be from ``nvidia-smi topo -mp``, else empty.

    That command prints only PCIe, even on machines with NVLinks.  Only the legend differs: with
    ``-m`` it explains ``NV#`` after ``PIX``.  (Drivers that have ``SOC`` in place of ``SYS`` may be
    older than NVLink, and explain it in neither.)
    """
    legend = {line.words[0] for line in lines if len(line.words) > 2 and line.words[1] == "="}
    if "NV#" in legend:
        return ""
    above = lines[: matrix.header.number]
    command = next((line for line in above if _PCIE_ONLY.search(line.text)), None)
    if command is None and not legend >= {"SYS", "PIX"}:
        return (
            "No pair of GPUs has NVLinks here. If the machine has some, this was printed by "
            f"`nvidia-smi topo -mp`, which leaves them out; `{_COMMAND}` shows them."
        )
    if pcie.use == "always":
        return "Printed by `nvidia-smi topo -mp`, which leaves NVLinks out: only PCIe is taken."
    why = "" if command else " (its legend does not explain NV#)"
    raise TextError(
        f"this is the output of `nvidia-smi topo -mp`{why}: only PCIe, without the machine's "
        "NVLinks, if any",
        line=command.number if command else matrix.header.number,
        text=command.text if command else matrix.header.text,
        expected=f"the output of `{_COMMAND}`; for PCIe alone its speed in GB/s such as "
        f"pcie={float(pcie.rate):g}",
    )


def _cards(
    matrix: DeviceMatrix, lines: Sequence[Line], legend: Mapping[str, str]
) -> tuple[tuple[NetworkCard, ...], dict[tuple[int, int], Level]]:
    """The devices that are no GPUs, all of them network cards, and where they meet the others."""
    levels: dict[tuple[int, int], Level] = {}
    gpus = len(matrix.names)
    cards = []
    for c, (name, cells) in enumerate(matrix.further):
        for gpu, cell in enumerate(cells):
            if cell not in _LEVELS:
                raise matrix.lines[gpu].wrong(
                    f"{matrix.names[gpu]} to {name} is {cell!r}", f"one of {', '.join(_LEVELS)}"
                )
            levels[gpu, gpus + c] = _LEVELS[cell]
        far = tuple(int(_LEVELS[cell]) for cell in cells)
        cards.append(NetworkCard(name, far, alias=legend.get(name, "")))
    columns = _GRAMMAR.devices(matrix.header)
    rows = {line.words[0]: line.words for line in lines[matrix.header.number :] if line.words}
    for (a, one), (b, other) in combinations(enumerate(card.name for card in cards), 2):
        row = rows.get(one, ())  # not every paste has the rows of the cards
        cell = row[1 + columns.index(other)] if len(row) > len(columns) else ""
        if cell in _LEVELS:
            levels[gpus + a, gpus + b] = _LEVELS[cell]
    return tuple(cards), levels


def _legend(lines: Sequence[Line]) -> dict[str, str]:
    """The entries of ``NIC Legend:``: ``NIC0: mlx5_0``."""
    return {
        line.words[0][:-1]: line.words[1]
        for line in lines
        if len(line.words) == 2 and re.fullmatch(r"NIC\d+:", line.words[0])
    }
