"""Templates: the clauses of a sum, written once for all rows of the same shape.

The clauses of a row ``low <= sum <= high`` depend only on its shape: the coefficients, the literals
known to be sorted, and the bounds.  Each shape is encoded once, over the placeholders ``1 … n`` for
its literals and ``n+1 …`` for auxiliary variables.  One array lookup fills it in for all its rows
(every link in every step).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from syncoll.arrays import Bools, Ints
from syncoll.formula import FormulaBuilder
from syncoll.lowerings._arrays import ints


class SumShape(NamedTuple):
    """The form of a row in normal form; ``low <= 0`` and ``high >= total`` are no bounds.

    Args:
        singles: coefficient and number of unrelated literals, in the order of their placeholders.
        chains: coefficients of literals that imply the one before; their placeholders follow.
    """

    low: int
    high: int
    singles: tuple[tuple[int, int], ...]
    chains: tuple[tuple[int, ...], ...] = ()

    @property
    def num_inputs(self) -> int:
        """Number of literals of a row."""
        return sum(count for _, count in self.singles) + sum(map(len, self.chains))

    def coefficients(self) -> list[int]:
        """The coefficient of every placeholder."""
        singles = [c for c, count in self.singles for _ in range(count)]
        return singles + [c for chain in self.chains for c in chain]

    @property
    def total(self) -> int:
        """The sum when all literals are true."""
        return sum(self.coefficients())

    def negated(self) -> "tuple[SumShape, list[int]]":
        """The same row over the negated literals: its shape, and its inputs as placeholders."""
        singles = sum(count for _, count in self.singles)
        inputs = [-i for i in range(1, singles + 1)]
        first = singles + 1
        for chain in self.chains:
            inputs += [-i for i in reversed(range(first, first + len(chain)))]
            first += len(chain)
        shape = SumShape(
            low=self.total - self.high,
            high=self.total - self.low,
            singles=self.singles,
            chains=tuple(chain[::-1] for chain in self.chains),
        )
        return shape, inputs


@dataclass(frozen=True, eq=False)
class Template:
    """Clauses over placeholders.

    Args:
        num_inputs: the placeholders ``1 … num_inputs`` stand for a row's literals.
        num_auxiliary: the next placeholders stand for new variables.
        starts: starts of each clause's literals.
        literals: placeholders and their negations.
        enforced: whether a clause needs the row's enforcer; the others define the new variables.
    """

    num_inputs: int
    num_auxiliary: int
    starts: Ints
    literals: Ints
    enforced: Bools

    @property
    def cost(self) -> int:
        """Measure for the choice among encodings: literals and new variables."""
        return len(self.literals) + self.num_auxiliary


class TemplateBuilder:
    """Collects the clauses of a template."""

    def __init__(self, num_inputs: int) -> None:
        self.num_inputs = num_inputs
        self._last = num_inputs
        self._starts = [0]
        self._literals: list[int] = []
        self._enforced: list[bool] = []

    def auxiliary(self) -> int:
        """A placeholder for a new variable."""
        self._last += 1
        return self._last

    def define(self, *literals: int, enforced: bool = False) -> None:
        """A clause that always holds; 0 among the literals is left out."""
        self._literals.extend([x for x in literals if x])
        self._starts.append(len(self._literals))
        self._enforced.append(enforced)

    def enforce(self, *literals: int) -> None:
        """A clause that holds if the row's enforcer is true; 0 among the literals is left out."""
        self.define(*literals, enforced=True)

    def include(self, template: Template, inputs: Sequence[int]) -> None:
        """All clauses of a template, over the placeholders given for its inputs."""
        codes = [0, *inputs, *range(self._last + 1, self._last + 1 + template.num_auxiliary)]
        self._last += template.num_auxiliary
        base = len(self._literals)
        self._literals.extend(codes[x] if x > 0 else -codes[-x] for x in template.literals.tolist())
        self._starts.extend((template.starts[1:] + base).tolist())
        self._enforced.extend(template.enforced.tolist())

    @property
    def num_clauses(self) -> int:
        """Number of clauses so far."""
        return len(self._enforced)

    def build(self) -> Template:
        """The template."""
        return Template(
            num_inputs=self.num_inputs,
            num_auxiliary=self._last - self.num_inputs,
            starts=ints(self._starts),
            literals=ints(self._literals),
            enforced=np.array(self._enforced, dtype=np.bool_),
        )


def fill_in(
    template: Template, inputs: Ints, enforcers: Ints, builder: FormulaBuilder
) -> tuple[Ints, Ints, Ints]:
    """Clauses of a template for rows of `inputs` ``[rows, num_inputs]``: sizes, literals,
    enforcers."""
    rows, auxiliary = len(inputs), template.num_auxiliary
    new = np.array(builder.booleans(rows * auxiliary), dtype=np.int64).reshape(rows, auxiliary)
    table = np.concatenate([np.zeros((rows, 1), dtype=np.int64), inputs, new], axis=1)
    literals = table[:, np.abs(template.literals)] * np.sign(template.literals)
    return (
        np.tile(np.diff(template.starts), rows),
        literals.ravel(),
        np.where(template.enforced, enforcers[:, None], 0).ravel(),
    )
