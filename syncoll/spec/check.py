"""`syncoll spec check`: all checks of a file that need no search.

The file is parsed and every definition is checked statically.  Topologies and searches without
arguments are built completely; collectives, relations and constants that depend on P, C or G are
evaluated for a few small numbers.  In definitions that need arguments, the expressions without
variables are evaluated in every branch: `1 / 0` never has a value.

A single evaluation is bounded by `limits.WORK`, all of them together by a time.
"""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from syncoll.errors import LocatedError, ModelError, SpecError
from syncoll.model import Collective, Fabric, Topology
from syncoll.spec import limits, syntax
from syncoll.spec.blame import BlamedCall, RequirementError
from syncoll.spec.collective import EmptyError, mentions, table_of
from syncoll.spec.environment import Ambient
from syncoll.spec.evaluator import Evaluator
from syncoll.spec.instantiate import make_collective, make_search, make_topology
from syncoll.spec.keywords import AMBIENT, BUILTIN_NAMES
from syncoll.spec.library import DefinitionSummary, SpecLibrary, summarise
from syncoll.spec.module import Found, Module, load_module
from syncoll.spec.parser import parse_file
from syncoll.spec.resolver import check_definition, find_circles, used_by, used_first
from syncoll.spec.source import read_source
from syncoll.spec.syntax import Definition, Expr, Node
from syncoll.spec.values import NameScope, Relation

_BEGINS = re.compile(r"^(?:relation|collective|topology|search|let|import)\b", re.MULTILINE)


@dataclass(frozen=True)
class CheckReport:
    """The result of a check, with definitions and errors in the order of the file."""

    file: str
    definitions: tuple[DefinitionSummary, ...]
    errors: tuple[LocatedError, ...]
    notes: tuple[str, ...] = ()


def check_file(
    path: str | Path, library: SpecLibrary, lower: Callable[[Fabric], object] | None = None
) -> CheckReport:
    """Checks a file without raising errors for a wrong one; `lower` tries to lower its fabrics."""
    label = str(path)
    try:
        module = load_module(Path(path), label, library)
    except SpecError as error:
        return CheckReport(label, (), tuple(_syntax_errors(Path(path), label, error)))
    if module.is_empty:
        what = "contains comments only" if module.source.text.strip() else "is empty"
        nothing = SpecError(f"{label} {what}", None, "a definition, such as a topology")
        return CheckReport(label, (), (nothing,))
    definitions = [*module.own.values(), *(s for s in module.searches if not s.name)]
    definitions.sort(key=lambda definition: definition.span.start)
    errors: list[LocatedError] = list(find_circles(module))
    notes: list[str] = []
    if not definitions:
        notes.append("it imports other files and defines nothing itself")
    trials = None if errors else Trials(module, lower)
    results: dict[Definition, list[LocatedError]] = {}
    wrong: set[Definition] = set()  # with their users, so that each cause is reported once
    told: dict[Definition, str] = {}
    for definition in used_first(definitions, module) if trials is not None else definitions:
        found: list[LocatedError] = list(check_definition(definition, module))
        whole = trials is not None and wrong.isdisjoint(used_by(definition, module))
        if not found and trials is not None:
            found, told[definition] = trials.run(definition, whole=whole)
        if found or not whole:
            wrong.add(definition)
        results[definition] = found
    for definition in definitions:
        errors += results[definition]
        notes += [told[definition]] if told.get(definition) else []
    unique = {(error.message, error.origin): error for error in errors}
    return CheckReport(
        label, tuple(map(summarise, definitions)), tuple(unique.values()), tuple(notes)
    )


def _syntax_errors(path: Path, label: str, first: SpecError) -> list[SpecError]:
    """The first error, and the errors of later definitions that begin in the first column."""
    errors = [first]
    try:
        source = read_source(path, label)
    except SpecError:
        return errors
    starts = [match.start() for match in _BEGINS.finditer(source.text)]
    for start, end in pairwise([*starts, len(source.text)]):
        try:
            parse_file(source, start, end)
        except SpecError as error:
            if (error.message, error.origin) != (first.message, first.origin):
                errors.append(error)
    if len(errors) > 1 and first.origin is not None and first.message.startswith("the text ends"):
        return errors[1:]  # the same error, found from the end of the file
    return errors


_SIZES = [(nodes, c) for nodes in (1, 2, 3, 4, 8) for c in sorted({1, nodes, 2 * nodes})]
"""Pairs of P and C that are tried."""

_MOST_CHUNKS = 256
"""The largest C tried for the collective of a search."""

_SECONDS = 30.0
"""Processor time of all trials of a file; afterwards only names are checked."""

_CLOSED = (
    *(syntax.Literal, syntax.Unary, syntax.Binary, syntax.Compare),
    *(syntax.ListOf, syntax.RangeOf, syntax.Index, syntax.CallArgument),
)
"""The nodes of plain arithmetic on numbers."""


class Trials:
    """Tries the definitions of a file; the `clock` has seconds, by default of the processor."""

    def __init__(
        self,
        module: Module,
        lower: Callable[[Fabric], object] | None = None,
        seconds: float = _SECONDS,
        clock: Callable[[], float] = time.process_time,
    ) -> None:
        self._module, self._lower, self._clock = module, lower, clock
        self._end = clock() + seconds

    def run(self, definition: Definition, *, whole: bool = True) -> tuple[list[LocatedError], str]:
        """The errors of a definition, or of its closed expressions only, and a note on gaps."""
        what = f"{definition.kind} {definition.signature}".strip()
        if self._is_over and not isinstance(definition, syntax.CombinedDefinition):
            return [], f"{what}: names checked only, for lack of time"
        errors = self._closed(definition)
        if errors or not whole:
            return errors, ""
        needs = f"{what} needs arguments: names checked only"
        if any(p.default is None and not p.variadic for p in definition.parameters):
            return [], needs
        try:
            return [], self._try(definition)
        except LocatedError as error:
            if isinstance(error, RequirementError) and any(
                p.variadic for p in definition.parameters
            ):
                return [], needs  # its own error says that it needs arguments
            return [error], ""

    @property
    def _is_over(self) -> bool:
        return self._clock() >= self._end

    def _try(self, definition: Definition) -> str:
        """Builds or evaluates a definition; returns a note if it was only done in part."""
        scope = NameScope(self._module, {})
        call = BlamedCall(Found(definition, self._module), (), definition.name_span)
        if isinstance(definition, syntax.ValueDefinition):
            self._value(definition, scope)
        elif isinstance(definition, syntax.TopologyDefinition):
            network = make_topology(call, scope)
            switches = isinstance(network, Fabric) and network.num_switches
            if switches and network.num_nodes**2 > limits.MAX_LINKS:
                return (
                    f"topology {definition.signature} has {network.num_nodes} nodes, too many for "
                    "algorithms of steps; `syncoll forest` takes it"
                )
            self._lowered(network)
        elif isinstance(definition, syntax.SearchDefinition):
            search = make_search(call, scope)
            self._lowered(search.topology)
            nodes, what = search.topology.num_nodes, search.collective
            tried = range(1, min(search.chunks or 2 * nodes, _MOST_CHUNKS) + 1)
            chunks = next((c for c in tried if what.admits(nodes, c)), None)
            if chunks is not None:
                what.tabulate(nodes, chunks)
        else:
            return self._collective(definition, make_collective(call, scope))
        return ""

    def _lowered(self, network: Topology | Fabric) -> None:
        if self._lower is not None and isinstance(network, Fabric):
            self._lower(network)

    def _value(self, definition: syntax.ValueDefinition, scope: NameScope) -> None:
        """Evaluates a constant, or a relation for every cell; an error counts if all sizes fail."""
        if (
            not definition.is_relation
            and not mentions(definition, {*AMBIENT, "nodes"}, {}, scope)
            and not isinstance(self._evaluate(definition, scope, None), Relation)
        ):
            return
        failure: LocatedError | None = None
        for size in _SIZES:
            if self._is_over and failure is not None:
                return
            try:
                self._evaluate(definition, scope, size)
            except LocatedError as error:
                failure = error
            else:
                return
        assert failure is not None
        raise failure

    def _evaluate(
        self, definition: syntax.ValueDefinition, scope: NameScope, size: tuple[int, int] | None
    ) -> object:
        """The value of a definition; a relation is asked for every cell of a P and C."""
        ambient = Ambient(f"{definition.kind} {definition.name}")
        if size is not None:
            ambient.nodes, ambient.chunks = size
            ambient.total = ambient.nodes * ambient.chunks
        evaluator, span = Evaluator(ambient), definition.body.span
        names = evaluator.bind(definition, scope, (), scope, definition.name_span)
        value = evaluator.body(definition, NameScope(self._module, names), span, None)
        if isinstance(value, Relation) and ambient.nodes is not None and ambient.total is not None:
            table_of(evaluator, value, ambient.total, ambient.nodes, span)
        return value

    def _collective(self, definition: Definition, collective: Collective) -> str:
        """Makes tables for small P and C; a collective may be undefined on the smallest P."""
        if isinstance(definition, syntax.CollectiveDefinition):
            span = definition.post.value.span
        else:
            assert isinstance(definition, syntax.CombinedDefinition)
            span = definition.combination.span
        tried, hopeless = False, set[int]()
        failure: LocatedError | None = None
        for nodes, chunks in _SIZES:
            if nodes in hopeless:
                continue
            if self._is_over:
                return f"collective {definition.signature}: tried in part, for lack of time"
            try:
                if not collective.admits(nodes, chunks):
                    continue
                table = collective.tabulate(nodes, chunks)
            except RequirementError:
                hopeless.add(nodes)  # not defined for this number of nodes
                continue
            except (ModelError, EmptyError) as error:
                failure = error
                hopeless.add(nodes)
                continue
            tried, failure = True, None
            if not table.ends.sets.any():
                raise span.error(
                    f"the post of collective {definition.name} is empty for P = {nodes} and C = "
                    f"{chunks}: no data has to move",
                    "at least one chunk that must reach a node",
                )
        if failure is not None:
            raise failure
        if not tried:
            return f"collective {definition.signature} could be tried on no P and C up to 16"
        return ""

    def _closed(self, definition: Definition) -> list[LocatedError]:
        """The errors of the expressions without variables."""
        errors: list[LocatedError] = []
        evaluator = Evaluator(Ambient(f"{definition.kind} {definition.name}".strip()))
        functions = self._functions(definition)
        waiting: list[Node] = [definition]
        known: dict[Node, bool] = {}

        def is_closed(node: Node) -> bool:
            if node not in known:
                named = isinstance(node, syntax.Call) and node.id in functions
                alone = named or isinstance(node, _CLOSED)
                known[node] = alone and all(map(is_closed, node.children()))
            return known[node]

        while waiting and not self._is_over:
            node = waiting.pop()
            if not isinstance(node, Expr) or not is_closed(node):
                waiting += node.children()
                continue
            try:
                evaluator.value(node, NameScope(self._module, {}), None)
            except SpecError as error:
                errors.append(error)
        return errors

    def _functions(self, definition: Definition) -> set[str]:
        """The language's functions that are not hidden by a definition of the same name."""
        hidden = {p.name for p in definition.parameters} | {"switch"}
        hidden |= {c.name for c in definition.children() if isinstance(c, syntax.ValueDefinition)}
        names = BUILTIN_NAMES.keys() - hidden
        return {name for name in names if self._module.find("value", name) is None}
