"""Proofs in a frontier's file: shapes, certificates and refutations.

Certificates name links, bandwidth bounds and shapes by their positions in the file.  A certificate
that several proofs use is written once.
"""

import re
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Annotated, Literal

import msgspec
import numpy as np
from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import asdict

from syncoll.certificates import Certificate, ChunkClasses, ClassList
from syncoll.documents.certificates import CertificateRecord, bound_of, certificate_record
from syncoll.documents.node_set import MOST_LISTED_NODES, NodeEntry, nodes_of, set_entries
from syncoll.documents.record import (
    ClosedRecord,
    Count,
    Node,
    PositiveCount,
    RoundsEntry,
    rounds_of,
)
from syncoll.errors import FileFormatError
from syncoll.model.rows import MOST_CELLS
from syncoll.results import Distance, Evidence, Method, Proof, Refuted, ScaledShape, Scope


class RefutedRecord(ClosedRecord, frozen=True):
    """A backend's answer that no algorithm of at most these steps and rounds exists.

    Args:
        file: names its proof.
    """

    steps: Count
    rounds: RoundsEntry
    chunks: Count
    encoding: str
    backend: str
    file: str | None


class ProofRecord(ClosedRecord, frozen=True):
    """The proof about algorithms of at most S steps.

    Args:
        scope: the algorithms among which the best cost found is optimal: all; only up to a number
            of chunks or rounds; open: not proved.
        bound: no bandwidth cost is below this.
        method: unsat: a solver refuted the cases that the certificates leave open.
        best: the least bandwidth cost found in at most S steps.
        low: the least bandwidth cost that is not ruled out up to the search's limits.
        bound_chunks: the bound holds for C up to this; null: for every C.
        certificates: positions in evidence.certificates.
    """

    scope: Annotated[
        str, Meta(pattern="^(all|open|chunks<=[0-9]+( and rounds<=[0-9/]+)?|rounds<=[0-9/]+)$")
    ]
    bound: Fraction
    method: Method
    words: str
    best: Fraction | None
    low: Fraction | None
    bound_chunks: Count | None
    max_chunks: Count | None
    max_rounds: RoundsEntry | None
    certificates: tuple[Count, ...]
    refuted: tuple[RefutedRecord, ...]


class ShapeClassRecord(ClosedRecord, frozen=True):
    """A number of chunks with equal pre and post.

    Args:
        pre: a pair is a run of nodes, its first and its last.
        each: stands for as many classes as post has nodes, each with one of these nodes as its
            post; missing for a single class.
    """

    pre: tuple[NodeEntry, ...]
    post: tuple[NodeEntry, ...]
    count: PositiveCount
    each: Literal[True] | UnsetType = UNSET


class ShapeRecord(ClosedRecord, frozen=True):
    """The pre and post of a collective with C chunks per node, in classes of chunks.

    Args:
        compared: C whose chunks are in proportion to these.
        scales: why that holds for every C; null: not proved.
    """

    chunks: PositiveCount
    combining: bool
    classes: tuple[ShapeClassRecord, ...]
    compared: tuple[Count, ...]
    scales: str | None


class DistanceRecord(ClosedRecord, frozen=True):
    """Why no algorithm has fewer steps."""

    sources: Annotated[tuple[Node, ...], Meta(min_length=1)] = msgspec.field(name="from")
    destination: Node = msgspec.field(name="to")
    steps: Count


class EvidenceRecord(ClosedRecord, frozen=True):
    """Certificates with their subjects; syncoll check checks them without a solver.

    Args:
        max_chunks: the search's limit on C.
        undefined: C for which the collective is not defined.
        bandwidth: positions of the certificates that prove bounds.bandwidth.
    """

    shapes: tuple[ShapeRecord, ...]
    max_chunks: Annotated[int, Meta(ge=1, le=1_000_000)]
    undefined: tuple[Count, ...]
    distance: DistanceRecord | None
    certificates: tuple[CertificateRecord, ...]
    bandwidth: tuple[Count, ...]


# To records ---------------------------------------------------------------------------------------


def evidence_record(evidence: Evidence, nodes: int) -> EvidenceRecord:
    """The evidence on P nodes without its proofs, see `proof_record`."""
    shapes = [one.shape for one in evidence.shapes]
    return EvidenceRecord(
        tuple(shape_record(one, nodes) for one in evidence.shapes),
        evidence.max_chunks,
        evidence.undefined,
        None if evidence.distance is None else DistanceRecord.of(evidence.distance),
        tuple(
            certificate_record(one.bound, shapes.index(one.shape)) for one in evidence.certificates
        ),
        _positions(evidence.bandwidth, evidence),
    )


def shape_record(one: ScaledShape, nodes: int) -> ShapeRecord:
    """A shape on P nodes."""
    classes = _class_records(one.shape, nodes)
    return ShapeRecord.of(one.shape, classes=classes, compared=one.compared, scales=one.scales)


def _class_records(shape: ChunkClasses, nodes: int) -> tuple[ShapeClassRecord, ...]:
    own = shape.classes
    written = [set_entries(named, nodes) for named in own.sets]
    to, counts = own.second_node, own.counts
    # Classes that differ from the previous one only in the node of their post.
    goes_on = np.zeros(len(own), dtype=bool)
    if nodes > MOST_LISTED_NODES:
        alike = (own.first[1:] == own.first[:-1]) & (counts[1:] == counts[:-1]).astype(bool)
        goes_on[1:] = alike & (to[1:] >= 0) & (to[:-1] >= 0)
    starts = np.flatnonzero(~goes_on)
    found = []
    for low, high in zip(starts.tolist(), [*starts[1:].tolist(), len(own)], strict=True):
        pre, count = written[own.first[low]], int(counts[low])
        if high == low + 1:
            found.append(ShapeClassRecord(pre, written[own.second[low]], count))
        else:
            post = set_entries(to[low:high].tolist(), nodes)
            found.append(ShapeClassRecord(pre, post, count, True))
    return tuple(found)


def proof_record(proof: Proof, evidence: Evidence) -> ProofRecord:
    """A proof, with its certificates as positions in the evidence."""
    return ProofRecord.of(
        proof,
        scope=proof.scope_text,
        certificates=_positions(proof.certificates, evidence),
        refuted=tuple(map(RefutedRecord.of, proof.refuted)),
    )


def _positions(certificates: Sequence[Certificate], evidence: Evidence) -> tuple[int, ...]:
    every = list(evidence.certificates)
    return tuple(every.index(one) for one in certificates)


# From records -------------------------------------------------------------------------------------


def evidence_of(
    record: EvidenceRecord, proofs: Sequence[tuple[int, ProofRecord]], nodes: int, grains: int = 1
) -> Evidence:
    """The evidence of a frontier's file on P nodes with some grains in a round, not yet checked,
    with the proofs by number of steps.  Raises `FileFormatError` if positions or numbers in it make
    no sense."""
    shapes = tuple(shape_of(one, nodes) for one in record.shapes)
    every = [_placed(one, shapes) for one in record.certificates]
    named = {i for _, proof in proofs for i in proof.certificates}.union(record.bandwidth)
    for i in range(len(every)):
        if i not in named:
            raise FileFormatError(f"evidence.certificates[{i}] is unused: no claim names it")
    far = record.distance
    read = (_proof_of(steps, proof, every, grains) for steps, proof in proofs)
    return Evidence(
        shapes,
        record.max_chunks,
        record.undefined,
        None if far is None else Distance(**asdict(far)),
        _chosen(record.bandwidth, every),
        tuple(sorted(read, key=lambda proof: proof.steps)),
    )


def shape_of(record: ShapeRecord, nodes: int) -> ScaledShape:
    """The shape of a record.  Raises `FileFormatError` if its classes make no sense."""
    known: dict[object, tuple[int, ...]] = {}
    parts: list[tuple[tuple[int, ...], tuple[int, ...], int]] = []
    alone = [(node,) for node in range(nodes)]
    for one in record.classes:
        pre, post = (nodes_of(part, nodes, "a shape", known) for part in (one.pre, one.post))
        if one.each is UNSET:
            parts.append((pre, post, one.count))
        else:
            parts += [(pre, alone[node], one.count) for node in post]
        if len(parts) > MOST_CELLS:
            raise FileFormatError(f"a shape has more than {MOST_CELLS} classes")
    for named in known.values():
        if list(named) != sorted(set(named)):
            raise FileFormatError(
                f"a shape names the nodes {list(named)}; expected numbers from 0 to "
                f"{nodes - 1} in ascending order"
            )
    if any((a, b) >= (c, d) for (a, b, _), (c, d, _) in pairwise(parts)):
        raise FileFormatError("the classes of a shape are not in ascending order, each once")
    shape = ChunkClasses(record.chunks, ClassList.of_parts(parts), record.combining)
    return ScaledShape(shape, record.compared, record.scales)


def _chosen(positions: Sequence[int], every: Sequence[Certificate]) -> tuple[Certificate, ...]:
    if any(i >= len(every) for i in positions):
        raise FileFormatError(f"certificate {max(positions)} is named; there are {len(every)}")
    return tuple(every[i] for i in positions)


def _placed(record: CertificateRecord, shapes: Sequence[ScaledShape]) -> Certificate:
    if record.shape >= len(shapes):
        raise FileFormatError(
            f"a certificate of shape {record.shape}; expected less than {len(shapes)}"
        )
    return Certificate(shapes[record.shape].shape, bound_of(record))


_ONE_OF_MANY = re.compile(r"\b(1 (?:chunk|round|step))s\b")
"""The plural that files of earlier versions have for one: ``at most 1 chunks``."""


def _proof_of(steps: int, record: ProofRecord, every: Sequence[Certificate], grains: int) -> Proof:
    entries = asdict(record)
    stated = {name: str(entries.pop(name)) for name in ("scope", "method", "words")}
    kind = record.scope.split("<=")[0]
    entries["scope"] = Scope.CHUNKS if kind in ("chunks", "rounds") else Scope(kind)
    entries["certificates"] = _chosen(record.certificates, every)
    if record.max_rounds is not None:
        entries["max_rounds"] = rounds_of(record.max_rounds, grains)
    entries["refuted"] = tuple(
        Refuted(**{**asdict(one), "rounds": rounds_of(one.rounds, grains)})
        for one in record.refuted
    )
    proof = Proof(steps, **entries)
    derived = {"scope": proof.scope_text, "method": str(proof.method), "words": proof.words}
    for name, told in derived.items():
        if _ONE_OF_MANY.sub(r"\1", stated[name]) != told:
            raise FileFormatError(
                f"the {name} of the proof for {steps} steps is {stated[name]!r}, but its "
                f"certificates imply {told!r}"
            )
    return proof
