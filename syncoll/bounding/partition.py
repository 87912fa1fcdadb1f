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
from syncoll.certificates.chunk_classes import ChunkClass, ClassList
from syncoll.certificates.link_prices import in_units
from syncoll.certificates.parts import Parts, sends_between
from syncoll.certificates.priced import Priced
from syncoll.deadline import NEVER, Deadline, OutOfTimeError
from syncoll.linear import LinearProgram
from syncoll.model import Counting, Topology

__all__ = ["find_partition"]


_MOST_PROGRAMS = 12
"""This number of the most promising partitions gets exact prices."""

_MOST_JOINED = 64
_SECONDS_OF_LARGE = 1.0
"""With more nodes joining parts takes seconds for each pair, and is cut short."""

_NOTHING = 1e-6
"""The part of the largest price below which the least one is taken for none."""

_MOST_WAYS = 1 << 17
"""Nodes that something is moved from, times links, up to which ways of a sum are looked at."""

_DENOMINATORS = (12, 840, 27720, 10**6)
"""Largest denominators tried in turn when a price is rounded."""


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
    if topology.num_nodes > _MOST_JOINED:
        half = half.sooner(_SECONDS_OF_LARGE)
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
    parts = _joined(nodes, ends[share == np.inf])
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
            if deadline.passed:
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


def _price(topology: Topology, parts: Sequence[int], seconds: float | None = None) -> Priced | None:
    """The prices for these parts that leave the least room."""
    part = np.array(parts)[np.array(topology.links, dtype=np.int64).reshape(-1, 2)]
    between = part[:, 0] != part[:, 1]
    row = np.cumsum(between) - 1
    numbers = _counting_sends(topology)
    bounds = [topology.bounds[i] for i in numbers]
    own = [topology.bound_links[i] for i in numbers]
    within = [row[members[between[members]]] for members in own]
    sizes = [len(rows) for rows in within]
    if not any(sizes):
        return None
    optimum = LinearProgram(
        np.array([float(bound.chunks_per_round) for bound in bounds]),
        np.concatenate(within),
        np.repeat(np.arange(len(sizes)), sizes),
        np.ones(sum(sizes)),
        np.ones(int(between.sum())),
        np.full(int(between.sum()), np.inf),
    ).minimise(seconds)
    if optimum is None:
        return None
    prices = np.zeros(len(topology.bounds))
    prices[numbers] = optimum.columns
    return _rounded(topology, parts, prices, optimum.value)


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
    nodes, bounds = topology.num_nodes, len(topology.bounds)
    ends = np.array(topology.links, dtype=np.int64).reshape(-1, 2)
    sources = sorted({source for source, _ in moved})
    first = {source: bounds + 1 + k * nodes for k, source in enumerate(sources)}
    sends = sends_between(parts, [one for one in classes if len(one.pre) > 1])
    entries: list[tuple[int, int, float]] = [(0, bounds, float(sends))]
    entries += [(0, first[s] + d, float(n)) for (s, d), n in moved.items()]
    low, row = [1.0], 1
    numbers, counting = np.array(parts), set(_counting_sends(topology))
    priced = [[i for i in own if i in counting] for own in topology.link_bounds]
    for link in np.flatnonzero(numbers[ends[:, 0]] != numbers[ends[:, 1]]).tolist():
        entries += [(row, i, 1.0) for i in priced[link]]
        entries.append((row, bounds, -1.0))
        low.append(0.0)
        row += 1
    for source in sources:
        for link, (a, b) in enumerate(topology.links):
            if b == source:
                continue
            entries += [(row, i, 1.0) for i in priced[link]]
            entries.append((row, first[source] + b, -1.0))
            if a != source:
                entries.append((row, first[source] + a, 1.0))
            low.append(0.0)
            row += 1
    room = [float(bound.chunks_per_round) for bound in topology.bounds]
    costs = np.array(room + [0.0] * (1 + len(sources) * nodes))
    rows, columns, values = zip(*entries, strict=True)
    optimum = LinearProgram(
        costs,
        np.array(rows),
        np.array(columns),
        np.array(values),
        np.array(low),
        np.full(row, np.inf),
    ).minimise(seconds)
    if optimum is None or optimum.columns[bounds] <= _NOTHING * optimum.columns[:bounds].max():
        return None
    least = float(optimum.columns[bounds])
    prices = optimum.columns[:bounds] / least
    found = _rounded(topology, parts, prices, float(np.dot(room, prices)))
    return found and _moving(found)


def _rounded(
    topology: Topology, parts: Sequence[int], columns: FloatArray, value: float
) -> Priced | None:
    """Prices as fractions, such that every link between parts costs at least 1.

    Args:
        columns: prices.
        value: what a round has room for at these.
    """
    part = np.array(parts)[np.array(topology.links, dtype=np.int64).reshape(-1, 2)]
    between = part[:, 0] != part[:, 1]
    row = np.cumsum(between) - 1
    within = [row[members[between[members]]] for members in topology.bound_links]
    best: tuple[Fraction, dict[int, Fraction]] | None = None
    for denominator in _DENOMINATORS:
        prices = [Fraction(float(x)).limit_denominator(denominator) for x in columns]
        one, amounts = in_units(prices)
        price = np.zeros(int(between.sum()), dtype=object)
        for rows, amount in zip(within, amounts, strict=True):
            price[rows] += amount
        least = Fraction(price.min(), one)
        if least <= 0:
            continue
        scaled = {j: value / least for j, value in enumerate(prices) if value}
        room = sum(
            (topology.bounds[j].chunks_per_round * value for j, value in scaled.items()),
            Fraction(0),
        )
        if best is None or room < best[0]:
            best = room, scaled
        if float(best[0]) <= value * (1 + 1e-9):
            break
    return None if best is None else Parts.priced(tuple(parts), best[1])
