"""Finding partitions (`syncoll.certificates.parts`) that prove much, and prices for them.

Every node a part of its own counts all sends; coarser parts count those over slow links alone, and
where switches copy or add up what is sent within parts, those between them.  In a sum of what is
added up and what is moved, prices are found that both pay the most at together: a linear program
whose variables are the prices, the least of them between parts, and what a way costs from each node
that something is moved from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from syncoll.arrays import FloatArray, IntArray
from syncoll.bounding.rationals import TOLERANCE, Rounding, rationalise
from syncoll.certificates.chunk_classes import ChunkClass, ClassList
from syncoll.certificates.link_prices import LinkPrices
from syncoll.certificates.parts import Parts, sends_between
from syncoll.certificates.priced import Priced
from syncoll.deadline import NEVER, Deadline, OutOfTimeError
from syncoll.linear import Rows
from syncoll.model import Counting, Topology

__all__ = ["find_partition"]


_MOST_PROGRAMS = 12
"""This number of the most promising partitions gets exact prices."""

_MOST_RATED = 1 << 22
"""Limit on rated partitions times nodes: all on 64 nodes, 4,096 on 1024."""

_MOST_WAYS = 1 << 17
"""Nodes that something is moved from, times links, up to which ways of a sum are looked at."""


def find_partition(
    topology: Topology, classes: Sequence[ChunkClass], deadline: Deadline = NEVER
) -> tuple[Fraction, Priced] | None:
    """The best bound of this kind that a search over partitions finds, with its certificate.

    Candidates: every node alone; what links of more than some bandwidth connect; and what comes
    when the two parts are joined, again and again, that leave the best bound.

    Args:
        deadline: when it is half over no further partitions are looked at.

    Returns:
        None when no partition proves more than 0.
    """
    if not topology.links:
        return None
    # Each link's part in the cheapest bound with it: room for at least so many sends a round, if
    # they are counted.
    share = np.full(len(topology.links), np.inf)
    for i in _counting_sends(topology):
        members = topology.bound_links[i]
        part = float(topology.bounds[i].chunks_per_round) / len(members)
        share[members] = np.minimum(share[members], part)
    ends = np.array(topology.links, dtype=np.int64)
    rated: dict[tuple[int, ...], float] = {}
    half = deadline.share(0.5)
    best: tuple[Fraction, Priced] | None = None
    moved = _moved(topology, ClassList.of(classes))

    def keep(certificate: Priced | None) -> None:
        nonlocal best
        if certificate is not None:
            proved = certificate.check(topology, classes)
            if proved > (Fraction(0) if best is None else best[0]):
                best = proved, certificate

    try:
        if moved:  # which proves most as a rule, and holds where there is no time for others
            alone = _price(topology, tuple(range(topology.num_nodes)), deadline.seconds)
            keep(alone and _moving(alone))
        for parts in _candidates(topology.num_nodes, ends, share, classes, half):
            if parts not in rated:
                rated[parts] = _rate(parts, ends, share, classes)
        for parts in sorted(rated, key=lambda p: (-rated[p], p))[:_MOST_PROGRAMS]:
            if best is not None and not moved and rated[parts] <= float(best[0]):
                break  # the rating is never below what prices prove
            if best is not None and deadline.passed:
                break
            plain = _price(topology, parts, deadline.seconds)
            keep(plain)
            if moved:
                keep(plain and _moving(plain))
                keep(_price_of_sum(topology, parts, classes, moved, deadline.seconds))
    except OutOfTimeError:
        if best is None:
            raise
    return best


def _moving(proof: Priced) -> Priced:
    """The same, where chunks with one contributor pay for their ways."""
    assert isinstance(proof.argument, Parts)
    return replace(proof, argument=replace(proof.argument, moved=True))


def _moved(topology: Topology, classes: ClassList) -> dict[tuple[int, int], int]:
    """Chunks that are moved from one node to another, beside others that are added up.

    Empty where there are no such, or too many for their ways to be looked at.
    """
    singles, several = classes.singles, [len(one) > 1 for one in classes.sets]
    moved: dict[tuple[int, int], int] = {}
    added = False
    for i, j, count in zip(
        *(part.tolist() for part in (classes.first, classes.second, classes.counts)), strict=True
    ):
        ends = int(singles[i]), int(singles[j])
        if min(ends) >= 0 and ends[0] != ends[1]:
            moved[ends] = moved.get(ends, 0) + count
        added = added or (several[i] and bool(classes.sets[j]))
    sources = {source for source, _ in moved}
    if not added or len(sources) * len(topology.links) > _MOST_WAYS:
        return {}
    return moved


def _rate(
    parts: Sequence[int], ends: IntArray, share: FloatArray, classes: Sequence[ChunkClass]
) -> float:
    """At least what this partition proves; exactly that where bounds do not overlap or straddle."""
    numbers = np.array(parts)
    room = share[numbers[ends[:, 0]] != numbers[ends[:, 1]]].sum()
    sends = sends_between(parts, classes)
    return float(sends / room) if sends and room else 0.0


def _candidates(
    nodes: int,
    ends: IntArray,
    share: FloatArray,
    classes: Sequence[ChunkClass],
    deadline: Deadline,
) -> Iterator[tuple[int, ...]]:
    parts, left = _joined(nodes, ends[share == np.inf]), _MOST_RATED
    yield parts
    for threshold in np.unique(share[share < np.inf]).tolist():
        yield _joined(nodes, ends[share > threshold])
    while max(parts) > 1:
        neighbours = {
            (min(pair), max(pair))
            for a, b in ends.tolist()
            if (pair := (parts[a], parts[b]))[0] != pair[1]
        }
        if not neighbours:
            return
        rated: list[tuple[float, tuple[int, ...]]] = []
        for a, b in sorted(neighbours):
            left -= nodes
            if left < 0 or deadline.passed:
                return
            joined = _numbered([a if p == b else p for p in parts])
            rated.append((_rate(joined, ends, share, classes), joined))
        parts = max(rated, key=lambda one: one[0])[1]
        yield parts


def _joined(nodes: int, ends: IntArray) -> tuple[int, ...]:
    """The parts that some links connect."""
    fast = np.arange(nodes)
    for a, b in ends.tolist():
        fast[fast == fast[a]] = fast[b]
    return _numbered(fast.tolist())


def _counting_sends(topology: Topology) -> list[int]:
    """The bounds that count every send."""
    return [i for i, bound in enumerate(topology.bounds) if bound.counts is Counting.SENDS]


def _numbered(parts: Sequence[int]) -> tuple[int, ...]:
    """The same parts, numbered in the order of their first nodes."""
    numbers: dict[int, int] = {}
    return tuple(numbers.setdefault(part, len(numbers)) for part in parts)


def _link_rows(
    program: Rows, topology: Topology, links: IntArray, prices: IntArray, low: float
) -> IntArray:
    """Rows which say that these links cost at least so much.

    Args:
        prices: ``[B]``, the variables.
    """
    rows = program.rows(len(links), low, np.inf)
    place = np.full(len(topology.links), -1)
    place[links] = rows
    for i in _counting_sends(topology):
        own = place[topology.bound_links[i]]
        program.add(own[own >= 0], prices[i])
    return rows


def _between(topology: Topology, parts: Sequence[int]) -> IntArray:
    """The links between parts."""
    part = np.array(parts)[np.array(topology.links, dtype=np.int64).reshape(-1, 2)]
    return np.flatnonzero(part[:, 0] != part[:, 1])


def _price(topology: Topology, parts: Sequence[int], seconds: float | None = None) -> Priced | None:
    """The prices for these parts that leave the least room."""
    links = _between(topology, parts)
    if not len(links):
        return None
    program = Rows()
    rates = [float(bound.chunks_per_round) for bound in topology.bounds]
    _link_rows(program, topology, links, program.columns(len(rates), rates), 1.0)
    optimum = program.program().minimise(seconds)
    return None if optimum is None else _rounded(topology, parts, optimum.columns, optimum.value)


def _price_of_sum(
    topology: Topology,
    parts: Sequence[int],
    classes: Sequence[ChunkClass],
    moved: Mapping[tuple[int, int], int],
    seconds: float | None = None,
) -> Priced | None:
    """The prices for these parts at which what is added up and what is moved pay the most together.

    Columns are the prices, the least price of a link between parts, and for each node that
    something is moved from what the cheapest way costs to each node.  All of it together pays at
    least 1, and what a round has room for is to be as little as possible.

    Args:
        moved: how many chunks are moved from one node to another.
    """
    program, rates = Rows(), [float(bound.chunks_per_round) for bound in topology.bounds]
    prices, least = program.columns(len(rates), rates), program.columns(1)
    sources = sorted({source for source, _ in moved})
    ways = dict(zip(sources, (program.columns(topology.num_nodes) for _ in sources), strict=True))
    paid = program.rows(1, 1.0, np.inf)
    added = [one for one in classes if len(one.pre) > 1]
    program.add(paid, least, float(sends_between(parts, added)))
    for (source, destination), count in moved.items():
        program.add(paid, ways[source][destination], float(count))
    program.add(_link_rows(program, topology, _between(topology, parts), prices, 0.0), least, -1.0)
    tails, heads = np.array(topology.links, dtype=np.int64).reshape(-1, 2).T
    for source, cost in ways.items():
        links = np.flatnonzero(heads != source)
        rows = _link_rows(program, topology, links, prices, 0.0)
        program.add(rows, cost[heads[links]], -1.0)
        onward = tails[links] != source
        program.add(rows[onward], cost[tails[links][onward]])
    optimum = program.program().minimise(seconds)
    if optimum is None:
        return None
    found, one = optimum.columns[prices], float(optimum.columns[least[0]])
    if one <= TOLERANCE * found.max():
        return None
    rounded = _rounded(topology, parts, found / one, float(np.dot(rates, found / one)))
    return rounded and _moving(rounded)


def _rounded(
    topology: Topology, parts: Sequence[int], prices: FloatArray, value: float
) -> Priced | None:
    """Prices as fractions, such that every link between parts costs at least 1.

    Args:
        value: what a round has room for at these.
    """
    rates, links = [bound.chunks_per_round for bound in topology.bounds], _between(topology, parts)

    def scaled(rounding: Rounding) -> Priced | None:
        exact = {(i, 0): price for i, price in rounding.positive(prices)}
        priced = LinkPrices.of(topology, None, exact)
        least = min(priced.price(link, 0) for link in links.tolist())
        by_bound = {i: price / least for (i, _), price in exact.items()} if least else {}
        return Parts.priced(tuple(parts), by_bound) if by_bound else None

    def shortness(proof: Priced) -> Fraction:
        """The inverse of what a round has room for."""
        return 1 / sum((rates[i] * price for (i, _), price in proof.prices.items()), Fraction(0))

    best = rationalise(prices, 1 / value, scaled, shortness)
    return None if best is None else best[1]
