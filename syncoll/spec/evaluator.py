"""The value of an expression: for single numbers, or for all cells of a relation together.

Variables may stand for columns (numpy arrays): then every operation works on whole columns, and a
comprehension's body is evaluated once.  Three rules give the same results as cell by cell:

- If the language evaluates only under a condition (``and``, ``or``, ``if``), the mask marks the
  cells that count, and only these can raise an error.
- Arithmetic is exact: numbers beyond 64 bits are computed with Python's integers or refused.
- An expression that cannot be done on columns (a list whose length differs from cell to cell)
  raises `NotVectorisable`, and the caller falls back to single cells.

Every operation is charged to a budget, so evaluation ends; definitions cannot recurse.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from syncoll.errors import SpecError, SpecLimitError
from syncoll.spec import limits, syntax
from syncoll.spec.arithmetic import (
    Fault,
    Mask,
    arithmetic,
    cell_of,
    choose,
    first_live,
    is_boolean,
    is_column,
    is_fractional,
    is_number,
)
from syncoll.spec.blame import BlamedCall, RequirementError, blaming, guilty
from syncoll.spec.builtin import BUILTINS
from syncoll.spec.environment import Ambient, bind_arguments, no_such_value
from syncoll.spec.errors import describe_cell, fault_error
from syncoll.spec.iteration import index, list_for, range_of
from syncoll.spec.keywords import AMBIENT
from syncoll.spec.matrix import read_matrix
from syncoll.spec.membership import combine, compare_two, set_of, set_where
from syncoll.spec.module import Found
from syncoll.spec.source import Span
from syncoll.spec.syntax import Expr
from syncoll.spec.values import (
    Closure,
    ListValue,
    NameScope,
    NotVectorisable,
    PairValue,
    Relation,
    is_list,
    kind_of,
    written,
)
from syncoll.wording import counted


@dataclass(eq=False)
class Evaluator:
    """Evaluates the expressions of one definition under one budget."""

    ambient: Ambient
    _left: int = limits.WORK
    _depth: int = 0
    _active: list[syntax.ValueDefinition] = field(default_factory=list)
    _constants: dict[syntax.ValueDefinition, Any] = field(default_factory=dict)

    # Budget and errors -------------------------------------------------------------------------

    def spend(self, cost: int, span: Span) -> None:
        """Charges work; raises SpecLimitError beyond the budget of one definition."""
        self._left -= cost
        if self._left < 0:
            raise SpecLimitError(
                f"{self.ambient.owner} takes more work to evaluate than is allowed",
                span.origin,
                "smaller arguments or fewer `for` variables",
            )

    def spend_on(self, *values: Any, span: Span, by_cell: bool = False) -> None:
        """Charges for an operation on columns."""
        columns = [value for value in values if isinstance(value, np.ndarray)]
        if columns:
            size = max(column.size for column in columns)
            if len(columns) > 1:
                size = math.prod(np.broadcast_shapes(*(column.shape for column in columns)))
            slow = by_cell or any(column.dtype == object for column in columns)
            self.spend(size * (limits.WORK_PER_OBJECT if slow else 1), span)

    # Kinds -------------------------------------------------------------------------------------

    def number(self, expr: Expr, scope: NameScope, mask: Mask = None) -> Any:
        """The value of an expression that must be a number, or a column of numbers."""
        return self.numeric(self.value(expr, scope, mask), expr.span)

    def numeric(self, value: Any, span: Span) -> Any:
        """The value itself, which must be a number or a column of numbers."""
        if not is_number(value):
            raise span.error(f"this is {kind_of(value)}", "a number")
        return value

    def whole(self, expr: Expr, scope: NameScope, mask: Mask = None) -> Any:
        """The value of an expression that must be a whole number, or a column of them."""
        value = self.number(expr, scope, mask)
        if is_column(value) and is_fractional(value):
            bad = np.frompyfunc(lambda x: type(x) is not int, 1, 1)(value).astype(bool)
            cell = first_live(bad, mask)
            if cell is not None:
                shown = f"{cell_of(value, *cell)}" + describe_cell(cell, scope)
                raise expr.span.error(f"this is {shown}", "a whole number")
            return np.where(bad, 0, value).astype(np.int64)
        if is_fractional(value):
            raise expr.span.error(f"this is {value}", "a whole number")
        return value

    def truth(self, expr: Expr, scope: NameScope, mask: Mask = None) -> Any:
        """The value of an expression that must be a Boolean, or a column of Booleans."""
        value = self.value(expr, scope, mask)
        if not is_boolean(value):
            raise expr.span.error(f"this is {kind_of(value)}", "a condition, such as `n == 0`")
        return value

    def relation(self, expr: Expr, scope: NameScope) -> Relation:
        """The value of an expression that must be a relation."""
        value = self.value(expr, scope, None)
        if not isinstance(value, Relation):
            raise expr.span.error(f"this is {kind_of(value)}", "a relation, such as `All`")
        return value

    def items(self, expr: Expr, scope: NameScope, mask: Mask = None) -> ListValue:
        """The value of an expression that must be a list."""
        value = self.value(expr, scope, mask)
        if not is_list(value):
            raise expr.span.error(
                f"this is {kind_of(value)}", "a list, such as `nodes` or `[0, 1]`"
            )
        result: ListValue = value
        return result

    # Expressions -------------------------------------------------------------------------------

    def value(self, expr: Expr, scope: NameScope, mask: Mask) -> Any:
        """The value of any expression; of columns only the cells of the mask count.  Raises
        `SpecError` if it has none, and `NotVectorisable` if it has no common shape for all
        cells."""
        self._left -= limits.WORK_PER_SCALAR
        if self._left < 0:
            self.spend(0, expr.span)
        return _DISPATCH[type(expr)](self, expr, scope, mask)

    def _literal(self, expr: syntax.Literal, _scope: NameScope, _mask: Mask) -> Any:
        return expr.value

    def _matrix(self, expr: syntax.MatrixFile, _scope: NameScope, _mask: Mask) -> Any:
        found = read_matrix(expr.path, expr.span)
        self.spend(len(found) * len(found[0]), expr.span)
        return found

    def _name(self, expr: syntax.Name, scope: NameScope, mask: Mask) -> Any:
        name = expr.id
        if name in scope.names:
            value = scope.names[name]
            if isinstance(value, Closure):
                return self._no_arguments(value.definition, expr)
            return value
        if name in AMBIENT:
            return self.ambient.get(name, expr.span)
        if name == "nodes":
            return range(self.ambient.get("P", expr.span))
        found = scope.module.find("value", name)
        if found is None:
            raise no_such_value(name, expr.span, scope)
        definition = found.definition
        assert isinstance(definition, syntax.ValueDefinition)
        if definition.parameters:
            return self._no_arguments(definition, expr)
        if definition not in self._constants:
            self._constants[definition] = self.body(
                definition, NameScope(found.module, {}), expr.span, mask
            )
        return self._constants[definition]

    def _no_arguments(self, definition: syntax.ValueDefinition, expr: syntax.Name) -> Any:
        raise expr.span.error(f"`{expr.id}` needs arguments", f"`{definition.signature}`")

    def body(
        self, definition: syntax.ValueDefinition, scope: NameScope, span: Span, mask: Mask
    ) -> Any:
        """The value of a definition in the scope of its arguments; see `value`."""
        if definition in self._active:
            raise span.error(
                f"`{definition.name}` is defined in terms of itself",
                "a definition without a circle",
            )
        self._active.append(definition)
        try:
            with self.nested(definition.body.depth, span):
                value = self.value(definition.body, scope, mask)
        finally:
            self._active.pop()
        if definition.is_relation and not isinstance(value, Relation):
            raise definition.body.span.error(
                f"relation `{definition.name}` is defined as {kind_of(value)}", "a relation"
            )
        return value

    @contextmanager
    def nested(self, depth: int, span: Span) -> Iterator[None]:
        """Counts the levels of an expression that is evaluated inside another."""
        if self._depth + depth > limits.MAX_DEPTH:
            raise span.error(
                f"definitions use each other more than {limits.MAX_DEPTH} levels deep",
                "simpler definitions",
            )
        self._depth += depth
        try:
            yield
        finally:
            self._depth -= depth

    def _unary(self, expr: syntax.Unary, scope: NameScope, mask: Mask) -> Any:
        if expr.op == "not":
            value = self.truth(expr.operand, scope, mask)
            return ~value if is_column(value) else not value
        return -self.number(expr.operand, scope, mask)

    def _binary(self, expr: syntax.Binary, scope: NameScope, mask: Mask) -> Any:
        left = self.value(expr.left, scope, mask)
        right = self.value(expr.right, scope, mask)
        if isinstance(left, Relation) or isinstance(right, Relation) or expr.op in "|&":
            return combine(self, expr, left, right)
        self.numeric(left, expr.left.span)
        self.numeric(right, expr.right.span)
        self.spend_on(left, right, span=expr.span, by_cell=expr.op in ("/", "**"))
        try:
            return arithmetic(expr.op, left, right, mask)
        except Fault as fault:
            raise fault_error(fault, expr.op_span, scope) from None

    def _logic(self, expr: syntax.Logic, scope: NameScope, mask: Mask) -> Any:
        left = self.truth(expr.left, scope, mask)
        if not is_column(left):
            if bool(left) == (expr.op == "or"):
                return left
            return self.truth(expr.right, scope, mask)
        undecided = ~left if expr.op == "or" else left
        live = undecided if mask is None else undecided & mask
        self.spend_on(live, span=expr.span)
        if not live.any():
            return left
        right = self.truth(expr.right, scope, live)
        return left | right if expr.op == "or" else left & right

    def _compare(self, expr: syntax.Compare, scope: NameScope, mask: Mask) -> Any:
        values = [self.value(operand, scope, mask) for operand in expr.operands]
        result: Any = True
        for i, op in enumerate(expr.ops):
            a, b = expr.operands[i], expr.operands[i + 1]
            self.spend_on(values[i], values[i + 1], span=expr.span)
            one = compare_two(self, op, a, values[i], b, values[i + 1], mask)
            result = one if i == 0 else result & one
        return result

    def _conditional(self, expr: syntax.Conditional, scope: NameScope, mask: Mask) -> Any:
        condition = self.truth(expr.condition, scope, mask)
        if not is_column(condition):
            return self.value(expr.yes if condition else expr.no, scope, mask)
        masks = [c if mask is None else c & mask for c in (condition, ~condition)]
        parts = []
        for branch, live in zip((expr.yes, expr.no), masks, strict=True):
            parts.append(self.value(branch, scope, live) if live.any() else None)
        self.spend_on(masks[0], span=expr.span)
        yes, no = parts
        if yes is None or no is None:
            return no if yes is None else yes
        for value in parts:
            if not is_number(value) and not is_boolean(value):
                raise NotVectorisable
        if is_boolean(yes) != is_boolean(no):
            raise expr.no.span.error(f"this is {kind_of(no)}", f"{kind_of(yes)}, as after `then`")
        result = choose(condition, yes, no)
        self.spend_on(result, span=expr.span)
        return result

    def _pair(self, expr: syntax.PairOf, scope: NameScope, mask: Mask) -> PairValue:
        return PairValue(
            self.number(expr.first, scope, mask), self.number(expr.second, scope, mask)
        )

    def _list(self, expr: syntax.ListOf, scope: NameScope, mask: Mask) -> ListValue:
        if len(expr.items) == 1 and isinstance(expr.items[0], syntax.RangeOf):
            return range_of(self, expr.items[0], scope, mask)
        found: list[Any] = []
        for item in expr.items:
            if isinstance(item, syntax.RangeOf):
                found += range_of(self, item, scope, mask)
            else:
                found.append(self.element(item, scope, mask))
            if len(found) > limits.MAX_LIST:
                raise expr.span.error(
                    f"a list of more than {limits.MAX_LIST} elements", "a shorter list"
                )
        return tuple(found)

    def element(self, item: Expr, scope: NameScope, mask: Mask) -> Any:
        """The value of an element of a list."""
        value = self.value(item, scope, mask)
        if isinstance(value, (PairValue, Relation)):
            raise item.span.error(f"{kind_of(value)} in a list", "numbers, Booleans or lists")
        return value

    def _call(self, expr: syntax.Call, scope: NameScope, mask: Mask) -> Any:
        target: Any = scope.names.get(expr.id)
        if target is not None:
            if not isinstance(target, Closure):
                raise expr.name_span.error(
                    f"`{expr.id}` is {kind_of(target)} and takes no arguments", "a function"
                )
            definition, home = target.definition, target.scope
        else:
            found = scope.module.find("value", expr.id)
            if found is None:
                if expr.id not in BUILTINS:
                    raise no_such_value(expr.id, expr.name_span, scope, called=True)
                try:
                    result = BUILTINS[expr.id](self, expr, scope, mask)
                except Fault as fault:
                    raise fault_error(fault, expr.span, scope) from None
                self.spend_on(result, span=expr.span)
                return result
            assert isinstance(found.definition, syntax.ValueDefinition)
            definition, home = found.definition, NameScope(found.module, {})
        names = self.bind(definition, home, expr.arguments, scope, expr.span, mask)
        inner = NameScope(home.module, {**home.names, **names})
        call = BlamedCall(Found(definition, home.module), expr.arguments, expr.span)
        with blaming(call, late=True):
            return self.body(definition, inner, expr.name_span, mask)

    # Statements --------------------------------------------------------------------------------

    def let(self, statement: syntax.ValueDefinition, scope: NameScope) -> NameScope:
        """The scope after a `let` statement."""
        if statement.parameters:
            return scope.having(**{statement.name: Closure(statement, scope)})
        value = self.value(statement.body, scope, None)
        if isinstance(value, PairValue):
            raise statement.body.span.error("this is a pair", "a number, Boolean, list or relation")
        return scope.having(**{statement.name: value})

    def require(self, statement: syntax.Require, scope: NameScope, name: str) -> None:
        """Evaluates a `require`; raises RequirementError if it is violated."""
        unasked = False
        try:
            holds = self.truth(statement.condition, scope)
        except SpecError as error:
            if not _is_no_matrix(error, statement.condition):
                raise
            holds, unasked = False, True
        if not holds:
            nodes, span = self.ambient.nodes, statement.condition.span
            text = " ".join(span.text.split())
            brief = f"{name} is not defined" + (f" on {counted(nodes, 'node')}" if nodes else "")
            brief += _shapes(scope.names, text, lists=unasked)
            message = f"{brief}: `{text}` does not hold"
            condition, noun = statement.condition, text.removesuffix(" in nodes")
            if nodes and isinstance(condition, syntax.Compare) and noun.isidentifier():
                value = written(self.value(condition.operands[0], scope, None))
                message = brief = f"{noun} {value} does not exist: the nodes are 0 to {nodes - 1}"
            raise RequirementError(message, span.origin, statement.message, brief)

    def bind(
        self,
        definition: syntax.Definition,
        home: NameScope,
        arguments: tuple[syntax.CallArgument, ...],
        scope: NameScope,
        span: Span,
        mask: Mask = None,
    ) -> dict[str, Any]:
        """A value for every parameter; raises SpecError if arguments and parameters differ."""
        bound = bind_arguments(definition, arguments, span)
        names: dict[str, Any] = {}
        for parameter in definition.parameters:
            given = bound[parameter.name]
            if isinstance(given, tuple):
                names[parameter.name] = tuple(self.element(e, scope, mask) for e in given)
            elif given is not None:
                value = self.value(given, scope, mask)
                if isinstance(value, PairValue):
                    raise given.span.error("a pair as an argument", "a number, Boolean or list")
                names[parameter.name] = value
            else:
                assert parameter.default is not None
                inner = NameScope(home.module, {**home.names, **names})
                with self.nested(parameter.default.depth, span):
                    names[parameter.name] = self.value(parameter.default, inner, mask)
        return names


_Method = Callable[[Evaluator, Any, NameScope, Mask], Any]
_DISPATCH: Mapping[type[Expr], _Method] = {
    syntax.Literal: Evaluator._literal,
    syntax.MatrixFile: Evaluator._matrix,
    syntax.Name: Evaluator._name,
    syntax.Unary: Evaluator._unary,
    syntax.Binary: Evaluator._binary,
    syntax.Logic: Evaluator._logic,
    syntax.Compare: Evaluator._compare,
    syntax.Conditional: Evaluator._conditional,
    syntax.Index: index,
    syntax.PairOf: Evaluator._pair,
    syntax.ListOf: Evaluator._list,
    syntax.ListFor: list_for,
    syntax.RangeOf: range_of,
    syntax.Call: Evaluator._call,
    syntax.SetOf: set_of,
    syntax.SetWhere: set_where,
}


def _is_no_matrix(error: SpecError, condition: Expr) -> bool:
    """Whether an item of a list should be a list itself, which its name does not show a user."""
    if error.origin is None or not error.expected.startswith("a list"):
        return False
    bound = {node.name for node in condition.walk() if isinstance(node, syntax.Binder)}
    return guilty(error.origin) in bound


def _shapes(names: Mapping[str, Any], text: str, *, lists: bool) -> str:
    """The sizes of the matrices, with `lists` also of the lists, that a text names."""
    found = ""
    for name in sorted(set(re.findall(r"\w+", text)) & set(names)):
        rows = names[name]
        if isinstance(rows, tuple) and rows and all(isinstance(row, tuple) for row in rows):
            widths = sorted({len(row) for row in rows})
            wide = " to ".join(str(x) for x in dict.fromkeys((widths[0], widths[-1])))
            found += f"; {name} has {counted(len(rows), 'row')} of {wide} numbers"
        elif lists and isinstance(rows, tuple) and all(is_number(item) for item in rows):
            found += f"; {name} is a list of {counted(len(rows), 'number')}"
    return found
