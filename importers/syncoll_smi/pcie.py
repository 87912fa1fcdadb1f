"""PCIe as a tree: the GPUs at its leaves, PCIe switches, CPU sockets, and links between these.

Tools print for a pair of GPUs how far up the tree the path between them leads.  The pairs that meet
at most at a level fall into groups, each on one switch of the level.  Every GPU and PCIe switch has
equal lanes of its own; no tool prints their number or speed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum

from networkx.utils import UnionFind

from syncoll.importing import Cables, TextError
from syncoll.importing.description import shortened
from syncoll_smi.matrices import DeviceMatrix
from syncoll_smi.options import Pcie

__all__ = ["Level", "add_pcie", "named"]


class Level(IntEnum):
    """The level at which the path between two GPUs turns round."""

    SWITCH = 0
    SWITCHES = 1
    HOST_BRIDGE = 2
    SOCKET = 3
    SOCKETS = 4


def add_pcie(
    cables: Cables,
    matrix: DeviceMatrix,
    parts: Sequence[Sequence[int]],
    levels: Mapping[tuple[int, int], Level],
    sockets_of: Callable[[], tuple[str, ...]],
    pcie: Pcie,
    words: tuple[str, str],
) -> tuple[list[str], list[str], dict[Level, list[int]]]:
    """Adds PCIe to the links of a machine if it is wanted, or other links leave GPUs in parts.

    Args:
        levels: the level at which each pair without other links meets, the smaller number first.
        sockets_of: finds the name of each GPU's CPU socket; empty if unknown.
        words: words for the other links, and for pairs without them.

    Returns:
        Notes on assumptions, names of the added switches, and for each level the highest vertex
        above each GPU that is not above the level.

    Raises:
        ImportFormatError: if no tree gives this, or GPUs are in parts and PCIe is excluded.
    """
    names, (links, without) = matrix.names, words
    if pcie.use == "never" and len(parts) > 1:
        separate = [named([names[gpu] for gpu in part]) for part in parts]
        raise matrix.header.wrong(
            f"{links} do not join all GPUs; these are separate: {' | '.join(separate[:16])}"
            f"{' | …' if len(separate) > 16 else ''}",
            "pcie=auto, or the speed of PCIe in GB/s such as pcie=16",
        )
    if pcie.use == "never" or (pcie.use == "auto" and len(parts) == 1):
        note = (
            f"{len(levels)} of {len(matrix.pairs)} pairs {without} here: PCIe is left out "
            f"(pcie={float(pcie.rate):g} adds it)."
        )
        return [note] if levels else [], [], {}
    known = sockets_of()
    switches: list[str] = []
    tops = list(range(len(names)))

    def new(name: str) -> int:
        switches.append(name)
        return cables.new_switch()

    def join(groups: Sequence[Sequence[int]], what: str, *, always: bool = False) -> list[int]:
        """Joins several tops of a group (with `always` also one) by a switch; the new tops."""
        result = list(tops)
        for group in groups:
            below = sorted({tops[gpu] for gpu in group})
            if always or len(below) > 1:
                switch = new(f"{what} of {named([names[gpu] for gpu in group])}")
                for vertex in below:
                    label = "PCIe" if vertex < cables.nodes else "PCIe of a switch"
                    cables.add(vertex, switch, pcie.rate, label)
                for gpu in group:
                    result[gpu] = switch
        return result

    tops = join(_groups(names, levels, Level.SWITCH), "PCIe switch")
    above = {Level.SWITCH: tops}
    tops = join(_groups(names, levels, Level.SWITCHES), "upper PCIe switch")
    above[Level.SWITCHES] = tops
    sockets = _groups(names, levels, Level.SOCKET, known)
    tops = join(sockets, "CPU", always=len(sockets) > 1)
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
        f"GB/s in each direction ({speed}; option pcie); the tool prints how they are joined, "
        "but no speeds."
    ]
    if any(level > Level.SWITCHES for level in levels.values()):
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


def _groups(
    names: Sequence[str],
    levels: Mapping[tuple[int, int], Level],
    level: Level,
    sockets: tuple[str, ...] | None = None,
) -> list[list[int]]:
    """The GPUs that meet at most at a level.

    With `sockets`, unknown pairs are assumed to meet there, unless their sockets differ or others
    of their groups meet higher up.
    """
    joined: UnionFind[int] = UnionFind(range(len(names)))
    for (a, b), where in levels.items():
        if where <= level:
            joined.union(a, b)
    for (a, b), where in levels.items():
        if where > level and joined[a] == joined[b]:
            met = named([names[c] for c in range(len(names)) if joined[c] == joined[a]])
            between = next(
                (c for c in range(len(names)) if c not in (a, b) and joined[c] == joined[a]), a
            )
            raise TextError(
                f"{names[a]} and {names[b]} meet higher up than each of them meets others of {met},"
                f" such as {names[between]}: no tree of PCIe switches gives that",
                "a matrix as the tool printed it; with pcie=no, PCIe is left out",
            )
    if sockets is not None:
        apart: dict[int, set[int]] = {}
        for (a, b), where in levels.items():
            if where > level:
                apart.setdefault(joined[a], set()).add(joined[b])
                apart.setdefault(joined[b], set()).add(joined[a])
        for a in range(len(names)):
            for b in range(a + 1, len(names)):
                one, other = joined[a], joined[b]
                if one == other or (a, b) in levels or other in apart.get(one, ()):
                    continue
                if sockets and sockets[a] != sockets[b]:
                    continue
                joined.union(a, b)
                if joined[a] == one:
                    one, other = other, one
                for third in apart.pop(one, ()):
                    apart[third].discard(one)
                    apart[third].add(other)
                    apart.setdefault(other, set()).add(third)
    return sorted(map(sorted, joined.to_sets()))


def named(names: Sequence[str]) -> str:
    """Names in a row, shortened if there are many: ``GPU0 to GPU3`` if they are numbered so."""
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
