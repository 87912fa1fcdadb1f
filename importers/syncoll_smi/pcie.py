"""PCIe as a tree: the GPUs at its leaves, PCIe switches, CPU sockets, and links between these.

Tools print for a pair of devices how far up the tree the path between them leads.  The pairs that
meet at most at a level fall into groups, each on one switch of the level.  Every GPU and PCIe
switch has equal lanes of its own; no tool prints their number or speed.  Network cards are leaves
too where they join boxes.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from itertools import combinations

import networkx as nx
from networkx.utils import UnionFind

from syncoll.importing import Machine, TextError
from syncoll.importing.description import shortened
from syncoll.plugins import NetworkCard
from syncoll_smi.matrices import DeviceMatrix, groups
from syncoll_smi.options import Pcie


class Level(IntEnum):
    """The level at which the path between two devices turns round."""

    SWITCH = 0
    SWITCHES = 1
    HOST_BRIDGE = 2
    SOCKET = 3
    SOCKETS = 4


LEVELS = {
    "PIX": Level.SWITCH,
    "PXB": Level.SWITCHES,
    "PHB": Level.HOST_BRIDGE,
    "NODE": Level.SOCKET,
    "SYS": Level.SOCKETS,
}
"""The words of several tools."""


def add_pcie(
    machine: Machine,
    matrix: DeviceMatrix,
    levels: Mapping[tuple[int, int], Level],
    numa_of: Callable[[], tuple[str, ...]],
    pcie: Pcie,
    words: tuple[str, str],
    cards: Sequence[NetworkCard] = (),
    used: Sequence[NetworkCard] = (),
) -> tuple[bool, bool]:
    """Adds PCIe with the `used` cards.

    Args:
        machine: with a node ``0, 1, …`` for each GPU, and all other links.
        levels: the level at which each pair without other links meets, the smaller number first;
            the numbers of cards come after the GPUs.
        numa_of: finds the NUMA node, or the CPUs, of each GPU; empty if unknown.
        words: words for the other links, and for pairs without them.

    Returns:
        Whether PCIe is part of the machine, and not of the ways to cards alone; and whether some
        path leads over a CPU.

    Raises:
        ImportFormatError: if no tree gives this, or GPUs are in parts and PCIe is excluded.
    """
    names, (links, without) = matrix.names, words
    gpus = len(names)
    joined = machine.reached(host=False) == gpus
    if pcie.use == "never" and not joined:
        parts = groups([pair for pair in matrix.pairs if pair not in levels], gpus)
        separate = [named([names[gpu] for gpu in part]) for part in parts]
        raise matrix.header.wrong(
            f"{links} do not join all GPUs; these are separate: {' | '.join(separate[:16])}"
            f"{' | …' if len(separate) > 16 else ''}",
            "pcie=auto, or the speed of PCIe in GB/s such as pcie=16",
        )
    taken = pcie.use == "always" or (pcie.use == "auto" and not joined)
    between = [pair for pair in levels if pair[1] < gpus]
    if not taken and between:
        machine.note(
            f"{len(between)} of {len(matrix.pairs)} pairs {without} here: PCIe is left out "
            f"(pcie={float(pcie.rate):g} adds it)."
        )
    leaves = [c for c, card in enumerate(cards) if card in used]
    hooks: dict[int, object] = {}
    above = False
    if taken or leaves:
        known = numa_of()
        tree = _Tree(machine, [*names, *(cards[c].name for c in leaves)], gpus, pcie)
        place = {old: new for new, old in enumerate([*range(gpus), *(gpus + c for c in leaves)])}
        inner = {
            (place[a], place[b]): level
            for (a, b), level in levels.items()
            if a in place and b in place
        }
        tree.add(inner, known)
        hooks = {c: tree.hooks[place[gpus + c]] for c in leaves if place[gpus + c] in tree.hooks}
        above = any(level > Level.SWITCHES for level in inner.values())
        machine.notes += tree.notes(above)
    for c, card in enumerate(cards):
        machine.card(card, hooks.get(c, ("no place", c)))
    return taken, above


class _Tree:
    """Switches above devices, joined from the leaves up."""

    def __init__(self, machine: Machine, names: Sequence[str], gpus: int, pcie: Pcie) -> None:
        self.machine, self.names, self.gpus, self.pcie = machine, names, gpus, pcie
        self.tops: list[object] = list(range(len(names)))
        self.hooks: dict[int, object] = {}
        self.sockets = 0
        self.several = ""

    def add(self, levels: Mapping[tuple[int, int], Level], known: tuple[str, ...]) -> None:
        gpus = {pair: level for pair, level in levels.items() if pair[1] < self.gpus}
        for level in (Level.SWITCH, Level.SWITCHES, Level.SOCKET):  # raises without a tree
            _groups(self.names[: self.gpus], gpus, level, known if level == Level.SOCKET else None)
        self._join(_groups(self.names, levels, Level.SWITCH, check=False), "PCIe switch")
        self._join(_groups(self.names, levels, Level.SWITCHES, check=False), "upper PCIe switch")
        numa = _groups(self.names, levels, Level.SOCKET, known, check=False)
        sockets = self._sockets(numa, known)
        self._join(sockets, "CPU", always=len(sockets) > 1)
        heads = [self.tops[group[0]] for group in sockets]
        self.sockets = len(heads)
        if len(heads) > 2:
            heads = [self._new("between the CPU sockets"), *heads]
        for head in heads[1:]:
            rate = self.pcie.socket
            self.machine.join(heads[0], head, rate, "between CPU sockets", host=True)

    def notes(self, above: bool) -> list[str]:
        """The assumptions."""
        pcie = self.pcie
        notes = [
            f"PCIe: each GPU and each PCIe switch is assumed to have lanes of {float(pcie.rate):g} "
            f"GB/s in each direction ({pcie.reason}); the tool prints how they are joined, "
            "but no speeds."
        ]
        if above:
            notes.append(
                "GPUs that meet at a host bridge or in the CPU may have to copy through the host's "
                "memory, which is slower than the lanes."
            )
        if self.sockets > 1:
            notes.append(
                f"Between CPU sockets {float(pcie.socket):g} GB/s in each direction are assumed "
                "(option socket)."
            )
        return notes + [self.several] * bool(self.several)

    def _sockets(self, numa: list[list[int]], known: tuple[str, ...]) -> list[list[int]]:
        """Groups of NUMA nodes: a socket may have several, which its own links join."""
        wanted = self.pcie.sockets
        first = [re.match(r"\d+", known[group[0]]) if known and group[0] < self.gpus else None
                 for group in numa]  # fmt: skip
        order = [int(match[0]) if match else -1 for match in first]
        shown = len(set(order)) == len(order) and -1 not in order
        number = wanted or (len(numa) if len(numa) <= 2 else 2 if shown else 1)
        if number >= len(numa):
            return numa
        if not wanted:
            how = "2 CPU sockets, by their numbers" if shown else "one CPU socket"
            self.several = (
                f"The {len(numa)} NUMA nodes are assumed to be in {how} (option sockets)."
            )
        ranked = sorted(range(len(numa)), key=lambda group: order[group])
        merged: list[list[int]] = [[] for _ in range(number)]
        for i, group in enumerate(ranked):
            merged[i * number // len(numa)] += numa[group]
        return sorted(map(sorted, merged))

    def _new(self, name: str) -> object:
        key = ("PCIe", self.machine.size[1])
        self.machine.switch(key, name)
        return key

    def _join(self, groups: Sequence[Sequence[int]], what: str, *, always: bool = False) -> None:
        """Joins several tops of a group (with `always` also one) by a switch, a new top."""
        for group in groups:
            below = list(dict.fromkeys(self.tops[device] for device in group))
            if not always and len(below) < 2:
                continue
            gpus = [device for device in group if device < self.gpus]
            switch = self._new(f"{what} of {named([self.names[one] for one in gpus or group])}")
            for vertex in below:
                if isinstance(vertex, int) and vertex >= self.gpus:
                    self.hooks[vertex] = switch
                    continue
                label = "PCIe" if isinstance(vertex, int) else "PCIe of a switch"
                self.machine.join(vertex, switch, self.pcie.rate, label, below=True)
            for device in group:
                self.tops[device] = switch


def _groups(
    names: Sequence[str],
    levels: Mapping[tuple[int, int], Level],
    level: Level,
    sockets: tuple[str, ...] | None = None,
    *,
    check: bool = True,
) -> list[list[int]]:
    """The devices that meet at most at a level.

    With `sockets`, unknown pairs are assumed to meet there, unless their sockets differ or others
    of their groups meet higher up.  With `check`, the levels must make a tree.
    """
    joined: UnionFind[int] = UnionFind(range(len(names)))
    for (a, b), where in levels.items():
        if where <= level:
            joined.union(a, b)
    for (a, b), where in levels.items() if check else ():
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
        apart: nx.Graph[int] = nx.Graph()
        apart.add_nodes_from(joined)
        apart.add_edges_from(
            (joined[a], joined[b]) for (a, b), where in levels.items() if where > level
        )
        for a, b in combinations(range(len(names)), 2):
            one, other = joined[a], joined[b]
            if one == other or (a, b) in levels or apart.has_edge(one, other):
                continue
            if b < len(sockets) and sockets[a] != sockets[b]:
                continue
            joined.union(a, b)
            gone = other if joined[a] == one else one
            apart.add_edges_from([(joined[a], third) for third in apart[gone]])
            apart.remove_node(gone)
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
