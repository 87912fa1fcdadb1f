"""Families: calls of topologies with free parameters, and conditions on them.

``torus(a, b, c)`` is a family of three parameters; its members are given by all whole numbers from
1 to some limit for which a condition holds.  The parts of a condition between ``and`` are separate.
Each applies to the families that have all its parameters.  It is evaluated as early as possible,
and for all values at once if it names only parameters.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from syncoll.errors import SpecError, SpecLimitError
from syncoll.model import Fabric, Topology
from syncoll.spec import syntax
from syncoll.spec.blame import BlamedCall
from syncoll.spec.environment import Ambient
from syncoll.spec.evaluator import Evaluator
from syncoll.spec.instantiate import make_topology, nodes_in_columns, nodes_of_topology
from syncoll.spec.keywords import AMBIENT, BUILTIN_NAMES, list_words
from syncoll.spec.module import Module, module_of, suggest
from syncoll.spec.parser import parse_expression
from syncoll.spec.source import Source
from syncoll.spec.syntax import Expr, names_bound, names_used
from syncoll.spec.values import NameScope, NotVectorisable

_MOST_VALUES = 1 << 22
"""Combinations of values before any condition."""

_MOST_MEMBERS = 1 << 16
"""Combinations of values that meet the conditions on parameters."""

Values = dict[str, int]
"""A value for each parameter."""


@dataclass(frozen=True, eq=False)
class TopologyFamily:
    """A call of a topology, and the names in its arguments that have no value.

    Args:
        reference: the reference as written.
        parameters: in the order of their appearance; empty for a single network.
        routed: whether sends may take several links in a step.
    """

    reference: str
    call: BlamedCall
    home: Module
    parameters: tuple[str, ...]
    routed: bool = False

    @classmethod
    def of(
        cls, reference: str, call: BlamedCall, home: Module, *, routed: bool
    ) -> "TopologyFamily":
        """The family of a call whose arguments see the names of a file."""
        names = [name for argument in call.arguments for name in _names_in(argument.value)]
        free = [
            name
            for name in names
            if name not in AMBIENT
            and name not in BUILTIN_NAMES
            and home.find("value", name) is None
        ]
        return cls(reference, call, home, tuple(dict.fromkeys(free)), routed)

    def nodes(self, values: Values) -> int:
        """P of a member, without its links; raises SpecError if the member does not exist."""
        return nodes_of_topology(self.call, NameScope(self.home, values))

    def topology(self, values: Values) -> Topology | Fabric:
        """A member; raises SpecError if it does not exist."""
        network = make_topology(self.call, NameScope(self.home, values))
        if not self.routed:
            return network
        from syncoll.routing import as_topology, routed

        return routed(as_topology(network))


@dataclass(frozen=True, eq=False)
class SingleTopology:
    """A network that was given as an object: a family of one, without parameters."""

    network: Topology | Fabric
    parameters: ClassVar[tuple[str, ...]] = ()

    @property
    def reference(self) -> str:
        """Its name."""
        return self.network.name

    def nodes(self, _values: Values) -> int:
        """P."""
        return self.network.num_nodes

    def topology(self, _values: Values) -> Topology | Fabric:
        """The object."""
        return self.network


@dataclass(frozen=True, eq=False)
class Condition:
    """A part of a condition between ``and``, and its names except the language's own."""

    expr: Expr
    names: tuple[str, ...]

    def holds(self, names: Mapping[str, Any], mask: npt.NDArray[np.bool_] | None = None) -> Any:
        """Its value, for single values or columns; raises SpecError or NotVectorisable."""
        evaluator = Evaluator(Ambient("the condition"))
        return evaluator.truth(self.expr, NameScope(module_of(self.expr.span.source), names), mask)


def conditions_of(text: str) -> list[Condition]:
    """The parts of a condition between ``and``; raises SpecError if it violates the grammar."""
    source = Source.typed(text)
    if not text.strip():
        raise source.span(0, len(text)).error("an empty condition", "such as `a * b == 64`")
    waiting, found = [parse_expression(source)], []
    while waiting:
        expr = waiting.pop(0)
        if isinstance(expr, syntax.Logic) and expr.op == "and":
            waiting[:0] = [expr.left, expr.right]
        else:
            names = [n for n in _names_in(expr) if n not in BUILTIN_NAMES]
            found.append(Condition(expr, tuple(dict.fromkeys(names))))
    return found


def applying(
    conditions: Iterable[Condition],
    families: Sequence[TopologyFamily | SingleTopology],
    further: Iterable[str],
) -> list[list[Condition]]:
    """For each family the conditions on its parameters; raises SpecError for other names."""
    found: list[list[Condition]] = [[] for _ in families]
    always = list(further)
    for condition in conditions:
        for name in condition.names:
            known = list(dict.fromkeys([*(p for f in families for p in f.parameters), *always]))
            if name not in known:
                place = next(one for one in names_used(condition.expr) if one.id == name)
                raise place.span.error(
                    f"no topology here has a parameter `{name}`{suggest(name, known)}",
                    f"one of {', '.join(known)}",
                )
        hit = False
        for family, own in zip(families, found, strict=True):
            if set(condition.names) <= {*family.parameters, *always}:
                own.append(condition)
                hit = True
        if not hit:
            together = list_words([f"`{name}`" for name in condition.names], "and")
            raise condition.expr.span.error(
                f"no topology here has {together} together",
                "a condition for each of them, with `and` between them",
            )
    return found


def members(
    family: TopologyFamily | SingleTopology, conditions: Sequence[Condition], most: int
) -> Iterator[Values]:
    """The values from 1 to `most` for which the conditions that name only parameters hold.  Raises
    `SpecError` if a condition makes no sense, or leaves too many values.

    Conditions that also name P are evaluated if all values can be at once, and only count for
    members: some values may have no network.
    """
    if isinstance(family, SingleTopology):
        yield from [{}] if all(one.holds({}) for one in conditions if not one.names) else []
        return
    names = family.parameters
    if most ** len(names) > _MOST_VALUES:
        raise family.call.span.error(
            f"{list_words(names, 'and')} from 1 to {most} are {most ** len(names)} machines to "
            "look at",
            f"at most {_MOST_VALUES}; fewer parameters, or smaller ones",
        )
    shape = (most,) * len(names)
    columns = {
        name: np.arange(1, most + 1).reshape([-1 if i == d else 1 for d in range(len(names))])
        for i, name in enumerate(names)
    }
    keep = np.ones(shape, dtype=bool)
    own = [one for one in conditions if set(one.names) <= set(names)]
    by_nodes = [one for one in conditions if "P" in one.names and {*names, "P"} >= set(one.names)]
    if names and by_nodes:
        with suppress(NotVectorisable, SpecError):
            scope = NameScope(family.home, columns)
            columns = {**columns, "P": nodes_in_columns(family.call, scope)}
            own += by_nodes
    later = []
    for condition in own:
        try:
            keep &= np.broadcast_to(condition.holds(columns, keep), shape)
        except (NotVectorisable, SpecLimitError):
            later.append(condition)
    left = int(keep.sum())
    if left > _MOST_MEMBERS:
        raise family.call.span.error(
            f"the condition leaves {left} values of {list_words(names, 'and')} from 1 to {most}",
            f"a condition that leaves at most {_MOST_MEMBERS}, or smaller values",
        )
    later = [condition for condition in later if "P" not in condition.names]
    for position in np.argwhere(keep).tolist():
        values = {name: number + 1 for name, number in zip(names, position, strict=True)}
        if all(condition.holds(values) for condition in later):
            yield values


def _names_in(expr: Expr) -> list[str]:
    """The free names of an expression, in reading order."""
    bound = names_bound(expr)
    return [one.id for one in names_used(expr) if one.id not in bound]
