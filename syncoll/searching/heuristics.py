"""Heuristics: the seeds of a search on one collective, in turns and in the background.

A seed is a heuristic: fast, and known only to be right once the verifier has passed its proposals.
In a turn each has its own share of the time: what one leaves over goes to those after it, and one
that takes too long is stopped.  Shares are measured in work, so that the result does not depend on
how busy the machine is.  A seed that has not come to its end goes on in the next turn; one that
resumes, and was stopped all the same, begins anew in a turn that is no shorter.

Those that resume can work in a process of their own instead (`seed_process`), all the time: then
their turns are when their proposals are taken in.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from fractions import Fraction
from itertools import chain
from typing import cast

from syncoll.clock import is_counted, took
from syncoll.deadline import Deadline, interrupted_at
from syncoll.errors import OutOfTimeError, PluginError, SyncollError, VerificationError
from syncoll.ledger.incumbents import within
from syncoll.model import Collective, Topology
from syncoll.plugins import Proposal, SeedLimits
from syncoll.plugins.guard import calling
from syncoll.results.family import Family
from syncoll.results.frontier import Point
from syncoll.searching.chosen_seed import ChosenSeed, HeuristicState, Proposals
from syncoll.searching.seed_process import (
    Failure,
    Finished,
    Proposed,
    Refused,
    SeedProcess,
    SeedRequest,
)
from syncoll.searching.shares import SHORT_SECONDS
from syncoll.solving.worker import Failed
from syncoll.trust import require_valid
from syncoll.trust.families import require_family
from syncoll.trust.replay import as_counted

__all__ = ["BUSY", "SOON_SECONDS", "Found", "Heuristics", "Seeding"]

_QUICK_SECONDS = 0.1
"""A seed that promises its first algorithm so soon is not lost to a busy machine: it may work for
five times as long (the first point of `pareto dgx1 allgather` on a machine with eight at work)."""

BUSY = 3.0
"""Work may take so many times its seconds on the wall, as on a machine with three at work."""

SOON_SECONDS = 0.5
"""After one proposal from the background another is waited for so long."""

_UNITS_PER_SEND = 1e-6
"""Work units for constructing and verifying a send."""

_MANY_SENDS = 1 << 16
"""Multicast is counted only in algorithms of fewer before a family is said to beat them: in more it
takes as long as to verify them."""

Found = Point | Family


class Heuristics:
    """The seeds of one search, at work on one collective.

    Args:
        seeds: in the order in which they are asked.
        report: is given a sentence when a seed fails, which must not end the search.
        refuses: is given the name and the reason of a named seed that has no idea.
        proposes: is given the name of a seed that has one.
        warm_starts: algorithms they may begin with, see `SeedLimits.known`.

    Attributes:
        families: those proposed, verified.
        shows_families: whether these are on the frontier, so that what they beat is dropped.
        log_turn: enters the turn of a seed in the log of the search.
    """

    def __init__(
        self,
        seeds: Sequence[ChosenSeed],
        topology: Topology,
        collective: Collective,
        report: Callable[[str], None],
        refuses: Callable[[str, str], None] = lambda *_: None,
        proposes: Callable[[str], None] = lambda _: None,
        warm_starts: tuple[Proposal, ...] = (),
    ) -> None:
        self.topology, self.collective, self.warm_starts = topology, collective, warm_starts
        self.families: tuple[Family, ...] = ()
        self.shows_families = False
        self.log_turn: Callable[[str], AbstractContextManager[None]] = lambda _: nullcontext()
        self._states = [
            # What is right where every send counts is right here.
            HeuristicState(seed, topology if seed.record.counts_copies else topology.conservative)
            for seed in seeds
        ]
        self._seen: list[Family] = []
        self._seconds = math.inf
        self._report, self._refuses, self._proposes = report, refuses, proposes
        self._process: SeedProcess | None = None
        self._sent: list[Family] = []

    def close(self) -> None:
        """Ends the background process."""
        if self._process is not None:
            self._process.close()
            self._process = None
        for state in self._states:
            state.ended |= state.in_background

    @property
    def in_background(self) -> bool:
        """Whether seeds are at work in a process of their own."""
        return self._process is not None

    @property
    def have_arrived(self) -> bool:
        """Whether there are proposals from the background that were not looked at yet."""
        return self._process is not None and self._process.has_message

    @property
    def waiting(self) -> tuple[str, ...]:
        """The names of the seeds that may find more, if there is time."""
        return tuple(state.seed.record.name for state in self._states if not state.ended)

    def ask(self, limits: SeedLimits) -> None:
        """Asks seeds that have not begun if they have an idea; those that have none have ended.

        Their part of the time is the others' from the first turn on.

        Raises:
            PluginError: as `turn`.
        """
        self._seconds = 0.0
        for state in self._states:
            if state.turns is None and not state.ended:
                with self._guarded(state):
                    self._fits(state, limits.until.sooner(SHORT_SECONDS))

    def turn(
        self,
        limits: SeedLimits,
        patience: float = 0.0,
        slowest: float = math.inf,
        *,
        background: Deadline | None = None,
        wait: float = 0.0,
    ) -> Iterator[Found]:
        """Verified points and families of one turn, as they come.

        Args:
            limits: no point is beyond them; the time is that of all seeds together.
            patience: seconds of work that a seed may take until it has its first algorithm within
                the limits, where that is more than its share.
            slowest: seeds that promise their first algorithm later have no turn unless named.
            background: those that resume, and have not begun, work in the background until then,
                after the turns of the quick ones; None for turns here.
            wait: seconds to wait for proposals from the background; those that have come by now
                are taken in any case.

        Raises:
            PluginError: when a seed that a user named is broken; others are reported.
        """

        def turns() -> Iterator[Iterator[Found]]:
            """The turn of each seed, then the proposals from the background."""
            ends = limits.deadline()
            self._seconds = ends.left()
            states = [
                state
                for state in self._states
                if not (state.ended or state.in_background)
                and (state.seed.named or state.seed.record.first_seconds <= slowest)
                and self._seconds >= (state.stopped_after or 0)
            ]
            for i, state in enumerate(states):
                record = state.seed.record
                quick = record.first_seconds <= _QUICK_SECONDS
                if background is not None and not quick:
                    self.go_to_background(limits, background)
                if state.in_background:
                    continue
                if replace(ends, works=None).passed:
                    return  # even to import another seed would take too long
                weights = [other.seed.record.weight for other in states[i:]]
                first = share = _share(ends, weights, 0.0)
                if state.turns is None:
                    first = _share(ends, weights, patience)
                    if quick and not ends.is_never:
                        least = max(patience, ends.left() / len(weights), 5 * _QUICK_SECONDS)
                        first = replace(ends, works=None).working(least)
                yield self._turn(state, limits, first, share)
            yield self.arrivals(limits, wait)

        return chain.from_iterable(turns())

    def go_to_background(self, limits: SeedLimits, until: Deadline) -> None:
        """Starts a process for the seeds that resume, where that is possible; otherwise they have
        their turns here.  The state of one that has begun here is lost.

        Args:
            until: when they come to their end.
        """
        if is_counted():  # results from background processes depend on the machine
            return
        leaving = [s for s in self._states if s.seed.record.resumes and not s.ended]
        if not leaving or self._process is not None:
            return
        seeds = tuple(state.seed for state in leaving)
        own = replace(limits, seconds=None, until=until, known=self.warm_starts)
        request = SeedRequest(seeds, self.topology, self.collective, own)
        if not SeedProcess.is_possible(request):
            return
        try:
            self._process, self._sent = SeedProcess(request), []
        except OSError as error:
            self._report(f"no process for seeds: {error}; they work in turns")
            return
        for state in leaving:
            state.in_background, state.turns = True, None

    def arrivals(self, limits: SeedLimits, wait: float) -> Iterator[Found]:
        """Points and families from the background: those that have come, and those that come in so
        many seconds, or soon after another.
        """
        until, enough = limits.until.sooner(wait), Deadline.after(wait + SHORT_SECONDS)
        while self._process is not None and not enough.passed:
            message = self._process.poll(max(0.0, until.left()))
            match message:
                case SeedProcess.NOTHING:
                    return
                case Proposed():
                    for found in self._verified(message):
                        if isinstance(found, Family):
                            yield found
                        elif within(found, limits):
                            self._proposes(message.seed)
                            yield found
                            until = until.sooner(SOON_SECONDS)
                case Failure():
                    self._report(message.text)
                case Refused():
                    self._refuses(message.seed, message.why)
                case Finished():
                    for state in self._states:
                        state.ended |= state.seed.record.name in message.seeds
                    if not any(s.in_background and not s.ended for s in self._states):
                        self.close()
                case _:
                    self._lose(message)

    def _verified(self, message: Proposed) -> list[Found]:
        """A proposal from the background; nothing where it is wrong or a family beats it."""
        name, found, family = message.seed, list[Found](), message.family
        state = next(state for state in self._states if state.seed.record.name == name)
        if isinstance(family, Family):
            self._sent.append(family)
        elif family is not None:
            family = self._sent[family]
        with self._guarded(state), calling(f"seed {name}"):
            proposal = replace(message.proposal, family=family)
            found += self._accepted(name, proposal, message.seconds)
        return found

    def _lose(self, message: object) -> None:
        """The process has ended before the seeds did.

        Raises:
            PluginError: where a user named one of them.
        """
        process, lost = self._process, [s for s in self._states if s.in_background and not s.ended]
        assert process is not None
        why = message.message if isinstance(message, Failed) else process.exit_description()
        self.close()
        text = f"the process of {'+'.join(s.seed.record.name for s in lost)} failed: {why}"
        if any(state.seed.named for state in lost) and isinstance(message, Failed):
            raise PluginError(text)
        self._report(f"{text}; going on without")

    def _turn(
        self, state: HeuristicState, limits: SeedLimits, first: Deadline, share: Deadline
    ) -> Iterator[Found]:
        """The verified proposals of one seed, until its share is over, or for the first of all its
        patience.

        A proposal that it has in hand then still counts, if it comes at once.
        """
        record, until = state.seed.record, first
        with self.log_turn(record.name), self._guarded(state) as late:
            cut_short = until
            if record.resumes:  # then it keeps its state, and is trusted with the clock
                some = None if until.is_never else BUSY * (until.left() + SHORT_SECONDS)
                cut_short = limits.until.sooner(some)
            began = time.perf_counter()
            if state.turns is None:
                late.append("did not say in its share of the time if it fits")
                if not self._fits(state, first):
                    return
                late[:] = ["made nothing in its share of the time"]
                own = replace(limits, seconds=first.seconds, until=first, known=self.warm_starts)
                began = time.perf_counter()
                with interrupted_at(cut_short):
                    asked = state.where, self.collective, own, state.seed.options
                    state.turns = cast("Proposals", record.load().propose(*asked))
            while not state.ended:
                own = replace(limits, seconds=until.seconds, until=until)
                proposal = None
                with interrupted_at(cut_short if record.resumes else until):
                    # The answer to a proposal is its new limits; what it was sent before came late.
                    for _ in range(2):
                        try:
                            proposal = state.turns.send(own if state.begun else None)
                        except StopIteration:
                            state.ended = True
                        state.begun = True
                        if proposal is not None or state.ended or until.passed:
                            break
                if proposal is None:
                    break
                spent = time.perf_counter() - began
                with calling(f"seed {record.name}"):  # arrays may hold anything
                    accepted = self._accepted(record.name, proposal, spent)
                if accepted:
                    self._proposes(record.name)
                for found in accepted:
                    if isinstance(found, Family):
                        yield found
                    elif within(found, limits):
                        late.clear()
                        yield found
                        until = share
                if until.passed:
                    break
                began = time.perf_counter()
            if late and state.ended and first.passed:  # it looked at the clock itself
                self._was_late(state, late[0])

    @contextmanager
    def _guarded(self, state: HeuristicState) -> Iterator[list[str]]:
        """No error of a seed ends the search, unless it is broken and a user named it.

        Yields:
            An empty list for a sentence about a seed that is stopped for good.
        """
        name = state.seed.record.name
        late: list[str] = []
        try:
            yield late
        except OutOfTimeError:
            state.stop(self._seconds)
            if late and state.ended:
                self._was_late(state, late[0])
        except VerificationError as error:
            state.ended = True
            self._report(f"seed {name} proposed what is not an algorithm: {error}")
        except PluginError as error:  # it is broken, which must not end the search
            state.ended = True
            if state.seed.named:
                raise
            self._report(f"{error}; going on without it")
        except SyncollError as error:
            state.ended = True
            self._report(f"seed {name}: {error}")

    def _was_late(self, state: HeuristicState, what: str) -> None:
        """Only those that a user named are reported."""
        if state.seed.named:
            self._report(f"seed {state.seed.record.name} {what}")

    def _fits(self, state: HeuristicState, until: Deadline) -> bool:
        """Whether a seed has an idea; a named one that has none says why."""
        record = state.seed.record
        with interrupted_at(until):
            fits = record.fits(state.where, self.collective)
        if fits.failed:
            raise PluginError(f"seed {record.name}: {fits.reason}")
        if not fits.ok:
            state.ended = True
            if state.seed.named:
                self._refuses(record.name, fits.reason)
        return fits.ok

    def _accepted(self, name: str, proposal: Proposal, seconds: float) -> tuple[Found, ...]:
        """A proposal as a verified point, after its family when that is new; nothing when it is
        beaten."""
        algorithm, where = proposal.algorithm, self.topology
        if proposal.family is None and self.shows_families and self.families:
            if algorithm.num_sends > _MANY_SENDS:
                where = where.conservative
            used = [least for least in algorithm.least_rounds(where) if least]
            costs = len(used), Fraction(sum(used), proposal.chunks)
            if any(family.beats(*costs) for family in self.families):
                return ()  # it is not worth verifying
        point = self._point(name, proposal, seconds)
        family = self._new_family(name, proposal.family)
        return (point,) if family is None else (family, point)

    def _new_family(self, name: str, family: Family | None) -> Family | None:
        """A family that comes up for the first time, verified."""
        if family is None or any(family is known for known in self._seen):
            return None
        if not family.topology.same_as(self.topology):
            if self.topology.counts_copies and family.topology.same_as(self.topology.conservative):
                return None  # it is of the topology on which every send counts
            raise VerificationError("a family on another topology")
        kept = replace(family, found_by=name)
        first = kept.member(kept.first)
        table = self.collective.table_on(self.topology, first.chunks)
        if not first.instance.table.same_as(table):
            raise VerificationError("a family of another collective")
        require_family(kept)
        self._seen.append(family)
        self.families = (*self.families, kept)
        return kept

    def _point(self, name: str, proposal: Proposal, seconds: float) -> Point:
        """A proposal as a point, at its tightest and verified."""
        took(_UNITS_PER_SEND * proposal.algorithm.num_listed)
        where = self.topology
        while True:
            algorithm = proposal.algorithm.tightened(where)
            steps, rounds = algorithm.steps, algorithm.rounds
            instance = self.collective.instantiate(
                self.topology, chunks=proposal.chunks, steps=steps, rounds=rounds
            )
            try:
                require_valid(instance, algorithm)
            except VerificationError:
                before, where = where, as_counted(instance, algorithm)
                if before is not self.topology or where is self.topology:
                    raise
            else:
                return Point(instance, algorithm, "seed", name, seconds)


class Seeding:
    """The seeds that searches start from.

    Args:
        seeds: of those that promise to be equally quick the first is asked first.
        on_message: is given a sentence when a seed fails, which must not end the search.
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

    def run(self, topology: Topology, collective: Collective) -> Heuristics:
        """The seeds at work on a collective."""
        known = [seed.known for seed in self.seeds if seed.known is not None]
        return Heuristics(
            self.seeds,
            topology,
            collective,
            self._report,
            self._refuse,
            self._proposed.add,
            tuple(one for warm in known for one in warm(topology, collective)),
        )

    def _refuse(self, name: str, why: str) -> None:
        self._refusals.setdefault(name, why)

    def _report(self, text: str) -> None:
        """Says something once: the parts of a composition ask for much the same."""
        if text not in self._reported:
            self._reported.add(text)
            self._on_message(text)


def _share(ends: Deadline, weights: Sequence[float], least: float) -> Deadline:
    """The share of the first of some seeds: its part of the work that is left, and of the time.

    Args:
        weights: of the seeds that are left.
        least: seconds of work, if there is time for them.
    """
    if ends.is_never:
        return ends
    part = weights[0] / sum(weights)
    # On a busy machine work takes several times as long, but one seed must not starve the others.
    wall = 1.0 if len(weights) == 1 else max(0.25, min(0.5, BUSY * part))
    return replace(ends, works=None).share(wall).working(max(least, ends.left() * part))
