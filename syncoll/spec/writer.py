"""A topology as spec text: whoever built it, it can be saved, read and edited as a file."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fractions import Fraction

from syncoll.errors import SpecError
from syncoll.model import BandwidthBound, Link, Topology
from syncoll.spec.keywords import RESERVED

__all__ = ["topology_to_spec"]

_WIDTH = 96
_INDENT = "    "


def topology_to_spec(topology: Topology, name: str) -> str:
    """Writes a topology in the spec language; reading it gives an equal one of that name.

    Raises:
        SpecError: when the name cannot be one in the language.
    """
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) or name in RESERVED:
        raise SpecError(
            f"{name!r} cannot be the name of a topology",
            None,
            "letters, digits and underscores, and no word of the language",
        )
    # Reading puts the links' own bounds first, in the order of the links.  What stands in another
    # order is written as a shared bound, so that B keeps its order.
    own: dict[Link, BandwidthBound] = {}
    last: Link = (-1, -1)
    for bound in topology.bounds:
        if len(bound.links) != 1 or bound.links[0] <= last:
            break
        last = bound.links[0]
        own[last] = bound
    lines = [f"topology {name} {{", f"{_INDENT}nodes {topology.num_nodes}"]
    groups: dict[tuple[Fraction | None, str], list[Link]] = {}
    for link in topology.links:
        mine = own.get(link)
        key = (None, "") if mine is None else (mine.chunks_per_round, mine.label)
        groups.setdefault(key, []).append(link)
    for (bandwidth, label), links in groups.items():
        tail = ("" if bandwidth is None else f" bandwidth {bandwidth}") + _label(label)
        both = _mutual(links)
        lines += _statement(
            "link ", (x for x in links if x in both and x[0] < x[1]), " both ways" + tail
        )
        lines += _statement("link ", (x for x in links if x not in both), tail)
    for bound in topology.bounds[len(own) :]:
        tail = f" }} bandwidth {bound.chunks_per_round}{_label(bound.label)}"
        lines += _statement("shared { ", bound.links, tail)
    return "\n".join([*lines, "}", ""])


def _mutual(links: list[Link]) -> set[Link]:
    present = set(links)
    return {(a, b) for a, b in links if (b, a) in present}


def _label(label: str) -> str:
    if not label:
        return ""
    escaped = re.sub(r'(["\\{}])', r"\\\1", label).replace("\n", r"\n").replace("\t", r"\t")
    return f' label "{escaped}"'


def _statement(head: str, links: Iterable[Link], tail: str) -> list[str]:
    """The lines of one statement, broken between pairs."""
    pairs = [f"({a}, {b})" for a, b in links]
    if not pairs:
        return []
    lines, line = [], _INDENT + head
    for i, pair in enumerate(pairs):
        piece = pair + ("," if i < len(pairs) - 1 else tail)
        if len(line) + len(piece) > _WIDTH and line.strip() != head.strip():
            lines.append(line.rstrip())
            line = _INDENT + " " * len(head)
        line += piece + (" " if i < len(pairs) - 1 else "")
    return [*lines, line]
