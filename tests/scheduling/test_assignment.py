"""Steps are assigned well: bounds hold, and brute force seldom finds fewer rounds."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest

from syncoll.model import Collective, Topology
from syncoll.scheduling.assignment import Assigner
from syncoll.scheduling.link_sets import LinkSets
from syncoll.scheduling.list_scheduler import ListScheduler
from syncoll.scheduling.packing import TreePacking
from syncoll.scheduling.step_program import StepProgram
from syncoll.scheduling.streams import SendPlan, Streams
from syncoll.scheduling.windows import Windows
from tests.oracles.classics import allgather, broadcast, dgx1, line

from .conftest import Forest, least_rounds, packed_trees, path, random_forest


def dealt(
    topology: Topology, collective: Collective, forest: Forest | None = None, chunks: int = 1
) -> tuple[Streams, LinkSets]:
    assert forest is not None
    streams = TreePacking(topology, forest.trees).deal(
        collective.tabulate(topology.num_nodes, chunks)
    )
    return streams, LinkSets(topology, streams.num_sends)


def cases(seeds: range, least: int, most: int) -> Iterator[tuple[Topology, Streams, LinkSets]]:
    """Random streams with numbers of sends in a range."""
    for seed in seeds:
        forest = random_forest(seed, most_nodes=4)
        if forest is None:
            continue
        packing = TreePacking(forest.topology, forest.trees)
        for _, chunks in packing.chunk_counts(forest.collective, (1, 2)):
            streams, sets = dealt(forest.topology, forest.collective, forest, chunks)
            if least <= streams.num_sends <= most:
                yield forest.topology, streams, sets


def single_sends(streams: Streams) -> list[tuple[int, int]]:
    """(link, number of the send before) of each chunk's sends."""
    number: dict[tuple[int, int], int] = {}
    sends: list[tuple[int, int]] = []
    for entry, (link, parent) in enumerate(
        zip(streams.link.tolist(), streams.parent.tolist(), strict=True)
    ):
        for turn in range(int(streams.count[entry])):
            number[entry, turn] = len(sends)
            sends.append((link, number.get((parent, turn), -1)))
    return sends


def check(plan: SendPlan, streams: Streams, sets: LinkSets, steps: int) -> None:
    """Checks that all chunks are sent, after their arrival, in the fewest rounds."""
    sent = np.zeros((len(streams.link), steps), dtype=np.int64)
    np.add.at(sent, (plan.entry, plan.step), plan.amount)
    total = sent.cumsum(axis=1)
    assert (total[:, -1] == streams.count).all()
    inner = np.flatnonzero(streams.parent >= 0)
    assert (total[inner, 0] == 0).all()
    assert (total[inner, 1:] <= total[streams.parent[inner], :-1]).all()
    for step in range(steps):
        load = sets.load(streams.link, sent[:, step])
        assert plan.rounds[step] == sets.rounds(load)


@pytest.mark.slow
def test_against_brute_force_on_many() -> None:
    compare(range(280), most=11)


def test_against_brute_force() -> None:
    compare(range(250), most=9)


def compare(seeds: range, most: int) -> None:
    """Checks that bounds hold for the optimum, which is nearly always found, and never far away."""
    excess: Counter[int] = Counter()
    for topology, streams, sets in cases(seeds, 3, most):
        assigner = Assigner(streams, sets)
        sends = single_sends(streams)
        ours, bound = 1 << 40, 1 << 40
        for steps in range(streams.height, streams.height + 3):
            plan = assigner.best(steps, 1 << 40)
            assert plan is not None
            check(plan, streams, sets, steps)
            ours = min(ours, plan.total)
            bound = min(bound, assigner.windows.bound(steps))
            optimum = least_rounds(topology, sends, steps, ours + 1)
            assert bound <= optimum <= ours
            assert assigner.windows.least_rounds <= optimum
            excess[ours - optimum] += 1
    counts = f"rounds above the optimum: {dict(sorted(excess.items()))}"
    assert excess.total() > 200, counts
    assert excess[0] >= 0.99 * excess.total(), counts
    assert max(excess) <= 1, counts


def test_programs_are_exact() -> None:
    """The integer program alone, without a list schedule before it, gives the optimum."""
    count = 0
    for topology, streams, sets in cases(range(120), 3, 9):
        sends = single_sends(streams)
        for steps in range(streams.height, streams.height + 3):
            plan, relaxed = StepProgram(streams, sets, steps).minimise(1, 1 << 20, 10.0)
            optimum = least_rounds(topology, sends, steps, 1 << 20)
            assert plan is not None
            check(plan, streams, sets, steps)
            assert plan.total == optimum
            assert 0 < relaxed <= optimum + 1e-6
            none, _ = StepProgram(streams, sets, steps).minimise(1, optimum - 1, 10.0)
            assert none is None
            count += 1
    assert count > 100


def test_the_program_finds_the_best_of_a_larger_case() -> None:
    """Where list scheduling misses the optimum by rounds, it is found all the same."""
    forest = Forest(dgx1(), allgather(), packed_trees(dgx1(), list(range(8)), 6, seed=2))
    streams, sets = dealt(dgx1(), allgather(), forest, 18)
    gained = 0
    for steps in range(streams.height, streams.height + 3):
        plan = Assigner(streams, sets).best(steps, 1 << 40)
        lists = Assigner(streams, sets).best(steps, 1 << 40, exact=False)
        assert plan is not None
        assert lists is not None
        check(plan, streams, sets, steps)
        assert Assigner(streams, sets).windows.bound(steps) <= plan.total <= lists.total
        gained += lists.total - plan.total
    assert gained > 0


def test_list_scheduling_is_valid_for_any_budgets() -> None:
    rng, chance = random.Random(1), np.random.default_rng(1)
    count = 0
    for _, streams, sets in cases(range(120), 1, 40):
        scheduler = ListScheduler(streams, sets)
        for backward in (False, True):
            steps = streams.height + rng.randrange(4)
            plan = scheduler.run(
                chance.integers(0, 4, steps),
                chance.uniform(0, 3, len(streams.link)),
                backward=backward,
                spread=rng.choice((0.0, 0.5)),
            )
            check(plan, streams, sets, steps)
            count += 1
    assert count > 200


def test_budgets_are_kept_where_nothing_is_urgent() -> None:
    streams, sets = dealt(line(4), broadcast(), Forest(line(4), broadcast(), [path(0, 1, 2, 3)]), 5)
    plan = ListScheduler(streams, sets).run(
        np.ones(7, dtype=np.int64), -streams.below.astype(float)
    )
    assert plan.rounds.tolist() == [1] * 7
    late = ListScheduler(streams, sets).run(
        np.zeros(7, dtype=np.int64), -streams.below.astype(float), backward=True
    )
    assert late.total > 7  # without budgets all goes in the last step that is left


def test_windows_of_a_pipeline() -> None:
    """m chunks down h links: h + m - 1 rounds, and m in every step if S = h."""
    for height, chunks in ((2, 3), (4, 4), (5, 2)):
        topology = line(height + 1)
        forest = Forest(topology, broadcast(), [path(*range(height + 1))])
        streams, sets = dealt(topology, broadcast(), forest, chunks)
        windows = Windows(streams, sets)
        assert windows.least_rounds == height + chunks - 1
        assert windows.bound(height) == height * chunks
        assert windows.bound(height + chunks - 1) == height + chunks - 1
        for steps in range(height, height + chunks):
            least = windows.bound(steps)
            early, late = windows.earliest(steps), windows.latest(steps, least)
            assert (early <= late).all()
            assert (np.diff(early) >= 1).all()
            assert (np.diff(late) >= 1).all()
            assert late[0] >= 0
            assert late[-1] == least


def test_coarse_windows_are_still_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    topology = line(60)
    forest = Forest(topology, broadcast(), [path(*range(60))])
    streams, sets = dealt(topology, broadcast(), forest, 5)
    exact = Windows(streams, sets)
    monkeypatch.setattr("syncoll.scheduling.windows._ALL_CELLS", 1)
    coarse = Windows(streams, sets)
    for steps in (59, 60, 63, 70):
        assert (coarse.earliest(steps) <= exact.earliest(steps)).all()
        assert (coarse.latest(steps, 400) >= exact.latest(steps, 400)).all()
    assert 0 < coarse.least_rounds <= exact.least_rounds


def test_steps_are_merged_where_nothing_waits() -> None:
    count = 0
    for _, streams, sets in cases(range(200), 2, 40):
        steps = streams.height + 4
        plan = ListScheduler(streams, sets).run(
            np.ones(steps, dtype=np.int64), -streams.below.astype(float)
        )
        less = plan.merged(streams, sets)
        check(less, streams, sets, len(less.rounds))
        assert less.total <= plan.total
        assert streams.height <= len(less.rounds) <= len(np.unique(plan.step))
        assert less.merged(streams, sets).rounds.tolist() == less.rounds.tolist()
        count += len(less.rounds) < len(np.unique(plan.step))
    assert count > 20


def test_round_by_round_schedules_of_a_packing_merge() -> None:
    """Schedules of one round a step become ones of fewer steps without a round more."""
    forest = Forest(dgx1(), allgather(), packed_trees(dgx1(), list(range(8)), 6, seed=2))
    streams, sets = dealt(dgx1(), allgather(), forest, 12)
    plan = Assigner(streams, sets).best(14, 14)
    assert plan is not None
    assert plan.rounds.tolist() == [1] * 14
    less = plan.merged(streams, sets)
    check(less, streams, sets, len(less.rounds))
    assert len(less.rounds) < 14
    assert less.total == 14


def test_long_bandwidths_do_not_overflow() -> None:
    from fractions import Fraction

    odd = Fraction(10**18 + 9, 10**18 + 7)
    topology = Topology.from_links("long", 3, {(0, 1): odd, (1, 2): odd})
    forest = Forest(topology, broadcast(), [path(0, 1, 2)])
    streams, sets = dealt(topology, broadcast(), forest, 3)
    plan = Assigner(streams, sets).best(4, 100)
    assert plan is not None
    assert plan.total == 4
    check(plan, streams, sets, 4)
