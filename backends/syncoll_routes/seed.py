"""Algorithms from routes of least congestion, pipelined over ever more steps."""

from fractions import Fraction
from math import ceil

import numpy as np

from syncoll.arrays import Ints
from syncoll.deadline import Deadline
from syncoll.model import Collective, RelationTable, Topology, ranges
from syncoll.plugins import Answer, Options, Proposal, SeedLimits
from syncoll.plugins.turns import Proposals, Question, ResumingSeed, Turn
from syncoll.scheduling import MOST_SENDS, Costs, PathSchedules, Streams, waves_of_streams
from syncoll_routes.congestion import CongestionRouter, Routes
from syncoll_routes.copies import Copies
from syncoll_routes.flows import MOST_COLUMNS, Flows
from syncoll_routes.tiers import NEAR, Tiers

_SECONDS = 30.0
"""Time limit if the search has none."""

_SHARE_OF_ROUTING = 0.4

_PARTS_IN_ALL, _MOST_PARTS = 1000, 48
"""Few amounts are cut into more parts, so that parts are small compared with a link's load."""

_FINE, _MANY_SENDS = 1000, 1 << 18
"""C grows until an algorithm has this many rounds or sends."""

_FEW_CHUNKS, _FEW_SENDS = (4, 16, 64), 1 << 15
"""Multiples of the least C that are tried first if they need few sends."""

_MOST_QUICK = 1 << 19
"""With more sends an algorithm takes seconds, and only a third of the S are tried."""

_CLOSE = 2e-3
"""More steps are not tried for copies within this share of the least rounds."""

_MOST_FEWEST = 1 << 22
"""With more sends the fewest steps are not tried."""

_MORE_STEPS = (0, 1, 2, 3, 5, 8, 13, 21)
"""Steps beyond the length of the longest way."""


class RouteSeed(ResumingSeed):
    """Proposes exchanges along routes of least congestion."""

    turn_seconds = _SECONDS

    @staticmethod
    def fits(topology: Topology, collective: Collective) -> Answer:
        """Whether each chunk goes from one node to one, or in boxes from or to several; on one
        tier, whether the exchange is uneven."""
        if collective.combining:
            return Answer(False, "the collective combines; this seed only moves data")
        least = collective.least_chunks(topology.num_nodes)
        if least is None:
            return Answer(False, "no small C is admitted")
        table = collective.tabulate(topology.num_nodes, least)
        starts, ends, counts = table.kinds
        if (table.starts.sizes < 1).any() or (table.ends.sizes < 1).any():
            return Answer(False, "not every chunk goes from a node to others")
        if _is_copied(table):
            if (table.starts.sizes == 1).all() and len(counts) <= len(table.starts.sets):
                return Answer(False, "all chunks of a node go to the same nodes")
            tiers = Tiers.of(topology)
            if tiers is None or not tiers.is_meshed:
                return Answer(
                    False, "chunks go to several nodes, and no boxes have links for all pairs"
                )
            return Answer(True)
        if len(set(starts.tolist())) == 1 or len(set(ends.tolist())) == 1:
            return Answer(False, "all chunks start, or end, at one node")
        whole = len(counts) in (
            topology.num_nodes**2,
            topology.num_nodes * (topology.num_nodes - 1),
        )
        if whole and (counts == counts[0]).all() and Tiers.of(topology) is None:
            return Answer(False, "the exchange is even; other seeds are better")
        return Answer(True)

    def proposals(self, asked: Question) -> Proposals:
        """The best routes found, for each C and number of steps."""
        topology, collective, turn = asked.topology, asked.collective, asked.turn
        limits = turn.limits
        least = collective.least_chunks(topology.num_nodes)
        assert least is not None  # it fits
        table = collective.tabulate(topology.num_nodes, least)
        if _is_copied(table):
            yield from _copied(topology, collective, table, least, turn)
            return
        pairs, amounts, chunks_of = _pairs(table)
        if not len(pairs):
            return
        ways = _Ways(topology, pairs, asked.options)
        while (first := ways.routes(amounts, turn.until, quick=True)) is None:
            if not turn.is_over:
                return
            yield None
        nodes, costs = topology.num_nodes, Costs()
        limit: Fraction | None = None
        sends = int((first.amount * (first.links >= 0).sum(axis=1)).sum())
        for chunks in _chunks(collective, nodes, sends, first.rounds, least, limits):
            if chunks > least:
                chunks_of = _pairs(collective.tabulate(nodes, chunks))[2]
            routes: Routes | None = None
            if chunks == least and ways.is_quick:
                routes = first
            while routes is None:
                share = turn.until.share(_SHARE_OF_ROUTING)
                routes = ways.routes(amounts * (chunks // least), share)
                if routes is None:
                    if not share.passed:
                        return
                    yield None
            streams = _streams(chunks_of, routes)
            note = f"{len(streams.chunks)} ways of at most {streams.height} links"
            waves = _waves(topology, collective, streams, chunks, limits, f"{note}, in waves")
            family = None if waves is None else waves.family
            if family is not None and (limit is None or family.limit < limit):
                limit = family.limit
                yield waves
            every = 3 if streams.num_sends > _MOST_QUICK else 1
            schedules = PathSchedules(topology, streams, chunks, limits.max_rounds, note)
            # Where the fewest steps alone take the time of the search, they are left out.
            begin = every if streams.num_sends > _MOST_FEWEST else 0
            for number in (streams.height + more for more in _MORE_STEPS[begin::every]):
                if schedules.ended or (limits.max_steps is not None and number > limits.max_steps):
                    break
                while (made := schedules.made(number, turn.until)) is None and turn.is_over:
                    yield None
                if made is None:
                    continue
                algorithm = made.algorithm
                if costs.are_new(algorithm.steps, algorithm.rounds, made.chunks):
                    yield Proposal(made.chunks, algorithm, made.note)


def _is_copied(table: RelationTable) -> bool:
    """Whether a chunk starts at several nodes, or goes to several."""
    return bool((table.starts.sizes > 1).any() or (table.ends.sizes > 1).any())


def _copied(
    topology: Topology, collective: Collective, table: RelationTable, least: int, turn: Turn
) -> Proposals:
    """Algorithms for chunks that go to sets of nodes, for each C and number of steps."""
    tiers, costs, limits = Tiers.of(topology), Costs(), turn.limits
    assert tiers is not None  # it fits
    while (first := Copies.of(tiers, table, turn.until)) is None:
        if not turn.is_over:
            return
        yield None
    nodes, done, busiest = topology.num_nodes, set[int](), first.most_sends
    while True:
        every = _chunks(collective, nodes, len(first.link), busiest, least, limits)
        chunks = next((one for one in every if one not in done), None)
        if chunks is None:
            return
        done.add(chunks)
        copies: Copies | None = first if chunks == least else None
        while copies is None:
            copies = Copies.of(tiers, collective.tabulate(nodes, chunks), turn.until)
            if copies is None:
                yield None
        # Few chunks cannot be divided among the cards: with more the busiest has fewer of each.
        busiest = min(busiest, copies.most_sends * least / chunks)
        # Where each takes seconds the cheapest algorithm comes first.
        more_steps = _MORE_STEPS[::-3] if len(copies.link) > _MOST_QUICK else _MORE_STEPS
        for own in dict.fromkeys((copies.relieved(), copies)):
            floor = ceil(own.shares.least_rounds) * (1 + _CLOSE)
            for number in (own.shares.height + more for more in more_steps):
                if limits.max_steps is not None and number > limits.max_steps:
                    continue
                while (made := own.algorithm(number, turn.until)) is None and turn.is_over:
                    yield None
                if made is None:
                    return
                if costs.are_new(made.steps, made.rounds, chunks):
                    yield Proposal(chunks, made, f"{len(own.link)} copies")
                if made.rounds <= floor and more_steps is _MORE_STEPS:
                    break


class _Ways:
    """Finds ways for `pairs`: by tiers, by flows, or by congestion if flows are too many."""

    def __init__(self, topology: Topology, pairs: Ints, options: Options) -> None:
        self._topology, self._pairs = topology, pairs
        self._tiers, flows = Tiers.of(topology), Flows(topology, pairs)
        self._flows = flows if flows.num_columns <= MOST_COLUMNS else None
        self.is_quick = self._tiers is not None or self._flows is not None
        """Whether quick routes are as good as others."""
        parts = max(int(options["parts"]), min(_MOST_PARTS, _PARTS_IN_ALL // len(pairs)))
        self._parts, self._passes = parts, int(options["passes"])

    def routes(self, amounts: Ints, until: Deadline, *, quick: bool = False) -> Routes | None:
        """Ways of integer amounts, or None if time ran out; `quick`: only the rounds matter."""
        found: Routes | None = None
        if self._tiers is not None:
            made = self._tiers.routes(self._pairs, amounts, until, plain=self._flows is not None)
            if made is not None:
                found, is_best = made
                if is_best:
                    return found
        other: Routes | None = None
        if self._flows is not None:
            other = self._flows.routes(amounts, until)
        elif found is None:
            passes = 1 if quick else self._passes
            routing = CongestionRouter(self._topology, self._pairs)
            other = routing.routes(amounts, self._parts, passes, until)
        if found is not None and (other is None or found.rounds * NEAR < other.rounds):
            return found
        return other


def _chunks(
    collective: Collective, nodes: int, sends: int, rounds: float, least: int, limits: SeedLimits
) -> list[int]:
    """The C with little rounding loss, given the sends of the least C, and its rounds or the sends
    over the busiest link."""
    most = max(1, min(ceil(_FINE / rounds) if rounds else 1, _MANY_SENDS // max(1, sends)))
    if limits.max_chunks is not None:
        most = min(most, limits.max_chunks // least)
    if sends > MOST_SENDS or not most:
        return []

    def admits(times: int) -> bool:
        return collective.admits(nodes, times * least)

    few = [c for c in _FEW_CHUNKS if c < most and c * sends <= _FEW_SENDS and admits(c)]
    return [c * least for c in (*few, next(filter(admits, range(most, 0, -1)), 1))]


def _pairs(table: RelationTable) -> tuple[Ints, Ints, Ints]:
    """Pairs of nodes ``[N, 2]``, their numbers of chunks ``[N]``, and the chunks in this order."""
    source = table.starts.sets.argmax(axis=1)[table.starts.number]
    end = table.ends.sets.argmax(axis=1)[table.ends.number]
    moving = np.flatnonzero(source != end)
    key = source[moving] * table.num_nodes + end[moving]
    order = np.argsort(key, kind="stable")
    amounts = np.bincount(key, minlength=1)
    keys = np.flatnonzero(amounts)
    return np.stack(np.divmod(keys, table.num_nodes), axis=1), amounts[keys], moving[order]


def _waves(
    topology: Topology,
    collective: Collective,
    streams: Streams,
    chunks: int,
    limits: SeedLimits,
    note: str,
) -> Proposal | None:
    """The same ways in waves; None beyond the limits or if members renumber chunks."""
    if not streams.num_sends or streams.num_sends * streams.height > MOST_SENDS:
        return None
    family = waves_of_streams(topology, collective, streams, chunks)
    if family is None:
        return None
    first, rounds = family.first, family.rounds_needed.at(family.first)
    if not limits.allow(
        steps=family.steps.at(first), rounds=rounds, chunks=family.chunks.at(first)
    ):
        return None
    member = family.member(first)
    table, own = collective.table_on(topology, member.chunks), member.instance
    same = np.array_equal(own.pre, table.pre) and np.array_equal(own.post, table.post)
    return Proposal(member.chunks, member.algorithm, note, family) if same else None


def _streams(chunks: Ints, routes: Routes) -> Streams:
    """Assigns the chunks of each pair, in the order of pairs, to its ways."""
    hops = (routes.links >= 0).sum(axis=1)
    stream = np.repeat(np.arange(len(hops)), hops)
    place = ranges(np.zeros(len(hops), dtype=np.int64), hops)
    link = routes.links[stream, place]
    parent = np.where(place > 0, np.arange(len(link)) - 1, -1)
    ends = np.cumsum(routes.amount).tolist()
    own = tuple(chunks[a:b] for a, b in zip([0, *ends[:-1]], ends, strict=True))
    return Streams(link, parent, stream, own, tuple(range(len(hops))))
