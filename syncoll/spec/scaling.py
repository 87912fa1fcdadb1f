"""Proofs that what a collective asks for is proportional to C.

A lower bound on R/C depends only on how many chunks, per C, have to get from where to where.  If
these numbers are proportional to C, a bound for one C holds for every C, however large.

The proof: let every admitted C be a multiple of ``unit``, by the collective's requirements, and let
there be k * C chunks.  Then write the number of a chunk, for C = ``unit`` * t, with mixed digits:

    c = run * (t * high + piece) + low,    0 <= low < run,  0 <= piece < t.

If pre and post depend on ``high`` and ``low`` alone, each of the k * ``unit`` pairs of them stands
for t chunks that start and end alike, for every t: that is proportional to C.  With the largest
``run``, k * ``unit``, it means that pre and post repeat (``c mod P``); with ``run`` = 1 that they
are the same for blocks of chunks (``c div C``); and there is everything between, as in
``(c mod C) div 2``.  Whether it holds is seen from the text of pre and post, by `Refinement`.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import lcm

from syncoll.errors import SpecError
from syncoll.spec import syntax
from syncoll.spec.forms import Form, Unproved
from syncoll.spec.refined_relations import holds
from syncoll.spec.refinement import Budget, Refinement
from syncoll.spec.syntax import Node
from syncoll.spec.values import Scope

__all__ = ["why_it_scales"]

_WORK = 100_000
"""Expressions that one proof may look at: a fraction of a second."""

_MOST_TESTED = 1 << 10
"""Up to where divisors are looked for, from either end."""

_MOST_UNITS = 1 << 40
"""A larger period is no help to anyone."""


def why_it_scales(definition: syntax.CollectiveDefinition, scope: Scope, nodes: int) -> str | None:
    """The reason why pre and post are proportional to C.

    Args:
        definition: a collective with a pre and a post of its own.
        scope: its parameters and its file.
        nodes: P.

    Returns:
        The reason in words; None when there is no proof, or no collective for that P.
    """
    try:
        return _Proof(definition, Refinement.scope(scope), nodes).reason()
    except (Unproved, SpecError):
        return None


class _Proof:
    def __init__(self, definition: syntax.CollectiveDefinition, scope: Scope, nodes: int) -> None:
        self.definition, self.scope, self.nodes = definition, scope, nodes
        self.budget = Budget(_WORK)

    def reason(self) -> str | None:
        """See `why_it_scales`."""
        unit = self._unit()
        refinement = self._refinement(unit, spelled=False)
        self._prelude(refinement)
        total = refinement.total
        if total is None or total.of_chunks is None or total.of_chunks <= 0 or not total.whole:
            return None
        period = int(total.of_chunks * unit)
        for spelled in (False, True):
            for residues in (False, True) if spelled else (False,):
                for run in _runs(period):
                    if self._holds(unit, run, spelled=spelled, residues=residues):
                        return _words(f"{total.of_chunks}", unit, period, run)
        return None

    def _refinement(self, unit: int, *, spelled: bool) -> Refinement:
        return Refinement(self.nodes, unit, spelled=spelled, budget=self.budget)

    def _unit(self) -> int:
        """What divides every admitted C."""
        unit = 1
        for spelled in (False, True):
            while True:
                found = self._prelude(self._refinement(unit, spelled=spelled))[1]
                if unit % found == 0:
                    break
                unit = lcm(unit, found)
                if unit > _MOST_UNITS:
                    raise Unproved
        return unit

    def _prelude(self, refinement: Refinement) -> tuple[dict[Node, Scope], int]:
        """Runs all statements but pre and post; the scope of each, and what divides C."""
        scope, seen, divisor = self.scope, {}, 1
        for statement in self.definition.body:
            seen[statement] = scope
            if isinstance(statement, syntax.ValueDefinition):
                scope = refinement.let(statement, scope)
            elif isinstance(statement, syntax.Require):
                divisor = lcm(divisor, self._required(refinement, statement, scope))
            elif statement is self.definition.chunks:
                try:
                    refinement.total = refinement.number(self.definition.chunks.value, scope)
                except Unproved:
                    refinement.total = None
        return seen, divisor

    @staticmethod
    def _required(refinement: Refinement, statement: syntax.Require, scope: Scope) -> int:
        """What divides C where a requirement holds."""
        try:
            truth = refinement.truth(statement.condition, scope)
        except Unproved:
            return 1
        if truth.value is False:
            raise Unproved  # for no C at all
        return truth.divisor

    def _holds(self, unit: int, run: int, *, spelled: bool, residues: bool) -> bool:
        """Whether pre and post depend on the digits `high` and `low` alone.

        Args:
            unit: what divides every C.
            run: how many chunks the digit `low` counts.
            spelled: whether nodes and the turns of loops are looked at one by one.
            residues: whether the values of `low` are.
        """
        refinement = self._refinement(unit, spelled=spelled)
        scopes, _ = self._prelude(refinement)
        for statement in (self.definition.pre, self.definition.post):
            try:
                relation = refinement.relation(statement.value, scopes[statement])
                for c in self._chunks(run, residues):
                    for n in self._nodes(spelled):
                        if not holds(refinement, relation, c, n, inside=True).same:
                            return False
            except Unproved:
                if self.budget.left < 0:
                    raise
                return False
        return True

    @staticmethod
    def _chunks(run: int, residues: bool) -> Iterator[Form]:
        if residues:
            yield from (Form(run, 0, 1, low, low) for low in range(run))
        else:
            yield Form(run, 0, 1, 0, run - 1)

    def _nodes(self, spelled: bool) -> Iterator[Form]:
        if spelled:
            yield from (Form(0, 0, 0, n, n) for n in range(self.nodes))
        else:
            yield Form(0, 0, 0, 0, self.nodes - 1)


def _runs(period: int) -> list[int]:
    """The divisors of the period, those first that are used most."""
    small = [d for d in range(1, min(period, _MOST_TESTED) + 1) if period % d == 0]
    large = [period // d for d in small]
    return list(dict.fromkeys([period, 1, *small, *reversed(large)]))


def _words(factor: str, unit: int, period: int, run: int) -> str:
    of_c = "C" if factor == "1" else f"{factor} C"
    count = f"there are {of_c} chunks"
    if unit > 1:
        count += f", C a multiple of {unit}"
    if period == 1:
        return f"all chunks start and end alike, and {count}"
    if run == period:
        return f"chunk c + {run} starts and ends like chunk c, and {count}"
    size = "C" if run == unit else f"{run} C" if unit == 1 else f"C * {run} / {unit}"
    if run == 1:
        size = "C" if unit == 1 else f"C / {unit}"
        return f"each block of {size} chunks starts and ends alike, and {count}"
    within = f"within each block of {size} chunks"
    return f"chunk c + {run} starts and ends like chunk c {within}, and {count}"
