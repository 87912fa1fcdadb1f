"""One more link: limits by prices hold for every pair of nodes, and orbits are right."""

from __future__ import annotations

import json
import random
from fractions import Fraction
from itertools import combinations

import pytest

import syncoll
from syncoll.cli.main import main
from syncoll.designing import candidates
from syncoll.designing.candidates import BuildCosts, MachineCandidate
from syncoll.designing.one_more_link import extensions, usual_bandwidth, with_link
from syncoll.errors import UsageError
from syncoll.ledger.lower_bounds import lower_bounds
from syncoll.model import Fabric, Topology


def random_topology(seed: int) -> Topology:
    """A ring with some chords and random bandwidths; some links share a bound."""
    rng = random.Random(seed)
    nodes = rng.randint(4, 6)
    links = {(i, (i + 1) % nodes): rng.randint(1, 3) for i in range(nodes)}
    for a, b in rng.sample(list(combinations(range(nodes), 2)), 3):
        links.setdefault((a, b), rng.randint(1, 3))
        links.setdefault((b, a), rng.randint(1, 3))
    shared = [([link for link in links if link[0] == 0], 2)] if seed % 2 else []
    return Topology.from_links(f"random {seed}", nodes, links, shared)


@pytest.mark.parametrize(
    ("where", "collective"),
    [
        *((seed, ("allgather", "alltoall", "broadcast")[seed % 3]) for seed in range(6)),
        ("dgx1", "alltoall"),
        ("mesh(2,3)", "gather(root=1)"),
        ("line(5)", "reducescatter"),
        ("a100(boxes=2)", "allgather"),
    ],
)
def test_no_pair_is_below_its_limit_by_prices(where: int | str, collective: str) -> None:
    topology = random_topology(where) if isinstance(where, int) else syncoll.topology(where)
    base = MachineCandidate(topology, BuildCosts.of(topology))
    bounds = syncoll.bounds(topology, collective, max_steps=0)
    found = extensions(topology, [(syncoll.collective(collective), bounds)])
    assert found
    for one in found[:8]:
        made = with_link(base, one.ends)
        assert made.costs.links == base.costs.links + 2
        least = one.at_least[collective]
        new = syncoll.bounds(made.topology, collective, max_steps=0).bandwidth
        assert new <= bounds.bandwidth
        assert least is None or least <= new


@pytest.mark.parametrize(
    ("where", "collective"),
    [
        ("dgx1", "alltoall"),
        ("mesh(2,3)", "alltoall"),
        ("mesh(2,3)", "scatter(root=1)"),
        ("star(5)", "gather(root=2)"),
    ],
)
def test_orbits_match_the_bounds_of_all_pairs(where: str, collective: str) -> None:
    """All pairs one by one give the same bounds as the orbits."""
    topology = syncoll.topology(where)
    base = MachineCandidate(topology, BuildCosts.of(topology))
    bounds = syncoll.bounds(topology, collective, max_steps=0)
    asked = [(syncoll.collective(collective), bounds)]

    def figures(ends: tuple[int, int]) -> tuple[int, Fraction]:
        new = syncoll.bounds(with_link(base, ends).topology, collective, max_steps=0)
        return new.steps, new.bandwidth

    by_orbit: list[tuple[int, Fraction]] = []
    for one in extensions(topology, asked):
        by_orbit += [figures(one.ends)] * one.images
    assert sorted(by_orbit) == sorted(map(figures, combinations(range(topology.num_nodes), 2)))


def test_a_chord_of_a_ring() -> None:
    """Halves of a ring of 8 exchange 16 pieces of an eighth each way over 2 links, then over 3.

    Only opposite nodes are on different sides of every such cut.
    """
    found = syncoll.design("ring(8)", "alltoall", one_more_link=True)
    best = min(found.assessed, key=lambda one: one.bounds["alltoall"].bandwidth)
    assert best.candidate.name == "ring(8) + 0-4"
    assert best.candidate.images == 4
    assert [one.candidate.images for one in found.assessed[1:]] == [4, 8, 8, 8]
    assert found.assessed[0].bounds["alltoall"].bandwidth == 1
    assert Fraction(2, 3) <= best.bounds["alltoall"].bandwidth < 1


def test_no_single_link_helps_where_every_node_is_a_bottleneck() -> None:
    found = syncoll.design("torus(3,4)", "allgather", one_more_link=True)
    assert {one.bounds["allgather"].bandwidth for one in found.assessed} == {Fraction(11, 4)}


def test_pairs_that_were_not_examined_are_reported(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["design", "mesh(3,4)", "--one-more-link", "alltoall", "--format", "json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    alike = sum(one["images"] for one in printed["candidates"][1:])
    assert alike + printed["others"]["pairs"] == 12 * 11 // 2
    best = min(Fraction(one["bounds"]["alltoall"]["bandwidth"]) for one in printed["candidates"])
    assert best == Fraction(printed["others"]["at_least"]["alltoall"]) == Fraction(3, 4)
    assert main(["design", "mesh(3,4)", "--one-more-link", "alltoall"]) == 0
    shown = capsys.readouterr().out
    assert "other pairs of nodes not assessed" in shown
    assert "R/C of alltoall >= 3/4, whichever of them is joined" in shown


def test_a_second_cable_adds_up() -> None:
    line = syncoll.topology("line(3)")
    twice = with_link(MachineCandidate(line, BuildCosts.of(line)), (0, 1))
    assert twice.costs == BuildCosts(3, 6, 3, Fraction(6))
    rates = {b.links[0]: b.chunks_per_round for b in twice.topology.bounds}
    assert rates == {(0, 1): 2, (1, 0): 2, (1, 2): 1, (2, 1): 1}
    assert usual_bandwidth(line) == 1


def test_one_more_link_needs_a_single_machine() -> None:
    with pytest.raises(UsageError, match=r"several, such as ring\(4\) and ring\(5\); name one"):
        syncoll.design(["ring(4)", "ring(5)"], "allgather", one_more_link=True)


def test_several_machines_are_refused_after_two(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    usual = candidates.as_topology

    def counted(network: Topology | Fabric) -> Topology:
        made.append(network.name)
        return usual(network)

    monkeypatch.setattr(candidates, "as_topology", counted)
    with pytest.raises(UsageError, match="one more link needs a single machine"):
        syncoll.design("torus(a,b)", "alltoall", one_more_link=True)
    assert len(made) == 2


def test_pairs_that_share_bandwidth_are_reported(capsys: pytest.CaptureFixture[str]) -> None:
    found = syncoll.design("hub(4)", "allgather", one_more_link=True)
    assert (len(found.assessed), found.shared_pairs) == (1, 6)
    assert main(["design", "hub(4)", "--one-more-link", "allgather"]) == 0
    assert "6 pairs of nodes left out" in capsys.readouterr().out


def test_networks_with_switches_have_no_limits() -> None:
    """A new link may change the routes of all others, so a bound may fall further."""
    topology, allgather = syncoll.topology("a100"), syncoll.collective("allgather")
    found = extensions(topology, [(allgather, lower_bounds(topology, allgather, max_steps=0))])
    assert found
    assert all(one.at_least == {"allgather": None} for one in found)
