"""From an imported machine to the text of a spec: assumptions, nodes and links.

Links of one kind make one statement, and those from all nodes to one switch, or between all nodes,
use ``for``.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from pathlib import PurePath

from syncoll.importing.cluster_text import cluster_text
from syncoll.importing.rates import format_rate
from syncoll.model import Fabric, Topology
from syncoll.plugins import Imported
from syncoll.spec.keywords import RESERVED
from syncoll.spec.writer import (
    INDENT,
    WIDTH,
    label_text,
    latency_text,
    require_name,
    statement_lines,
    topology_to_spec,
)

__all__ = ["spec_text", "topology_name"]

_LEAST_MESH = 4
_LEAST_STAR = 3
_LONGEST_NAME = 60

_Pair = tuple[int, int]


def topology_name(label: str) -> str:
    """A name for the topology in a file: ``dgx1_topo`` for ``dumps/dgx1-topo.txt``."""
    stem = PurePath(label).stem
    name = re.sub(r"[^A-Za-z0-9]+", "_", stem).strip("_")[:_LONGEST_NAME]
    if not name or name in RESERVED:
        return f"{name}_machine" if name else "machine"
    return f"machine_{name}" if name[0].isdigit() else name


def spec_text(imported: Imported, name: str, heading: str = "") -> str:
    """Writes a machine in the spec language; reading it gives an equal one of that name.

    Raises:
        SpecError: if the name is not valid in the language.
    """
    require_name(name)
    machine = imported.machine
    if isinstance(machine, Topology) and machine.fabric is not None:
        machine = machine.fabric
    if isinstance(machine, Topology):
        bounds = tuple(replace(bound, label=_printable(bound.label)) for bound in machine.bounds)
        body = topology_to_spec(replace(machine, bounds=bounds), name)
    elif imported.boxes > 1:
        links = tuple(replace(link, label=_printable(link.label)) for link in machine.links)
        plain = replace(machine, links=links)
        body = cluster_text(plain, imported.boxes, imported.hubs, name)
    else:
        body = _fabric_text(machine, name)
    return "".join(f"{line}\n" for line in _comments(imported, heading)) + body


def _printable(text: str) -> str:
    """The text in one line, without what a spec or a terminal would stumble over."""
    text = " ".join(text.split()) if not text.isprintable() else text
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


# Comments --------------------------------------------------------------------------------------


def _comments(imported: Imported, heading: str) -> list[str]:
    lines = _wrapped(heading, "# ", "# ") if heading else []
    if imported.notes:
        lines += ["#", "# What was assumed, and what was left out:"]
        for note in imported.notes:
            lines += _wrapped(note, "# * ", "#   ")
    told = [_told("Nodes", imported.names), _told("Switches", imported.switch_names)]
    if imported.boxes > 1:
        told = _told_boxes(imported)
    if any(told):
        lines.append("#")
    return lines + [line for text in told for line in _wrapped(text, "# ", "#   ")]


def _told_boxes(imported: Imported) -> list[str]:
    """What the vertices of the first box are, and of the network; the other boxes are alike."""
    own = (len(imported.switch_names) - imported.hubs) // imported.boxes
    parts = (
        ("Nodes", imported.names[: len(imported.names) // imported.boxes]),
        ("Switches", imported.switch_names[:own]),
    )
    told = [
        _told(noun, [name.removesuffix(" of box 0") for name in names]) for noun, names in parts
    ]
    return [
        f"{text.removesuffix('.')}; so on in the other boxes." if text else "" for text in told
    ] + [f"Last switches: {', '.join(imported.switch_names[-imported.hubs :])}."]


def _told(noun: str, names: Sequence[str]) -> str:
    """``Nodes: 0 is GPU0, 1 is GPU1``; in short where the names count as the nodes do."""
    if not names:
        return ""
    counted = re.match(r"(.*?)0$", names[0])
    if counted and list(names) == [f"{counted[1]}{i}" for i in range(len(names))]:
        if len(names) == 1:
            return f"{noun}: 0 is {names[0]}."
        if len(names) == 2:
            return f"{noun}: 0 is {names[0]}, 1 is {names[1]}."
        return f"{noun}: 0 to {len(names) - 1} are {names[0]} to {names[-1]}."
    return f"{noun}: " + ", ".join(f"{i} is {name}" for i, name in enumerate(names)) + "."


def _wrapped(text: str, first: str, later: str) -> list[str]:
    return textwrap.wrap(
        _printable(text),
        WIDTH,
        initial_indent=first,
        subsequent_indent=later,
        break_long_words=False,
        break_on_hyphens=False,
    )


# Links -----------------------------------------------------------------------------------------


def _fabric_text(fabric: Fabric, name: str) -> str:
    rate = " GB/s" if fabric.measure == "GB/s" else ""
    lines = [f"topology {name} {{", f"{INDENT}nodes {fabric.num_nodes}"]
    if fabric.num_switches:
        lines.append(f"{INDENT}switches {fabric.num_switches}")
    if fabric.unit is not None:
        lines.append(f"{INDENT}unit {format_rate(fabric.unit)}{rate}")
    groups: dict[tuple[Fraction, Fraction | None, str], set[_Pair]] = {}
    for word, named in (("multicast", fabric.multicast), ("reduce", fabric.reduce)):
        if named:
            lines.append(f"{INDENT}{word} {', '.join(_vertex(fabric, one) for one in named)}")
    for link in fabric.links:
        key = link.bandwidth, link.latency, _printable(link.label)
        groups.setdefault(key, set()).add((link.source, link.destination))
    for (bandwidth, latency, label), pairs in groups.items():
        tail = f" bandwidth {format_rate(bandwidth)}{rate}{latency_text(latency)}"
        tail += label_text(label)
        lines += _group(fabric, pairs, tail)
    return "\n".join([*lines, "}", ""])


def _group(fabric: Fabric, pairs: set[_Pair], tail: str) -> list[str]:
    """The statements for links of one bandwidth and label."""
    nodes = fabric.num_nodes
    lines: list[str] = []
    both = {(a, b) for a, b in pairs if a < b and (b, a) in pairs}
    single = sorted(x for x in pairs if x not in both and x[::-1] not in both)
    enough = nodes >= _LEAST_MESH and len(both) >= nodes * (nodes - 1) // 2  # a quick look first
    mesh = set(combinations(range(nodes), 2)) if enough else set()
    if mesh and both >= mesh:
        lines.append(f"{INDENT}link (a, b) both ways for a in nodes, b in nodes if a < b{tail}")
        both -= mesh
    for switch in sorted({b for _, b in both if b >= nodes}):
        ends = sorted(a for a, b in both if b == switch and a < nodes)
        if len(ends) < _LEAST_STAR or ends[-1] - ends[0] != len(ends) - 1:
            continue
        turns = "nodes" if len(ends) == nodes else f"range({ends[0]}, {ends[-1] + 1})"
        end = _vertex(fabric, switch)
        lines.append(f"{INDENT}link (n, {end}) both ways for n in {turns}{tail}")
        both.difference_update((a, switch) for a in ends)
    lines += _statement(fabric, sorted(both), f" both ways{tail}")
    return lines + _statement(fabric, single, tail)


def _vertex(fabric: Fabric, vertex: int) -> str:
    return str(vertex) if vertex < fabric.num_nodes else f"switch({vertex - fabric.num_nodes})"


def _statement(fabric: Fabric, links: Iterable[_Pair], tail: str) -> list[str]:
    pairs = [f"({_vertex(fabric, a)}, {_vertex(fabric, b)})" for a, b in links]
    lines = statement_lines("link ", pairs)
    if lines and len(lines[-1]) + len(tail) > WIDTH:
        lines.append(f"{INDENT * 2}{tail.strip()}")
    elif lines:
        lines[-1] += tail
    return lines
