"""A topology as spec text, to be saved, read and edited as a file."""

import re
from collections.abc import Iterable, Sequence
from fractions import Fraction

from syncoll.errors import SpecError
from syncoll.model import BandwidthBound, Counting, FabricLink, Link, Topology
from syncoll.spec.keywords import RESERVED

WIDTH = 96
INDENT = "    "


def require_name(name: str) -> None:
    """Raises SpecError unless a topology can have that name."""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) or name in RESERVED:
        raise SpecError(
            f"{name!r} cannot be the name of a topology",
            None,
            "letters, digits and underscores, and no word of the language",
        )


def topology_to_spec(topology: Topology, name: str) -> str:
    """Writes a topology in the spec language; reading it gives an equal one of that name.  Raises
    `SpecError` if the name cannot be one in the language."""
    require_name(name)
    # Reading puts the links' own bounds first, in the order of the links. Others are written as
    # shared bounds, so that B keeps its order.
    own: dict[Link, BandwidthBound] = {}
    last: Link = (-1, -1)
    for bound in topology.bounds:
        if len(bound.links) != 1 or bound.links[0] <= last or bound.counts is not Counting.SENDS:
            break
        last = bound.links[0]
        own[last] = bound
    lines = [f"topology {name} {{", f"{INDENT}nodes {topology.num_nodes}"]
    if topology.grains > 1:
        lines.append(f"{INDENT}rounds per 1/{topology.grains}")
    fabric = topology.fabric
    known: dict[Link, str] = {}
    if fabric is not None and fabric.states_latencies and not fabric.num_switches:
        known = {(x.source, x.destination): latency_text(x) for x in fabric.links}
    groups: dict[tuple[Fraction | None, str, str], dict[Link, None]] = {}
    for link in topology.links:
        mine = own.get(link)
        latency = known.get(link, "")
        figures = (None, "") if mine is None else (mine.chunks_per_round, mine.label)
        key = (figures[0], latency, figures[1])
        groups.setdefault(key, {})[link] = None
    for (bandwidth, latency, label), links in groups.items():
        tail = "" if bandwidth is None else f" bandwidth {bandwidth}"
        tail += latency + label_text(label)
        both = {(a, b) for a, b in links if (b, a) in links}
        lines += _statement(
            "link ", (x for x in links if x in both and x[0] < x[1]), " both ways" + tail
        )
        lines += _statement("link ", (x for x in links if x not in both), tail)
    for bound in topology.bounds[len(own) :]:
        counting = "" if bound.counts is Counting.SENDS else f" counting {bound.counts}"
        tail = f" }} bandwidth {bound.chunks_per_round}{counting}{label_text(bound.label)}"
        lines += _statement("shared { ", bound.links, tail)
    return "\n".join([*lines, "}", ""])


def latency_text(link: FabricLink) -> str:
    """The latencies of a link as a part of a statement; empty if unknown."""
    if link.latency is None:
        return ""
    protocols = (f" latency {time * 10**9} ns protocol {name}" for name, time in link.protocols)
    return "".join([f" latency {link.latency * 10**9} ns", *protocols])


def label_text(label: str) -> str:
    """A label as the end of a statement; empty without one."""
    escaped = re.sub(r'(["\\{}])', r"\\\1", label).replace("\n", r"\n").replace("\t", r"\t")
    return f' label "{escaped}"' if label else ""


def statement_lines(head: str, pairs: Sequence[str], tail: str = "") -> list[str]:
    """The lines of one statement, broken between pairs; none without pairs."""
    if not pairs:
        return []
    lines, line = [], INDENT + head
    for i, pair in enumerate(pairs):
        piece = pair + ("," if i < len(pairs) - 1 else tail)
        if len(line) + len(piece) > WIDTH and line.strip() != head.strip():
            lines.append(line.rstrip())
            line = INDENT + " " * len(head)
        line += piece + (" " if i < len(pairs) - 1 else "")
    return [*lines, line]


def _statement(head: str, links: Iterable[Link], tail: str) -> list[str]:
    return statement_lines(head, [f"({a}, {b})" for a, b in links], tail)
