"""Cuts of a network before the routes between its nodes are known."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from syncoll import api
from syncoll.deadline import NEVER
from syncoll.errors import OutOfTimeError
from syncoll.ledger.lower_bounds import lower_bounds, network_bounds
from syncoll.model import Fabric
from syncoll.routing import as_topology
from syncoll.session import Session
from syncoll.verbs.bounds import bounds

F = Fraction
COLLECTIVES = ("allgather", "reducescatter", "allreduce", "alltoall", "broadcast", "gather")


def tree(leaves: int, each: int, uplink: F) -> Fabric:
    """Leaf switches with nodes of width 1, joined by a spine."""
    nodes = leaves * each
    pairs = {(n, nodes + n // each): F(1) for n in range(nodes)}
    pairs |= {(nodes + leaf, nodes + leaves): uplink for leaf in range(leaves)}
    both = [(*ends, rate) for (a, b), rate in pairs.items() for ends in ((a, b), (b, a))]
    return Fabric.from_links("tree", nodes, leaves + 1, both, measure="chunks per round")


def quick(fabric: Fabric, collective: str) -> F:
    return network_bounds(fabric, api.collective(collective)).bandwidth


@pytest.mark.parametrize(
    ("uplink", "collective", "cost"),
    [
        (F(4), "allgather", F(11)),  # around a node
        (F(1, 2), "allgather", F(16)),  # the 8 chunks of two leaves enter the third
        (F(1), "alltoall", F(8, 3)),  # 4 * 8 parts of 12
        (F(9), "allreduce", F(11, 6)),  # 2 * 11 sends of 12 nodes
        (F(1), "broadcast", F(1)),
        (F(9), "reducescatter", F(11, 12)),
    ],
)
def test_by_hand(uplink: F, collective: str, cost: F) -> None:
    assert quick(tree(3, 4, uplink), collective) == cost


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_never_above_the_bounds_with_routes(collective: str) -> None:
    asked = api.collective(collective)
    adding = replace(tree(2, 2, F(1, 2)), multicast=(4, 5, 6), reduce=(4, 5, 6))
    for fabric in (tree(2, 3, F(1, 2)), tree(2, 3, F(2)), adding, api.fabric("a100(boxes=2)")):
        routed = lower_bounds(as_topology(fabric), asked, until=NEVER.sooner(0.0))
        found = network_bounds(fabric, asked)
        assert 0 < found.bandwidth <= routed.bandwidth
        assert found.steps <= routed.steps
        assert found.chunks == routed.chunks


def test_bounds_answer_without_routes(monkeypatch: pytest.MonkeyPatch) -> None:
    def late(session: Session, what: object) -> None:
        raise OutOfTimeError("the time limit was reached")

    expected = bounds("a100(boxes=2)", "alltoall")
    monkeypatch.setattr(Session, "topology", late)
    found = bounds("a100(boxes=2)", "alltoall", time_limit=60)
    assert found.bandwidth == expected.bandwidth
    assert "the time was over before the routes between all nodes were known" in found.more
    assert found.document()["nodes"] == expected.document()["nodes"]
    assert not found.document()["complete"]
    assert found.prices()
    with pytest.raises(OutOfTimeError, match="before routes were known"):
        found.saved()
    with pytest.raises(OutOfTimeError):
        bounds("ring(4)", "allgather", time_limit=60)
