"""The plan's choice is a fastest algorithm at every size, and its ranges cover all sizes."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from math import floor

import pytest
from hypothesis import given, settings, strategies as st

from syncoll.errors import UsageError
from syncoll.planning import CostModel, Plan, plan_sizes
from syncoll.units import parse_bandwidth, parse_time

from .conftest import Costs, Make, make_algorithms

DGX1 = [(2, 3, 2), (3, 7, 6)]
"""The costs of allgather's frontier on a DGX-1."""

costs = st.lists(
    st.tuples(st.integers(1, 6), st.integers(1, 12), st.integers(1, 6)),
    min_size=1,
    max_size=7,
    unique_by=lambda cost: (cost[0], Fraction(cost[1], cost[2])),
)
rationals = st.fractions(min_value=0, max_value=1000, max_denominator=50)
models = st.builds(CostModel, rationals, rationals.map(lambda x: x + Fraction(1, 7)), rationals)
sizes = st.one_of(st.integers(0, 100_000), st.fractions(0, 100_000, max_denominator=1000))


def plan_of(costs: Sequence[Costs], model: CostModel) -> tuple[Plan, list[Fraction]]:
    """A plan, and sizes at and near possible crossovers."""
    plan = plan_sizes(make_algorithms(costs), model)
    near = [max(Fraction(0), x + d) for x in plan.crossovers for d in (-1, Fraction(-1, 9), 0, 1)]
    return plan, [Fraction(0), *near]


def time(cost: Costs, model: CostModel, message: Fraction | int) -> Fraction:
    """The formula of the page without the project's code: L is half the output of two nodes."""
    steps, rounds, chunks = cost
    data = Fraction(rounds, chunks) * message / 2
    return model.overhead + steps * model.alpha + data / model.bandwidth


@settings(max_examples=60, deadline=None)
@given(costs, models, st.lists(sizes, max_size=8))
def test_the_choice_is_a_fastest_at_every_size(
    costs: list[Costs], model: CostModel, some: list[Fraction | int]
) -> None:
    plan, near = plan_of(costs, model)
    for size in [*some, *near]:
        best = plan.best(size)
        least = min(time(cost, model, size) for cost in costs)
        assert plan.seconds(best.algorithm, size) == least
        assert best.low <= size
        assert best.high is None or size < best.high


@settings(max_examples=60, deadline=None)
@given(costs, models)
def test_ranges_partition_all_sizes(costs: list[Costs], model: CostModel) -> None:
    plan, _ = plan_of(costs, model)
    assert plan.ranges[0].low == 0
    assert plan.ranges[-1].high is None
    for one, after in pairwise(plan.ranges):
        assert one.low < after.low == one.high
        assert one.steps < after.steps
        assert one.bandwidth > after.bandwidth
    places = [one.algorithm.where for one in plan.ranges]
    places += [one.algorithm.where for one in plan.never_best]
    assert sorted(places) == [f"points[{i}]" for i in range(len(costs))]


@settings(max_examples=60, deadline=None)
@given(costs, models, st.lists(st.integers(1, 10_000), max_size=8))
def test_ranges_partition_messages_of_whole_bytes(
    costs: list[Costs], model: CostModel, some: list[int]
) -> None:
    plan, near = plan_of(costs, model)
    assert plan.message.per_node == 2, "the output of an allgather of two nodes"
    found = [(one, one.message_bytes) for one in plan.ranges]
    exported = [(one, sizes) for one, sizes in found if sizes is not None]
    begin = 0
    for _, (least, most) in exported[:-1]:
        assert least == begin
        assert most is not None
        assert most >= max(least, 1), "0 would mean no limit to some runtimes"
        begin = most + 1
    assert exported[-1][1] == (begin, None)
    for size in [*some, *(floor(x) + d for x in near for d in (1, 2))]:
        ((one, _),) = [
            (one, sizes)
            for one, sizes in exported
            if sizes[0] <= size and (sizes[1] is None or size <= sizes[1])
        ]
        assert plan.seconds(one.algorithm, size) == min(time(c, model, size) for c in costs)


@settings(max_examples=60, deadline=None)
@given(costs, models, st.lists(sizes, max_size=8))
def test_distance_of_algorithms_that_are_never_best(
    costs: list[Costs], model: CostModel, some: list[Fraction | int]
) -> None:
    plan, near = plan_of(costs, model)
    for one in plan.never_best:
        quotients = [
            plan.seconds(one.algorithm, size) / least
            for size in [*some, *near]
            if (least := min(time(cost, model, size) for cost in costs))
        ]
        assert one.slower is not None
        assert one.slower >= 1
        assert all(one.slower <= quotient for quotient in quotients)
        if one.size is not None:
            best = plan.best(one.size)
            assert best.algorithm is one.above
            assert plan.seconds(one.algorithm, one.size) == one.slower * plan.seconds(
                best.algorithm, one.size
            )


def test_a_dgx1_by_hand(make: Make) -> None:
    """The lines cross where (3 - 2) * 0.7 us = (3/2 - 7/6) * L / (25 GB/s); a message is 2 L."""
    plan = plan_sizes(make(DGX1), CostModel(parse_time("0.7us"), parse_bandwidth("25GB/s")))
    assert plan.crossovers == (Fraction(105000),)
    assert [one.message_bytes for one in plan.ranges] == [(0, 104999), (105000, None)]
    first, last = (one.algorithm for one in plan.ranges)
    assert plan.seconds(first, 105000) == plan.seconds(last, 105000) == Fraction(455, 10**8)
    assert plan.algorithm_bandwidth(first, 0) == 0
    assert plan.algorithm_bandwidth(last, 105000) == 105000 / Fraction(455, 10**8)
    assert plan.algorithm_bandwidth(last, None) == 2 * 25 * 10**9 / Fraction(7, 6)


def test_an_overhead_moves_no_crossover(make: Make) -> None:
    model = CostModel(Fraction(1), Fraction(3))
    later = CostModel(Fraction(1), Fraction(3), Fraction(100))
    assert plan_sizes(make(DGX1), model).crossovers == plan_sizes(make(DGX1), later).crossovers


def test_a_point_above_the_envelope_is_never_best(make: Make) -> None:
    """No other has fewer steps and a lower R/C, but one of two others is always faster."""
    plan = plan_sizes(make([(1, 4, 1), (2, 7, 2), (3, 1, 1)]), CostModel(Fraction(1), Fraction(1)))
    assert [one.algorithm.where for one in plan.ranges] == ["points[0]", "points[2]"]
    (one,) = plan.never_best
    assert one.size == plan.crossovers[0] == Fraction(4, 3)
    assert (one.below, one.above) == (plan.ranges[0].algorithm, plan.ranges[1].algorithm)
    assert one.slower == Fraction(13, 11)


def test_without_latency_only_bandwidth_counts(make: Make) -> None:
    plan = plan_sizes(make(DGX1), CostModel(Fraction(0), Fraction(1)))
    assert [one.algorithm.where for one in plan.ranges] == ["points[1]"]
    (one,) = plan.never_best
    assert one.slower == Fraction(9, 7)


def test_three_lines_through_one_point(make: Make) -> None:
    plan = plan_sizes(make([(1, 3, 1), (2, 2, 1), (3, 1, 1)]), CostModel(Fraction(1), Fraction(1)))
    assert [one.algorithm.where for one in plan.ranges] == ["points[0]", "points[2]"]
    assert plan.never_best[0].slower == 1
    assert plan.never_best[0].size == 2


@pytest.mark.parametrize(
    ("alpha", "bandwidth", "overhead", "complaint"),
    [(-1, 1, 0, "alpha of -1 s is negative"), (1, 0, 0, "moves nothing"), (1, 1, -2, "overhead")],
)
def test_invalid_costs_are_refused(
    alpha: int, bandwidth: int, overhead: int, complaint: str
) -> None:
    with pytest.raises(UsageError, match=complaint):
        CostModel(Fraction(alpha), Fraction(bandwidth), Fraction(overhead))


def test_nothing_to_choose_from(make: Make) -> None:
    with pytest.raises(UsageError, match="no algorithm"):
        plan_sizes([], CostModel(Fraction(1), Fraction(1)))
    with pytest.raises(UsageError, match="negative"):
        plan_sizes(make(DGX1), CostModel(Fraction(1), Fraction(1))).best(-1)
