"""What the store gives back: answers to questions, proved bounds, and what it holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from syncoll.certificates import Priced
from syncoll.formula import FormulaSize, Limits, StopReason, Verdict
from syncoll.model import Algorithm

__all__ = [
    "StoreDescription",
    "StoredAnswer",
    "StoredCertificate",
    "no_more_than",
]


@dataclass(frozen=True, eq=False)
class StoredAnswer:
    """What became of an instance, as far as it is worth keeping.

    Args:
        algorithm: present exactly when the verdict is sat.
        seconds: by phase, as they were spent when the answer was found.
        message: the backend's details for people.
        reason: why the backend stopped.
        limits: within which it was asked; they say when an unknown may be used again.
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
        """Whether the same question can have the same answer: not after a crash or Ctrl-C.

        An unknown lasts when time ran out, it is known how much there was, and none of it went
        into a proof.
        """
        if self.verdict is not Verdict.UNKNOWN:
            return True
        then = self.limits
        return (
            self.reason is StopReason.TIME_LIMIT and then.seconds is not None and then.proof is None
        )

    def answers(self, limits: Limits) -> bool:
        """Whether asking again within these limits cannot be expected to find out more.

        An unknown answers where no limit is wider than it was then; another seed is another try.
        Where a proof is asked for, only an algorithm answers, since no proof is kept.
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


@dataclass(frozen=True, eq=False)
class StoredCertificate:
    """A proved lower bound on R for some demands.

    Args:
        certificate: the proof, checked when it is read.
        rounds: what it proves for the demands that were asked about.
        allowed: the seconds within which it was looked for; None when no limit cut the work short.
    """

    certificate: Priced
    rounds: Fraction
    allowed: float | None = None

    def answers(self, seconds: float | None) -> bool:
        """Whether looking again for so many seconds (None: without limit) would be the same."""
        return no_more_than(seconds, self.allowed)


@dataclass(frozen=True)
class StoreDescription:
    """What a store holds; an answer counts under each numbering that it was asked for in.

    Args:
        bytes: its size, with what SQLite keeps beside it.
        sat: answers with an algorithm.
        unsat: answers that there is none.
        unknown: answers that time ran out.
        certificates: of lower bounds.
    """

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
    """Whether a limit is no wider than another; None is no limit."""
    return other is None or (limit is not None and limit <= other)
