"""Files about one problem: what a backend answered, and an algorithm."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, UnsetType

from syncoll.documents.problem import (
    AlgorithmRecord,
    ProblemFileRecord,
    algorithm_record,
    file_entries,
    problem_entries,
)
from syncoll.documents.record import Count, Seconds, written
from syncoll.formula import StopReason
from syncoll.model import Algorithm, Instance
from syncoll.results.solution import Solution
from syncoll.trust import require_valid

__all__ = [
    "AlgorithmFileRecord",
    "OutcomeRecord",
    "algorithm_document",
    "outcome_document",
]


class _AnyOutcome(ProblemFileRecord, frozen=True, kw_only=True, tag_field="verdict"):
    """What a backend answered for one (S, R, C).

    Args:
        reason: why the backend stopped; decided exactly when the verdict is sat or unsat.
        status: verified when there is an algorithm, else null.
        phases: seconds of encode, lower, start, load, solve, verify …
        variables: of the formula; missing where there was none.
        constraints: of the formula, likewise.
    """

    schema: Literal["syncoll/outcome/1"]
    message: str
    encoding: str
    backend: str
    seconds: Seconds
    phases: dict[str, float] | UnsetType = UNSET
    variables: Count | UnsetType = UNSET
    constraints: Count | UnsetType = UNSET


class SatRecord(_AnyOutcome, frozen=True, tag="sat", kw_only=True):
    """There is an algorithm."""

    status: Literal["verified"] | UnsetType = UNSET
    reason: Literal["decided"]
    algorithm: AlgorithmRecord


class UnsatRecord(_AnyOutcome, frozen=True, tag="unsat", kw_only=True):
    """There is no algorithm."""

    status: None = None
    reason: Literal["decided"]
    algorithm: None


class UnknownRecord(_AnyOutcome, frozen=True, tag="unknown", kw_only=True):
    """The backend stopped before it knew."""

    status: None = None
    reason: Annotated[str, Meta(pattern="^(?!decided$)")]
    algorithm: None


OutcomeRecord = SatRecord | UnsatRecord | UnknownRecord

_RECORDS = {"sat": SatRecord, "unsat": UnsatRecord, "unknown": UnknownRecord}


class AlgorithmFileRecord(ProblemFileRecord, frozen=True, kw_only=True):
    """One algorithm with everything that is needed to verify it."""

    schema: Literal["syncoll/algorithm/1"]
    algorithm: AlgorithmRecord


def outcome_document(solution: Solution) -> dict[str, Any]:
    """A solution as the document ``syncoll/outcome/1``."""
    instance, outcome, size = solution.instance, solution.outcome, solution.size
    found: dict[str, Any] = {"algorithm": None}
    if solution.algorithm is not None:
        found = {"algorithm": algorithm_record(solution.algorithm), "status": "verified"}
    if outcome.reason is not StopReason.INTERRUPTED or size.variables + size.constraints:
        # Of one that was interrupted before there was a formula nothing is known.
        found |= {"variables": size.variables, "constraints": size.constraints}
    record = _RECORDS[outcome.verdict](
        **file_entries("outcome", instance.topology, instance.collective),
        **problem_entries(instance),
        reason=str(outcome.reason),
        message=outcome.message,
        encoding=solution.encoding,
        backend=solution.backend,
        seconds=round(solution.total_seconds, 6),
        phases={name: round(value, 6) for name, value in solution.seconds.items()},
        **found,
    )
    return written(record)


def algorithm_document(instance: Instance, algorithm: Algorithm) -> dict[str, Any]:
    """An algorithm with its problem as the document ``syncoll/algorithm/1``.

    Raises:
        VerificationError: when the algorithm does not solve the instance.
    """
    require_valid(instance, algorithm)
    return written(
        AlgorithmFileRecord(
            **file_entries("algorithm", instance.topology, instance.collective),
            **problem_entries(instance),
            algorithm=algorithm_record(algorithm),
        )
    )
