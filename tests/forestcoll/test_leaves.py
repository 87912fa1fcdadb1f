"""Trees of irregular networks are packed leaf by leaf: the same throughput, less work."""

from __future__ import annotations

from random import Random

import pytest

from syncoll.model import Fabric
from syncoll.routing.network import FlowNetwork
from syncoll_forestcoll import collectives
from syncoll_forestcoll.collectives import ForestPlan
from tests.oracles.forests import allgather


def leaf_spine(seed: int, leaves: int, spines: int, least: int, most: int) -> Fabric:
    """Leaves with different numbers of adapters; some lack a cable to a spine."""
    rng = Random(seed)
    sizes = [rng.randint(least, most) for _ in range(leaves)]
    nodes, links, ends = sum(sizes), [], iter(range(sum(sizes)))
    for i, size in enumerate(sizes):
        links += [(next(ends), nodes + i, 50) for _ in range(size)]
        for spine in range(spines):
            cables = max(rng.randint(0, 2), spine == i % spines)
            if cables:
                links.append((nodes + i, nodes + leaves + spine, 50 * cables))
    return Fabric.from_links("irregular", nodes, leaves + spines, links, both_ways=True)


def test_leaf_by_leaf_takes_fewer_flows(monkeypatch: pytest.MonkeyPatch) -> None:
    flows, maximum = [0], FlowNetwork.maximum

    def counted(self: FlowNetwork, source: int, sink: int) -> int:
        flows[0] += 1
        return maximum(self, source, sink)

    monkeypatch.setattr(FlowNetwork, "maximum", counted)
    fabric = leaf_spine(1, 12, 5, 4, 9)
    assert fabric.num_nodes > collectives._MOST_GROWN

    def packed() -> tuple[ForestPlan, int]:
        flows[0] = 0
        return allgather(fabric), flows[0]

    by_leaves, few = packed()
    monkeypatch.setattr(collectives, "_MOST_GROWN", 10**6)
    grown, many = packed()
    assert by_leaves.ways["groups"]
    assert grown.ways["growth"] == 1
    assert by_leaves.bottleneck.algbw == grown.bottleneck.algbw
    assert 2 * few < many
