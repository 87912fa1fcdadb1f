"""Model objects from definitions with arguments: names, defaults and bodies meet here.

A collective has a pre and a post of its own, or is made of others.  ``inverse`` becomes
`inverse_of`, ``then`` and ``or`` `sequence_of`, ``+`` and ``within`` `sum_of`, and ``without``
`syncoll.model.fewer_nodes.without`, each with its place.  A collective that several parts name with
equal arguments is made once, so that a search recognises it (the SCCL paper's allreduce needs its
allgather twice, section 3.5).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Any

from syncoll.errors import Origin
from syncoll.model import Collective, Fabric, Term, Topology, inverse_of, sequence_of, sum_of
from syncoll.model.fewer_nodes import without
from syncoll.model.grains import Rounds, exact
from syncoll.model.reproducible import reproducible
from syncoll.model.sums import checked_groups
from syncoll.spec import syntax
from syncoll.spec.blame import BlamedCall, blaming
from syncoll.spec.collective import build_collective, mentions
from syncoll.spec.environment import Ambient
from syncoll.spec.evaluator import Evaluator
from syncoll.spec.limits import MAX_CHUNKS, MAX_NODES, MAX_NUMBER, MAX_PARTS
from syncoll.spec.source import Span
from syncoll.spec.syntax import Combination, Definition, Expr, Reference
from syncoll.spec.topology_builder import TopologyBuilder
from syncoll.spec.values import NameScope, Relation, written

_SECONDS = {"s": 1, "min": 60, "h": 3600}


@dataclass(frozen=True)
class SearchSpec:
    """A search with its bounds, R <= S + k; None for a bound that the file does not set."""

    name: str
    topology: Topology | Fabric
    collective: Collective
    k: int | None = None
    steps: int | None = None
    rounds: Rounds | None = None
    chunks: int | None = None
    seconds: float | None = None
    encoding: str | None = None
    backend: str | None = None
    origin: Origin | None = field(default=None, compare=False)


_LONGEST_TEXT = 200
"""Characters up to which groups are written out in a name."""


@dataclass(frozen=True, eq=False)
class _SpecGroups:
    """The groups after ``within``, with the place of their errors and a name.  An expression that
    does not depend on P is evaluated, and may fail, at once."""

    expr: Expr
    scope: NameScope
    origin: Origin
    text: str
    fixed: tuple[tuple[int, ...], ...] | None = None

    @classmethod
    def of(cls, expr: Expr, scope: NameScope, origin: Origin) -> "_SpecGroups":
        """The groups of an expression; raises LocatedError."""
        text = " ".join(expr.span.text.split())
        where = expr.span.origin if origin.file == expr.span.source.label else origin
        if mentions(expr, {"P", "nodes"}, {}, scope):
            return cls(expr, scope, where, text)
        value = Evaluator(Ambient("groups")).value(expr, scope, None)
        fixed = checked_groups(value, None, where)
        long = written(value)
        return cls(expr, scope, where, long if len(long) <= _LONGEST_TEXT else text, fixed)

    def __call__(self, nodes: int) -> Sequence[Sequence[int]]:
        """The groups for P nodes; raises as `of`."""
        value: object = self.fixed
        if value is None:
            value = Evaluator(Ambient("groups", nodes)).value(self.expr, self.scope, None)
        return checked_groups(value, nodes, self.origin)


def make_topology(call: BlamedCall, seen: NameScope) -> Topology | Fabric:
    """Instantiates a topology, with arguments that see the names `seen`."""
    with blaming(call):
        return _read_topology(call, seen).network()


def nodes_of_topology(call: BlamedCall, seen: NameScope) -> int:
    """P of a topology, without reading its links; see `make_topology`."""
    with blaming(call):
        return _read_topology(call, seen, to_nodes=True).nodes


def _read_topology(call: BlamedCall, seen: NameScope, *, to_nodes: bool = False) -> TopologyBuilder:
    definition = call.found.definition
    assert isinstance(definition, syntax.TopologyDefinition)
    evaluator, scope, name = _bind_parameters(call, seen)
    builder = TopologyBuilder(definition, evaluator, name, call.origin)
    builder.read(scope, to_nodes=to_nodes)
    return builder


def nodes_in_columns(call: BlamedCall, seen: NameScope) -> Any:
    """P for columns of arguments; raises SpecError or NotVectorisable."""
    definition = call.found.definition
    assert isinstance(definition, syntax.TopologyDefinition)
    evaluator = Evaluator(Ambient(f"topology {definition.name}"))
    home = NameScope(call.found.module, {})
    scope = home.having(**evaluator.bind(definition, home, call.arguments, seen, call.span))
    for statement in definition.body:
        if isinstance(statement, syntax.ValueDefinition):
            scope = evaluator.let(statement, scope)
        elif isinstance(statement, syntax.Statement) and statement.keyword == "nodes":
            return evaluator.whole(statement.value, scope)
    raise definition.name_span.error(f"{definition.name} has no nodes", "`nodes`")


def make_collective(call: BlamedCall, seen: NameScope) -> Collective:
    """Instantiates a collective; raises SpecError, and ModelError for invalid combinations."""
    return _Combiner().sized(call, seen)[0]


def make_combination(node: Combination, scope: NameScope) -> Collective:
    """Instantiates collectives that a reference combines; see `make_collective`."""
    return _Combiner().combined(node, scope, None, None)[0]


def make_search(call: BlamedCall, seen: NameScope) -> SearchSpec:
    """Instantiates a search, with its topology and its collective; see `make_topology`."""
    definition, module = call.found.definition, call.found.module
    assert isinstance(definition, syntax.SearchDefinition)
    evaluator, scope, name = _bind_parameters(call, seen)
    subjects: dict[str, BlamedCall] = {}
    combination: Combination | None = None
    failures: tuple[syntax.DamageClause, ...] = ()
    bounds: dict[str, Any] = {}
    for setting in definition.settings:
        keyword, value = setting.keyword, setting.value
        if isinstance(value, syntax.DamagedReference):
            failures, value = value.failures, value.reference
        if isinstance(value, Combination) and not isinstance(value, Reference):
            combination = value
        elif isinstance(value, Reference):
            found = module.look_up(keyword, value.id, value.name_span)
            subjects[keyword] = BlamedCall(found, value.arguments, value.span)
        elif isinstance(value, str):
            bounds[keyword] = value
        elif keyword == "time":
            seconds = evaluator.number(value, scope) * _SECONDS[setting.unit]
            if seconds <= 0:
                raise value.span.error(f"a time limit of {seconds} s", "a time above 0")
            if seconds >= MAX_NUMBER:
                raise value.span.error("a time limit too large to count", "a shorter time")
            bounds["seconds"] = float(seconds)
        else:
            number = evaluator.number if keyword == "rounds" else evaluator.whole
            bounds[keyword] = exact(number(value, scope))
            least = 0 if keyword == "k" else 1
            if bounds[keyword] <= least - 1:
                raise value.span.error(f"{keyword} {bounds[keyword]}", f"at least {least}")
    network = make_topology(subjects["topology"], scope)
    if failures:
        from syncoll.spec.damages import without as damaged

        network = damaged(network, failures, scope)
    return SearchSpec(
        name if definition.name else "",
        network,
        make_collective(subjects["collective"], scope)
        if combination is None
        else make_combination(combination, scope),
        **bounds,
        origin=definition.name_span.origin,
    )


def _bind_parameters(call: BlamedCall, seen: NameScope) -> tuple[Evaluator, NameScope, str]:
    """An evaluator of the definition, the names that it sees, and the name of the result."""
    definition = call.found.definition
    owner = f"{definition.kind} {definition.name}".strip()
    evaluator = Evaluator(Ambient(owner))
    home = NameScope(call.found.module, {})
    names = evaluator.bind(definition, home, call.arguments, seen, call.span)
    scope = NameScope(call.found.module, names)
    parts: list[str] = []  # arguments of the call as a user would type it
    for parameter in definition.parameters:
        value = names[parameter.name]
        if isinstance(value, Relation):
            raise call.span.error(
                f"`{parameter.name}` of {owner} is a relation", "a number, Boolean or list"
            )
        if parameter.variadic:
            parts += [written(item) for item in value]
        elif parameter.default is None:
            parts.append(written(value))
        elif written(value) != written(evaluator.value(parameter.default, scope, None)):
            parts.append(f"{parameter.name}={written(value)}")
    return evaluator, scope, f"{definition.name}({','.join(parts)})" if parts else definition.name


@dataclass(eq=False)
class _Combiner:
    """Makes one collective with all that it refers to."""

    _active: list[Definition] = field(default_factory=list)
    _calls: list[BlamedCall] = field(default_factory=list)
    _made: dict[tuple[Definition, str], tuple[Collective, int]] = field(default_factory=dict)

    def sized(self, call: BlamedCall, seen: NameScope) -> tuple[Collective, int]:
        """A collective, and the number of its parts."""
        span = call.span
        definition = call.found.definition
        if definition in self._active:
            circle = self._active[self._active.index(definition) :]
            chain = " -> ".join(d.name for d in [*circle, definition])
            raise span.error(
                f"`{definition.name}` is defined in terms of itself: {chain}",
                "definitions without a circle",
            )
        if len(self._active) >= MAX_PARTS:
            raise _too_many(span)
        calls = [call]  # with the shipped definitions around it
        calls += takewhile(lambda outer: outer.found.module.shipped, reversed(self._calls))
        with blaming(*calls):
            _, scope, name = _bind_parameters(call, seen)
        key = definition, name
        if key not in self._made:
            self._active.append(definition)
            self._calls.append(call)
            with blaming(*calls):
                if isinstance(definition, syntax.CombinedDefinition):
                    blamed = calls[-1].span.origin if call.found.module.shipped else None
                    made = self.combined(definition.combination, scope, name, blamed)
                else:
                    made = build_collective(calls, scope, name), 1
                self._made[key] = made
            self._active.pop()
            self._calls.pop()
        return self._made[key]

    def combined(
        self, node: Combination, scope: NameScope, name: str | None, call: Origin | None
    ) -> tuple[Collective, int]:
        """A combination called `name`, and its size; its errors are errors of the call, if any."""
        if isinstance(node, syntax.Reference):
            found = scope.module.look_up("collective", node.id, node.name_span)
            other, size = self.sized(BlamedCall(found, node.arguments, node.span), scope)
            return (other if name is None else replace(other, name=name)), size
        if node.op in ("+", "*", "within"):
            return self._sum(node, scope, name, call)
        if node.op in ("inverse", "without", "reproducible"):
            operand, own = node.parts[0], call or node.span.origin
            one, size = self.combined(operand, scope, None, call)
            if size >= MAX_PARTS:
                raise _too_many(node.span)
            if node.op == "without":
                nodes = node.arguments
                place = call or nodes[0].span.to(nodes[-1].span).origin
                gone = self._gone(nodes, scope)
                return without(one, gone, name or "", own, place), size + 1
            if node.op == "reproducible":
                return reproducible(one, name or "", own), size + 1
            of = f"({one.name})" if _op(operand) in ("+", "*", "within", "without") else one.name
            return inverse_of(one, name or f"inverse {of}", own), size + 1
        choice = node.parts if node.op == "or" else (node,)
        total, spelled = 1, []
        ways: list[tuple[Collective, ...]] = []
        origins = []
        for way in choice:
            spelt = way.parts if isinstance(way, syntax.Combined) and way.op == "then" else (way,)
            parts = []
            for part in spelt:
                one, size = self.combined(part, scope, None, call)
                total += size
                if total > MAX_PARTS:
                    raise _too_many(part.span)
                parts.append(one)
            spelled.append(" then ".join(part.name for part in parts))
            if len(parts) == 1 and parts[0].ways:  # a way that is composed itself
                ways += parts[0].ways
                origins += [[call or way.span.origin] * len(inner) for inner in parts[0].ways]
            else:
                ways.append(tuple(parts))
                origins.append([call or part.span.origin for part in spelt])
        made = sequence_of(
            ways, name or f"({' or '.join(spelled)})", call or node.span.origin, origins=origins
        )
        return made, total

    def _sum(
        self, node: syntax.Combined, scope: NameScope, name: str | None, call: Origin | None
    ) -> tuple[Collective, int]:
        """The sum of the terms of a node, each with its weight and its groups."""
        terms, total = [], 1
        for part in node.parts if node.op == "+" else (node,):
            origin, weight, inner = call or part.span.origin, 1, part
            if isinstance(inner, syntax.Combined) and inner.op == "*":
                weight, inner = self._weight(inner.arguments[0], scope), inner.parts[0]
            groups, behind = None, ""
            if isinstance(inner, syntax.Combined) and inner.op == "within":
                groups = _SpecGroups.of(inner.arguments[0], scope, origin)
                behind, inner = f" within {groups.text}", inner.parts[0]
            own, size = self.combined(inner, scope, None, call)
            total += size
            if total > MAX_PARTS:
                raise _too_many(part.span)
            loose = _op(inner) in ("+", "*") or (_op(inner) == "within" and weight > 1)
            spelled = f"({own.name})" if loose else own.name
            before = f"{weight} * " if weight > 1 else ""
            terms.append(Term(own, weight, groups, origin, f"{before}{spelled}{behind}"))
        return sum_of(terms, name or "", call or node.span.origin), total

    def _gone(self, nodes: Iterable[syntax.Expr], scope: NameScope) -> list[int]:
        """The nodes after ``without``."""
        evaluator = Evaluator(Ambient("the removed nodes"))
        found: list[int] = []
        for expr in nodes:
            one = evaluator.whole(expr, scope)
            if not 0 <= one < MAX_NODES:
                raise expr.span.error(f"node {one}", f"a node of 0 to {MAX_NODES - 1}")
            if one in found:
                raise expr.span.error(f"node {one} occurs twice", "different nodes")
            found.append(int(one))
        return found

    def _weight(self, weight: syntax.Expr, scope: NameScope) -> int:
        evaluator = Evaluator(Ambient("a sum of collectives"))
        found = evaluator.whole(weight, scope)
        if not 1 <= found <= MAX_CHUNKS:
            raise weight.span.error(f"a weight of {found}", f"1 to {MAX_CHUNKS}")
        return int(found)


def _op(node: Combination) -> str:
    return node.op if isinstance(node, syntax.Combined) else ""


def _too_many(span: Span) -> Exception:
    return span.error(f"a collective combined from more than {MAX_PARTS} parts", "fewer parts")
