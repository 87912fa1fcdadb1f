"""How certificates of bounds lie in JSON, in files and in the store.

They name links, bandwidth bounds and shapes by their positions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Literal, TypeVar

from msgspec import UNSET, UnsetType

from syncoll.certificates import (
    CompletionCase,
    CompletionCertificate,
    CutCertificate,
    DemandView,
    GossipCertificate,
    GossipTree,
    PartitionCertificate,
    PriceCertificate,
    ProofObject,
    RoundsBound,
    Share,
    SwitchCertificate,
    TreeCertificate,
)
from syncoll.documents.record import ClosedRecord, Count, Node
from syncoll.errors import FileFormatError

__all__ = ["CertificateRecord", "bound_of", "certificate_record"]

K = TypeVar("K")
V = TypeVar("V")


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


class WayRecord(ClosedRecord, frozen=True):
    """The part of the prices that the ways of a contribution to a node pay.

    Args:
        prices: rows of link (position in interconnect.links), step, price.
    """

    source: Node
    destination: Node
    prices: tuple[tuple[Count, Count, Fraction], ...]


class CaseRecord(ClosedRecord, frozen=True):
    """What chunks cost where a node is the first to hold all contributions.

    Args:
        chunks: position in the classes of the shape.
        node: which node.
        after: after so many steps.
        ways: shares of the ways from contributors to nodes that need the sum.
        collects: shares of the ways to the node, in so many steps.
        sends: rows of link (position in interconnect.links), step, whether that send is made.
    """

    chunks: Count
    node: Node
    after: Count
    ways: tuple[WayRecord, ...]
    collects: tuple[WayRecord, ...]
    sends: tuple[tuple[Count, Count, bool], ...] = ()


class CompletionsRecord(_AnyCertificate, frozen=True, tag="completions"):
    """Sends pay the prices of the links, whichever node holds all contributions first.

    Args:
        automorphisms: for each the node to which each node goes.
    """

    steps: Count
    prices: tuple[BoundPrice, ...]
    automorphisms: tuple[tuple[Node, ...], ...]
    cases: tuple[CaseRecord, ...]


class GossipTreeRecord(ClosedRecord, frozen=True):
    """What the trees of one node pay.

    Args:
        chunks: position in the classes of the shape.
        node: which node.
        into: whether the trees end at the node; else they start there.
        prices: rows of link (position in interconnect.links), step, price.
    """

    chunks: Count
    node: Node
    into: bool
    prices: tuple[tuple[Count, Count, Fraction], ...]


class GossipRecord(_AnyCertificate, frozen=True, tag="gossip"):
    """Trees from every contributor and into every node that needs the sum pay together.

    Args:
        automorphisms: for each the node to which each node goes.
    """

    steps: Count
    prices: tuple[BoundPrice, ...]
    automorphisms: tuple[tuple[Node, ...], ...]
    trees: tuple[GossipTreeRecord, ...]


class SwitchesRecord(_AnyCertificate, frozen=True, tag="switches"):
    """What leaves and what enters nodes pays, however switches copy and add up."""

    steps: Count
    prices: tuple[BoundPrice, ...]


class SendsRecord(_AnyCertificate, frozen=True, tag="sends"):
    """Sends between parts pay the prices of the links.

    Args:
        parts: for each node the number of its part.
        moved: whether chunks with one contributor pay for their ways.
    """

    parts: tuple[Node, ...]
    prices: tuple[FlatPrice, ...]
    moved: Literal[True] | UnsetType = UNSET


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


CertificateRecord = (
    PricesRecord
    | TreesRecord
    | CompletionsRecord
    | GossipRecord
    | SwitchesRecord
    | SendsRecord
    | CutRecord
    | NothingRecord
)


def certificate_record(bound: RoundsBound, shape: int) -> CertificateRecord:
    """A bound and its proof as a record; `shape` is its position."""
    match bound.certificate:
        case PartitionCertificate() as proof:
            flat = tuple(FlatPrice(*one) for one in sorted(proof.prices.items()))
            moved = True if proof.moved else UNSET
            return SendsRecord.of(bound, shape=shape, parts=proof.parts, prices=flat, moved=moved)
        case CutCertificate() as proof:
            return CutRecord.of(bound, shape=shape, nodes=proof.nodes, cover=proof.cover)
        case TreeCertificate() | SwitchCertificate() as proof:
            prices = tuple(BoundPrice(*row) for row in _rows(proof.totals))
            record = TreesRecord if isinstance(proof, TreeCertificate) else SwitchesRecord
            return record.of(bound, shape=shape, prices=prices)
        case CompletionCertificate() as proof:
            prices = tuple(BoundPrice(*row) for row in _rows(proof.totals))
            return CompletionsRecord.of(
                bound,
                shape=shape,
                prices=prices,
                automorphisms=proof.automorphisms,
                cases=tuple(_case_record(one) for one in proof.cases),
            )
        case GossipCertificate() as proof:
            prices = tuple(BoundPrice(*row) for row in _rows(proof.totals))
            trees = tuple(
                GossipTreeRecord(one.chunks, one.node, one.into, _rows(one.shares))
                for one in proof.trees
            )
            automorphisms = proof.automorphisms
            return GossipRecord.of(
                bound, shape=shape, prices=prices, automorphisms=automorphisms, trees=trees
            )
        case PriceCertificate() as proof:
            prices = tuple(BoundPrice(*row) for row in _rows(proof.totals))
            shares = tuple(ShareRecord.of(x, prices=_rows(x.prices)) for x in proof.shares)
            return PricesRecord.of(bound, shape=shape, prices=prices, shares=shares)
    return NothingRecord.of(bound, shape=shape)


def _case_record(case: CompletionCase) -> CaseRecord:
    ways = tuple(WayRecord(*ends, _rows(parts)) for ends, parts in sorted(case.ways.items()))
    collects = tuple(
        WayRecord(source, case.node, _rows(parts))
        for source, parts in sorted(case.collects.items())
    )
    return CaseRecord(case.chunks, case.node, case.after, ways, collects, case.sends)


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
                record.parts,
                _distinct((one.bound, one.price) for one in record.prices),
                record.moved is True,
            )
        case TreesRecord():
            proof = TreeCertificate(record.steps, _totals(record.prices))
        case SwitchesRecord():
            proof = SwitchCertificate(record.steps, _totals(record.prices))
        case CompletionsRecord():
            cases = tuple(_case(one) for one in record.cases)
            proof = CompletionCertificate(
                record.steps, _totals(record.prices), record.automorphisms, cases
            )
        case GossipRecord():
            trees = tuple(
                GossipTree(x.chunks, x.node, x.into, _distinct(((i, s), p) for i, s, p in x.prices))
                for x in record.trees
            )
            proof = GossipCertificate(
                record.steps, _totals(record.prices), record.automorphisms, trees
            )
        case PricesRecord():
            shares = tuple(
                Share(x.destination, x.demands, _distinct(((i, s), p) for i, s, p in x.prices))
                for x in record.shares
            )
            proof = PriceCertificate(record.steps, _totals(record.prices), shares)
    return RoundsBound(record.rounds, record.steps, proof, record.reading, record.node)


def _case(record: CaseRecord) -> CompletionCase:
    ways = _distinct(
        ((one.source, one.destination), _distinct(((i, s), p) for i, s, p in one.prices))
        for one in record.ways
    )
    if any(one.destination != record.node for one in record.collects):
        raise FileFormatError("a case of one node that collects at another")
    collects = _distinct(
        (one.source, _distinct(((i, s), p) for i, s, p in one.prices)) for one in record.collects
    )
    return CompletionCase(record.chunks, record.node, record.after, ways, collects, record.sends)


def _totals(prices: Sequence[BoundPrice]) -> dict[tuple[int, int], Fraction]:
    return _distinct(((one.bound, one.step), one.price) for one in prices)


def _distinct(prices: Iterable[tuple[K, V]]) -> dict[K, V]:
    read: dict[K, V] = {}
    for place, price in prices:
        if place in read:
            raise FileFormatError("a certificate states a price twice")
        read[place] = price
    return read
