"""Solution: the outcome of an instance."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from syncoll.formula import FormulaSize, Outcome, StopReason, Verdict
from syncoll.model import Algorithm, Instance

NO_FORMULA = FormulaSize(0, 0, 0, 0, 0, 0, 0, frozenset())
"""The size of a formula that was never built."""


@dataclass(frozen=True)
class Restriction:
    """The restriction of a search to algorithms that a group of automorphisms maps to themselves.

    Args:
        order: order of the group, which acts freely on the nodes; at least 2.
        whole: the size of the formula of all algorithms.
    """

    order: int
    whole: FormulaSize


@dataclass(frozen=True, eq=False)
class Solution:
    """The outcome of an instance.

    Args:
        outcome: the backend's answer.
        algorithm: verified; present exactly when the verdict is sat.
        encoding: name of the encoding.
        backend: name of the backend that answered; otherwise of the whole portfolio.
        size: size of the encoding's formula; if restricted, with one variable for each orbit.
        lowered_size: size of the backend's formula.
        seconds: time by phase: ``encode``, ``lower``, ``start``, ``load``, ``solve``, ``verify`` …;
            ``wait``: while others of a portfolio ran before this backend.
        restriction: the restriction to symmetric algorithms; None for all algorithms.  Without a
            symmetric algorithm the verdict is unknown, with the reason `StopReason.NOT_SYMMETRIC`.

    Raises:
        ValueError: if a restricted solution is unsat.
    """

    instance: Instance
    outcome: Outcome
    algorithm: Algorithm | None
    encoding: str
    backend: str
    size: FormulaSize
    lowered_size: FormulaSize
    seconds: Mapping[str, float] = field(default_factory=dict)
    restriction: Restriction | None = None

    def __post_init__(self) -> None:
        if self.restriction is not None and self.verdict is Verdict.UNSAT:
            raise ValueError("the absence of symmetric algorithms refutes nothing")

    def in_rounds(self, instance: Instance) -> "Solution":
        """The solution of an instance, from the solution of its `Instance.in_grains`."""
        algorithm = self.algorithm
        if algorithm is not None:
            algorithm = algorithm.scaled(Fraction(1, instance.topology.grains))
        return replace(self, instance=instance, algorithm=algorithm)

    @property
    def verdict(self) -> Verdict:
        """Sat, unsat or unknown."""
        return self.outcome.verdict

    @property
    def total_seconds(self) -> float:
        """All phases except the start of the worker, which many instances share."""
        return sum(value for phase, value in self.seconds.items() if phase != "start")


def undecided(
    instance: Instance,
    reason: StopReason,
    message: str,
    *,
    encoding: str,
    backend: str,
    seconds: Mapping[str, float] | None = None,
) -> Solution:
    """The unknown solution of an instance whose formula reached no solver."""
    lost: tuple[str, ...] = ()
    if reason is StopReason.MEMORY_LIMIT:
        lost = (f"a formula did not fit in memory: {message}",)
    elif reason is StopReason.CRASHED:
        lost = (message,)
    return Solution(
        instance,
        Outcome(Verdict.UNKNOWN, reason=reason, message=message, losses=lost),
        None,
        encoding,
        backend,
        NO_FORMULA,
        NO_FORMULA,
        seconds or {},
    )
