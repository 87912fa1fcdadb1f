"""SearchSpec: a search with its bounds, as a spec file writes it."""

from __future__ import annotations

from dataclasses import dataclass, field

from syncoll.errors import Origin
from syncoll.model import Collective, Fabric, Topology
from syncoll.spec import syntax
from syncoll.spec.evaluator import Evaluator
from syncoll.spec.limits import MAX_NUMBER
from syncoll.spec.values import NameScope

__all__ = ["SearchSpec", "read_bounds"]

_SECONDS = {"s": 1, "min": 60, "h": 3600}


@dataclass(frozen=True)
class SearchSpec:
    """What to search, and how far; None where the file sets no bound.

    Args:
        name: of the search; empty when it has none.
        k: R <= S + k.
    """

    name: str
    topology: Topology | Fabric
    collective: Collective
    k: int | None = None
    steps: int | None = None
    rounds: int | None = None
    chunks: int | None = None
    seconds: float | None = None
    encoding: str | None = None
    backend: str | None = None
    origin: Origin | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Bounds:
    """The numbers and plugin names of a search."""

    numbers: dict[str, int]
    seconds: float | None
    plugins: dict[str, str]


def read_bounds(
    definition: syntax.SearchDefinition, evaluator: Evaluator, scope: NameScope
) -> Bounds:
    """Evaluates the settings of a search, apart from what it searches.

    Raises:
        SpecError: when a bound is no number, or out of its range.
    """
    numbers: dict[str, int] = {}
    plugins: dict[str, str] = {}
    seconds: float | None = None
    for setting in definition.settings:
        value = setting.value
        if isinstance(value, str):
            plugins[setting.keyword] = value
        elif isinstance(value, syntax.Expr) and setting.keyword == "time":
            amount = evaluator.number(value, scope) * _SECONDS[setting.unit]
            if amount <= 0:
                raise value.span.error(f"a time limit of {amount} s", "a time above 0")
            if amount >= MAX_NUMBER:
                raise value.span.error("a time limit too large to count", "a shorter time")
            seconds = float(amount)
        elif isinstance(value, syntax.Expr):
            bound = evaluator.whole(value, scope)
            least = 0 if setting.keyword == "k" else 1
            if bound < least:
                raise value.span.error(f"{setting.keyword} {bound}", f"at least {least}")
            numbers[setting.keyword] = bound
    return Bounds(numbers, seconds, plugins)
