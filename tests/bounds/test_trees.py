"""Bounds by trees of sends: true, at least as strong as flows, and sometimes stronger."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

import syncoll
from syncoll.bounding import rounds_bound, trees as trees_module
from syncoll.bounding.orbit_model import OrbitModel
from syncoll.bounding.rationals import rationalise
from syncoll.bounding.trees import find_tree_prices, trees_of
from syncoll.certificates import Demand, Priced, Trees, demands
from syncoll.certificates.informed_sets import MOST_UNINFORMED, InformedSets, set_orbits
from syncoll.certificates.steiner import MOST_DESTINATIONS, CheapestTrees
from syncoll.clock import counting, now
from syncoll.deadline import Deadline
from syncoll.errors import VerificationError
from syncoll.model import Topology
from syncoll.testing.brute_force import TooLargeError, least_rounds
from syncoll.testing.instances import random_instance, random_topology
from tests.oracles.classics import allgather, broadcast, dgx1, hub, line, ring

F = Fraction


def cube() -> Topology:
    links = {(a, a ^ 1 << bit): 1 for a in range(8) for bit in range(3)}
    return Topology.from_links("cube", 8, links)


@pytest.mark.parametrize(
    ("topology", "steps", "flows", "trees"),
    [
        (cube(), 3, F(5, 6), F(1)),  # a chunk cannot be split over many paths
        (hub(8), 3, F(7, 5), F(7, 5)),
        (dgx1(), 4, F(1, 3), F(1, 3)),
        (ring(5), 3, F(1), F(1)),
        (line(4), 3, F(3), F(3)),
    ],
    ids=lambda case: getattr(case, "name", str(case)),
)
def test_broadcasts(topology: Topology, steps: int, flows: Fraction, trees: Fraction) -> None:
    needs = demands(broadcast().tabulate(topology.num_nodes, 1))
    found = find_tree_prices(topology, needs, steps)
    assert found is not None
    assert found[0] == trees == found[1].check(topology, needs)
    assert rounds_bound(topology, needs, steps).rounds == flows


def test_generation_ends_where_no_gain_is_possible() -> None:
    for topology, steps in ((hub(8), 3), (cube(), 3)):
        needs = demands(broadcast().tabulate(8, 1))
        flows = rounds_bound(topology, needs, steps).rounds
        found = find_tree_prices(topology, needs, steps, more_than=flows)
        assert (found is not None) == (topology.name == "cube")


def test_several_demands() -> None:
    needs = demands(allgather().tabulate(4, 2))
    found = find_tree_prices(ring(4), needs, 2)
    assert found is not None
    assert found[0] == 3


def test_never_above_the_least_rounds() -> None:
    checked = stronger = 0
    for seed in range(130):
        instance = random_instance(seed, most_chunks=3)
        needs = demands(instance)
        if not needs or instance.steps < max(1, instance.least_steps):
            continue
        found = find_tree_prices(instance.topology, needs, instance.steps)
        assert found is not None, seed
        flows = rounds_bound(instance.topology, needs, instance.steps).rounds
        assert flows <= found[0], seed
        stronger += flows < found[0]
        try:
            truth = least_rounds(instance, 12)
        except TooLargeError:
            continue
        if truth is not None:
            assert found[0] <= truth, seed
            checked += 1
    assert checked >= 50


@pytest.mark.parametrize(("steps", "rounds"), [(4, F(5, 6)), (5, F(31, 56)), (6, F(1, 2))])
def test_broadcasts_to_fifteen_nodes(steps: int, rounds: Fraction) -> None:
    """More destinations than sets of them are enumerated for: sets of informed nodes take over."""
    links = {(a, a ^ 1 << bit): 1 for a in range(16) for bit in range(4)}
    topology = Topology.from_links("cube", 16, links)
    needs = demands(broadcast().tabulate(16, 1))
    found = find_tree_prices(topology, needs, steps)
    assert found is not None
    assert found[0] == rounds == found[1].check(topology, needs)


def test_little_time_leaves_a_readable_bound() -> None:
    """Prices that are only known as floats have one denominator."""
    links = {(a, (a + by) % 16): 1 + by for a in range(16) for by in (1, 3, 5)}
    needs = demands(broadcast().tabulate(16, 1))
    topology = Topology.from_links("uneven", 16, links)
    with counting():
        found = find_tree_prices(topology, needs, 7, Deadline.after(0.4))
    assert found is None or found[0].denominator <= 10**15
    prices = np.random.default_rng(4).random((len(topology.bounds), 7)) / 300
    model = OrbitModel(topology, 7)
    certified = rationalise(
        prices,
        9.0,
        lambda rounding: Priced(7, model.priced(prices, rounding), Trees()),
        lambda proof: proof.check(topology, needs),
    )
    assert certified is not None
    assert certified[0].denominator <= 10**15
    assert certified[1].check(topology, needs) == certified[0]


def test_sets_of_informed_nodes_and_of_destinations_agree() -> None:
    rng = np.random.default_rng(3)
    checked = 0
    for seed in range(120):
        topology = random_topology(seed, most_nodes=6)
        nodes = rng.permutation(topology.num_nodes).tolist()
        first = int(rng.integers(1, topology.num_nodes))
        last = int(rng.integers(first + 1, topology.num_nodes + 1))
        demand = Demand(tuple(sorted(nodes[:first])), tuple(sorted(nodes[first:last])), 1)
        steps = int(rng.integers(1, 6))
        prices = rng.integers(0, 9, (steps, len(topology.links)))
        never = 10**6
        by_ends = CheapestTrees(topology, demand, prices, never)
        informed = InformedSets(topology, demand, prices, never)
        cost = int(by_ends.cost)
        assert int(informed.cost) == cost, seed
        assert InformedSets(topology, demand, prices, never, below=cost).cost == never, seed
        if cost < never:
            narrow = InformedSets(topology, demand, prices, never, below=cost + 1)
            assert int(narrow.cost) == cost, seed
            for found in (informed, narrow):
                tree = found.tree()
                assert sum(int(prices[t, link]) * n for (link, t), n in tree.items()) == cost
                assert _informs(topology, demand, tree), seed
            checked += 1
    assert checked >= 60


def _informs(topology: Topology, demand: Demand, tree: Mapping[tuple[int, int], int]) -> bool:
    """Whether sends bring a chunk to its destinations, none of them from a node without it."""
    have = set(demand.sources)
    for step in range(max((t for _, t in tree), default=-1) + 1):
        ends = [topology.links[link] for link, t in tree if t == step]
        if not {a for a, _ in ends} <= have:
            return False
        have |= {b for _, b in ends}
    return have >= set(demand.destinations)


def test_orbits_of_sets_are_orbits_of_the_group() -> None:
    others = (1, 2, 4, 5)
    images = [np.array(one) for one in ([0, 2, 1, 3, 4, 5], [0, 1, 2, 3, 5, 4])]
    label = set_orbits(others, images)
    for left, right in product(range(16), repeat=2):
        sizes = [(one & 3).bit_count() for one in (left, right)]
        more = [(one >> 2).bit_count() for one in (left, right)]
        same = sizes[0] == sizes[1] and more[0] == more[1]
        assert (label[left] == label[right]) == same


def cheapest(topology: Topology, demand: Demand, prices: np.ndarray) -> int | None:
    """The least cost by brute force over all sets of sends."""
    steps = len(prices)
    sends = list(product(range(steps), range(len(topology.links))))
    best: int | None = None
    for size in range(len(demand.destinations) * steps + 1):
        for chosen in combinations(sends, size):
            cost = sum(int(prices[send]) for send in chosen)
            if best is not None and cost >= best:
                continue
            have = set(demand.sources)
            for step in range(steps):
                links = [topology.links[link] for s, link in chosen if s == step]
                have |= {b for a, b in links if a in have}
            if have >= set(demand.destinations):
                best = cost
    return best


def test_the_cheapest_tree() -> None:
    rng = random.Random(8)
    checked = 0
    for seed in range(200):
        topology = random_topology(seed, most_nodes=4)
        steps = rng.randint(1, 3)
        if not 0 < len(topology.links) * steps <= 12:
            continue
        nodes = list(range(topology.num_nodes))
        sources = tuple(sorted(rng.sample(nodes, rng.randint(1, topology.num_nodes - 1))))
        others = [n for n in nodes if n not in sources]
        destinations = tuple(sorted(rng.sample(others, rng.randint(1, len(others)))))
        demand = Demand(sources, destinations, 1)
        prices = np.array([[rng.randint(0, 5) for _ in topology.links] for _ in range(steps)])
        truth = cheapest(topology, demand, prices)
        found = CheapestTrees(topology, demand, prices, 10**6)
        assert (int(found.cost) if found.cost < 10**6 else None) == truth, seed
        if truth is not None:
            tree = found.tree()
            assert sum(int(prices[t, link]) * n for (link, t), n in tree.items()) == truth, seed
            checked += 1
    assert checked >= 40


class TestMutated:
    topology, needs = cube(), demands(broadcast().tabulate(8, 1))

    def certificate(self) -> Priced:
        found = find_tree_prices(self.topology, self.needs, 3)
        assert found is not None
        return found[1]

    def refused(self, certificate: Priced, message: str) -> None:
        with pytest.raises(VerificationError, match=message):
            certificate.check(self.topology, self.needs)

    def test_prices_that_break_a_rule(self) -> None:
        found = self.certificate()
        key = next(iter(found.prices))
        more = {**found.prices, key: found.prices[key] + F(1)}
        self.refused(replace(found, prices=more), "costs .*, more than 1")
        self.refused(replace(found, prices={**found.prices, key: F(-1, 9)}), "negative price -1/9")
        for place in ((-1, 0), (24, 0), (0, -1), (0, 3)):
            changed = replace(found, prices={**found.prices, place: F(1, 10**9)})
            self.refused(
                changed, f"a price for bound {place[0]}, step {place[1]}, which does not exist"
            )

    def test_fewer_or_other_steps(self) -> None:
        self.refused(replace(self.certificate(), steps=2), "does not exist")
        self.refused(Priced(2, {}, Trees()), "no path leads from nodes")
        # More steps prove nothing if the last are free.
        assert replace(self.certificate(), steps=6).check(self.topology, self.needs) == 0

    def test_a_certificate_that_passes_proves_at_most_the_best(self) -> None:
        rng = random.Random(2)
        found = self.certificate()
        for _ in range(40):
            totals = {key: price * F(rng.randint(0, 4), 4) for key, price in found.prices.items()}
            assert replace(found, prices=totals).check(self.topology, self.needs) <= 1

    def test_large_denominators(self) -> None:
        found = self.certificate()
        tiny = F(1, 10**40)
        totals = {key: price * (1 - tiny) for key, price in found.prices.items()}
        assert replace(found, prices=totals).check(self.topology, self.needs) == 1 - tiny

    def test_too_many_destinations(self) -> None:
        nodes = MOST_UNINFORMED + 2
        needs = demands(broadcast().tabulate(nodes, 1))
        assert find_tree_prices(ring(nodes), needs, nodes) is None
        with pytest.raises(VerificationError, match="16 destinations"):
            Priced(nodes, {}, Trees()).check(ring(nodes), needs)
        few = [Demand((0,), tuple(range(1, MOST_DESTINATIONS + 1)), 1)]
        assert Priced(nodes, {(0, 0): F(1)}, Trees()).check(ring(nodes), few) == 0


def test_trees_of_an_algorithm_are_a_warm_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trees of an optimal algorithm leave less to look for, and prove the same."""
    topology, asked = syncoll.topology("hypercube(3)"), syncoll.collective("broadcast")
    needs = demands(asked.tabulate(8, 1))
    solved = syncoll.solve(topology, asked, chunks=1, steps=3, rounds=3)
    assert solved.algorithm is not None
    table = asked.tabulate(8, 1)
    known = list(trees_of(solved.algorithm, table, topology, needs))
    assert [k for k, _ in known] == [0]
    assert _informs(topology, needs[0], known[0][1])
    asks = []
    usual = trees_module.cheapest_tree

    def counted(*arguments: Any) -> Any:
        asks.append(arguments)
        return usual(*arguments)

    monkeypatch.setattr(trees_module, "cheapest_tree", counted)
    counts = []
    for trees in ((), known):
        asks.clear()
        found = find_tree_prices(topology, needs, 3, known=trees)
        assert found is not None
        assert found[0] == 1
        counts.append(len(asks))
    assert counts[1] <= counts[0]


def test_looking_for_trees_counts_as_work(monkeypatch: pytest.MonkeyPatch) -> None:
    topology, needs = ring(6), demands(allgather().tabulate(6, 1))
    asks = []
    usual = trees_module.cheapest_tree

    def long(*arguments: Any) -> Any:
        asks.append(usual(*arguments))
        asks[-1].sums = 10**9
        return asks[-1]

    monkeypatch.setattr(trees_module, "cheapest_tree", long)
    with counting():
        find_tree_prices(topology, needs, 3, Deadline.after(1.0))
    assert len(asks) == 1


def test_a_check_that_exceeds_the_work_is_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    links = {(a, a ^ 1 << bit): 1 for a in range(16) for bit in range(4)}
    topology = Topology.from_links("cube", 16, links)
    needs = demands(broadcast().tabulate(16, 1))
    monkeypatch.setattr(trees_module, "cheapest_tree", None)
    with counting():
        assert find_tree_prices(topology, needs, 6, Deadline.after(0.1)) is None


def test_an_exact_check_counts_as_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trees_module, "_UNITS_PER_EXACT_SUM", 1.0)
    with counting():
        found = find_tree_prices(ring(3), demands(broadcast().tabulate(3, 1)), 2)
        assert found is not None
        assert now() >= 2 * 3**2
