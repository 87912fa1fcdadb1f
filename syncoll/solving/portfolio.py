"""A portfolio: several backends race on one formula; the first that decides it wins.

It is hard to predict which backend is fast on a formula, and factors of ten are common.  The first
has a head start, in which it decides most formulas by itself, without lowering or starting any
other; then the next one joins, and so on.  A backend that ends undecided (it gave up, crashed, has
no memory or no licence left) is replaced by the next at once.  If the backends were not named, only
`at_once` run concurrently, and one that says it should not run this lowered formula is asked last.

Every backend runs in a worker process, watched by a thread of this one, which polls a flag to end
it early.  A thread that is still lowering when the race is over cannot be stopped, but no longer
touches a worker.
"""

import contextlib
import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from syncoll.deadline import Deadline, OutOfTimeError, interrupted_at
from syncoll.errors import BackendError, FormulaTooLargeError, PluginError
from syncoll.formula import Formula, FormulaSize, Limits, Outcome, StopReason, Verdict
from syncoll.lowerings import Lowered, lower
from syncoll.results.solution import NO_FORMULA
from syncoll.solving.members import Member
from syncoll.solving.process import SolverProcess

HEAD_START_SECONDS = 0.5
"""Seconds between the start of one backend and the next."""

_START_SECONDS = 3.0
"""The most that a worker's start delays its head start."""

_LEAST_SECONDS = 0.05
"""No further backend is asked with less time left."""

_POLL_SECONDS = 0.02
_JOIN_SECONDS = 5.0
_LATE_JOIN_SECONDS = 0.3
"""Wait for the watchers, which kill their workers when the time is over."""


class _StoppedError(Exception):
    """The answer is no longer wanted."""

    def __init__(self, reason: StopReason) -> None:
        super().__init__(str(reason))
        self.reason = reason


@dataclass(frozen=True, eq=False)
class Reply:
    """The outcome of a backend, and the formula that it was asked, if it was lowered."""

    member: Member
    outcome: Outcome
    lowered: Lowered | None
    size: FormulaSize
    seconds: Mapping[str, float]


def ask_one(
    member: Member,
    formula: Formula,
    limits: Limits,
    *,
    should_stop: Callable[[], bool],
    until: Deadline,
) -> Reply:
    """Lowers a formula for a backend and decides it; it is unknown once `should_stop`, which is
    polled, is True, or the time is over, even while it lowers.

    Raises `BackendError` if its answer cannot be true, or no worker can be started, and
    `PluginError` if the backend cannot be loaded, or cannot say whether it can run this.
    """
    began = time.perf_counter()
    try:
        with interrupted_at(until):
            return _ask(member, formula, lambda: limits, should_stop, until)
    except OutOfTimeError:
        text = "the time was over before it had the formula"
        return _undecided(member, StopReason.TIME_LIMIT, text, began)


def _undecided(member: Member, reason: StopReason, text: str, began: float | None = None) -> Reply:
    """The reply of a backend that was not asked; lowering began at `began`."""
    spent = {} if began is None else {"lower": time.perf_counter() - began}
    outcome = Outcome(Verdict.UNKNOWN, reason=reason, message=text)
    return Reply(member, outcome, None, NO_FORMULA, spent)


def _ask(
    member: Member,
    formula: Formula | Lowered,
    limits: Callable[[], Limits],
    should_stop: Callable[[], bool],
    until: Deadline,
    why_not: Callable[[FormulaSize], Outcome | None] = lambda _: None,
    when_ready: Callable[[], None] | None = None,
) -> Reply:
    """As `ask_one`; `limits` and `why_not`, which may give an outcome instead, are called after
    lowering."""
    began = time.perf_counter()

    def check() -> None:
        if until.passed:
            raise _StoppedError(StopReason.TIME_LIMIT)
        if should_stop():
            raise _StoppedError(StopReason.INTERRUPTED)

    try:
        lowered = (
            formula
            if isinstance(formula, Lowered)
            else lower(formula, member.record.features, check)
        )
    except _StoppedError as error:
        text = "it was stopped before it had the formula"
        return _undecided(member, error.reason, text, began)
    except FormulaTooLargeError as error:
        return _undecided(member, StopReason.GAVE_UP, str(error), began)
    except MemoryError as error:  # of this process: a worker's is an outcome
        text = str(error) or "no memory was left to lower the formula"
        return _undecided(member, StopReason.MEMORY_LIMIT, text, began)
    spent = {"lower": time.perf_counter() - began}
    size = lowered.formula.size()
    allowed = member.record.can_run(size)
    if allowed.failed:
        raise PluginError(f"backend {member.name} cannot run this: {allowed.reason}")
    if not allowed.ok:
        outcome = Outcome(Verdict.UNKNOWN, reason=StopReason.LICENCE, message=allowed.reason)
    else:
        outcome = why_not(size) or member.process.solve(
            lowered.formula,
            limits(),
            member.options,
            should_stop=should_stop,
            when_ready=when_ready,
            until=until,
        )
    return Reply(member, outcome, lowered, size, {**spent, **outcome.seconds})


class _Run(threading.Thread):
    """The thread of one backend in a race; puts a `Reply` or an exception into the race's inbox."""

    def __init__(self, race: "_Race", member: Member, declined: Reply | None) -> None:
        """A run with a declined reply does not ask again whether it should run."""
        super().__init__(name=f"syncoll {member.name}", daemon=True)
        self.member = member
        self.began = time.perf_counter()
        self.declines = False
        self._declined = declined
        self._race = race
        self._process = member.process
        self._lock = threading.Lock()
        self._stop_flag = False
        self._solving = False
        self._solving_since: float | None = None

    def run(self) -> None:
        result: Reply | BaseException
        try:
            result = self._ask()
        except MemoryError as error:
            # Only this process lacks memory (a worker's is an outcome); the others may succeed.
            text = f"no memory to lower the formula: {error}"
            result = _undecided(self.member, StopReason.MEMORY_LIMIT, text)
        except PluginError as error:  # it is broken; the others may still do
            result = _undecided(self.member, StopReason.CRASHED, str(error))
        except BaseException as error:
            result = error
        self._race.inbox.put((self, result))

    def _ask(self) -> Reply:
        before = self._declined and self._declined.lowered
        reply = _ask(
            self.member,
            before or self._race.formula,
            lambda: self._race.limits_of_late(self),
            lambda: self._stop_flag,
            self._race.until,
            self._why_not,
            self._begin,
        )
        wait = max(0.0, self.began - self._race.began)
        return replace(reply, seconds={"wait": wait, **reply.seconds})

    def _why_not(self, size: FormulaSize) -> Outcome | None:
        if self._race.choosy and self._declined is None:
            should = self.member.record.should_run(size)
            if should.failed:
                raise PluginError(f"backend {self.member.name} cannot judge this: {should.reason}")
            if not should.ok:
                self.declines = True
                why = f"left to others: {should.reason}"
                return Outcome(Verdict.UNKNOWN, reason=StopReason.GAVE_UP, message=why)
        with self._lock:
            self._solving = not self._stop_flag
        return None if self._solving else Outcome(Verdict.UNKNOWN, reason=StopReason.INTERRUPTED)

    def _begin(self) -> None:
        self._solving_since = time.perf_counter()

    def solving_since(self) -> float:
        """When its solver began, or should have."""
        latest = self.began + _START_SECONDS
        return latest if self._solving_since is None else min(self._solving_since, latest)

    def order_stop(self) -> None:
        """Stops it soon, or before it begins to solve."""
        with self._lock:
            self._stop_flag = True

    def leave(self) -> None:
        """Waits until its worker is free; abandons the worker if that takes too long."""
        if self._solving:
            self.join(_LATE_JOIN_SECONDS if self._race.until.passed else _JOIN_SECONDS)
            if self.is_alive():  # its thread will end the worker
                self.member.process = SolverProcess(self.member.record)


@dataclass(frozen=True, eq=False)
class Contest:
    """A formula, and the backends that may decide it.

    Args:
        limits: the seconds are shared, the memory is that of each.
        at_once: see `BackendChoice`.
        head_start: seconds between the start of one and the next; or units, if work is counted.
        should_stop: polled; True ends all as unknown, as does `until`.
    """

    members: Sequence[Member]
    formula: Formula
    limits: Limits
    at_once: int | None
    head_start: float
    should_stop: Callable[[], bool]
    until: Deadline


class _Race:
    def __init__(self, contest: Contest) -> None:
        self.choosy = contest.at_once is not None
        self.formula, self.until = contest.formula, contest.until
        self.began = time.perf_counter()
        self.inbox: queue.SimpleQueue[tuple[_Run, Reply | BaseException]] = queue.SimpleQueue()
        self._limits, self._head_start = contest.limits, contest.head_start
        self._should_stop = contest.should_stop
        self._at_once = contest.at_once or len(contest.members)
        self._waiting = list(contest.members)
        self._declined: list[Reply] = []
        self._runs: list[_Run] = []
        self._running: set[_Run] = set()
        self._interrupted = False

    def run(self) -> tuple[list[Reply], bool]:
        try:
            replies = self._wait()
            self._finish(replies)
            return [*self._declined, *replies], self._interrupted
        except BaseException:
            self._end_all()
            raise

    def limits_of_late(self, run: _Run) -> Limits:
        """The limits of a backend that begins now."""
        if run is self._runs[0] or self._limits.seconds is None:
            return self._limits
        return replace(self._limits, seconds=max(0.0, self._seconds_left() or 0.0))

    def _seconds_left(self) -> float | None:
        if self._limits.seconds is None or not self._runs:
            return self._limits.seconds
        spent = time.perf_counter() - self._runs[0].solving_since()
        return self._limits.seconds - max(0.0, spent)

    def _wait(self) -> list[Reply]:
        """Waits until one has decided, all have ended, or it should stop."""
        replies: list[Reply] = []
        self._launch()
        while self._running:
            if self._waiting or self._declined:
                due = self._runs[-1].solving_since() + self._head_start
                if time.perf_counter() >= due:
                    self._launch()
            self._interrupted = self._should_stop()
            if self._interrupted or self.until.passed:
                return replies
            try:
                run, result = self.inbox.get(timeout=_POLL_SECONDS)
            except queue.Empty:
                continue
            self._running.discard(run)
            if isinstance(result, BaseException):
                raise result
            if run.declines:
                self._declined.append(result)
                self._runs.remove(run)
                self._launch()
                continue
            replies.append(result)
            if result.outcome.verdict is not Verdict.UNKNOWN:
                return replies
            self._launch()
        return replies

    def _launch(self) -> None:
        """Starts the next backend, if there is one and room and time for it."""
        left = self._seconds_left()
        if len(self._running) >= self._at_once or not (self._waiting or self._declined):
            return
        if self._runs and left is not None and left < _LEAST_SECONDS:
            return
        declined = None if self._waiting else self._declined.pop(0)
        run = _Run(self, declined.member if declined else self._waiting.pop(0), declined)
        self._runs.append(run)
        self._running.add(run)
        try:
            run.member.process.start()  # it imports the solver while the formula is lowered
        except BackendError as error:
            self.inbox.put((run, _undecided(run.member, StopReason.CRASHED, str(error))))
        else:
            run.start()

    def _finish(self, replies: list[Reply]) -> None:
        """Ends the losers; their workers start again in the background."""
        for run in self._running:
            run.order_stop()
        for run in self._running:
            run.leave()
        if self._interrupted or not replies or self.until.passed:
            return
        self._check_late_replies(replies[-1])
        for run in self._running:
            with contextlib.suppress(BackendError):  # then the next formula tries again
                run.member.process.start()

    def _check_late_replies(self, winner: Reply) -> None:
        """Compares answers that came too late with the winner's."""
        with contextlib.suppress(queue.Empty):
            while True:
                _, result = self.inbox.get_nowait()
                if isinstance(result, BaseException):
                    raise result
                _require_agreement(winner, result)

    def _end_all(self) -> None:
        for run in self._runs:
            run.order_stop()
        for run in self._runs:
            run.leave()
        members = [*(run.member for run in self._runs), *self._waiting]
        members += [reply.member for reply in self._declined]
        for member in members:
            member.process.close()


def race(contest: Contest) -> tuple[list[Reply], bool]:
    """Decides a formula by the backend that is first to do so.

    Returns:
        The replies, and whether they were stopped from outside; a decided reply comes last.

    Raises:
        BackendError: if an answer cannot be true, or two contradict each other.
        KeyboardInterrupt: passed on, as any other error, after all workers have been ended.
    """
    return _Race(contest).run()


def ask_in_turn(contest: Contest) -> tuple[list[Reply], bool]:
    """Like `race`, but for counted work: backends run one after the other.  Each gets the units of
    a head start; then each undecided one gets its share of the rest."""
    formula, limits, stopped = contest.formula, contest.limits, contest.should_stop
    ends, choosy = contest.until.sooner(limits.seconds), contest.at_once is not None
    replies: dict[str, Reply] = {}
    declined: list[Member] = []

    def ask(member: Member, own: Deadline, known: Formula | Lowered, *, choosy: bool) -> bool:
        """Whether all is over: it has decided, or must stop."""

        def why_not(size: FormulaSize) -> Outcome | None:
            should = member.record.should_run(size)
            if not choosy or should.ok:
                return None
            declined.append(member)
            return Outcome(Verdict.UNKNOWN, reason=StopReason.GAVE_UP, message=should.reason)

        within = replace(limits, seconds=own.seconds)
        reply = _ask(member, known, lambda: within, stopped, own, why_not)
        replies.pop(member.name, None)
        if member not in declined:
            replies[member.name] = reply
        return reply.outcome.verdict is not Verdict.UNKNOWN or stopped()

    for member in contest.members:
        if len(replies) == contest.at_once:
            break
        if ask(member, ends.sooner(contest.head_start), formula, choosy=choosy):
            return list(replies.values()), stopped()
    early = [m for m in contest.members if m.name in replies]
    again = [m for m in early if replies[m.name].outcome.reason is StopReason.TIME_LIMIT]
    rest = again or declined
    declined = []
    for i, member in enumerate(rest):
        before = replies.get(member.name)
        known = formula if before is None or before.lowered is None else before.lowered
        if ends.passed or ask(member, ends.share(1 / (len(rest) - i)), known, choosy=False):
            break
    return list(replies.values()), stopped()


def _require_agreement(one: Reply, two: Reply) -> None:
    verdicts = {one.outcome.verdict: one.member.name, two.outcome.verdict: two.member.name}
    if verdicts.keys() == {Verdict.SAT, Verdict.UNSAT}:
        raise BackendError(
            f"backend {verdicts[Verdict.UNSAT]} answered unsat, but backend "
            f"{verdicts[Verdict.SAT]} found a model; this is a bug of the former or of a lowering"
        )


_REASONS = (
    StopReason.INTERRUPTED,
    StopReason.TIME_LIMIT,
    StopReason.MEMORY_LIMIT,
    StopReason.GAVE_UP,
    StopReason.CRASHED,
    StopReason.LICENCE,
)
"""Reasons for an undecided end, the most informative about the formula first."""


def no_answer(
    members: Sequence[Member], replies: Sequence[Reply], *, interrupted: bool = False
) -> Outcome:
    """The outcome of an undecided race, with every backend's reason in words."""
    reasons = [reply.outcome.reason for reply in replies]
    reason = next((r for r in _REASONS if r in reasons), StopReason.TIME_LIMIT)
    if interrupted:
        reason = StopReason.INTERRUPTED
    firsts, details = [], []
    for member in members:
        reply = next((reply for reply in replies if reply.member is member), None)
        if reply is None:
            firsts.append(f"{member.name}: {'stopped' if interrupted else 'no time was left'}")
            continue
        message = reply.outcome.message
        first, _, more = message.partition("\n")
        firsts.append(f"{member.name}: {reply.outcome.reason}{f' ({first})' if first else ''}")
        if more:
            details.append(f"{member.name}: {message}")
    return Outcome(
        Verdict.UNKNOWN,
        reason=reason,
        message="\n".join(["; ".join(firsts), *details]),
        seconds={"solve": sum(r.seconds.get("solve", 0.0) for r in replies)},
        losses=tuple(loss for r in replies for loss in losses_of(r.member.name, r.outcome)),
    )


def losses_of(backend: str, outcome: Outcome) -> tuple[str, ...]:
    """The `Outcome.losses` of a backend; empty if it ended normally."""
    first = outcome.message.partition("\n")[0]
    if outcome.reason is StopReason.MEMORY_LIMIT:
        return (f"backend {backend} ran out of memory" + (f": {first}" if first else ""),)
    if outcome.reason is StopReason.CRASHED:
        mine = f"the process of backend {backend} "
        return (first if first.startswith(mine) else f"backend {backend} crashed: {first}",)
    return ()
