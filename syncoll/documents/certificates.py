"""Certificates of bounds in JSON, in files and in the store.

They name links, bandwidth bounds and shapes by position.  The record of a method follows from the
class of its argument: the prices of bounds, and the attributes of the argument and its witnesses,
in which prices of links are rows of link, step, price.
"""

import operator
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from fractions import Fraction
from functools import cache, reduce
from types import GenericAlias
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

from msgspec import UNSET, UnsetType, defstruct

from syncoll.certificates import (
    Boxes,
    Completions,
    Cut,
    DemandView,
    Parts,
    RoundsBound,
    Switches,
    Ways,
)
from syncoll.certificates.chunk_classes import NodeNumber
from syncoll.certificates.link_prices import Prices
from syncoll.certificates.priced import Argument, Priced
from syncoll.certificates.trees import Gossip, Trees
from syncoll.documents.record import ClosedRecord, Count, Node, Record
from syncoll.errors import FileFormatError

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


class _AnyCertificate(ClosedRecord, frozen=True, tag_field="method"):
    """A certificate.

    Args:
        shape: position in evidence.shapes.
        steps: the largest number of steps of the algorithms; null: any number.
        rounds: proved: R is at least this for the C of the shape.
        cover: positions of bounds that hold every link leaving the nodes; each has price 1.
        automorphisms: the image of each node, for each automorphism.
    """

    shape: Count
    steps: Count | None
    rounds: Fraction
    reading: DemandView
    node: Node | None


class NothingRecord(_AnyCertificate, frozen=True, tag="nothing"):
    """Nothing is proved: R is at least 0."""


_RECORDS: dict[type, Any] = {}
"""The record of each class of arguments and of witnesses."""


def _record(
    kind: type, entries: Iterable[Any], base: type[Record] = ClosedRecord, **options: Any
) -> Any:
    _RECORDS[kind] = defstruct(
        f"{kind.__name__}Record",
        entries,
        bases=(base,),
        namespace={"__doc__": kind.__doc__},
        module=__name__,
        frozen=True,
        forbid_unknown_fields=True,
        omit_defaults=True,
        **options,
    )
    return _RECORDS[kind]


@cache
def _hints(kind: type) -> dict[str, Any]:
    hints = get_type_hints(kind, include_extras=True)
    return {one.name: hints[one.name] for one in fields(kind)}


def _attributes(kind: type) -> list[tuple[Any, ...]]:
    """The name, the type and the default of each attribute of a dataclass, as entries."""
    return [
        (one.name, Literal[True] | UnsetType, UNSET)
        if one.default is False
        else (one.name, _entry(_hints(kind)[one.name]), *([()] if one.default == () else []))
        for one in fields(kind)
    ]


def _entry(hint: Any) -> Any:
    """The type of an attribute in files."""
    if hint == Prices:
        return tuple[_Row, ...]
    if isinstance(hint, type) and is_dataclass(hint):
        return _RECORDS.get(hint) or _record(hint, _attributes(hint))
    if get_origin(hint) is tuple:
        inner = tuple(one if one is ... else _entry(one) for one in get_args(hint))
        return GenericAlias(tuple, inner)
    return {int: Count, NodeNumber: Node}.get(hint, hint)


def _certificate(kind: type[Argument]) -> Any:
    """The record of certificates by an argument; prices of any number of steps stand second."""
    own, first = _attributes(kind), int(kind.timed is False)
    prices = ("prices", GenericAlias(tuple, (FlatPrice if first else BoundPrice, ...)))
    if kind is Cut:
        prices = ("cover", GenericAlias(tuple, (Count, ...)))
    steps = [("steps", Count)] if kind.timed else []
    entries = [*steps, *own[:first], prices, *own[first:]]
    return _record(kind, entries, _AnyCertificate, tag=kind.method)


_METHODS: dict[str, type[Argument]] = {
    one.method: one for one in (Ways, Trees, Completions, Gossip, Switches, Parts, Boxes, Cut)
}

if TYPE_CHECKING:
    CertificateRecord = _AnyCertificate
else:
    CertificateRecord = reduce(operator.or_, map(_certificate, _METHODS.values()), NothingRecord)


def certificate_record(bound: RoundsBound, shape: int) -> CertificateRecord:
    """A bound and its proof as a record; `shape` is its position."""
    proof = bound.certificate
    if proof is None:
        return NothingRecord.of(bound, shape=shape)
    entries, rows = _entries(proof.argument), sorted(proof.prices.items())
    if isinstance(proof.argument, Cut):
        entries["cover"] = tuple(i for (i, _), _ in rows)
    elif proof.argument.timed is False:
        entries["prices"] = tuple(FlatPrice(i, price) for (i, _), price in rows)
    else:
        entries["prices"] = tuple(BoundPrice(*at, price) for at, price in rows)
    kind = _RECORDS[_METHODS[proof.argument.method]]
    record: CertificateRecord = kind.of(bound, shape=shape, **entries)
    return record


def _entries(value: Any) -> dict[str, Any]:
    found = {one.name: _written(getattr(value, one.name)) for one in fields(value)}
    return {**found, "moved": value.moved or UNSET} if isinstance(value, Parts) else found


def _written(value: Any) -> Any:
    if isinstance(value, Mapping):
        return tuple((*at, price) for at, price in sorted(value.items()))
    if isinstance(value, tuple) and value and not isinstance(value[0], int):
        return tuple(map(_written, value))
    return _RECORDS[type(value)](**_entries(value)) if is_dataclass(value) else value


def bound_of(record: CertificateRecord) -> RoundsBound:
    """The bound and the proof of a record.  Raises `FileFormatError` if it states a price twice."""
    proof, method = None, record.__struct_config__.tag
    if isinstance(method, str) and method in _METHODS:
        rows = [(i, 0, Fraction(1)) for i in getattr(record, "cover", ())]
        for one in getattr(record, "prices", ()):
            rows.append((one.bound, one.step if isinstance(one, BoundPrice) else 0, one.price))
        proof = Priced(record.steps, _distinct(rows), _read(_METHODS[method], record))
    return RoundsBound(record.rounds, record.steps, proof, record.reading, record.node)


def _read(kind: Any, record: Any) -> Any:
    found = {name: getattr(record, name) for name in _hints(kind)}
    for name, hint in _hints(kind).items():
        inner = next(iter(get_args(hint)), None)
        if hint == Prices:
            found[name] = _distinct(found[name])
        elif is_dataclass(inner):
            found[name] = tuple(_read(inner, one) for one in found[name])
    return kind(**{name: value for name, value in found.items() if value is not UNSET})


def _distinct(rows: Iterable[_Row]) -> dict[tuple[int, int], Fraction]:
    """Prices by place; FileFormatError if a place occurs twice."""
    listed = [((position, step), price) for position, step, price in rows]
    if len(read := dict(listed)) < len(listed):
        raise FileFormatError("a certificate states a price twice")
    return read
