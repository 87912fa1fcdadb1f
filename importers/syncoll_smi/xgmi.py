"""What ``rocm-smi`` and ``amd-smi`` tell, in different forms, as one machine.

Both tell for each pair of GPUs whether xGMI or PCIe joins them, in how many hops, and with what
weight.  A pair that xGMI joins in one hop has a link; more hops lead over other GPUs.  How many
links lie between two GPUs, they do not tell.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from syncoll.errors import ImportFormatError
from syncoll.importing import Cables, complaint
from syncoll.plugins import Imported
from syncoll_smi.matrices import Line, Matrix, refuse_difference
from syncoll_smi.options import Pcie, Speed
from syncoll_smi.pcie import Level, Meeting, add_pcie, named

__all__ = ["Told", "columns_of", "machine_of", "require_same"]

_XGMI = "XGMI"
_PCIE = ("PCIE", "PCI")


@dataclass(frozen=True)
class Told:
    """What a tool told.

    Args:
        types: XGMI or PCIE for each pair.
        hops: of each pair; None where the tool did not tell.
        weights: of each pair; None where the tool did not tell.
        rates: GB/s of pairs for which the tool told it, the smaller number first.
        sockets: the NUMA node of each GPU; empty where the tool did not tell.
        command: what prints all of that.
    """

    types: Matrix
    hops: Matrix | None
    weights: Matrix | None
    rates: Mapping[tuple[int, int], Fraction]
    sockets: tuple[str, ...]
    command: str


def columns_of(line: Line, device: re.Pattern[str]) -> tuple[str, ...]:
    """The devices that a line names; empty when it is not only that."""
    return line.words if line.words and all(device.fullmatch(w) for w in line.words) else ()


def require_same(first: Matrix, other: Matrix | None, label: str) -> None:
    """Passes two matrices of the same GPUs.

    Raises:
        ImportFormatError: when they are not.
    """
    if other is not None and other.names != first.names:
        raise complaint(
            label,
            f"the matrices are of different GPUs: {named(first.names)} in line "
            f"{first.header.number}, and {named(other.names)} here",
            line=other.header.number,
            text=other.header.text,
            expected="the output of one command",
        )


def machine_of(told: Told, speed: Speed, pcie: Pcie, label: str) -> Imported:
    """The machine.

    Raises:
        ImportFormatError: when a cell makes no sense, or nothing joins all GPUs.
    """
    matrix = told.types
    if len(matrix.names) < 2:
        raise complaint(
            label,
            f"{matrix.names[0]} is the only GPU; nothing can be communicated",
            line=matrix.header.number,
            text=matrix.header.text,
        )
    direct, levels, indirect = _pairs(told, label)
    cables = Cables(len(matrix.names))
    rated = {} if speed.given else told.rates
    for a, b in direct:
        cables.add(a, b, rated.get((a, b), speed.rate), "xGMI")
    notes = []
    if direct:
        assumed = any(pair not in rated for pair in direct)
        if rated and not assumed:
            notes.append("xGMI links carry what the table NUMA BW says, in each direction.")
        else:
            notes.append(
                f"Each xGMI link carries {float(speed.rate):g} GB/s in each direction, "
                f"{speed.reason}; the tool does not tell."
            )
            notes.append(
                "Every pair that xGMI joins is taken to have one link; the tool does not tell how "
                "many (MI250 has 1, 2 or 4 of them)."
            )
        if told.hops is None and told.weights is None:
            notes.append(
                "Hops and weights are not in the text: every pair that xGMI joins is taken to be "
                f"joined directly. `{told.command}` tells."
            )
    if indirect:
        notes.append(
            f"{len(indirect)} of {len(matrix.pairs)} pairs have no xGMI link of their own: the "
            "tool counts more than one hop between them, or twice the weight."
        )
    whole = len(_parts(direct, len(matrix.names))) == 1
    switches: list[str] = []
    if pcie.use == "always" or (pcie.use == "auto" and not whole):
        meeting = Meeting(levels, told.sockets)
        more, switches, _ = add_pcie(cables, matrix.names, meeting, pcie, label)
        notes += more
        if not told.sockets:
            notes.append("NUMA nodes are not in the text: all GPUs are taken to be on one CPU.")
    elif not whole:
        raise _separate(told, _parts(direct, len(matrix.names)), label)
    elif levels:
        notes.append(
            f"{len(levels)} of {len(matrix.pairs)} pairs are joined by PCIe, and have no link "
            f"here: PCIe is left out (pcie={float(pcie.rate):g} takes it too)."
        )
    return Imported(cables.fabric(), tuple(notes), matrix.names, tuple(switches))


def _pairs(
    told: Told, label: str
) -> tuple[list[tuple[int, int]], dict[tuple[int, int], Level], list[tuple[int, int]]]:
    """Pairs with an xGMI link, where those without meet, and pairs joined over other GPUs.

    Raises:
        ImportFormatError: when a cell is unknown, or not the same in both directions.
    """
    kinds = _checked(told.types, label, _kind, "XGMI or PCIE")
    hops = told.hops and _checked(told.hops, label, _whole, "a whole number")
    weights = told.weights and _checked(told.weights, label, _whole, "a whole number")
    joined = [pair for pair, kind in kinds.items() if kind]
    least = min((weights[pair] for pair in joined), default=0) if weights else 0
    direct, levels, indirect = [], dict[tuple[int, int], Level](), []
    for pair, xgmi in kinds.items():
        if not xgmi:
            a, b = pair
            apart = bool(told.sockets) and told.sockets[a] != told.sockets[b]
            levels[pair] = Level.SOCKETS if apart else Level.SOCKET
        elif (hops and hops[pair] > 1) or (weights and least and weights[pair] >= 2 * least):
            indirect.append(pair)
        else:
            direct.append(pair)
    return direct, levels, indirect


def _checked(
    matrix: Matrix, label: str, meaning: Callable[[str], int | None], expected: str
) -> dict[tuple[int, int], int]:
    """What each pair's cells mean."""
    for a, row in enumerate(matrix.cells):
        for b, cell in enumerate(row):
            if a != b and meaning(cell) is None:
                raise complaint(
                    label,
                    f"{matrix.names[a]} to {matrix.names[b]} is {cell!r}",
                    line=matrix.lines[a].number,
                    text=matrix.lines[a].text,
                    expected=expected,
                )
    found: dict[tuple[int, int], int] = {}
    for a, b in matrix.pairs:
        there, back = (meaning(matrix.cells[x][y]) for x, y in ((a, b), (b, a)))
        if there != back:
            raise refuse_difference(label, matrix, a, b)
        assert there is not None
        found[a, b] = there
    return found


def _kind(cell: str) -> int | None:
    word = cell.upper()
    return 1 if word == _XGMI else 0 if word in _PCIE else None


def _whole(cell: str) -> int | None:
    return int(cell) if re.fullmatch(r"[0-9]{1,6}", cell) else None


def _parts(pairs: Sequence[tuple[int, int]], number: int) -> list[list[int]]:
    """GPUs in groups that the pairs join."""
    near: dict[int, list[int]] = {}
    for a, b in pairs:
        near.setdefault(a, []).append(b)
        near.setdefault(b, []).append(a)
    parts: list[list[int]] = []
    seen: set[int] = set()
    for start in range(number):
        if start in seen:
            continue
        stack, part = [start], {start}
        while stack:
            for other in near.get(stack.pop(), ()):
                if other not in part:
                    part.add(other)
                    stack.append(other)
        seen |= part
        parts.append(sorted(part))
    return parts


def _separate(told: Told, parts: Sequence[Sequence[int]], label: str) -> ImportFormatError:
    """An error: xGMI does not join all GPUs, and PCIe is not to be taken."""
    names = [named([told.types.names[gpu] for gpu in part]) for part in parts]
    return complaint(
        label,
        f"xGMI links do not join all GPUs; these are separate: {' | '.join(names[:16])}"
        f"{' | …' if len(names) > 16 else ''}",
        line=told.types.header.number,
        text=told.types.header.text,
        expected="pcie=auto, or the speed of PCIe in GB/s such as pcie=16",
    )
