"""From an instance to a verified algorithm: encode, lower, decide, decode, verify.

Whatever a backend answered passes three checks before anyone sees it: its assignment is evaluated
on the formula it was asked (in `process`) and on the encoding's own formula, and the decoded
algorithm is replayed by the verifier, which knows neither encodings nor backends.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import TracebackType

from syncoll.errors import (
    BackendError,
    FormulaTooLargeError,
    PluginError,
    UsageError,
    VerificationError,
)
from syncoll.formula import FormulaSize, Limits, Outcome, StopReason, Verdict
from syncoll.lowerings import Lowered, Stage, lower
from syncoll.model import Algorithm, Instance
from syncoll.plugins import Encoded, Encoding, EncodingRecord, PluginManager, resolve_options
from syncoll.solving.process import SolverProcess
from syncoll.verify import require_valid

__all__ = ["Preparation", "Solution", "Solver", "default_threads"]


def default_threads() -> int:
    """Threads that a solver gets when nobody says otherwise: the machine's, from 2 to 8.

    CP-SAT looks for solutions and for proofs in different threads, so one is far too few.
    """
    try:
        here = len(os.sched_getaffinity(0))  # a container may have fewer than the machine
    except AttributeError:  # not on every system
        here = os.cpu_count() or 1
    return max(2, min(8, here))


@dataclass(frozen=True, eq=False)
class Preparation:
    """An instance made ready for a backend.

    Args:
        encoded: the formula as the encoding says it.
        lowered: the formula as the backend takes it.
        size: of the encoding's formula.
        lowered_size: of the backend's formula.
        seconds: ``encode`` and ``lower``.
    """

    encoded: Encoded
    lowered: Lowered
    size: FormulaSize
    lowered_size: FormulaSize
    seconds: Mapping[str, float]

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The lowerings in between."""
        return self.lowered.stages


@dataclass(frozen=True, eq=False)
class Solution:
    """What became of an instance.

    Args:
        instance: the problem.
        outcome: the backend's answer.
        algorithm: verified; present exactly when the verdict is sat.
        encoding: name of the encoding.
        backend: name of the backend.
        size: of the encoding's formula.
        lowered_size: of the backend's formula.
        seconds: by phase: ``encode``, ``lower``, ``start``, ``load``, ``solve``, ``verify`` …
    """

    instance: Instance
    outcome: Outcome
    algorithm: Algorithm | None
    encoding: str
    backend: str
    size: FormulaSize
    lowered_size: FormulaSize
    seconds: Mapping[str, float] = field(default_factory=dict)

    @property
    def verdict(self) -> Verdict:
        """Sat, unsat or unknown."""
        return self.outcome.verdict

    @property
    def total_seconds(self) -> float:
        """All phases together, without starting the worker, which many instances share."""
        return sum(value for phase, value in self.seconds.items() if phase != "start")


class Solver:
    """Solves instances with one encoding and one backend; the backend's worker is reused.

    Args:
        manager: knows the plugins.
        encoding: name of the encoding for collectives that only move data.
        combining_encoding: name of the encoding for combining instances.
        backend: name of the backend.
        encoding_options: values by name.
        backend_options: values by name.
        limits: for each run of the backend.

    Raises:
        PluginError: on an unknown name, or a backend that is not installed or not licensed.
        OptionError: on an unknown option or a bad value.
    """

    def __init__(
        self,
        manager: PluginManager,
        *,
        encoding: str = "step",
        combining_encoding: str = "partial",
        backend: str = "cpsat",
        encoding_options: Mapping[str, object] | None = None,
        backend_options: Mapping[str, object] | None = None,
        limits: Limits | None = None,
    ) -> None:
        self.encoding = manager.encoding(encoding)
        self.backend = manager.backend(backend)
        self.limits = limits or Limits(threads=default_threads())
        self._encoding_options = resolve_options(
            self.encoding.options, encoding_options or {}, f"encoding {encoding}"
        )
        self._backend_options = resolve_options(
            self.backend.options, backend_options or {}, f"backend {backend}"
        )
        for answer in (self.backend.installed(), self.backend.licensed()):
            if not answer.ok:
                raise PluginError(f"backend {backend} cannot run here: {answer.reason}")
        self._combining = manager.encoding(combining_encoding)
        for record, combining in ((self.encoding, False), (self._combining, True)):
            if record.combining != combining:
                takes = "combining" if record.combining else "non-combining"
                raise UsageError(f"encoding {record.name} takes {takes} collectives only")
        self._loaded: dict[str, Encoding] = {}
        self._process = SolverProcess(self.backend)
        self._process.start()

    def __enter__(self) -> Solver:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the backend's worker process."""
        self._process.close()

    def encoding_for(self, instance: Instance) -> EncodingRecord:
        """The encoding that takes an instance of this kind."""
        return self._combining if instance.combining else self.encoding

    def prepare(self, instance: Instance) -> Preparation:
        """Encodes and lowers, without solving."""
        began = time.perf_counter()
        record = self.encoding_for(instance)
        encoder = self._loaded.setdefault(record.name, record.load())
        options = self._encoding_options
        if record is not self.encoding:
            options = resolve_options(record.options, {}, f"encoding {record.name}")
        encoded = encoder.encode(instance, options)
        after_encoding = time.perf_counter()
        lowered = lower(encoded.formula, self.backend.features)
        after_lowering = time.perf_counter()
        return Preparation(
            encoded,
            lowered,
            encoded.formula.size(),
            lowered.formula.size(),
            {"encode": after_encoding - began, "lower": after_lowering - after_encoding},
        )

    def solve(
        self,
        instance: Instance,
        *,
        seconds: float | None = None,
        should_stop: Callable[[], bool] | None = None,
    ) -> Solution:
        """Decides an instance.

        Args:
            instance: the problem.
            seconds: a time limit for this run, if it is tighter than the solver's own.
            should_stop: asked often; True ends the run as unknown.

        Raises:
            BackendError: when the backend's answer turns out to be wrong.
            KeyboardInterrupt: passed on after the worker has been ended.
        """
        try:
            prepared = self.prepare(instance)
        except FormulaTooLargeError as error:
            return self._too_large(instance, error)
        limits = self.limits
        if seconds is not None:
            least = seconds if limits.seconds is None else min(seconds, limits.seconds)
            limits = replace(limits, seconds=max(0.0, least))
        allowed = self.backend.can_run(prepared.lowered_size)
        if not allowed.ok:
            outcome = Outcome(Verdict.UNKNOWN, reason=StopReason.LICENCE, message=allowed.reason)
        else:
            outcome = self._process.solve(
                prepared.lowered.formula, limits, self._backend_options, should_stop=should_stop
            )
        began = time.perf_counter()
        algorithm = self._algorithm(instance, prepared, outcome)
        spent = {"verify": time.perf_counter() - began}
        return Solution(
            instance,
            outcome,
            algorithm,
            self.encoding_for(instance).name,
            self.backend.name,
            prepared.size,
            prepared.lowered_size,
            {**prepared.seconds, **outcome.seconds, **spent},
        )

    def _too_large(self, instance: Instance, error: FormulaTooLargeError) -> Solution:
        """Unknown: a formula that is not built decides nothing."""
        nothing = FormulaSize(0, 0, 0, 0, 0, 0, 0, frozenset())
        return Solution(
            instance,
            Outcome(Verdict.UNKNOWN, reason=StopReason.GAVE_UP, message=str(error)),
            None,
            self.encoding_for(instance).name,
            self.backend.name,
            nothing,
            nothing,
        )

    def _algorithm(
        self, instance: Instance, prepared: Preparation, outcome: Outcome
    ) -> Algorithm | None:
        """Decodes and checks; the algorithm has exactly the instance's steps and rounds."""
        if outcome.assignment is None:
            return None
        who = f"encoding {self.encoding_for(instance).name} with backend {self.backend.name}"
        assignment = prepared.lowered.raise_assignment(outcome.assignment)
        if wrong := prepared.encoded.formula.violation(assignment):
            raise BackendError(f"{who}: the answer is no model of the encoding's formula: {wrong}")
        algorithm = prepared.encoded.decode(assignment)
        try:
            require_valid(instance, algorithm)
            if not instance.combining:
                algorithm = algorithm.without_useless_sends(instance)
            if instance.rounds_per_step is None:
                algorithm = algorithm.with_rounds(instance.topology, instance.rounds)
            require_valid(instance, algorithm)
        except VerificationError as error:
            raise BackendError(f"{who} answered sat, but the verifier says: {error}") from error
        return algorithm
