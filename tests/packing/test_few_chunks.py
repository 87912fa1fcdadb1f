"""Whole chunks for a small C: repairs are exact, and solutions are algorithms that improve."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from syncoll.deadline import NEVER
from syncoll.model import BandwidthBound, Topology
from syncoll.packing import few_chunks, send_programs
from syncoll.packing.expand_orbits import algorithm_of
from syncoll.packing.few_chunks import FewChunks
from syncoll.packing.problem import PackingProblem
from syncoll.packing.send_programs import TreeRepair
from syncoll.packing.small_budgets import SmallBudgets
from syncoll.packing.timed_packing import TimedPacking
from syncoll.packing.trees import TimedTree
from syncoll.packing.whole_chunks import column_choice, rounds_of
from syncoll.plugins import PluginManager
from syncoll.spec import SpecLibrary
from syncoll.trust import require_valid

pytestmark = pytest.mark.usefixtures("counted_work")

_LIBRARIES = PluginManager.discover().spec_libraries.values()
SPECS = SpecLibrary([record.folder for record in _LIBRARIES])

UNEVEN = {(0, 1): 3, (1, 2): 1, (2, 3): 3, (3, 0): 1, (0, 2): 2}
"""Links both ways with the rounds that a chunk takes."""


def topology(name: str, nodes: int, rates: Mapping[tuple[int, int], Fraction]) -> Topology:
    bounds = [BandwidthBound((pair,), rate) for pair, rate in sorted(rates.items())]
    return Topology(name, nodes, tuple(sorted(rates)), tuple(bounds))


def uneven() -> Topology:
    both = {pair: r for (a, b), r in UNEVEN.items() for pair in ((a, b), (b, a))}
    return topology("uneven", 4, {pair: Fraction(1, rounds) for pair, rounds in both.items()})


def problem(network: Topology) -> PackingProblem:
    return PackingProblem(network, SPECS.collective("allgather"), NEVER)


def packed(question: PackingProblem, steps: int) -> TimedPacking:
    packing = TimedPacking(question, steps)
    while not packing.rested:
        packing.improve(NEVER.sooner(10.0))
    return packing


def few_of(question: PackingProblem, steps: int) -> FewChunks[TimedTree]:
    packing, repair = packed(question, steps), TreeRepair(question, steps)
    return FewChunks(packing, column_choice(packing, 50), repair, question.least_chunks)


def improved(few: FewChunks[TimedTree], units: int) -> int:
    while few.is_open(units):
        few.improve(units, NEVER.sooner(5.0))
    return few.found[units]


def all_trees(question: PackingProblem, demand: int, steps: int) -> list[TimedTree]:
    """Every timed tree to all other nodes."""
    source = question.demands[demand].sources[0]
    others = [v for v in range(question.num_nodes) if v != source]
    into = [
        [(link, s) for link in np.flatnonzero(question.links.target == v) for s in range(steps)]
        for v in others
    ]
    found = []
    for sends in product(*into):
        has = {source: 0} | {v: s + 1 for v, (_, s) in zip(others, sends, strict=True)}
        if all(has[int(question.links.source[link])] <= s for link, s in sends):
            found.append(TimedTree(tuple(sorted((int(link), s) for link, s in sends))))
    return found


def test_a_repair_of_one_chunk_is_as_good_as_any_tree() -> None:
    question, steps = problem(uneven()), 3
    repair = TreeRepair(question, steps)
    random = np.random.default_rng(2)
    for demand in range(len(question.demands)):
        trees = all_trees(question, demand, steps)
        loads = np.stack([question.load(tree.links, tree.steps, steps) for tree in trees])
        room = random.integers(-1, 2, loads.shape[1:])
        weights = random.integers(1, 4, loads.shape[1:])
        over = (np.maximum(0, loads - np.maximum(0, room)) * weights).sum(axis=(1, 2))
        (found,), proved = repair.fitted([demand], trees[:1], room, weights, 5.0)
        load = question.load(found.links, found.steps, steps)
        assert proved
        assert (np.maximum(0, load - np.maximum(0, room)) * weights).sum() == over.min()
        others = random.integers(0, 3, loads.shape[1:])
        (found,) = repair.cheaper([demand], trees[:1], others, 5.0)
        load = question.load(found.links, found.steps, steps)
        least = min(rounds_of(question.exact_rate, others + one) for one in loads)
        assert rounds_of(question.exact_rate, others + load) == least


def test_leaves_keep_their_links_but_not_their_steps() -> None:
    question, steps = problem(uneven()), 3
    trees = all_trees(question, 0, steps)
    repair = TreeRepair(question, steps)
    source, target = question.links.source, question.links.target
    for senders in ([], [*range(question.num_nodes)]):
        repair.senders = senders
        for tree in trees[::7]:
            others = np.ones_like(question.load(tree.links, tree.steps, steps))
            (found,) = repair.cheaper([0], [tree], others, 5.0)
            inner = {*source[tree.links].tolist(), *question.demands[0].sources, *senders}
            kept = {int(link) for link in tree.links if target[link] not in inner}
            assert kept <= set(found.links.tolist())
            fit = [
                others + question.load(other.links, other.steps, steps)
                for other in trees
                if kept <= set(other.links.tolist())
                and not {int(target[link]) for link in kept} & {*source[other.links].tolist()}
            ]
            load = others + question.load(found.links, found.steps, steps)
            least = min(rounds_of(question.exact_rate, one) for one in fit)
            assert rounds_of(question.exact_rate, load) == least


def test_columns_of_a_solution_are_replaced_by_cheaper_ones() -> None:
    few = few_of(problem(uneven()), 3)
    few.lower(3, NEVER)
    assert few.found[3] == improved(few_of(problem(uneven()), 3), 3)
    before = few.found[3]
    few.lower(3, NEVER)
    assert few.found[3] <= before


def test_programs_fit_columns_into_fewer_whole_rounds() -> None:
    question = problem(uneven())
    packing = TimedPacking(question, 3)
    while not packing.rested:
        packing.improve(NEVER.sooner(10.0))
    choice = column_choice(packing, 50)
    few = FewChunks(packing, choice, TreeRepair(question, 3), question.least_chunks)
    alike = [(choice.columns[first], 3) for first in np.cumsum([0, *choice.sizes[:-1]]).tolist()]
    few.know(3, [[one] for one in alike])
    before = few.found[3]
    few.fit(3, NEVER)
    assert few.least(3) <= few.found[3] < before
    assert few.found[3] < improved(few_of(question, 3), 3) + choice.slowest


def test_solutions_of_few_chunks_are_valid_algorithms() -> None:
    question = problem(uneven())
    few = few_of(question, 3)
    for units in (1, 3):
        rounds, dealt = improved(few, units), few.dealt(units)
        algorithm = algorithm_of(question, dealt)
        assert (dealt.chunks, algorithm.rounds) == (units, rounds)
        instance = question.collective.instantiate(
            question.topology, chunks=units, steps=algorithm.steps, rounds=algorithm.rounds
        )
        require_valid(instance, algorithm)


def test_more_chunks_are_no_worse_than_the_parts_they_consist_of() -> None:
    few = few_of(problem(uneven()), 2)
    one, two = improved(few, 1), improved(few, 2)
    assert two <= 2 * one
    assert improved(few, 3) <= one + two
    assert improved(few, 4) <= 2 * two


def test_a_slow_link_needs_its_rounds_for_each_chunk() -> None:
    two = topology("two", 2, {(0, 1): Fraction(1, 3), (1, 0): Fraction(1)})
    few = few_of(problem(two), 1)
    assert [improved(few, units) for units in (1, 2)] == [3, 6]


def test_a_dive_aims_above_the_packing_then_below_the_best() -> None:
    few = few_of(problem(uneven()), 3)  # a chunk takes three rounds of the slowest links
    assert few.least(42) == pytest.approx(2.25 * 42, abs=1)
    assert few.aim(42) == 99  # 94.5 with 2 % are 96.4
    few.found[42] = 99
    assert few.aim(42) == 96  # 94.5 with 1 % are 95.4
    assert few.is_open(42)
    few.found[42] = 96
    assert not few.is_open(42)
    assert few.is_open(42, lowers=True)
    assert few.aim(8) == 21
    few.tight = True
    assert (few.least(8), few.aim(8)) == (18, 18)


@pytest.mark.parametrize("seconds", [1000.0, 0.0])
def test_the_search_of_a_dive_continues_until_it_took_too_long(
    seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[int] = []

    class Counted(few_chunks.Dive[TimedTree]):
        def __init__(self, *args: Any) -> None:
            begun.append(args[2])
            super().__init__(*args)

    monkeypatch.setattr(few_chunks, "Dive", Counted)
    monkeypatch.setattr(few_chunks, "_DIVE_SECONDS", seconds)
    monkeypatch.setattr(few_chunks, "_FAILURES", 1)
    few = few_of(problem(uneven()), 3)
    for _ in range(5 if seconds else 1):
        few.improve(1, NEVER.sooner(0.0))
    assert begun == [1]
    assert few.is_open(1) == (seconds > 0)


def test_numbers_with_room_in_whole_rounds_are_tried() -> None:
    question = problem(uneven())
    three, four = packed(question, 3), packed(question, 4)
    small = SmallBudgets(
        lambda one: FewChunks(one, column_choice(three, 50), TreeRepair(question, 3), 1), 1
    )
    # 18 chunks take 40.5 rounds, of 42 that are whole for the slowest link; 20 take 45 of 45.
    assert three.value == pytest.approx(2.25)
    assert small.open(three, [20]) == [18, 20]
    # More steps would not help, once a dive of fewer steps has begun.
    assert [dealt.rounds for dealt in small.improved(three, [20], NEVER.sooner(2.0))][-1] <= 48
    assert four.value == pytest.approx(2.25)
    assert small.open(four, [20]) == []
    # In the end 20 chunks may take as many rounds as the packing.
    small.tight = True
    assert 20 in small.open(three, [20])


def test_constructing_a_program_counts_as_work(
    counted_work: Callable[[], float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(send_programs, "_UNITS_PER_VARIABLE", 1.0)
    question = problem(uneven())
    known = all_trees(question, 0, 2)[:1]
    began = counted_work()
    room = np.ones((len(question.exact_rate), 2), dtype=np.int64)
    TreeRepair(question, 2).fitted([0], known, room, room, 1.0)
    assert counted_work() - began >= 8


def test_a_packing_at_rest_finds_more_columns_near_its_prices() -> None:
    packing = packed(problem(uneven()), 4)
    before, value = len(packing.columns), packing.value
    packing.enrich(10, NEVER)
    assert len(packing.columns) > before
    assert packing.value <= value * (1 + 1e-9)
