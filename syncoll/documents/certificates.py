"""How certificates of bounds lie in JSON, in files and in the store.

They name links, bandwidth bounds and shapes by their positions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from fractions import Fraction
from typing import Any

from syncoll.certificates import (
    CutCertificate,
    PartitionCertificate,
    PriceCertificate,
    ProofObject,
    Reading,
    Share,
    TreeCertificate,
)
from syncoll.documents.record import ClosedRecord, Count, Node
from syncoll.errors import FileFormatError

__all__ = ["CertificateRecord", "certificate_of", "certificate_record"]


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
    reading: Reading
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


def certificate_record(proof: ProofObject | None, **common: Any) -> CertificateRecord:
    """A proof object as a record.

    Args:
        proof: what proves the bound; None for a bound of 0.
        common: the entries of every certificate: shape, steps, rounds, reading and node.
    """
    match proof:
        case PartitionCertificate():
            flat = tuple(FlatPrice(*one) for one in sorted(proof.prices.items()))
            return SendsRecord(**common, parts=proof.parts, prices=flat)
        case CutCertificate():
            return CutRecord(**common, nodes=proof.nodes, cover=proof.cover)
        case TreeCertificate():
            return TreesRecord(**common, prices=_stepwise(proof.totals))
        case PriceCertificate():
            shares = (
                ShareRecord(one.destination, one.demands, tuple(_rows(one.prices)))
                for one in proof.shares
            )
            return PricesRecord(**common, prices=_stepwise(proof.totals), shares=tuple(shares))
    return NothingRecord(**common)


def _stepwise(totals: Mapping[tuple[int, int], Fraction]) -> tuple[BoundPrice, ...]:
    return tuple(BoundPrice(*row) for row in _rows(totals))


def _rows(prices: Mapping[tuple[int, int], Fraction]) -> list[tuple[int, int, Fraction]]:
    return [(i, step, price) for (i, step), price in sorted(prices.items())]


def certificate_of(record: CertificateRecord) -> ProofObject | None:
    """The proof object of a record; None where it proves nothing.

    Raises:
        FileFormatError: when it states a price twice.
    """
    match record:
        case CutRecord():
            return CutCertificate(record.nodes, record.cover)
        case SendsRecord():
            flat = {one.bound: one.price for one in record.prices}
            _require_distinct(flat, record.prices)
            return PartitionCertificate(record.parts, flat)
        case TreesRecord():
            return TreeCertificate(record.steps, _totals(record.prices))
        case PricesRecord():
            shares = tuple(_share_of(one) for one in record.shares)
            return PriceCertificate(record.steps, _totals(record.prices), shares)
    return None


def _totals(prices: Sequence[BoundPrice]) -> dict[tuple[int, int], Fraction]:
    totals = {(one.bound, one.step): one.price for one in prices}
    _require_distinct(totals, prices)
    return totals


def _share_of(record: ShareRecord) -> Share:
    prices = {(link, step): price for link, step, price in record.prices}
    _require_distinct(prices, record.prices)
    return Share(record.destination, record.demands, prices)


def _require_distinct(read: Sized, stated: Sized) -> None:
    if len(read) < len(stated):
        raise FileFormatError("a certificate states a price twice")
