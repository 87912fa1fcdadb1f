"""How certificates of bounds lie in JSON, in files and in the store.

They name links, bandwidth bounds and shapes by their positions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TypeVar

from syncoll.certificates import (
    CutCertificate,
    DemandView,
    PartitionCertificate,
    PriceCertificate,
    ProofObject,
    RoundsBound,
    Share,
    TreeCertificate,
)
from syncoll.documents.record import ClosedRecord, Count, Node
from syncoll.errors import FileFormatError

__all__ = ["CertificateRecord", "bound_of", "certificate_record"]

K = TypeVar("K")


class BoundPrice(ClosedRecord, frozen=True):
    """The price of a bandwidth bound in a step.

    Args:
        bound: position in interconnect.bounds.
    """

    bound: Count
    step: Count
    price: Fraction


class FlatPrice(ClosedRecord, frozen=True):
    """The price of a bandwidth bound, the same in all steps.

    Args:
        bound: position in interconnect.bounds.
    """

    bound: Count
    price: Fraction


class ShareRecord(ClosedRecord, frozen=True):
    """The part of the prices that the ways to one destination pay.

    Args:
        prices: rows of link (position in interconnect.links), step, price.
    """

    destination: Node
    demands: tuple[Count, ...]
    prices: tuple[tuple[Count, Count, Fraction], ...]


class _AnyCertificate(ClosedRecord, frozen=True, tag_field="method"):
    """A certificate.

    Args:
        shape: position in evidence.shapes.
        steps: for algorithms of at most so many; null: of any number.
        rounds: proved: R is at least this for the C of the shape.
    """

    shape: Count
    steps: Count | None
    rounds: Fraction
    reading: DemandView
    node: Node | None


class PricesRecord(_AnyCertificate, frozen=True, tag="prices"):
    """Flows pay the prices of the links."""

    prices: tuple[BoundPrice, ...]
    shares: tuple[ShareRecord, ...]


class TreesRecord(_AnyCertificate, frozen=True, tag="trees"):
    """Trees pay the prices of the links."""

    steps: Count
    prices: tuple[BoundPrice, ...]


class SendsRecord(_AnyCertificate, frozen=True, tag="sends"):
    """Sends between parts pay the prices of the links.

    Args:
        parts: for each node the number of its part.
    """

    parts: tuple[Node, ...]
    prices: tuple[FlatPrice, ...]


class CutRecord(_AnyCertificate, frozen=True, tag="cut"):
    """What must leave some nodes.

    Args:
        nodes: one side of a cut.
        cover: positions of bounds that hold every link leaving it.
    """

    nodes: tuple[Node, ...]
    cover: tuple[Count, ...]


class NothingRecord(_AnyCertificate, frozen=True, tag="nothing"):
    """Nothing is proved: R is at least 0."""


CertificateRecord = PricesRecord | TreesRecord | SendsRecord | CutRecord | NothingRecord


def certificate_record(bound: RoundsBound, shape: int) -> CertificateRecord:
    """A bound and its proof as a record; `shape` is its position."""
    match bound.certificate:
        case PartitionCertificate() as proof:
            flat = tuple(FlatPrice(*one) for one in sorted(proof.prices.items()))
            return SendsRecord.of(bound, shape=shape, parts=proof.parts, prices=flat)
        case CutCertificate() as proof:
            return CutRecord.of(bound, shape=shape, nodes=proof.nodes, cover=proof.cover)
        case TreeCertificate() as proof:
            prices = tuple(BoundPrice(*row) for row in _rows(proof.totals))
            return TreesRecord.of(bound, shape=shape, prices=prices)
        case PriceCertificate() as proof:
            prices = tuple(BoundPrice(*row) for row in _rows(proof.totals))
            shares = tuple(ShareRecord.of(x, prices=_rows(x.prices)) for x in proof.shares)
            return PricesRecord.of(bound, shape=shape, prices=prices, shares=shares)
    return NothingRecord.of(bound, shape=shape)


def _rows(prices: Mapping[tuple[int, int], Fraction]) -> tuple[tuple[int, int, Fraction], ...]:
    return tuple((*place, price) for place, price in sorted(prices.items()))


def bound_of(record: CertificateRecord) -> RoundsBound:
    """The bound and the proof of a record.

    Raises:
        FileFormatError: when it states a price twice.
    """
    proof: ProofObject | None = None
    match record:
        case CutRecord():
            proof = CutCertificate(record.nodes, record.cover)
        case SendsRecord():
            proof = PartitionCertificate(
                record.parts, _distinct((one.bound, one.price) for one in record.prices)
            )
        case TreesRecord():
            proof = TreeCertificate(record.steps, _totals(record.prices))
        case PricesRecord():
            shares = tuple(
                Share(x.destination, x.demands, _distinct(((i, s), p) for i, s, p in x.prices))
                for x in record.shares
            )
            proof = PriceCertificate(record.steps, _totals(record.prices), shares)
    return RoundsBound(record.rounds, record.steps, proof, record.reading, record.node)


def _totals(prices: Sequence[BoundPrice]) -> dict[tuple[int, int], Fraction]:
    return _distinct(((one.bound, one.step), one.price) for one in prices)


def _distinct(prices: Iterable[tuple[K, Fraction]]) -> dict[K, Fraction]:
    read: dict[K, Fraction] = {}
    for place, price in prices:
        if place in read:
            raise FileFormatError("a certificate states a price twice")
        read[place] = price
    return read
