"""Timed trees of known algorithms as first columns, completed if a link of theirs is missing.

Each chunk's tree of an algorithm for a similar problem is a good column: the linear program divides
the chunks among all of them again.  A node whose link is missing is reached from another node that
has the chunk in time; the subtree below it stays.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from syncoll.arrays import Bools
from syncoll.deadline import Deadline
from syncoll.packing.arrivals import MOST_CELLS
from syncoll.packing.problem import PackingProblem, TreeDemand
from syncoll.packing.trees import Send, TimedTree, of_use
from syncoll.plugins import Proposal

_MOST_CELLS = 4 * MOST_CELLS
"""Most chunks times nodes of a known algorithm; limits memory."""

_MOST_TREES = 160
"""Most trees of a demand that are kept; trees with most chunks come first; limits work."""

_WAYS = 3
"""Completions tried for an incomplete tree, each from a different link; limits work."""


def known_trees(
    problem: PackingProblem, known: Sequence[Proposal], until: Deadline
) -> list[list[TimedTree]]:
    """Trees of known algorithms for each demand, trees with most chunks first.  Sends over missing
    links are left out."""
    shares: list[dict[TimedTree, float]] = [{} for _ in problem.demands]
    number = {(d.sources, d.destinations): i for i, d in enumerate(problem.demands)}
    into = _LinksInto(problem)
    for one in known:
        for ends, sends, share in _by_chunk(problem, one):
            if until.passed:
                break
            demand = number.get(ends)
            if demand is None:
                continue
            for tree in _completed(problem.demands[demand], sends, into):
                shares[demand][tree] = shares[demand].get(tree, 0.0) + share
    return [sorted(some, key=lambda tree: -some[tree])[:_MOST_TREES] for some in shares]


_Ends = tuple[tuple[int, ...], tuple[int, ...]]


def _by_chunk(
    problem: PackingProblem, known: Proposal
) -> Iterator[tuple[_Ends, list[Send], float]]:
    """Ends of chunks, their sends over existing links, and part of C; equal chunks are merged."""
    nodes = problem.num_nodes
    if not problem.collective.admits(nodes, known.chunks):
        return
    table = problem.collective.tabulate(nodes, known.chunks)
    if len(table) * nodes > _MOST_CELLS:
        return
    place = np.full((nodes, nodes), -1, dtype=np.int64)
    place[problem.links.source, problem.links.target] = np.arange(len(problem.links.source))
    sends = known.algorithm.sends
    sends = sends[place[sends[:, 1], sends[:, 2]] >= 0]
    sends = sends[np.argsort(-sends[:, 3], kind="stable")]  # the earliest send is written last
    chunk, source, target, step = sends.T
    steps = known.algorithm.steps
    cells = np.full((len(table), nodes), -1, dtype=np.int64)
    cells[chunk, target] = place[source, target] * steps + step
    missing = table.post & ~table.pre
    alike: dict[bytes, list[int]] = {}
    for i, row in enumerate(np.concatenate([table.pre, missing, cells], axis=1)):
        alike.setdefault(row.tobytes(), []).append(i)
    for i, *others in alike.values():
        ends = _nodes(table.pre[i]), _nodes(missing[i])
        used = [divmod(cell, steps) for cell in cells[i].tolist() if cell >= 0]
        yield ends, used, (1 + len(others)) / known.chunks


def _nodes(mask: Bools) -> tuple[int, ...]:
    return tuple(np.flatnonzero(mask).tolist())


class _LinksInto:
    """The links of a problem by their heads."""

    def __init__(self, problem: PackingProblem) -> None:
        self.source: list[int] = problem.links.source.tolist()
        self.target: list[int] = problem.links.target.tolist()
        self.all: list[list[int]] = [[] for _ in range(problem.num_nodes)]
        for link, node in enumerate(self.target):
            self.all[node].append(link)


def _completed(demand: TreeDemand, sends: Sequence[Send], into: _LinksInto) -> list[TimedTree]:
    """The tree of some sends, completed in several ways if it is incomplete."""
    given = {into.target[link]: (link, step) for link, step in sends}
    found: dict[TimedTree, None] = {}
    for way in range(_WAYS):
        taken = _with_ways(demand, given, into, way)
        if taken is None:
            break
        reached, is_whole = taken
        found[of_use(demand, reached, into.source)] = None
        if is_whole:
            break
    return list(found)


def _with_ways(
    demand: TreeDemand, given: Mapping[int, Send], into: _LinksInto, way: int
) -> tuple[dict[int, Send], bool] | None:
    """The send to each node, and whether the given sends were complete.  The first missing node
    gets the link of rank `way`; None if it or a node has no such link."""
    has = dict.fromkeys(demand.sources, 0)  # steps until the node has the chunk
    taken: dict[int, Send] = {}
    order = sorted(given.items(), key=lambda item: item[1][1])
    missing = set(demand.destinations)
    is_whole = True

    def follow() -> None:
        """Adds the given sends from nodes that have the chunk."""
        waiting, before = order, -1
        while len(waiting) != before:
            before, left = len(waiting), []
            for node, (link, step) in waiting:
                if node in has:
                    continue
                since = has.get(into.source[link])
                if since is None:
                    left.append((node, (link, step)))
                    continue
                taken[node] = link, max(step, since)
                has[node] = max(step, since) + 1
                missing.discard(node)
            waiting = left

    follow()
    while missing:
        # Nodes without a given send come first: their subtrees follow by given sends.
        choice = sorted(
            (node in given, has[into.source[link]], link)
            for node in (*missing, *(n for n in given if n not in has))
            for link in into.all[node]
            if into.source[link] in has
        )
        choice = list(dict.fromkeys(choice))
        which = way if is_whole else 0
        if which >= len(choice):
            return None
        _, since, link = choice[which]
        node = into.target[link]
        taken[node] = link, since
        has[node] = since + 1
        missing.discard(node)
        is_whole = False
        follow()
    return taken, is_whole
