"""Points of sub-networks, from which the other engines start.

More links make no algorithm impossible, but a search larger, or less symmetric.  So these are
searched first: the groups of a collective within groups, alike ones once; otherwise a machine with
several grains in a round, in whole rounds, where solvers and seeds have fewer R to try; otherwise
the machine without links that break its symmetry (`symmetry.subnetwork`).
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from math import gcd, lcm

import numpy as np

from syncoll.deadline import Deadline, OutOfTimeError, interrupted_at
from syncoll.errors import LocatedError, UsageError
from syncoll.ledger.events import Event
from syncoll.ledger.incumbents import MOST_SENDS
from syncoll.ledger.ledger import INTERRUPTED, Ledger
from syncoll.ledger.request import SearchRequest
from syncoll.model import Algorithm, Collective, Instance, OrbitAlgorithm, RelationTable, Topology
from syncoll.model.collective import Share
from syncoll.model.derivation import overlay, refine, same_chunks
from syncoll.model.groups import topology_within
from syncoll.results.frontier import Frontier, Point
from syncoll.searching.agenda import Work
from syncoll.searching.parts import PartSearch, SearchTask, joint_point
from syncoll.searching.search import Search
from syncoll.searching.shares import LONG_SECONDS
from syncoll.searching.sum_search import choices
from syncoll.symmetry.subnetwork import symmetric_subnetwork
from syncoll.trust import require_valid

_SHARE_OF_GROUPS = 0.4
"""Share of the remaining time of all groups together."""

_MANY_ROUNDS = 1000
"""Bound on R/C from which parts of rounds gain nothing."""


@dataclass(frozen=True, eq=False)
class _Group:
    """A group as a machine of its own; a round of it has some rounds of the whole."""

    topology: Topology
    share: Share
    rounds: int = 1

    def is_like(self, other: "_Group") -> bool:
        mine, theirs = self.share.collective, other.share.collective
        return mine == theirs and self.topology.same_as(other.topology)


class SubnetworkSearch:
    """The engine of sub-networks; without any it has no turns."""

    def __init__(self, search: Search, frontiers: PartSearch) -> None:
        self._search, self._frontiers = search, frontiers
        self._request = search.ledger.request
        self._groups = _groups(self._request.topology, self._request.collective)
        self._name = "groups"

    def rows(self) -> list[Work]:
        """One turn, before the engines of the whole."""
        if self._groups:
            return [Work(self._name, self.run, share=_SHARE_OF_GROUPS)]
        topology, collective = self._request.topology, self._request.collective
        whole = Share(collective, tuple(range(topology.num_nodes)), Fraction(1))
        if (grains := self._request.grains) > 1:
            bounds = self._search.ledger.bounds
            if bounds.load > _MANY_ROUNDS * grains or bounds.cut > _MANY_ROUNDS * grains:
                return []
            self._name = "whole rounds"
            self._groups = [_Group(topology.in_whole_rounds(grains), whole, grains)]
        elif self._request.symmetric:
            self._name = "sub-network"
            part = symmetric_subnetwork(topology, collective)
            self._groups = [] if part is None else [_Group(part, whole)]
        share = self._search.shares.other_machine
        return [Work(self._name, self.run, share=share)] if self._groups else []

    def run(self, ledger: Ledger, until: Deadline) -> Iterator[Event]:
        """Verified points of the whole; none if a group has no points."""
        request, found = ledger.request, list[tuple[_Group, Frontier]]()
        if until.is_never:
            until = until.sooner(LONG_SECONDS)
        kinds: list[_Group] = []
        for group in self._groups:
            if not any(group.is_like(other) for other in kinds):
                kinds.append(group)
        for i, kind in enumerate(kinds):
            frontier = self._searched(request, kind, until.share(1 / (len(kinds) - i)))
            if frontier is None:
                break
            found.append((kind, frontier))
            if frontier.interrupted:
                self._search.agenda.stop(INTERRUPTED)
                break
        ledger.log.began(request.collective.name)
        if len(found) < len(kinds):
            return
        which = [
            next(i for i, kind in enumerate(kinds) if group.is_like(kind)) for group in self._groups
        ]
        with suppress(OutOfTimeError):
            for choice in _choices([frontier.points for _, frontier in found]):
                with interrupted_at(self._search.deadline):
                    point = _laid(self._groups, [choice[i] for i in which], request)
                if point is not None and ledger.keeps(point):
                    yield point

    def _searched(self, request: SearchRequest, group: _Group, until: Deadline) -> Frontier | None:
        """The frontier of one group; None if its limits leave nothing, or no time is left."""
        chunks = request.max_chunks
        asked = replace(
            request,
            topology=group.topology,
            grains=request.grains // group.rounds,
            collective=group.share.collective,
            max_rounds=None,
            max_chunks=None if chunks is None else int(chunks * group.share.scale),
            aim=None,
            time_limit=until.seconds,
        )
        task = SearchTask(asked, until, proving=group.rounds > 1)
        try:
            with self._search.ledger.log.apart(self._name, asked.grains):
                return self._frontiers.search(task)
        except (UsageError, LocatedError, OutOfTimeError):
            return None


def _choices(found: Sequence[Sequence[Point]]) -> Iterator[tuple[Point, ...]]:
    """Points of all kinds of groups: the cheapest of each for every S, and the simplest ones."""
    if len(found) == 1:
        yield from ((point,) for point in found[0])
        return
    yield from choices(found)
    yield from choices([_simplest(points) for points in found])


def _simplest(points: Sequence[Point]) -> list[Point]:
    """The point of the fewest chunks of each S."""
    least: dict[int, Point] = {}
    for point in points:
        if point.steps not in least or point.chunks < least[point.steps].chunks:
            least[point.steps] = point
    return list(least.values())


def _groups(topology: Topology, collective: Collective) -> list[_Group]:
    """The groups with something to send; none if some overlap, or one has all nodes."""
    shares = [] if collective.shares is None else collective.shares(topology.num_nodes)
    nodes = [node for share in shares for node in share.nodes]
    if len({*nodes}) < len(nodes) or any(len(one.nodes) == topology.num_nodes for one in shares):
        return []
    apart = [share for share in shares if len(share.nodes) > 1]
    if any(share.collective.irregular for share in apart):
        return []
    return [_Group(topology_within(topology, share.nodes), share) for share in apart]


def _laid(
    groups: Sequence[_Group], choice: Sequence[Point], request: SearchRequest
) -> Point | None:
    """One point of each group as a point of the whole; None if they cannot be cut alike."""
    whole, topology = request.collective, request.topology
    least = [Fraction(p.chunks) / g.share.scale for p, g in zip(choice, groups, strict=True)]
    chunks = Fraction(lcm(*(c.numerator for c in least)), gcd(*(c.denominator for c in least)))
    sends = sum(p.algorithm.num_sends * (chunks / c) for p, c in zip(choice, least, strict=True))
    common = int(chunks)
    if sends > MOST_SENDS or common != chunks or not whole.admits(topology.num_nodes, common):
        return None
    parts = [
        _spread(*refine(point.instance, point.algorithm, int(chunks / own)), group, topology)
        for point, group, own in zip(choice, groups, least, strict=True)
    ]
    instance, algorithm = overlay(parts, whole.name)
    table = whole.tabulate(topology.num_nodes, common)
    found = same_chunks((replace(instance, chunks=common), algorithm), table)
    if found is None:
        return None
    if groups[0].rounds > 1 and not topology.counts_copies:
        instance, algorithm = found[0], found[1].tightened(topology)
        found = replace(instance, steps=algorithm.steps, rounds=algorithm.rounds), algorithm
    require_valid(*found)
    return joint_point(found, list(dict.fromkeys(choice)))


def _spread(
    instance: Instance, algorithm: Algorithm, group: _Group, topology: Topology
) -> tuple[Instance, Algorithm]:
    """A group's algorithm on the whole machine."""
    listed = algorithm.expanded() if isinstance(algorithm, OrbitAlgorithm) else algorithm
    nodes = np.array(group.share.nodes, dtype=np.int64)
    table = RelationTable.joined([(instance.table, nodes)], topology.num_nodes)
    sends, carried = listed.sends.copy(), listed.contributions
    sends[:, 1:3] = nodes[sends[:, 1:3]]
    if carried is not None:
        wide = np.zeros((len(sends), topology.num_nodes), dtype=bool)
        wide[:, nodes] = carried
        carried = wide
    there = replace(
        instance,
        topology=topology,
        rounds=instance.rounds * group.rounds,
        pre=table.pre,
        post=table.post,
        rounds_per_step=None,
    )
    rounds = tuple(r * group.rounds for r in listed.rounds_per_step)
    return there, Algorithm(rounds, sends, carried)
