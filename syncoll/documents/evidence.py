"""How proofs lie in a frontier's file: shapes, certificates and refutations.

Certificates name links, bandwidth bounds and shapes by their positions in the same file.  A
certificate that several proofs use is written once.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Sized
from fractions import Fraction
from typing import Any

from syncoll.certificates import (
    Certificate,
    ChunkClass,
    CutCertificate,
    PartitionCertificate,
    PriceCertificate,
    ProofObject,
    Reading,
    RoundsBound,
    Shape,
    Share,
    TreeCertificate,
)
from syncoll.documents.layout import fraction_from_json
from syncoll.errors import FileFormatError
from syncoll.results.evidence import (
    Distance,
    Evidence,
    ScaledShape,
)
from syncoll.results.proof import (
    Proof,
    Refuted,
    Scope,
)

__all__ = ["evidence_from_json", "evidence_to_json", "proof_to_json"]

Json = dict[str, Any]


def evidence_to_json(evidence: Evidence) -> Json:
    """Everything but the proofs themselves, which `proof_to_json` writes."""
    return {
        "shapes": [
            {
                "chunks": one.shape.chunks,
                "combining": one.shape.combining,
                "classes": [
                    {"pre": list(c.pre), "post": list(c.post), "count": c.count}
                    for c in one.shape.classes
                ],
                "compared": list(one.compared),
                "scales": one.scales,
            }
            for one in evidence.shapes
        ],
        "max_chunks": evidence.max_chunks,
        "undefined": list(evidence.undefined),
        "distance": None
        if evidence.distance is None
        else {
            "from": list(evidence.distance.sources),
            "to": evidence.distance.destination,
            "steps": evidence.distance.steps,
        },
        "certificates": [_certificate(one, evidence) for one in evidence.certificates],
        "bandwidth": _positions(evidence.bandwidth, evidence),
    }


def proof_to_json(proof: Proof, evidence: Evidence) -> Json:
    """A proof; its certificates are positions in the list that the evidence writes."""
    return {
        "scope": proof.scope_text,
        "bound": str(proof.bound),
        "method": str(proof.method),
        "words": proof.words,
        "best": _text(proof.best),
        "low": _text(proof.low),
        "bound_chunks": proof.bound_chunks,
        "max_chunks": proof.max_chunks,
        "max_rounds": proof.max_rounds,
        "certificates": _positions(proof.certificates, evidence),
        "refuted": [
            {
                "steps": one.steps,
                "rounds": one.rounds,
                "chunks": one.chunks,
                "encoding": one.encoding,
                "backend": one.backend,
                "file": one.file,
            }
            for one in proof.refuted
        ],
    }


def _text(number: Fraction | None) -> str | None:
    return None if number is None else str(number)


def _positions(certificates: Sequence[Certificate], evidence: Evidence) -> list[int]:
    every = list(evidence.certificates)
    return [every.index(one) for one in certificates]


def _certificate(certificate: Certificate, evidence: Evidence) -> Json:
    bound = certificate.bound
    shapes = [one.shape for one in evidence.shapes]
    return {
        "shape": shapes.index(certificate.shape),
        "steps": bound.steps,
        "rounds": str(bound.rounds),
        "reading": str(bound.reading),
        "node": bound.node,
        **_object(bound.certificate),
    }


def _object(proof: ProofObject | None) -> Json:
    if isinstance(proof, PartitionCertificate):
        prices = [{"bound": i, "price": str(p)} for i, p in sorted(proof.prices.items())]
        return {"method": "sends", "parts": list(proof.parts), "prices": prices}
    if isinstance(proof, CutCertificate):
        return {"method": "cut", "nodes": list(proof.nodes), "cover": list(proof.cover)}
    if isinstance(proof, TreeCertificate):
        return {"method": "trees", "prices": _stepwise(proof.totals)}
    if isinstance(proof, PriceCertificate):
        return {
            "method": "prices",
            "prices": _stepwise(proof.totals),
            "shares": [
                {
                    "destination": share.destination,
                    "demands": list(share.demands),
                    "prices": [
                        [link, step, str(price)]
                        for (link, step), price in sorted(share.prices.items())
                    ],
                }
                for share in proof.shares
            ],
        }
    return {"method": "nothing"}


def _stepwise(totals: Mapping[tuple[int, int], Fraction]) -> list[Json]:
    return [
        {"bound": i, "step": step, "price": str(price)}
        for (i, step), price in sorted(totals.items())
    ]


def evidence_from_json(document: Mapping[str, Any], nodes: int) -> Evidence:
    """The evidence of a frontier's document, read but not checked.

    Args:
        document: of a frontier, with ``evidence``.
        nodes: P.

    Raises:
        FileFormatError: when positions or numbers in it make no sense.
    """
    written = document["evidence"]
    shapes = tuple(_shape_from(one, nodes) for one in written["shapes"])
    every = [_certificate_from(one, shapes) for one in written["certificates"]]
    distance = written["distance"]
    numbered = [(point["steps"], point.get("proof")) for point in document["points"]]
    numbered += [(entry["steps"], entry["proof"]) for entry in document["between"]]
    proofs = [_proof_from(steps, proof, every) for steps, proof in numbered if proof is not None]
    named = {i for _, proof in numbered if proof is not None for i in proof["certificates"]}
    for i in range(len(every)):
        if i not in named and i not in written["bandwidth"]:
            raise FileFormatError(f"evidence.certificates[{i}] is of no use: no claim names it")
    return Evidence(
        shapes,
        written["max_chunks"],
        tuple(written["undefined"]),
        None
        if distance is None
        else Distance(tuple(distance["from"]), distance["to"], distance["steps"]),
        _chosen(written["bandwidth"], every),
        tuple(sorted(proofs, key=lambda proof: proof.steps)),
    )


def _shape_from(written: Mapping[str, Any], nodes: int) -> ScaledShape:
    classes = tuple(
        ChunkClass(tuple(one["pre"]), tuple(one["post"]), one["count"])
        for one in written["classes"]
    )
    for one in classes:
        for named in (one.pre, one.post):
            if any(n >= nodes for n in named) or list(named) != sorted(set(named)):
                raise FileFormatError(
                    f"a shape names the nodes {list(named)}; expected numbers from 0 to "
                    f"{nodes - 1} in ascending order"
                )
    pairs = [(one.pre, one.post) for one in classes]
    if pairs != sorted(set(pairs)):
        raise FileFormatError("the classes of a shape are not in ascending order, each once")
    return ScaledShape(
        Shape(written["chunks"], classes, written["combining"]),
        tuple(written["compared"]),
        written["scales"],
    )


def _chosen(positions: Sequence[int], every: Sequence[Certificate]) -> tuple[Certificate, ...]:
    if any(i >= len(every) for i in positions):
        raise FileFormatError(f"certificate {max(positions)} is named; there are {len(every)}")
    return tuple(every[i] for i in positions)


def _certificate_from(written: Mapping[str, Any], shapes: Sequence[ScaledShape]) -> Certificate:
    if written["shape"] >= len(shapes):
        raise FileFormatError(f"a certificate of shape {written['shape']}; there is none")
    return Certificate(
        shapes[written["shape"]].shape,
        RoundsBound(
            fraction_from_json(written["rounds"]),
            written["steps"],
            _object_from(written),
            Reading(written["reading"]),
            written["node"],
        ),
    )


_PARTS: Mapping[str, frozenset[str]] = {
    "prices": frozenset({"prices", "shares"}),
    "trees": frozenset({"prices"}),
    "sends": frozenset({"parts", "prices"}),
    "cut": frozenset({"nodes", "cover"}),
    "nothing": frozenset(),
}


def _object_from(written: Mapping[str, Any]) -> ProofObject | None:
    method = written["method"]
    there = frozenset().union(*_PARTS.values()) & set(written)
    if there != _PARTS[method]:
        raise FileFormatError(
            f"a certificate by {method} with {sorted(there)}; expected {sorted(_PARTS[method])}"
        )
    if method == "cut":
        return CutCertificate(tuple(written["nodes"]), tuple(written["cover"]))
    if method == "nothing":
        return None
    prices = [
        (one["bound"], one.get("step"), fraction_from_json(one["price"]))
        for one in written["prices"]
    ]
    if any((step is None) != (method == "sends") for _, step, _ in prices):
        raise FileFormatError(f"a certificate by {method} whose prices have no step, or one")
    if method == "sends":
        each = {i: price for i, _, price in prices}
        _require_distinct(each, prices)
        return PartitionCertificate(tuple(written["parts"]), each)
    totals = {(i, step): price for i, step, price in prices}
    _require_distinct(totals, prices)
    if method == "trees":
        if written["steps"] is None:
            raise FileFormatError("a certificate by trees that names no number of steps")
        return TreeCertificate(written["steps"], totals)
    return PriceCertificate(
        written["steps"], totals, tuple(_share_from(one) for one in written["shares"])
    )


def _share_from(written: Mapping[str, Any]) -> Share:
    prices = {(link, step): fraction_from_json(price) for link, step, price in written["prices"]}
    _require_distinct(prices, written["prices"])
    return Share(written["destination"], tuple(written["demands"]), prices)


def _require_distinct(read: Sized, written: Sized) -> None:
    if len(read) < len(written):
        raise FileFormatError("a certificate states a price twice")


_ONE_OF_MANY = re.compile(r"\b(1 (?:chunk|round|step))s\b")
"""What files of earlier versions say where there is one: ``at most 1 chunks``."""


def _proof_from(steps: int, written: Mapping[str, Any], every: Sequence[Certificate]) -> Proof:
    kind = written["scope"].split("<=")[0]
    proof = Proof(
        steps,
        _fraction(written["best"]),
        fraction_from_json(written["bound"]),
        _chosen(written["certificates"], every),
        Scope.CHUNKS if kind in ("chunks", "rounds") else Scope(kind),
        _fraction(written["low"]),
        written["bound_chunks"],
        written["max_chunks"],
        written["max_rounds"],
        tuple(Refuted(**one) for one in written["refuted"]),
    )
    for name, stated, told in (
        ("scope", written["scope"], proof.scope_text),
        ("method", written["method"], str(proof.method)),
        ("words", written["words"], proof.words),
    ):
        if _ONE_OF_MANY.sub(r"\1", stated) != told:
            raise FileFormatError(
                f"the {name} of the proof for {steps} steps is {stated!r}, but what it contains "
                f"amounts to {told!r}"
            )
    return proof


def _fraction(text: str | None) -> Fraction | None:
    return None if text is None else fraction_from_json(text)
