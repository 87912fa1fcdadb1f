"""PCIe as a tree: the GPUs at its leaves, PCIe switches, CPU sockets, and links between these.

Tools print for a pair of GPUs how far up the tree the way between them leads.  The pairs that meet
at most at a level fall into groups, each of which hangs on one switch of the level.  Every GPU and
PCIe switch has equal lanes of its own; no tool prints their number or speed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

from syncoll.errors import ImportFormatError
from syncoll.importing import Cables, complaint
from syncoll.importing.errors import shortened
from syncoll_smi.matrices import DeviceMatrix
from syncoll_smi.options import Pcie

__all__ = ["Level", "Meeting", "add_pcie", "named", "separate"]


class Level(IntEnum):
    """Where the way between two GPUs turns round."""

    SWITCH = 0
    SWITCHES = 1
    HOST_BRIDGE = 2
    SOCKET = 3
    SOCKETS = 4


@dataclass(frozen=True)
class Meeting:
    """The levels at which pairs of GPUs meet.

    Args:
        levels: of each pair, the smaller number first; pairs hidden by another kind of link lack.
        sockets: name of each GPU's CPU socket; empty if unknown.
    """

    levels: Mapping[tuple[int, int], Level]
    sockets: tuple[str, ...]


def add_pcie(
    cables: Cables, names: Sequence[str], meeting: Meeting, pcie: Pcie, label: str
) -> tuple[list[str], list[str], dict[Level, list[int]]]:
    """Adds the tree to the links of a machine.

    Returns:
        Notes on assumptions, names of the added switches, and for each level the highest vertex
        above each GPU that is not above the level.

    Raises:
        ImportFormatError: if no tree gives this.
    """
    switches: list[str] = []

    def new(name: str) -> int:
        switches.append(name)
        return cables.new_switch()

    tops = list(range(len(names)))
    lower = _groups(names, meeting, Level.SWITCH, label)
    tops = _join(cables, names, lower, tops, pcie, lambda n: new(f"PCIe switch of {n}"))
    above = {Level.SWITCH: tops}
    upper = _groups(names, meeting, Level.SWITCHES, label)
    tops = _join(cables, names, upper, tops, pcie, lambda n: new(f"upper PCIe switch of {n}"))
    above[Level.SWITCHES] = tops
    sockets = _groups(names, meeting, Level.SOCKET, label, hidden=True)
    several = len(sockets) > 1
    tops = _join(cables, names, sockets, tops, pcie, lambda n: new(f"CPU of {n}"), always=several)
    above[Level.HOST_BRIDGE] = above[Level.SOCKET] = above[Level.SOCKETS] = tops
    heads = [tops[group[0]] for group in sockets]
    if len(heads) == 2:
        cables.add(heads[0], heads[1], pcie.socket, "between CPU sockets")
    elif len(heads) > 2:
        centre = new("between the CPU sockets")
        for head in heads:
            cables.add(head, centre, pcie.socket, "between CPU sockets")
    speed = "as given" if pcie.given else "16 lanes of PCIe 4.0"
    notes = [
        f"PCIe: each GPU and each PCIe switch is assumed to have lanes of {float(pcie.rate):g} "
        f"GB/s in each direction ({speed}; option pcie); the tool tells how they are joined, not "
        "how fast."
    ]
    if any(level > Level.SWITCHES for level in meeting.levels.values()):
        notes.append(
            "GPUs that meet at a host bridge or in the CPU may have to copy through the host's "
            "memory, which is slower than the lanes."
        )
    if len(heads) > 1:
        notes.append(
            f"Between CPU sockets {float(pcie.socket):g} GB/s in each direction are assumed "
            "(option socket)."
        )
    return notes, switches, above


def _join(
    cables: Cables,
    names: Sequence[str],
    groups: Sequence[Sequence[int]],
    tops: Sequence[int],
    pcie: Pcie,
    new: Callable[[str], int],
    *,
    always: bool = False,
) -> list[int]:
    """Joins several tops of a group (with `always` also one) by a switch; returns the new tops."""
    result = list(tops)
    for group in groups:
        below = sorted({tops[gpu] for gpu in group})
        if always or len(below) > 1:
            switch = new(named([names[gpu] for gpu in group]))
            for vertex in below:
                what = "PCIe" if vertex < cables.nodes else "PCIe of a switch"
                cables.add(vertex, switch, pcie.rate, what)
            for gpu in group:
                result[gpu] = switch
    return result


def _groups(
    names: Sequence[str], meeting: Meeting, level: Level, label: str, *, hidden: bool = False
) -> list[list[int]]:
    """The GPUs that meet at most at a level.

    With `hidden`, unknown pairs are taken to meet there, unless their sockets differ or others of
    their groups meet higher up.
    """
    above = list(range(len(names)))

    def head(gpu: int) -> int:
        while above[gpu] != gpu:
            above[gpu] = above[above[gpu]]
            gpu = above[gpu]
        return gpu

    for (a, b), where in meeting.levels.items():
        if where <= level:
            above[head(a)] = head(b)
    for (a, b), where in meeting.levels.items():
        if where > level and head(a) == head(b):
            between = next(
                (c for c in range(len(names)) if c not in (a, b) and head(c) == head(a)), a
            )
            raise complaint(
                label,
                f"{names[a]} and {names[b]} meet higher up than each of them meets others of "
                f"{named([names[c] for c in range(len(names)) if head(c) == head(a)])}, such as "
                f"{names[between]}: no tree of PCIe switches gives that",
                expected="a matrix as the tool printed it; with pcie=no, PCIe is left out",
            )
    if hidden:
        apart: dict[int, set[int]] = {}
        for (a, b), where in meeting.levels.items():
            if where > level:
                apart.setdefault(head(a), set()).add(head(b))
                apart.setdefault(head(b), set()).add(head(a))
        for a in range(len(names)):
            for b in range(a + 1, len(names)):
                one, other = head(a), head(b)
                if one == other or (a, b) in meeting.levels or other in apart.get(one, ()):
                    continue
                if meeting.sockets and meeting.sockets[a] != meeting.sockets[b]:
                    continue
                above[one] = other
                for third in apart.pop(one, ()):
                    apart[third].discard(one)
                    apart[third].add(other)
                    apart.setdefault(other, set()).add(third)
    groups: dict[int, list[int]] = {}
    for gpu in range(len(names)):
        groups.setdefault(head(gpu), []).append(gpu)
    return sorted(groups.values())


def separate(
    matrix: DeviceMatrix, parts: Sequence[Sequence[int]], links: str, label: str
) -> ImportFormatError:
    """An error: links do not join all GPUs, and PCIe is not to be taken."""
    names = [named([matrix.names[gpu] for gpu in part]) for part in parts]
    return matrix.header.wrong(
        label,
        f"{links} do not join all GPUs; these are separate: {' | '.join(names[:16])}"
        f"{' | …' if len(names) > 16 else ''}",
        "pcie=auto, or the speed of PCIe in GB/s such as pcie=16",
    )


def named(names: Sequence[str]) -> str:
    """Names in a row, in short where there are many: ``GPU0 to GPU3`` if they are numbered so."""
    if len(names) < 3:
        return " and ".join(names)
    match = re.fullmatch(r"(.*?)(\d+)", names[0])
    if match is not None:
        first = int(match[2])
        if list(names) == [f"{match[1]}{first + i}" for i in range(len(names))]:
            return f"{names[0]} to {names[-1]}"
    if len(names) > 8:
        return shortened(names, 8)
    return f"{', '.join(names[:-1])} and {names[-1]}"
