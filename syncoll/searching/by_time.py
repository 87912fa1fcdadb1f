"""The fastest algorithms for some sizes, by simulated time (docs/simulation.md).

The points of a frontier, members of its families and classics are compared for each size.  Then
they are cut into smaller chunks, which overlap the steps, and the sends of the fastest are ordered
anew (`syncoll.simulating.dispatch`).
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf
from pathlib import Path

from syncoll.clock import is_counted, took
from syncoll.deadline import Deadline, interrupted_at
from syncoll.documents import StoredAlgorithm
from syncoll.errors import OutOfTimeError, UsageError
from syncoll.ledger import Aim, SearchRequest
from syncoll.model import Collective, OrbitAlgorithm, Topology, refine
from syncoll.planning import members_for, message_of, message_of_collective
from syncoll.results import Frontier, Part
from syncoll.searching.arrival_trees import all_by_arrival
from syncoll.searching.box_trees import box_algorithms
from syncoll.simulating import WIRE, PhysicalNetwork, Runtime, Semantics, SimulatedSeconds
from syncoll.simulating.dispatch import dispatched
from syncoll.simulating.network import given_network
from syncoll.simulating.runtime_files import runtime as runtime_of
from syncoll.simulating.urgency import points_by_urgency
from syncoll.trust import require_valid

_MOST_SENDS = 1 << 14
"""Most sends of an algorithm that is cut, and of one whose sends are ordered; limit work."""

_NEAR = 2.5
"""Algorithms are cut, or ordered, if they take at most this factor of the best time."""

_WORTH = 0.99
"""Smaller chunks, or another order, have to be faster by this factor."""

_GROWN = 0.9
"""Trees in all links grow on unless trees within boxes take less than this part of their time."""

_LEAST_BYTES = 128
"""Smaller chunks are not made: runtimes move some bytes at a time."""

_PARTS = 1, 2, 4, 8, 16
"""Multiples of the fewest chunks for which trees grow by arrival time."""

_SHARE_GROWN = 0.4
"""Part of the time after which no more trees grow by arrival time."""

_ORDERED = 3
"""Algorithms that are ordered for each size without a gain."""

_UNITS_PER_SEND, _UNITS_PER_ORDERED = 2e-7, 4e-5

_SHARE_OF_ORDER, _SHARE_BY_TIME, _SECONDS = 0.25, 0.7, 20.0
"""Parts of the time, first for ordering chunks, then for the comparison, which has these seconds
without a limit.  The remainder is for simulating the points."""

_UNITS, _PART = 3.0, 0.65
"""Units of work for the comparison, and part of all the work, at least."""


@dataclass(frozen=True, eq=False)
class TimeGoal:
    """The sizes, in bytes of one node's data, for which algorithms should take the least time."""

    collective: Collective
    network: PhysicalNetwork
    runtime: Runtime
    sizes: tuple[Fraction, ...]


def aimed(
    topology: Topology,
    collective: Collective,
    sizes: Sequence[int],
    alpha: float | str | None = None,
    beta: float | str | None = None,
    runtime: str | Path | Runtime | None = None,
) -> tuple[TimeGoal, Aim]:
    """The goal and the aim of a search for messages of some sizes."""
    network, library = given_network(topology, alpha, beta), runtime_of(runtime or WIRE)
    message = message_of_collective(collective, topology.num_nodes)
    node = tuple(map(message.node_bytes, sizes))
    # Each protocol has its latencies, and its shares of the bandwidth.
    settings = library.settings(network, kind=message.kind)
    shares = [hop.share for one in settings for hop in one.protocol.hops.values()]
    low, high = min(node) / max(shares), max(node) / min(shares)
    most = max(one.network.greatest_latency for one in settings)
    least = min(one.network.least_latency for one in settings)
    stated = min(node), max(node)
    aim = Aim(most, network.unit, low, high, 1, least, message.per_node, stated)
    return TimeGoal(collective, network, library, node), aim


def by_time(
    frontier: Frontier,
    request: SearchRequest,
    goal: TimeGoal,
    until: Deadline,
    classics: Callable[[Deadline], Iterable[StoredAlgorithm]],
) -> Frontier:
    """The frontier of a request with its chunks in the best order, and with faster algorithms.

    Args:
        classics: constructs verified rivals until a deadline.
    """
    low, high = (max(int(one), 1) for one in (min(goal.sizes), max(goal.sizes)))
    limits = until.share(_SHARE_OF_ORDER), request.tolerance, request.max_messages
    frontier = points_by_urgency(frontier, goal.network, low, high, *limits)
    until = (until.sooner(_SECONDS) if until.is_never else until).share(_SHARE_BY_TIME)
    if is_counted():  # a search may exceed its part of the work
        until = until.granting(max(_UNITS, _PART * (request.work or 0)))
    rivals = list[StoredAlgorithm]()
    if request.collective.plain is None:  # they are not reproducible
        rivals += [*box_algorithms(request.collective, goal.network), *classics(until)]
    return timed(frontier, goal, rivals, until)


def timed(
    frontier: Frontier, goal: TimeGoal, rivals: Iterable[StoredAlgorithm], until: Deadline
) -> Frontier:
    """The frontier with the algorithms that are faster than its points for some size.

    Args:
        rivals: verified algorithms, such as classics.
    """
    points = [
        StoredAlgorithm(point.instance, point.algorithm, f"points[{i}]")
        for i, point in enumerate(frontier.points)
    ]
    race, cut = _Race(goal, frontier.least_bandwidth, until), list[StoredAlgorithm]()
    with suppress(OutOfTimeError), interrupted_at(until):
        message = message_of(one.instance for one in points)
        sizes = [max(1, round(size * message.per_node)) for size in goal.sizes]
        models = goal.runtime.models(goal.network, Semantics())
        cut += [*points, *members_for(frontier, models, sizes)]
        costs = {one: (one.steps, one.bandwidth) for one in cut if _is_large(one)}
        fastest = {
            min(costs, key=lambda one: min(x.seconds(*costs[one], size) for x in models))
            for size in goal.sizes
            if costs
        }
        cut = [*rivals, *(one for one in cut if one in fastest or one not in costs)]
        middle = sorted(range(len(sizes)), key=lambda i: abs(2 * i - len(sizes)))
        for large in (False, True):  # large ones have no forms in smaller chunks
            some = [one for one in cut if _is_large(one) == large]
            for one in sorted(some, key=lambda one: one.algorithm.num_listed):
                race.enter(one)
            for one in sorted(some, key=race.nearness):
                race.cut(one)
            growing, best = until.share(_SHARE_GROWN), dict.fromkeys(middle, 1)
            for again in () if large else (False, True):
                for number in middle:  # there latencies and bytes both count
                    if growing.left() > 0 and not race.is_near_bound(number):
                        # A larger size needs as many chunks as a smaller one, or more.
                        least = max(2, best.get(number - 1, 1))
                        tried = [one for one in _PARTS if one >= least] if again else [1]
                        best[number] = race.arrive(goal.collective, number, tried)
            while race.order():
                pass
    known = {one for one in cut if one.where.startswith(("points", "families"))}
    parts, evidence = [], frontier.evidence
    for one in dict.fromkeys(one for one in race.best if one is not None and one not in known):
        if evidence is not None and evidence.shape(one.chunks) is None:
            continue  # the file would not define its chunks
        require_valid(one.instance, one.algorithm)
        parts.append(Part(one.instance, one.algorithm))
    return replace(frontier, timed=tuple(parts))


def _is_large(one: StoredAlgorithm) -> bool:
    return one.algorithm.num_listed > _MOST_SENDS


class _Race:
    """The algorithms that were tried, and the fastest for each size."""

    def __init__(self, goal: TimeGoal, least_bandwidth: Fraction, until: Deadline) -> None:
        self._sizes, self._network, self._until = goal.sizes, goal.network, until
        self._models = goal.runtime.models(goal.network, Semantics())
        self._seconds = SimulatedSeconds(goal.network, Semantics(), 0, goal.runtime, kept=0)
        self._forms: dict[StoredAlgorithm, dict[StoredAlgorithm, tuple[float, ...]]] = {}
        self._ordered = set[tuple[StoredAlgorithm, int]]()
        self._bounds = [self._lockstep(0, least_bandwidth, size) for size in goal.sizes]
        self._in_vain = [0] * len(goal.sizes)
        self.best: list[StoredAlgorithm | None] = [None] * len(goal.sizes)
        self.least = [inf] * len(goal.sizes)

    def enter(self, one: StoredAlgorithm, of: StoredAlgorithm | None = None) -> tuple[float, ...]:
        """Times an algorithm, or a form `of` another; infinite where its chunks are too small."""
        self._until.check()
        try:
            times = tuple(map(float, self._seconds(one, self._sizes)))
        except UsageError:  # too many sends to list
            times = (inf,) * len(self._sizes)
        took(one.algorithm.num_listed * len(times) * _UNITS_PER_SEND)
        worth = 1.0
        if of is not None:
            enough = (size >= one.chunks * _LEAST_BYTES for size in self._sizes)
            times = tuple(t if fits else inf for t, fits in zip(times, enough, strict=True))
            worth = _WORTH
        self._forms.setdefault(of or one, {})[one] = times
        for number, seconds in enumerate(times):
            if seconds < self.least[number] * worth:
                self.best[number], self.least[number] = one, seconds
        return times

    def nearness(self, one: StoredAlgorithm) -> float:
        """The least factor of its time over the best time, over all sizes."""
        times = self._forms.get(one, {}).get(one, ())
        return min(
            (t / (least or 1) for t, least in zip(times, self.least, strict=False)), default=inf
        )

    def cut(self, one: StoredAlgorithm) -> None:
        """Tries smaller and smaller chunks, as long as they take less time for some size."""
        if self.nearness(one) > _NEAR:
            return
        parts, before = 2, self._forms[one][one]
        while one.algorithm.num_sends * parts <= _MOST_SENDS:
            smaller = refine(one.instance, one.algorithm, parts)
            times = self.enter(StoredAlgorithm(*smaller, one.where), one)
            if not any(a < b * _WORTH for a, b in zip(times, before, strict=True)):
                break
            parts, before = 2 * parts, times

    def arrive(self, collective: Collective, number: int, tried: Sequence[int]) -> int:
        """Tries trees by arrival time for a size, in all links and within boxes, in smaller and
        smaller chunks.  Returns the last multiple of the fewest chunks that gained time, or else
        the first.

        Args:
            tried: such multiples, ascending; after one that gains nothing no more are tried.
        """
        best, size, before, fastest = self.best[number], self._sizes[number], inf, tried[0]
        if best is None or collective.plain is not None:  # sums in one order
            return fastest
        settings = {one.protocol.name: one for one in self._seconds.settings(best)}
        _, setting = self._seconds.chosen(best, [size])[0]
        in_all = True
        for parts in tried:
            made = [*all_by_arrival(collective, parts, setting, size)] if in_all else []
            for one in settings.values():
                made += box_algorithms(collective, self._network, (one, size), parts)
            fits = (one for one in made if parts == 1 or size >= one.chunks * _LEAST_BYTES)
            times = [(self.enter(one)[number], one.where) for one in fits]
            least = min(times, default=(inf, ""))[0]
            if least > before * _WORTH or least == inf:
                break
            before, fastest = least, parts
            in_all = any(t < least / _GROWN and where == "arrivals" for t, where in times)
        return fastest

    def order(self) -> bool:
        """Tries other orders of the sends of the most promising algorithm for a size, in ever
        smaller chunks, first in its fastest ones before; returns whether there was one.

        In another order its time is about that in lockstep, or less.
        """
        left = [
            (
                round(self._promise(one, number), 2),
                abs(2 * number - len(self._sizes)),
                place,
                number,
            )
            for place, one in enumerate(self._forms)
            for number in range(len(self._sizes))
            if (one, number) not in self._ordered
            and one.algorithm.num_sends <= _MOST_SENDS
            and self._in_vain[number] < _ORDERED
            and not self.is_near_bound(number)
        ]
        worth, _, place, number = min(left, default=(inf, 0, 0, 0))
        if worth > _NEAR:
            return False
        one, size, before = list(self._forms)[place], self._sizes[number], inf
        fastest = self.least[number]
        self._ordered.add((one, number))
        forms = self._forms[one].items()
        parts = min((x[number], -form.chunks) for form, x in forms)[1] // -one.chunks
        while parts > 1 and one.algorithm.num_sends * parts > _MOST_SENDS:
            parts //= 2
        while one.algorithm.num_sends * parts <= _MOST_SENDS:
            if parts > 1 and size < one.chunks * parts * _LEAST_BYTES:
                break
            self._until.check()
            instance, algorithm = refine(one.instance, one.algorithm, parts)
            if isinstance(algorithm, OrbitAlgorithm):
                algorithm = algorithm.expanded()
            form = StoredAlgorithm(instance, algorithm, one.where)
            _, setting = self._seconds.chosen(form, [size])[0]
            took(algorithm.num_sends * _UNITS_PER_ORDERED)
            made = dispatched(form, setting, size, self._until)
            least = inf if made is None else self.enter(made, one)[number]
            if least > before * _WORTH:
                break
            parts, before = 2 * parts, least
        self._in_vain[number] += self.least[number] == fastest
        return True

    def is_near_bound(self, number: int) -> bool:
        """Whether there is nothing to gain for a size."""
        return self.least[number] * _WORTH <= self._bounds[number]

    def _promise(self, one: StoredAlgorithm, number: int) -> float:
        """The time of its fastest form for a size, or its time in lockstep, over the best time."""
        least = min(times[number] for times in self._forms[one].values())
        lockstep = self._lockstep(one.steps, one.bandwidth, self._sizes[number])
        return min(least, lockstep) / (self.least[number] or 1)

    def _lockstep(self, steps: int, bandwidth: Fraction, size: Fraction) -> float:
        """The seconds of an algorithm in lockstep, in the fastest protocol."""
        return min(float(one.seconds(steps, bandwidth, size)) for one in self._models)
