"""Searches of candidates that may be the best: skipped candidates could not be better."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

import syncoll
from syncoll.cli.main import main
from syncoll.designing import Assessed, BuildCosts, MachineCandidate, Proved
from syncoll.designing.assessing import DesignFolder
from syncoll.designing.synthesis import inherited, is_no_better
from syncoll.errors import UsageError
from syncoll.ledger.lower_bounds import lower_bounds
from syncoll.plugins import SeedLimits

FAMILIES = ["torus(a,b)", "hypercube(d)", "circulant(n,1,i)", "fully_connected(n)"]


def test_skipped_candidates_are_no_better() -> None:
    found = syncoll.design(
        FAMILIES, ["allgather", "alltoall"], where="P == 6", synthesise=True, store="none"
    )
    by_name = {one.candidate.name: one for one in found.assessed}
    left_out = [one for one in found.assessed if one.no_better_than is not None]
    assert left_out
    assert len(left_out) < len(found.assessed)
    for one in left_out:
        rival = by_name[str(one.no_better_than)]
        costs, theirs = one.candidate.costs, rival.candidate.costs
        assert theirs.ports <= costs.ports
        assert theirs.links <= costs.links
        assert theirs.bandwidth <= costs.bandwidth
        for name in found.collectives:
            frontier = rival.bounds[name].frontier
            assert frontier is not None
            for point in syncoll.pareto(one.candidate.name, name, time_limit=5, store="none"):
                assert any(
                    mine.steps <= point.steps and mine.bandwidth <= point.bandwidth
                    for mine in frontier.points
                )
    for one in found.assessed:
        for proved in one.bounds.values():
            assert proved.frontier is not None
            assert bool(proved.frontier.points) == (one.no_better_than is None)
            for point in proved.frontier.points:
                assert point.steps >= proved.steps
                assert point.bandwidth >= proved.bandwidth


def test_a_rival_must_be_cheap_and_reach_the_bounds() -> None:
    frontier = syncoll.pareto("ring(4)", "allgather", progress="none", store="none")
    topology = frontier.topology
    costs = BuildCosts(4, 8, 2, Fraction(8))
    rival = Assessed(
        MachineCandidate(topology, costs), {"allgather": Proved(2, Fraction(3, 2), frontier)}
    )
    other = MachineCandidate(syncoll.topology("line(4)"), costs)

    def beaten(proved: Proved, candidate: MachineCandidate = other) -> bool:
        return is_no_better(Assessed(candidate, {"allgather": proved}), rival, ["allgather"])

    assert [(p.steps, p.bandwidth) for p in frontier] == [(2, Fraction(3, 2))]
    assert beaten(Proved(2, Fraction(3, 2), None))
    assert beaten(Proved(3, Fraction(2), None))
    assert not beaten(Proved(1, Fraction(3, 2), None))
    assert not beaten(Proved(2, Fraction(4, 3), None))
    for cheaper in ({"ports": 1}, {"links": 7}, {"bandwidth": Fraction(7)}):
        assert not beaten(
            Proved(2, Fraction(2), None), replace(other, costs=replace(costs, **cheaper))
        )  # type: ignore[arg-type]
    larger = MachineCandidate(syncoll.topology("ring(5)"), replace(costs, nodes=5))
    assert not beaten(Proved(2, Fraction(2), None), larger)
    assert not is_no_better(rival, rival, ["allgather"])
    assert not is_no_better(Assessed(other), rival, ["allgather"])


def test_a_machine_inherits_algorithms_of_its_subgraphs() -> None:
    found = syncoll.pareto("ring(5)", "allreduce", backend="all_pairs")
    asked = syncoll.collective("allreduce")
    more, fewer, other = map(syncoll.topology, ("fully_connected(5)", "line(5)", "ring(6)"))
    (seed,) = inherited(more, asked, [found])
    made = list(seed.record.load().propose(more, asked, SeedLimits(), {}))
    assert [one.algorithm.steps for one in made] == [point.steps for point in found]
    for one, point in zip(made, found, strict=True):
        assert one.algorithm.rounds <= point.rounds
        assert one.chunks == point.chunks
    assert not seed.record.fits(more, syncoll.collective("allgather")).ok
    assert inherited(fewer, asked, [found]) == ()
    assert inherited(other, asked, [found]) == ()


def test_one_more_link_is_no_worse() -> None:
    """For searches of any length."""
    found = syncoll.design(
        "ring(6)",
        ["allreduce"],
        one_more_link=True,
        synthesise=True,
        search_limit=0.5,
        work=100,
        store="none",
    )
    base, *others = (one for one in found.assessed if one.no_better_than is None)
    frontiers = [one.bounds["allreduce"].frontier for one in (base, *others)]
    assert all(frontier is not None for frontier in frontiers)
    mine, *theirs = [frontier for frontier in frontiers if frontier is not None]
    assert mine.points
    assert theirs
    for frontier in theirs:
        for point in mine.points:
            assert any(
                p.steps <= point.steps and p.bandwidth <= point.bandwidth for p in frontier.points
            )


def test_frontiers_are_kept_and_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(tmp_path / "made")
    command = ["design", "ring(4)", "line(4)", "allgather", "--synthesise", "-o", folder]
    command += ["--store", "none", "--format", "json"]
    assert main(command) == 0
    before = capsys.readouterr().out
    printed = {one["topology"]: one["bounds"] for one in json.loads(before)["candidates"]}
    assert printed["ring(4)"]["allgather"]["points"] == [{"steps": 2, "bandwidth": "3/2"}]
    assert printed["line(4)"]["allgather"]["points"] == [{"steps": 3, "bandwidth": "3"}]
    assert main(["check", folder]) in (0, 4)
    assert "Checked: 2 files with 2 points" in capsys.readouterr().out
    assert main(command) == 0  # from the stored files
    assert capsys.readouterr().out == before


def test_a_search_that_proves_less_takes_no_proof_away(tmp_path: Path) -> None:
    topology, allgather = syncoll.topology("ring(4)"), syncoll.collective("allgather")
    candidate, folder = (
        MachineCandidate(topology, BuildCosts.of(topology)),
        DesignFolder(tmp_path, print),
    )
    bounds = Proved.of(lower_bounds(topology, allgather, max_steps=0))
    folder.keep(candidate, bounds)
    found = syncoll.pareto(topology, "allgather", progress="none")
    folder.keep(candidate, replace(bounds.with_points(found), bandwidth=bounds.bandwidth * 2))
    assert len(list(tmp_path.glob("*.json"))) == 2
    known = folder.known(candidate, allgather)
    assert known is not None
    assert known.frontier is not None
    assert (known.bandwidth, known.frontier.points) == (bounds.bandwidth, ())
    folder.keep(candidate, bounds.with_points(found))
    known = folder.known(candidate, allgather)
    assert known is not None
    assert known.frontier is not None
    assert known.frontier.points


def test_a_limit_of_searches_without_searches() -> None:
    with pytest.raises(UsageError, match="search_limit without synthesise"):
        syncoll.design("ring(4)", "allgather", search_limit=3)
