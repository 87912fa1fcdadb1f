"""From an instance to a verified algorithm: encode, lower, decide, decode, verify.

Every answer passes three checks.  Its assignment is evaluated on the lowered formula (in `process`)
and on the encoding's formula.  The verifier, which is independent of encodings and backends,
replays the decoded algorithm.
"""

import json
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

from syncoll.clock import is_counted, took
from syncoll.deadline import NEVER, Deadline, OutOfTimeError, interrupted_at
from syncoll.errors import BackendError, FormulaTooLargeError, UnlabelledError, VerificationError
from syncoll.formula import Formula, FormulaSize, Limits, Outcome, StopReason, Verdict
from syncoll.lowerings import AnswerMap, KeepFirst, Lowered, lower, merged
from syncoll.memory import budget
from syncoll.model import Algorithm, Instance
from syncoll.model.messages import contiguous
from syncoll.plugins import (
    BackendRecord,
    Encoded,
    Encoding,
    EncodingRecord,
    EstimatesSize,
    LabelsVariables,
    Options,
    PluginManager,
    TakesHints,
    resolve_options,
)
from syncoll.plugins.guard import calling
from syncoll.results.solution import NO_FORMULA, Restriction, Solution, undecided
from syncoll.solving.members import (
    Member,
    SolverSettings,
    choose_backends,
    choose_encoding,
    default_threads,
    member_options,
)
from syncoll.solving.portfolio import (
    HEAD_START_SECONDS,
    Contest,
    Reply,
    ask_in_turn,
    ask_one,
    losses_of,
    no_answer,
    race,
)
from syncoll.solving.process import SolverProcess
from syncoll.solving.pruning import without_useless_sends
from syncoll.symmetry import Action
from syncoll.trust import require_valid
from syncoll.trust.replay import as_counted
from syncoll.version import __version__

_VERIFY_SECONDS = 0.4
"""Extra time to verify an algorithm that was found at the last moment."""

_BYTES_PER_LITERAL = 400
"""Measured on tori with the built-in encodings and backends: the builder's lists and the formula's
arrays take 40 to 75 bytes for each literal in this process, a lowering to clauses some 200 more,
and a worker 200 to 800, less for larger formulas."""

_UNITS_PER_LITERAL = 3e-7
"""Work units for building, lowering and passing on a literal."""

_BYTES_PER_CELL = 40
"""For each chunk and link: the windows of steps, in several arrays."""

_UNCHECKED_SENDS = 100_000
"""Chunks times links times steps that always fit and are not checked."""


@dataclass(frozen=True, eq=False)
class Preparation:
    """An instance encoded and lowered for a backend, with the lowerings in between, and the seconds
    to ``encode`` and to ``lower``."""

    backend: BackendRecord
    lowered: Lowered
    size: FormulaSize
    lowered_size: FormulaSize
    seconds: Mapping[str, float]


@dataclass(frozen=True, eq=False)
class _Asked:
    """The formula for the backends: the encoding's, or that of algorithms with the symmetry of a
    group of some order.  Its models map to models of the encoding's formula; merging took some
    seconds."""

    formula: Formula
    inverse: AnswerMap
    order: int = 1
    seconds: float = 0.0


class Solver(AbstractContextManager["Solver"]):
    """Solves instances with an encoding and one or several backends; workers are reused.

    For one thread at a time.

    Args:
        head_start: seconds that a backend of a portfolio has before the next one joins in.
        start: whether to start the first backend's worker at once, so that it loads meanwhile.
        changes: fields of the settings by name, such as ``backend="z3"``.

    Attributes:
        passed_over: the broken backends that it skips, in words.

    Raises:
        PluginError: for an unknown name, or a backend that is not installed or not licensed.
        OptionError: for an unknown option or a bad value.
        UsageError: for an encoding of another kind of collective, or a backend named twice.
    """

    def __init__(
        self,
        manager: PluginManager,
        settings: SolverSettings | None = None,
        *,
        head_start: float = HEAD_START_SECONDS,
        start: bool = True,
        **changes: Any,
    ) -> None:
        settings = replace(settings or SolverSettings(), **changes)
        self.encoding = choose_encoding(manager, settings.encoding, combining=False)
        self._choice = choose_backends(manager, settings.backend)
        chosen = (*self._choice.moving, *self._choice.combining)
        self.backends = tuple({record.name: record for record in chosen}.values())
        self.passed_over = self._choice.passed_over
        self.backend_name = settings.backend
        self.limits = settings.limits or Limits(threads=default_threads())
        self.stop_when: Callable[[], bool] = lambda: False
        self._head_start = head_start
        options = member_options(self.backends, dict(settings.backend_options), settings.backend)
        self._combining = choose_encoding(manager, settings.combining_encoding, combining=True)
        self._loaded: dict[str, Encoding] = {}
        self._encoding_options = {
            record.name: resolve_options(record.options, given, f"encoding {record.name}")
            for record, given in (
                (self._combining, {}),
                (self.encoding, dict(settings.encoding_options)),
            )
        }
        self._members = {
            record.name: Member(record, options[record.name], SolverProcess(record))
            for record in self.backends
        }
        if start:
            self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> None:
        """Starts the first backend's worker, which loads in the background."""
        self._members[self.backend.name].process.start()

    def close(self) -> None:
        """Ends every worker process."""
        for member in self._members.values():
            member.process.close()

    @property
    def backend(self) -> BackendRecord:
        """The backend that is asked first about instances that only move data."""
        return self.backends[0]

    def encoding_for(self, instance: Instance) -> EncodingRecord:
        """The encoding that takes an instance of this kind."""
        return self._combining if instance.combining else self.encoding

    def backends_for(self, instance: Instance) -> tuple[BackendRecord, ...]:
        """The backends in the order in which they are asked about an instance of this kind."""
        return self._choice.combining if instance.combining else self._choice.moving

    def asked(self, instance: Instance) -> str:
        """The encoding, backends and options for an instance of this kind, in one text.

        It includes the version of syncoll: a refutation relies on the encoding and the backends,
        which a later version may correct.
        """
        record = self.encoding_for(instance)
        members = [self._members[one.name] for one in self.backends_for(instance)]
        backends = {member.record.name: dict(member.options) for member in members}
        who = {
            "syncoll": __version__,
            "encoding": [record.name, self._encoding_options[record.name]],
            "backends": [self.backend_name, backends],
        }
        return json.dumps(who, sort_keys=True, default=str)

    def prepare(self, instance: Instance) -> Preparation:
        """Encodes, and lowers for the first backend, without solving."""
        encoded, seconds = self._encode(instance.in_grains)
        prepared = []
        for record in self.backends_for(instance):
            began = time.perf_counter()
            lowered = lower(encoded.formula, record.features)
            spent = {"encode": seconds, "lower": time.perf_counter() - began}
            sizes = encoded.formula.size(), lowered.formula.size()
            prepared.append(Preparation(record, lowered, *sizes, spent))
            asked = (record.can_run, record.should_run) if self._choice.at_once else ()
            if all(question(sizes[1]).ok for question in asked):
                return prepared[-1]
        return prepared[0]

    def solve(
        self,
        instance: Instance,
        *,
        seconds: float | None = None,
        hint: Algorithm | None = None,
        until: Deadline = NEVER,
        symmetry: Action | None = None,
    ) -> Solution:
        """Decides an instance; unknown once `stop_when`, which is polled, is True.

        Args:
            seconds: a time limit for this run of the backends, if tighter than the solver's own;
                encoding, lowering and starting workers do not count.
            hint: an algorithm for the same chunks to start from; ignored by encodings and backends
                that take no hints.
            symmetry: only algorithms that its group maps to themselves are considered, with one
                variable for each orbit; unsat becomes unknown then.

        Raises:
            UnlabelledError: if symmetric algorithms are requested, and the encoding does not label
                its variables.
            BackendError: if a backend's answer is wrong; no worker is left then.
            KeyboardInterrupt: passed on after the workers have been ended.
        """
        if (grains := instance.topology.grains) > 1:
            found = self.solve(
                instance.in_grains,
                seconds=seconds,
                hint=None if hint is None else hint.scaled(grains),
                until=until,
                symmetry=symmetry,
            )
            return found.in_rounds(instance)
        if self.stop_when():
            return self._undecided(instance, StopReason.INTERRUPTED, "stopped before it began")
        if until.passed:
            return self._undecided(instance, StopReason.TIME_LIMIT, "no time was left")
        try:
            try:
                with interrupted_at(until):
                    encoded, spent = self._encode(instance)
                    asked = self._asked(instance, encoded, symmetry, hint)
            except OutOfTimeError:
                text = "the time was over before its formula was built"
                return self._undecided(instance, StopReason.TIME_LIMIT, text)
            limits = self.limits.within(seconds)
            reply, outcome = self._decide(instance, asked.formula, limits, until)
        except FormulaTooLargeError as error:
            return self._undecided(instance, StopReason.GAVE_UP, str(error))
        except MemoryError as error:  # numpy and the limits of a command say more than Python does
            text = str(error) or "no memory was left for the formula"
            return self._undecided(instance, StopReason.MEMORY_LIMIT, text)
        began = time.perf_counter()
        algorithm = None
        if reply is not None and outcome.assignment is not None:
            try:
                with interrupted_at(until.before(-_VERIFY_SECONDS)):
                    algorithm = self._algorithm(instance, encoded, asked, reply)
            except OutOfTimeError:
                text = "an algorithm was found, but the time was over before it was verified"
                return self._undecided(instance, StopReason.TIME_LIMIT, text)
            except BaseException:
                self.close()
                raise
        restriction = None
        if asked.order > 1:
            restriction = Restriction(asked.order, encoded.formula.size())
            text = f"a group of order {asked.order} maps no algorithm to itself; others may exist"
            outcome = _unproved(outcome, StopReason.NOT_SYMMETRIC, text)
        record = self.encoding_for(instance)
        if not _is_exact(record, instance):
            text = f"encoding {record.name} counts every send, and switches copy or add up some"
            outcome = _unproved(outcome, StopReason.GAVE_UP, f"{text} of them")
        return Solution(
            instance,
            outcome,
            algorithm,
            record.name,
            self.backend_name if reply is None else reply.member.name,
            asked.formula.size(),
            NO_FORMULA if reply is None else reply.size,
            {
                "encode": spent,
                **({} if restriction is None else {"merge": asked.seconds}),
                **(outcome.seconds if reply is None else reply.seconds),
                "verify": time.perf_counter() - began,
            },
            restriction,
        )

    def _encode(self, instance: Instance) -> tuple[Encoded, float]:
        began = time.perf_counter()
        record = self.encoding_for(instance)
        if not _is_exact(record, instance):
            instance = replace(instance, topology=instance.topology.conservative)
        if record.name not in self._loaded:
            self._loaded[record.name] = record.load()
        encoding, options = self._loaded[record.name], self._encoding_options[record.name]
        _require_room(encoding, instance, options)
        encoded = encoding.encode(instance, options)
        took(_UNITS_PER_LITERAL * encoded.formula.size().literals)
        return encoded, time.perf_counter() - began

    def _asked(
        self, instance: Instance, encoded: Encoded, symmetry: Action | None, hint: Algorithm | None
    ) -> _Asked:
        """The encoding's formula, or the formula with one variable for each orbit; with a hint."""
        who, formula = f"encoding {self.encoding_for(instance).name}", encoded.formula
        if hint is not None and isinstance(encoded, TakesHints):
            with calling(who, "hint"):
                formula = formula.with_hint(encoded.hint(hint))
        if symmetry is None or symmetry.group.order == 1:
            return _Asked(formula, KeepFirst(formula.num_booleans, formula.num_integers))
        began, labels = time.perf_counter(), None
        if isinstance(encoded, LabelsVariables):
            with calling(who, "labels"):
                labels = encoded.labels()
        if labels is None:
            raise UnlabelledError(
                f"{who}, with these options, does not label its variables, as a search for "
                "symmetric algorithms needs"
            )
        with calling(who, "labels"):
            orbits = symmetry.orbits(labels)
        applied = merged(formula, *orbits)
        spent = time.perf_counter() - began
        return _Asked(applied.formula, applied.inverse, symmetry.group.order, spent)

    def _decide(
        self, instance: Instance, formula: Formula, limits: Limits, until: Deadline
    ) -> tuple[Reply | None, Outcome]:
        """The reply that decides, or that of the only backend; and the combined outcome."""
        members = [self._members[one.name] for one in self.backends_for(instance)]
        if len(members) == 1:
            stop = self.stop_when
            reply = ask_one(members[0], formula, limits, should_stop=stop, until=until)
            lost = losses_of(members[0].name, reply.outcome)
            return reply, replace(reply.outcome, losses=lost)
        ask = ask_in_turn
        if not is_counted():
            together = min(len(members), self._choice.at_once or len(members))
            ask, limits = race, replace(limits, threads=max(2, limits.threads - together + 1))
        at_once, head_start = self._choice.at_once, self._head_start
        contest = Contest(members, formula, limits, at_once, head_start, self.stop_when, until)
        replies, interrupted = ask(contest)
        if replies and replies[-1].outcome.verdict is not Verdict.UNKNOWN:
            return replies[-1], replies[-1].outcome
        return None, no_answer(members, replies, interrupted=interrupted)

    def _undecided(self, instance: Instance, reason: StopReason, message: str) -> Solution:
        return undecided(
            instance,
            reason,
            message,
            encoding=self.encoding_for(instance).name,
            backend=self.backend_name,
        )

    def _algorithm(
        self, instance: Instance, encoded: Encoded, asked: _Asked, reply: Reply
    ) -> Algorithm:
        """Decodes and verifies an algorithm of exactly the instance's steps and rounds."""
        assert reply.lowered is not None
        assert reply.outcome.assignment is not None
        who = f"encoding {self.encoding_for(instance).name} with backend {reply.member.name}"
        lowered = reply.lowered.raise_assignment(reply.outcome.assignment)
        assignment = asked.inverse.raise_assignment(lowered)
        if wrong := encoded.formula.violation(assignment):
            raise BackendError(
                f"{who}: the answer is not a model of the encoding's formula: {wrong}"
            )
        with calling(f"encoding {self.encoding_for(instance).name}", "decode"):
            algorithm = encoded.decode(assignment)
            if not isinstance(algorithm, Algorithm):
                raise TypeError(f"it returned a {type(algorithm).__name__}, not an Algorithm")
        try:
            require_valid(instance, algorithm)
            algorithm = without_useless_sends(instance, algorithm)
            if instance.rounds_per_step is None:
                where = as_counted(instance, algorithm)
                algorithm = algorithm.with_rounds(where, instance.rounds)
            if asked.order == 1:  # other numbers of chunks may lose the symmetry
                algorithm = contiguous(instance, algorithm)
            require_valid(instance, algorithm)
        except VerificationError as error:
            raise BackendError(f"{who} answered sat, but the verifier says: {error}") from error
        return algorithm


def _unproved(outcome: Outcome, reason: StopReason, message: str) -> Outcome:
    """An outcome whose refutation proves nothing about all algorithms."""
    if outcome.verdict is not Verdict.UNSAT:
        return outcome
    return replace(outcome, verdict=Verdict.UNKNOWN, reason=reason, message=message, proof=None)


def _is_exact(record: EncodingRecord, instance: Instance) -> bool:
    """Whether an unsatisfiable formula proves that there is no algorithm."""
    return record.counts_copies or not instance.topology.counts_copies


def _require_room(encoding: Encoding, instance: Instance, options: Options) -> None:
    """Raises `MemoryError`, in words, if the instance's formula exceeds the memory of this
    command."""
    cells = instance.num_chunks * len(instance.topology.links)
    if cells * instance.steps < _UNCHECKED_SENDS and not instance.combining:
        return
    if not isinstance(encoding, EstimatesSize):
        return
    literals = encoding.literals(instance, options)
    what = (
        f"the formula for C = {instance.chunks}, S = {instance.steps}, R = {instance.rounds}, of "
        f"{literals / 1e6:.1f} million literals,"
    )
    if why := budget().lacks(_BYTES_PER_LITERAL * literals + _BYTES_PER_CELL * cells, what):
        raise MemoryError(why)
