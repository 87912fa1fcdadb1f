"""From an imported machine to the text of a spec: what was assumed, what the nodes are, the links.

The text is for people first: links of one kind make one statement, and those from all nodes to one
switch, or between all nodes, are said with ``for``.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import PurePath

from syncoll.errors import SpecError
from syncoll.importing.cluster_text import cluster_text
from syncoll.importing.statements import INDENT, WIDTH, pair_lines
from syncoll.model import BandwidthBound, Fabric, Topology
from syncoll.plugins import Imported
from syncoll.spec import topology_to_spec
from syncoll.spec.keywords import RESERVED

__all__ = ["spec_text", "topology_name"]

_LEAST_MESH = 4
_LEAST_STAR = 3
_LONGEST_NAME = 60
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

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
        SpecError: when the name cannot be one in the language.
    """
    if not _NAME.fullmatch(name) or name in RESERVED:
        raise SpecError(
            f"{name!r} cannot be the name of a topology",
            None,
            "letters, digits and underscores, and no word of the language",
        )
    machine = imported.machine
    if isinstance(machine, Topology) and machine.fabric is not None:
        machine = machine.fabric
    if isinstance(machine, Topology):
        body = topology_to_spec(replace(machine, bounds=tuple(map(_plain, machine.bounds))), name)
    elif imported.boxes > 1:
        links = tuple(replace(link, label=_printable(link.label)) for link in machine.links)
        plain = replace(machine, links=links)
        body = cluster_text(plain, imported.boxes, imported.hubs, name, _number)
    else:
        body = _fabric_text(machine, name)
    return "".join(f"{line}\n" for line in _comments(imported, heading)) + body


def _plain(bound: BandwidthBound) -> BandwidthBound:
    return replace(bound, label=_printable(bound.label))


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
    told = _told_boxes(imported) if imported.boxes > 1 else _told_names(imported)
    if any(told):
        lines.append("#")
    return lines + [line for text in told for line in _wrapped(text, "# ", "#   ")]


def _told_names(imported: Imported) -> list[str]:
    return [_told("Nodes", imported.names), _told("Switches", imported.switch_names)]


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
        lines.append(f"{INDENT}unit {_number(fabric.unit)}{rate}")
    groups: dict[tuple[Fraction, str], set[_Pair]] = {}
    for link in fabric.links:
        key = link.bandwidth, _printable(link.label)
        groups.setdefault(key, set()).add((link.source, link.destination))
    for (bandwidth, label), pairs in groups.items():
        tail = f" bandwidth {_number(bandwidth)}{rate}"
        if label:
            escaped = re.sub(r'(["\\{}])', r"\\\1", label)
            tail += f' label "{escaped}"'
        lines += _group(fabric, pairs, tail)
    return "\n".join([*lines, "}", ""])


def _number(value: Fraction) -> str:
    """As a decimal where that is exact, else as a fraction."""
    twos, fives, rest = 0, 0, value.denominator
    while rest % 2 == 0:
        twos, rest = twos + 1, rest // 2
    while rest % 5 == 0:
        fives, rest = fives + 1, rest // 5
    digits = max(twos, fives)
    if rest != 1 or digits > 9:
        return str(value)
    if not digits:
        return str(value.numerator)
    whole, part = divmod(value.numerator * 10**digits // value.denominator, 10**digits)
    return f"{whole}.{part:0{digits}}"


def _group(fabric: Fabric, pairs: set[_Pair], tail: str) -> list[str]:
    """The statements for links of one bandwidth and label."""
    nodes = fabric.num_nodes
    lines: list[str] = []
    both = {(a, b) for a, b in pairs if a < b and (b, a) in pairs}
    single = sorted(x for x in pairs if x not in both and x[::-1] not in both)
    mesh = {(a, b) for a in range(nodes) for b in range(a + 1, nodes)} if _full(both, nodes) else ()
    if mesh and both.issuperset(mesh):
        lines.append(f"{INDENT}link (a, b) both ways for a in nodes, b in nodes if a < b{tail}")
        both.difference_update(mesh)
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


def _full(pairs: set[_Pair], nodes: int) -> bool:
    """Whether so many pairs can be all pairs of nodes; a quick look before a slow one."""
    return nodes >= _LEAST_MESH and len(pairs) >= nodes * (nodes - 1) // 2


def _vertex(fabric: Fabric, vertex: int) -> str:
    return str(vertex) if vertex < fabric.num_nodes else f"switch({vertex - fabric.num_nodes})"


def _statement(fabric: Fabric, links: Iterable[_Pair], tail: str) -> list[str]:
    """The lines of one statement, broken between pairs."""
    *lines, line = pair_lines([f"({_vertex(fabric, a)}, {_vertex(fabric, b)})" for a, b in links])
    if not line:
        return []
    if len(line) + len(tail) > WIDTH:
        return [*lines, line, f"{INDENT * 2}{tail.strip()}"]
    return [*lines, line + tail]
