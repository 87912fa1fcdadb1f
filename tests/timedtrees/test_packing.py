"""Timed trees: fractional packings meet proved bounds, and whole ones come near."""

from __future__ import annotations

from fractions import Fraction

import networkx as nx
import numpy as np
import pytest

from syncoll.bounding import rounds_bound
from syncoll.certificates import demands
from syncoll.deadline import NEVER
from syncoll.model import OrbitAlgorithm, Topology, orbit_algorithm
from syncoll.packing.expand_orbits import algorithm_of
from syncoll.packing.problem import PackingProblem
from syncoll.packing.timed_packing import TimedPacking
from syncoll.packing.whole_chunks import ChunkRounding, promising
from syncoll.plugins import PluginManager, Proposal, SeedLimits
from syncoll.plugins.options import resolve_options
from syncoll.routing import as_topology
from syncoll.spec import SpecLibrary
from syncoll.trust import require_valid
from syncoll_timedtrees import RECORD
from tests.oracles.proposals import verified

pytestmark = pytest.mark.usefixtures("counted_work")

_LIBRARIES = PluginManager.discover().spec_libraries.values()
SPECS = SpecLibrary([record.folder for record in _LIBRARIES])


def problem(network: Topology | str, collective: str) -> PackingProblem:
    where = as_topology(SPECS.topology(network)) if isinstance(network, str) else network
    return PackingProblem(where, SPECS.collective(collective), NEVER)


def packed(question: PackingProblem, steps: int) -> TimedPacking:
    """A packing at rest."""
    packing = TimedPacking(question, steps)
    while not packing.rested:
        packing.improve(NEVER.sooner(10.0))
        assert packing.feasible
    return packing


def propose(network: str, collective: str, limits: SeedLimits, **given: object) -> list[Proposal]:
    """The proposals of the seed, verified."""
    where, asked = as_topology(SPECS.topology(network)), SPECS.collective(collective)
    options = resolve_options(RECORD.options, given, "seed timedtrees")
    return verified(RECORD.load().propose(where, asked, limits, options), where, asked)


@pytest.mark.parametrize(
    ("network", "collective", "steps", "value"),
    [
        ("a100(boxes=2)", "allgather", 2, Fraction(152, 103)),
        ("a100(boxes=2)", "allgather", 3, Fraction(2216, 1873)),
        ("a100(boxes=2)", "allgather", 4, Fraction(15, 13)),
        ("torus(4,4)", "allgather", 4, Fraction(15, 4)),
        ("torus(4,4)", "alltoall", 4, Fraction(1, 2)),
        ("dgx1", "allgather", 2, Fraction(3, 2)),
        ("dgx1", "allgather", 3, Fraction(7, 6)),
        ("ring(5)", "scatter", 2, Fraction(2, 5)),
        ("ring(5)", "gather", 2, Fraction(2)),
        ("mesh(4,4)", "allgather", 6, Fraction(15, 2)),
    ],
)
def test_packings_meet_the_bound(
    network: str, collective: str, steps: int, value: Fraction
) -> None:
    """The bound of every algorithm of this number of steps, from a linear program of flows."""
    question = problem(network, collective)
    assert packed(question, steps).value == pytest.approx(float(value), rel=1e-6)
    least = question.least_chunks
    instance = question.collective.instantiate(
        question.topology, chunks=least, steps=steps, rounds=steps
    )
    bound = rounds_bound(question.topology, demands(instance), steps).rounds / least
    assert bound == value


@pytest.mark.parametrize("collective", ["allgather", "alltoall", "broadcast", "scatter", "gather"])
def test_random_networks(collective: str) -> None:
    """No packing is below the proved bound, no deal below its packing, and every deal is valid."""
    random = np.random.default_rng(11)
    for seed in range(8):
        nodes = int(random.integers(4, 8))
        graph = nx.gnp_random_graph(nodes, 0.5, seed=seed, directed=True)
        if not nx.is_strongly_connected(graph):
            continue
        matrix = np.zeros((nodes, nodes), dtype=int)
        for a, b in graph.edges:
            matrix[a, b] = random.integers(1, 3)
        network = Topology.from_matrix("random", matrix.tolist())
        question = problem(network, collective)
        steps = question.least_steps + int(random.integers(2))
        packing = packed(question, steps)
        least = question.least_chunks
        instance = question.collective.instantiate(network, chunks=least, steps=steps, rounds=steps)
        bound = rounds_bound(network, demands(instance), steps).rounds / least
        assert packing.value >= float(bound) - 1e-6
        if len(packing.problem.demands[0].destinations) == 1:  # flows of one destination are ways
            assert packing.value == pytest.approx(float(bound), rel=1e-5)
        for chunks in promising(packing, 24 * least, None):
            dealt = ChunkRounding(packing).deal(chunks, NEVER.sooner(2.0))
            assert float(dealt.bandwidth) >= packing.value - 1e-6
            for demand, trees in zip(question.demands, dealt.columns, strict=True):
                assert sum(n for _, n in trees) == demand.count * dealt.chunks // least


def test_proposals_come_near_and_keep_limits() -> None:
    found = propose("a100(boxes=2)", "allgather", SeedLimits(until=NEVER.sooner(20.0)))
    best: dict[int, Fraction] = {}
    for one in found:
        cost = Fraction(one.algorithm.rounds, one.chunks)
        best[one.algorithm.steps] = min(cost, best.get(one.algorithm.steps, cost))
    assert best[2] <= Fraction(152, 103) * Fraction(101, 100)
    assert best[3] <= Fraction(2216, 1873) * Fraction(102, 100)
    assert min(best.values()) <= Fraction(15, 13) * Fraction(102, 100)
    limits = SeedLimits(max_steps=2, max_chunks=10, until=NEVER.sooner(5.0))
    for one in propose("a100(boxes=2)", "allgather", limits):
        assert one.algorithm.steps <= 2
        assert one.chunks <= 10
    assert propose("torus(4,4)", "allgather", SeedLimits(max_steps=3)) == []


@pytest.mark.parametrize(("most", "budgets"), [(6, ()), (20, ()), (20, (1, 2, 3, 4, 6, 8, 12, 16))])
def test_few_chunks_meet_the_bound(most: int, budgets: tuple[int, ...]) -> None:
    until = NEVER.sooner(20.0)
    limits = SeedLimits(max_steps=3, max_chunks=most, budgets=budgets, until=until)
    found = propose("dgx1", "allgather", limits)
    assert min(Fraction(one.algorithm.rounds, one.chunks) for one in found) == Fraction(7, 6)
    known = SeedLimits(max_steps=3, max_chunks=200, known=found[:1], until=NEVER.sooner(20.0))
    assert propose("dgx1", "allgather", known, chunks=most)


def test_the_seed_continues_in_the_next_turn() -> None:
    where, asked = as_topology(SPECS.topology("a100(boxes=2)")), SPECS.collective("allgather")
    options = resolve_options(RECORD.options, {}, "seed timedtrees")
    first = SeedLimits(until=NEVER.sooner(0.02))
    turns = RECORD.load().propose(where, asked, first, options)
    found = []
    while (one := next(turns)) is not None:
        found.append(one)
    more = turns.send(SeedLimits(until=NEVER.sooner(30.0)))
    assert more is not None
    best = min((Fraction(p.algorithm.rounds, p.chunks) for p in found), default=None)
    assert best is None or Fraction(more.algorithm.rounds, more.chunks) < best


def test_timeless_trees_reach_the_bandwidth_optimum() -> None:
    """For a bound that no cut around a node meets."""
    timeless = TimedPacking(problem("a100(boxes=2)", "allgather"), 4, timeless=True)
    while not timeless.rested:
        timeless.improve(NEVER.sooner(10.0))
    assert timeless.value == pytest.approx(15 / 13, rel=1e-3)


@pytest.mark.parametrize("network", ["a100(boxes=2)", "torus(4,4)", "mi250(boxes=2)"])
def test_a_few_sends_and_automorphisms_give_all_sends(
    network: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The images of one demand's sends are all sends of the listed algorithm."""
    question = problem(network, "allgather")
    packing = TimedPacking(question, question.least_steps + 1)
    for _ in range(4):
        packing.improve(NEVER.sooner(10.0))
    dealt = ChunkRounding(packing).deal(6, NEVER.sooner(1.0))
    plain = algorithm_of(question, dealt)
    monkeypatch.setattr(orbit_algorithm, "MOST_PLAIN", 0)
    carried = algorithm_of(question, dealt)
    assert isinstance(carried, OrbitAlgorithm)
    assert carried.carriers.order == question.group.order > 1
    assert carried == plain
    instance = question.collective.instantiate(
        question.topology, chunks=6, steps=carried.steps, rounds=carried.rounds
    )
    require_valid(instance, carried)


def test_unfit_questions_are_refused_with_a_reason() -> None:
    answer = RECORD.fits(as_topology(SPECS.topology("ring(4)")), SPECS.collective("reducescatter"))
    assert not answer.ok
    assert "the collective combines" in answer.reason
