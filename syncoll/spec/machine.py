"""From a topology definition to a `Topology`: nodes, then links, then shared bounds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from syncoll.errors import ModelError
from syncoll.model import BandwidthBound, Link, Topology
from syncoll.spec import limits, syntax
from syncoll.spec.arithmetic import cell_of, first_live, is_column
from syncoll.spec.evaluator import Evaluator
from syncoll.spec.rows import rows
from syncoll.spec.source import Span
from syncoll.spec.statements import bind_let, check_requirement
from syncoll.spec.syntax import Expr
from syncoll.spec.turns import each
from syncoll.spec.values import Ragged, Scope, is_list, kind_of, written

__all__ = ["build_topology"]

_Bandwidth = Fraction | None
_Row = tuple[Link, _Bandwidth, str]


def build_topology(
    definition: syntax.TopologyDefinition, evaluator: Evaluator, scope: Scope, name: str
) -> Topology:
    """Expands a definition whose parameters have values.

    Args:
        definition: the definition.
        evaluator: fresh, for this topology.
        scope: the parameters and the file.
        name: the topology's name.

    Raises:
        SpecError: when a statement makes no sense, or the result would be too large.
    """
    return _Builder(definition, evaluator, name).build(scope)


class _Builder:
    def __init__(
        self, definition: syntax.TopologyDefinition, evaluator: Evaluator, name: str
    ) -> None:
        self.definition, self.evaluator, self.name = definition, evaluator, name
        self.nodes = 0
        self.links: dict[Link, tuple[_Bandwidth, str, Span]] = {}
        self.shared: list[BandwidthBound] = []
        self.shared_pairs = 0
        self.leaving: dict[int, list[Link]] = defaultdict(list)
        self.entering: dict[int, list[Link]] = defaultdict(list)

    def build(self, scope: Scope) -> Topology:
        later: list[tuple[syntax.SharedStatement, Scope]] = []
        for statement in self.definition.body:
            if isinstance(statement, syntax.Statement):
                self._set_nodes(statement.value, scope)
            elif isinstance(statement, syntax.ValueDefinition):
                scope = bind_let(self.evaluator, statement, scope)
            elif isinstance(statement, syntax.Require):
                check_requirement(self.evaluator, statement, scope, self.name)
            elif isinstance(statement, syntax.LinkStatement):
                self._add_links(statement, scope)
            elif isinstance(statement, syntax.SharedStatement):
                later.append((statement, scope))
        order = sorted(self.links)
        for link in order:
            self.leaving[link[0]].append(link)
            self.entering[link[1]].append(link)
        for shared, seen in later:
            self._add_shared(shared, seen)
        covered = {link for bound in self.shared for link in bound.links}
        bounds = []
        for link in order:
            bandwidth, label, span = self.links[link]
            if bandwidth is not None:
                bounds.append(BandwidthBound((link,), bandwidth, label))
            elif link not in covered:
                raise span.error(
                    f"link {link} has no bandwidth",
                    "`bandwidth` behind the link, or a `shared` bound that contains it",
                )
        origin = self.definition.name_span.origin
        try:
            return Topology(self.name, self.nodes, tuple(order), (*bounds, *self.shared), origin)
        except ModelError as error:
            raise ModelError(error.message, error.origin or origin, error.expected) from None

    def _set_nodes(self, expr: Expr, scope: Scope) -> None:
        count = self.evaluator.whole(expr, scope)
        if count < 1:
            raise expr.span.error(f"{self.name} has {count} nodes", "at least 1 node")
        if count > limits.MAX_NODES:
            raise expr.span.error(
                f"{self.name} has {count} nodes, too many to expand",
                f"at most {limits.MAX_NODES} nodes",
            )
        self.nodes = self.evaluator.ambient.nodes = count

    # Links -------------------------------------------------------------------------------------

    def _add_links(self, statement: syntax.LinkStatement, scope: Scope) -> None:
        if self.evaluator.ambient.nodes is None:
            raise statement.span.error("a link before the number of nodes", "`nodes` above it")
        fresh: dict[Link, tuple[_Bandwidth, str, Span]] = {}
        for inner, size in rows(self.evaluator, statement.clauses, scope):
            for pair in statement.pairs:
                batch = self._batch(statement, pair, inner, size)
                for link, bandwidth, label in batch:
                    earlier = fresh.get(link)
                    if earlier is None:
                        fresh[link] = bandwidth, label, pair.span
                    elif earlier[0] != bandwidth:
                        raise pair.span.error(
                            f"this statement gives link {link} two bandwidths, "
                            f"{earlier[0]} and {bandwidth}",
                            "one bandwidth for each link",
                        )
                if len(self.links) + len(fresh) > limits.MAX_LINKS:
                    raise statement.span.error(
                        f"{self.name} has more links than can be expanded",
                        f"at most {limits.MAX_LINKS} directed links",
                    )
        for link in fresh.keys() & self.links.keys():
            first = self.links[link][2]
            raise fresh[link][2].error(
                f"link {link} is already given in line {first.line}",
                "each link in one statement; its bandwidth is the sum of what is there",
            )
        self.links.update(fresh)

    def _batch(
        self, statement: syntax.LinkStatement, pair: syntax.PairOf, scope: Scope, size: int
    ) -> list[_Row]:
        try:
            return self._batch_at_once(statement, pair, scope, size)
        except Ragged:
            found: list[_Row] = []
            for turn in _single_turns(scope, size):
                found += self._batch_at_once(statement, pair, turn, 1)
            return found

    def _batch_at_once(
        self, statement: syntax.LinkStatement, pair: syntax.PairOf, scope: Scope, size: int
    ) -> list[_Row]:
        if not size:
            return []
        evaluator = self.evaluator
        ends = [evaluator.whole(part, scope) for part in (pair.first, pair.second)]
        self._check_pair(pair, ends)
        bandwidths: Any = None
        if statement.bandwidth is not None:
            bandwidths = self._bandwidth(statement.bandwidth, scope, ends)
        evaluator.spend(size * 30, statement.span)
        sources, destinations = (_listed(end, size) for end in ends)
        rates: list[_Bandwidth] = [None] * size
        if bandwidths is not None:
            known: dict[Any, Fraction] = {}
            rates = [
                known[b] if b in known else known.setdefault(b, Fraction(b))
                for b in _listed(bandwidths, size)
            ]
        labels = self._labels(statement.label, scope, size)
        found = list(zip(zip(sources, destinations, strict=True), rates, labels, strict=True))
        if statement.both_ways:
            found += [((b, a), rate, label) for (a, b), rate, label in found]
        return found

    def _check_pair(self, pair: syntax.PairOf, ends: list[Any]) -> None:
        for end in ends:
            cell = first_live((end < 0) | (end >= self.nodes), None, *ends)
            if cell is not None:
                source, destination = (cell_of(e, *cell) for e in ends)
                guilty = cell_of(end, *cell)
                raise pair.span.error(
                    f"link ({source}, {destination}) names node {guilty}, but "
                    f"{self.name} has {self.nodes}",
                    "node 0" if self.nodes == 1 else f"nodes 0 to {self.nodes - 1}",
                )
        cell = first_live(ends[0] == ends[1], None, *ends)
        if cell is not None:
            node = cell_of(ends[0], *cell)
            raise pair.span.error(
                f"link ({node}, {node}) joins a node to itself", "two different nodes"
            )

    def _bandwidth(self, expr: Expr, scope: Scope, ends: Iterable[Any] = ()) -> Any:
        value = self.evaluator.number(expr, scope)
        cell = first_live(value <= 0, None, *ends)
        if cell is not None:
            pair = [cell_of(end, *cell) for end in ends] if is_column(value) else []
            where = f" on link ({pair[0]}, {pair[1]})" if pair else ""
            raise expr.span.error(
                f"bandwidth {cell_of(value, *cell)}{where}",
                "a bandwidth above 0; leave out links that carry nothing",
            )
        return value

    def _labels(self, label: syntax.Label | None, scope: Scope, size: int) -> list[str]:
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

    def _add_shared(self, statement: syntax.SharedStatement, scope: Scope) -> None:
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
                self.shared.append(BandwidthBound(tuple(sorted(group)), bandwidth, label))

    def _pairs(self, pair: syntax.PairOf, scope: Scope, size: int) -> list[Link]:
        if not size:
            return []
        try:
            ends = [self.evaluator.whole(part, scope) for part in (pair.first, pair.second)]
        except Ragged:
            return [
                link for turn in _single_turns(scope, size) for link in self._pairs(pair, turn, 1)
            ]
        found = list(zip(*(_listed(end, size) for end in ends), strict=True))
        for link in found:
            if link not in self.links:
                raise pair.span.error(
                    f"a shared bound covers {link}, which is no link of {self.name}",
                    "pairs that a `link` statement gives",
                )
        return found

    def _selected(self, selection: syntax.LinkSelection, scope: Scope) -> Iterable[Link]:
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

    def _node_set(self, expr: Expr, scope: Scope) -> set[int]:
        value = self.evaluator.value(expr, scope, None)
        nodes = list(value) if is_list(value) else [self.evaluator.whole(expr, scope)]
        for node in nodes:
            if type(node) is not int or not 0 <= node < self.nodes:
                shown = written(node) if type(node) is int else kind_of(node)
                raise expr.span.error(
                    f"{shown} is no node of {self.name}", f"nodes 0 to {self.nodes - 1}"
                )
        return set(nodes)


def _listed(value: Any, size: int) -> list[Any]:
    return value.tolist() if is_column(value) else [value] * size


def _single_turns(scope: Scope, size: int) -> list[Scope]:
    """The turns of a batch one by one, with single values instead of columns."""
    columns: Mapping[str, list[Any]] = {
        name: value.tolist() for name, value in scope.names.items() if is_column(value)
    }
    if not columns:
        return [scope] * size
    return [
        scope.having(**dict(zip(columns, values, strict=True)))
        for values in zip(*columns.values(), strict=True)
    ]
