"""Lowering: a rewriting of formulas, the formula that it made, and the way back.

A lowering is a pure function from a formula to an `Applied`: a formula that a less able backend
understands, and an inverse that takes each model of it to a model of the formula that was given.
The models of both, seen on the given formula's variables, are the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from syncoll.formula import Assignment, Feature, Formula

__all__ = ["AnswerMap", "Applied", "KeepFirst", "Lowering"]


class AnswerMap(Protocol):
    """Takes assignments back through a lowering."""

    def raise_assignment(self, assignment: Assignment) -> Assignment:
        """The assignment of the given formula that one of the lowered formula stands for."""


@dataclass(frozen=True)
class KeepFirst:
    """The inverse of a lowering that kept all variables and perhaps added some after them.

    Args:
        num_booleans: how many Booleans the given formula had.
        num_integers: how many integers it had.
    """

    num_booleans: int
    num_integers: int

    def raise_assignment(self, assignment: Assignment) -> Assignment:
        """The assignment without the variables that the lowering added."""
        return Assignment(
            booleans=assignment.booleans[: self.num_booleans + 1],
            integers=assignment.integers[: self.num_integers],
        )

    @classmethod
    def of(cls, formula: Formula) -> KeepFirst:
        """The inverse for a lowering of this formula."""
        return cls(formula.num_booleans, formula.num_integers)


@dataclass(frozen=True)
class Applied:
    """What a lowering made of a formula.

    Args:
        formula: the lowered formula.
        inverse: takes its models back.
    """

    formula: Formula
    inverse: AnswerMap


@dataclass(frozen=True)
class Lowering:
    """A lowering's entry in the chain.

    Args:
        name: ``given -> made``, as `syncoll explain` shows it.
        summary: one line.
        apply: the rewriting.
        rewrites: it has nothing to do for formulas that use none of these features.
    """

    name: str
    summary: str
    apply: Callable[[Formula], Applied]
    rewrites: frozenset[Feature]
