"""The seed: pipelined forests as algorithms, each replayed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from syncoll.errors import ModelError, UsageError
from syncoll.model import Collective, Fabric, Topology, inverse_of
from syncoll.plugins import Options, PluginManager, Proposal, SeedLimits
from syncoll.trust import require_valid
from syncoll_forestcoll.seed import ForestSeed
from tests.oracles.fabrics import a100, dgx1, torus

ALLGATHER = Collective.from_relations(
    "allgather",
    lambda p, c: p * c,
    lambda c, n, p, _: c % p == n,
    lambda c, n, p, _: (c >= 0) & (n >= 0),
)
NO_LIMITS = SeedLimits()


def broadcast(root: int) -> Collective:
    return Collective.from_relations(
        f"broadcast(root={root})",
        lambda _, c: c,
        lambda c, n, _p, _c: (c >= 0) & (n == root),
        lambda c, n, _p, _c: (c >= 0) & (n >= 0),
    )


def direct(fabric: Fabric, unit: int = 1) -> Topology:
    bandwidth = {ends: b / unit for ends, b in fabric.bandwidths.items()}
    return Topology.from_links(fabric.name, fabric.num_nodes, bandwidth)


def star(nodes: int) -> Topology:
    """Nodes under one switch: each pair is a link, and a node's links share its bandwidth."""
    return one_way_star([1] * nodes, [1] * nodes)


def one_way_star(out: Sequence[int], into: Sequence[int]) -> Topology:
    """Nodes under one switch, with the bandwidths out of them and into them."""
    nodes = len(out)
    pairs = [(u, v) for u in range(nodes) for v in range(nodes) if u != v]
    shared = [
        ([x for x in pairs if x[end] == v], (out, into)[end][v])
        for v in range(nodes)
        for end in (0, 1)
    ]
    topology = Topology.from_links("star", nodes, {}, shared, unbounded=pairs)
    cables = [(v, nodes, out[v]) for v in range(nodes)] + [
        (nodes, v, into[v]) for v in range(nodes)
    ]
    return replace(topology, fabric=Fabric.from_links("star", nodes, 1, cables))


def proposed(
    topology: Topology,
    collective: Collective,
    limits: SeedLimits = NO_LIMITS,
    options: Options | None = None,
) -> list[Proposal]:
    """The verified proposals of the seed."""
    assert ForestSeed.fits(topology, collective).ok
    found = []
    for one in ForestSeed().propose(topology, collective, limits, options or {"k": 0}):
        if one is None:  # its turn is over
            continue
        algorithm = one.algorithm
        instance = collective.instantiate(
            topology, chunks=one.chunks, steps=algorithm.steps, rounds=algorithm.rounds
        )
        require_valid(instance, algorithm)
        found.append(one)
    return found


def proposed_anyway(topology: Topology, options: Options) -> None:
    """Asks the seed although it might not fit."""
    list(ForestSeed().propose(topology, ALLGATHER, NO_LIMITS, options))


def costs(found: list[Proposal]) -> list[tuple[int, Fraction]]:
    return [(x.algorithm.steps, Fraction(x.algorithm.rounds, x.chunks)) for x in found]


def test_dgx1_allgather_meets_the_bandwidth_bound() -> None:
    found = costs(proposed(direct(dgx1(), 25), ALLGATHER))
    assert min(cost for _, cost in found) == Fraction(7, 6)
    assert min(steps for steps, _ in found) == 2
    for i, (steps, cost) in enumerate(found):
        assert not any(s <= steps and c <= cost for s, c in found[:i]), "nothing is dominated"


@pytest.mark.usefixtures("counted_work")
def test_ring_and_torus() -> None:
    ring = costs(proposed(direct(torus(5)), ALLGATHER))
    assert (2, Fraction(2)) in ring
    grid = costs(proposed(direct(torus(3, 3)), ALLGATHER, SeedLimits(seconds=5)))
    assert min(cost for _, cost in grid) < Fraction(5, 2)  # the bound is 2 = 8 / 4


def test_broadcasts_approach_their_bound() -> None:
    """Segments fill the pipeline: six links leave the root, 1/6 is the bound."""
    found = costs(proposed(direct(dgx1(), 25), broadcast(3), SeedLimits(max_chunks=36)))
    assert min(cost for _, cost in found) <= Fraction(5, 18)
    # Trees of optimal throughput leave out the narrow links, with which two steps would do.
    assert min(steps for steps, _ in found) == 3


def test_one_way_networks() -> None:
    links = {(0, 1): 2, (1, 2): 3, (2, 0): 5}
    found = costs(proposed(Topology.from_links("oneway", 3, links), ALLGATHER))
    assert min(cost for _, cost in found) == 1  # two shares over the link of 2
    chain = Topology.from_links("chain", 3, {(0, 1): 1, (1, 2): 1})
    assert min(cost for _, cost in costs(proposed(chain, broadcast(0)))) < Fraction(6, 5)


def test_shares_of_different_sizes() -> None:
    """Node 0 starts with two chunks, node 2 with one, node 1 with none."""
    pre = np.array([[1, 0, 0], [1, 0, 0], [0, 0, 1]], dtype=bool)
    uneven = Collective.from_arrays("uneven", pre, np.ones((3, 3), dtype=bool))
    found = proposed(direct(torus(3)), uneven)
    assert min(cost for _, cost in costs(found)) == Fraction(3, 2)  # three shares into node 1


def test_a_network_with_a_switch() -> None:
    found = costs(proposed(star(4), ALLGATHER))
    assert min(cost for _, cost in found) == 3  # three shares enter each node


def test_k_that_unbalances_a_switch_is_left_out() -> None:
    topology = one_way_star((3, 4, 5), (4, 4, 4))
    with pytest.raises(UsageError, match="with k = 1, rounding"):
        proposed(topology, ALLGATHER, options={"k": 1})
    assert proposed(topology, ALLGATHER)


def test_a_tree_without_a_link_is_an_error() -> None:
    fabric = a100(1)
    pairs = [(u, v) for u in range(8) for v in range(8) if (v - u) % 8 == 1]
    ring = Topology.from_links("ring of a100", 8, {}, [(pairs, 8)], unbounded=pairs)
    topology = replace(ring, fabric=fabric)
    with pytest.raises(ModelError, match=r"needs a link from node .* of ring of a100"):
        proposed(topology, ALLGATHER)


def test_limits() -> None:
    dgx = direct(dgx1(), 25)
    for limits in (SeedLimits(max_steps=3), SeedLimits(max_chunks=4), SeedLimits(max_rounds=7)):
        found = proposed(dgx, ALLGATHER, limits)
        assert found
        for one in found:
            algorithm = one.algorithm
            assert limits.max_steps is None or algorithm.steps <= limits.max_steps
            assert limits.max_chunks is None or one.chunks <= limits.max_chunks
            assert limits.max_rounds is None or algorithm.rounds <= limits.max_rounds
    assert proposed(dgx, ALLGATHER, SeedLimits(seconds=0.0)) == []


def test_unused_time_is_not_needed() -> None:
    """Results that need no time do not depend on the time limit."""
    dgx = direct(dgx1(), 25)
    alone = costs(proposed(dgx, ALLGATHER, SeedLimits(max_chunks=4)))
    assert alone == costs(proposed(dgx, ALLGATHER, SeedLimits(max_chunks=4, seconds=600)))


@pytest.mark.usefixtures("counted_work")
def test_more_time_continues_unfinished_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work that exceeds the first turns is done in later, longer turns."""
    monkeypatch.setattr("syncoll.scheduling.schedule._MOST_WASTED", 0.0)  # no integer programs
    grid = direct(torus(3, 4))
    alone = costs(proposed(grid, ALLGATHER, SeedLimits(max_chunks=8)))
    turns = ForestSeed().propose(grid, ALLGATHER, SeedLimits(max_chunks=8, seconds=0.005), {"k": 0})
    made, seconds, pauses = [next(turns)], 0.005, 0
    with suppress(StopIteration):
        while True:
            pauses += made[-1] is None
            seconds *= 1.5 if made[-1] is None else 1
            made.append(turns.send(SeedLimits(max_chunks=8, seconds=seconds)))
    found = costs([one for one in made if one is not None])
    assert pauses
    for steps, cost in alone:
        assert any(s <= steps and c <= cost for s, c in found)


def test_large_networks_stay_within_their_time(counted_work: Callable[[], float]) -> None:
    """144 nodes, for which all shapes would take minutes."""
    topology, limits = direct(torus(12, 12)), SeedLimits(seconds=0.02)
    began = counted_work()
    proposals = ForestSeed().propose(topology, ALLGATHER, limits, {"k": 0})
    after = [counted_work() - began for _ in proposals]
    assert after
    assert max(after) <= 0.03  # the work in progress at the limit


def test_too_many_sends_are_refused_with_a_reason() -> None:
    large = direct(torus(64, 64))
    answer = ForestSeed.fits(large, ALLGATHER)
    assert not answer.ok
    assert "16773120 sends" in answer.reason
    assert ForestSeed.fits(large, broadcast(7)).ok
    with pytest.raises(ModelError, match="16773120 sends"):
        proposed_anyway(large, {"k": 0})
    with pytest.raises(ModelError, match="expected a k of at most 1398101"):
        proposed_anyway(direct(torus(3)), {"k": 9999999})


def test_the_option_k() -> None:
    found = proposed(direct(dgx1(), 25), ALLGATHER, options={"k": 3})
    assert found
    assert all(one.note.startswith("k = 3, ") for one in found)
    assert all(one.chunks % 3 == 0 for one in found)


@pytest.mark.parametrize(
    ("topology", "collective", "words"),
    [
        (direct(torus(3)), inverse_of(ALLGATHER, "reducescatter"), "combines"),
        (Topology.from_links("one", 1, {}), ALLGATHER, "at least two nodes"),
        (replace(star(3), fabric=None), ALLGATHER, "share"),
        (
            direct(torus(3)),
            Collective.from_arrays("shift", np.eye(3), np.roll(np.eye(3), 1, axis=1)),
            "to all nodes",
        ),
        (
            direct(torus(3)),
            Collective.from_arrays("two", [[1, 1, 0]], [[1, 1, 1]]),
            "from one node to all",
        ),
        (one_way_star((1, 1, 2), (1, 1, 1)), ALLGATHER, "receives 4 and sends 3"),
    ],
    ids=["combining", "one node", "shared", "not all nodes", "two sources", "uneven switch"],
)
def test_unsupported_questions_are_refused_with_a_reason(topology, collective, words) -> None:
    answer = ForestSeed.fits(topology, collective)
    assert not answer.ok
    assert words in answer.reason


def test_missing_paths_are_errors() -> None:
    apart = Topology.from_links("apart", 4, {(0, 1): 1, (1, 0): 1, (2, 3): 1, (3, 2): 1})
    with pytest.raises(ModelError, match="no path leads from node"):
        proposed(apart, ALLGATHER)
    chain = Topology.from_links("chain", 3, {(0, 1): 1, (1, 2): 1})
    with pytest.raises(ModelError, match="no path leads from node"):
        proposed(chain, ALLGATHER)


def test_it_is_registered() -> None:
    record = PluginManager.discover().seeds["forestcoll"]
    assert record.installed().ok
    assert callable(record.load().propose)
    assert record.forest is not None


def test_importing_the_record_loads_no_library() -> None:
    code = (
        "import sys, syncoll_forestcoll\n"
        "assert not {'ortools', 'highspy'} & {m.partition('.')[0] for m in sys.modules}\n"
        "assert 'syncoll_forestcoll.collectives' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
