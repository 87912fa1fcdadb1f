"""The language's own functions: min max abs sum product any all box_nodes len range switch
layout_cells token_places vector.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

from syncoll.spec import limits
from syncoll.spec.arithmetic import (
    Mask,
    arithmetic,
    cell_of,
    choose,
    compare,
    first_live,
    is_boolean,
    is_column,
    is_number,
)
from syncoll.spec.keywords import BUILTIN_NAMES
from syncoll.spec.layouts import layout_cells
from syncoll.spec.syntax import Call, Expr
from syncoll.spec.tokens import token_places
from syncoll.spec.values import NameScope, NotVectorisable, is_list, kind_of, written
from syncoll.wording import counted

if TYPE_CHECKING:
    from syncoll.spec.evaluator import Evaluator

_Function = Callable[["Evaluator", Call, NameScope, Mask], Any]


def _arguments(call: Call, least: int, most: int | None) -> list[Expr]:
    form = f"`{BUILTIN_NAMES[call.id]}`"
    for argument in call.arguments:
        if argument.name is not None:
            raise argument.span.error(f"`{call.id}` takes no named arguments", form)
    count = len(call.arguments)
    if count < least or (most is not None and count > most):
        raise call.span.error(f"`{call.id}` with {counted(count, 'argument')}", form)
    return [argument.value for argument in call.arguments]


def _numbers(
    evaluator: Evaluator, call: Call, scope: NameScope, mask: Mask, *, spread: bool = False
) -> list[Any]:
    """The numbers of a list; with `spread` also the arguments themselves."""
    expressions = _arguments(call, 1, None if spread else 1)
    if spread and len(expressions) > 1:
        return _paid(evaluator, call, [evaluator.number(e, scope, mask) for e in expressions])
    values = _elements(evaluator, call, expressions[0], scope, mask)
    for value in values:
        if not is_number(value):
            raise expressions[0].span.error(f"a list with {kind_of(value)} in it", "numbers")
    return values


def _elements(
    evaluator: Evaluator, call: Call, expression: Expr, scope: NameScope, mask: Mask
) -> list[Any]:
    return _paid(evaluator, call, evaluator.items(expression, scope, mask))


def _paid(evaluator: Evaluator, call: Call, items: Sequence[Any]) -> list[Any]:
    """A list of the items, charged before a long range becomes one in memory."""
    evaluator.spend(limits.WORK_PER_SCALAR * len(items), call.span)
    values = list(items)
    for value in values:
        evaluator.spend_on(value, span=call.span)
    return values


def _extreme(sign: str, evaluator: Evaluator, call: Call, scope: NameScope, mask: Mask) -> Any:
    values = _numbers(evaluator, call, scope, mask, spread=True)
    if not values:
        raise call.span.error(f"`{call.id}` of an empty list", "a list with an element")
    return reduce(lambda a, b: choose(compare(sign, b, a), b, a), values)


def _fold(
    op: str, start: int, evaluator: Evaluator, call: Call, scope: NameScope, mask: Mask
) -> Any:
    values = _numbers(evaluator, call, scope, mask)
    result: Any = start
    for value in values:
        result = arithmetic(op, result, value, mask)
    return result


def _quantifier(
    decides: bool, evaluator: Evaluator, call: Call, scope: NameScope, mask: Mask
) -> Any:
    (expression,) = _arguments(call, 1, 1)
    values = _elements(evaluator, call, expression, scope, mask)
    result: Any = not decides
    for value in values:
        if not is_boolean(value):
            raise expression.span.error(f"a list with {kind_of(value)} in it", "Booleans")
        result = result | value if decides else result & value
    return result


def _absolute(evaluator: Evaluator, call: Call, scope: NameScope, mask: Mask) -> Any:
    (expression,) = _arguments(call, 1, 1)
    return abs(evaluator.number(expression, scope, mask))


def _length(evaluator: Evaluator, call: Call, scope: NameScope, mask: Mask) -> Any:
    (expression,) = _arguments(call, 1, 1)
    return len(evaluator.items(expression, scope, mask))


def _range(evaluator: Evaluator, call: Call, scope: NameScope, mask: Mask) -> Any:
    ends = [evaluator.whole(e, scope, mask) for e in _arguments(call, 1, 2)]
    if any(is_column(end) for end in ends):
        raise NotVectorisable
    found = range(*ends)
    if max(0, found.stop - found.start) > limits.MAX_ROWS:
        raise call.span.error(
            f"a range of {found.stop - found.start} numbers", f"at most {limits.MAX_ROWS}"
        )
    return found


_SWITCHES = {0: "`switches` above 0", 1: "switch 0, the only one"}


def _switch(evaluator: Evaluator, call: Call, scope: NameScope, mask: Mask) -> Any:
    """The number of a switch among the vertices of a topology, after all nodes."""
    (expression,) = _arguments(call, 1, 1)
    nodes, switches = evaluator.ambient.nodes, evaluator.ambient.switches
    if nodes is None or switches is None:
        raise call.span.error(
            f"there are no switches here, in {evaluator.ambient.owner}",
            "`switch(i)` only in topologies, after `switches`",
        )
    index = evaluator.whole(expression, scope, mask)
    cell = first_live((index < 0) | (index >= switches), mask, index)
    if cell is not None:
        raise expression.span.error(
            f"switch {cell_of(index, *cell)} does not exist",
            _SWITCHES.get(switches, f"switches 0 to {switches - 1}"),
        )
    return nodes + index


def _vector(evaluator: Evaluator, call: Call, scope: NameScope, mask: Mask) -> Any:
    """The numbers of a list, or of a matrix with a single row or column."""
    (expression,) = _arguments(call, 1, 1)
    found = _elements(evaluator, call, expression, scope, mask)
    if not any(is_list(item) for item in found):
        return tuple(found)
    rows = [tuple(item) if is_list(item) else (item,) for item in found]
    if len(rows) == 1 and not any(is_list(item) for item in rows[0]):
        return rows[0]
    widths = {len(row) for row in rows}
    if widths == {1} and not any(is_list(row[0]) for row in rows):
        return tuple(row[0] for row in rows)
    width = counted(widths.pop(), "number") if len(widths) == 1 else "different lengths"
    raise expression.span.error(
        f"the list has {len(rows)} rows of {width}",
        "a list of numbers, or a matrix with one row or one column",
    )


def _layout_cells(evaluator: Evaluator, call: Call, scope: NameScope, mask: Mask) -> Any:
    """The cells of an array between two layouts, see `syncoll.spec.layouts`."""
    source, target = (evaluator.items(one, scope, mask) for one in _arguments(call, 2, 2))
    nodes = evaluator.ambient.get("P", call.span)
    evaluator.spend((len(source) + len(target)) * limits.WORK_PER_SCALAR, call.span)
    return layout_cells(source, target, nodes, call.span)


def _box_nodes(evaluator: Evaluator, call: Call, scope: NameScope, mask: Mask) -> Any:
    """The nodes of each of some boxes: a number of boxes of one size, or a list of their sizes."""
    boxes, most = _arguments(call, 2, 2)
    size, given = evaluator.whole(most, scope, mask), evaluator.value(boxes, scope, mask)
    if is_list(given):
        sizes = _elements(evaluator, call, boxes, scope, mask)
    else:
        count = evaluator.whole(boxes, scope, mask)
        sizes = [size] * min(count, limits.MAX_ROWS)
    wrong = next((one for one in sizes if not (is_number(one) and one in range(1, size + 1))), None)
    if wrong is not None or not sizes:
        what = "no boxes" if wrong is None else f"a box of {written(wrong)} nodes"
        raise boxes.span.error(what, f"at least 1 box, or a list of sizes from 1 to {size}")
    ends = [int(end) for end in accumulate(sizes, initial=0)]
    evaluator.spend(limits.WORK_PER_SCALAR * ends[-1], call.span)
    return tuple(tuple(range(*pair)) for pair in pairwise(ends))


def _token_places(evaluator: Evaluator, call: Call, scope: NameScope, mask: Mask) -> Any:
    """The relations of the tokens of a matrix with their ranks, and with the ranks of experts."""
    routing, experts, placement = _arguments(call, 3, 3)
    rows: Any = evaluator.items(routing, scope, mask)
    placed = evaluator.items(placement, scope, mask)
    evaluator.spend(20 * sum(len(row) if is_list(row) else 1 for row in rows), call.span)
    number = evaluator.whole(experts, scope, mask)
    return token_places(rows, number, placed, evaluator.ambient.get("P", call.span), call.span)


BUILTINS: Mapping[str, _Function] = {
    "abs": _absolute,
    "all": partial(_quantifier, False),
    "any": partial(_quantifier, True),
    "box_nodes": _box_nodes,
    "layout_cells": _layout_cells,
    "len": _length,
    "max": partial(_extreme, ">"),
    "min": partial(_extreme, "<"),
    "product": partial(_fold, "*", 1),
    "range": _range,
    "sum": partial(_fold, "+", 0),
    "switch": _switch,
    "token_places": _token_places,
    "vector": _vector,
}
assert BUILTINS.keys() == BUILTIN_NAMES.keys()
