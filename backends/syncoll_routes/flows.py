"""Routes from a flow: the least load of any fractional routing, on any machine.

The data of a start is one flow to all its ends; or the data of an end is one flow from all its
starts, if ends are fewer (the multicommodity flow problem, aggregated by source):

    minimise    x + w * sum of f / b over all links, subject to:
                f(s, into v) - f(s, out of v) = the amount from s that v needs;
                sum over s and the links of L of f(s, e) <= b x    for every (L, b) of B

The small weight w keeps ways short and hardly raises x.  A flow is decomposed into ways, so
dividing it among the pairs loses nothing; integers are rounded last.
"""

from collections import deque

import numpy as np
import numpy.typing as npt

from syncoll.arrays import Floats, Ints
from syncoll.deadline import Deadline, OutOfTimeError
from syncoll.linear import ProgramRows
from syncoll.model import Topology
from syncoll.scheduling.link_sets import LinkSets
from syncoll_routes.congestion import Routes, merged
from syncoll_routes.dealing import dealt

MOST_COLUMNS = 100_000
"""Most links times sending nodes; larger programs take minutes."""

_SHORT = 0.005
"""Relative growth of x allowed for shorter ways."""

_NOTHING = 1e-7
"""Smaller flows, relative to the flow's largest value and its smallest demand, are tolerances of
the solver."""


class Flows:
    """Flows between pairs ``[N, 2]`` of different nodes, in order."""

    def __init__(self, topology: Topology, pairs: Ints) -> None:
        self._topology, self._pairs = topology, pairs
        starts, stops = np.unique(pairs[:, 0]), np.unique(pairs[:, 1])
        self._turned = len(stops) < len(starts)
        """Whether flows run backwards, from the ends of chunks."""
        self._roots = stops if self._turned else starts
        ends = topology.ends.T
        self._from, self._to = ends[::-1] if self._turned else ends
        self._root, self._leaf = pairs.T[::-1] if self._turned else pairs.T
        self._solved: tuple[Ints, Floats] | None = None

    @property
    def num_columns(self) -> int:
        """The number of variables of the program."""
        return len(self._roots) * len(self._from)

    def routes(self, amounts: Ints, until: Deadline) -> Routes | None:
        """Ways of integer amounts; None if time ran out, or tolerances left no way for a pair."""
        topology = self._topology
        sets = LinkSets(topology, 8 * int(amounts.sum()) * topology.num_nodes + 1)
        flow = self._flow(sets, amounts, until)
        if flow is None:
            return None
        ways = self._ways(flow, amounts)
        if ways is None:
            return None
        pair, share, links = ways
        of_link = np.vstack([sets.of_link, np.full((1, sets.of_link.shape[1]), sets.size)])
        used = of_link[links].reshape(len(links), -1)
        whole = dealt(pair, share, used, sets.rounds_per_send)
        return merged(sets, pair, whole, links)

    def _flow(self, sets: LinkSets, amounts: Ints, until: Deadline) -> Floats | None:
        """``[roots, links]``; the program is solved once, and scaled for multiples."""
        total = int(amounts.sum())
        if self._solved is not None:
            return self._solved[1] * (total / int(self._solved[0].sum()))
        roots, links, nodes = len(self._roots), len(self._from), self._topology.num_nodes
        row_of = np.searchsorted(self._roots, self._root)
        needed = np.zeros((roots, nodes))
        np.add.at(needed, (row_of, self._leaf), amounts)
        needed[np.arange(roots), self._roots] = -needed.sum(axis=1)
        flow, link = np.divmod(np.arange(roots * links), links)
        column = np.arange(roots * links)
        scale = max(1.0, total / max(1, roots))
        entries = (
            np.concatenate([flow * nodes + self._to[link], flow * nodes + self._from[link]]),
            np.concatenate([column, column]),
            np.repeat([1.0, -1.0], len(column)),
        )
        costs = _SHORT / links * sets.rounds_per_send[sets.of_link].max(axis=1)[link]
        optimum = least_load(sets, link, needed.ravel() / scale, entries, until, costs)
        if optimum is None:
            return None
        found: Floats = optimum[0].reshape(roots, links) * scale
        self._solved = amounts, found
        return found

    def _ways(self, flow: Floats, amounts: Ints) -> tuple[Ints, Floats, Ints] | None:
        """Pairs, amounts and links ``[W, H]`` of the flows, or None if a pair has no way."""
        pairs: list[int] = []
        shares: list[float] = []
        ways: list[list[int]] = []
        of_root = np.searchsorted(self._roots, self._root)
        for number, root in enumerate(self._roots.tolist()):
            own = np.flatnonzero(of_root == number)
            wanted = {int(self._leaf[i]): (int(i), float(amounts[i])) for i in own}
            for pair, share, way in _peeled(root, flow[number], self._from, self._to, wanted):
                pairs.append(pair)
                shares.append(share)
                ways.append(way[::-1] if self._turned else way)
        width = max(map(len, ways))
        links = np.array([way + [-1] * (width - len(way)) for way in ways], dtype=np.int64)
        whose = np.array(pairs, dtype=np.int64)
        found: Floats = np.array(shares)
        brought = np.bincount(whose, found, len(amounts))
        if not brought.all():
            return None
        # Scales up amounts that are too small by tolerances.
        found *= (amounts / brought)[whose]
        return whose, found, links


def _peeled(
    root: int, flow: Floats, start: Ints, end: Ints, wanted: dict[int, tuple[int, float]]
) -> list[tuple[int, float, list[int]]]:
    """Decomposes a flow into ways from the root (pair, amount, links), short ones first."""
    smallest = min(amount for _, amount in wanted.values())
    least = _NOTHING * min(float(flow.max(initial=0)), 1e3 * smallest)
    left = {int(e): float(flow[e]) for e in np.flatnonzero(flow > least)}
    into: dict[int, list[int]] = {}
    for e in left:
        into.setdefault(int(end[e]), []).append(e)
    found: list[tuple[int, float, list[int]]] = []
    for leaf, (pair, amount) in wanted.items():
        missing = amount
        while missing > least:
            way = _back(root, leaf, left, into, start, end, least)
            if way is None:
                break
            share = min(missing, min(left[e] for e in way))
            for e in way:
                left[e] -= share
            missing -= share
            found.append((pair, share, way))
    return found


def _back(
    root: int,
    leaf: int,
    left: dict[int, float],
    into: dict[int, list[int]],
    start: Ints,
    end: Ints,
    least: float,
) -> list[int] | None:
    """The links of a shortest way with remaining flow, by search from its end."""
    onward: dict[int, int] = {leaf: -1}
    queue = deque([leaf])
    while queue:
        node = queue.popleft()
        for e in sorted(into.get(node, ()), key=lambda e: -left[e]):
            before = int(start[e])
            if left[e] <= least or before in onward:
                continue
            onward[before] = e
            if before == root:
                way = [e]
                while int(end[way[-1]]) != leaf:
                    way.append(onward[int(end[way[-1]])])
                return way
            queue.append(before)
    return None


def least_load(
    sets: LinkSets,
    link: Ints,
    amounts: Floats,
    entries: tuple[Ints, Ints, npt.ArrayLike],
    until: Deadline,
    costs: npt.ArrayLike = 0.0,
) -> tuple[Floats, Floats] | None:
    """The least load; None if time ran out or the solver failed.

    Args:
        link: ``[columns]``, the link that each column loads.
        amounts: ``[rows]``, the right-hand sides of equations on columns.
        entries: their coefficients: rows, columns and values, ``[E]`` each.
        costs: of each column, added to the load.

    Returns:
        ``[columns]``, not negative, and ``[sets + 1]``, the decrease of the load for each unit of a
        bound's capacity.
    """
    program = ProgramRows()
    program.columns(len(link), costs)
    load = program.columns(1, 1.0)
    needed = program.rows(len(amounts), amounts, amounts)
    within = program.rows(sets.size, -np.inf, 0.0)
    program.add(*entries)
    of_link = sets.of_link[link]
    column, place = np.nonzero(of_link < sets.size)
    used = of_link[column, place]
    program.add(within[used], column, sets.rounds_per_send[used])
    program.add(within, load, -1.0)
    try:
        optimum = program.program().minimise(until.seconds)
    except OutOfTimeError:
        return None
    if optimum is None:
        return None
    prices = np.append(np.maximum(-optimum.row_duals[len(needed) :], 0), 0.0)
    return np.maximum(optimum.columns[:-1], 0), prices
