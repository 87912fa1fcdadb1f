"""The text of a spec from an imported machine: assumptions, nodes and links.

Links of one kind make one statement; links from all nodes to one switch, or between all nodes, use
``for``.
"""

import re
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from pathlib import PurePath

from syncoll.importing.clusters import CARD, REACH
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

_LEAST_RUN = 3
_BOXES = "for box in range(boxes)"
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
    """Writes a machine in the spec language; reading it gives an equal one of that name.  Raises
    `SpecError` if the name is not valid in the language."""
    require_name(name)
    machine = imported.machine
    if isinstance(machine, Topology) and machine.fabric is not None:
        machine = machine.fabric
    if isinstance(machine, Topology):
        bounds = tuple(replace(bound, label=_printable(bound.label)) for bound in machine.bounds)
        body = topology_to_spec(replace(machine, bounds=bounds), name)
    else:
        links = tuple(replace(link, label=_printable(link.label)) for link in machine.links)
        plain = replace(machine, links=links)
        body = _fabric_text(plain, name, imported.boxes, imported.hubs)
    return "".join(f"{line}\n" for line in _comments(imported, heading)) + body


def _printable(text: str) -> str:
    """The text in one line, without characters that break a spec or a terminal."""
    text = " ".join(text.split()) if not text.isprintable() else text
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


# Comments --------------------------------------------------------------------------------------


def _comments(imported: Imported, heading: str) -> list[str]:
    lines = _wrapped(heading, "# ", "# ") if heading else []
    if imported.notes:
        lines += ["#", "# Assumptions and omissions:"]
        for note in imported.notes:
            lines += _wrapped(note, "# * ", "#   ")
    lists = [_numbered("Nodes", imported.names), _numbered("Switches", imported.switch_names)]
    if imported.boxes > 1:
        lists = _numbered_boxes(imported)
    if any(lists):
        lines.append("#")
    return lines + [line for text in lists for line in _wrapped(text, "# ", "#   ")]


def _numbered_boxes(imported: Imported) -> list[str]:
    """Names of the vertices of the first box and of the network; the other boxes are alike."""
    own = (len(imported.switch_names) - imported.hubs) // imported.boxes
    parts = (
        ("Nodes", imported.names[: len(imported.names) // imported.boxes]),
        ("Switches", imported.switch_names[:own]),
    )
    lists = [
        _numbered(noun, [name.removesuffix(" of box 0") for name in names]) for noun, names in parts
    ]
    return [
        f"{text.removesuffix('.')}; so on in the other boxes." if text else "" for text in lists
    ] + [f"Last switches: {', '.join(imported.switch_names[-imported.hubs :])}."]


def _numbered(noun: str, names: Sequence[str]) -> str:
    """``Nodes: 0 is GPU0, 1 is GPU1``; shorter if the names have numbers as the nodes have."""
    if not names:
        return ""
    counted = re.match(r"(.*?)0$", names[0])
    alike = counted and list(names) == [f"{counted[1]}{i}" for i in range(len(names))]
    if alike and len(names) > 2:
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


def _fabric_text(fabric: Fabric, name: str, boxes: int, hubs: int) -> str:
    text = _Cluster(fabric, boxes, hubs) if boxes > 1 else _Machine(fabric)
    lines = text.head(name)
    rate = " GB/s" if fabric.measure == "GB/s" else ""
    if fabric.unit is not None:
        lines.append(f"{INDENT}unit {format_rate(fabric.unit)}{rate}")
    if fabric.grains is not None:
        lines.append(f"{INDENT}rounds per 1/{fabric.grains}")
    for word, named in (("multicast", fabric.multicast), ("reduce", fabric.reduce)):
        if named:
            lines.append(f"{INDENT}{word} {', '.join(map(text.vertex, named))}")
    groups: dict[tuple[Fraction, str, str], set[_Pair]] = {}
    for ends, link in text.links:
        key = link.bandwidth, latency_text(link), link.label
        groups.setdefault(key, set()).add(ends)
    for (bandwidth, latency, label), pairs in groups.items():
        tail = f"bandwidth {text.speed(bandwidth, label)}{rate}{latency}"
        lines += text.group(pairs, tail + label_text(label))
    return "\n".join([*lines, "}", ""])


class _Machine:
    """The statements of a machine."""

    least_mesh = 4

    def __init__(self, fabric: Fabric) -> None:
        self.nodes = fabric.num_nodes
        self.switches = fabric.num_switches
        self.links = [((link.source, link.destination), link) for link in fabric.links]

    def head(self, name: str) -> list[str]:
        lines = [f"topology {name} {{", f"{INDENT}nodes {self.nodes}"]
        return lines + [f"{INDENT}switches {self.switches}"] * (self.switches > 0)

    def speed(self, bandwidth: Fraction, _label: str) -> str:
        return format_rate(bandwidth)

    def vertex(self, vertex: int) -> str:
        return str(vertex) if vertex < self.nodes else f"switch({vertex - self.nodes})"

    def group(self, pairs: set[_Pair], tail: str) -> list[str]:
        """The statements for links of one bandwidth and label."""
        both = {(a, b) for a, b in pairs if a < b and (b, a) in pairs}
        single = {x for x in pairs if x not in both and x[::-1] not in both}
        lines: list[str] = []
        nodes = self.nodes
        enough = nodes >= self.least_mesh and len(both) >= nodes * (nodes - 1) // 2
        mesh = set(combinations(range(nodes), 2)) if enough else set()  # after a quick look
        if mesh and both >= mesh:
            lines += self.mesh(tail)
            both -= mesh
        for ways, left in ((" both ways", both), ("", single)):
            lines += self.runs(left, ways, tail)
            lines += self.listed(sorted(left), ways, tail)
        return lines

    def mesh(self, tail: str) -> list[str]:
        return [f"{INDENT}link (a, b) both ways for a in nodes, b in nodes if a < b {tail}"]

    def runs(self, left: set[_Pair], ways: str, tail: str) -> list[str]:
        """The links that share a statement with ``for``; removes them from `left`."""
        lines: list[str] = []
        for switch in sorted({b for _, b in left if b >= self.nodes}) if ways else ():
            ends = sorted(a for a, b in left if b == switch and a < self.nodes)
            if len(ends) < _LEAST_RUN or ends[-1] - ends[0] != len(ends) - 1:
                continue
            turns = "nodes" if len(ends) == self.nodes else f"range({ends[0]}, {ends[-1] + 1})"
            lines.append(f"{INDENT}link (n, {self.vertex(switch)}){ways} for n in {turns} {tail}")
            left.difference_update((a, switch) for a in ends)
        return lines

    def listed(self, links: Sequence[_Pair], ways: str, tail: str) -> list[str]:
        """One statement of many links, with breaks between them."""
        pairs = [f"({self.vertex(a)}, {self.vertex(b)})" for a, b in links]
        lines, end = statement_lines("link ", pairs), f"{ways} {tail}"
        if lines and len(lines[-1]) + len(end) > WIDTH:
            lines.append(f"{INDENT * 2}{end.strip()}")
        elif lines:
            lines[-1] += end
        return lines


class _Cluster(_Machine):
    """The statements of the first box, repeated for all boxes, with their number as a parameter.

    A vertex of box ``box`` is ``8 * box + 3``, or ``switch(9 * box + 1)``; the switches of the
    network come after the switches of all boxes, but have smaller numbers here.
    """

    least_mesh = 3

    def __init__(self, fabric: Fabric, boxes: int, hubs: int) -> None:
        self.boxes, self.hubs = boxes, hubs
        self.nodes = fabric.num_nodes // boxes
        self.switches = (fabric.num_switches - hubs) // boxes
        network = fabric.num_nodes + boxes * self.switches
        vertices = (
            *range(self.nodes),
            *range(fabric.num_nodes, fabric.num_nodes + self.switches),
            *range(network, network + hubs),
        )
        place = {vertex: i for i, vertex in enumerate(vertices)}
        self.links = [
            ((place[x.source], place[x.destination]), x)
            for x in fabric.links
            if x.source in place and x.destination in place
        ]
        cards = {link.bandwidth for _, link in self.links if link.label == CARD}
        self.card = cards.pop() if len(cards) == 1 else None

    def head(self, name: str) -> list[str]:
        card = f", card = {format_rate(self.card)}" if self.card is not None else ""
        own = f"{_times(self.switches, 'boxes')} + " if self.switches else ""
        return [
            f"topology {name}(boxes = {self.boxes}{card}) {{",
            f'{INDENT}require boxes >= 1 "at least 1 box"',
            f"{INDENT}nodes {self.nodes} * boxes",
            f"{INDENT}switches {own}{self.hubs}",
        ]

    def speed(self, bandwidth: Fraction, label: str) -> str:
        card = bandwidth == self.card and label in (CARD, REACH)
        return "card" if card else format_rate(bandwidth)

    def vertex(self, vertex: int, variable: str = "") -> str:
        """A vertex of box ``box``; a variable adds to its number."""
        behind = f" + {variable}" if variable else ""
        if vertex < self.nodes:
            return _times(self.nodes, "box") + _plus(vertex) + behind
        hub = vertex >= self.nodes + self.switches
        of, first = ("boxes", self.nodes + self.switches) if hub else ("box", self.nodes)
        return f"switch({_times(self.switches, of)}{_plus(vertex - first)}{behind})"

    def mesh(self, tail: str) -> list[str]:
        ends = f"({self.vertex(0, 'a')}, {self.vertex(0, 'b')})"
        every = f"a in range({self.nodes}), b in range({self.nodes}) if a < b"
        return _folded(f"link {ends} both ways {_BOXES}, {every}", tail)

    def runs(self, left: set[_Pair], ways: str, tail: str) -> list[str]:
        """See `_Machine`; the links of a run are ``(a + i, b + stride * i)``."""
        lines: list[str] = []
        for stride in (0, 1):
            for a, b, length in self._found(left, stride):
                left.difference_update((a + i, b + stride * i) for i in range(length))
                ends = f"({self.vertex(a, 'i')}, {self.vertex(b, 'i' if stride else '')})"
                lines += _folded(f"link {ends}{ways} {_BOXES}, i in range({length})", tail)
        return lines

    def _found(self, left: set[_Pair], stride: int) -> list[tuple[int, int, int]]:
        """The first link of each run, and its length."""

        def kind(vertex: int) -> int:
            """0 for a node, 1 for a switch of the box, 2 for a switch of the network."""
            return (vertex >= self.nodes) + (vertex >= self.nodes + self.switches)

        found = []
        for a, b in sorted(left):
            if (a - 1, b - stride) in left and kind(a - 1) == kind(a):
                continue  # not the first of its run, or taken already
            length = 1
            while (a + length, b + stride * length) in left and (
                kind(a + length) == kind(a) and kind(b + stride * length) == kind(b)
            ):
                length += 1
            if length >= _LEAST_RUN:
                found.append((a, b, length))
        return found

    def listed(self, links: Sequence[_Pair], ways: str, tail: str) -> list[str]:
        pairs = [f"({self.vertex(a)}, {self.vertex(b)})" for a, b in links]
        lines, clauses = statement_lines("link ", pairs), f"{ways.strip()} {_BOXES}".strip()
        if len(lines) == 1:
            return _folded(f"{lines[0].strip()} {clauses}", tail)
        return [*lines, f"{INDENT * 2}{clauses} {tail}"] if lines else []


def _times(number: int, variable: str) -> str:
    return variable if number == 1 else f"{number} * {variable}" if number else "0"


def _plus(number: int) -> str:
    return f" + {number}" if number else ""


def _folded(statement: str, tail: str) -> list[str]:
    """A statement with its bandwidth, in as few lines as possible."""
    lines = [INDENT + statement.strip()]
    if len(lines[0]) > WIDTH and " for box" in statement:
        statement, clauses = statement.strip().rsplit(" for box", 1)
        lines = [INDENT + statement, f"{INDENT * 2}for box{clauses}"]
    if len(lines[-1]) + 1 + len(tail) <= WIDTH:
        lines[-1] += f" {tail}"
        return lines
    return [*lines, f"{INDENT * 2}{tail}"]
