"""Tokens for sets of nodes on machines of boxes."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import syncoll
from syncoll.bounding.at_once import bound_at_once
from syncoll.certificates.chunk_classes import ChunkClasses
from syncoll.deadline import NEVER
from syncoll.model import Collective
from syncoll.plugins import SeedLimits
from syncoll.trust.replay import require_valid
from syncoll_routes.copies import Copies
from syncoll_routes.seed import RouteSeed
from syncoll_routes.tiers import Tiers


def tokens(nodes: int, each: int, seed: int, skew: float = 1.0) -> Collective:
    """A dispatch in which each node has `each` tokens for four experts, some of them popular."""
    rng = np.random.default_rng(seed)
    liked = rng.permutation((1.0 + np.arange(nodes)) ** -skew)
    ends = np.zeros((nodes * each, nodes), dtype=bool)
    for row in ends:
        row[rng.choice(nodes, 4, replace=False, p=liked / liked.sum())] = True
    starts = np.repeat(np.eye(nodes, dtype=bool), each, axis=0)
    return Collective.from_arrays("dispatch", starts, ends, np.ones(len(ends), dtype=int))


@pytest.mark.parametrize(
    ("machine", "each", "most"),
    [
        ("dgx_h100(boxes=2)", 128, Fraction(5, 100)),
        ("dgx_h100(boxes=4)", 256, Fraction(6, 100)),
        ("dgx_h100(boxes=2, rails=false)", 128, Fraction(5, 100)),
        ("a100(boxes=3)", 256, Fraction(6, 100)),
    ],
)
def test_copies_meet_the_cuts(machine: str, each: int, most: Fraction) -> None:
    topology = syncoll.topology(machine).in_grains
    collective = tokens(topology.num_nodes, each, 1)
    table = collective.tabulate(topology.num_nodes, 1)
    bound = bound_at_once(topology, ChunkClasses.of(table, 1)).rounds
    tiers = Tiers.of(topology)
    assert tiers is not None
    copies = Copies.of(tiers, table, NEVER)
    assert copies is not None
    assert copies.shares.height <= 3
    best = None
    for steps in (copies.shares.height, 8, 16):
        made = copies.algorithm(steps, NEVER)
        assert made is not None
        assert made.steps <= steps
        instance = collective.instantiate(topology, chunks=1, steps=made.steps, rounds=made.rounds)
        require_valid(instance, made)
        # A token crosses to a box once, and comes to each node once.
        crossing = tiers.box[made.sends[:, 1]] != tiers.box[made.sends[:, 2]]
        for column in (tiers.box[made.sends[:, 2]][crossing], made.sends[:, 2]):
            chunks = made.sends[crossing, 0] if len(column) < len(crossing) else made.sends[:, 0]
            assert len(set(zip(chunks.tolist(), column.tolist(), strict=True))) == len(column)
        best = made.rounds if best is None else min(best, made.rounds)
    assert best is not None
    assert best <= bound * (1 + most)


def test_the_seed_proposes_copies() -> None:
    topology = syncoll.topology("dgx_h100(boxes=2)").in_grains
    collective = tokens(16, 4, 2)
    assert RouteSeed.fits(topology, collective).ok
    found = [one for one in RouteSeed().propose(topology, collective, SeedLimits(), {}) if one]
    costs = []
    for one in found:
        own = one.algorithm
        instance = collective.instantiate(
            topology, chunks=one.chunks, steps=own.steps, rounds=own.rounds
        )
        require_valid(instance, own)
        costs.append((own.steps, Fraction(own.rounds, one.chunks)))
    assert len(set(costs)) == len(costs) > 2


def test_relays_take_over_copies_of_a_busy_node() -> None:
    topology = syncoll.topology("dgx_h100(boxes=2)").in_grains
    ends = np.zeros((64, 16), dtype=bool)
    ends[:, [1, 2, 3, 4, 8]] = True
    starts = np.zeros((64, 16), dtype=bool)
    starts[:, 0] = True
    collective = Collective.from_arrays("spread", starts, ends)
    tiers = Tiers.of(topology)
    assert tiers is not None
    plain = Copies.of(tiers, collective.tabulate(16, 1), NEVER)
    assert plain is not None
    copies = plain.relieved()
    assert copies.shares.least_rounds < plain.shares.least_rounds / 2
    made = copies.algorithm(8, NEVER)
    assert made is not None
    instance = collective.instantiate(topology, chunks=1, steps=made.steps, rounds=made.rounds)
    require_valid(instance, made)


def test_chunks_of_several_nodes_meet_the_cuts() -> None:
    topology = syncoll.topology("dgx_h100(boxes=2)").in_grains
    starts = np.zeros((2, 16), dtype=bool)
    starts[0, [8, 10, 13, 15]] = starts[1, [9, 11, 12, 14]] = True
    collective = Collective.from_arrays("reshard", starts, np.ones((2, 16), dtype=bool))
    bound = bound_at_once(topology, ChunkClasses.of(collective.tabulate(16, 1), 1)).rounds
    found = [one for one in RouteSeed().propose(topology, collective, SeedLimits(), {}) if one]
    for one in found:
        steps, rounds = one.algorithm.steps, one.algorithm.rounds
        instance = collective.instantiate(topology, chunks=one.chunks, steps=steps, rounds=rounds)
        require_valid(instance, one.algorithm)
    assert min(Fraction(one.algorithm.rounds, one.chunks) for one in found) <= bound * 105 / 100


def test_machines_without_meshed_boxes_are_refused() -> None:
    topology = syncoll.topology("torus(2,4)")
    assert "no boxes have links for all pairs" in RouteSeed.fits(topology, tokens(8, 4, 3)).reason
