"""Answers and certificates of a store, and the description of its contents."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from syncoll.formula import FormulaSize, Limits, StopReason, Verdict
from syncoll.model import Algorithm


@dataclass(frozen=True, eq=False)
class StoredAnswer:
    """The stored part of a solution.

    Args:
        algorithm: present exactly when the verdict is sat.
        seconds: time by phase, of the original run.
        message: message of the backend.
        reason: why the backend stopped.
        limits: limits of the run; they decide whether an unknown may be used again.
    """

    verdict: Verdict
    algorithm: Algorithm | None
    encoding: str
    backend: str
    size: FormulaSize
    lowered_size: FormulaSize
    seconds: Mapping[str, float] = field(default_factory=dict)
    message: str = ""
    reason: StopReason = StopReason.DECIDED
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        if (self.verdict is Verdict.SAT) != (self.algorithm is not None):
            raise ValueError(f"verdict {self.verdict} with algorithm {self.algorithm}")

    @property
    def lasting(self) -> bool:
        """Whether the answer is worth keeping: not after a crash or Ctrl-C.  An unknown lasts if a
        known time limit was reached, without time spent on a proof."""
        if self.verdict is not Verdict.UNKNOWN:
            return True
        then = self.limits
        return (
            self.reason is StopReason.TIME_LIMIT and then.seconds is not None and then.proof is None
        )

    def answers(self, limits: Limits) -> bool:
        """Whether a run within these limits would not find more.

        An unknown answers if no limit is wider and the seed is the same.  If a proof is requested,
        only an algorithm answers, since proofs are not kept.
        """
        if limits.proof is not None and self.verdict is not Verdict.SAT:
            return False
        if self.verdict is not Verdict.UNKNOWN:
            return True
        then = self.limits
        return (
            self.lasting
            and no_more_than(limits.seconds, then.seconds)
            and no_more_than(limits.memory_bytes, then.memory_bytes)
            and limits.threads <= then.threads
            and limits.seed == then.seed
        )


@dataclass(frozen=True)
class StoreDescription:
    """The contents of a store; its bytes include SQLite's other files."""

    path: Path
    bytes: int
    version: int
    sat: int
    unsat: int
    unknown: int
    certificates: int

    @property
    def answers(self) -> int:
        """Answers of all kinds."""
        return self.sat + self.unsat + self.unknown


def no_more_than(limit: float | None, other: float | None) -> bool:
    """Whether a limit is no wider than another; None: no limit."""
    return other is None or (limit is not None and limit <= other)
