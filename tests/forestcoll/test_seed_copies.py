"""The seed on machines whose switches copy, and searches that reverse its algorithms."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from operator import lt

import pytest

import syncoll
from syncoll.model import Collective, Fabric, Topology
from syncoll.plugins import PluginManager, Proposal, SeedLimits
from syncoll.routing import as_topology
from syncoll.spec import SpecLibrary
from syncoll_forestcoll.seed import ForestSeed
from tests.forestcoll.test_branching import boxes, fabric_of, nvls
from tests.oracles.forests import broadcast
from tests.oracles.proposals import verified

pytestmark = pytest.mark.usefixtures("counted_work")

_LIBRARIES = PluginManager.discover().spec_libraries.values()
SPECS = SpecLibrary([record.folder for record in _LIBRARIES])


def proposed(topology: Topology, asked: Collective, limits: SeedLimits) -> list[Proposal]:
    """The verified proposals of the seed."""
    assert ForestSeed.fits(topology, asked).ok
    made = ForestSeed().propose(topology, asked, limits, {"k": 0})
    return verified(made, topology, asked)


ROW = [(0, 5, 2), (1, 5, 2), (5, 6, 1), (2, 6, 2), (3, 6, 2), (4, 6, 1)]
LEAVES = [(v, 6 + v // 3, 2) for v in range(6)] + [(6, 8, 1), (7, 8, 1)]


@pytest.mark.parametrize(
    ("fabric", "limit"),
    [
        (nvls(8), None),  # one step is the optimum, as it is of two in a row
        (boxes(4), Fraction(1, 4)),
        (boxes(3, 3, ring=True), Fraction(1, 6)),
        (fabric_of(5, 2, ROW, multicast=[5, 6], both_ways=True), None),
        (fabric_of(6, 3, LEAVES, multicast=[6, 7], both_ways=True), Fraction(1)),
    ],
    ids=["box", "two boxes", "a ring of three", "two in a row", "leaves"],
)
def test_broadcasts_reach_the_throughput_of_forests(fabric: Fabric, limit: Fraction | None) -> None:
    topology = as_topology(fabric)
    found = proposed(topology, SPECS.collective("broadcast"), SeedLimits(seconds=2))
    families = [one.family for one in found if one.family is not None]
    best = min(Fraction(one.algorithm.rounds, one.chunks) for one in found)
    assert best * broadcast(fabric, 0).algbw >= fabric.chunk_bandwidth
    assert min((one.limit for one in families), default=None) == limit
    firsts = [
        (one.limit, first.steps, first.bandwidth)
        for one in families
        for first in [one.member(one.first)]
    ]
    for later, earlier in combinations(reversed(firsts), 2):
        assert any(map(lt, later, earlier)), "a family is better than each before in one of three"
    assert (limit or best) * broadcast(fabric, 0).algbw == fabric.chunk_bandwidth


def test_a_box_is_one_step() -> None:
    topology = as_topology(nvls(8))
    (one,) = proposed(topology, SPECS.collective("broadcast"), SeedLimits(max_steps=1))
    assert (one.algorithm.steps, Fraction(one.algorithm.rounds, one.chunks)) == (1, 1)


@pytest.mark.parametrize("name", ["broadcast", "reduce", "allgather", "reducescatter"])
def test_searches_reverse_its_algorithms(name: str) -> None:
    """A reduction sums at the switches where the broadcast copies."""
    found = syncoll.pareto("dgx_h100(nvls=true)", name, backend="forestcoll", time_limit=5)
    whole = {"broadcast": 1, "reduce": 1, "allgather": 7, "reducescatter": Fraction(7, 8)}
    assert [(point.steps, point.bandwidth) for point in found.points] == [(1, whole[name])]
    assert found.least_bandwidth == whole[name]


def test_limits_hold_for_families_too() -> None:
    topology = as_topology(boxes(4))
    asked = SPECS.collective("broadcast")
    for limits in (SeedLimits(max_chunks=3), SeedLimits(max_steps=2), SeedLimits(max_rounds=1)):
        for one in proposed(topology, asked, limits):
            assert limits.max_chunks is None or one.chunks <= limits.max_chunks
            assert limits.max_steps is None or one.algorithm.steps <= limits.max_steps
            assert limits.max_rounds is None or one.algorithm.rounds <= limits.max_rounds
