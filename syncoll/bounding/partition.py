"""Finds partitions (`syncoll.certificates.parts`) with good bounds, and prices for them.

With every node a part of its own, all sends count.  Coarser parts count only sends over slow links,
or, where switches copy or add up within parts, sends between them.  For a sum of combining and
moving terms, prices are found at which both pay the most together.  The variables of this linear
program are the prices, the least price between parts, and the cost of a way from each source of
moved chunks.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from types import MappingProxyType

import numpy as np

from syncoll.arrays import Floats, Ints
from syncoll.bounding.covers import Covers
from syncoll.bounding.network import CELLS
from syncoll.bounding.rationals import TOLERANCE, Rounding, rationalise
from syncoll.certificates.chunk_classes import ChunkClass, ClassList
from syncoll.certificates.link_prices import LinkPrices
from syncoll.certificates.parts import Parts, sends_between
from syncoll.certificates.priced import Priced
from syncoll.deadline import NEVER, Deadline, OutOfTimeError
from syncoll.linear import ProgramRows
from syncoll.model import Counting, Topology
from syncoll.model.width_clusters import connected_by

_MOST_PROGRAMS = 12
"""This number of the most promising partitions gets exact prices."""


def find_partition(
    topology: Topology, classes: Sequence[ChunkClass], deadline: Deadline = NEVER
) -> tuple[Fraction, Priced] | None:
    """The best bound of this kind that a search over partitions finds, with its certificate; None
    if no partition proves more than 0.

    Candidates: every node alone; components of links above some bandwidth; and successive joins of
    the two parts that leave the best bound.

    Args:
        deadline: after half of it no further partitions are considered.
    """
    if not topology.links:
        return None
    search = _Search(topology, ClassList.of(classes))
    best: tuple[Fraction, Priced] | None = None

    def keep(certificate: Priced | None) -> None:
        nonlocal best
        if certificate is not None:
            proved = certificate.check(topology, classes)
            if proved > (Fraction(0) if best is None else best[0]):
                best = proved, certificate

    try:
        if search.moved:  # mostly the best bound, and valid even without time for others
            alone = search.price(tuple(range(topology.num_nodes)), deadline.seconds)
            keep(alone and _moving(alone))
        rated = {parts: search.rating(parts) for parts in search.candidates(deadline.share(0.5))}
        for parts in sorted(rated, key=lambda p: (-rated[p], p))[:_MOST_PROGRAMS]:
            if best is not None and not search.moved and rated[parts] <= float(best[0]):
                break  # the rating is never below the bound of prices
            if best is not None and deadline.passed:
                break
            plain = search.price(parts, deadline.seconds)
            keep(plain)
            if search.moved:
                keep(plain and _moving(plain))
                summed = search.price(parts, deadline.seconds, search.moved)
                keep(summed and _moving(summed))
    except OutOfTimeError:
        if best is None:
            raise
    return best


def _moving(proof: Priced) -> Priced:
    """The same, but chunks with one contributor pay for their ways."""
    assert isinstance(proof.argument, Parts)
    return replace(proof, argument=replace(proof.argument, moved=True))


class _Search:
    """Partitions of the nodes, and prices for them.

    `moved` counts the chunks that are moved from one node to another, in a sum with combining
    terms.  It is empty without them, or if there are too many for their ways to be considered.
    """

    def __init__(self, topology: Topology, classes: ClassList) -> None:
        self.topology, self.classes = topology, classes
        self.moved: dict[tuple[int, int], int] = {}
        self._ends = topology.ends
        self._rates = [bound.chunks_per_round for bound in topology.bounds]
        counting = [bound.counts is Counting.SENDS for bound in topology.bounds]
        self._counting = np.flatnonzero(counting).tolist()
        # A part of the cheapest bound with each link: a round has room for this number of sends.
        self._share = Covers(topology, np.array(counting, dtype=bool)).share
        own, to = classes.first_node, classes.second_node
        moving = (own >= 0) & (to >= 0) & (own != to)
        sizes = np.array([len(one) for one in classes.sets])
        added = (sizes[classes.first] > 1) & (sizes[classes.second] > 0)
        sources = len(np.unique(own[moving]))
        if added.any() and sources * len(self._ends) <= CELLS // 8:
            ends = zip(own[moving].tolist(), to[moving].tolist(), strict=True)
            self.moved = dict(zip(ends, classes.counts[moving].tolist(), strict=True))

    def rating(self, parts: Sequence[int]) -> float:
        """An upper estimate of the bound by parts; exact if bounds neither overlap nor straddle
        them."""
        room = self._share[self._between(parts)].sum()
        sends = sends_between(parts, self.classes)
        return float(sends / room) if sends and room else 0.0

    def candidates(self, deadline: Deadline) -> Iterator[tuple[int, ...]]:
        """Promising partitions: all on 64 nodes, some 4,096 on 1024."""
        nodes, share, left = self.topology.num_nodes, self._share, 4 * CELLS
        wide = [share == np.inf, *(share > width for width in np.unique(share[share < np.inf]))]
        for links in wide:
            yield _numbered(connected_by(self.topology, links).tolist())
        parts = _numbered(connected_by(self.topology, wide[0]).tolist())
        while max(parts) > 1:
            part = np.sort(np.array(parts)[self._ends], axis=1)
            neighbours = np.unique(part[part[:, 0] < part[:, 1]], axis=0).tolist()
            rated: list[tuple[float, tuple[int, ...]]] = []
            for a, b in neighbours:
                left -= nodes
                if left < 0 or deadline.passed:
                    return
                joined = _numbered([a if p == b else p for p in parts])
                rated.append((self.rating(joined), joined))
            if not rated:
                return
            parts = max(rated, key=lambda one: one[0])[1]
            yield parts

    def _between(self, parts: Sequence[int]) -> Ints:
        part = np.array(parts)[self._ends]
        return np.flatnonzero(part[:, 0] != part[:, 1])

    def price(
        self,
        parts: Sequence[int],
        seconds: float | None,
        moved: Mapping[tuple[int, int], int] = MappingProxyType({}),
    ) -> Priced | None:
        """The prices for these parts at which combined and moved chunks pay the most together.

        Columns are the prices, the least price of a link between parts, and for each source of
        moved chunks the cost of the cheapest way to each node.  All of it together pays at least 1,
        and the cost of a round is minimal.

        Args:
            moved: counts by source and destination of the chunks that pay for their ways.  All
                others, and without `moved` all chunks, pay for sends between parts.
        """
        program, nodes = ProgramRows(), self.topology.num_nodes
        prices = program.columns(len(self._rates), [float(rate) for rate in self._rates])
        least = program.columns(1)
        ways = {source: program.columns(nodes) for source in sorted({s for s, _ in moved})}
        paid = program.rows(1, 1.0, np.inf)
        added = [one for one in self.classes if len(one.pre) > 1 or not moved]
        program.add(paid, least, float(sends_between(parts, added)))
        for (source, destination), count in moved.items():
            program.add(paid, ways[source][destination], float(count))
        program.add(self._link_rows(program, self._between(parts), prices), least, -1.0)
        tails, heads = self._ends.T
        for source, cost in ways.items():
            links = np.flatnonzero(heads != source)
            rows = self._link_rows(program, links, prices)
            program.add(rows, cost[heads[links]], -1.0)
            onward = tails[links] != source
            program.add(rows[onward], cost[tails[links][onward]])
        optimum = program.program().minimise(seconds)
        if optimum is None:
            return None
        found, one = optimum.columns[prices], float(optimum.columns[least[0]])
        return None if one <= TOLERANCE * found.max() else self._rounded(parts, found / one)

    def _link_rows(self, program: ProgramRows, links: Ints, prices: Ints) -> Ints:
        """Rows for the costs of these links, by the variables of prices, ``[B]``."""
        rows = program.rows(len(links), 0.0, np.inf)
        place = np.full(len(self._ends), -1)
        place[links] = rows
        for i in self._counting:
            own = place[self.topology.bound_links[i]]
            program.add(own[own >= 0], prices[i])
        return rows

    def _rounded(self, parts: Sequence[int], prices: Floats) -> Priced | None:
        """Prices as fractions, such that every link between parts costs at least 1."""
        links = self._between(parts).tolist()

        def scaled(rounding: Rounding) -> Priced | None:
            exact = {(i, 0): price for i, price in rounding.positive(prices)}
            priced = LinkPrices.of(self.topology, None, exact)
            least = min(priced.price(link, 0) for link in links)
            by_bound = {i: price / least for (i, _), price in exact.items()} if least else {}
            return Parts.priced(tuple(parts), by_bound) if by_bound else None

        def shortness(proof: Priced) -> Fraction:
            """The inverse of the cost of a round."""
            room = (self._rates[i] * price for (i, _), price in proof.prices.items())
            return 1 / sum(room, Fraction(0))

        room = float(np.dot([float(rate) for rate in self._rates], prices))
        best = rationalise(prices, 1 / room, scaled, shortness)
        return None if best is None else best[1]


def _numbered(parts: Sequence[int]) -> tuple[int, ...]:
    """The same parts, numbered in the order of their first nodes."""
    numbers: dict[int, int] = {}
    return tuple(numbers.setdefault(part, len(numbers)) for part in parts)
