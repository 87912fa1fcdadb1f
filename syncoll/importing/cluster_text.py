"""The text of a cluster: one box's links, said for all boxes, with their number as a parameter.

What stands for a vertex of box ``box`` is ``8 * box + 3``, or ``switch(9 * box + 1)``; the switches
of the network lie behind those of all boxes.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from syncoll.importing.clusters import CARD, REACH
from syncoll.importing.rates import format_rate
from syncoll.model import Fabric
from syncoll.spec.writer import INDENT, WIDTH, label_text, latency_text, statement_lines

__all__ = ["cluster_text"]

_LEAST_RUN = 3
_BOXES = "for box in range(boxes)"

_Pair = tuple[int, int]


def cluster_text(fabric: Fabric, boxes: int, hubs: int, name: str) -> str:
    """A topology in the spec language whose parameters' defaults give a cluster."""
    box = _Box(fabric, boxes, hubs)
    cards = {rate for _, _, rate, _, label in box.links if label == CARD}
    card = cards.pop() if len(cards) == 1 else None
    parameters = f"boxes = {boxes}" + (f", card = {format_rate(card)}" if card is not None else "")
    lines = [
        f"topology {name}({parameters}) {{",
        f'{INDENT}require boxes >= 1 "at least 1 box"',
        f"{INDENT}nodes {box.nodes} * boxes",
        f"{INDENT}switches {_times(box.switches, 'boxes')} + {hubs}",
    ]
    if fabric.unit is not None:
        lines.append(f"{INDENT}unit {format_rate(fabric.unit)} GB/s")
    groups: dict[tuple[Fraction, Fraction | None, str], set[_Pair]] = {}
    for a, b, rate, latency, label in box.links:
        groups.setdefault((rate, latency, label), set()).add((a, b))
    for (rate, latency, label), pairs in groups.items():
        speed = "card" if rate == card and label in (CARD, REACH) else format_rate(rate)
        tail = f"bandwidth {speed} GB/s{latency_text(latency)}" + label_text(label)
        lines += _group(box, pairs, tail)
    return "\n".join([*lines, "}", ""])


class _Box:
    """The first box: its nodes, switches and those of the network numbered on, and its links."""

    def __init__(self, fabric: Fabric, boxes: int, hubs: int) -> None:
        self.nodes = fabric.num_nodes // boxes
        self.switches = (fabric.num_switches - hubs) // boxes
        network = fabric.num_nodes + boxes * self.switches
        place = {node: node for node in range(self.nodes)}
        for s in range(self.switches):
            place[fabric.num_nodes + s] = self.nodes + s
        for s in range(hubs):
            place[network + s] = self.nodes + self.switches + s
        self.links = [
            (place[x.source], place[x.destination], x.bandwidth, x.latency, x.label)
            for x in fabric.links
            if x.source in place and x.destination in place
        ]

    def written(self, vertex: int, variable: str = "") -> str:
        """A vertex of box ``box``, or as far behind one as a variable says."""
        behind = f" + {variable}" if variable else ""
        if vertex < self.nodes:
            return _times(self.nodes, "box") + _plus(vertex) + behind
        of, first = ("box", self.nodes)
        if vertex >= self.nodes + self.switches:
            of, first = "boxes", self.nodes + self.switches
        return f"switch({_times(self.switches, of)}{_plus(vertex - first)}{behind})"

    def kind(self, vertex: int) -> int:
        """Of a node 0, of a switch of the box 1, of one of the network 2."""
        return (vertex >= self.nodes) + (vertex >= self.nodes + self.switches)


def _times(number: int, variable: str) -> str:
    return variable if number == 1 else f"{number} * {variable}"


def _plus(number: int) -> str:
    return f" + {number}" if number else ""


def _group(box: _Box, pairs: set[_Pair], tail: str) -> list[str]:
    """The statements for links of one bandwidth and label."""
    lines: list[str] = []
    both = {(a, b) for a, b in pairs if a < b and (b, a) in pairs}
    single = {x for x in pairs if x not in both and x[::-1] not in both}
    mesh = {(a, b) for a in range(box.nodes) for b in range(a + 1, box.nodes)}
    if box.nodes >= _LEAST_RUN and both >= mesh:
        ends = f"({box.written(0, 'a')}, {box.written(0, 'b')})"
        every = f"a in range({box.nodes}), b in range({box.nodes}) if a < b"
        lines += _folded(f"link {ends} both ways {_BOXES}, {every}", tail)
        both -= mesh
    for ways, left in ((" both ways", both), ("", single)):
        for stride in (0, 1):
            for a, b, length in _runs(box, left, stride):
                end = box.written(b, "i" if stride else "")
                what = f"link ({box.written(a, 'i')}, {end}){ways} {_BOXES}, i in range({length})"
                lines += _folded(what, tail)
        lines += _listed(box, sorted(left), f"{ways.strip()} {_BOXES}".strip(), tail)
    return lines


def _runs(box: _Box, left: set[_Pair], stride: int) -> list[tuple[int, int, int]]:
    """Takes out pairs ``(a + i, b + stride * i)``; their first ones, and how many there are."""
    found = []
    for a, b in sorted(left):
        if (a - 1, b - stride) in left and box.kind(a - 1) == box.kind(a):
            continue  # not the first of its run, or that has been taken
        length = 1
        while (a + length, b + stride * length) in left and (
            box.kind(a + length) == box.kind(a) and box.kind(b + stride * length) == box.kind(b)
        ):
            length += 1
        if length >= _LEAST_RUN:
            found.append((a, b, length))
    for a, b, length in found:
        left.difference_update((a + i, b + stride * i) for i in range(length))
    return found


def _folded(statement: str, tail: str) -> list[str]:
    """A statement with its bandwidth, in as few lines as it fits into."""
    lines = [INDENT + statement.strip()]
    if len(lines[0]) > WIDTH and " for box" in statement:
        statement, clauses = statement.strip().rsplit(" for box", 1)
        lines = [INDENT + statement, f"{INDENT * 2}for box{clauses}"]
    if len(lines[-1]) + 1 + len(tail) <= WIDTH:
        lines[-1] += f" {tail}"
        return lines
    return [*lines, f"{INDENT * 2}{tail}"]


def _listed(box: _Box, pairs: Iterable[_Pair], clauses: str, tail: str) -> list[str]:
    """One statement of many pairs, broken between them."""
    lines = statement_lines("link ", [f"({box.written(a)}, {box.written(b)})" for a, b in pairs])
    if len(lines) == 1:
        return _folded(f"{lines[0].strip()} {clauses}", tail)
    return [*lines, f"{INDENT * 2}{clauses} {tail}"] if lines else []
