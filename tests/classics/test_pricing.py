"""Cheap tours, sets of rings in the remaining capacity, and upper bounds on their number."""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

from syncoll.arrays import Floats
from syncoll.model import Topology
from syncoll.plugins import Proposal
from syncoll.routing import as_topology
from syncoll.spec import SpecLibrary
from syncoll_classics.packing import pack_rings, rings_bound
from syncoll_classics.pricing import priced_rings
from syncoll_classics.tours import cheap_tour


def later() -> float:
    return time.monotonic() + 10


def length(prices: Floats, order: tuple[int, ...]) -> float:
    return float(prices[list(order), [*order[1:], order[0]]].sum())


@pytest.mark.parametrize("seed", range(10))
def test_the_best_of_a_few_tours_is_the_cheapest(seed: int) -> None:
    rng = np.random.default_rng(seed)
    prices = rng.random((6, 6))
    tours = [cheap_tour(prices, np.random.default_rng(i), later()) for i in range(12)]
    cheapest = min(length(prices, (0, *rest)) for rest in permutations(range(1, 6)))
    found = [tour for tour in tours if tour is not None]
    assert len(found) == len(tours)
    for tour in found:
        assert tour[0] == 0
        assert sorted(tour) == list(range(6))
    assert min(length(prices, tour) for tour in found) == pytest.approx(cheapest)


def test_a_tour_uses_no_link_that_is_missing() -> None:
    """One cycle exists among expensive links that lead nowhere."""
    prices = np.full((8, 8), np.inf)
    for i in range(8):
        prices[i, (i + 1) % 8] = 9.0
    prices[0, 3] = prices[4, 1] = 0.1
    found = [cheap_tour(prices, np.random.default_rng(i), later()) for i in range(20)]
    assert set(found) <= {None, tuple(range(8))}
    assert tuple(range(8)) in found
    prices[7, 0] = np.inf
    assert cheap_tour(prices, np.random.default_rng(0), later()) is None


@pytest.mark.parametrize("paired", [True, False])
def test_rings_at_prices_fit_side_by_side(*, paired: bool, specs: SpecLibrary) -> None:
    topology = as_topology(specs.topology("a100(boxes=2)"))
    rings = priced_rings(topology, 1, 8, later(), paired=paired)
    assert len(rings) == 8
    for bound in topology.bounds:
        load = sum(
            link in set(bound.links)
            for ring in rings
            for link in zip(ring, (*ring[1:], ring[0]), strict=True)
        )
        assert load <= bound.chunks_per_round
    if paired:
        batches = zip(rings[::2], rings[1::2], strict=True)
        assert all(back == (forth[0], *forth[:0:-1]) for forth, back in batches)


@pytest.mark.parametrize(
    ("name", "rings"), [("a100(boxes=2)", 8), ("a100(boxes=4)", 8), ("mi250(boxes=2, gpus=8)", 8)]
)
def test_clusters_use_all_their_cards(name: str, rings: int, specs: SpecLibrary) -> None:
    """Every ring leaves a box, and each card carries one chunk a round."""
    topology = as_topology(specs.topology(name))
    best = pack_rings(topology, 20.0)[-1]
    assert best.ratio == rings_bound(topology) == rings
    assert best.proved


def test_ring_allgather_on_two_a100_boxes(
    propose: Callable[..., list[Proposal]], specs: SpecLibrary
) -> None:
    """ForestColl paper, section 5.3: a ring allgather has 213.33 GB/s."""
    topology = as_topology(specs.topology("a100(boxes=2)"))
    assert topology.fabric is not None
    best = propose("ring", topology, "allgather")[0]
    steps, rounds = best.algorithm.steps, best.algorithm.rounds
    assert (steps, rounds, best.chunks) == (15, 15, 8)
    data = 16 * best.chunks * topology.fabric.chunk_bandwidth
    assert data / rounds == Fraction(640, 3)


def test_a_link_set_around_groups_bounds_rings() -> None:
    """Two triangles, joined by wide links; a step can use three of them."""
    links = {
        (3 * box + i, 3 * box + j): 9
        for box in (0, 1)
        for i in range(3)
        for j in range(3)
        if i != j
    }
    across = [(i, j) for i in range(3) for j in range(3, 6)]
    across += [(b, a) for a, b in across]
    topology = Topology.from_links("boxes", 6, links, [(across, Fraction(3))], unbounded=across)
    # All links out of both boxes are in this one set.
    assert rings_bound(topology) == Fraction(3, 2)
    assert pack_rings(topology, 5.0)[-1].ratio == Fraction(3, 2)
