"""Seeds at work on one collective: they have turns, one after the other, and then again.

Each has its own share of a round's time: what one leaves over goes to those after it, and one that
takes too long is stopped.  Shares are measured in work, so that what comes out does not depend on
how busy the machine is.  A seed that has not come to its end has another turn in the next round;
one that resumes, and was stopped all the same, begins anew in a round that is no shorter.

Those that resume can work in a process of their own instead (`seed_process`), all the time: then
their turns are when what they have proposed meanwhile is looked at.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from typing import cast

from syncoll.clock import is_counted, took
from syncoll.deadline import Deadline, interrupted_at
from syncoll.errors import OutOfTimeError, PluginError, SyncollError, VerificationError
from syncoll.ledger.request import SearchRequest
from syncoll.model import Algorithm, Collective, Instance, Topology
from syncoll.plugins import Proposal, SeedLimits, SeedRecord
from syncoll.plugins.guard import calling
from syncoll.results.family import Family
from syncoll.results.frontier import Point
from syncoll.searching.seed_process import SeedProcess
from syncoll.searching.seed_seat import Proposals, Seat
from syncoll.searching.seed_tidings import (
    ChosenSeed,
    Ended,
    Failed,
    Grown,
    Proposed,
    Refused,
    SeedRequest,
    Told,
)
from syncoll.trust import require_valid
from syncoll.trust.counted import as_counted
from syncoll.trust.families import require_family

__all__ = ["SeedRun", "within"]

_QUICK_SECONDS = 0.1
_LEAST_SECONDS = 0.5
"""What a seed that promises its first algorithm so soon may work for it at the least."""

_LATE = 5.0
"""So many seconds one that resumes may be late, besides."""

_BUSY = 3.0
"""So many times its part of the time a seed may wait for its part of the work."""

_ASKING_SECONDS = 2.0
"""What the question may take whether a seed has an idea, where it is asked before its first turn;
one that needs longer is asked again then."""

_SOON_SECONDS = 0.5
"""When one proposal has come from aside, another is waited for so long."""

_TAKING_SECONDS = 2.0
"""What has come is looked at for so long at a time: millions of sends take seconds to verify."""

_UNITS_PER_SEND = 1e-6
"""Work units for constructing and verifying a send."""

_MANY_SENDS = 1 << 16
"""What switches that copy save is counted of algorithms of up to so many before a family is said to
beat them: of more it takes as long as to verify them."""


class SeedRun:
    """The seeds of one search.

    Args:
        seeds: in the order in which they are asked.
        report: is told, in words, when a seed fails: it must not end the search.
        refuses: is told the name and the reason of a named seed that has no idea.
        proposes: is told the name of a seed that has one.
        known: what they may begin with, see `SeedLimits`.

    Attributes:
        families: of which proposals were members, verified.
        begun_with: what they may begin with.
        shows_families: whether these are on the frontier, so that what they beat is of no use.
    """

    families: Sequence[Family] = ()
    begun_with: tuple[Proposal, ...] = ()
    shows_families = False

    def __init__(
        self,
        seeds: Sequence[ChosenSeed],
        topology: Topology,
        collective: Collective,
        report: Callable[[str], None],
        refuses: Callable[[str, str], None] = lambda *_: None,
        proposes: Callable[[str], None] = lambda _: None,
        known: tuple[Proposal, ...] = (),
    ) -> None:
        self.topology, self.collective, self.begun_with = topology, collective, known
        self._seats = [Seat(seed) for seed in seeds]
        self._seen: list[tuple[Family, Family]] = []
        self._seconds = math.inf
        self._report, self._refuses, self._proposes = report, refuses, proposes
        self._process: SeedProcess | None = None
        self._grown: list[Family] = []

    def close(self) -> None:
        """Ends what works aside."""
        if self._process is not None:
            self._process.close()
            self._process = None
        for seat in self._seats:
            seat.ended |= seat.aside

    @property
    def is_aside(self) -> bool:
        """Whether seeds are at work in a process of their own."""
        return self._process is not None

    @property
    def waiting(self) -> tuple[str, ...]:
        """The names of the seeds that may find more, if there is time."""
        return tuple(seat.seed.record.name for seat in self._seats if not seat.ended)

    def ask(self, limits: SeedLimits) -> None:
        """Asks seeds that have not begun if they have an idea; those that have none have ended.

        What they would have had of a round's time is the others' from the first round on.

        Raises:
            PluginError: as `points`.
        """
        self._seconds = 0.0
        for seat in self._seats:
            if seat.turns is None and not seat.ended:
                with self._guarded(seat):
                    self._fits(seat, limits.until.sooner(_ASKING_SECONDS))

    def points(
        self,
        limits: SeedLimits,
        patience: float = 0.0,
        slowest: float = math.inf,
        *,
        aside: Deadline | None = None,
        wait: float = 0.0,
    ) -> Iterator[Point]:
        """Verified points of one round, as they come.

        Args:
            limits: no point is beyond them; the time is that of all seeds together.
            patience: seconds of work that a seed may take until it has its first algorithm within
                the limits, where that is more than its share.
            slowest: seeds that promise their first algorithm later have no turn unless named.
            aside: those that resume, and have not begun, go aside until then, after the turns of
                the quick ones; None for turns here.
            wait: seconds in which what they propose there is waited for; what has come by now is
                looked at in any case.

        Raises:
            PluginError: when a seed that a user named is broken; others are reported.
        """
        ends = limits.deadline()
        self._seconds = ends.left()
        seats = [
            seat
            for seat in self._seats
            if not seat.ended
            and not seat.aside
            and not _too_slow(seat, slowest)
            and self._seconds >= seat.stopped_after
        ]
        for i, seat in enumerate(seats):
            if aside is not None and seat.seed.record.first_seconds > _QUICK_SECONDS:
                self.go_aside(limits, aside)
            if seat.aside:
                continue
            if replace(ends, works=None).passed:
                return  # even to import another seed would take too long
            record = seat.seed.record
            weights = [other.seed.record.weight for other in seats[i:]]
            share = _share(ends, weights)
            first = share if seat.turns is not None else _share(ends, weights, patience)
            if not ends.is_never and seat.turns is None and record.first_seconds <= _QUICK_SECONDS:
                # What needs so little must not be lost to a machine that is slow or busy.
                least = max(patience, ends.left() / len(weights), _LEAST_SECONDS)
                first = replace(ends, works=None).working(least)
            for point in self._turn(seat, limits, first, share):
                yield point
                if self.begun_with:  # then what comes from aside is soon better than this
                    yield from self.arrivals(limits, 0.0)
        yield from self.arrivals(limits, wait)

    def go_aside(self, limits: SeedLimits, until: Deadline) -> None:
        """Starts a process for the seeds that resume, where that is possible; otherwise they have
        their turns here.  What one knows that has begun here is lost.

        Args:
            until: when they come to their end.
        """
        if is_counted():  # results from background processes depend on the machine
            return
        leaving = [s for s in self._seats if s.seed.record.resumes and not s.ended]
        if not leaving or self._process is not None:
            return
        seeds = tuple(seat.seed for seat in leaving)
        own = replace(limits, seconds=None, until=until, known=self.begun_with)
        request = SeedRequest(seeds, self.topology, self.collective, own)
        if not SeedProcess.is_possible(request):
            return
        try:
            self._process, self._grown = SeedProcess(request), []
        except OSError as error:
            self._report(f"no process for seeds: {error}; they work in turns")
            return
        for seat in leaving:
            seat.aside, seat.turns = True, None

    def arrivals(self, limits: SeedLimits, wait: float) -> Iterator[Point]:
        """Points of what was proposed aside: what has come, and what comes in so many seconds, or
        soon after another.
        """
        until, enough = limits.until.sooner(wait), Deadline.after(wait + _TAKING_SECONDS)
        while self._process is not None and not enough.passed:
            message = self._process.next(max(0.0, until.left()))
            if message is SeedProcess.NOTHING:
                return
            if isinstance(message, Proposed):
                point = self._taken(message)
                if point is not None and within(point, limits):
                    self._proposes(message.seed)
                    yield point
                    until = until.sooner(_SOON_SECONDS)
            elif isinstance(message, Grown):
                self._grown.append(message.family)
            elif isinstance(message, Told):
                self._report(message.text)
            elif isinstance(message, Refused):
                self._refuses(message.seed, message.why)
            elif isinstance(message, Ended):
                for seat in self._seats:
                    seat.ended |= seat.seed.record.name in message.seeds
                if not any(seat.aside and not seat.ended for seat in self._seats):
                    self.close()
            else:
                self._lose(message)

    def _taken(self, message: Proposed) -> Point | None:
        """What a seed proposed, verified; None where it is not what it should be."""
        name = message.seed
        try:
            with calling(f"seed {name}"):
                family = None if message.family is None else self._grown[message.family]
                proposal = replace(message.proposal, family=family)
                if self._is_beaten(proposal):
                    return None
                return self._accepted(name, proposal, message.seconds)
        except VerificationError as error:
            self._report(f"seed {name} proposed what is not an algorithm: {error}")
        except SyncollError as error:
            self._report(f"seed {name}: {error}")
        return None

    def _lose(self, message: object) -> None:
        """The process has ended before the seeds did.

        Raises:
            PluginError: where a user named one of them.
        """
        process, lost = self._process, [s for s in self._seats if s.aside and not s.ended]
        assert process is not None
        why = message.message if isinstance(message, Failed) else process.ending()
        self.close()
        text = f"the process of {'+'.join(s.seed.record.name for s in lost)} failed: {why}"
        if any(seat.seed.named for seat in lost) and isinstance(message, Failed):
            raise PluginError(text)
        self._report(f"{text}; going on without")

    def _turn(
        self, seat: Seat, limits: SeedLimits, first: Deadline, share: Deadline
    ) -> Iterator[Point]:
        """The points of one seed's turn."""
        with self._guarded(seat) as doing:
            if seat.turns is None:
                doing.append("did not say in its share of the time if it fits")
                if not self._fits(seat, first):
                    return
                doing[:] = ["made nothing in its share of the time"]
            for point in self._proposed(seat, limits, first, share):
                self._proposes(seat.seed.record.name)
                if within(point, limits):
                    doing.clear()
                    yield point
            if doing and seat.ended and first.passed:  # it looked at the clock itself
                self._was_late(seat, doing[0])

    @contextmanager
    def _guarded(self, seat: Seat) -> Iterator[list[str]]:
        """Nothing that a seed raises ends the search, unless it is broken and a user named it.

        Yields:
            An empty list: what is put into it is said of a seed that is stopped for good.
        """
        name = seat.seed.record.name
        doing: list[str] = []
        try:
            yield doing
        except OutOfTimeError:
            seat.stop(self._seconds)
            if doing and seat.ended:
                self._was_late(seat, doing[0])
        except VerificationError as error:
            seat.ended = True
            self._report(f"seed {name} proposed what is not an algorithm: {error}")
        except PluginError as error:  # it is broken, which must not end the search
            seat.ended = True
            if seat.seed.named:
                raise
            self._report(f"{error}; going on without it")
        except SyncollError as error:
            seat.ended = True
            self._report(f"seed {name}: {error}")

    def _was_late(self, seat: Seat, what: str) -> None:
        """Of those that were not asked for by name it matters to nobody."""
        if seat.seed.named:
            self._report(f"seed {seat.seed.record.name} {what}")

    def _fits(self, seat: Seat, until: Deadline) -> bool:
        """Whether a seed has an idea; a named one that has none says why."""
        record = seat.seed.record
        with interrupted_at(until):
            fits = record.fits(self._known(record), self.collective)
        if fits.failed:
            raise PluginError(f"seed {record.name}: {fits.reason}")
        if not fits.ok:
            seat.ended = True
            if seat.seed.named:
                self._refuses(record.name, fits.reason)
        return fits.ok

    def _proposed(
        self, seat: Seat, limits: SeedLimits, first: Deadline, share: Deadline
    ) -> Iterator[Point]:
        """The verified proposals of one seed, until its share is over, or for the first of all its
        patience.

        What it had in hand then still counts, if it comes at once.
        """
        record = seat.seed.record
        began = time.perf_counter()
        until = first
        own = replace(limits, seconds=first.seconds, until=first)
        # One that resumes keeps what it knows, and is trusted with the clock.
        cut_short = None
        if record.resumes:
            patience = None if until.is_never else _BUSY * until.left() + _LATE
            cut_short = limits.until.sooner(patience)
        if seat.turns is None:
            with interrupted_at(cut_short or until):
                seed = record.load()
                begun = replace(own, known=self.begun_with)
                made = seed.propose(self._known(record), self.collective, begun, seat.seed.options)
                seat.turns = cast("Proposals", made)
        while True:
            with interrupted_at(cut_short or until):
                proposal = seat.next(own)
                if proposal is None and not seat.ended and not until.passed:
                    # What it was sent before came with the answer to a proposal.
                    proposal = seat.next(own)
            if proposal is None:
                return
            spent = time.perf_counter() - began
            with calling(f"seed {record.name}"):  # arrays may hold anything
                point = None
                if not self._is_beaten(proposal):
                    point = self._accepted(record.name, proposal, spent)
            if point is not None:
                yield point
                if within(point, limits):
                    until = share
            if until.passed:
                return
            began = time.perf_counter()
            own = replace(limits, seconds=until.seconds, until=until)

    def _is_beaten(self, proposal: Proposal) -> bool:
        """Whether a member of a family is better, so that it is not worth verifying."""
        algorithm, where = proposal.algorithm, self.topology
        if proposal.family is not None or not (self.shows_families and self.families):
            return False
        if algorithm.num_sends > _MANY_SENDS:
            where = where.conservative
        rounds = algorithm.least_rounds(where)
        used = [least for least in rounds if least]
        costs = len(used), Fraction(sum(used), proposal.chunks)
        return any(family.beats(*costs) for family in self.families)

    def _accepted(self, name: str, proposal: Proposal, seconds: float) -> Point:
        """A proposal as a verified point; its family is verified as well."""
        point = self._point(name, proposal, seconds)
        self._keep_family(name, proposal.family)
        return point

    def _known(self, record: SeedRecord) -> Topology:
        """The machine as a seed knows it; what is right where every send counts is right here."""
        return self.topology if record.counts_copies else self.topology.conservative

    def _keep_family(self, name: str, family: Family | None) -> None:
        """Verifies a family when it comes up for the first time."""
        if family is None or any(family is known for known, _ in self._seen):
            return
        if not family.topology.same_as(self.topology):
            if self.topology.counts_copies and family.topology.same_as(self.topology.conservative):
                return  # it is of the machine on which every send counts
            raise VerificationError("a family on another topology")
        kept = replace(family, found_by=name)
        first = kept.member(kept.first)
        table = self.collective.table_on(self.topology, first.chunks)
        if not first.instance.table.same_as(table):
            raise VerificationError("a family of another collective")
        require_family(kept)
        self._seen.append((family, kept))
        self.families = tuple(one for _, one in self._seen)

    def _asked(self, chunks: int, algorithm: Algorithm) -> Instance:
        return self.collective.instantiate(
            self.topology, chunks=chunks, steps=algorithm.steps, rounds=algorithm.rounds
        )

    def _point(self, name: str, proposal: Proposal, seconds: float) -> Point:
        """A proposal as a point, at its tightest and verified."""
        algorithm = proposal.algorithm.tightened(self.topology)
        took(_UNITS_PER_SEND * algorithm.num_listed)
        instance = self._asked(proposal.chunks, algorithm)
        try:
            require_valid(instance, algorithm)
        except VerificationError:
            where = as_counted(instance, algorithm)
            if where is self.topology:
                raise
            algorithm = proposal.algorithm.tightened(where)
            instance = self._asked(proposal.chunks, algorithm)
            require_valid(instance, algorithm)
        return Point(instance, algorithm, "seed", name, seconds)


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


def _too_slow(seat: Seat, slowest: float) -> bool:
    return not seat.seed.named and seat.seed.record.first_seconds > slowest


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
