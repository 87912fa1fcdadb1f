"""``nvidia-smi topo -m``: for each pair of GPUs the number of NVLinks, or how PCIe joins them.

A matrix has neither speeds nor switches.  With NVSwitches every pair shows all NVLinks of a GPU, so
that a GPU seems to have more than any GPU has, which reveals NVSwitches.  The number is then the
total of each GPU, not of each pair.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from syncoll.errors import ImportFormatError
from syncoll.importing import Cables, TextError
from syncoll.plugins import Imported, NetworkCard, OptionValue
from syncoll_smi.islands import islands
from syncoll_smi.matrices import DeviceMatrix, Line, lines_of, read_matrix
from syncoll_smi.options import Pcie, link_speed, pcie_option
from syncoll_smi.pcie import Level, add_pcie, named

__all__ = ["NvidiaSmiImporter"]

_OWNER = "importer nvidia-smi"
_COMMAND = "nvidia-smi topo -m"
_GPU = re.compile(r"GPU\d{1,4}")
_NAME = re.compile(r"[A-Za-z]\w*\d\w*")
_NVLINKS = re.compile(r"NV(\d{1,2})")
_TAIL = re.compile(r"GPU|(?:CPU|NUMA|Affinity)[A-Za-z]*")
"""Words of the columns after the devices: CPU Affinity, NUMA Affinity, GPU NUMA ID."""
_GLUED = re.compile(r"((?:GPU|NIC)\d+)([A-Za-z]\w*)|(\w*?\d)((?:GPU|CPU|NIC|NUMA|Affinity)\w*)")
_CPUS = re.compile(r"[0-9]{1,6}(?:-[0-9]{1,6})?(?:,[0-9]{1,6}(?:-[0-9]{1,6})?)*")
_PCIE_ONLY = re.compile(r"nvidia-smi\s.{0,80}?(?:-mp\b|--matrix_pci\b)")
_LEVELS = {
    "PIX": Level.SWITCH,
    "PXB": Level.SWITCHES,
    "PHB": Level.HOST_BRIDGE,
    "NODE": Level.SOCKET,
    "SYS": Level.SOCKETS,
    "SOC": Level.SOCKETS,
}
_CELL = re.compile(rf"X|NV\d|{'|'.join(_LEVELS)}")


class NvidiaSmiImporter:
    """Reads the matrix of ``nvidia-smi topo -m``."""

    def read(self, text: str, label: str, options: Mapping[str, OptionValue]) -> Imported:
        """See `syncoll.plugins.Importer`."""
        pcie = pcie_option(options, _OWNER)
        speed = link_speed(options, _OWNER)
        lines = lines_of(text)
        matrix = _matrix(lines)
        if len(matrix.names) < 2:
            raise matrix.header.wrong(
                f"{matrix.names[0]} is the only GPU; a collective needs at least two"
            )
        counts, levels = _cells(matrix)
        hidden = "" if counts else _hides_nvlinks(lines, matrix, pcie)
        found = islands(matrix, counts, str(options["nvswitch"]))
        cables = Cables(len(matrix.names))
        switched = [island for island in found if island.add(cables, speed.rate)]
        switches = [
            f"NVSwitches of {named([matrix.names[gpu] for gpu in island.gpus])}"
            for island in switched
        ]
        notes = [hidden] if hidden else []
        if found:
            notes.append(
                f"Each NVLink carries {float(speed.rate):g} GB/s in each direction, "
                f"{speed.reason}; the matrix has no speeds."
            )
            notes += [text for island in found for text in island.notes(matrix.names)]
        parts = [island.gpus for island in found]
        joined = {gpu for part in parts for gpu in part}
        parts += [(gpu,) for gpu in range(len(matrix.names)) if gpu not in joined]
        words = "NVLinks", "have no NVLinks, and no link"
        more, tree, above = add_pcie(
            cables, matrix, parts, levels, lambda: _sockets(matrix), pcie, words
        )
        notes += more
        switches += tree
        cards = _cards(matrix, _legend(lines), above)
        return Imported(
            cables.fabric(),
            tuple(notes),
            matrix.names,
            tuple(switches),
            cards,
            interconnect="NVLink",
        )


def _devices(line: Line) -> tuple[str, ...]:
    """The columns that a line names; empty if it is no header."""
    words = line.words
    if not words or not _GPU.fullmatch(words[0]):
        return ()
    end = next((i for i, word in enumerate(words) if _TAIL.fullmatch(word)), len(words))
    devices = words[:end]
    if len(devices) == 1:
        return devices if len(words) == 1 or words[1].startswith("CPU") else ()
    if not _NAME.fullmatch(devices[1]) or any(
        word == "X" or word in _LEVELS or _NVLINKS.fullmatch(word) for word in devices
    ):
        return ()
    return devices


def _matrix(lines: Sequence[Line]) -> DeviceMatrix:
    """The cells between GPUs, and the cells of network cards."""
    headers = [i for i, line in enumerate(lines) if _devices(line)]
    if not headers:
        rows = [line for line in lines if line.words and _GPU.fullmatch(line.words[0])]
        if rows:
            raise rows[0].wrong(
                "the line above the matrix, which names its columns, is missing",
                f"the whole output of `{_COMMAND}`",
            )
        raise TextError(
            "no matrix of GPUs: no line begins with GPU0", f"the output of `{_COMMAND}`"
        )
    header = lines[headers[0]]
    columns = _devices(header)
    for name in columns:
        glued = _GLUED.fullmatch(name)
        if glued is None and _NAME.fullmatch(name):
            continue
        parts = [part for part in glued.groups() if part] if glued else []
        raise header.wrong(
            f"the column {name!r} names no device"
            + (f": {' and '.join(parts)} are glued together" if parts else ""),
            f"blanks between columns, here and in each row; run `{_COMMAND}` again",
        )
    gpus = [name for name in columns if _GPU.fullmatch(name)]
    matrix = read_matrix(
        header,
        columns,
        gpus,
        lines[headers[0] + 1 :],
        device=_NAME,
        cell=lambda word: _CELL.match(word) is not None,
        tail=True,
        ends=lambda line: line.words[-1].lower() == "legend:",
        again=_COMMAND,
    )
    if len(headers) > 1:
        second = lines[headers[1]]
        raise second.wrong(
            f"a second matrix; the first is in line {header.number}", "the matrix of one machine"
        )
    return matrix


def _cells(matrix: DeviceMatrix) -> tuple[dict[tuple[int, int], int], dict[tuple[int, int], Level]]:
    """NVLinks of the pairs that have some, and the levels at which the others meet."""
    counts: dict[tuple[int, int], int] = {}
    levels: dict[tuple[int, int], Level] = {}
    for a, row in enumerate(matrix.cells):
        for b, cell in enumerate(row):
            nvlinks = _NVLINKS.fullmatch(cell)
            if (cell == "X") == (a == b) and (
                a == b or cell in _LEVELS or (nvlinks is not None and int(nvlinks[1]) > 0)
            ):
                continue
            other = f"NV with the number of NVLinks, or one of {', '.join(_LEVELS)}"
            raise matrix.wrong_cell(a, b, "X for a GPU and itself" if a == b else other)
    for a, b in matrix.pairs:
        there, back = matrix.cells[a][b], matrix.cells[b][a]
        if there != back:
            raise matrix.difference(a, b)
        if there in _LEVELS:
            levels[a, b] = _LEVELS[there]
        else:
            counts[a, b] = int(there.removeprefix("NV"))
    return counts, levels


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
    told = next((line for line in above if _PCIE_ONLY.search(line.text)), None)
    if told is None and not legend >= {"SYS", "PIX"}:
        return (
            "No pair of GPUs has NVLinks here. If the machine has some, this was printed by "
            f"`nvidia-smi topo -mp`, which leaves them out; `{_COMMAND}` shows them."
        )
    if pcie.use == "always":
        return "Printed by `nvidia-smi topo -mp`, which leaves NVLinks out: only PCIe is taken."
    why = "" if told else " (its legend does not explain NV#)"
    raise TextError(
        f"this is the output of `nvidia-smi topo -mp`{why}: only PCIe, without the machine's "
        "NVLinks, if any",
        line=told.number if told else matrix.header.number,
        text=told.text if told else matrix.header.text,
        expected=f"the output of `{_COMMAND}`; for PCIe alone its speed in GB/s such as "
        f"pcie={float(pcie.rate):g}",
    )


def _sockets(matrix: DeviceMatrix) -> tuple[str, ...]:
    """The CPU affinity of each GPU; empty if the matrix has none, or does not know one."""
    found = tuple(rest[0] if rest else "" for rest in matrix.rest)
    if "N/A" in found or not any(found):
        return ()
    owner: dict[str, int] = {}
    ranges: list[tuple[int, int, int]] = []
    for gpu, text in enumerate(found):
        pairs = [part.split("-") for part in text.split(",")] if _CPUS.fullmatch(text) else []
        if not pairs or any(int(pair[-1]) < int(pair[0]) for pair in pairs):
            raise _cut_affinity(matrix, gpu, repr(text) if text else "missing")
        if owner.setdefault(text, gpu) == gpu:
            ranges += [(int(pair[0]), int(pair[-1]), gpu) for pair in pairs]
    ranges.sort()
    for (_, end, one), (start, _, other) in pairwise(ranges):
        if start <= end and one != other:
            a, b = sorted((one, other))
            what = f"{found[b]}, and shares CPUs with {found[a]} of {matrix.names[a]}"
            raise _cut_affinity(matrix, b, what)
    return found


def _cut_affinity(matrix: DeviceMatrix, gpu: int, what: str) -> ImportFormatError:
    return matrix.lines[gpu].wrong(
        f"the CPU affinity of {matrix.names[gpu]} is {what}",
        "lists of CPUs such as 0-31,64-95, for two GPUs the same or apart; was the line "
        f"cut off? Run `{_COMMAND}` again, or leave the column out",
    )


def _cards(
    matrix: DeviceMatrix, legend: Mapping[str, str], above: Mapping[Level, Sequence[int]]
) -> tuple[NetworkCard, ...]:
    """The devices that are no GPUs: nvidia-smi lists network cards only."""
    cards = []
    for name, cells in matrix.further:
        for gpu, cell in enumerate(cells):
            if cell not in _LEVELS:
                raise matrix.lines[gpu].wrong(
                    f"{matrix.names[gpu]} to {name} is {cell!r}", f"one of {', '.join(_LEVELS)}"
                )
        levels = [_LEVELS[cell] for cell in cells]
        least = min(levels)
        hooks = {above[least][gpu] for gpu, far in enumerate(levels) if far == least and above}
        switch = hooks.pop() - len(cells) if len(hooks) == 1 else -1
        cards.append(
            NetworkCard(
                name,
                tuple(levels),
                switch=switch if switch >= 0 else None,
                alias=legend.get(name, ""),
            )
        )
    return tuple(cards)


def _legend(lines: Sequence[Line]) -> dict[str, str]:
    """The entries of ``NIC Legend:``: ``NIC0: mlx5_0``."""
    return {
        line.words[0][:-1]: line.words[1]
        for line in lines
        if len(line.words) == 2 and re.fullmatch(r"NIC\d+:", line.words[0])
    }
