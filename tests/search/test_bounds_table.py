"""The bounds of a search: one for all C of a shape, and cuts where there is no time."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from syncoll.deadline import Deadline
from syncoll.ledger import BoundsTable
from syncoll.ledger.bounds_table import in_turn
from tests.oracles.classics import allgather, broadcast, dgx1, ring

F = Fraction


def test_cuts_around_nodes_are_used_without_time() -> None:
    def prove(*_: object, **__: object) -> Any:
        pytest.fail("it began a linear program")

    late = Deadline.after(0.0)
    for topology, collective, bound in (
        (dgx1(), allgather(), F(7, 6)),
        (ring(4), broadcast(), F(1, 2)),
    ):
        table = BoundsTable(topology, collective, prove, late)
        assert table.bandwidth() == table.bandwidth(3) == bound
        assert table.skipped == {None, 3}
        table.certificate(3).check(topology)


def test_one_bound_serves_every_c() -> None:
    for chunks in (1, 2, 5):
        table = BoundsTable(dgx1(), allgather(), chunks=chunks)
        assert table.shape.chunks == chunks
        assert table.bandwidth(2) == F(3, 2)
        assert table.bandwidth() == F(7, 6)
        assert table.tighten(2) == F(3, 2)
        assert table.least_steps == 2


def test_few_steps_are_bounded_first_then_widely_spaced_ones() -> None:
    assert in_turn([5, 3, 4]) == [3, 4, 5]
    order = in_turn(range(1, 40))
    assert sorted(order) == list(range(1, 40))
    assert order[:6] == [1, 2, 3, 4, 5, 6]
    for count in range(7, 20):  # none of the first stands for many
        asked = sorted(order[:count])
        gaps = [b - a for a, b in zip(asked, [*asked[1:], 40], strict=True)]
        assert max(gaps) <= 3 * 40 / (count - 5)
