"""Outcome: the answer of a backend, and the limits of its run."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from syncoll.formula.formula import Assignment


class Verdict(StrEnum):
    """Three answers; `UNKNOWN` is never reported as `UNSAT`."""

    SAT = "sat"
    UNSAT = "unsat"
    UNKNOWN = "unknown"


class StopReason(StrEnum):
    """Why a backend stopped."""

    DECIDED = "decided"
    TIME_LIMIT = "time limit"
    MEMORY_LIMIT = "memory limit"
    INTERRUPTED = "interrupted"
    LICENCE = "licence"
    NOT_SYMMETRIC = "no symmetric algorithm"  # asymmetric algorithms are open
    GAVE_UP = "gave up"  # the solver says itself that it cannot decide this
    CRASHED = "crashed"


@dataclass(frozen=True)
class Limits:
    """Limits of a backend's run.

    Args:
        seconds: wall-clock time; None for no limit.
        work: units that the solver counts itself, each about one second of one core, so that runs
            with one thread are deterministic; None for no limit.
        memory_bytes: resident memory of the solver's process; None for no limit.
        threads: at most used by the solver.
        seed: seed of the solver's random choices.
        proof: file for a textual DRAT proof over the formula's clauses if the answer is unsat; the
            formula must have no other rows.  None for no proof.
    """

    seconds: float | None = None
    memory_bytes: int | None = None
    threads: int = 1
    seed: int = 0
    proof: Path | None = None
    work: float | None = None

    def within(self, seconds: float | None) -> "Limits":
        """These limits, with at most this time."""
        if seconds is None:
            return self
        least = seconds if self.seconds is None else min(seconds, self.seconds)
        return replace(self, seconds=max(0.0, least))


@dataclass(frozen=True, eq=False)
class Outcome:
    """A verdict, with the assignment if it is sat, and why the backend stopped.

    Args:
        assignment: values for the original formula; present exactly when the verdict is sat.
        reason: `StopReason.DECIDED` exactly when the verdict is not unknown.
        message: details for people, such as advice when a licence is too small.
        seconds: wall-clock seconds by phase: ``lower``, ``load``, ``solve`` …
        work: units used, as in `Limits.work`, if that was a limit.
        statistics: the solver's counts: conflicts, branches, nodes …
        proof: the file of `Limits.proof` for unsat, once written; a file, as proofs have no bound.
        losses: for an unknown, a text for each backend whose process was killed, crashed or ran out
            of memory.  The text after the first colon is only about this run.
    """

    verdict: Verdict
    assignment: Assignment | None = None
    reason: StopReason = StopReason.DECIDED
    message: str = ""
    seconds: Mapping[str, float] = field(default_factory=dict)
    statistics: Mapping[str, float] = field(default_factory=dict)
    proof: Path | None = None
    losses: tuple[str, ...] = ()
    work: float = 0.0

    @classmethod
    def unknown(cls, reason: StopReason, message: str = "", **measured: Any) -> "Outcome":
        """An outcome without an answer; `measured` has seconds, statistics and work."""
        return cls(Verdict.UNKNOWN, reason=reason, message=message, **measured)

    def __post_init__(self) -> None:
        if (self.verdict is Verdict.SAT) != (self.assignment is not None):
            raise ValueError(
                f"verdict {self.verdict} and an assignment exclude each other"
                if self.assignment
                else "sat needs an assignment"
            )
        if (self.verdict is Verdict.UNKNOWN) == (self.reason is StopReason.DECIDED):
            raise ValueError(f"verdict {self.verdict} with reason {self.reason}")
