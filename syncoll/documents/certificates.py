"""Certificates of bounds in JSON, in files and in the store.

They name links, bandwidth bounds and shapes by position.  Each method has a record, with the prices
of bounds and the witnesses of its argument; prices of links are rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any, Literal, TypeVar

from msgspec import UNSET, UnsetType
from msgspec.structs import asdict

from syncoll.certificates import (
    Argument,
    CompletionCase,
    Completions,
    Cut,
    DemandView,
    Gossip,
    GossipTree,
    Parts,
    Priced,
    RoundsBound,
    Share,
    Switches,
    Trees,
    Way,
    Ways,
)
from syncoll.documents.record import ClosedRecord, Count, Node, Record
from syncoll.errors import FileFormatError

__all__ = ["CertificateRecord", "bound_of", "certificate_record"]

_Witness = TypeVar("_Witness")
_Record = TypeVar("_Record", bound=Record)
_Row = tuple[Count, Count, Fraction]


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
    prices: tuple[_Row, ...]


class _AnyCertificate(ClosedRecord, frozen=True, tag_field="method"):
    """A certificate.

    Args:
        shape: position in evidence.shapes.
        steps: for algorithms of at most this number; null: of any number.
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
    prices: tuple[_Row, ...]


class CaseRecord(ClosedRecord, frozen=True):
    """What chunks cost where a node is the first to hold all contributions.

    Args:
        chunks: position in the classes of the shape.
        node: which node.
        after: the number of steps after which it holds them.
        ways: shares of the ways from contributors to nodes that need the sum.
        collects: shares of the ways to the node, in this number of steps.
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
    prices: tuple[_Row, ...]


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
    proof = bound.certificate
    if proof is None:
        return NothingRecord.of(bound, shape=shape)
    rows = sorted(proof.prices.items())
    prices = tuple(BoundPrice(*place, price) for place, price in rows)
    entries: dict[str, Any] = {"shape": shape, "prices": prices}
    match proof.argument:
        case Cut(nodes):
            cover = tuple(i for (i, _), _ in rows)
            return CutRecord.of(bound, shape=shape, nodes=nodes, cover=cover)
        case Parts(parts, moved):
            entries["prices"] = tuple(FlatPrice(i, price) for (i, _), price in rows)
            entries["moved"] = True if moved else UNSET
            return SendsRecord.of(bound, parts=parts, **entries)
        case Ways(shares):
            return PricesRecord.of(bound, shares=_written(ShareRecord, shares), **entries)
        case Completions(automorphisms, cases):
            written = tuple(
                CaseRecord.of(
                    one,
                    ways=_written(WayRecord, one.ways),
                    collects=_written(WayRecord, one.collects),
                )
                for one in cases
            )
            entries |= {"automorphisms": automorphisms, "cases": written}
            return CompletionsRecord.of(bound, **entries)
        case Gossip(automorphisms, trees):
            paying = _written(GossipTreeRecord, trees)
            return GossipRecord.of(bound, automorphisms=automorphisms, trees=paying, **entries)
        case Switches():
            return SwitchesRecord.of(bound, **entries)
    return TreesRecord.of(bound, **entries)


def _written(record: type[_Record], witnesses: Iterable[Any]) -> tuple[_Record, ...]:
    """Records of witnesses, whose prices become rows."""
    return tuple(
        record.of(one, prices=tuple((*at, price) for at, price in sorted(one.prices.items())))
        for one in witnesses
    )


def bound_of(record: CertificateRecord) -> RoundsBound:
    """The bound and the proof of a record.

    Raises:
        FileFormatError: when it states a price twice.
    """
    proof: Priced | None = None
    match record:
        case CutRecord():
            prices = _distinct((i, 0, Fraction(1)) for i in record.cover)
            proof = Priced(None, prices, Cut(record.nodes))
        case SendsRecord():
            prices = _distinct((one.bound, 0, one.price) for one in record.prices)
            proof = Priced(record.steps, prices, Parts(record.parts, record.moved is True))
        case NothingRecord():
            pass
        case _:
            prices = _distinct((one.bound, one.step, one.price) for one in record.prices)
            proof = Priced(record.steps, prices, _argument(record))
    return RoundsBound(record.rounds, record.steps, proof, record.reading, record.node)


def _argument(record: CertificateRecord) -> Argument:
    match record:
        case PricesRecord():
            return Ways(_read(Share, record.shares))
        case CompletionsRecord():
            return Completions(record.automorphisms, tuple(map(_case, record.cases)))
        case GossipRecord():
            return Gossip(record.automorphisms, _read(GossipTree, record.trees))
        case SwitchesRecord():
            return Switches()
    return Trees()


def _case(record: CaseRecord) -> CompletionCase:
    ways, collects = _read(Way, record.ways), _read(Way, record.collects)
    return CompletionCase(record.chunks, record.node, record.after, ways, collects, record.sends)


def _read(witness: Callable[..., _Witness], records: Iterable[Any]) -> tuple[_Witness, ...]:
    return tuple(witness(**asdict(one) | {"prices": _distinct(one.prices)}) for one in records)


def _distinct(rows: Iterable[_Row]) -> dict[tuple[int, int], Fraction]:
    """Prices by place; FileFormatError when a place occurs twice."""
    listed = [((position, step), price) for position, step, price in rows]
    if len(read := dict(listed)) < len(listed):
        raise FileFormatError("a certificate states a price twice")
    return read
