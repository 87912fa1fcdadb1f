"""Lowering: a rewriting of formulas, the formula that it made, and the way back.

A lowering is a pure function from a formula to an `Applied`: a formula for a less able backend, and
an inverse that takes each of its models to a model of the original formula.  Both formulas have the
same models on the original variables.

The effect of a lowering on features is declared at its registration.  From these declarations
`syncoll.lowerings.chain` computes the lowerings that a backend needs.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol

from syncoll.formula import Assignment, Feature, Formula


class AnswerMap(Protocol):
    """Takes assignments back through a lowering."""

    def raise_assignment(self, assignment: Assignment) -> Assignment:
        """The assignment of the original formula that corresponds to one of the lowered formula."""


@dataclass(frozen=True)
class KeepFirst:
    """The inverse of a lowering that kept these variables and perhaps added some after them."""

    num_booleans: int
    num_integers: int

    def raise_assignment(self, assignment: Assignment) -> Assignment:
        """The assignment without the variables that the lowering added."""
        return Assignment(
            booleans=assignment.booleans[: self.num_booleans + 1],
            integers=assignment.integers[: self.num_integers],
        )


@dataclass(frozen=True)
class Applied:
    """The result of a lowering: a formula, and an `inverse` that takes its models back."""

    formula: Formula
    inverse: AnswerMap


Rewriting = Callable[[Formula], Applied]

Turns = tuple[tuple[Feature, tuple[Feature, ...]], ...]
"""Features, each with the features that its rows are rewritten into."""


@dataclass(frozen=True)
class Lowering:
    """A registered lowering.

    Args:
        name: ``given -> made``, as `syncoll explain` shows it.
        turns: features that it removes, each with the features that it adds.
        some: features that it rewrites in part, likewise; they stay.
        cost: cost of each feature that it rewrites; half for a part.
        after: features that must be removed first.
    """

    name: str
    summary: str
    apply: Rewriting
    turns: Turns = ()
    some: Turns = ()
    cost: int = 10
    after: frozenset[Feature] = frozenset()

    @property
    def rewrites(self) -> frozenset[Feature]:
        """The features that it rewrites; it does not change formulas without them."""
        return frozenset(feature for feature, _ in self.turns or self.some)


LOWERINGS: list[Lowering] = []
"""All registered lowerings."""


def registered(
    name: str,
    summary: str,
    *,
    turns: Mapping[Feature, Iterable[Feature]] | None = None,
    some: Mapping[Feature, Iterable[Feature]] | None = None,
    cost: int = 10,
    after: Iterable[Feature] = (),
) -> Callable[[Callable[[Formula], Applied | Formula]], Rewriting]:
    """Registers the decorated function as a lowering; see `Lowering` for the declarations.  A
    function that keeps all variables, and only adds some after them, returns only a formula."""

    def register(rewrite: Callable[[Formula], Applied | Formula]) -> Rewriting:
        def apply(formula: Formula) -> Applied:
            made = rewrite(formula)
            if isinstance(made, Applied):
                return made
            return Applied(made, KeepFirst(formula.num_booleans, formula.num_integers))

        whole, part = (
            tuple((feature, tuple(made)) for feature, made in (given or {}).items())
            for given in (turns, some)
        )
        LOWERINGS.append(Lowering(name, summary, apply, whole, part, cost, frozenset(after)))
        return apply

    return register


_check: ContextVar[Callable[[], None]] = ContextVar("check", default=lambda: None)


@contextmanager
def stoppable(check: Callable[[], None]) -> Iterator[None]:
    """In this context lowerings of this thread call the check from time to time; it may raise."""
    token = _check.set(check)
    try:
        yield
    finally:
        _check.reset(token)


def go_on() -> None:
    """Calls the check, if one is set; its errors pass."""
    _check.get()()
