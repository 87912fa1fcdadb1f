"""JSON as other tools write it: parsed strictly, with exact numbers, and in bounded time."""

import re
from decimal import Decimal
from fractions import Fraction
from typing import Any

from syncoll.documents import json_text
from syncoll.documents.json_text import JsonTextError, shown
from syncoll.errors import ImportFormatError
from syncoll.importing.description import TextError

__all__ = ["exact_number", "foreign_json", "foreign_text", "parse_json", "parse_topology", "shown"]

_MOST_DIGITS = 30
_NUMBER = re.compile(r"[0-9]{1,30}(\.[0-9]{1,30})?([eE][-+]?[0-9]{1,2})?|[0-9]{1,15}/[0-9]{1,15}")


def parse_json(text: str) -> Any:
    """The value of a JSON text; numbers with a point become `Decimal`.

    Raises:
        ImportFormatError: if it is not JSON, gives a key twice, holds NaN, an infinity or a number
            of too many digits, or nests too deeply.
    """
    try:
        return json_text.parse_json(text.removeprefix("\ufeff"), _decimal)
    except JsonTextError as error:
        if not error.line:
            raise TextError(str(error)) from None
        start = max(0, error.column - 61)
        raise TextError(
            f"{error} at column {error.column}",
            line=error.line,
            text=text.split("\n")[error.line - 1][start : start + 120],
            expected="one JSON value without further text",
        ) from None


def _decimal(digits: str) -> Decimal:
    if len(digits) > 2 * _MOST_DIGITS:
        raise JsonTextError(f"a number of {len(digits)} digits is too large")
    return Decimal(digits)


def exact_number(value: object) -> Fraction | None:
    """A number from JSON or from text, exactly; None if it is not one, or out of range.

    Args:
        value: an int, a `Decimal`, a finite float (taken as it is written), or a text such as
            ``25``, ``1.5``, ``3/2``, ``1e3``; below 10^30, and above 10^-30 or 0.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return Fraction(value) if abs(value) < 10**_MOST_DIGITS else None
    if isinstance(value, float):
        value = Decimal(repr(value))
    if isinstance(value, Decimal):
        if not value.is_finite() or abs(value.adjusted()) > _MOST_DIGITS:
            return None
        return Fraction(value)
    if not isinstance(value, str) or _NUMBER.fullmatch(value.strip()) is None:
        return None
    try:
        number = Fraction(value.strip())
    except ZeroDivisionError:
        return None
    return number if number < 10**_MOST_DIGITS else None


_FOREIGN = {
    frozenset({"TopologyParams"}): "an input of TE-CCL: it names a topology whose links and "
    "bandwidths are in the program TE-CCL, not in this file",
    frozenset({"node_betas_list", "node_invbws_list", "invbws"}): "a topology of TACCL: it holds "
    "latencies and inverse bandwidths for messages of one size; the GPUs that they join are in the "
    "program TACCL",
    frozenset({"intranode_sketch", "internode_sketch"}): "a sketch of TACCL: it restricts a search "
    "and describes no links",
    frozenset({"logical-dims"}): "the logical shape that ASTRA-sim gives its nodes: it holds no "
    "links; their network is in another file",
}
"""By keys of its files a tool's input that cannot be imported, and why."""

_IN_CODE = (
    "; write the machine in a .syncoll file, or as a graph with its links (importers node-link and "
    "graphml)"
)


def parse_topology(text: str) -> Any:
    """Parses JSON; raises ImportFormatError also for the input of another tool."""
    try:
        data = parse_json(text)
    except ImportFormatError:
        if other := foreign_text(text):
            raise TextError(f"it is {other}") from None
        raise
    if other := foreign_json(data):
        raise TextError(f"it is {other}")
    return data


def foreign_json(data: Any) -> str:
    """The tool that a JSON value belongs to, and why it cannot be imported; empty if unknown."""
    if not isinstance(data, dict):
        return ""
    if data.get("msccl_type") == "algorithm":
        return "an algorithm of SCCL, which `syncoll verify` and `syncoll simulate` read"
    found = (what for keys, what in _FOREIGN.items() if not keys.isdisjoint(data))
    return next((what + _IN_CODE for what in found), "")


def foreign_text(text: str) -> str:
    """The tool that a text belongs to, if it is no JSON, in words; empty if unknown."""
    head = text[:4000]
    if re.search(r"^\s*npus_count\s*:", head, re.MULTILINE):
        return (
            "a network of ASTRA-sim's analytical backend: it names shapes, not links; hub(8), "
            "ring(8), fully_connected(8) and the like are in the library (syncoll spec list)"
        )
    if re.search(r"^\s*Tiers\s+[0-9]+\s*$", head, re.MULTILINE) and "Radix_Down" in head:
        return (
            "a fat tree of htsim: it gives radices and speeds of its tiers, not links; "
            "fat_tree(…) is in the library (syncoll spec list)"
        )
    if re.match(r"\s*(<!--((?!-->).)*-->\s*)*<algo[\s>]", head, re.DOTALL):
        return "an algorithm in MSCCL XML, which `syncoll verify` reads; it describes no machine"
    return ""
