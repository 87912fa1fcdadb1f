"""Trees for a number of steps, compared with all trees, and improved in turns."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest

import syncoll
from syncoll.deadline import NEVER, Deadline
from syncoll.linear import GrowingProgram
from syncoll.model import Algorithm, Topology
from syncoll.model.counting import bound_loads
from syncoll.plugins import SeedLimits
from syncoll.plugins.turns import Turn
from syncoll.routing import as_topology
from syncoll.scheduling import StreamClass
from syncoll.trust import require_valid
from syncoll_forestcoll.few_steps import TimedForest, few_steps
from tests.forestcoll.test_branching import boxes, fabric_of, nvls
from tests.forestcoll.test_seed_copies import SPECS

FUNNEL = [(0, 4, 3), (1, 4, 1), (2, 4, 1), (4, 5, 2), (3, 5, 1)]


def timed_trees(topology: Topology, steps: int) -> Iterator[Algorithm]:
    """Every way in which a chunk of node 0 reaches all others, each once."""
    nodes = topology.num_nodes
    into = {
        v: [(u, step) for u, w in topology.links if w == v for step in range(steps)]
        for v in range(1, nodes)
    }
    for chosen in itertools.product(*into.values()):
        there = {0: 0} | {v: step + 1 for v, (_, step) in zip(into, chosen, strict=True)}
        if all(there[u] <= step for u, step in chosen):
            sends = [(0, u, v, step) for v, (u, step) in zip(into, chosen, strict=True)]
            yield Algorithm((1,) * steps, np.array(sends))


@pytest.mark.parametrize(
    ("topology", "steps"),
    [
        (as_topology(nvls(4)), 1),
        (as_topology(nvls(4)), 2),
        (as_topology(boxes(2)), 2),
        (as_topology(boxes(2)), 3),
        (as_topology(fabric_of(4, 2, FUNNEL, multicast=[4], both_ways=True)), 2),
        (as_topology(fabric_of(4, 2, FUNNEL, multicast=[4, 5], both_ways=True)), 2),
        (as_topology(fabric_of(4, 2, FUNNEL, both_ways=True)), 2),
    ],
)
def test_no_mixture_of_trees_takes_fewer_rounds(topology: Topology, steps: int) -> None:
    loads = [bound_loads(topology, tree) for tree in timed_trees(topology, steps)]
    program = GrowingProgram(np.concatenate([np.ones(steps), np.zeros(len(loads))]))
    program.add({steps + i: 1.0 for i in range(len(loads))}, 1.0, np.inf)
    for number, bound in enumerate(topology.bounds):
        for step in range(steps):
            row = {steps + i: float(load[number, step]) for i, load in enumerate(loads)}
            row = {column: value for column, value in row.items() if value}
            program.add(row | {step: -float(bound.chunks_per_round)}, -np.inf, 0.0)
    assert program.run()
    (kind,) = StreamClass.of(SPECS.collective("broadcast").tabulate(topology.num_nodes, 1))
    forest = TimedForest(topology, kind, steps)
    dealt = forest.packed(NEVER, 1, 512)
    assert dealt is not None
    assert forest.settled
    assert forest.packing.value == pytest.approx(program.optimum().value)
    assert forest.packing.value - 1e-9 <= float(dealt.bandwidth)
    algorithm = forest.algorithm(dealt, np.arange(dealt.chunks))
    assert dealt.rounds <= algorithm.rounds <= max(dealt.rounds, steps)


def test_two_boxes_in_three_steps_reach_the_bound() -> None:
    """The bound is 23/86; whole rounds may cost a little."""
    found = syncoll.pareto(
        "dgx_h100(boxes=2,nvls=true)", "broadcast", backend="forestcoll", max_steps=3, work=5
    )
    (best,) = [point for point in found.points if point.steps == 3]
    assert Fraction(23, 86) <= best.bandwidth <= Fraction(23, 86) * Fraction(101, 100)


@pytest.mark.usefixtures("counted_work")
def test_it_becomes_better_in_turns_and_ends() -> None:
    topology, asked = as_topology(boxes(4)), SPECS.collective("broadcast")

    def limits() -> SeedLimits:
        return SeedLimits(until=Deadline.after(0.04))

    turn = Turn(limits())
    going = turn.run(few_steps(topology, asked, turn))
    best: dict[int, Fraction] = {}
    turns = 1
    one = next(going)
    with contextlib.suppress(StopIteration):
        while turns < 60:
            if one is None:
                turns += 1
                one = going.send(limits())
                continue
            algorithm = one.algorithm
            cost = Fraction(algorithm.rounds, one.chunks)
            assert algorithm.steps not in best or cost < best[algorithm.steps]
            best[algorithm.steps] = cost
            instance = asked.instantiate(
                topology, chunks=one.chunks, steps=algorithm.steps, rounds=algorithm.rounds
            )
            require_valid(instance, algorithm)
            one = next(going)
    assert 1 < turns < 60
    assert sorted(best) == [2, 3, 4]
    assert best[2] > best[3] > best[4]


def test_limits_are_kept_and_allgathers_refused() -> None:
    topology, asked = as_topology(boxes(2)), SPECS.collective("broadcast")
    for limits in (SeedLimits(max_steps=2), SeedLimits(max_chunks=2), SeedLimits(max_rounds=2)):
        for one in itertools.takewhile(bool, few_steps(topology, asked, Turn(limits))):
            assert one is not None
            assert one.algorithm.steps <= (limits.max_steps or 9)
            assert one.algorithm.rounds <= (limits.max_rounds or 999)
            assert one.chunks <= (limits.max_chunks or 999)
    assert not list(few_steps(topology, SPECS.collective("allgather"), Turn(SeedLimits())))
