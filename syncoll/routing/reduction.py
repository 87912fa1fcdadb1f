"""Makes a network smaller without changing its violated cuts.

*Bypass*: a switch with two neighbours (a network card) only relays between them, so its links
become one link each way.  *Contract*: the links inside a set of vertices may be so wide that every
cut through the set carries all trees.  Then no violated cut crosses the set, and it may be treated
as one vertex.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from syncoll.routing.network import FlowNetwork, Network

Groups = list[list[int]]
"""A partition of a network's vertices; each group is sorted, single vertices included."""

_MOST_THRESHOLDS = 24
_MOST_LINKS = 200_000
"""Links looked at for all thresholds together, beyond the first few thresholds."""
_LARGEST_MATRIX = 3000


@dataclass(frozen=True)
class Bypass:
    """A switch that was bypassed, and its links at that moment."""

    switch: int
    into: dict[int, int]
    out: dict[int, int]

    def belongs(self, inside: Collection[int]) -> bool:
        """Whether a cut is narrower with the switch on the side of `inside`."""
        leaving = sum(c for v, c in self.out.items() if v not in inside)
        entering = sum(c for u, c in self.into.items() if u in inside)
        return leaving < entering


def bypass_two_port_switches(network: Network) -> list[Bypass]:
    """Replaces each switch with two neighbours by direct links, in place; returns them in order.
    Traffic that would turn round in the switch is dropped: it serves no cut."""
    gone: list[Bypass] = []
    waiting = network.switches()
    while waiting:
        w = waiting.pop()
        ends = sorted({*network.out[w], *network.into[w]})
        if len(ends) > 2:
            continue
        gone.append(Bypass(w, dict(network.into[w]), dict(network.out[w])))
        for u, t in (ends, ends[::-1]) if len(ends) == 2 else ():
            amount = min(network.into[w].get(u, 0), network.out[w].get(t, 0))
            if amount:
                network.split(u, w, t, amount)
        for u in ends:
            network.drop(u, w)
            network.drop(w, u)
        waiting.extend(v for v in ends if not network.is_terminal[v] and v not in waiting)
    return gone


def is_feasible(network: Network) -> bool:
    """Whether all trees fit: every terminal can receive one unit of each (Theorem 5)."""
    if all(
        network.out[u].get(t, 0) >= network.demand[u]
        for u in network.terminals
        if network.demand[u]
        for t in network.terminals
        if t != u
    ):
        return True
    flow, _ = network.root_flow()
    source = network.num_vertices
    sinks = sorted(network.terminals, key=lambda v: sum(network.into[v].values()))
    return all(flow.maximum(source, v) >= network.total for v in sinks)


def find_groups(network: Network, need: int, trust: Iterable[Sequence[int]] = ()) -> Groups:
    """Groups that no cut with a capacity below `need` crosses; one if there is no such cut.

    Args:
        need: cuts below this capacity must survive; `Network.need` for violated cuts.
        trust: sets of vertices to try before others.
    """
    tested: dict[object, bool] = {}
    live = [v for v in range(network.num_vertices) if network.out[v] or network.into[v]]
    group_of = {v: [v] for v in range(network.num_vertices)}
    grouped: set[int] = set()

    def merge(members: Sequence[int]) -> None:
        parts = {group_of[v][0]: group_of[v] for v in members}
        if len(parts) > 1 and is_robust(network, members, need, tested):
            whole = sorted(chain.from_iterable(parts.values()))
            group_of.update(dict.fromkeys(whole, whole))
            grouped.update(members)

    for members in trust:
        merge(sorted(members))
    if len(grouped) < len(live):
        for members in wide_parts(network, [need]):
            merge(members)
    return sorted({group_of[v][0]: group_of[v] for v in live}.values())


def wide_parts(network: Network, thresholds: Sequence[int] = ()) -> Iterable[list[int]]:
    """Sets that links of at least some capacity connect strongly, for rising capacities."""
    capacities = sorted({c for heads in network.out for c in heads.values()})
    size = sum(len(heads) for heads in network.out)
    most = min(_MOST_THRESHOLDS, max(4, _MOST_LINKS // max(1, size)))
    if len(capacities) > most:
        step = len(capacities) / most
        capacities = [capacities[int(i * step)] for i in range(most)]
    live = sum(1 for v in range(network.num_vertices) if network.out[v] or network.into[v])
    before: list[list[int]] = []
    for threshold in sorted({*capacities, *thresholds}):
        parts = strong_components(network, threshold)
        if parts != before:
            yield from (part for part in parts if len(part) < live)
        before = parts


def strong_components(network: Network, threshold: int) -> list[list[int]]:
    """Strong components of two vertices or more over links of at least some capacity (Kosaraju).
    Without igraph, whose import takes as long as the rest of a short command."""

    def trees(near: Sequence[Mapping[int, int]], roots: Iterable[int]) -> Iterator[list[int]]:
        """The trees of a depth-first search, each vertex after those below it."""
        seen: set[int] = set()
        for root in roots:
            tree, stack = list[int](), [(root, False)]
            while stack:
                v, is_left = stack.pop()
                if is_left:
                    tree.append(v)
                elif v not in seen:
                    seen.add(v)
                    stack.append((v, True))
                    stack += [(u, False) for u, c in near[v].items() if c >= threshold]
            yield tree

    left = [v for tree in trees(network.out, range(network.num_vertices)) for v in tree]
    found = trees(network.into, reversed(left))
    return sorted(sorted(tree) for tree in found if len(tree) > 1)


def is_robust(
    network: Network, members: Sequence[int], need: int, tested: dict[object, bool] | None = None
) -> bool:
    """Whether every cut through a sorted set keeps `need` units each way, inside the set."""
    index = {v: i for i, v in enumerate(members)}
    arcs = [
        (index[u], index[v], capacity)
        for u in members
        for v, capacity in network.out[u].items()
        if v in index
    ]
    inward, outward = [0] * len(members), [0] * len(members)
    for a, b, capacity in arcs:
        outward[a] += capacity
        inward[b] += capacity
    if min(inward) < need or min(outward) < need:
        return False
    key = (len(members), tuple(sorted(arcs)))
    if tested is not None and key in tested:
        return tested[key]
    answer = _is_connected(len(members), arcs, need)
    if tested is not None:
        tested[key] = answer
    return answer


def is_tight(network: Network, members: Sequence[int]) -> bool:
    """Whether the links into a set carry exactly the trees rooted outside."""
    inside = set(members)
    entering = sum(c for v in members for u, c in network.into[v].items() if u not in inside)
    return 1 < len(inside) < len(network.terminals) and entering == network.total - sum(
        network.demand[v] for v in members
    )


def _is_connected(size: int, arcs: Sequence[tuple[int, int, int]], need: int) -> bool:
    """Whether `need` units can flow between any two vertices."""
    # Units beyond the need change no answer; without them the flows stop earlier.
    tails = np.array([a for a, _, _ in arcs])
    heads = np.array([b for _, b, _ in arcs])
    capacities = np.array([min(c, need) for _, _, c in arcs], dtype=np.int64)
    left = np.arange(1, size)
    if size <= _LARGEST_MATRIX and need < 1 << 50:
        # Paths of one or two links between the hub, a growing set of vertices that are connected
        # well enough, and the others are often enough, and quickly counted.
        matrix = np.zeros((size, size), dtype=np.int64)
        matrix[tails, heads] = capacities
        joined = np.arange(size) == 0
        while len(left):
            out, into = matrix[joined].sum(axis=0), matrix[:, joined].sum(axis=1)
            rest = matrix[np.ix_(left, left)]
            onward = out[left] + np.minimum(out[left][:, None], rest).sum(axis=0)
            back = into[left] + np.minimum(rest, into[left][None, :]).sum(axis=1)
            least = np.minimum(onward, back)
            if least.max() < need:
                left = left[np.argsort(least)]
                break
            joined[left[least >= need]] = True
            left = left[least < need]
    if not len(left):
        return True
    flow = FlowNetwork(size, tails, heads, capacities)
    return all(flow.maximum(0, v) >= need and flow.maximum(v, 0) >= need for v in left.tolist())
