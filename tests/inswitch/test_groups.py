"""Groups of nodes around switches that copy and add up, and machines on which something broke."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from itertools import count

import pytest

import syncoll
from syncoll.bounding.combining import combining_rounds_bound
from syncoll.certificates import Certificate, ChunkClasses
from syncoll.damage.damaged import damaged
from syncoll.formula import Verdict
from syncoll.model import BandwidthBound, Collective, Counting, Topology, within
from syncoll.model.sums import Term, sum_of
from syncoll.plugins import PluginManager, Proposal, SeedLimits
from syncoll.plugins.options import resolve_options
from syncoll.routing import as_topology
from syncoll.solving import Solver
from syncoll.spec import SpecLibrary
from syncoll.spec.damages import parse_damage
from syncoll_inswitch import RECORD
from syncoll_inswitch.boxes import Boxes, boxes_of, neighbours
from tests.oracles.counted import box
from tests.oracles.proposals import verified

MANAGER = PluginManager.discover()
SPECS = SpecLibrary([record.folder for record in MANAGER.spec_libraries.values()])
ALLREDUCE = SPECS.collective("allreduce")
TWO = as_topology(SPECS.topology("dgx_h100(boxes=2, nvls=true)"))


def proposed(topology: Topology, asked: Collective, steps: int = 4) -> list[Proposal]:
    """The proposals of the seed, verified."""
    values = resolve_options(RECORD.options, {"steps": steps}, "inswitch")
    assert RECORD.fits(topology, asked).ok
    made = RECORD.load().propose(topology, asked, SeedLimits(max_chunks=1000), values)
    return verified(made, topology, asked)


def limit(found: list[Proposal]) -> Fraction:
    return min(one.family.limit for one in found if one.family is not None)


def test_no_bound_is_above_the_least_rounds() -> None:
    """Nodes of other groups, or of no group, may help; an encoding finds their gain."""
    rng, by_prices = random.Random(7), 0
    with Solver(MANAGER, backend="pysat") as solver:
        for _ in range(12):
            nodes = rng.randint(3, 5)
            order = rng.sample(range(nodes), nodes)
            first = rng.randint(2, min(3, nodes))
            groups = [one for one in (order[:first], order[first:]) if len(one) > 1]
            asked, topology = within(ALLREDUCE, groups), box(nodes)
            steps, chunks = rng.randint(1, 3), rng.randint(1, 2)
            shape = ChunkClasses.of(asked.tabulate(nodes, chunks), chunks, combining=True)
            bound = combining_rounds_bound(topology, shape, steps)
            Certificate(shape, bound).check(topology)
            by_prices += bound.method == "switches"
            for rounds in count(steps):
                instance = asked.instantiate(topology, chunks=chunks, steps=steps, rounds=rounds)
                if solver.solve(instance).outcome.verdict is Verdict.SAT:
                    break
            assert bound.rounds <= rounds
    assert by_prices > 3


@pytest.mark.parametrize(
    ("groups", "least"),
    [
        ([[0, 1, 2, 3], [4, 5, 6, 7]], "1"),
        ([[0, 1, 2], [3, 4], [5, 7]], "1"),
        ([[0, 1, 2, 3, 4], [4, 5, 6, 7]], "2"),  # node 4 has two to do
    ],
)
def test_groups_around_one_switch(groups: list[list[int]], least: str) -> None:
    assert limit(proposed(box(8), within(ALLREDUCE, groups))) == Fraction(least)


@pytest.mark.parametrize(
    ("groups", "least"),
    [
        ([list(range(8)), list(range(8, 16))], "1/9"),  # no network card has anything to do
        ([[0, 1, 2, 3, 8, 9, 10, 11], [4, 5, 6, 7, 12, 13, 14, 15]], "1/4"),
        ([[0, 1, 8, 9, 10]], "1/2"),  # boxes of 2 and 3 of them, and two rails
    ],
)
def test_groups_in_two_boxes(groups: list[list[int]], least: str) -> None:
    asked = within(ALLREDUCE, groups)
    assert limit(proposed(TWO, asked)) == Fraction(least)
    shape = ChunkClasses.of(asked.tabulate(16, 1), 1, combining=True)
    bound = combining_rounds_bound(TWO, shape, None)
    Certificate(shape, bound).check(TWO)
    if len(groups) > 1:  # chunks of one group may take other cards as well
        assert bound.rounds == Fraction(least)


def test_a_search_settles_two_groups_of_one_box() -> None:
    found = syncoll.pareto(
        "nvl72(6, true)", "allreduce within [[0,1,2],[3,4,5]]", max_steps=3, progress="none"
    )
    best = {point.steps: point.bandwidth for point in reversed(found.points)}
    assert best == {1: 2, 2: Fraction(5, 4), 3: Fraction(8, 7)}
    assert all(point.bound == best[point.steps] for point in found)


def test_a_sum_of_allreduces_has_waves_for_each_kind_of_chunk() -> None:
    asked = sum_of([Term(ALLREDUCE, 2, lambda _: [[0, 1, 2]]), Term(ALLREDUCE)])
    assert limit(proposed(box(4), asked)) == 3


@pytest.mark.parametrize(
    ("broken", "slow", "least"),
    [("card 2", False, "1/7"), ("node 5", False, "1/7"), ("card 2 by 2", True, "2/15")],
)
def test_damaged_boxes(broken: str, slow: bool, least: str) -> None:
    """Chunks go by the remaining rails, in proportion to their widths."""
    machine = damaged(TWO, [parse_damage(broken, slow=slow)])
    found = proposed(machine.topology, ALLREDUCE)
    assert limit(found) == Fraction(least)
    assert {one.algorithm.steps for one in found} >= {3, 4}


def test_a_link_less_is_two_roots_less() -> None:
    """Of 4 nodes 2 have links to and from all others; with ever more steps that is enough."""
    topology = box(4)
    links = tuple(link for link in topology.links if link != (0, 3))
    bounds = tuple(
        replace(bound, links=tuple(link for link in bound.links if link != (0, 3)))
        for bound in topology.bounds
    )
    less = replace(topology, links=links, bounds=bounds)
    assert limit(proposed(less, ALLREDUCE)) == 1
    whole = Boxes(((0, 1, 2, 3),), ((0,), (1,), (2,), (3,)), (1,) * 4, Fraction(1), Fraction(1))
    assert boxes_of(topology, range(4), neighbours(topology)) == whole
    assert boxes_of(less, range(4), neighbours(less)) == replace(
        whole, rails=((1,), (2,)), weights=(1, 1)
    )


def test_where_no_rail_is_left_there_are_no_waves() -> None:
    found = RECORD.fits(TWO, within(ALLREDUCE, [[0, 1, 10, 11]]))
    assert not found.ok
    assert "no rails join" in found.reason
    alone = RECORD.fits(TWO, within(ALLREDUCE, [[n, n + 8] for n in range(8)]))
    assert not alone.ok
    assert "share a switch" in alone.reason


@pytest.mark.parametrize("groups", range(1, 10))
def test_any_number_of_equal_groups(groups: int) -> None:
    """With as many as there are nodes a wave has a chunk of each."""
    asked = within(ALLREDUCE, [[0, 1, 2, 3]] * groups)
    assert limit(proposed(box(4), asked)) == groups


def test_rails_that_share_a_card_are_as_wide_as_it() -> None:
    """Two boxes of 4, in which two GPUs have one card."""
    links = [(a, b) for a in range(8) for b in range(8) if a != b and a // 4 == b // 4]
    bounds = [
        BandwidthBound(tuple(x for x in links if x[end] == node), Fraction(9), "", counts)
        for node in range(8)
        for end, counts in enumerate((Counting.SOURCES, Counting.DESTINATIONS))
    ]
    for first in (0, 2, 4, 6):
        bounds.append(
            BandwidthBound(tuple((n, (n + 4) % 8) for n in (first, first + 1)), Fraction(1))
        )
    links += [(n, (n + 4) % 8) for n in range(8)]
    topology = Topology("shared", 8, tuple(sorted(links)), tuple(bounds))
    found = boxes_of(topology, range(8), neighbours(topology))
    assert found is not None
    assert (found.weights, found.wide, found.narrow) == ((1,) * 4, 9, Fraction(1, 2))
    assert limit(proposed(topology, ALLREDUCE)) == Fraction(1, 2)


def test_without_time_it_pauses() -> None:
    """It continues when there is some."""
    topology = as_topology(SPECS.topology("dgx_h100(boxes=3, nvls=true)"))
    values = resolve_options(RECORD.options, {}, "inswitch")
    turns = RECORD.load().propose(topology, ALLREDUCE, SeedLimits(seconds=0.0), values)
    assert next(turns) is None
    assert isinstance(turns.send(SeedLimits(seconds=60.0)), Proposal)
    turns.close()
