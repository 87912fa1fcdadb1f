"""Ranges by times of single sizes: the fastest at every size, found with few times."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any, cast

import pytest

from syncoll.documents import StoredAlgorithm
from syncoll.planning import CostModel, export_plan, plan_sizes
from syncoll.planning.crossings import FAR, envelope, fastest
from syncoll.plugins import CheckedExport, Exported, ExporterRecord, ExportRequest, PluginManager
from syncoll.runtime import HandedOut

from .conftest import Costs, Make

Line = tuple[int, Fraction]
"""Seconds at 0 bytes, seconds for each byte."""


class Curves:
    """The time of each algorithm is the maximum of some straight lines; counts the calls."""

    def __init__(self, algorithms: Sequence[StoredAlgorithm], lines: Sequence[Sequence[Line]]):
        self.lines = dict(zip(algorithms, lines, strict=True))
        self.asked = 0

    def __call__(
        self, one: StoredAlgorithm, sizes: Sequence[Fraction | int]
    ) -> tuple[Fraction, ...]:
        self.asked += len(sizes)
        return tuple(max(a + b * size for a, b in self.lines[one]) for size in sizes)


@pytest.mark.parametrize("seed", range(40))
def test_it_is_the_fastest_on_both_sides_of_each_crossing(make: Make, seed: int) -> None:
    rng = random.Random(seed)
    costs: list[Costs] = [(s, 9 - s, 1) for s in range(1, rng.randint(3, 7))]
    algorithms = make(costs)

    def line() -> Line:
        return rng.randint(1, 10**6), Fraction(rng.randint(1, 10**6), 10 ** rng.randint(0, 5))

    curves = Curves(algorithms, [[line() for _ in range(rng.randint(1, 3))] for _ in costs])
    found = envelope(algorithms, curves)
    assert curves.asked <= len(costs) * 100

    def best(size: int) -> int:
        return fastest([curves(one, [size])[0] for one in algorithms])

    for (before, _), (after, low) in pairwise(found.starts):
        assert (best(low - 1), best(low)) == (before, after)
    for size in [1 << bits for bits in range(10, 31, 2)]:
        assert found.fastest(size) == best(size)
    for number, nearest in found.others.items():
        at = FAR if nearest.size is None else nearest.size
        least = min(curves(one, [at])[0] for one in algorithms)
        assert nearest.slower == curves(algorithms[number], [at])[0] / least > 1


def test_straight_lines_cross_at_the_formulas_sizes(make: Make) -> None:
    """The same ranges as in lockstep, to the byte."""
    algorithms = make([(2, 3, 2), (3, 7, 6), (4, 5, 4), (7, 1, 1)])
    model = CostModel(Fraction(7, 10**7), Fraction(23 * 10**9, 7), Fraction(1, 10**6))
    exact = plan_sizes(algorithms, model)

    def by_node(one: StoredAlgorithm, sizes: Sequence[Fraction | int]) -> Sequence[Fraction]:
        """A message is the output of two nodes, 2 L."""
        return exact.curve(one, [2 * size for size in sizes])

    found = plan_sizes(algorithms, model, by_node)
    assert (exact.timing, found.timing) == ("lockstep", "asynchronous")
    assert [x.algorithm for x in found.ranges] == [x.algorithm for x in exact.ranges]
    for one, other in zip(found.crossovers, exact.crossovers, strict=True):
        assert abs(one - other) <= 1
    (never,), (same,) = found.never_best, exact.never_best
    assert abs((never.size or 0) - (same.size or 0)) <= 1
    nearest = (never.algorithm, never.below, never.above)
    assert nearest == (same.algorithm, same.below, same.above)
    assert float(never.slower or 0) == pytest.approx(float(same.slower or 0), rel=1e-4)
    last = found.ranges[-1].algorithm
    rates = [float(plan.algorithm_bandwidth(last, None) or 0) for plan in (found, exact)]
    assert rates[0] == pytest.approx(rates[1], rel=1e-6)


def test_one_that_is_the_fastest_twice(make: Make) -> None:
    algorithms = make([(1, 9, 1), (2, 5, 1)])
    straight, bent = [(100, Fraction(1))], [(150, Fraction(1, 2)), (0, Fraction(1001, 1000))]
    plan = plan_sizes(
        algorithms, CostModel(Fraction(1), Fraction(1)), Curves(algorithms, [straight, bent])
    )
    assert [one.algorithm for one in plan.ranges] == [algorithms[i] for i in (0, 1, 0)]
    assert plan.crossovers == (201, 200_000)
    assert plan.never_best == ()


def test_an_interrupted_export_lists_no_algorithm_twice(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fastest of small and of large messages has files before Ctrl-C."""
    algorithms, done = make([(1, 9, 1), (2, 5, 1)]), list[str]()
    straight, bent = [(100, Fraction(1))], [(150, Fraction(1, 2)), (0, Fraction(1001, 1000))]

    def twice(record: ExporterRecord, request: ExportRequest, *_: Any) -> HandedOut:
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(request.name)
        return HandedOut(Exported({request.name: b""}), cast(CheckedExport, None))

    monkeypatch.setattr("syncoll.planning.exports.export_verified", twice)
    made = export_plan(
        algorithms,
        CostModel(Fraction(1), Fraction(1)),
        PluginManager.discover().exporters["csv"],
        {},
        simulated=Curves(algorithms, [straight, bent]),
    )
    assert made.interrupted
    assert [one.algorithm for one in made.exports] == algorithms
    assert made.refused == ()


@pytest.mark.parametrize("seed", range(20))
def test_algorithms_of_many_chunks_are_left_out(make: Make, seed: int) -> None:
    rng, tolerance, model = (
        random.Random(seed),
        Fraction(1, 20),
        CostModel(Fraction(7), Fraction(9)),
    )
    algorithms = make([(s, rng.randint(1, 4) * (9 - s), rng.randint(1, 4)) for s in range(1, 8)])
    curves = None
    if seed % 2:
        lines = [[(10 + s + rng.random(), Fraction(10 - s, 2**9))] for s in range(7)]
        curves = Curves(algorithms, [[(int(a), b)] for ((a, b),) in lines])
    exact, few = (
        plan_sizes(algorithms, model, curves, tolerance=x) for x in (Fraction(0), tolerance)
    )
    assert not exact.left_out
    rest = [one for one in algorithms if one not in few.left_out]
    for size in [1 << bits for bits in range(10, 31, 2)]:
        least = min(exact.seconds(one, size) for one in algorithms)
        assert few.seconds(few.best(size).algorithm, size) <= (1 + tolerance) * least
    assert {one.algorithm for one in few.ranges} <= set(rest)


def test_a_bend_between_crossovers_is_seen(make: Make) -> None:
    """The simpler one is as fast for small and large sizes, and slower by 6 % between."""
    algorithms, model = make([(1, 60, 1), (2, 9, 6)]), CostModel(Fraction(1), Fraction(1))
    lines = [[(100, Fraction(0)), (more, Fraction(1, 10**3))] for more in (6, 0)]
    plan = plan_sizes(algorithms, model, Curves(algorithms, lines), tolerance=Fraction(1, 50))
    for size in range(10**4, 10**6, 10**4):
        least = min(plan.seconds(one, size) for one in algorithms)
        assert plan.seconds(plan.best(size).algorithm, size) <= Fraction(103, 100) * least


def test_the_simpler_of_two_takes_part(make: Make) -> None:
    """Fewer chunks count, not fewer steps."""
    algorithms, model = (
        make([(1, 60, 6), (2, 9, 1), (3, 8, 2)]),
        CostModel(Fraction(1), Fraction(1)),
    )
    curves = Curves(
        algorithms, [[(100, Fraction(1))], [(101, Fraction(1))], [(500, Fraction(1, 2))]]
    )
    plan = plan_sizes(algorithms, model, curves, tolerance=Fraction(1, 50))
    assert [one.algorithm for one in plan.ranges] == algorithms[1:]
    assert plan.left_out == (algorithms[0],)
    plan = plan_sizes(algorithms, model, curves, tolerance=Fraction(1, 200))
    assert [one.algorithm for one in plan.ranges] == [algorithms[0], algorithms[2]]


def test_slow_algorithms_are_not_timed_again(make: Make) -> None:
    algorithms = make([(1, 9, 1), (2, 5, 1), (3, 1, 1)])
    curves = Curves(
        algorithms, [[(1, Fraction(1, 10**6))], [(9, Fraction(1))], [(10**5, Fraction(1, 10**7))]]
    )
    few = Curves(algorithms[:1], [[(1, Fraction(1))]])
    envelope(algorithms[:1], few)
    found = envelope(algorithms, curves)
    assert [number for number, _ in found.starts] == [0, 2]
    assert curves.asked < 2.5 * few.asked


def test_ties_go_to_fewer_steps(make: Make) -> None:
    algorithms = make([(1, 9, 1), (2, 5, 1)])
    close = Fraction(1, 10**12)
    curves = Curves(algorithms, [[(1, Fraction(1))], [(1, 1 - close)]])
    found = envelope(algorithms, curves)
    assert found.starts == ((0, 0),)
    assert found.others[1].slower == 1
