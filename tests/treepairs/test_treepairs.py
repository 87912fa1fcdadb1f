"""Pairs of trees: packings meet proved bounds, and every algorithm is verified."""

from __future__ import annotations

from fractions import Fraction
from itertools import takewhile
from random import Random

import networkx as nx
import numpy as np
import pytest

from syncoll import pareto
from syncoll.bounding import combining_rounds_bound
from syncoll.certificates import ChunkClass, ChunkClasses
from syncoll.deadline import NEVER
from syncoll.ledger import SearchRequest
from syncoll.model import OrbitAlgorithm, Topology
from syncoll.packing.whole_chunks import DealtChunks
from syncoll.plugins import PluginManager, Proposal, SeedLimits
from syncoll.plugins.options import resolve_options
from syncoll.routing import as_topology
from syncoll.searching import AnswerSource, ChosenSeed, Seeding, search
from syncoll.spec import SpecLibrary
from syncoll.symmetry import small_symmetry
from syncoll.testing.instances import connected_topology, random_topology
from syncoll.trust import require_valid
from syncoll.trust.families import require_family
from syncoll_treepairs import EXCHANGE, RECORD
from syncoll_treepairs.dimension_ordered_trees import combs
from syncoll_treepairs.network import AllreduceNetwork
from syncoll_treepairs.pair_repair import PairRepair
from syncoll_treepairs.pairs import Pair, PairPacking, whenever
from syncoll_treepairs.subgroups import smaller_networks, under_subgroup
from syncoll_treepairs.wave_packing import WavePacking
from syncoll_treepairs.waves import family_of, waves
from syncoll_treepairs.whole_pairs import algorithm_of, deal, pair_choice
from tests.oracles.proposals import verified

pytestmark = pytest.mark.usefixtures("counted_work")

F = Fraction

_LIBRARIES = PluginManager.discover().spec_libraries.values()
SPECS = SpecLibrary([record.folder for record in _LIBRARIES])


def on(network: str) -> Topology:
    return as_topology(SPECS.topology(network))


def propose(
    topology: Topology, limits: SeedLimits, collective: str = "allreduce"
) -> list[Proposal]:
    """The proposals of the seed, verified."""
    asked = SPECS.collective(collective)
    options = resolve_options(RECORD.options, {}, "seed treepairs")
    made = RECORD.load().propose(topology, asked, limits, options)
    return verified(takewhile(lambda one: one is not None, made), topology, asked)


@pytest.mark.parametrize(
    ("network", "least"),
    [
        ("ring(8)", {7: F(7, 8)}),
        ("hypercube(3)", {3: F(1), 4: F(2, 3), 5: F(7, 12)}),
        ("torus(3,3)", {3: F(1, 2), 4: F(4, 9)}),
        ("torus(4,4)", {4: F(1), 5: F(9, 16), 6: F(1, 2), 7: F(15, 32)}),
        ("dgx1", {3: F(1, 2), 4: F(1, 3)}),
    ],
)
def test_known_costs_are_found(network: str, least: dict[int, Fraction]) -> None:
    """All are optimal, except for the fewest steps on a cube and a torus of 16 nodes."""
    found = propose(on(network), SeedLimits(seconds=3.0, max_steps=max(least)))
    costs = {one.algorithm.steps: F(one.algorithm.rounds, one.chunks) for one in found}
    for steps, cost in least.items():
        assert min(c for s, c in costs.items() if s <= steps) == cost, steps


def test_sums_meet_on_the_way_in_few_steps() -> None:
    """In as many steps as the diameter, exchanges along shortest-path trees cost 4 rounds a chunk;
    a machine that is no product has cheaper sums, and all of them are algorithms."""
    edges = [(0, 7), (0, 3), (1, 2), (1, 3), (2, 6), (2, 7), (3, 6), (4, 5), (4, 6), (5, 7)]
    links = {(a, b): 1 for x, y in edges for a, b in ((x, y), (y, x))}
    topology = Topology.from_links("eight nodes", 8, links)
    network = AllreduceNetwork(topology, NEVER.working(1), 1)
    steps = int(topology.distances.max())
    packing = PairPacking(network, steps)
    packing.improve(NEVER)
    before = packing.value
    packing.begin_sums()
    while not packing.rested:
        packing.improve(NEVER)
    assert packing.value <= 0.8 * before
    dealt = deal(packing, 64, None, NEVER.working(1))
    assert dealt is not None
    allreduce = SPECS.collective("allreduce")
    verified([Proposal(dealt.chunks, algorithm_of(network, dealt), "")], topology, allreduce)
    nodes = tuple(range(8))
    shape = ChunkClasses(1, [ChunkClass(nodes, nodes, 1)], combining=True)
    bound = combining_rounds_bound(topology, shape, steps, seconds=2.0)
    assert dealt.bandwidth >= bound.rounds


def test_no_packing_costs_less_than_the_bound() -> None:
    """On random machines, with links of several bandwidths."""
    met = 0
    for seed in range(4):
        topology = random_topology(seed, least_nodes=3, most_nodes=5)
        if int(topology.distances.max()) > topology.num_nodes:
            continue  # not every node reaches every other
        nodes = tuple(range(topology.num_nodes))
        shape = ChunkClasses(1, [ChunkClass(nodes, nodes, 1)], combining=True)
        for one in propose(topology, SeedLimits(seconds=1.0, max_steps=5)):
            bound = combining_rounds_bound(topology, shape, one.algorithm.steps, seconds=5.0)
            cost = F(one.algorithm.rounds, one.chunks)
            assert cost >= bound.rounds
            met += cost == bound.rounds
    assert met > 0


def exchange(
    topology: Topology, limits: SeedLimits | None = None, collective: str = "allreduce"
) -> Proposal | None:
    """The verified proposal of seed `exchange`."""
    asked = SPECS.collective(collective)
    made = EXCHANGE.load().propose(topology, asked, limits or SeedLimits(), {})
    return next(iter(verified(made, topology, asked)), None)


@pytest.mark.parametrize(
    ("network", "chunks", "cost"),
    [
        ("ring(10)", 2, F(5, 2)),  # neighbour exchange: half of the links of each step
        ("ring(7)", 1, F(3)),
        ("line(5)", 1, F(4)),
        ("torus(6,6)", 4, F(3, 2)),  # rows and columns first, each with both neighbours first
        ("torus(5,7)", None, F(3)),
        ("torus(4,6)", 4, F(3, 2)),
        ("torus(2,4,6)", None, None),
        ("torus(4,4,4)", 6, F(1)),
        ("mesh(4,6)", 2, F(4)),
        ("mesh(3,3,3)", 3, F(2)),
        ("hypercube(5)", None, F(1)),
        ("hyperx(3,5)", 2, F(1)),
        ("hyperx(3,3,4)", 3, F(1)),
    ],
)
def test_products_in_the_fewest_steps(
    network: str, chunks: int | None, cost: Fraction | None
) -> None:
    """Dimension by dimension, in several orders at once, for any numbering of the nodes."""
    topology = on(network)
    moved = np.random.default_rng(3).permutation(topology.num_nodes).tolist()
    links = {(moved[a], moved[b]): 1 for a, b in topology.links}
    for one in (topology, Topology.from_links("moved", topology.num_nodes, links)):
        found = exchange(one)
        assert found is not None
        assert found.algorithm.steps == one.distances.max()
        bandwidth = F(found.algorithm.rounds, found.chunks)
        assert cost is None or bandwidth == cost
        assert chunks is None or found.chunks == chunks
        assert bandwidth <= found.algorithm.steps, "a chunk a link and step"


def test_slow_dimensions_have_less_in_each_step() -> None:
    """All data pass columns of one chunk a round in half a round a step; rows of 3 add nothing."""
    nodes = np.arange(16).reshape(4, 4)
    links = {}
    for lines, width in ((nodes, 3), (nodes.T, 1)):
        for line in lines.tolist():
            for a, b in zip(line, line[1:] + line[:1], strict=True):
                links[a, b] = links[b, a] = width
    found = exchange(Topology.from_links("uneven", 16, links))
    assert found is not None
    assert (found.algorithm.steps, F(found.algorithm.rounds, found.chunks)) == (4, F(1))


@pytest.mark.parametrize(
    "network", ["slim_fly(5)", "dragonfly(3,1,4)", "de_bruijn(2,4)", "star(6)", "dgx1", "hub(5)"]
)
def test_other_networks_in_the_fewest_steps(network: str) -> None:
    topology = on(network)
    found = exchange(topology)
    assert found is not None
    assert found.algorithm.steps == topology.distances.max()
    if found.algorithm.steps == 2 and network == "slim_fly(5)":
        assert F(found.algorithm.rounds, found.chunks) == 2


def test_a_dragonfly_in_the_fewest_steps() -> None:
    """Within the groups, between them, and within them again: a chunk a link in each step."""
    for network in ("dragonfly(4,2,9)", "dragonfly(4,1,5)"):
        found = exchange(on(network))
        assert found is not None
        assert (found.algorithm.steps, found.algorithm.rounds, found.chunks) == (3, 3, 1)


@pytest.mark.parametrize(
    ("network", "most"),
    [("circulant(16,1,4)", 2), ("circulant(40,1,6)", 4), ("tpu_v4(4,4,8,true)", 8)],
)
def test_networks_whose_nodes_are_alike_in_the_fewest_steps(network: str, most: int) -> None:
    """The trees of all nodes are images of one: with others each link had far more to carry."""
    topology = on(network)
    found = exchange(topology)
    assert found is not None
    assert found.algorithm.steps == topology.distances.max()
    assert F(found.algorithm.rounds, found.chunks) <= most


def test_random_networks_in_the_fewest_steps() -> None:
    """Links one way or of several bandwidths, and graphs of a degree that form no product."""
    random = Random(5)
    cases = [connected_topology(random) for _ in range(30)]
    for seed in range(4):
        graph = nx.random_regular_graph(3, 20, seed=seed)
        links = {link: 1 for a, b in graph.edges for link in ((a, b), (b, a))}
        cases.append(Topology.from_links("cubic", 20, links))
    for topology in cases:
        if topology.num_nodes > 2:
            found = exchange(topology)
            assert found is not None
            assert found.algorithm.steps == topology.distances.max()


def test_the_fewest_steps_within_limits() -> None:
    topology = on("torus(4,6)")
    one = exchange(topology, SeedLimits(max_chunks=1))
    assert one is not None
    assert (one.chunks, one.algorithm.steps, one.algorithm.rounds) == (1, 5, 5)
    assert exchange(topology, SeedLimits(max_steps=4, seconds=1.0)) is None
    three = exchange(topology, None, "3 * allreduce")
    assert three is not None
    assert F(three.algorithm.rounds, three.chunks) == 3 * F(3, 2)


def test_a_limit_on_chunks_below_the_symmetry_takes_a_subgroup() -> None:
    """Two boxes of three: reduce in a box, exchange over the slow links, gather in a box."""
    inside = [(a, b) for a in range(6) for b in range(6) if a != b and a // 3 == b // 3]
    across = [(a, (a + 3) % 6) for a in range(6)]
    egress = [([link for link in inside if link[0] == a], 5) for a in range(6)]
    egress += [([link for link in inside if link[1] == a], 5) for a in range(6)]
    boxes = Topology.from_links(
        "boxes", 6, dict.fromkeys(across, 1), egress, unbounded=inside, grains=5
    )
    found = pareto(boxes, "allreduce", backend="treepairs", max_chunks=3, work=1, progress="none")
    [point] = [point for point in found.points if point.steps == 3]
    assert (point.chunks, point.rounds) == (3, F(9, 5))
    assert point.algorithm.rounds_per_step == (F(2, 5), 1, F(2, 5))


def packed(machine: AllreduceNetwork, steps: int) -> PairPacking:
    """A packing at rest, begun with combs."""
    grid = WavePacking(machine, None)
    grid.pack_combs(NEVER)
    packing = PairPacking(machine, steps, whenever(grid.columns, steps))
    while not packing.rested:
        packing.improve(NEVER)
    return packing


def test_a_search_has_the_fewest_steps_at_once() -> None:
    """Searches wait for quick seeds, however busy the machine is."""
    assert EXCHANGE.by_default
    assert EXCHANGE.first_seconds <= 0.1
    seeding = Seeding([ChosenSeed(EXCHANGE, {}, named=True)])
    request = SearchRequest(on("torus(8,8)"), SPECS.collective("allreduce"), max_steps=8)
    frontier = search(request, AnswerSource(None, seeding=seeding))
    assert [(p.steps, p.bandwidth, p.chunks) for p in frontier.points] == [(8, 2, 4)]


def test_exchanges_of_all_nodes_mix_with_pairs_of_trees() -> None:
    """On a mesh they are better together with combs than alone, 3, and than combs are."""
    packing = packed(AllreduceNetwork(on("mesh(3,5)"), NEVER), 6)
    assert packing.value < 2.98
    shared = [packing.columns[i].core.nodes for i, _ in packing.shared()]
    assert {1, 15} <= {len(nodes) for nodes in shared}


@pytest.mark.parametrize(
    ("network", "costs"),
    [
        # Columns are collected into one row and spread again: 56 + 32 + 56 sends over 256 links;
        # or into two rows, or into every second.
        ("torus(8,8)", {10: F(5, 4), 11: F(11, 16), 12: F(9, 16)}),
        # A plane collects, exchanges in 2 steps and spreads: 18 + 36 + 18 sends over 162 links.
        ("torus(3,3,3)", {3: F(1), 4: F(4, 9)}),
        # The images of a node under a subgroup exchange.
        ("circulant(64,1,8)", {9: F(21, 8), 11: F(8, 5)}),
    ],
)
def test_some_places_of_each_dimension_exchange(network: str, costs: dict[int, Fraction]) -> None:
    topology = on(network)
    machine = AllreduceNetwork(topology, NEVER)
    for steps, cost in costs.items():
        dealt = deal(packed(machine, steps), 1024, None, NEVER.sooner(2.0))
        assert dealt is not None
        assert dealt.bandwidth <= cost
        algorithm = algorithm_of(machine, dealt)
        assert algorithm.steps == steps
        instance = SPECS.collective("allreduce").instantiate(
            topology, chunks=dealt.chunks, steps=steps, rounds=algorithm.rounds
        )
        require_valid(instance, algorithm)


@pytest.mark.parametrize(
    ("name", "most_steps", "expected"),
    [("hypercube(3)", 3, {1, 2, 4, 8}), ("a100(boxes=2)", 2, {1, 2, 3, 4, 8, 16})],
)
def test_cores_exchange_everything(name: str, most_steps: int, expected: set[int]) -> None:
    topology = on(name)
    sizes = set()
    for core in AllreduceNetwork(topology, NEVER).cores(most_steps):
        held = {v: {v} for v in core.nodes}
        for step in range(core.steps):
            before = {v: set(some) for v, some in held.items()}
            for t, link in core.sends:
                if t == step:
                    a, b = topology.links[link]
                    assert not before[a] & held[b], "counted twice"
                    held[b] |= before[a]
        assert all(some == set(core.nodes) for some in held.values())
        assert 0 in core.nodes
        sizes.add(len(core.nodes))
    assert sizes == expected


def test_boxes_exchange_within_and_across_at_once() -> None:
    """Half of the data goes across first: two steps at the rate of one link into a box."""
    packing = PairPacking(AllreduceNetwork(on("a100(boxes=2)"), NEVER), 2)
    while not packing.rested:
        packing.improve(NEVER)
    assert packing.value == pytest.approx(1)


def test_one_node_of_every_box_exchanges_collected_data() -> None:
    """The best of several cores: 7/8 over 12 within a box, twice, and 3/8 by a card."""
    packing = PairPacking(AllreduceNetwork(on("a100(boxes=4)"), NEVER), 3)
    while not packing.rested:
        packing.improve(NEVER)
    assert packing.value <= 2 * 7 / 96 + 3 / 8 + 1e-6


def test_a_group_makes_links_alike() -> None:
    group = small_symmetry(on("torus(4,4)"), NEVER)
    assert group.order == 64
    assert len(AllreduceNetwork(on("torus(4,4)"), NEVER).rate) == 1
    assert len(AllreduceNetwork(on("mesh(3,3)"), NEVER).rate) < len(on("mesh(3,3)").bounds)


def test_more_steps_begin_with_the_columns_of_fewer() -> None:
    machine = AllreduceNetwork(on("mesh(3,3)"), NEVER)
    few = PairPacking(machine, 6)
    while not few.rested:
        few.improve(NEVER)
    more = PairPacking(machine, 8, few.begin(8))
    more.improve(NEVER)
    assert more.value <= few.value * (1 + 1e-9)


@pytest.mark.parametrize("size", [4, 6, 9])
def test_waves_meet_the_count_of_sends_on_a_mesh(size: int) -> None:
    machine = AllreduceNetwork(on(f"mesh({size},{size})"), NEVER)
    packing = WavePacking(machine, 8 * size)
    packing.pack(NEVER)
    assert packing.value == pytest.approx((size + 1) / (2 * size))
    assert packing.value == pytest.approx(machine.least)


def test_waves_come_nearer_and_nearer() -> None:
    machine = AllreduceNetwork(on("mesh(3,3)"), NEVER)
    packing = WavePacking(machine, 8)
    packing.pack(NEVER)
    points = []
    for count, chunks, algorithm in waves(packing, 4096, 40, NEVER.sooner(1.0)):
        steps = algorithm.steps
        assert steps <= 40
        instance = SPECS.collective("allreduce").instantiate(
            machine.topology, chunks=chunks, steps=steps, rounds=algorithm.rounds
        )
        require_valid(instance, algorithm)
        if count > 1 and isinstance(algorithm, OrbitAlgorithm):
            assert algorithm.carriers.delays.tolist()[-1] == 1
        points.append((count, F(algorithm.rounds, chunks)))
    assert points[0] == max(points), "the nearest comes first"
    costs = [cost for _, cost in sorted(points)]
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] < F(8, 9), "sequential: a corner gets 2 chunks a round"


@pytest.mark.parametrize(
    ("network", "height", "best"),
    [
        # Any roots and any shares: 128 GB/s for 16 nodes of a unit each (ForestColl, appendix E),
        # while half the time for each of the two phases gives 104.
        ("mi250(boxes=2,gpus=8)", 6, F(1, 8)),
        ("mi250(boxes=2,gpus=8)", 16, F(1, 8)),
        ("dgx1", 2, F(7, 24)),
        ("a100(boxes=4)", 4, F(3, 16)),
    ],
)
def test_waves_of_low_trees_meet_the_best_of_any_roots(
    network: str, height: int, best: Fraction
) -> None:
    machine = AllreduceNetwork(on(network), NEVER)
    packing = WavePacking(machine, 2 * machine.num_nodes, most_links=height)
    packing.pack(NEVER)
    assert packing.value == pytest.approx(float(best))
    for i, _ in packing.shared():
        pair = packing.columns[i]
        assert pair.after <= height
        assert int(pair.steps.max()) + 1 <= pair.after + height
        assert pair.contributions(machine.topology.ends)[pair.steps >= pair.after].all()
    _, chunks, algorithm = next(iter(waves(packing, 4096, None, NEVER.sooner(0.5))))
    instance = SPECS.collective("allreduce").instantiate(
        machine.topology, chunks=chunks, steps=algorithm.steps, rounds=algorithm.rounds
    )
    require_valid(instance, algorithm)


@pytest.mark.parametrize("network", ["torus(3,3)", "dgx1", "a100(boxes=1)"])
def test_low_trees_are_low_and_high_ones_cost_no_more(network: str) -> None:
    machine = AllreduceNetwork(on(network), NEVER)
    diameter, values = int(machine.topology.distances.max()), []
    for height in (diameter, diameter + 1, machine.num_nodes):
        packing = WavePacking(machine, 2 * machine.num_nodes, most_links=height)
        packing.pack(NEVER)
        assert packing.columns
        assert all(pair.steps[-1] - pair.steps[0] < 2 * height for pair in packing.columns)
        values.append(packing.value)
    assert values[2] <= min(values[:2]) * 1.001


def test_listed_waves_have_the_same_rounds() -> None:
    """Listed one by one: as many rounds, and an algorithm."""
    machine = AllreduceNetwork(on("mesh(4,4)"), NEVER)
    packing = WavePacking(machine, None)
    packing.pack_combs(NEVER)
    kept = [found for found in waves(packing, 4096, 130, NEVER) if found[0] > 90]
    assert kept
    for _, chunks, algorithm in kept:
        assert isinstance(algorithm, OrbitAlgorithm)
        listed = algorithm.expanded()
        assert listed.tightened(machine.topology).rounds == algorithm.rounds
        instance = SPECS.collective("allreduce").instantiate(
            machine.topology, chunks=chunks, steps=listed.steps, rounds=listed.rounds
        )
        require_valid(instance, listed)


@pytest.mark.parametrize(
    "network", ["mesh(4,6)", "mesh(5,5)", "mesh(2,3,4)", "torus(3,5)", "hypercube(3)", "line(5)"]
)
def test_combs_meet_the_count_of_sends_on_a_grid(network: str) -> None:
    machine = AllreduceNetwork(on(network), NEVER)
    far = machine.topology.distances
    for root, onward in combs(machine.topology):
        assert onward[root] == root
        nodes = np.arange(machine.num_nodes)
        assert (far[nodes, root] - far[onward, root] == (nodes != root)).all()
        assert (far[nodes, onward] == (nodes != root)).all()
    packing = WavePacking(machine, None)
    packing.pack_combs(NEVER)
    assert packing.value == pytest.approx(machine.least)


def test_there_are_no_combs_elsewhere() -> None:
    assert list(combs(on("star(4)"))) == []


def test_unfit_collectives_are_refused() -> None:
    for collective, why in (("allgather", "does not combine"), ("reduce", "not every node")):
        answer = RECORD.fits(on("ring(4)"), SPECS.collective(collective))
        assert not answer.ok
        assert why in answer.reason
    one_way = Topology.from_links("one way", 3, {(0, 1): 1, (1, 2): 1})
    for record in (RECORD, EXCHANGE):
        assert "reaches" in record.fits(one_way, SPECS.collective("allreduce")).reason
    pair = RECORD.fits(on("ring(2)"), SPECS.collective("allreduce"))
    assert "at least three nodes" in pair.reason


@pytest.mark.parametrize(
    ("collective", "units"), [("2 * allreduce", 2), ("2 * allreduce + allreduce", 3)]
)
def test_sums_of_allreduces_have_several_chunks_for_each_of_c(collective: str, units: int) -> None:
    few, limits = (SeedLimits(seconds=0.5, max_steps=6, max_chunks=c) for c in (24 * units, 24))
    one = propose(on("line(3)"), few, "allreduce")
    several = propose(on("line(3)"), limits, collective)

    def costs(found: list[Proposal], times: int) -> dict[int, Fraction]:
        every = [(a.algorithm.steps, F(a.algorithm.rounds, a.chunks * times)) for a in found]
        return dict(sorted(every, reverse=True))  # the least comes last

    assert costs(several, units) == costs(one, 1) != {}
    for proposal in several:
        assert proposal.chunks <= 24
        if proposal.family is not None:
            require_family(proposal.family)
            assert proposal.family.limit == units
    assert any(proposal.family is not None for proposal in several)


def test_waves_for_every_number_of_them() -> None:
    """A ring without a link: the optimum over all roots and shares, in closed form."""
    links = [(i, (i + j) % 6) for i in range(6) for j in (1, 5) if (i, j) != (0, 1)]
    topology = Topology.from_links("ring less a link", 6, dict.fromkeys(links, 1))
    asked = SPECS.collective("allreduce")
    packing = WavePacking(AllreduceNetwork(topology, NEVER), 12, most_links=6)
    packing.pack(NEVER)
    family = family_of(packing, asked)
    assert family is not None
    require_family(family)
    assert packing.value <= family.limit <= packing.value * 1.01
    limits = SeedLimits(seconds=0.5)
    options = resolve_options(RECORD.options, {}, "seed treepairs")
    made = RECORD.load().propose(topology, asked, limits, options)
    with_one = [one for one in made if one is not None and one.family is not None]
    assert min(one.family.limit for one in with_one if one.family) == family.limit
    for one in with_one:
        assert one.family is not None
        member = one.family.member(one.family.first)
        assert (member.chunks, member.steps) == (one.chunks, one.algorithm.steps)
    few = SeedLimits(seconds=0.5, max_steps=12, max_chunks=20)
    made = RECORD.load().propose(topology, asked, few, options)
    assert all(one.chunks <= 20 for one in made if one is not None)


def test_a_single_wave_that_is_as_good_is_no_family() -> None:
    packing = WavePacking(AllreduceNetwork(on("torus(4,4)"), NEVER), 32, most_links=16)
    packing.pack(NEVER)
    assert family_of(packing, SPECS.collective("allreduce")) is None


def require_pair(network: AllreduceNetwork, pair: Pair) -> None:
    """Verifies that a pair and its images make an allreduce."""
    dealt = DealtChunks(network.least_chunks, 0, (((pair, network.times),),))
    algorithm = algorithm_of(network, dealt)
    instance = SPECS.collective("allreduce").instantiate(
        network.topology, chunks=dealt.chunks, steps=algorithm.steps, rounds=algorithm.rounds
    )
    require_valid(instance, algorithm)


def test_a_repair_keeps_or_improves_a_pair() -> None:
    network, steps = AllreduceNetwork(on("torus(3,3)"), NEVER), 5
    packing = PairPacking(network, steps)
    while not packing.rested:
        packing.improve(NEVER.sooner(10.0))
    pairs = [packing.columns[i] for i, _ in packing.shared()]
    repair = PairRepair(network, steps, pairs)
    room = np.zeros((len(network.rate), steps), dtype=np.int64)
    weights = np.ones_like(room)
    for pair in pairs[:3]:
        before = network.load(pair.links, pair.steps, steps)
        (fitted,), _ = repair.fitted([0], [pair], room, weights, 5.0)
        assert network.load(fitted.links, fitted.steps, steps).sum() <= before.sum()
        require_pair(network, fitted)


def test_a_limit_on_chunks_has_room_for_several_pairs() -> None:
    """The group of 8 nodes in a ring has 16 elements; 32 chunks are then only two pairs."""
    ring = on("ring(8)")
    assert AllreduceNetwork(ring, NEVER, 1, 8).order == 8
    found = propose(ring, SeedLimits(max_chunks=32, seconds=2.0, budgets=(8, 16, 32)))
    assert all(one.chunks <= 32 for one in found)
    costs = {
        most: min(F(p.algorithm.rounds, p.chunks) for p in found if p.chunks <= most)
        for most in (8, 16, 32)
    }
    assert costs[8] >= costs[16] >= costs[32] >= F(7, 4) / 2


def test_pairs_and_their_images_cost_the_same_under_subgroups() -> None:
    network, steps = AllreduceNetwork(on("torus(3,3)"), NEVER), 3
    packing = PairPacking(network, steps)
    while not packing.rested:
        packing.improve(NEVER.sooner(10.0))
    smaller = list(smaller_networks(network, NEVER))
    assert smaller[-1].order == 1
    for one in smaller:
        fine = under_subgroup(packing, one, NEVER)
        assert fine.value == pytest.approx(packing.value)
        assert any(pair.core.carried for pair in fine.columns)
        for pair in fine.columns[:: max(1, len(fine.columns) // 8)]:
            require_pair(one, pair)


def test_a_smaller_group_loses_less_with_the_same_chunks() -> None:
    """A pair across two boxes has 16 images, and five times as many chunks as one with two."""
    packing = PairPacking(AllreduceNetwork(on("dgx_h100(boxes=2)").in_grains, NEVER), 3)
    while not packing.rested:
        packing.improve(NEVER.sooner(10.0))
    smaller = next(iter(smaller_networks(packing.network, NEVER)))
    rounds = []
    for one in (packing, under_subgroup(packing, smaller, NEVER)):
        choice = pair_choice(one)
        numbers = choice.rounded(48 // one.network.order)
        rounds.append(choice.rounds(choice.solved(numbers, 5.0)))
    assert rounds == [138, 117]  # of 1/9


def test_few_chunks_have_their_own_run() -> None:
    """Modulo all 64 automorphisms of a chosen group, C is at least 64; fewer cost the same."""
    found = propose(on("torus(4,4)"), SeedLimits(seconds=4.0, max_steps=5, budgets=(16, 32)))
    least = {one.chunks for one in found if F(one.algorithm.rounds, one.chunks) == F(5, 8)}
    assert 64 in least
    assert min(least) <= 32
