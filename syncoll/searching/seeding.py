"""Points that seeds construct before any solver is asked.

A seed is a heuristic: fast, and known only to be right once the verifier has passed what it made.
Its points are shown at once, bound what the solver is asked for from above, and where they meet a
proved bound nothing is left to ask.

Seeds that promise to be quick are asked first, and each has its own share of the time: what one
leaves over goes to those after it, and one that takes too long is stopped.  Shares are measured in
work, so that what comes out does not depend on how busy the machine is.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from syncoll.deadline import Deadline, interrupted_at
from syncoll.errors import OutOfTimeError, PluginError, SyncollError, VerificationError
from syncoll.model import Collective, Topology
from syncoll.plugins import OptionValue, Proposal, SeedLimits, SeedRecord
from syncoll.plugins.guard import calling
from syncoll.results.frontier import Point
from syncoll.searching.request import SearchRequest
from syncoll.trust import require_valid

__all__ = ["ChosenSeed", "Seeding", "within"]

_QUICK_SECONDS = 0.1
_LEAST_SECONDS = 0.5
"""What a seed that promises its first algorithm so soon may work for it at the least."""

_SMALL = 1_200
"""Links times nodes, up to which a solver is often as fast as a seed."""

_SEED_SECONDS = (1.0, 20.0)
"""The work that the seeds of a search may do for more than one algorithm each, on a small machine
and on others.  Where there is a time limit it may be more, since searches that need one are
long: ..."""

_SHARE_OF_SEEDS = ((0.05, 0.3), (0.65, 0.65))
"""... this part of it; and never more than that part."""

_SHARE_FOR_SEEDS = 0.75
"""When this part of the time is over they are stopped, however little a busy machine let them
work."""

_BUSY = 3.0
"""So many times its part of the time a seed may wait for its part of the work."""

_SHARE_OF_SEEDS_ALONE = 0.7
"""The same where no solver is asked; the rest is for what can be proved about their points."""

_PATIENCE_SECONDS = 10.0
_SHARE_OF_PATIENCE = 0.15
"""What a seed's work may take until it has its first algorithm: on a large machine a solver has
none for long."""


@dataclass(frozen=True, eq=False)
class ChosenSeed:
    """A seed that a search starts from.

    Args:
        named: whether a user asked for it by name, and wants to know why it has no idea.
    """

    record: SeedRecord
    options: Mapping[str, OptionValue]
    named: bool = False


class Seeding:
    """Asks seeds for points.

    Args:
        seeds: of those that promise to be equally quick the first is asked first.
        on_message: is told, in words, when a seed fails: it must not end the search.
    """

    def __init__(
        self, seeds: Sequence[ChosenSeed], on_message: Callable[[str], None] = lambda _: None
    ) -> None:
        self.seeds = tuple(sorted(seeds, key=lambda seed: seed.record.first_seconds))
        self._on_message = on_message
        self._reported: set[str] = set()
        self._refusals: dict[str, str] = {}
        self._proposed: set[str] = set()

    @property
    def name(self) -> str:
        """The names of the seeds."""
        return "+".join(seed.record.name for seed in self.seeds)

    @property
    def refusals(self) -> Mapping[str, str]:
        """Why seeds that a user named proposed nothing so far, neither for a collective nor for
        any part of it."""
        return {name: why for name, why in self._refusals.items() if name not in self._proposed}

    def search(
        self, request: SearchRequest, deadline: Deadline, max_steps: int | None, *, alone: bool
    ) -> Iterator[Point]:
        """`points` for a search.

        Args:
            max_steps: S at most; None for no limit.
        """
        until = deadline.share(_SHARE_OF_SEEDS_ALONE if alone else _SHARE_FOR_SEEDS)
        left = max(0.0, deadline.left())
        work, slowest = until.seconds, math.inf
        if not alone:
            topology = request.topology
            large = len(topology.links) * topology.num_nodes > _SMALL
            work = _SEED_SECONDS[large]
            if not large:
                slowest = _SEED_SECONDS[0]  # a solver is sooner
            if not deadline.is_never:
                least, most = (left * part for part in _SHARE_OF_SEEDS[large])
                work = min(max(work, least), most)
        limits = SeedLimits(max_steps, request.max_rounds, request.max_chunks, work, until)
        patience = min(_PATIENCE_SECONDS, left * _SHARE_OF_PATIENCE)
        return self.points(request.topology, request.collective, limits, patience, slowest)

    def points(
        self,
        topology: Topology,
        collective: Collective,
        limits: SeedLimits,
        patience: float = 0.0,
        slowest: float = math.inf,
    ) -> Iterator[Point]:
        """Verified points, as they come.

        Args:
            limits: no point is beyond them; the time is that of all seeds together.
            patience: seconds of work that a seed may take until it has its first algorithm within
                the limits, where that is more than its share.
            slowest: seeds that promise their first algorithm later are asked only when named.

        Raises:
            PluginError: when a seed that a user named is broken; others are reported.
        """
        ends = limits.deadline()
        for i, seed in enumerate(self.seeds):
            if replace(ends, works=None).passed:
                return  # even to import another seed would take too long
            if not seed.named and seed.record.first_seconds > slowest:
                continue
            name, left = seed.record.name, len(self.seeds) - i
            weights = [other.record.weight for other in self.seeds[i:]]
            share, first = _share(ends, weights), _share(ends, weights, patience)
            if not ends.is_never and seed.record.first_seconds <= _QUICK_SECONDS:
                # What needs so little must not be lost to a machine that is slow or busy.
                least = max(patience, ends.left() / left, _LEAST_SECONDS)
                first = replace(ends, works=None).working(least)
            doing = "did not say in its share of the time if it fits"
            try:
                with interrupted_at(first):
                    fits = seed.record.fits(topology, collective)
                if fits.failed:
                    raise PluginError(f"seed {name}: {fits.reason}")
                if not fits.ok:
                    if seed.named:
                        self._refusals.setdefault(name, fits.reason)
                    continue
                doing = "made nothing in its share of the time"
                own = replace(limits, seconds=first.seconds, until=first)
                for point in _points(seed, topology, collective, own, first, share):
                    self._proposed.add(name)
                    if within(point, limits):
                        doing = ""
                        yield point
                if doing and first.passed:  # it looked at the clock itself
                    self._report(f"seed {name} {doing}")
            except OutOfTimeError:
                if doing:
                    self._report(f"seed {name} {doing}")
            except VerificationError as error:
                self._report(f"seed {name} proposed what is not an algorithm: {error}")
            except PluginError as error:  # it is broken, which must not end the search
                if seed.named:
                    raise
                self._report(f"{error}; going on without it")
            except SyncollError as error:
                self._report(f"seed {name}: {error}")

    def _report(self, text: str) -> None:
        """Says something once: the parts of a composition ask for much the same."""
        if text not in self._reported:
            self._reported.add(text)
            self._on_message(text)


def _share(ends: Deadline, weights: Sequence[float], least: float = 0.0) -> Deadline:
    """What the first of some seeds may take: its part of the work that is left, and of the time.

    Args:
        weights: of the seeds that are left.
        least: seconds of work, if there is time for them.
    """
    if ends.is_never:
        return ends
    part = weights[0] / sum(weights)
    # On a busy machine work takes several times as long, but one seed must not starve the others.
    wall = 1.0 if len(weights) == 1 else max(0.25, min(0.5, _BUSY * part))
    return replace(ends, works=None).share(wall).working(max(least, ends.left() * part))


def _points(
    seed: ChosenSeed,
    topology: Topology,
    collective: Collective,
    limits: SeedLimits,
    first: Deadline,
    share: Deadline,
) -> Iterator[Point]:
    """The verified proposals of one seed, until its share is over, or for the first its patience.

    What it had in hand then still counts, if it comes at once.
    """
    began = time.perf_counter()
    until = first
    with interrupted_at(first):
        turn = iter(seed.record.load().propose(topology, collective, limits, seed.options))
    while True:
        with interrupted_at(until):
            proposal = next(turn, None)
        if proposal is None:
            return
        spent = time.perf_counter() - began
        with calling(f"seed {seed.record.name}"):  # arrays may hold anything
            point = _point(seed, proposal, topology, collective, spent)
        yield point
        if within(point, limits):
            until = share
        if until.passed:
            return
        began = time.perf_counter()


def _point(
    seed: ChosenSeed,
    proposal: Proposal,
    topology: Topology,
    collective: Collective,
    seconds: float,
) -> Point:
    """A proposal as a point, at its tightest and verified."""
    algorithm = proposal.algorithm.tightened(topology)
    instance = collective.instantiate(
        topology, chunks=proposal.chunks, steps=algorithm.steps, rounds=algorithm.rounds
    )
    require_valid(instance, algorithm)
    return Point(instance, algorithm, "seed", seed.record.name, seconds)


def within(point: Point, limits: SeedLimits | SearchRequest) -> bool:
    """Whether a point keeps the limits on S, R and C."""
    return all(
        most is None or value <= most
        for value, most in (
            (point.steps, limits.max_steps),
            (point.rounds, limits.max_rounds),
            (point.chunks, limits.max_chunks),
        )
    )
