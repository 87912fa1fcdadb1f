"""Ways on machines of two tiers: whole, over boxes' own links, and near proved bounds."""

from __future__ import annotations

import random
from collections import defaultdict
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

import syncoll
from syncoll.bounding import rounds_bound
from syncoll.certificates import ChunkClasses, DemandView
from syncoll.deadline import Deadline
from syncoll.model import Link, Topology
from syncoll.plugins import SeedLimits
from syncoll.trust import violations
from syncoll_routes.dealing import dealt, overlaps
from syncoll_routes.seed import RouteSeed
from syncoll_routes.tiers import Tiers
from tests.oracles.classics import ring

OPTIONS = {"parts": 24, "passes": 6}


def random_tiers(rng: random.Random) -> Topology:
    """Two to four boxes of two to four nodes: a switch in each or links from node to node, and a
    card for each node, all on one switch or on several that join boxes alike."""
    boxes, size = rng.randint(2, 4), rng.randint(2, 4)
    nodes, rails = boxes * size, rng.randint(1, size)
    wide, card = rng.choice([4, 6, 12]), rng.choice([1, Fraction(3, 2), 2])
    pairs = list(permutations(range(nodes), 2))
    inside = [(a, b) for a, b in pairs if a // size == b // size]
    between = [(a, b) for a, b in pairs if a // size != b // size and (a - b) % rails == 0]
    if size % rails:
        between = [(a, b) for a, b in pairs if a // size != b // size]
    own: dict[Link, int] = {}
    shared = ports(between, card)
    if rng.random() < 0.5:
        shared += ports(inside, wide)
    else:
        own = dict.fromkeys(inside, wide)
    links = [*inside, *between]
    return Topology.from_links("tiers", nodes, own, shared, unbounded=links)


def ports(links: list[Link], width: int | Fraction) -> list[tuple[list[Link], int | Fraction]]:
    """Ports of the nodes over these links: outgoing and incoming links each share `width`."""
    at: dict[tuple[int, int], list[Link]] = defaultdict(list)
    for a, b in links:
        at[0, a].append((a, b))
        at[1, b].append((a, b))
    return [(group, width) for group in at.values()]


def random_sizes(rng: random.Random, nodes: int) -> np.ndarray:
    """All amounts, skewed ones, or a few."""
    drawn = np.random.default_rng(rng.getrandbits(32))
    kind = rng.randrange(3)
    if kind == 0:
        sizes = drawn.integers(0, 9, (nodes, nodes))
    elif kind == 1:
        sizes = drawn.zipf(1.6, (nodes, nodes)).clip(0, 60)
    else:
        sizes = np.where(drawn.random((nodes, nodes)) < 0.2, 40, 0)
    np.fill_diagonal(sizes, 0)
    sizes[0, nodes - 1] += 1  # something crosses
    sizes[1, 0] += 1
    return np.asarray(sizes)


def test_random_machines_and_matrices_come_near_the_bound() -> None:
    rng = random.Random(11)
    for _ in range(4):
        topology = random_tiers(rng)
        assert Tiers.of(topology) is not None
        sizes = random_sizes(rng, topology.num_nodes)
        collective = syncoll.collective("alltoallv", sizes)
        needs = ChunkClasses.of(collective.table_on(topology, 1), 1).demands(DemandView.MOVING)
        bound = rounds_bound(topology, needs, seconds=5).rounds
        best: list[tuple[int, Fraction]] = []
        for made in RouteSeed().propose(topology, collective, SeedLimits(seconds=5), OPTIONS):
            algorithm = made.algorithm
            instance = collective.instantiate(
                topology, chunks=made.chunks, steps=algorithm.steps, rounds=algorithm.rounds
            )
            assert not violations(instance, algorithm)
            found = Fraction(algorithm.rounds, made.chunks)
            assert found >= bound
            if made.family is not None:
                assert made.family.limit >= bound
                continue
            assert all(s > algorithm.steps or cost > found for s, cost in best)
            best.append((algorithm.steps, found))
        assert min(cost for _, cost in best) <= bound * Fraction(41, 40)


def test_boxes_are_the_largest_whose_links_are_their_own() -> None:
    # Nodes of an MI250 box that no xGMI joins send over their cards, as nodes of two boxes do.
    tiers = Tiers.of(syncoll.topology("mi250(boxes=2,gpus=8)"))
    assert tiers is not None
    assert tiers.box.tolist() == [0] * 8 + [1] * 8
    assert tiers.near.sum() < (~tiers.between).sum()
    assert Tiers.of(ring(6)) is None
    assert Tiers.of(syncoll.topology("torus(4,4)")) is None


@pytest.mark.parametrize("inner_only", [False, True])
def test_amounts_inside_a_box_stay_there(inner_only: bool) -> None:
    topology = syncoll.topology("mi300x(boxes=2)")
    tiers = Tiers.of(topology)
    assert tiers is not None
    pairs = np.array([(0, 1), (9, 8)] + [(0, 15)] * (not inner_only))
    amounts = np.array([70, 7, 30][: len(pairs)])
    made = tiers.routes(pairs, amounts, Deadline.after(5))
    assert made is not None
    routes, is_best = made
    assert not is_best
    assert np.bincount(routes.pair, routes.amount).tolist() == amounts.tolist()
    used = routes.links[routes.pair < 2]
    assert not tiers.between[used[used >= 0]].any()
    # All of the seven ways around share the load.
    if inner_only:
        assert routes.rounds < 70 / 2


def test_flows_take_ways_over_other_boxes_where_they_gain() -> None:
    # Two nodes in each of three boxes, and one cable from each box to each: half of the data from
    # the first to the second arrives sooner over the third.
    wires: dict[Link, int] = {}
    for box in (0, 2, 4):
        wires |= {(box, box + 1): 12, (box + 1, box): 12}
        wires |= {(box + a, other): 1 for a, other in enumerate({0, 2, 4} - {box})}
    topology = Topology.from_links("cables", 6, wires)
    sizes = np.zeros((6, 6), dtype=int)
    sizes[0, 3] = sizes[1, 2] = 30
    tiers = Tiers.of(topology)
    assert tiers is not None
    made = tiers.routes(np.argwhere(sizes), np.array([30, 30]), Deadline.after(5))
    assert made is not None
    assert made[0].rounds == 60
    assert not made[1]
    collective = syncoll.collective("alltoallv", sizes)
    *_, best = RouteSeed().propose(topology, collective, SeedLimits(seconds=5), OPTIONS)
    assert best.algorithm.rounds <= Fraction(7, 6) * 30 * best.chunks


def test_amounts_are_matched_with_rooms_of_the_same_key() -> None:
    rng = np.random.default_rng(2)
    for _ in range(100):
        mine, its = rng.integers(0, 4, rng.integers(0, 7)), rng.integers(0, 4, rng.integers(0, 7))
        amount, room = rng.integers(0, 5, len(mine)), rng.integers(0, 5, len(its))
        i, j, part = overlaps(mine, amount, its, room)
        assert (part > 0).all()
        assert (mine[i] == its[j]).all()
        assert (np.bincount(i, part, len(mine)) <= amount).all()
        assert (np.bincount(j, part, len(its)) <= room).all()
        for key in range(4):
            both = min(amount[mine == key].sum(), room[its == key].sum())
            assert part[mine[i] == key].sum() == both


def test_whole_numbers_keep_sums_and_load_no_set_much_more() -> None:
    rng = np.random.default_rng(4)
    # Each of 12 nodes divides the data for each other node over 3 ports of either side.
    group = np.repeat(np.arange(144), 9)
    sets = np.stack(
        [
            np.repeat(np.arange(432) // 36 * 3 + np.arange(432) % 3, 3),
            36 + np.tile(np.arange(36), 36),
        ],
        axis=1,
    )
    shares = np.repeat(rng.integers(1, 9, 144) / 9, 9)
    whole = dealt(group, shares, sets, np.ones(72))
    assert np.bincount(group, whole) == pytest.approx(np.bincount(group, shares))
    assert (np.abs(whole - shares) < 2).all()
    ideal = np.bincount(sets.ravel(), np.repeat(shares, 2))
    assert np.abs(np.bincount(sets.ravel(), np.repeat(whole, 2)) - ideal).max() < 1.5
