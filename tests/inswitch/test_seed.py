"""The seed: costs in closed form, and the proofs of searches about them."""

from __future__ import annotations

from fractions import Fraction

import pytest

import syncoll
from syncoll.bounding.combining import combining_rounds_bound
from syncoll.certificates import Certificate, ChunkClasses
from syncoll.model import BandwidthBound, Counting, Topology
from syncoll.plugins import PluginManager, Proposal, SeedLimits
from syncoll.plugins.options import resolve_options
from syncoll.routing import as_topology
from syncoll.spec import SpecLibrary
from syncoll_inswitch import RECORD
from tests.oracles.counted import box
from tests.oracles.proposals import verified

_LIBRARIES = PluginManager.discover().spec_libraries.values()
SPECS = SpecLibrary([record.folder for record in _LIBRARIES])


def proposed(topology: Topology, limits: SeedLimits, **options: object) -> list[Proposal]:
    """The proposals of the seed, verified."""
    asked = SPECS.collective("allreduce")
    values = resolve_options(RECORD.options, options, "inswitch")
    return verified(RECORD.load().propose(topology, asked, limits, values), topology, asked)


def least_by_steps(found: list[Proposal]) -> dict[int, Fraction]:
    """The least R/C for each S."""
    best: dict[int, Fraction] = {}
    for one in found:
        steps, cost = one.algorithm.steps, Fraction(one.algorithm.rounds, one.chunks)
        best[steps] = min(cost, best.get(steps, cost))
    return best


@pytest.mark.parametrize("nodes", [3, 4, 6])
def test_a_box_comes_near_to_one(nodes: int) -> None:
    found = proposed(box(nodes), SeedLimits(), steps=4)
    costs = [(x.algorithm.steps, x.algorithm.rounds, x.chunks) for x in found]
    assert costs == [(m + 1, nodes * (m + 1) - 1, nodes * m + 1) for m in range(4)]
    assert all(x.family is not None and x.family.limit == 1 for x in found)


@pytest.mark.parametrize(("multicast", "reduce"), [(True, False), (False, True)])
def test_only_copying_or_only_adding_gains_nothing_in_the_limit(
    multicast: bool, reduce: bool
) -> None:
    found = proposed(box(4, multicast=multicast, reduce=reduce), SeedLimits(), steps=3)
    assert min(x.family.limit for x in found if x.family is not None) == Fraction(3, 2)


@pytest.mark.parametrize(("boxes", "limit"), [(2, Fraction(1, 8)), (3, Fraction(1, 6))])
def test_boxes_are_as_fast_as_their_network(boxes: int, limit: Fraction) -> None:
    topology = as_topology(SPECS.topology(f"dgx_h100(boxes={boxes}, nvls=true)"))
    found = proposed(topology, SeedLimits(), steps=5)
    assert min(x.family.limit for x in found if x.family is not None) == limit


def test_two_boxes_come_near_the_bound_for_each_number_of_steps() -> None:
    """The bounds are bounds of a broadcast by one node, which prices along its ways prove."""
    topology = as_topology(SPECS.topology("dgx_h100(boxes=2, nvls=true)"))
    found = proposed(topology, SeedLimits(max_chunks=500), steps=6)
    best = least_by_steps(found)
    assert all(x.chunks <= 500 for x in found)
    for steps, least, near in ((3, "23/86", 1.06), (4, "16/79", 1.02), (6, "193/1201", 1.04)):
        assert Fraction(least) <= best[steps] <= Fraction(least) * Fraction(near)


def test_three_boxes_meet_the_bound_in_the_limit() -> None:
    """Between boxes every send counts, so the bound by the sends of an allreduce holds there."""
    topology = as_topology(SPECS.topology("dgx_h100(boxes=3, nvls=true)"))
    found = proposed(topology, SeedLimits(max_chunks=600), steps=8)
    best = least_by_steps(found)
    assert best[2] == 2
    for steps, most in ((3, 0.395), (4, 0.28), (6, 0.215), (8, 0.205)):
        assert best[steps] <= most
    shape = ChunkClasses.of(SPECS.collective("allreduce").tabulate(24, 1), 1, combining=True)
    bound = combining_rounds_bound(topology, shape, None)
    assert bound.rounds == Fraction(1, 6)
    assert bound.method == "sends"
    Certificate(shape, bound).check(topology)


def test_two_boxes_have_families_that_begin_late() -> None:
    """Where cards are as wide as the cables of a box, waves have no closed form below m = 2."""
    nodes = range(6)
    links = tuple((a, b) for a in nodes for b in nodes if a != b and a // 3 == b // 3)
    rails = tuple((a, (a + 3) % 6) for a in nodes)
    one = Fraction(1)
    bounds = [
        BandwidthBound(tuple(x for x in links if x[end] == n), one, "", counts)
        for n in nodes
        for end, counts in enumerate((Counting.SOURCES, Counting.DESTINATIONS))
    ]
    bounds += [BandwidthBound((rail,), one) for rail in rails]
    found = proposed(
        Topology("two boxes", 6, tuple(sorted(links + rails)), tuple(bounds)), SeedLimits()
    )
    families = [x.family for x in found if x.family is not None]
    assert [(family.first, family.limit) for family in families] == [(2, 1)]


def test_limits_are_kept() -> None:
    limits = SeedLimits(max_steps=3, max_rounds=20, max_chunks=17)
    found = proposed(box(4), limits)
    assert found
    for one in found:
        assert one.algorithm.steps <= 3
        assert one.algorithm.rounds <= 20
        assert one.chunks <= 17


@pytest.mark.parametrize(
    ("network", "collective", "why"),
    [
        ("dgx_h100", "allreduce", "no switch copies"),
        ("dgx_h100(nvls=true)", "broadcast", "does not combine"),
        ("dgx_h100(nvls=true)", "reduce", "not every node that contributes"),
    ],
)
def test_refusals_have_a_reason(network: str, collective: str, why: str) -> None:
    found = RECORD.fits(as_topology(SPECS.topology(network)), SPECS.collective(collective))
    assert not found.ok
    assert why in found.reason


def test_a_search_finds_the_gain_and_proves_it_optimal() -> None:
    """R/C falls to 1, the bound for all algorithms; without the switches it is 3/2."""
    with_, without = (
        syncoll.pareto(
            f"nvl72(4, {nvls})",
            "allreduce",
            backend="inswitch" if nvls == "true" else "ring",
            progress="none",
        )
        for nvls in ("true", "false")
    )
    assert with_.least_bandwidth == 1
    assert [family.limit for family in with_.families] == [1]
    assert without.least_bandwidth == Fraction(3, 2)
    assert min(point.bandwidth for point in without) == Fraction(3, 2)
