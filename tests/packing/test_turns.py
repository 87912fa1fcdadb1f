"""Turns of seeds, and whole numbers near shares."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

import numpy as np
import pytest

from syncoll.clock import took
from syncoll.deadline import Deadline
from syncoll.packing.remainders import grouped_remainders, largest_remainders
from syncoll.plugins import SeedLimits
from syncoll.plugins.turns import Turn, shared

pytestmark = pytest.mark.usefixtures("counted_work")


def within(units: float) -> SeedLimits:
    return SeedLimits(until=Deadline.after(units))


def numbers(turn: Turn) -> Iterator[int | None]:
    """One number after another, each after a unit of work."""
    for number in range(9):
        if turn.is_over:
            yield None
        took(1.0)
        yield number


def test_a_turn_pauses_and_resumes_with_new_limits() -> None:
    turn = Turn(within(1.5))
    made = turn.run(numbers(turn))
    assert [next(made), next(made), next(made)] == [0, 1, None]
    more = within(1.5)
    assert made.send(more) == 2
    assert turn.limits is more
    assert next(made) == 3
    assert next(made) is None
    with pytest.raises(StopIteration):
        next(made)


def test_limits_in_the_answer_to_a_proposal_hold_at_once() -> None:
    turn = Turn(within(1.5))
    made = turn.run(numbers(turn))
    assert next(made) == 0
    assert [made.send(within(9.0)), next(made), next(made)] == [1, 2, 3]


def test_own_work_excludes_the_user_of_a_proposal() -> None:
    turn = Turn(within(100.0), 1.0)
    made = turn.run(numbers(turn))
    next(made)
    took(20.0)
    next(made)
    assert 0.5 < turn.own(2.7).left() < 0.7
    assert turn.part(0.5).left() < turn.until.left()


def named(own: Turn) -> Iterator[str | None]:
    """The name of a run, after each unit of work; a run with a limit on C ends after as many."""
    most = own.limits.max_chunks
    for _ in range(most or 9):
        if own.is_over:
            yield None
        took(1.0)
        yield "few" if most else "all"


def test_runs_share_each_turn() -> None:
    """One that ends leaves its part to the others."""
    turn = Turn(within(3.5))
    made = turn.run(shared(turn, named, (3, None)))
    assert list(takewhile(bool, made)) == ["few", "few", "all", "all"]
    assert [made.send(within(3.5)), *takewhile(bool, made)] == ["few", "all", "all", "all"]
    assert [made.send(within(9.0)), *made] == ["all"] * 4


def test_limits_that_arrive_in_a_part_leave_it_as_long() -> None:
    turn, end = Turn(within(7.5)), within(7.5)
    made = turn.run(shared(turn, named, (None, 5)))
    found = [next(made)]
    while found[-1]:
        found.append(made.send(SeedLimits(until=end.until)))
    assert found == [*["all"] * 4, *["few"] * 4, None]


def test_remainders_add_up() -> None:
    random = np.random.default_rng(3)
    for _ in range(20):
        shares = random.random(12) * 5
        whole = int(random.integers(0, 40))
        found = largest_remainders(shares, whole)
        assert found.sum() == whole
        assert (abs(found - shares * whole / shares.sum()) < 1).all()
        group = np.sort(random.integers(0, 3, 12))
        sums = np.bincount(group, np.ceil(shares), 3).astype(np.int64)
        sums -= (np.bincount(group, np.ceil(shares) - shares, 3) / 2).astype(np.int64)
        each = grouped_remainders(shares, group, sums)
        assert np.bincount(group, each, 3).tolist() == sums.tolist()
        assert (abs(each - shares) <= 1).all()
