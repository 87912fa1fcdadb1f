"""Cores: a few nodes that exchange their partial sums until each has the whole sum.

A single node needs no exchange.  Two cores of equal size whose nodes are joined one to one, in both
directions, make a core of twice the size, with one step more (recursive doubling).  Nodes that are
all joined to one another exchange in a single step.  If links of some kinds join the nodes of each
box to one another, all nodes exchange in two steps: within the boxes, and with one node of every
other box, in any order.  The nodes of one box, or one node of every box, exchange in one step.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice, permutations

import numpy as np

from syncoll.arrays import Bools, Ints
from syncoll.model import Topology

_LARGEST = 16
"""Most nodes of a core that is no box; a fourth if all exchange at once.  Limits work."""

_MOST_OF_SIZE = 400
"""Most cores of one size that are kept, a random choice of three times as many; limits work."""

_MOST_KINDS = 8
"""Most kinds of links, and most sets of kinds as stages of an exchange; limits work."""


@dataclass(frozen=True)
class Core:
    """Nodes and their exchange.

    Args:
        nodes: ascending.
        sends: (step from 0, position of the link), sorted.
        steps: steps of the exchange.
        carried: ``[K, P]``, packed into bytes: the nodes of the core whose partial sums each send
            carries; None if a node always sends its whole partial sum.
    """

    nodes: tuple[int, ...]
    sends: tuple[tuple[int, int], ...]
    steps: int
    carried: bytes | None = None


def cores(
    topology: Topology, roots: list[int], most_steps: int, kinds: Ints | None = None
) -> list[Core]:
    """Single nodes, and cores with one of `roots` that exchange in at most `most_steps` steps.

    Args:
        roots: one node of each orbit.
        kinds: ``[L]``, the kinds of the links; None if they are all alike.
    """
    both, random = _both_ways(topology), np.random.default_rng(topology.num_nodes)
    found = [Core((v,), (), 0) for v in range(topology.num_nodes)]
    every = list(found)
    for steps in range(1, most_steps + 1):
        if not found or len(found[0].nodes) * 2 > _LARGEST:
            break
        made: dict[tuple[tuple[int, int], ...], Core] = {}
        by_node: dict[int, list[Core]] = {}
        for one in found:
            for v in one.nodes:
                by_node.setdefault(v, []).append(one)
        order = np.arange(len(found))
        if len(found) >= _MOST_OF_SIZE:
            order = random.permutation(order)
        for i in order.tolist():
            for core in _doubled(topology, found[i], by_node, both, steps):
                made.setdefault(core.sends, core)
            if len(made) >= 3 * _MOST_OF_SIZE:
                break
        found = list(made.values())
        if len(found) > _MOST_OF_SIZE:
            kept = random.permutation(len(found))[:_MOST_OF_SIZE]
            found = [found[i] for i in np.sort(kept).tolist()]
        every += found
    if most_steps >= 1:
        every += islice(_cliques(topology, both), _MOST_OF_SIZE)
        every += [] if kinds is None else _by_kinds(topology, kinds, most_steps)
    return [one for one in every if set(one.nodes) & set(roots)]


def _both_ways(topology: Topology) -> list[set[int]]:
    """For each node the nodes that it has links to and from."""
    index = topology.link_index
    both: list[set[int]] = [set() for _ in range(topology.num_nodes)]
    for a, b in topology.links:
        if (b, a) in index:
            both[a].add(b)
    return both


def _by_kinds(topology: Topology, kinds: Ints, most_steps: int) -> Iterator[Core]:
    """Cores of boxes joined by links of some kinds, of one node of each box, and of all nodes."""
    nodes, ends = topology.num_nodes, topology.ends
    every = np.unique(kinds).tolist()
    if len(every) > _MOST_KINDS:
        return
    stages: dict[bytes, Ints] = {}
    for count in range(1, len(every) + 1):
        for some in combinations(every, count):
            links = np.flatnonzero(np.isin(kinds, some))
            if not _are_cliques(nodes, ends[links]):
                continue
            stages.setdefault(links.tobytes(), links)
            across = _across(topology, ends[links])
            if across is not None:
                stages.setdefault(across.tobytes(), across)
    chosen = list(stages.values())[:_MOST_KINDS]
    for links in chosen:
        yield from _each_alone(nodes, links, ends[links])
    for steps in range(1, min(most_steps, 2) + 1):
        for order in permutations(chosen, steps):
            if _sums_once(nodes, [ends[links] for links in order]):
                sends = [(t, link) for t, links in enumerate(order) for link in links.tolist()]
                yield Core(tuple(range(nodes)), tuple(sorted(sends)), steps)


def _each_alone(nodes: int, links: Ints, ends: Ints) -> Iterator[Core]:
    """Components of links ``[K, 2]`` as cores, if of more than two and not of all nodes."""
    for row in np.unique(_near(nodes, ends), axis=0)[::-1]:
        size = int(row.sum())
        if 2 < size <= min(_LARGEST, nodes - 1):
            own = links[row[ends[:, 0]]]
            members = tuple(np.flatnonzero(row).tolist())
            yield Core(members, tuple((0, link) for link in own.tolist()), 1)


def _across(topology: Topology, within: Ints) -> Ints | None:
    """Links that join each node of a box to one of every other box, and these to one another."""
    nodes, number = topology.num_nodes, topology.link_index
    near, both = _near(nodes, within), _both_ways(topology)
    boxes = [np.flatnonzero(row).tolist() for row in np.unique(near, axis=0)[::-1]]
    groups = [{node} for node in boxes[0]]
    for box in boxes[1:]:
        if len(box) != len(groups):
            return None
        matched = _matched(boxes[0], set(box), both)
        if matched is None:
            return None
        for group, (_, other) in zip(groups, matched, strict=True):
            group.add(other)
    pairs = [(a, b) for group in groups for a in group for b in group if a != b]
    if not pairs or any(pair not in number for pair in pairs):
        return None
    return np.array(sorted(number[pair] for pair in pairs))


def _near(nodes: int, ends: Ints) -> Bools:
    """``[P, P]``: whether nodes are joined by one of the links ``[K, 2]``, or the same."""
    near = np.eye(nodes, dtype=bool)
    near[ends[:, 0], ends[:, 1]] = True
    return near


def _are_cliques(nodes: int, ends: Ints) -> bool:
    """Whether each component of these links is a complete graph."""
    near = _near(nodes, ends)
    return bool(np.array_equal(near, near.T) and np.array_equal(near @ near, near))


def _sums_once(nodes: int, order: Sequence[Ints]) -> bool:
    """Whether all nodes end with all contributions, each once."""
    times = np.eye(nodes, dtype=np.int64)
    for ends in order:
        before = times.copy()
        np.add.at(times, ends[:, 1], before[ends[:, 0]])
    return bool((times == 1).all())


def _doubled(
    topology: Topology, one: Core, by_node: dict[int, list[Core]], both: list[set[int]], steps: int
) -> Iterator[Core]:
    number, near = topology.link_index, both[one.nodes[0]]
    others = {id(other): other for v in near for other in by_node.get(v, [])}  # each once
    for other in others.values():
        if not set(one.nodes).isdisjoint(other.nodes):
            continue
        matched = _matched(list(one.nodes), set(other.nodes), both)
        if matched is None:
            continue
        last = [(steps - 1, number[p]) for a, b in matched for p in ((a, b), (b, a))]
        nodes = tuple(sorted((*one.nodes, *other.nodes)))
        yield Core(nodes, tuple(sorted((*one.sends, *other.sends, *last))), steps)


def _matched(
    left: list[int], right: set[int], both: list[set[int]]
) -> list[tuple[int, int]] | None:
    """A partner in `right` for each node in `left`."""
    if not left:
        return []
    for partner in sorted(both[left[0]] & right):
        rest = _matched(left[1:], right - {partner}, both)
        if rest is not None:
            return [(left[0], partner), *rest]
    return None


def _cliques(topology: Topology, both: list[set[int]]) -> Iterator[Core]:
    """Cores of pairwise joined nodes, small ones first."""

    def grown(nodes: tuple[int, ...], near: set[int], size: int) -> Iterator[tuple[int, ...]]:
        if len(nodes) == size:
            yield nodes
            return
        for node in sorted(near):
            further = {other for other in near & both[node] if other > node}
            yield from grown((*nodes, node), further, size)

    for size in range(3, _LARGEST // 4 + 1):
        for nodes in grown((), set(range(topology.num_nodes)), size):
            sends = (topology.link_index[pair] for pair in permutations(nodes, 2))
            yield Core(nodes, tuple((0, link) for link in sends), 1)
