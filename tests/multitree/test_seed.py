"""The seed: the paper's schedule first, then trades of rounds for steps; refusals with reasons."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction

import pytest

import syncoll_multitree
from syncoll.deadline import Deadline
from syncoll.errors import ModelError
from syncoll.model import Topology, compose, invert
from syncoll.plugins import Proposal, SeedLimits
from syncoll.plugins.options import resolve_options
from syncoll.routing import as_topology
from syncoll.spec import SpecLibrary
from syncoll.trust import require_valid

Propose = Callable[..., list[Proposal]]


def costs(proposals: list[Proposal]) -> list[tuple[int, int, int]]:
    return [(p.algorithm.steps, p.algorithm.rounds, p.chunks) for p in proposals]


@pytest.mark.parametrize(
    ("network", "asked"),
    [
        ("mesh(3,3)", "allgather"),
        ("dgx1", "allgather"),
        ("dgx1", "broadcast(root = 3)"),
        ("hub(5)", "allgather"),
        ("dgx_a100", "allgather"),
        ("torus(3,4)", "multi_broadcast(0, 4)"),
        ("a100(2)", "allgather"),
        ("fat_tree(3)", "allgather"),
        ("p2_16xlarge", "broadcast"),
        ("leaf_spine([[2, 2], [3, 1]], cards=[25, 10])", "allgather"),
    ],
)
def test_proposals_are_valid(network: str, asked: str, propose: Propose) -> None:
    assert propose(network, asked, SeedLimits(seconds=0.1))


@pytest.mark.parametrize(
    ("network", "first"),
    [("mesh(2,2)", (2, 2, 1)), ("ring(5)", (2, 2, 1)), ("mesh(4,4)", (8, 8, 1)),
     ("torus(4,4)", (4, 4, 1)), ("torus(8,8)", (16, 16, 1)), ("hub(4)", (3, 3, 1)),
     ("fat_tree(4)", (15, 15, 1))],
)  # fmt: skip
def test_the_papers_schedule_comes_first(
    network: str, first: tuple[int, int, int], propose: Propose
) -> None:
    assert costs(propose(network, trees=1, pipelined=False))[0] == first


@pytest.mark.parametrize(
    ("network", "cost", "steps"),
    [("torus(4,4)", Fraction(15, 4), 4), ("mesh(2,2)", Fraction(3, 2), 2),
     ("hypercube(3)", Fraction(7, 3), 3)],
)  # fmt: skip
def test_several_trees_meet_the_bound(
    network: str, cost: Fraction, steps: int, propose: Propose
) -> None:
    """A node receives (P - 1) C chunks over its links; no algorithm takes fewer rounds."""
    found = costs(propose(network, limits=SeedLimits(seconds=0.6)))
    assert (steps, cost) in [(s, Fraction(r, c)) for s, r, c in found]


def test_segments_come_once_more_trees_cannot_be_cheaper(propose: Propose) -> None:
    """With four trees a node's links are full; five to eight would only take time first."""
    found = propose("torus(4,4)", limits=SeedLimits(seconds=0.6))
    assert costs(found) == [(4, 4, 1), (15, 15, 4), (4, 30, 8)]


def test_switches_are_used_where_they_are_known(propose: Propose, specs: SpecLibrary) -> None:
    topology = as_topology(specs.topology("a100(2)"))
    assert "over switches" in propose(topology)[0].note
    blind = Topology(topology.name, topology.num_nodes, topology.links, topology.bounds)
    assert not any("over switches" in p.note for p in propose(blind))
    notes = [p.note for p in propose(topology, search="node", trees=1, pipelined=False)]
    assert not any("search near" in note for note in notes)


def test_options_are_obeyed(propose: Propose) -> None:
    for order in ("far", "index", "scarce"):
        notes = [p.note for p in propose("dgx1", order=order, pipelined=False)]
        assert notes
        assert all(f"order {order}" in note for note in notes)
    assert any("translated" in p.note for p in propose("torus(3,3)"))
    assert not any("translated" in p.note for p in propose("torus(3,3)", turns="missing"))
    assert {p.chunks for p in propose("dgx1", trees=1, pipelined=False)} == {1}
    assert any("segments" in p.note for p in propose("dgx1", limits=SeedLimits(seconds=2.0)))
    few = propose("dgx1", sends=56)
    assert costs(few) == costs(propose("dgx1"))[:1]


def test_limits_are_kept(propose: Propose) -> None:
    limits = SeedLimits(max_steps=3, max_rounds=7, max_chunks=4, seconds=0.2)
    found = costs(propose("dgx1", limits=limits))
    assert found
    assert all(s <= 3 and r <= 7 and c <= 4 for s, r, c in found)


@pytest.mark.parametrize("network", ["mesh(24,24)", "fat_tree(10)"])
def test_time_is_kept(
    network: str, propose: Propose, specs: SpecLibrary, counted_work: Callable[[], float]
) -> None:
    topology = as_topology(specs.topology(network))
    began = counted_work()
    assert propose(topology, limits=SeedLimits(seconds=0.0)) == []
    assert counted_work() - began < 0.01


def test_time_between_proposals_does_not_count(
    monkeypatch: pytest.MonkeyPatch, specs: SpecLibrary
) -> None:
    now = [0.0]
    monkeypatch.setattr("syncoll.clock.time.perf_counter", lambda: now[0])
    topology, allgather = as_topology(specs.topology("torus(4,4)")), specs.collective("allgather")
    values = resolve_options(syncoll_multitree.RECORD.options, {"seconds": 1.0}, "multitree")
    for seconds, expected in ((None, 3), (5.0, 1)):
        made = 0
        limits = SeedLimits(until=Deadline.after(seconds))
        for _ in syncoll_multitree.RECORD.load().propose(topology, allgather, limits, values):
            made += 1
            now[0] += 7.0
        assert made == expected


def test_allreduce_from_it_takes_the_same_ways_back(propose: Propose, specs: SpecLibrary) -> None:
    """Algorithm 1, lines 15 to 18: step t of tot backwards is step tot - t + 1, forth tot + t."""
    topology, allgather = as_topology(specs.topology("mesh(3,3)")), specs.collective("allgather")
    algorithm = propose(topology, trees=1, pipelined=False)[0].algorithm
    steps = algorithm.steps
    instance = allgather.instantiate(topology, chunks=1, steps=steps, rounds=algorithm.rounds)
    back = invert(instance, algorithm, "reducescatter")
    whole, made = compose(back, (instance, algorithm), "allreduce")
    require_valid(whole, made)
    assert (made.steps, made.rounds) == (2 * steps, 2 * algorithm.rounds)
    rows = algorithm.sends.tolist()
    expected = {(c, b, a, steps - 1 - s) for c, a, b, s in rows}
    expected |= {(c, a, b, steps + s) for c, a, b, s in rows}
    assert {tuple(row) for row in made.sends.tolist()} == expected


@pytest.mark.parametrize(
    ("asked", "words"),
    [("alltoall", "span the network from one root"), ("gather", "span the network"),
     ("allreduce", "composed|combines"), ("reducescatter", "combines")],
)  # fmt: skip
def test_other_collectives_are_refused_with_a_reason(
    asked: str, words: str, propose: Propose, specs: SpecLibrary
) -> None:
    topology, collective = as_topology(specs.topology("ring(4)")), specs.collective(asked)
    answer = syncoll_multitree.RECORD.fits(topology, collective)
    assert not answer.ok
    with pytest.raises(ModelError, match=words):
        propose(topology, collective)


def test_networks_are_refused_with_a_reason(propose: Propose, specs: SpecLibrary) -> None:
    allgather, broadcast = specs.collective("allgather"), specs.collective("broadcast")
    apart = Topology.from_links("apart", 4, {(0, 1): 1, (1, 0): 1, (2, 3): 1, (3, 2): 1})
    one_way = Topology.from_links("one way", 3, {(0, 1): 1, (1, 2): 1})
    alone = Topology.from_links("alone", 1, {})
    fits = syncoll_multitree.RECORD.fits
    for topology, collective, words in (
        (apart, allgather, "none lead from node 0 to node 2"),
        (apart, broadcast, "none lead from node 0 to node 2"),
        (one_way, allgather, "none lead from node 1 to node 0"),
        (alone, allgather, "at least two nodes"),
    ):
        answer = fits(topology, collective)
        assert not answer.ok
        assert words in answer.reason
        with pytest.raises(ModelError, match=words):
            propose(topology, collective)
    assert fits(one_way, broadcast).ok  # from node 0 all can be reached
    assert costs(propose(one_way, broadcast, trees=1, pipelined=False)) == [(2, 2, 1)]
    circle = Topology.from_links("circle", 3, {(i, (i + 1) % 3): 1 for i in range(3)})
    assert costs(propose(circle, trees=1, pipelined=False)) == [(2, 2, 1)]


def test_the_record_is_light() -> None:
    code = (
        "import sys, syncoll_multitree; "
        "assert not {'syncoll_multitree.seed', 'syncoll.scheduling'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
