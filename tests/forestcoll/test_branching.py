"""Trees that branch at switches that copy or reduce."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from random import Random

import numpy as np
import pytest

from syncoll.errors import ModelError, VerificationError
from syncoll.linear import GrowingProgram
from syncoll.model import Forest
from syncoll.model.fabric import Fabric
from syncoll.trust.forest import verify_forest
from syncoll_forestcoll.allreduce_program import allreduce_bounds
from syncoll_forestcoll.collectives import weighted_broadcast
from syncoll_forestcoll.shortening import pruned, shortened
from tests.oracles.fabrics import random_fabric
from tests.oracles.forests import (
    allgather,
    allreduce,
    broadcast,
    pack_allreduce,
    reduce,
    reducescatter,
)


def fabric_of(
    nodes: int,
    switches: int,
    links: Sequence[tuple[int, int, int]],
    *,
    multicast: Sequence[int] = (),
    reduce: Sequence[int] = (),
    both_ways: bool = False,
) -> Fabric:
    fabric = Fabric.from_links("made", nodes, switches, links, both_ways=both_ways)
    return replace(fabric, multicast=tuple(multicast), reduce=tuple(reduce))


def nvls(gpus: int, bandwidth: int = 9) -> Fabric:
    """GPUs under one switch that copies and reduces."""
    links = [(g, gpus, bandwidth) for g in range(gpus)]
    return fabric_of(gpus, 1, links, multicast=[gpus], reduce=[gpus], both_ways=True)


def boxes(gpus: int, count: int = 2, ring: bool = False) -> Fabric:
    """Boxes as `nvls`, the GPUs at one place of all boxes under a switch that forwards, or in a
    ring of cables."""
    nodes = gpus * count
    links = [(g, nodes + g // gpus, 9) for g in range(nodes)]
    if ring:
        links += [(g, (g + gpus) % nodes, 1) for g in range(nodes)]
    else:
        links += [(g, nodes + count + g % gpus, 1) for g in range(nodes)]
    switches = range(nodes, nodes + count)
    more = count if ring else count + gpus
    return fabric_of(nodes, more, links, multicast=switches, reduce=switches, both_ways=True)


def random_copying(seed: int) -> Fabric:
    """A random network with some copying switches, which may receive less than they send."""
    random = Random(seed)
    fabric = random_fabric(random, irregular=bool(seed % 2))
    switches = range(fabric.num_nodes, fabric.num_vertices)
    able = [w for w in switches if random.random() < 0.7]
    bandwidths = dict(fabric.bandwidths)
    for w in able:
        for _ in range(random.randrange(3)):
            other = random.choice([*range(fabric.num_nodes), *(x for x in able if x != w)])
            ends = (w, other) if random.random() < 0.8 else (other, w)
            bandwidths[ends] = bandwidths.get(ends, Fraction(0)) + random.randint(1, 6)
    more = Fabric.from_bandwidths("lopsided", fabric.num_nodes, fabric.num_switches, bandwidths)
    return replace(more, multicast=tuple(able))


FASTER_THAN_NARROWED = (517, 811, 1021, 1027)
"""Random networks among the first 3000 whose trees are faster than in the narrowed networks that
they were packed in.
"""


def test_forests_attain_the_worst_cut(brute_force) -> None:
    """Unless some data cannot reach a switch; then forests report their gap."""
    branched = missed = 0
    for seed in (*range(150), *FASTER_THAN_NARROWED):
        fabric = random_copying(seed)
        weights = [1] * fabric.num_nodes
        if seed % 3 == 0:
            weights = [int(v == seed % fabric.num_nodes) for v in range(fabric.num_nodes)]
        plan = weighted_broadcast(fabric, weights, guess=bool(seed % 5))
        assert plan.bottleneck.time == brute_force(fabric, weights).time()
        assert plan.forest.scale == verify_forest(plan.forest) * plan.forest.k
        for forest in (plan.forest, pruned(plan.forest), shortened(plan.forest)):
            time = verify_forest(forest)
            assert time <= forest.scale / forest.k
            require_forest(forest)
            assert forest.algbw >= plan.algbw
        best = shortened(plan.forest)
        assert best.height <= max(plan.forest.height, pruned(plan.forest).height)
        branched += bool(best.junctions)
        missed += best.algbw < plan.bottleneck.algbw
        if plan.is_optimal:
            assert best.algbw == plan.bottleneck.algbw
    assert branched > 50
    assert missed < 50


def require_forest(forest: Forest) -> None:
    """Checks the trees themselves: each spans the nodes once, branches at junctions only, and links
    are within their bandwidth.
    """
    fabric, nodes = forest.fabric, forest.fabric.num_nodes
    able = fabric.reduce if forest.inward else fabric.multicast
    load = dict.fromkeys(fabric.bandwidths, 0)
    rooted = [0] * nodes
    for tree in forest.trees():
        rooted[tree.root] += tree.weight
        seen = [tree.root]
        for tail, head, path in tree.edges:
            assert (path[0], path[-1]) == (tail, head)
            near, far = (head, tail) if forest.inward else (tail, head)
            assert near in seen
            assert far not in seen
            assert far < nodes or far in able
            assert all(w >= nodes for w in path[1:-1])
            seen.append(far)
            for hop in pairwise(path):
                load[hop] += tree.weight
        assert sorted(v for v in seen if v < nodes) == list(range(nodes))
        pairs = tree.sends(nodes)
        assert sorted(child for _, child in pairs) == [v for v in range(nodes) if v != tree.root]
        reached = {tree.root}
        for parent, child in pairs:
            assert parent in reached
            reached.add(child)
    assert rooted == [forest.k * weight for weight in forest.weights]
    assert all(trees <= forest.scale * fabric.bandwidths[hop] for hop, trees in load.items())


def steiner_trees(fabric: Fabric, root: int) -> Iterator[dict[tuple[int, int], int]]:
    """The link loads of every tree from a root: every set of edges between nodes and copying
    switches, over every path through other switches.
    """
    nodes, stops = fabric.num_nodes, [*range(fabric.num_nodes), *fabric.multicast]
    onward: dict[int, list[int]] = {}
    for u, v in fabric.bandwidths:
        onward.setdefault(u, []).append(v)

    def paths(path: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        for v in onward.get(path[-1], ()):
            if v in stops and v not in path:
                yield (*path, v)
            elif v not in path and v >= nodes:
                yield from paths((*path, v))

    into: dict[int, list[tuple[int, ...]]] = {v: [] for v in stops}
    for stop in stops:
        for path in paths((stop,)):
            into[path[-1]].append(path)
    others = [v for v in stops if v != root]
    choices = [[*into[v], *([()] if v >= nodes else [])] for v in others]
    for chosen in itertools.product(*choices):
        parent = {v: path[0] for v, path in zip(others, chosen, strict=True) if path}
        load: dict[tuple[int, int], int] = {}
        for v in parent:
            for _ in stops:
                if v == root or v not in parent:
                    break
                v = parent[v]
            if v != root:
                break
        else:
            for path in chosen:
                for hop in pairwise(path):
                    load[hop] = load.get(hop, 0) + 1
            yield load


@pytest.mark.parametrize(
    "fabric",
    [
        nvls(3),
        boxes(2),
        # A switch that receives less than it sends.
        fabric_of(3, 1, [(0, 3, 2), (3, 1, 2), (3, 2, 2), (1, 0, 1), (2, 0, 1)], multicast=[3]),
        # Two of them in a row, and one that only forwards between.
        fabric_of(
            4,
            3,
            [(0, 4, 3), (4, 1, 2), (4, 5, 2), (5, 6, 2), (6, 2, 2), (6, 3, 1), (2, 3, 1)],
            multicast=[4, 6],
        ),
        # One that half of the data can reach, and that receives as much as it sends.
        fabric_of(3, 1, [(0, 3, 1), (0, 1, 2), (1, 2, 1), (3, 2, 1), (2, 0, 1)], multicast=[3]),
    ],
)
def test_no_trees_at_all_are_faster(fabric: Fabric) -> None:
    """Compares with a linear program over all trees."""
    plan = broadcast(fabric, 0)
    found = pruned(plan.forest)
    require_forest(found)
    best = fastest(fabric)
    assert float(plan.bottleneck.algbw) == pytest.approx(best)
    assert float(found.algbw) == pytest.approx(best)


def fastest(fabric: Fabric) -> float:
    """The throughput of a broadcast from node 0 with any trees."""
    trees = list(steiner_trees(fabric, 0))
    program = GrowingProgram(-np.ones(len(trees)))
    for hop, bandwidth in fabric.bandwidths.items():
        row = {i: float(load[hop]) for i, load in enumerate(trees) if hop in load}
        if row:
            program.add(row, -np.inf, float(bandwidth))
    assert program.run()
    return -program.optimum().value


def test_a_switch_out_of_reach_of_some_data_is_no_bound() -> None:
    """Half of the data could branch there and half go along the nodes; that is not claimed."""
    narrow = fabric_of(3, 1, [(0, 1, 1), (1, 2, 1), (0, 3, 1), (3, 1, 1), (3, 2, 1)], multicast=[3])
    plan = broadcast(narrow, 0)
    assert plan.bottleneck.algbw == fastest(narrow) == 2
    assert plan.algbw == Fraction(3, 2)
    assert not plan.is_optimal
    # The switch is not used if less data reaches it than crosses the cable between the nodes.
    less = fabric_of(3, 1, [(0, 1, 9), (1, 2, 9), (0, 3, 1), (3, 1, 1), (3, 2, 1)], multicast=[3])
    plan = broadcast(less, 0)
    assert plan.forest.junctions == ()
    assert 9 <= plan.algbw < plan.bottleneck.algbw == 10


def test_trees_are_as_fast_as_the_whole_network_lets_them() -> None:
    """Packing uses less from nodes 0 and 1 to the switch, which sends 15 of the 17."""
    lopsided = fabric_of(2, 1, [(0, 1, 15), (0, 2, 2), (1, 2, 15), (2, 0, 15)], multicast=[2])
    for fixed_k in (None, 1, 2):
        for plan in (
            allgather(lopsided, fixed_k=fixed_k),
            reducescatter(lopsided.reversed(), fixed_k=fixed_k),
        ):
            assert plan.is_optimal
            assert plan.algbw == 30
            require_forest(plan.forest)
    for seed in FASTER_THAN_NARROWED:
        plan = reducescatter(random_copying(seed).reversed())
        assert plan.algbw == allgather(random_copying(seed)).algbw
        require_forest(plan.forest)


def test_boxes_whose_switches_copy() -> None:
    one, two = nvls(8), boxes(8)
    assert [broadcast(one, 3).algbw, reduce(one, 3).algbw] == [9, 9]
    assert broadcast(one, 3).forest.height == 1
    assert allgather(one).algbw == reducescatter(one).algbw == Fraction(72, 7)
    assert [broadcast(two, 0).algbw, reduce(two, 9).algbw] == [8, 8]
    assert allgather(two).algbw == Fraction(160, 15)
    for plan in (allgather(two), reducescatter(two), broadcast(boxes(3, 3, ring=True), 0)):
        assert plan.is_optimal
        assert plan.forest.junctions
        require_forest(plan.forest)
        require_forest(pruned(plan.forest))


def test_a_switch_that_only_copies_does_not_reduce() -> None:
    fabric = replace(boxes(2), reduce=())
    both = allreduce(fabric)
    assert both.allgather.forest.junctions == (4, 5)
    assert both.reducescatter.forest.junctions == ()
    for forest in (both.allgather.forest, both.reducescatter.forest):
        require_forest(forest)
    funnel = fabric_of(3, 1, [(0, 3, 2), (3, 1, 2), (3, 2, 2), (1, 0, 1), (2, 0, 1)], multicast=[3])
    assert broadcast(funnel, 0).algbw == 2
    with pytest.raises(ModelError, match="switch 0 receives 2 and sends 4"):
        reducescatter(funnel)
    with pytest.raises(ModelError, match="switch 0 receives 2 and sends 4"):
        broadcast(funnel.without_copies(), 0)


def test_a_reduction_is_a_reversed_broadcast() -> None:
    for seed in range(40):
        fabric = random_copying(seed)
        root = seed % fabric.num_nodes
        plan = reduce(fabric.reversed(), root)
        assert plan.bottleneck.time == broadcast(fabric, root).bottleneck.time
        require_forest(plan.forest)
        low = shortened(plan.forest.reversed()).reversed()
        require_forest(low)
        assert low.algbw >= plan.algbw


def test_an_allreduce_copies_and_reduces_concurrently() -> None:
    """All of a node's links serve both halves: each moves its data out once, and in once."""
    for fabric, algbw in ((nvls(8), 9), (boxes(4), 4), (replace(boxes(2), reduce=()), None)):
        bounds = allreduce_bounds(fabric)
        assert bounds.at_least == bounds.at_most
        assert algbw is None or bounds.at_most == algbw
        assert bounds.at_most >= allreduce(fabric).algbw
        reduction, onward = pack_allreduce(fabric, bounds)
        load = dict.fromkeys(fabric.bandwidths, Fraction(0))
        for plan in (reduction, onward):
            forest = replace(plan.forest, fabric=fabric)
            assert plan.algbw == bounds.at_least
            for path, trees in zip(forest.routes, use_of(forest), strict=True):
                for hop in pairwise(path):
                    share = Fraction(trees, forest.k * sum(forest.weights))
                    load[hop] += share / fabric.bandwidths[hop]
        assert max(load.values()) <= 1 / bounds.at_least


def use_of(forest: Forest) -> list[int]:
    times = [0] * len(forest.routes)
    for row, weight in zip(forest.entering.tolist(), forest.multiplicity.tolist(), strict=True):
        for route in row:
            if route >= 0:
                times[route] += weight
    return times


def test_bounds_of_random_allreduces_hold() -> None:
    tight = 0
    for seed in range(12):
        random = Random(seed)
        fabric = random_fabric(random, irregular=False)
        switches = range(fabric.num_nodes, fabric.num_vertices)
        able = [tuple(w for w in switches if random.random() < 0.6) for _ in range(2)]
        fabric = replace(fabric, multicast=able[0], reduce=able[1])
        bounds, plain = allreduce_bounds(fabric), allreduce_bounds(fabric.without_copies())
        assert plain.at_least <= bounds.at_most
        assert bounds.at_least >= plain.at_least * Fraction(99, 100)
        for plan in pack_allreduce(fabric, bounds):
            verify_forest(plan.forest)
            assert plan.algbw >= bounds.at_least
        tight += bounds.at_least == bounds.at_most
    assert tight > 6


@pytest.fixture(scope="module")
def branched() -> Forest:
    return pruned(broadcast(boxes(4), 0).forest)


def test_branching_where_nothing_is_copied_is_refused(branched: Forest) -> None:
    fabric = branched.fabric
    for plain, switch in ((fabric.without_copies(), 0), (replace(fabric, multicast=(8,)), 1)):
        with pytest.raises(VerificationError, match=f"branch at switch {switch}, which is no"):
            verify_forest(replace(branched, fabric=plain))
    # A switch that reduces does not copy, and vice versa.
    inward = branched.reversed()
    for forest in (branched, inward):
        one = "multicast" if forest.inward else "reduce"
        other = replace(forest.fabric, **{"multicast": (), "reduce": (), one: (8, 9)})
        with pytest.raises(VerificationError, match="no switch that"):
            verify_forest(replace(forest, fabric=other))


def test_a_junction_that_a_tree_does_not_reach_is_found(branched: Forest) -> None:
    entering = branched.entering.copy()
    entering[0, 8] = -1
    with pytest.raises(VerificationError, match="continues from switch 0 before it reaches it"):
        verify_forest(replace(branched, entering=entering))


def test_no_junction_is_there_twice(branched: Forest) -> None:
    twice = replace(
        branched,
        junctions=(8, 9, 9),
        entering=np.concatenate([branched.entering, branched.entering[:, -1:]], axis=1),
    )
    with pytest.raises(VerificationError, match="a junction twice"):
        verify_forest(twice)


def test_copies_do_not_widen_links(branched: Forest) -> None:
    for part in (Fraction(99, 100), Fraction(1, 2)):
        with pytest.raises(VerificationError, match=r"carries .* trees"):
            verify_forest(replace(branched, scale=branched.scale * part))


def test_every_changed_entry_of_a_branching_tree_is_found(branched: Forest) -> None:
    """A change can only pass as another route to the same place, or as a useless junction; each
    accepted result is a forest by definition.
    """
    random = Random(7)
    found = 0
    for _ in range(300):
        entering = branched.entering.copy()
        place = random.randrange(branched.num_trees), random.randrange(entering.shape[1])
        entering[place] = random.choice([-1, *range(len(branched.routes))])
        changed = replace(branched, entering=entering)
        try:
            verify_forest(changed)
        except VerificationError:
            found += 1
        else:
            require_forest(changed)
    assert found > 200
