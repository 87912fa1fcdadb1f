"""Files about one problem: a backend's answer, an algorithm, and a refutation."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from syncoll.documents.problem import (
    VERSIONS,
    AlgorithmRecord,
    InterconnectRecord,
    ProblemFileRecord,
    ProblemRecord,
)
from syncoll.documents.record import ClosedRecord, Count, Nodes, Seconds
from syncoll.documents.versions import versioned
from syncoll.documents.written_problem import algorithm_record, file_entries, problem_entries
from syncoll.formula import StopReason
from syncoll.model import Algorithm, Instance
from syncoll.results.solution import Solution
from syncoll.trust import require_valid


class _AnyOutcome(ProblemFileRecord, frozen=True, kw_only=True, tag_field="verdict"):
    """A backend's answer for one (S, R, C).

    Args:
        reason: why the backend stopped; decided exactly when the verdict is sat or unsat.
        status: verified if there is an algorithm, else null.
        phases: seconds of encode, lower, start, load, solve, verify …
        variables: number of variables of the formula; missing without a formula.
        constraints: number of constraints of the formula, likewise.
        symmetry: the order of the group, if only algorithms that it maps to themselves were
            searched.
    """

    schema: Annotated[str, Meta(pattern=f"^syncoll/outcome/{VERSIONS}$")]
    message: str
    encoding: str
    backend: str
    seconds: Seconds
    phases: dict[str, float] | UnsetType = UNSET
    variables: Count | UnsetType = UNSET
    constraints: Count | UnsetType = UNSET
    symmetry: Annotated[int, Meta(ge=2)] | UnsetType = UNSET


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
    """One algorithm with all data that its verification needs."""

    schema: Annotated[str, Meta(pattern=f"^syncoll/algorithm/{VERSIONS}$")]
    algorithm: AlgorithmRecord


FileName = Annotated[str, Meta(pattern="^[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}$")]
OptionEntry = bool | int | float | str
Sha256 = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]


class FormulaRecord(ClosedRecord, frozen=True):
    """The clauses.

    Args:
        sha256: of the DIMACS text.
        file: its DIMACS text, for other checkers; null: not written.
    """

    variables: Count
    clauses: Count
    sha256: Sha256
    file: FileName | None


class RefutationProofRecord(ClosedRecord, frozen=True):
    """The proof that they are unsatisfiable.

    Args:
        format: textual DRAT.
        file: its name, in the same folder; gzipped if it ends in .gz.
        bytes: unzipped.
        sha256: of the proof, unzipped.
    """

    format: Literal["drat"]
    file: FileName
    bytes: Count
    sha256: Sha256


class QuestionRecord(ProblemRecord, frozen=True, kw_only=True):
    """The refuted problem, and its way to clauses: these entries give files their names."""

    interconnect: InterconnectRecord
    nodes: Nodes
    encoding: str
    encoding_options: dict[str, OptionEntry] = msgspec.field(name="options")


class RefutationRecord(ProblemFileRecord, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """That one (S, R, C) has no algorithm, and the file with its proof.

    Args:
        encoding: how the instance becomes a formula.
        encoding_options: a value for every option of the encoding.
        lowerings: how the formula becomes clauses, first lowering first.
        solver: the writer of the proof; the check does not rely on it.
        digest: digest of the other entries; detects accidental changes.
    """

    schema: Annotated[str, Meta(pattern=f"^syncoll/refutation/{VERSIONS}$")]
    encoding: str
    encoding_options: dict[str, OptionEntry]
    lowerings: tuple[str, ...]
    solver: str
    formula: FormulaRecord
    proof: RefutationProofRecord
    digest: str


def outcome_document(solution: Solution) -> dict[str, Any]:
    """A solution as a document ``syncoll/outcome/N``."""
    instance, outcome, size = solution.instance, solution.outcome, solution.size
    found: dict[str, Any] = {"algorithm": None}
    if solution.algorithm is not None:
        found = {"algorithm": algorithm_record(solution.algorithm), "status": "verified"}
    if outcome.reason is not StopReason.INTERRUPTED or size.variables + size.constraints:
        # A run that was interrupted before encoding has no size.
        found |= {"variables": size.variables, "constraints": size.constraints}
    if solution.restriction is not None:
        found["symmetry"] = solution.restriction.order
    record = _RECORDS[outcome.verdict](
        **file_entries(instance.topology, instance.collective),
        **problem_entries(instance),
        reason=str(outcome.reason),
        message=outcome.message,
        encoding=solution.encoding,
        backend=solution.backend,
        seconds=round(solution.total_seconds, 6),
        phases={name: round(value, 6) for name, value in solution.seconds.items()},
        **found,
    )
    return versioned("outcome", record)


def algorithm_document(instance: Instance, algorithm: Algorithm) -> dict[str, Any]:
    """An algorithm with its problem as a document ``syncoll/algorithm/N``.  Raises
    `VerificationError` if the algorithm does not solve the instance."""
    require_valid(instance, algorithm)
    return versioned(
        "algorithm",
        AlgorithmFileRecord(
            **file_entries(instance.topology, instance.collective),
            **problem_entries(instance),
            algorithm=algorithm_record(algorithm),
        ),
    )
