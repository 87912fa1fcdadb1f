"""Algorithms from routes of least congestion, pipelined over more and more steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import ceil
from typing import Protocol

import numpy as np
import numpy.typing as npt

from syncoll.deadline import Deadline
from syncoll.errors import ModelError
from syncoll.model import Collective, RelationTable, Topology, ranges
from syncoll.plugins import Answer, OptionValue, Proposal, SeedLimits
from syncoll.scheduling import MOST_SENDS, StreamClass, Streams, schedule_streams
from syncoll_routes.congestion import Routes, Routing
from syncoll_routes.tiers import Tiers

__all__ = ["RouteSeed", "fits"]

IntArray = npt.NDArray[np.int64]

_SECONDS = 30.0
"""Where the search has no limit."""

_SHARE_OF_ROUTING = 0.4

_PARTS_IN_ALL, _MOST_PARTS = 1000, 48
"""Few amounts are cut into more parts than others, so that these are small beside a link's load."""

_FINE, _MANY_SENDS = 1000, 1 << 18
"""Rounds with which a chunk is a thousandth: C grows to that unless it makes so many sends."""

_MANY = 1 << 62

_MORE_STEPS = (0, 1, 2, 3, 5, 8, 13, 21)
"""Beyond the length of the longest way."""


def fits(topology: Topology, collective: Collective) -> Answer:
    """Whether each chunk goes from one node to one; as many from each to each only in two tiers."""
    if collective.combining:
        return Answer(False, "it combines; routes move data")
    least = collective.least_chunks(topology.num_nodes)
    if least is None:
        return Answer(False, "it is defined for no small C")
    table = collective.tabulate(topology.num_nodes, least)
    if (table.starts.sizes != 1).any() or (table.ends.sizes != 1).any():
        return Answer(False, "not every chunk goes from one node to one")
    starts, ends, counts = table.kinds
    if len(set(starts.tolist())) == 1 or len(set(ends.tolist())) == 1:
        return Answer(False, "all chunks start, or end, at one node")
    whole = len(counts) in (topology.num_nodes**2, topology.num_nodes * (topology.num_nodes - 1))
    if whole and (counts == counts[0]).all() and Tiers.of(topology) is None:
        return Answer(False, "as many chunks go from each node to each, which others do better")
    return Answer(True)


class RouteSeed:
    """Proposes exchanges along routes of least congestion."""

    def propose(
        self,
        topology: Topology,
        collective: Collective,
        limits: SeedLimits,
        options: Mapping[str, OptionValue],
    ) -> Iterator[Proposal]:
        """See `syncoll.plugins.Seed`."""
        answer = fits(topology, collective)
        least = collective.least_chunks(topology.num_nodes)
        if not answer.ok or least is None:
            raise ModelError(f"{collective.name} on {topology.name}: {answer.reason}")
        until = limits.deadline()
        if until.is_never:
            until = until.sooner(_SECONDS)
        kinds = _pairs(collective.tabulate(topology.num_nodes, least))
        if not kinds:
            return
        pairs = np.array([(kind.starts[0], kind.needed[0]) for kind in kinds], dtype=np.int64)
        amounts = np.array([len(kind.chunks) for kind in kinds], dtype=np.int64)
        tiers = Tiers.of(topology)
        ways: _Ways = _Congestion(topology, pairs, options) if tiers is None else tiers
        first = ways.routes(pairs, amounts, until, quick=True)
        if first is None:
            return
        chunks = _chunks(collective, topology.num_nodes, first, least, limits)
        if chunks is None:
            return
        kinds = _pairs(collective.tabulate(topology.num_nodes, chunks))
        share = until.share(_SHARE_OF_ROUTING)
        routes = ways.routes(pairs, amounts * (chunks // least), share)
        if routes is None:
            return
        streams = _streams(kinds, routes)
        note = f"{len(streams.chunks)} ways of at most {streams.height} links"
        steps = [streams.height + more for more in _MORE_STEPS]
        for made in schedule_streams(topology, streams, chunks, limits, steps, note):
            yield Proposal(made.chunks, made.algorithm, made.note)


class _Ways(Protocol):
    """What finds ways: the tiers of a machine, or congestion on any."""

    def routes(
        self, pairs: IntArray, amounts: IntArray, until: Deadline, *, quick: bool = False
    ) -> Routes | None:
        """Ways of whole amounts; None where the time was over before there were any."""


class _Congestion:
    """Ways of least congestion on any machine.

    Args:
        pairs: those that are asked for.
    """

    def __init__(
        self, topology: Topology, pairs: IntArray, options: Mapping[str, OptionValue]
    ) -> None:
        self._topology, self._routing = topology, Routing(topology, pairs)
        parts = max(int(options["parts"]), min(_MOST_PARTS, _PARTS_IN_ALL // len(pairs)))
        self._parts, self._passes = parts, int(options["passes"])

    def routes(
        self, pairs: IntArray, amounts: IntArray, until: Deadline, *, quick: bool = False
    ) -> Routes:
        """See `_Ways`."""
        passes = 1 if quick else self._passes
        return self._routing.routes(self._topology, amounts, self._parts, passes, until)


def _chunks(
    collective: Collective, nodes: int, routes: Routes, least: int, limits: SeedLimits
) -> int | None:
    """A C for which whole chunks lose little; None where none is within the limits.

    Args:
        routes: those of the least C.
    """
    sends = int((routes.amount * (routes.links >= 0).sum(axis=1)).sum())
    allowed = _MANY if limits.max_chunks is None else limits.max_chunks // least
    if sends > MOST_SENDS or not allowed:
        return None
    fine = ceil(_FINE / max(1.0, routes.rounds))
    most = min(allowed, max(1, min(fine, _MANY_SENDS // max(1, sends))))
    return next(
        (c * least for c in range(most, 0, -1) if collective.admits(nodes, c * least)), least
    )


def _pairs(table: RelationTable) -> list[StreamClass]:
    """The chunks from each node to each other, in order of the nodes."""
    source = table.starts.sets.argmax(axis=1)[table.starts.number]
    end = table.ends.sets.argmax(axis=1)[table.ends.number]
    moving = np.flatnonzero(source != end)
    if not len(moving):
        return []
    key = source[moving] * table.num_nodes + end[moving]
    order = np.argsort(key, kind="stable")
    keys, first = np.unique(key[order], return_index=True)
    parts = np.split(moving[order], first[1:])
    nodes = table.num_nodes
    return [
        StreamClass(np.array([one // nodes]), np.array([one % nodes]), part)
        for one, part in zip(keys.tolist(), parts, strict=True)
    ]


def _streams(kinds: list[StreamClass], routes: Routes) -> Streams:
    """The chunks of each pair, dealt to its ways in order."""
    hops = (routes.links >= 0).sum(axis=1)
    stream = np.repeat(np.arange(len(hops)), hops)
    place = ranges(np.zeros(len(hops), dtype=np.int64), hops)
    link = routes.links[stream, place]
    parent = np.where(place > 0, np.arange(len(link)) - 1, -1)
    chunks: list[IntArray] = []
    bounds = np.flatnonzero(np.diff(routes.pair, prepend=-1))
    for number, amounts in enumerate(np.split(routes.amount, bounds[1:])):
        chunks += np.split(kinds[number].chunks, np.cumsum(amounts)[:-1])
    return Streams(link, parent, stream, tuple(chunks), tuple(range(len(hops))))
