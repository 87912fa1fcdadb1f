"""Dives agree with enumerations on a small network."""

from __future__ import annotations

import numpy as np
import pytest

from syncoll.arrays import Ints
from syncoll.deadline import NEVER
from syncoll.linear import GrowingProgram
from syncoll.packing.diving import Dive
from syncoll.packing.timed_packing import TimedPacking
from syncoll.packing.trees import TimedTree
from syncoll.packing.whole_chunks import ColumnChoice, column_choice
from tests.packing.test_few_chunks import all_trees, problem, uneven

pytestmark = pytest.mark.usefixtures("counted_work")


def packed(steps: int) -> TimedPacking:
    packing = TimedPacking(problem(uneven()), steps)
    while not packing.rested:
        packing.improve(NEVER.sooner(10.0))
    return packing


def room_of(choice: ColumnChoice[TimedTree], rounds: tuple[int, ...] | list[int]) -> Ints:
    """Whole chunks for which bounds have room, ``[B, S]``."""
    return np.array([[int(rate * one) for one in rounds] for rate in choice.rates])


def least_overload(choice: ColumnChoice[TimedTree], units: int, room: Ints) -> float:
    """By a linear program over the shares of the columns."""
    columns, cells = len(choice.columns), room.size
    program = GrowingProgram(np.concatenate([np.zeros(columns), np.ones(cells)]))
    for cell, space in enumerate(room.ravel().tolist()):
        loads = choice.loads.reshape(columns, cells)[:, cell].tolist()
        program.add({**dict(enumerate(loads)), columns + cell: -1.0}, -np.inf, space)
    demand = np.repeat(np.arange(len(choice.sizes)), choice.sizes)
    for d, count in enumerate(choice.counts):
        own = dict.fromkeys(np.flatnonzero(demand == d).tolist(), 1.0)
        program.add(own, count * units, count * units)
    assert program.run()
    return program.optimum().value


@pytest.mark.parametrize("units", [1, 3])
def test_without_room_each_chunk_takes_the_least_load(units: int) -> None:
    packing = packed(3)
    question, choice = packing.problem, column_choice(packing, 50)
    room = np.zeros(choice.loads.shape[1:], dtype=np.int64)
    dive = Dive(packing, choice, units, room, np.random.default_rng(0))
    found = list(dive.chunks(NEVER))
    assert sorted(d for d, _ in found) == sorted([*range(len(choice.sizes))] * units)
    for demand, tree in found:
        loads = [
            question.load(one.links, one.steps, 3).sum() for one in all_trees(question, demand, 3)
        ]
        assert question.load(tree.links, tree.steps, 3).sum() == min(loads)


def test_dives_overload_little_more_than_shares_of_all_trees() -> None:
    packing = packed(4)
    question, choice = packing.problem, column_choice(packing, 50)
    rounds = np.ceil(packing.rounds * 2 * question.least_chunks).astype(np.int64)
    for fewer in 0, 1, 2:
        room = room_of(choice, np.maximum(0, rounds - fewer).tolist())
        random = np.random.default_rng(fewer)
        overs = []
        for _ in range(3):
            trees = [tree for _, tree in Dive(packing, choice, 2, room, random).chunks(NEVER)]
            load = sum(question.load(tree.links, tree.steps, 4) for tree in trees)
            overs.append(np.maximum(0, load - room).sum())
        every = [all_trees(question, d, 4) for d in range(len(question.demands))]
        full = ColumnChoice(
            choice.rates,
            choice.counts,
            [len(some) for some in every],
            [tree for some in every for tree in some],
            np.ones(sum(map(len, every))),
            np.stack([question.load(t.links, t.steps, 4) for some in every for t in some]),
        )
        least = least_overload(full, 2, room)
        assert min(overs) >= least - 1e-6
        assert min(overs) <= least + 2
