"""Bounds for each S on an allreduce in switches that copy and add up, and their certificates."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from syncoll.bounding.combining import combining_rounds_bound
from syncoll.bounding.partition import find_partition
from syncoll.bounding.switches import find_switch_prices
from syncoll.certificates import (
    Certificate,
    ChunkClass,
    ChunkClasses,
    Priced,
    RoundsBound,
    Switches,
)
from syncoll.certificates.switches import doubled_costs
from syncoll.errors import VerificationError
from syncoll.model import BandwidthBound, Counting, Instance, Topology
from tests.oracles.counted import box


def shape_of(topology: Topology) -> ChunkClasses:
    every = np.ones((1, topology.num_nodes), dtype=bool)
    instance = Instance(topology, "allreduce", 1, 1, 1, every, every, combining=True)
    return ChunkClasses.of(instance.table, 1, combining=True)


def every_case(nodes: int, leave: list[int], enter: list[int]) -> float:
    """The least of all cases, with nothing left out."""
    steps, found = len(leave), []

    def late(t: int, r: int) -> float:
        ways = [leave[s] + enter[s] + (r - 1) * min(enter[s:]) for s in range(t + 1, steps)]
        return min(ways, default=float("inf")) if r else 0

    for t in range(steps):
        found.append((nodes - 1) * min(leave[: t + 1]) + enter[t] + late(t, nodes - 1))
        for k in range(2, nodes + 1):
            if t == 0:
                found.append(nodes * leave[0] + k * (nodes - 1) * enter[0] + late(0, nodes - k))
                continue
            for n in range(nodes + 1):
                for v in range(1, k):
                    d = next(d for d in range(nodes) if 2**d >= v)
                    h = n * (k - v) / 2 if n > 2 and v < k - 1 else 0
                    if v <= 2 ** (nodes - n):
                        sent = n * (v * leave[t] + d * min(enter[:t]))
                        others = (nodes - n) * min(leave[:t])
                        found.append(sent + others + (k + h) * enter[t] + late(t, nodes - k))
    return min(found)


def test_the_computed_values_suffice() -> None:
    rng = random.Random(3)
    for _ in range(150):
        nodes, steps = rng.randint(2, 13), rng.randint(1, 4)
        leave, enter = (
            [rng.choice((0, 1, rng.randint(0, 60))) for _ in range(steps)] for _ in "12"
        )
        assert min(doubled_costs(nodes, leave, enter)) == 2 * every_case(nodes, leave, enter)


@pytest.mark.parametrize(
    ("nodes", "steps", "least"),
    [(2, 2, "1"), (3, 1, "2"), (3, 2, "5/4"), (4, 3, "11/9"), (8, 1, "7"), (8, 2, "51/31")],
)
def test_known_bounds_of_a_box(nodes: int, steps: int, least: str) -> None:
    """Seed `inswitch` has (P S - 1) / (P (S - 1) + 1), which equals the bound for up to 4 nodes."""
    topology = box(nodes)
    shape = shape_of(topology)
    bound = combining_rounds_bound(topology, shape, steps)
    assert bound.rounds == Fraction(least)
    Certificate(shape, bound).check(topology)
    known = Fraction(nodes * steps - 1, nodes * (steps - 1) + 1)
    assert bound.rounds <= known <= bound.rounds * Fraction(102, 100)
    assert nodes > 4 or steps == 1 or bound.rounds == known


def test_prices_of_sends_are_of_one_side() -> None:
    """Bounds that count sends have a price only around one node, and a wider cable proves less."""
    topology = box(4, reduce=False)
    found = find_switch_prices(topology, shape_of(topology), 2)
    assert found is not None
    assert found[0] == Fraction(7, 5)
    wider = replace(
        topology, bounds=tuple(replace(b, chunks_per_round=Fraction(2)) for b in topology.bounds)
    )
    found = find_switch_prices(wider, shape_of(topology), 2)
    assert found is not None
    assert found[0] == Fraction(7, 10)
    between = BandwidthBound(topology.links, Fraction(3))
    more = replace(topology, bounds=(*topology.bounds, between))
    totals = {(len(topology.bounds), 0): Fraction(1, 3)}
    assert Priced(1, totals, Switches()).check(more, shape_of(topology).classes) == 0


def test_parts_prove_nothing_where_no_bound_counts_sends() -> None:
    topology = box(3)
    bounds = tuple(replace(bound, counts=Counting.SOURCES) for bound in topology.bounds)
    copying = replace(topology, bounds=bounds)
    chunks = [*shape_of(topology).classes, ChunkClass((0,), (1,), 1)]
    assert find_partition(copying, chunks) is None


def test_other_machines_are_refused() -> None:
    topology = box(3)
    shape = shape_of(topology)
    proof = Priced(1, {(1, 0): Fraction(1, 3)}, Switches())
    assert proof.check(topology, shape.classes) == Fraction(0)
    for other in (topology.conservative, topology.reversed()):
        bounds = tuple(b for b in other.bounds if b.counts is not Counting.SOURCES)
        with pytest.raises(VerificationError, match="over all links of node 0 as one"):
            proof.check(replace(other, bounds=bounds), shape.classes)
    alone = [replace(one, post=(0,)) for one in shape.classes]
    with pytest.raises(VerificationError, match="no two nodes"):
        proof.check(topology, alone)
    for steps, why in ((0, "about no step"), (1 << 20, "more than 65536")):
        claim = RoundsBound(Fraction(0), steps, Priced(steps, {}, Switches()))
        with pytest.raises(VerificationError, match=why):
            Certificate(shape, claim).check(topology)
    dear = Priced(1, {(1, 0): Fraction(2)}, Switches())
    with pytest.raises(VerificationError, match="more than 1"):
        dear.check(topology, shape.classes)
    assert find_switch_prices(topology.conservative, shape, 2) is None
