"""Counting sends between parts: valid bounds, often better than others."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from heapq import heappop, heappush
from itertools import combinations, product
from math import ceil

import numpy as np
import pytest

import syncoll
from syncoll.bounding import combining_rounds_bound
from syncoll.bounding.partition import find_partition
from syncoll.certificates import ChunkClass, ChunkClasses, Parts, Priced
from syncoll.errors import VerificationError
from syncoll.formula import Verdict
from syncoll.model import RelationTable, Topology
from syncoll.testing.instances import random_topology
from tests.oracles.classics import bus, dgx1, hub, line, ring
from tests.oracles.proofs import argued

F = Fraction


def everyone(nodes: int, count: int = 1) -> tuple[ChunkClass, ...]:
    return (ChunkClass(tuple(range(nodes)), tuple(range(nodes)), count),)


def boxes(count: int, size: int, slow: int | Fraction) -> Topology:
    """Boxes of fully connected nodes; slow links join the first node of each to that of others."""
    links: dict[tuple[int, int], int | Fraction] = {}
    for box in range(count):
        for i, j in product(range(size), repeat=2):
            if i != j:
                links[box * size + i, box * size + j] = 8
        for other in range(count):
            if other != box:
                links[box * size, other * size] = slow
    return Topology.from_links("boxes", count * size, links)


@pytest.mark.parametrize(
    ("topology", "cost"),
    [
        (dgx1(), F(7, 24)),
        (ring(8), F(7, 8)),
        (hub(8), F(7, 4)),
        (bus(5), F(8)),
        (line(6), F(1)),
        # Not all links count, only the slow ones.
        (boxes(4, 4, 1), F(1, 2)),
        (boxes(3, 4, F(1, 2)), F(4, 3)),
    ],
    ids=lambda case: getattr(case, "name", str(case)),
)
def test_known(topology: Topology, cost: Fraction) -> None:
    found = find_partition(topology, everyone(topology.num_nodes))
    assert found is not None
    bound, certificate = found
    assert bound == cost
    assert certificate.check(topology, everyone(topology.num_nodes)) == cost
    assert certificate.check(topology, everyone(topology.num_nodes, 3)) == 3 * cost


def test_stronger_than_spreading_one_contribution() -> None:
    topology = boxes(4, 3, 1)
    found = find_partition(topology, everyone(12))
    table = RelationTable(np.ones((1, 12), bool), np.ones((1, 12), bool))
    assert found is not None
    assert found[0] == F(1, 2)
    assert (
        combining_rounds_bound(topology, ChunkClasses.of(table, 1, combining=True)).rounds
        <= found[0]
    )


def least_sends(topology: Topology, pre: int, post: int, parts: tuple[int, ...]) -> int | None:
    """The least number of sends between parts that serve all receivers, by search over all states.

    The state of a node is a set of contributors; sends go one after the other, and sends within a
    part are free.
    """
    nodes = topology.num_nodes
    start = tuple((1 << n) & pre for n in range(nodes))
    distance = {start: 0}
    queue = deque([start])
    while queue:
        state = queue.popleft()
        if all(state[n] == pre for n in range(nodes) if post >> n & 1):
            return distance[state]
        for a, b in topology.links:
            known = state[a] | state[b]
            if known == state[b]:
                continue
            after = (*state[:b], known, *state[b + 1 :])
            cost = distance[state] + (parts[a] != parts[b])
            if cost < distance.get(after, 1 << 30):
                distance[after] = cost
                if parts[a] == parts[b]:
                    queue.appendleft(after)
                else:
                    queue.append(after)
    return None


def every_partition(nodes: int) -> Iterator[tuple[int, ...]]:
    for parts in product(range(nodes), repeat=nodes):
        if all(part <= max(parts[:n], default=-1) + 1 for n, part in enumerate(parts)):
            yield parts


def test_no_algorithm_needs_fewer_sends() -> None:
    """For all contributors, needers and partitions of small machines, by brute force."""
    checked = met = 0
    for seed in range(16):
        topology = random_topology(seed, least_nodes=3, most_nodes=4)
        nodes = topology.num_nodes
        sets = [s for k in (1, 2, 3, 4) for s in combinations(range(nodes), k)]
        for parts in list(every_partition(nodes))[::3]:
            between = [parts[a] != parts[b] for a, b in topology.links]
            if not any(between):
                continue
            # A bus over all links between parts that carries one send a round: R counts sends.
            group = [link for link, out in zip(topology.links, between, strict=True) if out]
            counting = Topology.from_links(
                "counting", nodes, dict.fromkeys(topology.links, 1000), [(group, 1)]
            )
            prices = {len(topology.links): F(1)}
            for pre, post in list(product(sets, repeat=2))[::5]:
                words = [sum(1 << n for n in one) for one in (pre, post)]
                truth = least_sends(topology, words[0], words[1], parts)
                if truth is None:
                    continue
                chunk = (ChunkClass(pre, post, 1),)
                proved = Parts.priced(parts, prices).check(counting, chunk)
                assert proved <= truth, (seed, parts, pre, post)
                checked += 1
                met += proved == truth
    assert checked >= 1000
    assert met >= checked / 3


def least_paid(topology: Topology, pre: int, post: int, price: list[int]) -> int | None:
    """As `least_sends`, for prices of the links."""
    nodes = topology.num_nodes
    start = tuple((1 << n) & pre for n in range(nodes))
    known: dict[tuple[int, ...], int] = {}
    queue = [(0, start)]
    while queue:
        cost, state = heappop(queue)
        if state in known:
            continue
        known[state] = cost
        if all(state[n] == pre for n in range(nodes) if post >> n & 1):
            return cost
        for link, (a, b) in enumerate(topology.links):
            if state[a] | state[b] != state[b]:
                after = (*state[:b], state[a] | state[b], *state[b + 1 :])
                heappush(queue, (cost + price[link], after))
    return None


def test_nothing_pays_less_with_moved_chunks() -> None:
    """For contributors, needers, partitions and prices of small machines, by brute force."""
    checked = more = met = 0
    for seed in range(16):
        topology = random_topology(seed, least_nodes=3, most_nodes=4)
        nodes, rng = topology.num_nodes, random.Random(seed)
        plain = Topology.from_links("plain", nodes, dict.fromkeys(topology.links, 1))
        sets = [s for k in (1, 2, 3) for s in combinations(range(nodes), k)]
        for parts in list(every_partition(nodes))[::3]:
            price = [
                rng.randint(1, 3) if parts[a] != parts[b] else rng.randint(0, 2)
                for a, b in plain.links
            ]
            prices = {i: F(p) for i, p in enumerate(price) if p}
            if not prices:
                continue
            for pre, post in list(product(sets, repeat=2))[seed % 5 :: 5]:
                words = [sum(1 << n for n in one) for one in (pre, post)]
                truth = least_paid(plain, words[0], words[1], price)
                if truth is None:
                    continue
                chunk = (ChunkClass(pre, post, 1),)
                before, now = (
                    Parts.priced(parts, prices, moved=moved).check(plain, chunk) * sum(price)
                    for moved in (False, True)
                )
                assert before <= now <= truth, (seed, parts, pre, post)
                checked, more, met = checked + 1, more + (now > before), met + (now == truth)
    assert checked >= 1000
    assert more >= checked / 5
    assert met >= checked / 4


@pytest.mark.parametrize(
    ("machine", "collective", "cost"),
    [
        ("bus(3)", "allreduce + alltoall", F(6)),
        ("ring(4)", "allreduce + alltoall", F(5, 4)),
        ("ring(4)", "2 * allreduce + alltoall", F(2)),
        ("hypercube(3)", "allreduce + alltoall", F(13, 12)),
        ("torus(4,4)", "allreduce + alltoall", F(31, 32)),
        # Prices for which both pay the most together are not all alike.
        ("line(4)", "allreduce + alltoall", F(15, 8)),
        # No prices within and between its boards can prove more than this.
        ("dgx1", "allreduce + alltoall", F(1, 2)),
    ],
)
def test_sums_share_the_links(machine: str, collective: str, cost: Fraction) -> None:
    topology, asked = syncoll.topology(machine), syncoll.collective(collective)
    chunks = asked.least_chunks(topology.num_nodes)
    assert chunks is not None
    table = asked.tabulate(topology.num_nodes, chunks)
    found = find_partition(topology, ChunkClasses.of(table, chunks, combining=True).classes)
    assert found is not None
    assert found[0] / chunks == cost
    assert found[1].argument == replace(found[1].argument, moved=True)


@pytest.mark.parametrize(
    ("machine", "collective", "met"),
    [
        ("ring(3)", "allreduce + alltoall", True),
        ("bus(3)", "allreduce + gather(root=1)", True),
        ("line(3)", "allreduce within [[0,1]] + alltoall", True),
        ("fully_connected(3)", "reduce + alltoall", False),
    ],
)
def test_no_sum_takes_fewer_rounds(machine: str, collective: str, met: bool) -> None:
    """A solver finds none with fewer rounds, and for most of these one that meets the bound."""
    topology, asked = syncoll.topology(machine), syncoll.collective(collective)
    chunks = asked.least_chunks(topology.num_nodes)
    assert chunks is not None
    table = asked.tabulate(topology.num_nodes, chunks)
    found = find_partition(topology, ChunkClasses.of(table, chunks, combining=True).classes)
    assert found is not None
    assert found[1].argument == replace(found[1].argument, moved=True)
    least = ceil(found[0])
    for rounds, verdict in (
        (least - 1, Verdict.UNSAT),
        (least, Verdict.SAT if met else Verdict.UNSAT),
    ):
        solved = syncoll.solve(topology, asked, chunks=chunks, steps=min(4, rounds), rounds=rounds)
        assert solved.outcome.verdict is verdict


def test_certificates_without_sums_or_moves_are_unchanged() -> None:
    topology = ring(4)
    for name in ("allreduce", "2 * allreduce"):
        table = syncoll.collective(name).tabulate(4, 1)
        found = find_partition(topology, ChunkClasses.of(table, 1, combining=True).classes)
        assert found is not None
        assert found[1].argument == replace(found[1].argument, moved=False)


def test_random_partitions_are_certified() -> None:
    found_some = better = 0
    for seed in range(120):
        topology = random_topology(seed)
        nodes = topology.num_nodes
        if not (topology.distances < nodes).all():
            continue
        found = find_partition(topology, everyone(nodes))
        assert found is not None, seed
        bound, certificate = found
        assert certificate.check(topology, everyone(nodes)) == bound
        found_some += 1
        alone = Parts.priced(tuple(range(nodes)), dict.fromkeys(range(len(topology.bounds)), F(1)))
        proved = alone.check(topology, everyone(nodes))
        assert proved <= bound, seed
        better += proved < bound
    assert found_some >= 25
    assert better >= 5


class TestMutated:
    topology, chunks = boxes(3, 3, F(1, 2)), everyone(9)

    def certificate(self) -> Priced:
        found = find_partition(self.topology, self.chunks)
        assert found is not None
        return found[1]

    def refused(self, certificate: Priced, message: str) -> None:
        with pytest.raises(VerificationError, match=message):
            certificate.check(self.topology, self.chunks)

    def test_a_price_left_out_or_lowered(self) -> None:
        found = self.certificate()
        for i in found.prices:
            less = {j: price for j, price in found.prices.items() if j != i}
            self.refused(replace(found, prices=less), "less than 1")
            self.refused(replace(found, prices={**found.prices, i: F(9, 10)}), "less than 1")

    def test_negative_and_unknown(self) -> None:
        found = self.certificate()
        self.refused(replace(found, prices={**found.prices, (0, 0): F(-1)}), "negative price -1")
        for i in (-1, len(self.topology.bounds)):
            message = f"a price for bound {i}, step 0, which does not exist"
            self.refused(replace(found, prices={**found.prices, (i, 0): F(1)}), message)

    def test_finer_parts_need_more_prices(self) -> None:
        found = self.certificate()
        assert isinstance(found.argument, Parts)
        self.refused(argued(found, parts=tuple(range(9))), "less than 1")
        self.refused(argued(found, parts=found.argument.parts[1:]), "parts of 8 nodes")

    def test_coarser_parts_prove_less(self) -> None:
        found = self.certificate()
        whole = found.check(self.topology, self.chunks)
        assert isinstance(found.argument, Parts)
        coarser = argued(found, parts=tuple(min(part, 1) for part in found.argument.parts))
        assert coarser.check(self.topology, self.chunks) < whole
        one = argued(found, parts=(0,) * 9)
        assert one.check(self.topology, self.chunks) == 0

    def test_parts_that_no_link_joins(self) -> None:
        apart = Topology.from_links("apart", 3, {(0, 1): 1, (1, 0): 1})
        with pytest.raises(VerificationError, match="no link that they need"):
            Parts.priced((0, 0, 1), {}).check(apart, everyone(3))
        alone = Topology("alone", 2, (), ())
        with pytest.raises(VerificationError, match="no link that they need"):
            Parts.priced((0, 1), {}).check(alone, everyone(2))

    def test_numbers_of_parts_may_be_large(self) -> None:
        line = Topology.from_links("line", 3, {(0, 1): 1, (1, 0): 1, (1, 2): 1, (2, 1): 1})
        prices = {2: F(1), 3: F(1)}
        with pytest.raises(VerificationError, match="less than 1"):
            Parts.priced((2**63, 2**63 + 1, -1), prices).check(line, everyone(3))

    def test_prices_of_many_denominators(self) -> None:
        """Their least common multiple has hundreds of bits."""
        found = self.certificate()
        primes = [p for p in range(2, 400) if all(p % q for q in range(2, p))]
        prices = {
            i: price * (1 + F(1, primes[n])) for n, (i, price) in enumerate(found.prices.items())
        }
        dearer = replace(found, prices=prices).check(self.topology, self.chunks)
        assert 0 < dearer < found.check(self.topology, self.chunks)
