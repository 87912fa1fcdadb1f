"""A refutation's file: an instance, how it becomes clauses, and where their proof is."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from syncoll.documents.problem import InterconnectRecord, ProblemFileRecord, ProblemRecord
from syncoll.documents.record import ClosedRecord, Count, Nodes

__all__ = ["FormulaRecord", "QuestionRecord", "RefutationProofRecord", "RefutationRecord"]

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
        file: in the same folder; gzipped when it ends in .gz.
        bytes: unzipped.
        sha256: of the proof, unzipped.
    """

    format: Literal["drat"]
    file: FileName
    bytes: Count
    sha256: Sha256


class QuestionRecord(ProblemRecord, frozen=True, kw_only=True):
    """What is refuted, and how it becomes clauses: what gives files their names."""

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
        solver: who wrote the proof; nothing rests on it.
        digest: of the other entries; finds what was changed by accident.
    """

    schema: Literal["syncoll/refutation/1"]
    encoding: str
    encoding_options: dict[str, OptionEntry]
    lowerings: tuple[str, ...]
    solver: str
    formula: FormulaRecord
    proof: RefutationProofRecord
    digest: str
