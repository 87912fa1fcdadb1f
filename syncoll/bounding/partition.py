"""Finding partitions (`syncoll.certificates.partition`) that prove much, and prices for them.

Every node a part of its own counts all sends; coarser parts count those over slow links alone, and
where switches copy or add up what is sent within parts, those between them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from syncoll.certificates.classes import ChunkClass
from syncoll.certificates.partition import PartitionCertificate, in_units, sends_between
from syncoll.deadline import NEVER, Deadline
from syncoll.linear import LinearProgram
from syncoll.model import Counting, Topology

__all__ = ["find_partition"]

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

_MOST_PROGRAMS = 12
"""This number of the most promising partitions gets exact prices."""

_MOST_JOINED = 64
_SECONDS_OF_LARGE = 1.0
"""With more nodes joining parts takes seconds for each pair, and is cut short."""

_DENOMINATORS = (12, 840, 27720, 10**6)
"""Largest denominators tried in turn when a price is rounded."""


def find_partition(
    topology: Topology, classes: Sequence[ChunkClass], deadline: Deadline = NEVER
) -> tuple[Fraction, PartitionCertificate] | None:
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
    for parts in _candidates(topology.num_nodes, ends, share, classes, half):
        if parts not in rated:
            rated[parts] = _rate(parts, ends, share, classes)
    best: tuple[Fraction, PartitionCertificate] | None = None
    for parts in sorted(rated, key=lambda p: (-rated[p], p))[:_MOST_PROGRAMS]:
        if best is not None and rated[parts] <= float(best[0]):
            break  # the rating is never below what prices prove
        if best is not None and deadline.passed:
            break
        certificate = _price(topology, parts, deadline.seconds)
        if certificate is None:
            continue
        proved = certificate.check(topology, classes)
        if proved > (Fraction(0) if best is None else best[0]):
            best = proved, certificate
    return best


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


def _price(
    topology: Topology, parts: Sequence[int], seconds: float | None = None
) -> PartitionCertificate | None:
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
    best: tuple[Fraction, dict[int, Fraction]] | None = None
    for denominator in _DENOMINATORS:
        prices = [Fraction(float(x)).limit_denominator(denominator) for x in optimum.columns]
        one, amounts = in_units(prices)
        price = np.zeros(int(between.sum()), dtype=object)
        for rows, amount in zip(within, amounts, strict=True):
            price[rows] += amount
        least = Fraction(price.min(), one)
        if least <= 0:
            continue
        scaled = {j: value / least for j, value in enumerate(prices) if value}
        room = sum(
            (bounds[j].chunks_per_round * value for j, value in scaled.items()),
            Fraction(0),
        )
        if best is None or room < best[0]:
            best = room, scaled
        if float(best[0]) <= optimum.value * (1 + 1e-9):
            break
    if best is None:
        return None
    return PartitionCertificate(tuple(parts), {numbers[j]: x for j, x in best[1].items()})
