"""Forests of optimal throughput."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from fractions import Fraction

from syncoll.documents.forest import forest_document
from syncoll.model import Fabric, Tree
from syncoll.pages.page import PageParts, paged
from syncoll.results import Forests, PackedForest
from syncoll.verbs.result import Result
from syncoll.wording import counted, runs_in_words


@dataclass(frozen=True, eq=False, repr=False)
class ForestsResult(Result, Forests):
    """Forests of optimal throughput, checked edge by edge."""

    document = forest_document

    @paged
    def page(self, *, trees: bool = False) -> PageParts:
        """The throughput, the cut that bounds it, the heights of trees, and with `trees` each."""
        yield (
            f"{self.collective} on {self.topology}: {_rate(self.algbw, self.unit)}, "
            "all data over time"
        )
        for phase in self.phases:
            yield ""
            if len(self.phases) > 1:
                yield f"{phase.collective}: {_rate(phase.algbw, self.unit)}"
            yield from _phase(phase, self)
            for tree in phase.forest.trees() if trees else ():
                yield f"root {tree.root}, weight {tree.weight}"
                yield f"  {_edges(tree, phase.fabric)}"
        yield ""
        if len(self.phases) > 1 and self.algbw == self.bound:
            yield "Each half is as fast as it can be; an allreduce need not consist of the two."
        if self.any_roots is not None:
            yield _any_roots(self, *self.any_roots)
        yield f"Verified edge by edge; {self.seconds:.2f} s."


def _any_roots(result: Forests, at_least: Fraction, at_most: Fraction) -> str:
    """The throughput of an allreduce that is not composed of these two halves."""
    both = "Reductions to any roots and broadcasts from them, both at the same time,"
    if result.stored:
        both = f"The file claims, unchecked: {both[0].lower()}{both[1:]}"
    if at_most <= result.algbw:
        return f"{both} are no faster."
    reached = f"reach {_rate(at_least, result.unit)}"
    if at_least == at_most:
        return f"{both} {reached}, and nothing of that kind is faster."
    if at_least <= result.algbw:
        return f"{both} reach at most {_rate(at_most, result.unit)}."
    return f"{both} {reached}, and at most {_rate(at_most, result.unit)}."


def _phase(phase: PackedForest, result: Forests) -> Iterator[str]:
    unit, optimal = result.unit, phase.algbw == phase.bound
    if optimal:
        yield "No algorithm of any number of steps is faster:"
    else:
        share = float(phase.algbw / phase.bound)
        that = "That" if result.fixed_k is None else f"With k = {result.fixed_k} that"
        yield f"{that} is {share:.1%} of the network's bound of {_rate(phase.bound, unit)}:"
    yield from (f"  {line}" for line in _bottleneck(phase, unit))
    if not optimal and not phase.in_time:
        yield "The time limit ended the search for better trees."
    elif not optimal and phase.fabric.copies and result.fixed_k is None and not result.stored:
        # Not with a given number of trees: other numbers may well be faster.
        able = "adds up" if phase.reduces else "copies"
        yield f"Trees may be faster if only some reach a switch that {able}; this is open."
    heights = phase.height_counts
    total = sum(heights.values())
    low, high = min(heights), max(heights)
    parts = [counted(total, "tree")]
    if not phase.collective.rooted:
        parts.append(f"{phase.forest.k} for each root")
    if phase.forest.num_trees != total:
        parts.append(f"{phase.forest.num_trees} of them different")
    span = f"heights from {low} to {high}"
    if low == high:
        span = f"of height {low}" if total == 1 else f"all of height {low}"
    yield f"{', '.join(parts)}; {span}"
    if low != high:
        for height, number in heights.items():
            yield f"  height {height}: {counted(number, 'tree')}"


def _bottleneck(phase: PackedForest, unit: str) -> list[str]:
    fabric, links = phase.fabric, phase.leaving
    nodes = {v for v in phase.cut if v < fabric.num_nodes}
    switches = {v - fabric.num_nodes for v in phase.cut - nodes}
    others = set(range(fabric.num_nodes)) - nodes
    part = f"{phase.crossing}/{sum(phase.forest.weights)} of the data"
    if phase.crossing == sum(phase.forest.weights):
        part = "all data"
    what = f"partial results for {part} have" if phase.reduces else f"{part} has"
    start, end = (_ranges(each, "node", "nodes") for each in (nodes, others))
    room = sum((bandwidth for _, _, bandwidth in links), Fraction(0))
    lines = [f"{what} to go from {start} to {end}"]
    if switches:
        lines.append(f"({_ranges(switches, 'switch', 'switches')} counted with the former)")
    shown = [f"{_vertex(u, fabric)} -> {_vertex(v, fabric)} ({b})" for u, v, b in links[:8]]
    more = f", and {len(links) - 8} more" if len(links) > 8 else ""
    lines.append(
        f"over {counted(len(links), 'link')} of {_rate(room, unit)}"
        f"{' together' if len(links) > 1 else ''}: {', '.join(shown)}{more}"
    )
    return lines


def _edges(tree: Tree, fabric: Fabric) -> str:
    """The edges, with the switches on their way; some end at a switch that copies or adds up."""
    return ", ".join(
        f"{_vertex(u, fabric)}->{_vertex(v, fabric)}"
        + (f" ({', '.join(fabric.vertex_name(w) for w in path[1:-1])})" if len(path) > 2 else "")
        for u, v, path in tree.edges
    )


def _rate(value: Fraction, unit: str) -> str:
    if value == 1:
        return f"1 {unit.replace('chunks', 'chunk')}"
    if value.denominator == 1:
        return f"{value} {unit}"
    return f"{value} {unit} ({float(value):.2f})"


def _vertex(vertex: int, fabric: Fabric) -> str:
    return str(vertex) if vertex < fabric.num_nodes else fabric.vertex_name(vertex)


def _ranges(numbers: Collection[int], one: str, many: str) -> str:
    """``nodes 0-3, 5``."""
    return f"{one if len(numbers) == 1 else many} {runs_in_words(sorted(numbers), '-', ', ')}"
