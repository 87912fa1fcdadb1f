"""Bounds within a time limit: only bounds proved by then count."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from syncoll import clock
from syncoll.bounding import BoundsMemory, combining_rounds_bound, rounds, rounds_bound
from syncoll.bounding.network import TimeExpandedNetwork
from syncoll.bounding.relaxation import Relaxation, RelaxationKind
from syncoll.bounding.rounds import FlowBounds
from syncoll.certificates import Demand, DemandView, RoundsBound, demands
from syncoll.deadline import Deadline, OutOfTimeError, interrupted_at
from syncoll.linear import GrowingProgram, LinearProgram
from syncoll.model import RelationTable
from tests.oracles.classics import allgather, alltoall, dgx1, hub, line, ring


def test_no_time_is_no_bound() -> None:
    needs = demands(allgather().instantiate(dgx1(), chunks=1, steps=0, rounds=0))
    for steps in (None, 3):
        bound = rounds_bound(dgx1(), needs, steps, seconds=0.0)
        assert bound.rounds == 0
        assert bound.certificate is None
    everybody = RelationTable(np.ones((1, 8), dtype=bool), np.ones((1, 8), dtype=bool))
    assert combining_rounds_bound(dgx1(), everybody, seconds=0.0).rounds == 0


def test_the_bound_of_the_first_relaxation_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second one has no end."""
    needs = demands(allgather().instantiate(dgx1(), chunks=1, steps=0, rounds=0))
    usual = Relaxation.solve

    def solve(self: Relaxation, *limits: Any) -> Any:
        if self.kind is RelaxationKind.COPIES:
            raise OutOfTimeError("the time limit was reached")
        return usual(self, *limits)

    monkeypatch.setattr(Relaxation, "solve", solve)
    assert rounds_bound(dgx1(), needs, seconds=60.0).rounds == Fraction(7, 6)


@pytest.mark.parametrize("steps", [None, 4])
@pytest.mark.parametrize("kind", RelaxationKind)
def test_sizes_are_known_before_anything_is_built(steps: int | None, kind: RelaxationKind) -> None:
    for collective in (allgather(), alltoall()):
        needs = demands(collective.instantiate(ring(5), chunks=5, steps=0, rounds=0))
        relaxation = Relaxation(TimeExpandedNetwork.of(ring(5), steps), needs, kind)
        flows = len(relaxation.commodities)
        assert relaxation.num_columns <= flows * (10 * (steps or 1) + 5 * (steps or 0))
        if steps is None:
            assert relaxation.num_columns == flows * 10
        again = Relaxation(TimeExpandedNetwork.of(ring(5), steps), needs, kind)
        assert again.fits(relaxation.num_columns)
        assert not again.fits(relaxation.num_columns - 1)


def test_linear_programs_keep_to_the_deadline_around_them() -> None:
    one = np.ones(1)
    first = np.zeros(1, dtype=np.int64)
    program = LinearProgram(one, first, first, one, one, one)
    growing = GrowingProgram(one)
    growing.add({0: 1.0}, 1.0, 2.0)
    for minimise in (program.minimise_unreduced, growing.minimise):
        with interrupted_at(Deadline.after(60.0)):
            optimum = minimise()
        assert optimum is not None
        assert optimum.value == 1.0


def test_a_skipped_program_is_tried_again_under_higher_limits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rounds, "QUICK", (60_000, 5))
    needs, memory = [Demand((0,), (1, 2, 3), 1)], BoundsMemory()
    quick = rounds_bound(hub(4), needs, 2, thorough=False, seconds=9.0, memory=memory)
    assert quick.rounds == 1
    assert rounds_bound(hub(4), needs, 2, seconds=9.0, memory=memory).rounds == Fraction(3, 2)


def test_the_larger_relaxation_is_for_the_node_of_the_best_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Once, unless it proved next to nothing more for fewer steps; and for more steps that node
    comes first."""
    asked: list[tuple[int, bool]] = []

    def prove(*_: Any, reading: DemandView, node: int, thorough: bool, **__: Any) -> RoundsBound:
        asked.append((node, thorough))
        return RoundsBound(Fraction(50 + 10 * (node == 1) + thorough), 4, None, reading, node)

    machine, memory = line(3), BoundsMemory()
    everybody = RelationTable(np.ones((1, 3), dtype=bool), np.ones((1, 3), dtype=bool))
    for steps, known, first in ((4, None, 0), (5, (4, 1.2), 1), (6, (5, 1.01), 1)):
        asked.clear()
        monkeypatch.setattr(FlowBounds, "copies_prove", lambda *_, known=known: known)
        bound = combining_rounds_bound(
            machine, everybody, steps, thorough=False, prove=prove, memory=memory
        )
        assert asked[0] == (first, False)
        larger = [node for node, thorough in asked if thorough]
        assert larger == ([] if steps == 6 else [1])
        assert bound.rounds == 60 + len(larger)


def test_the_gain_of_copies_is_remembered() -> None:
    machine, needs, memory = hub(4), [Demand((0,), (1, 2, 3), 1)], BoundsMemory()
    flows = memory.flows(machine, needs)
    assert flows.copies_prove(3) is None
    assert rounds_bound(machine, needs, 2, memory=memory).rounds == Fraction(3, 2)
    assert flows.copies_prove(2) is None
    assert flows.copies_prove(3) == (2, pytest.approx(1.5))


def test_a_bound_does_not_depend_on_earlier_questions() -> None:
    """Bounds share results only through a memory that they are given."""
    machine, needs = hub(4), [Demand((0,), (1, 2, 3), 1)]
    with clock.counting():
        first = rounds_bound(machine, needs, 2)
        alone = clock.now()
    with clock.counting():
        rounds_bound(machine, needs, 3)
        before = clock.now()
        assert rounds_bound(machine, needs, 2) == first
        assert clock.now() - before == pytest.approx(alone)
