"""Algorithms from routes of least congestion, pipelined over more and more steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import ceil

import numpy as np
import numpy.typing as npt

from syncoll.errors import ModelError
from syncoll.model import Collective, RelationTable, Topology, ranges
from syncoll.plugins import Answer, OptionValue, Proposal, SeedLimits
from syncoll.scheduling import MOST_SENDS, StreamClass, Streams, schedule_streams
from syncoll_routes.congestion import Routes, Routing

__all__ = ["RouteSeed", "fits"]

IntArray = npt.NDArray[np.int64]

_SECONDS = 30.0
"""Where the search has no limit."""

_SHARE_OF_ROUTING = 0.4

_PARTS_IN_ALL, _MOST_PARTS = 1000, 48
"""Few amounts are cut into more parts than others, so that these are small beside a link's load."""

_FINE = 400
"""Rounds with which a chunk is a fraction of a percent: C grows to that where sends allow it."""

_MORE_STEPS = (0, 1, 2, 3, 5, 8, 13, 21)
"""Beyond the length of the longest way."""


def fits(topology: Topology, collective: Collective) -> Answer:
    """Whether each chunk goes from one node to one, and not as many from each to each."""
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
    if whole and (counts == counts[0]).all():
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
        routing = Routing(topology, pairs)
        parts, passes = int(options["parts"]), int(options["passes"])
        parts = max(parts, min(_MOST_PARTS, _PARTS_IN_ALL // len(pairs)))
        first = routing.routes(topology, amounts, parts, 1, until)
        sends = int((first.amount * (first.links >= 0).sum(axis=1)).sum())
        most = min(ceil(_FINE / max(1.0, first.rounds)), MOST_SENDS // (2 * max(1, sends)))
        if limits.max_chunks is not None:
            most = min(most, limits.max_chunks // least)
        chunks = next(
            (
                c * least
                for c in range(most, 0, -1)
                if collective.admits(topology.num_nodes, c * least)
            ),
            least,
        )
        if sends > MOST_SENDS or (limits.max_chunks is not None and chunks > limits.max_chunks):
            return
        kinds = _pairs(collective.tabulate(topology.num_nodes, chunks))
        share = until.share(_SHARE_OF_ROUTING)
        routes = routing.routes(topology, amounts * (chunks // least), parts, passes, share)
        streams = _streams(kinds, routes)
        note = f"{len(streams.chunks)} ways of at most {streams.height} links"
        steps = [streams.height + more for more in _MORE_STEPS]
        for made in schedule_streams(topology, streams, chunks, limits, steps, note):
            yield Proposal(made.chunks, made.algorithm, made.note)


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
