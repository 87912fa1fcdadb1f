"""Heuristics: the seeds of a search on one collective, in turns and in the background.

A seed is a heuristic: fast, but its proposals count only after verification.  In a turn each seed
has its own share of the time: unused time goes to the seeds after it, and a seed that takes too
long is stopped.  Shares are measured in work, so that the result does not depend on the load of the
machine.  An unfinished seed continues in the next turn.  A seed that resumes, but was stopped,
begins anew in a turn that is no shorter.

Seeds that resume can work in a process of their own instead (`seed_process`), all the time; in
their turns their proposals are taken in.
"""

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
from syncoll.model.messages import contiguous
from syncoll.plugins import Proposal, SeedLimits
from syncoll.plugins.guard import calling
from syncoll.results import Family, Point
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

_QUICK_SECONDS = 0.1
"""A seed that promises its first algorithm this soon may work five times as long: it must also
finish next to eight processes (the first point of `pareto dgx1 allgather`)."""

BUSY = 3.0
"""The most seconds on the wall for a second of work, as on a machine with three processes."""

SOON_SECONDS = 0.5
"""Seconds to wait for another proposal from the background after one."""

_UNITS_PER_SEND = 1e-6
"""Work units for constructing and verifying a send."""

_MANY_SENDS = 1 << 16
"""With more sends, an algorithm is compared with families without multicast, which would take as
long to count as a verification."""

Found = Point | Family


class Heuristics:
    """The seeds of one search, at work on one collective.

    Args:
        seeds: in the order of their turns.
        report: is given a message when a seed fails, which must not end the search.
        refuses: is given the name of a named seed that does not apply, and the reason.
        proposes: is given the name of a seed that proposes a point.
        warm_starts: algorithms from which seeds may begin, see `SeedLimits.known`.

    Attributes:
        families: the proposed ones, verified.
        shows_families: whether families are on the frontier; then the points that they beat are
            dropped.
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
            # An algorithm on the conservative topology, where every send counts, is valid here.
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
        """Whether there are new proposals from the background."""
        return self._process is not None and self._process.has_message

    @property
    def waiting(self) -> tuple[str, ...]:
        """The names of the seeds that may find more, if there is time."""
        return tuple(state.seed.record.name for state in self._states if not state.ended)

    def ask(self, limits: SeedLimits) -> None:
        """Asks seeds that have not begun whether they apply, and ends the ones that do not.  Their
        shares of the time go to the other seeds from the first turn on."""
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
        Raises `PluginError` if a seed that a user named is broken; others are reported.

        Args:
            limits: no point is beyond them; the time is for all seeds together.
            patience: seconds of work that a seed may take until its first algorithm within the
                limits, if that is more than its share.
            slowest: seeds that promise their first algorithm later have no turn unless named.
            background: deadline until which seeds that resume, and have not begun, work in the
                background, after the turns of the quick ones; None for turns here.
            wait: seconds to wait for proposals from the background; available ones are always
                taken.
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
                    return  # no time even to import another seed
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
        """Starts a process for the seeds that resume, if possible; otherwise they have their turns
        here.  A seed that has begun here loses its state."""
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
        """Points and families from the background: the available ones, and others within `wait`
        seconds, or soon after another."""
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
        """The verified results of a proposal from the background; none if it is wrong or beaten by
        a family."""
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
        """Handles a process that ended before its seeds: an error if a user named one of them."""
        process, lost = self._process, [s for s in self._states if s.in_background and not s.ended]
        assert process is not None
        why = message.message if isinstance(message, Failed) else process.exit_description()
        self.close()
        names = [state.seed.record.name for state in lost]
        seeds, them = ("the seeds", "them") if len(names) > 1 else ("the seed", "it")
        text = f"the process of {seeds} {', '.join(names)} failed: {why}"
        if any(state.seed.named for state in lost) and isinstance(message, Failed):
            raise PluginError(text)
        self._report(f"{text}; going on without {them}")

    def _turn(
        self, state: HeuristicState, limits: SeedLimits, first: Deadline, share: Deadline
    ) -> Iterator[Found]:
        """The verified proposals of one seed, until its share is over; for the first one until its
        patience is over.  A proposal in progress at the end still counts if it comes at once."""
        record, until = state.seed.record, first
        with self.log_turn(record.name), self._guarded(state) as late:
            cut_short = until
            if record.resumes:  # it keeps its state, and is trusted with the clock
                some = None if until.is_never else BUSY * (until.left() + SHORT_SECONDS)
                cut_short = limits.until.sooner(some)
            began = time.perf_counter()
            if state.turns is None:
                late.append("did not determine in its share of the time whether it applies")
                if not self._fits(state, first):
                    return
                late[:] = ["constructed nothing in its share of the time"]
                own = replace(limits, seconds=first.seconds, until=first, known=self.warm_starts)
                began = time.perf_counter()
                with interrupted_at(cut_short):
                    asked = state.where, self.collective, own, state.seed.options
                    state.turns = cast("Proposals", record.load().propose(*asked))
            while not state.ended:
                own = replace(limits, seconds=until.seconds, until=until)
                proposal = None
                with interrupted_at(cut_short if record.resumes else until):
                    # The answer to a proposal is its new limits; a proposal before them came late.
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
            if late and state.ended and first.passed:  # the seed checked the deadline itself
                self._was_late(state, late[0])

    @contextmanager
    def _guarded(self, state: HeuristicState) -> Iterator[list[str]]:
        """Handles a seed's errors; yields an empty list for a message about a seed that is stopped.
        No error ends the search, except for a broken seed that a user named."""
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
            self._report(f"seed {name} proposed an invalid algorithm: {error}")
        except PluginError as error:  # a broken seed must not end the search
            state.ended = True
            if state.seed.named:
                raise
            self._report(f"{error}; going on without it")
        except SyncollError as error:
            state.ended = True
            self._report(f"seed {name}: {error}")

    def _was_late(self, state: HeuristicState, why: str) -> None:
        """Reports a late seed if a user named it."""
        if state.seed.named:
            self._report(f"seed {state.seed.record.name} {why}")

    def _fits(self, state: HeuristicState, until: Deadline) -> bool:
        """Whether a seed applies; a named one that does not apply gives the reason."""
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
            if any(family.beats(*costs, proposal.chunks) for family in self.families):
                return ()  # not worth verifying
        point = self._point(name, proposal, seconds)
        family = self._new_family(name, proposal.family)
        return (point,) if family is None else (family, point)

    def _new_family(self, name: str, family: Family | None) -> Family | None:
        """A new family, verified; None for a known one."""
        if family is None or any(family is known for known in self._seen):
            return None
        if not family.topology.same_as(self.topology):
            if self.topology.counts_copies and family.topology.same_as(self.topology.conservative):
                return None  # a family of the conservative topology
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
        """A proposal as a verified point with the fewest rounds per step."""
        took(_UNITS_PER_SEND * proposal.algorithm.num_listed)
        where = self.topology
        while True:
            algorithm = proposal.algorithm.tightened(where)
            steps, rounds = algorithm.steps, algorithm.rounds
            instance = self.collective.instantiate(
                self.topology, chunks=proposal.chunks, steps=steps, rounds=rounds
            )
            algorithm = contiguous(instance, algorithm)
            try:
                require_valid(instance, algorithm)
            except VerificationError:
                before, where = where, as_counted(instance, algorithm)
                if before is not self.topology or where is self.topology:
                    raise
            else:
                return Point(instance, algorithm, "seed", name, seconds)


class Seeding:
    """The seeds from which searches start.

    Args:
        seeds: equally quick ones are asked in this order.
        on_message: is given a message when a seed fails, which must not end the search.
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
        """The reasons why named seeds have proposed nothing so far, for a collective or any part of
        it."""
        return {name: why for name, why in self._refusals.items() if name not in self._proposed}

    def run(self, topology: Topology, collective: Collective) -> Heuristics:
        """The seeds at work on a collective."""
        known = [seed.known for seed in self.seeds if seed.known is not None]
        own = self._of(collective)
        for seed in self.seeds:
            if seed.named and seed not in own:
                self._refuse(seed.record.name, "its algorithms need not be reproducible")
        return Heuristics(
            own,
            topology,
            collective,
            self._report,
            self._refuse,
            self._proposed.add,
            tuple(one for warm in known for one in warm(topology, collective)),
        )

    def name_for(self, collective: Collective) -> str:
        """The names of the seeds for a collective."""
        return "+".join(seed.record.name for seed in self._of(collective))

    def _of(self, collective: Collective) -> list[ChosenSeed]:
        every = collective.plain is None
        return [seed for seed in self.seeds if every or seed.record.reproducible]

    def _refuse(self, name: str, why: str) -> None:
        self._refusals.setdefault(name, why)

    def _report(self, text: str) -> None:
        """Reports a message once: the parts of a composition ask similar questions."""
        if text not in self._reported:
            self._reported.add(text)
            self._on_message(text)


def _share(ends: Deadline, weights: Sequence[float], least: float) -> Deadline:
    """The share of the first of several seeds by `weights`: of remaining work, and of the time."""
    if ends.is_never:
        return ends
    part = weights[0] / sum(weights)
    # On a busy machine work takes several times as long, but one seed must not starve the others.
    wall = 1.0 if len(weights) == 1 else max(0.25, min(0.5, BUSY * part))
    return replace(ends, works=None).share(wall).working(max(least, ends.left() * part))
