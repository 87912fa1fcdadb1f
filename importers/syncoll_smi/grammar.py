"""The grammar of matrices between devices, as a table for each tool.

``nvidia-smi topo -m``, ``npu-smi info -t topo`` and ``xpu-smi topology -m`` print the same: a line
that names the columns, and below it a row of cells for each device, then its CPUs.  They differ in
the words.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from syncoll.errors import ImportFormatError
from syncoll.importing import TextError
from syncoll_smi.matrices import DeviceMatrix, Line, read_matrix
from syncoll_smi.pcie import Level

Pair = tuple[int, int]
_TAIL = re.compile(r"GPU|(?:CPU|NUMA|Affinity)[A-Za-z]*")
"""Words of the columns after the devices: CPU Affinity, NUMA Affinity, GPU NUMA ID."""
_CPUS = re.compile(r"[0-9]{1,6}(?:-[0-9]{1,6})?(?:,[0-9]{1,6}(?:-[0-9]{1,6})?)*")


@dataclass(frozen=True)
class Cells:
    """The meaning of the cells of a matrix, by pairs of devices, the smaller number first.

    `counts` has the links of the pairs that have some, `kinds` their kind, and `levels` where the
    others meet.
    """

    counts: dict[Pair, int]
    kinds: dict[Pair, str]
    levels: dict[Pair, Level]


@dataclass(frozen=True)
class Grammar:
    """The words of a tool.

    Args:
        command: prints the matrix.
        noun: the letters of its devices, such as GPU.
        device: the names of its devices.
        name: the names of all columns; others are network cards.
        own: the cell of a device and itself.
        links: the cells of a link by its kind, with the number of links as group 1, if they have
            one; an empty kind has no link of its own.
        levels: the cells of pairs that PCIe and CPUs join.
        expected: the cells in words.
    """

    command: str
    noun: str
    device: re.Pattern[str]
    name: re.Pattern[str]
    own: str
    links: Mapping[str, re.Pattern[str]]
    levels: Mapping[str, Level]
    expected: str

    def is_cell(self, word: str) -> bool:
        """Whether a word is a cell, as far as its beginning shows."""
        return word == self.own or any(
            one.match(word) for one in (*self.links.values(), *map(re.compile, self.levels))
        )

    def devices(self, line: Line) -> tuple[str, ...]:
        """The columns that a line names; empty if it is no header."""
        words = line.words
        if not words or not self.device.fullmatch(words[0]):
            return ()
        end = next((i for i, word in enumerate(words) if _TAIL.fullmatch(word)), len(words))
        devices = words[:end]
        if len(devices) == 1:
            return devices if len(words) == 1 or words[1].startswith("CPU") else ()
        cells = (self.own, *self.levels)
        if not self.name.fullmatch(devices[1]) or any(
            word in cells or any(one.fullmatch(word) for one in self.links.values())
            for word in devices
        ):
            return ()
        return devices

    def matrix(self, lines: Sequence[Line]) -> DeviceMatrix:
        """The cells between devices, with the columns of network cards."""
        headers = [i for i, line in enumerate(lines) if self.devices(line)]
        whole = f"the whole output of `{self.command}`"
        if not headers:
            rows = [line for line in lines if line.words and self.device.fullmatch(line.words[0])]
            if rows:
                what = "the line above the matrix, which names its columns, is missing"
                raise rows[0].wrong(what, whole)
            raise TextError(
                f"no matrix of {self.noun.strip()}s: no line begins with {self.noun}0",
                f"the output of `{self.command}`",
            )
        header = lines[headers[0]]
        columns = self.devices(header)
        glued = re.compile(
            rf"((?:{self.noun}|NIC)\d+)([A-Za-z]\w*)"
            rf"|(\w*?\d)((?:{self.noun}|CPU|NIC|NUMA|Affinity)\w*)"
        )
        for name in columns:
            match = glued.fullmatch(name)
            if match is None and self.name.fullmatch(name):
                continue
            parts = [part for part in match.groups() if part] if match else []
            raise header.wrong(
                f"the column {name!r} names no device"
                + (f": {' and '.join(parts)} are glued together" if parts else ""),
                f"blanks between columns, here and in each row; run `{self.command}` again",
            )
        matrix = read_matrix(
            header,
            columns,
            [name for name in columns if self.device.fullmatch(name)],
            lines[headers[0] + 1 :],
            device=self.name,
            cell=self.is_cell,
            tail=True,
            again=self.command,
        )
        if len(headers) > 1:
            what = f"a second matrix; the first is in line {header.number}"
            raise lines[headers[1]].wrong(what, "the matrix of one machine")
        return matrix

    def _kind(self, cell: str) -> tuple[str, int] | None:
        """The kind of a link, and the number of links, which is not 0."""
        for kind, pattern in self.links.items():
            match = pattern.fullmatch(cell)
            if match is not None:
                count = int(match[1]) if match.groups() else 1
                return (kind, count) if count else None
        return None

    def cells(self, matrix: DeviceMatrix) -> Cells:
        """The meaning of all pairs; raises ImportFormatError for another word."""
        for a, row in enumerate(matrix.cells):
            for b, cell in enumerate(row):
                if a == b and cell != self.own:
                    raise matrix.wrong_cell(
                        a, b, f"{self.own} for a {self.noun.strip()} and itself"
                    )
                if a != b and cell not in self.levels and self._kind(cell) is None:
                    raise matrix.wrong_cell(a, b, f"{self.expected}, {', '.join(self.levels)}")
        found = Cells({}, {}, {})
        for a, b in matrix.pairs:
            there, back = matrix.cells[a][b], matrix.cells[b][a]
            if there != back:
                raise matrix.difference(a, b)
            kind = self._kind(there)
            if kind is None:
                found.levels[a, b] = self.levels[there]
            else:
                found.kinds[a, b], found.counts[a, b] = kind
        return found


def affinities(matrix: DeviceMatrix, command: str) -> tuple[str, ...]:
    """The CPU affinity of each device; empty if the matrix has none, or does not know one."""
    found = tuple(rest[0] if rest else "" for rest in matrix.rest)
    if "N/A" in found or not any(found):
        return ()
    owner: dict[str, int] = {}
    ranges: list[tuple[int, int, int]] = []
    for gpu, text in enumerate(found):
        pairs = [part.split("-") for part in text.split(",")] if _CPUS.fullmatch(text) else []
        if not pairs or any(int(pair[-1]) < int(pair[0]) for pair in pairs):
            raise _cut_affinity(matrix, command, gpu, repr(text) if text else "missing")
        if owner.setdefault(text, gpu) == gpu:
            ranges += [(int(pair[0]), int(pair[-1]), gpu) for pair in pairs]
    ranges.sort()
    for (_, end, one), (start, _, other) in pairwise(ranges):
        if start <= end and one != other:
            a, b = sorted((one, other))
            what = f"{found[b]}, and shares CPUs with {found[a]} of {matrix.names[a]}"
            raise _cut_affinity(matrix, command, b, what)
    return found


def _cut_affinity(matrix: DeviceMatrix, command: str, gpu: int, what: str) -> ImportFormatError:
    return matrix.lines[gpu].wrong(
        f"the CPU affinity of {matrix.names[gpu]} is {what}",
        "lists of CPUs such as 0-31,64-95, for two GPUs the same or apart; was the line "
        f"cut off? Run `{command}` again, or leave the column out",
    )
