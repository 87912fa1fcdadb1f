"""From a topology definition to a `Topology`: nodes, then links, then shared bounds.

With switches, or with bandwidths in GB/s, the links make up a `Fabric`.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import cache
from itertools import repeat
from typing import Any

from syncoll.errors import Origin
from syncoll.model import MOST_GRAINS, BandwidthBound, Counting, Fabric, FabricLink, Link, Topology
from syncoll.spec import limits, syntax
from syncoll.spec.arithmetic import cell_of, first_live, is_column
from syncoll.spec.evaluator import Evaluator
from syncoll.spec.iteration import each, rows
from syncoll.spec.source import Span
from syncoll.spec.syntax import Expr
from syncoll.spec.values import NameScope, NotVectorisable, is_list, kind_of, written
from syncoll.wording import counted

_Bandwidth = Fraction | None
_Figures = tuple[_Bandwidth, Fraction | None, tuple[tuple[str, Fraction], ...]]
_Row = tuple[Link, _Figures, str]

_MIXED = {
    ("unit", True): "a bandwidth with a unit, but the one in line {} has none",
    ("unit", False): "a bandwidth without a unit, but the one in line {} has one",
    ("latency", True): "a latency, but the link in line {} has none",
    ("latency", False): "a link without a latency, but the link in line {} has one",
}
_FOR_ALL = {
    "unit": "units such as GB/s for all bandwidths of a topology, or none: chunks per round",
    "latency": "latencies for all links of a topology, or for none",
}


class TopologyBuilder:
    """Expands a topology definition whose parameters have values: `read` it, then get the network.
    Raises `SpecError` if a statement makes no sense, or the result would be too large; errors of
    the network as a whole are at the origin."""

    def __init__(
        self, definition: syntax.TopologyDefinition, evaluator: Evaluator, name: str, origin: Origin
    ) -> None:
        self.definition, self.evaluator = definition, evaluator
        self.name, self.origin = name, origin
        self.nodes = self.switches = 0
        self.unit: Fraction | None = None
        self.grains: int | None = None
        self.given: dict[str, tuple[bool, Span]] = {}
        self.links: dict[Link, tuple[_Figures, str, Span]] = {}
        self.later: list[tuple[syntax.SharedStatement, NameScope]] = []
        self.shared: list[BandwidthBound] = []
        self.does: dict[str, dict[int, None]] = {"multicast": {}, "reduce": {}}
        self.shared_pairs = 0
        self.leaving: dict[int, list[Link]] = defaultdict(list)
        self.entering: dict[int, list[Link]] = defaultdict(list)

    @property
    def in_gigabytes(self) -> bool:
        """Whether bandwidths have units."""
        return self.given.get("unit", (False, None))[0]

    def read(self, scope: NameScope, *, to_nodes: bool = False) -> None:
        """Reads the statements, at most `to_nodes`; shared bounds wait for the links."""
        for statement in self.definition.body:
            if to_nodes and self.nodes:
                return
            if isinstance(statement, syntax.Statement):
                if statement.keyword == "switches":
                    self._set_switches(statement, scope)
                elif statement.keyword == "rounds":
                    self._set_grain(statement.value, scope)
                else:
                    count = self._count(statement.value, scope, 1, "node")
                    self.nodes = self.evaluator.ambient.nodes = count
            elif isinstance(statement, syntax.RoundUnit):
                self._set_unit(statement, scope)
            elif isinstance(statement, syntax.ValueDefinition):
                scope = self.evaluator.let(statement, scope)
            elif isinstance(statement, syntax.Require):
                self.evaluator.require(statement, scope, self.name)
            elif isinstance(statement, syntax.LinkStatement):
                self._add_links(statement, scope)
            elif isinstance(statement, syntax.SwitchStatement):
                self._add_switches(statement, scope)
            elif isinstance(statement, syntax.SharedStatement):
                self.later.append((statement, scope))

    def network(self) -> Topology | Fabric:
        """A physical network with switches or bandwidths in GB/s, else a topology."""
        is_fabric = self.switches > 0 or self.unit is not None or self.in_gigabytes
        return self.fabric() if is_fabric else self.topology()

    def fabric(self) -> Fabric:
        """The physical network that was read."""
        if self.later:
            raise self.later[0][0].span.error(
                "a shared bound in a topology with switches or bandwidths in GB/s",
                "a switch on the path of the links, whose own links bound their load",
            )
        links = []
        for (source, destination), (figures, label, span) in sorted(self.links.items()):
            bandwidth, latency, protocols = figures
            if bandwidth is None:
                raise span.error(
                    f"link {self._pair((source, destination))} has no bandwidth",
                    "`bandwidth` behind it",
                )
            links.append(FabricLink(source, destination, bandwidth, label, latency, protocols))
        return Fabric(
            self.name,
            self.nodes,
            self.switches,
            tuple(links),
            self.origin,
            measure="GB/s" if self.in_gigabytes else "chunks per round",
            unit=self.unit,
            multicast=tuple(sorted(self.does["multicast"])),
            reduce=tuple(sorted(self.does["reduce"])),
            grains=self.grains,
        )

    def topology(self) -> Topology:
        """The network without switches that was read."""
        order = sorted(self.links)
        for link in order:
            self.leaving[link[0]].append(link)
            self.entering[link[1]].append(link)
        for shared, seen in self.later:
            self._add_shared(shared, seen)
        covered = {link for bound in self.shared for link in bound.links}
        bounds = []
        for link in order:
            (bandwidth, *_), label, span = self.links[link]
            if bandwidth is not None:
                bounds.append(BandwidthBound((link,), bandwidth, label))
            elif link not in covered:
                raise span.error(
                    f"link {link} has no bandwidth",
                    "`bandwidth` after the link, or a `shared` bound that contains it",
                )
        every = (*bounds, *self.shared)
        fabric = None
        timed, first = self.given.get("latency", (False, self.definition.span))
        if timed:
            if self.later:
                raise first.error(
                    "a latency in a topology with shared bounds",
                    "a switch on the path of the links, or no latencies",
                )
            fabric = self.fabric()
        grains = self.grains or 1
        links = tuple(order)
        return Topology(self.name, self.nodes, links, every, self.origin, fabric, grains=grains)

    def _set_switches(self, statement: syntax.Statement, scope: NameScope) -> None:
        if self.evaluator.ambient.nodes is None:
            raise statement.span.error("`switches` before the number of nodes", "`nodes` above it")
        if self.links:
            raise statement.span.error("`switches` after a link", "`switches` before all links")
        count = self._count(statement.value, scope, 0, "switch")
        self.switches = self.evaluator.ambient.switches = count

    def _count(self, expr: Expr, scope: NameScope, least: int, noun: str) -> int:
        count: int = self.evaluator.whole(expr, scope)
        words = f"{self.name} has {counted(count, noun)}"
        if count < least:
            raise expr.span.error(words, f"at least {counted(least, noun)}")
        if count > limits.MAX_NODES:
            raise expr.span.error(
                f"{words}, too many to expand", f"at most {counted(limits.MAX_NODES, noun)}"
            )
        return count

    def _add_switches(self, statement: syntax.SwitchStatement, scope: NameScope) -> None:
        for turn in each(self.evaluator, statement.clauses, scope):
            for expr in statement.switches:
                vertex = self.evaluator.whole(expr, turn)
                if not self.nodes <= vertex < self.nodes + self.switches:
                    raise expr.span.error(
                        f"{statement.keyword} by {written(vertex)}, which is not a switch of "
                        f"{self.name}",
                        "`switch(0)` and so on"
                        if self.switches
                        else "`switches` above 0, and one of them",
                    )
                self.does[statement.keyword][vertex] = None

    def _set_unit(self, statement: syntax.RoundUnit, scope: NameScope) -> None:
        self._require_alike("unit", statement.rate.span, given=True)
        value = Fraction(self.evaluator.number(statement.value, scope))
        if value <= 0:
            raise statement.value.span.error(
                f"a chunk per round at {value} {statement.rate.span.text}", "a bandwidth above 0"
            )
        self.unit = value * statement.rate.factor

    def _set_grain(self, expr: Expr, scope: NameScope) -> None:
        value = Fraction(self.evaluator.number(expr, scope))
        if value.numerator != 1 or value.denominator > MOST_GRAINS:
            raise expr.span.error(
                f"rounds per {value}",
                f"a fraction of a round from 1/{MOST_GRAINS:,} to 1, such as 1/9",
            )
        self.grains = value.denominator

    def _require_alike(self, what: str, span: Span, *, given: bool) -> None:
        """Records whether a unit or a latency is given, the same for all links of a topology."""
        known, first = self.given.setdefault(what, (given, span))
        if known != given:
            raise span.error(_MIXED[what, given].format(first.line), _FOR_ALL[what])

    # Links -------------------------------------------------------------------------------------

    def _add_links(self, statement: syntax.LinkStatement, scope: NameScope) -> None:
        if self.evaluator.ambient.nodes is None:
            raise statement.span.error("a link before the number of nodes", "`nodes` above it")
        fresh: dict[Link, tuple[_Figures, str, Span]] = {}
        for inner, size in rows(self.evaluator, statement.clauses, scope):
            for pair in statement.pairs:
                batch = self._batch(statement, pair, inner, size)
                for link, figures, label in batch:
                    earlier = fresh.get(link)
                    if earlier is None:
                        fresh[link] = figures, label, pair.span
                    elif earlier[0] != figures:
                        pairs = zip(earlier[0], figures, strict=True)
                        which = next(i for i, (one, other) in enumerate(pairs) if one != other)
                        words = [("bandwidth",) * 2, *[("latency", "latencie")] * 2]
                        noun, nouns = words[which]
                        raise pair.span.error(
                            f"this statement gives link {self._pair(link)} two {nouns}s, "
                            f"{earlier[0][which]} and {figures[which]}",
                            f"one {noun} for each link",
                        )
                if len(self.links) + len(fresh) > limits.MAX_LINKS:
                    raise statement.span.error(
                        f"{self.name} has more links than can be expanded",
                        f"at most {limits.MAX_LINKS} directed links",
                    )
        for link in fresh.keys() & self.links.keys():
            first = self.links[link][2]
            raise fresh[link][2].error(
                f"link {self._pair(link)} is already given in line {first.line}",
                "each link in one statement; its bandwidth is the sum of all cables",
            )
        self.links.update(fresh)

    def _batch(
        self, statement: syntax.LinkStatement, pair: syntax.PairOf, scope: NameScope, size: int
    ) -> list[_Row]:
        if not size:
            return []
        evaluator = self.evaluator
        bandwidths: Any = None
        latency = statement.latency
        stated = [] if latency is None else [latency, *statement.protocols]
        try:
            ends = [evaluator.whole(part, scope) for part in (pair.first, pair.second)]
            self._check_pair(pair, ends)
            if statement.bandwidth is not None:
                bandwidths = self._bandwidth(statement.bandwidth, scope, ends)
            times = [evaluator.number(one.value, scope) for one in stated]
            for one, time in zip(stated, times, strict=True):
                self._refuse_where(time < 0, time, one.value, ends)
        except NotVectorisable:
            turns = _single_turns(scope, size)
            return [row for turn in turns for row in self._batch(statement, pair, turn, 1)]
        factor = Fraction(1)
        if statement.bandwidth is not None:
            where = statement.bandwidth if statement.rate is None else statement.rate
            self._require_alike("unit", where.span, given=statement.rate is not None)
            if statement.rate is not None:
                factor = statement.rate.factor
        timed = pair if latency is None else latency
        self._require_alike("latency", timed.span, given=latency is not None)
        evaluator.spend(size * 30, statement.span)
        sources, destinations = (_listed(end, size) for end in ends)
        known = cache(lambda b: None if b is None else Fraction(b) * factor)
        rates = map(known, _listed(bandwidths, size))
        taken = cache(lambda t, second: Fraction(t) * second)
        columns = [
            [taken(time, one.factor) for time in _listed(column, size)]
            for one, column in zip(stated, times, strict=True)
        ]
        names = [one.protocol for one in statement.protocols]
        each_time = zip(*columns, strict=True) if columns else repeat((None,), size)
        figures = [
            (rate, first, tuple(zip(names, others, strict=True)))
            for rate, (first, *others) in zip(rates, each_time, strict=True)
        ]
        labels = self._labels(statement.label, scope, size)
        found = list(zip(zip(sources, destinations, strict=True), figures, labels, strict=True))
        if statement.both_ways:
            found += [((b, a), figure, label) for (a, b), figure, label in found]
        return found

    def _check_pair(self, pair: syntax.PairOf, ends: list[Any]) -> None:
        for end in ends:
            cell = first_live((end < 0) | (end >= self.nodes + self.switches), None, *ends)
            if cell is not None:
                source, destination = (cell_of(e, *cell) for e in ends)
                guilty = cell_of(end, *cell)
                expected = "node 0" if self.nodes == 1 else f"nodes 0 to {self.nodes - 1}"
                if self.switches:
                    expected += " and `switch(0)`" + (
                        f" to `switch({self.switches - 1})`" if self.switches > 1 else ""
                    )
                raise pair.span.error(
                    f"link {self._pair((source, destination))} names node {guilty}, but "
                    f"{self.name} has {self.nodes}",
                    expected,
                )
        cell = first_live(ends[0] == ends[1], None, *ends)
        if cell is not None:
            vertex = cell_of(ends[0], *cell)
            kind, kinds = ("node", "nodes") if vertex < self.nodes else ("switch", "switches")
            raise pair.span.error(
                f"link {self._pair((vertex, vertex))} joins a {kind} to itself",
                f"two different {kinds}",
            )

    def _bandwidth(self, expr: Expr, scope: NameScope, ends: Iterable[Any] = ()) -> Any:
        value = self.evaluator.number(expr, scope)
        self._refuse_where(value <= 0, value, expr, ends, bandwidth=True)
        return value

    def _refuse_where(
        self, bad: Any, value: Any, expr: Expr, ends: Iterable[Any], *, bandwidth: bool = False
    ) -> None:
        """Raises an error for a bad bandwidth, or latency, at its first link."""
        cell = first_live(bad, None, *ends)
        if cell is not None:
            where = ""
            if is_column(value):
                source, destination = (cell_of(end, *cell) for end in ends)
                where = f" on link {self._pair((source, destination))}"
            raise expr.span.error(
                f"{'bandwidth' if bandwidth else 'latency'} {cell_of(value, *cell)}{where}",
                "a bandwidth above 0; leave out links that carry nothing"
                if bandwidth
                else "a latency of at least 0",
            )

    def _pair(self, link: Link) -> str:
        """A link as written in a spec: ``(0, switch(1))``."""
        switches = range(self.nodes, self.nodes + self.switches)
        ends = [f"switch({v - self.nodes})" if v in switches else str(v) for v in link]
        return f"({', '.join(ends)})"

    def _labels(self, label: syntax.Label | None, scope: NameScope, size: int) -> list[str]:
        if label is None:
            return [""] * size
        parts: list[list[str]] = []
        for part in label.parts:
            if isinstance(part, str):
                parts.append([part] * size)
                continue
            value = self.evaluator.value(part, scope, None)
            if not is_column(value) and kind_of(value) not in ("a number", "a Boolean", "a list"):
                raise part.span.error(f"this is {kind_of(value)}", "a number in a label")
            parts.append([written(item) for item in _listed(value, size)])
        return ["".join(words) for words in zip(*parts, strict=True)] if parts else [""] * size

    # Shared bounds -----------------------------------------------------------------------------

    def _add_shared(self, statement: syntax.SharedStatement, scope: NameScope) -> None:
        for turn in each(self.evaluator, statement.outer, scope):
            group: set[Link] = set()
            for inner, size in rows(self.evaluator, statement.inner, turn):
                self.evaluator.spend(30 * size, statement.span)
                singles = _single_turns(inner, size) if statement.inner else [inner]
                for selection in statement.selections:
                    if isinstance(selection, syntax.PairOf):
                        group.update(self._pairs(selection, inner, size))
                    else:
                        for single in singles:
                            group.update(self._selected(selection, single))
            self.shared_pairs += len(group)
            self.evaluator.spend(30 * len(group), statement.span)
            if self.shared_pairs > limits.MAX_SHARED_PAIRS:
                raise statement.span.error(
                    f"the shared bounds of {self.name} are too large to expand",
                    f"at most {limits.MAX_SHARED_PAIRS} links in all of them together",
                )
            bandwidth = Fraction(self._bandwidth(statement.bandwidth, turn))
            label = self._labels(statement.label, turn, 1)[0]
            if group:  # a bound over no links (a node without neighbours) bounds nothing
                counts = Counting(statement.counting or Counting.SENDS)
                self.shared.append(BandwidthBound(tuple(sorted(group)), bandwidth, label, counts))

    def _pairs(self, pair: syntax.PairOf, scope: NameScope, size: int) -> list[Link]:
        if not size:
            return []
        try:
            ends = [self.evaluator.whole(part, scope) for part in (pair.first, pair.second)]
        except NotVectorisable:
            return [
                link for turn in _single_turns(scope, size) for link in self._pairs(pair, turn, 1)
            ]
        found = list(zip(*(_listed(end, size) for end in ends), strict=True))
        for link in found:
            if link not in self.links:
                raise pair.span.error(
                    f"a shared bound covers {link}, which is not a link of {self.name}",
                    "pairs that a `link` statement gives",
                )
        return found

    def _selected(self, selection: syntax.LinkSelection, scope: NameScope) -> Iterable[Link]:
        starts, ends = (
            None if expr is None else self._node_set(expr, scope)
            for expr in (selection.from_nodes, selection.to_nodes)
        )
        if starts is not None:
            found = [link for node in sorted(starts) for link in self.leaving.get(node, ())]
            if ends is not None:
                found = [link for link in found if link[1] in ends]
        elif ends is not None:
            found = [link for node in sorted(ends) for link in self.entering.get(node, ())]
        else:
            found = list(self.links)
        self.evaluator.spend(10 * len(found), selection.span)
        return found

    def _node_set(self, expr: Expr, scope: NameScope) -> set[int]:
        value = self.evaluator.value(expr, scope, None)
        nodes = list(value) if is_list(value) else [self.evaluator.whole(expr, scope)]
        for node in nodes:
            if type(node) is not int or not 0 <= node < self.nodes:
                shown = written(node) if type(node) is int else kind_of(node)
                raise expr.span.error(
                    f"{shown} is not a node of {self.name}", f"nodes 0 to {self.nodes - 1}"
                )
        return set(nodes)


def _listed(value: Any, size: int) -> list[Any]:
    return value.tolist() if is_column(value) else [value] * size


def _single_turns(scope: NameScope, size: int) -> list[NameScope]:
    """The turns of a batch, with single values instead of columns."""
    columns: Mapping[str, list[Any]] = {
        name: value.tolist() for name, value in scope.names.items() if is_column(value)
    }
    if not columns:
        return [scope] * size
    return [
        scope.having(**dict(zip(columns, values, strict=True)))
        for values in zip(*columns.values(), strict=True)
    ]
