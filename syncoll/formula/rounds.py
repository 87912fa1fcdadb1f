"""Rounds of steps as integer variables, and the rows that every encoding writes about them."""

from __future__ import annotations

from collections.abc import Sequence

from syncoll.formula.builder import FormulaBuilder
from syncoll.model import BandwidthBound, Instance

__all__ = ["StepRounds"]


class StepRounds:
    """The rounds r_s of each step, integer variable s of a fresh builder; their sum is R."""

    def __init__(self, builder: FormulaBuilder, instance: Instance) -> None:
        self._builder, self._instance = builder, instance
        ranges = (instance.rounds_range(step) for step in range(instance.steps))
        self._variables = [builder.integer(*range_) for range_ in ranges]

    def limit(self, bound: BandwidthBound, step: int, literals: Sequence[int]) -> None:
        """At most ``b * r_s`` of the literals are true, for the rate b of a bound."""
        if literals:
            rate = bound.chunks_per_round
            self._builder.linear(
                [rate.denominator] * len(literals),
                literals,
                [-rate.numerator],
                [self._variables[step]],
                high=0,
            )

    def add_up(self) -> None:
        """The rounds of all steps are R together."""
        rounds = self._instance.rounds
        self._builder.linear(
            integer_coefficients=[1] * len(self._variables),
            integers=self._variables,
            low=rounds,
            high=rounds,
        )
