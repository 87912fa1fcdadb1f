"""Cuts prove their bounds, and the search finds the best of them."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, permutations

import msgspec
import numpy as np
import pytest

from syncoll.bounding import at_once, rounds_bound
from syncoll.bounding.at_once import least_cut
from syncoll.bounding.covers import Covers
from syncoll.bounding.cuts import find_cut
from syncoll.bounding.network import SMALL
from syncoll.certificates import Cut, Demand, Priced, RoundsBound, demands
from syncoll.documents.certificates import bound_of, certificate_record
from syncoll.errors import FileFormatError, VerificationError
from syncoll.model import BandwidthBound, Collective, Topology
from syncoll.testing.brute_force import TooLargeError, least_rounds
from syncoll.testing.instances import random_instance, random_topology
from tests.oracles.classics import (
    allgather,
    alltoall,
    broadcast,
    bus,
    dgx1,
    gather,
    hub,
    line,
    ring,
)
from tests.oracles.proofs import argued

F = Fraction


def cheapest_cover(topology: Topology, links: set[int]) -> Fraction:
    """By brute force over all sets of bounds."""
    best: Fraction | None = None
    positions = [i for i, m in enumerate(topology.bound_links) if links & set(m.tolist())]
    for size in range(len(positions) + 1):
        for chosen in combinations(positions, size):
            covered = {link for i in chosen for link in topology.bound_links[i].tolist()}
            cost = sum((topology.bounds[i].chunks_per_round for i in chosen), F(0))
            if links <= covered and (best is None or cost < best):
                best = cost
    assert best is not None
    return best


def best_cut(topology: Topology, needs: tuple[Demand, ...]) -> Fraction:
    """By brute force over all sets of nodes and all covers."""
    best = F(0)
    for size in range(1, topology.num_nodes):
        for nodes in combinations(range(topology.num_nodes), size):
            inside = set(nodes)
            out = {i for i, (a, b) in enumerate(topology.links) if a in inside and b not in inside}
            amount = sum(
                need.count
                for need in needs
                if inside >= set(need.sources) and not inside >= set(need.destinations)
            )
            if out and amount:
                best = max(best, amount / cheapest_cover(topology, out))
    return best


def test_the_best_cut_is_found() -> None:
    checked = shared = 0
    for seed in range(250):
        instance = random_instance(seed, most_nodes=4, most_chunks=4)
        topology, needs = instance.topology, demands(instance)
        if not needs or instance.steps < instance.least_steps or len(topology.bounds) > 12:
            continue
        best = best_cut(topology, needs)
        cut = find_cut(topology, needs, best)
        assert cut is not None, seed
        assert cut.check(topology, needs) == best, seed
        assert find_cut(topology, needs, best + F(1, 1000)) is None, seed
        # Prices prove at least as much as any cut, and no algorithm beats a cut.
        assert best <= rounds_bound(topology, needs).rounds, seed
        checked += 1
        shared += any(len(topology.bounds[i].links) > 1 for i, _ in cut.prices)
        try:
            truth = least_rounds(instance, 12)
        except TooLargeError:
            continue
        assert truth is None or best <= truth, seed
    assert checked >= 60
    assert shared >= 15


def ports(rng: random.Random) -> Topology:
    """Four nodes with a bound on all links out of each, and on all into each: bounds that meet only
    by way of others."""
    links = tuple(one for one in permutations(range(4), 2) if rng.random() < 0.75)
    shared = [tuple(one for one in links if one[e] == v) for v in range(4) for e in (0, 1)]
    bounds = (BandwidthBound(some, F(rng.randint(1, 2))) for some in shared if some)
    return Topology("ports", 4, links, tuple(bounds))


def test_least_covers() -> None:
    rng = random.Random(3)
    checked = 0
    for seed in range(300):
        topology = random_topology(seed, most_nodes=5) if seed % 3 else ports(rng)
        if len(topology.bounds) > 12 or not topology.links:
            continue
        links = set(rng.sample(range(len(topology.links)), rng.randint(1, len(topology.links))))
        cover = Covers(topology).least(np.array(sorted(links)))
        assert cover is not None
        covered = {link for i in cover for link in topology.bound_links[i].tolist()}
        assert links <= covered, seed
        cost = sum((topology.bounds[i].chunks_per_round for i in cover), F(0))
        assert cost == cheapest_cover(topology, links), seed
        checked += 1
    assert checked >= 150


CASES = [
    (dgx1(), allgather(), 1, F(7, 6)),
    (dgx1(), gather(), 1, F(7, 6)),
    (dgx1(), alltoall(), 8, F(1, 3)),
    (ring(8), alltoall(), 8, F(1)),
    (ring(14), allgather(), 1, F(13, 2)),
    (ring(14), alltoall(), 14, F(7, 4)),
    (line(20), broadcast(), 1, F(1)),
    (line(20), alltoall(), 20, F(5)),
    (hub(16), allgather(), 1, F(15)),
    (hub(16), alltoall(), 16, F(15, 16)),
]


@pytest.mark.parametrize(
    ("topology", "collective", "chunks", "cost"), CASES, ids=lambda c: getattr(c, "name", str(c))
)
def test_known_cuts(
    topology: Topology, collective: Collective, chunks: int, cost: Fraction
) -> None:
    needs = demands(collective.tabulate(topology.num_nodes, chunks))
    cut = find_cut(topology, needs, cost * chunks)
    assert cut is not None
    assert cut.check(topology, needs) == cost * chunks
    assert find_cut(topology, needs, cost * chunks + F(1, 100)) is None


def test_prices_suggest_a_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two rings of 8 joined by one slow link each way, in an order that no ball follows."""
    order = random.Random(1).sample(range(16), 16)
    links: dict[tuple[int, int], int | Fraction] = {}
    for base in (0, 8):
        for i in range(8):
            for j in ((i + 1) % 8, (i - 1) % 8):
                links[order[base + i], order[base + j]] = 16
    for a, b in ((0, 8), (8, 0)):
        links[order[a], order[b]] = F(1, 2)
    topology = Topology.from_links("two rings", 16, links)
    assert topology.num_nodes > SMALL
    needs = demands(alltoall().tabulate(16, 16))
    assert least_cut(topology, needs).rounds == 128
    at_once._node_sets.cache_clear()
    monkeypatch.setattr("syncoll.bounding.at_once.boxes_by_width", lambda *_: [])
    bound = rounds_bound(topology, needs)
    assert bound.method == "prices"
    cut = find_cut(topology, needs, bound.rounds, bound.certificate)
    assert cut is not None
    assert set(nodes_of(cut)) in (set(order[:8]), set(order[8:]))
    assert cut.check(topology, needs) == bound.rounds == 128


def test_a_cut_around_few_nodes_goes_first() -> None:
    needs = demands(broadcast().tabulate(6, 1))
    cut = find_cut(line(6), needs, F(1))
    assert cut is not None
    assert nodes_of(cut) == (0,)


def test_no_cut_for_a_bound_about_steps() -> None:
    needs = demands(broadcast().tabulate(8, 1))
    assert rounds_bound(dgx1(), needs, 2).rounds == 1
    assert find_cut(dgx1(), needs, F(1)) is None


def test_nothing_to_prove() -> None:
    assert find_cut(line(3), (), F(1)) is None
    assert find_cut(line(3), demands(broadcast().tabulate(3, 1)), F(0)) is None


def nodes_of(cut: Priced) -> tuple[int, ...]:
    assert isinstance(cut.argument, Cut)
    return cut.argument.nodes


class TestMutated:
    topology, needs = dgx1(), demands(allgather().tabulate(8, 1))

    def cut(self) -> Priced:
        found = find_cut(self.topology, self.needs, F(7, 6))
        assert found is not None
        return found

    def refused(self, cut: Priced, message: str) -> None:
        with pytest.raises(VerificationError, match=message):
            cut.check(self.topology, self.needs)

    def test_a_bound_left_out(self) -> None:
        cut = self.cut()
        for place in cut.prices:
            rest = {other: price for other, price in cut.prices.items() if other != place}
            self.refused(replace(cut, prices=rest), "its cover lacks it")
            self.refused(replace(cut, prices={**rest, place: F(9, 10)}), "its cover lacks it")

    def test_a_needless_bound_proves_less(self) -> None:
        cut = self.cut()
        more = next(i for i in range(32) if (i, 0) not in cut.prices)
        changed = replace(cut, prices={**cut.prices, (more, 0): F(1)})
        assert changed.check(self.topology, self.needs) < F(7, 6)

    def test_nodes_or_prices_named_twice(self) -> None:
        cut = self.cut()
        nodes = nodes_of(cut)
        self.refused(argued(cut, nodes=nodes + nodes[:1]), "names a node twice")
        record = certificate_record(RoundsBound(F(7, 6), None, cut), 0)
        twice = msgspec.structs.replace(record, cover=next(iter(cut.prices))[:1] * 2)
        with pytest.raises(FileFormatError, match="a price twice"):
            bound_of(twice)

    @pytest.mark.parametrize("position", [-1, 32, 10**6])
    def test_unknown_positions(self, position: int) -> None:
        cut = self.cut()
        changed = replace(cut, prices={**cut.prices, (position, 0): F(1)})
        self.refused(changed, f"bound {position}, step 0, which does not exist")
        changed = argued(cut, nodes=(*nodes_of(cut), position))
        self.refused(changed, f"node {position}, which does not exist")

    def test_other_nodes(self) -> None:
        """Other nodes are refused, or their bound is true: no cut proves more than the best."""
        cut = self.cut()
        passed = refusals = 0
        everything = tuple(range(len(self.topology.bounds)))
        for size in range(9):
            for nodes in combinations(range(8), size):
                for cover in ([i for i, _ in cut.prices], everything):
                    try:
                        proved = Cut.covered(nodes, cover).check(self.topology, self.needs)
                    except VerificationError:
                        refusals += 1
                    else:
                        passed += 1
                        assert proved <= F(7, 6)
        assert passed > 255
        assert refusals > 200

    def test_nothing_crosses(self) -> None:
        everyone = tuple(range(8))
        assert Cut.covered(everyone, ()).check(self.topology, self.needs) == 0
        assert Cut.covered((), ()).check(self.topology, self.needs) == 0

    def test_no_way_out(self) -> None:
        topology = Topology.from_links("one way", 2, {(0, 1): 1})
        with pytest.raises(VerificationError, match="chunks pay 1, but no link"):
            Cut.covered((1,), ()).check(topology, (Demand((1,), (0,), 1),))

    def test_a_cut_fits_only_its_own_machine(self) -> None:
        with pytest.raises(VerificationError):
            self.cut().check(bus(8), self.needs)


def test_around_single_nodes() -> None:
    """For networks that are too large for a linear program: no worse than the best of 2 P cuts."""
    looked = 0
    for seed in range(120):
        instance = random_instance(seed, least_nodes=2, most_nodes=5)
        if instance.combining:
            continue
        topology, needs = instance.topology, demands(instance)
        bound = least_cut(topology, needs)
        everybody = range(topology.num_nodes)
        best = F(0)
        for one in everybody:
            for inside in ({one}, set(everybody) - {one}):
                crossing = {
                    i for i, (a, b) in enumerate(topology.links) if a in inside and b not in inside
                }
                amount = sum(
                    need.count
                    for need in needs
                    if inside >= set(need.sources) and not inside >= set(need.destinations)
                )
                if amount and crossing:
                    best = max(best, amount / cheapest_cover(topology, crossing))
        assert bound.rounds >= best
        if bound.certificate is not None:
            assert bound.method == "cut"
            assert bound.certificate.check(topology, needs) == bound.rounds
            assert bound.rounds <= best_cut(topology, needs)
        looked += bound.rounds > 0
    assert looked > 40


def test_a_met_cut_needs_no_program() -> None:
    """The program of 1024 nodes would take gigabytes."""
    links = {
        (32 * x + y, z): 1
        for x in range(32)
        for y in range(32)
        for z in (
            32 * ((x + 1) % 32) + y,
            32 * ((x - 1) % 32) + y,
            32 * x + (y + 1) % 32,
            32 * x + (y - 1) % 32,
        )
    }
    torus = Topology.from_links("torus", 1024, links)
    needs = tuple(Demand((n,), tuple(d for d in range(1024) if d != n), 1) for n in range(1024))
    for steps in (None, 32):
        assert rounds_bound(torus, needs, steps).rounds == F(1023, 4)
    assert least_cut(torus, needs).rounds == F(1023, 4)
