"""Large networks: limits are kept, and too large algorithms are refused with a reason."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from syncoll.errors import UsageError
from syncoll.model import Topology
from syncoll.plugins import Proposal, SeedLimits
from syncoll.spec import SpecLibrary
from syncoll_classics import RECORDS, routing
from syncoll_classics.routing import Router

pytestmark = pytest.mark.usefixtures("counted_work")

Propose = Callable[..., list[Proposal]]


@pytest.mark.parametrize("name", [record.name for record in RECORDS])
def test_seconds_are_kept_on_large_networks(
    name: str, specs: SpecLibrary, counted_work: Callable[[], float]
) -> None:
    record = next(record for record in RECORDS if record.name == name)
    options = {option.name: option.default for option in record.options}
    for network in ("torus(16,16)", "ring(256)", "hypercube(7)"):
        topology = specs.topology(network)
        for collective in ("allgather", "broadcast", "allreduce"):
            wanted = specs.collective(collective)
            if not record.fits(topology, wanted).ok:
                continue
            began = counted_work()
            for _ in record.load().propose(topology, wanted, SeedLimits(seconds=0.02), options):
                pass
            assert counted_work() - began < 0.04


@pytest.mark.parametrize(
    ("name", "network", "collective", "words"),
    [
        ("ring", "ring(255)", "alltoall", "up to 16451580 sends"),
        ("all_pairs", "ring(600)", "allreduce", "a table of contributions of 216000000 cells"),
    ],
)
def test_too_large_algorithms_are_refused(
    name: str, network: str, collective: str, words: str, propose: Propose
) -> None:
    with pytest.raises(UsageError, match=words):
        propose(name, network, collective)


def test_fewer_rings_where_all_would_have_too_many_chunks(propose: Propose) -> None:
    found = propose("ring", "fully_connected(30)", "alltoall", SeedLimits(max_chunks=59))
    assert {p.chunks for p in found} == {30}


@pytest.mark.parametrize("seed", range(6))
def test_hasty_routing_finds_shortest_paths(
    seed: int,
    random_topology: Callable[..., Topology],
    propose: Propose,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(routing, "_MOST_TRIED", 0)
    topology = random_topology(7, 300 + seed)
    pairs = [(a, b) for a in range(7) for b in range(7) if a != b]
    logical = np.array([(i, a, b, i % 3) for i, (a, b) in enumerate(pairs)])
    sends, rows = Router(topology).routed(logical)
    for i, (a, b) in enumerate(pairs):
        path = sends[rows == i]
        assert len(path) == topology.distances[a, b]
        assert (path[0, 1], path[-1, 2]) == (a, b)
        assert (np.diff(path[:, 3]) == 1).all()
        assert (path[1:, 1] == path[:-1, 2]).all()
    for collective in ("allgather", "alltoall", "allreduce"):
        assert propose("all_pairs", topology, collective)


def test_hasty_routing_spreads_sends_over_paths(
    specs: SpecLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routing, "_MOST_TRIED", 0)
    logical = np.array([(c, 0, 3, 0) for c in range(8)])
    sends, _ = Router(specs.topology("mesh(2,2)")).routed(logical)
    assert [int(((sends[:, 1] == 0) & (sends[:, 2] == n)).sum()) for n in (1, 2)] == [4, 4]
