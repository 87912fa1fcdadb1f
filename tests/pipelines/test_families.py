"""Families: every member is valid, its closed form holds, and errors are found for some m."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

import syncoll
from syncoll.bounding import rounds_bound
from syncoll.certificates.chunk_classes import demands
from syncoll.cli.main import main
from syncoll.clock import counting
from syncoll.documents import read_file
from syncoll.errors import FileFormatError, ModelError, UsageError, VerificationError
from syncoll.formula import Limits
from syncoll.ledger import SearchRequest
from syncoll.ledger.bounds_table import BoundsTable
from syncoll.ledger.candidates import CandidateSource
from syncoll.ledger.incumbents import MOST_LISTED, belonging, few_steps
from syncoll.ledger.proof_state import with_claims
from syncoll.ledger.request import Strategy
from syncoll.model import Algorithm, Collective, Topology
from syncoll.pages.families import open_lines
from syncoll.planning.members import fastest_member
from syncoll.plugins import PluginManager, SeedLimits, resolve_options
from syncoll.results import Family, Frontier, Growth, OpenClaim, Part, Point, Refuted, Scope
from syncoll.results.family import MOST_FIRST
from syncoll.searching import search
from syncoll.session import Session
from syncoll.solving import Solver
from syncoll.trust import require_valid
from syncoll.trust.claims import check_claims
from syncoll.trust.families import require_family
from syncoll_pipelines import RECORD

SESSION = Session()
LOCKSTEP: dict[str, Any] = {"alpha": "0.7us", "beta": "25GB/s", "timing": "lockstep"}


def families(topology: Topology, collective: Collective, **options: object) -> list[Family]:
    """The proposed families of the seed, the last one the best."""
    seed = RECORD.load()
    values = resolve_options(RECORD.options, {"seconds": 5.0, "cells": 300, **options}, "pipelines")
    found: list[Family] = []
    with counting():
        for proposal in seed.propose(topology, collective, SeedLimits(seconds=0.5), values):
            assert proposal.family is not None
            if proposal.family not in found:
                found.append(proposal.family)
    return found


@pytest.fixture(scope="module")
def cube() -> Family:
    """A broadcast on hypercube(3): S = R = m + 3, C = 3 m + 3."""
    topology, collective = SESSION.topology("hypercube(3)"), SESSION.collective("broadcast")
    return families(topology, collective)[-1]


def test_large_tori_have_trees_at_the_rate_of_the_cut_at_once() -> None:
    topology, collective = SESSION.topology("torus(10,11)"), SESSION.collective("broadcast")
    values = resolve_options(RECORD.options, {"seconds": 2.0}, "pipelines")
    with counting():
        limits = SeedLimits(seconds=4.0)
        proposal = next(iter(RECORD.load().propose(topology, collective, limits, values)))
    assert proposal is not None
    assert proposal.family is not None
    assert (proposal.family.steps, proposal.family.chunks) == (Growth(10, 1), Growth(0, 4))
    assert proposal.family.limit == Fraction(1, 4)


def test_closed_form_and_members_agree_up_to_the_bandwidth_bound(cube: Family) -> None:
    assert (cube.steps, cube.rounds_needed) == (Growth(3, 1), Growth(3, 1))
    assert (cube.chunks, cube.limit) == (Growth(3, 3), Fraction(1, 3))
    assert "S = m + 3, R = S, C = 3 m + 3 for m >= 0, R/C -> 1/3" in repr(cube)
    for m in range(6):
        member = cube.member(m)
        assert (member.steps, member.rounds, member.chunks) == (m + 3, m + 3, 3 * m + 3)
        assert member.bandwidth == cube.bandwidth(m) == cube.cost_within(m + 3)
        assert cube.has(member.steps, member.bandwidth)
        require_valid(member.instance, member.algorithm)
    assert cube.cost_within(2) is None
    assert cube.beats(5, Fraction(1), 9)
    assert not cube.beats(5, Fraction(1), 2)  # its members have more chunks
    assert not cube.beats(3, Fraction(1), 3)
    with pytest.raises(UsageError, match="begins with m = 0"):
        cube.member(-1)


def test_the_fastest_member_is_the_fastest_of_all_members(cube: Family) -> None:
    for size in (0, 1, 10, 100, 1000, 12345):
        times = [cube.steps.at(m) + cube.bandwidth(m) * size for m in range(200)]
        m = fastest_member(cube, Fraction(1), Fraction(size))
        assert times[m] == min(times)


def test_a_family_runs_backwards_as_a_reduce(cube: Family) -> None:
    found = syncoll.pareto("hypercube(3)", "reduce", backend="pipelines", work=3)
    (family,) = found.families
    assert family.head is not None
    assert family.tail is None
    assert (family.steps, family.chunks) == (cube.steps, cube.chunks)
    member = family.member(9)
    require_valid(member.instance, member.algorithm)
    assert member.instance.combining


def test_every_part_is_checked_and_the_loads_of_every_m(cube: Family) -> None:
    require_family(cube)
    (tail,) = cube.fixed  # one step sooner, where all links are still busy
    algorithm = Algorithm((*tail.algorithm.rounds_per_step, 1), tail.algorithm.sends)
    instance = replace(tail.instance, steps=algorithm.steps, rounds=algorithm.rounds)
    with pytest.raises(VerificationError, match=r"step \d+ of member \d sends 2 chunks"):
        require_family(replace(cube, tail=Part(instance, algorithm), first=1))
    with pytest.raises(VerificationError, match=r"step \d of member \d sends 2 chunks"):
        require_family(replace(cube, wave=_doubled(cube.wave)))
    lost = Algorithm(cube.wave.algorithm.rounds_per_step, cube.wave.algorithm.sends[:-1])
    with pytest.raises(VerificationError, match="never reaches"):
        require_family(replace(cube, wave=Part(cube.wave.instance, lost)))
    with pytest.raises(ModelError, match="R/C does not fall"):
        replace(cube, ramp_up=(1,), ramp_down=(1,), tail=None, rounds=(1,) * 40, first=1)
    other = SESSION.collective("broadcast(root=1)")
    moved = other.instantiate(
        cube.topology, chunks=tail.chunks, steps=tail.steps, rounds=tail.rounds
    )
    with pytest.raises(VerificationError, match="different p"):
        require_family(replace(cube, tail=Part(moved, tail.algorithm)))


def _doubled(part: Part) -> Part:
    """Twice the chunks over the same links, in steps of twice as many rounds."""
    rounds = tuple(2 * r for r in part.algorithm.rounds_per_step)
    count = part.instance.num_chunks
    twice = [[c + j * count, *rest] for c, *rest in part.algorithm.sends.tolist() for j in (0, 1)]
    algorithm = Algorithm(rounds, twice)
    collective = SESSION.collective("broadcast")
    instance = collective.instantiate(
        part.instance.topology, chunks=2 * count, steps=part.steps, rounds=algorithm.rounds
    )
    return Part(instance, algorithm)


def test_slow_first_and_last_steps_are_checked_for_every_m() -> None:
    """A star: the tail leaves room, and other rounds at the ends are counted."""
    topology = SESSION.topology("hub(4)")
    family = families(topology, SESSION.collective("broadcast"))[-1]
    assert family.limit == 1
    require_family(family)
    fewer = replace(family, ramp_up=(max(1, family.rounds[0] - 1),), first=max(1, family.first))
    with pytest.raises(VerificationError, match="step 0 of member"):
        require_family(fewer)


def test_no_member_on_a_small_graph_beats_a_proved_bound() -> None:
    collective = SESSION.collective("broadcast")
    graphs = [g for g in nx.graph_atlas_g() if 2 <= len(g) <= 4 and nx.is_connected(g)]
    looked_at = 0
    for graph, uneven in [(g, u) for g in graphs for u in (False, True)]:
        links = {}
        for i, (a, b) in enumerate(graph.edges):
            links[a, b] = links[b, a] = Fraction(1 + i % 2 * uneven, 1 + uneven * (i % 3 == 2))
        topology = Topology.from_links("graph", len(graph), links)
        for family in families(topology, collective, seconds=0.2):
            require_family(family)
            asked = demands(collective.instantiate(topology, chunks=1, steps=9, rounds=9))
            for steps in (*range(1, 7), None):
                bound = rounds_bound(topology, asked, steps).rounds
                cost = family.limit if steps is None else family.cost_within(steps)
                assert cost is None or cost >= bound
                looked_at += cost is not None
            assert family.limit == bound  # which pipelines attain in the end
    assert looked_at > 40


@pytest.mark.parametrize("name", ["ring(4)", "line(4)", "hub(3)", "hypercube(3)"])
def test_a_search_without_seeds_confirms_the_closed_form(name: str) -> None:
    """A solver without pipelines finds the same costs, and proves them."""
    topology, collective = SESSION.topology(name), SESSION.collective("broadcast")
    family = families(topology, collective)[-1]
    last = family.steps.at(family.first) + 2
    with Solver(PluginManager.discover(), limits=Limits(threads=1)) as solver:
        frontier = search(SearchRequest(topology, collective, max_steps=last), solver)
    costs = {point.steps: point.bandwidth for point in frontier.best}
    for steps in range(frontier.least_steps, last + 1):
        found = min(cost for s, cost in costs.items() if s <= steps)
        assert found == family.cost_within(steps), steps
    proofs = frontier.evidence.proofs if frontier.evidence is not None else ()
    proved = {proof.steps for proof in proofs if proof.scope is Scope.ALL}
    assert proved == set(range(frontier.least_steps, last + 1))


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The frontier of a broadcast on hypercube(3), as the command line leaves it."""
    path = tmp_path_factory.mktemp("pipelines") / "cube.json"
    few = ("--backend-option", "seconds=20", "--backend-option", "cells=300")
    options = ("--backend", "pipelines", *few, "-o", str(path))
    assert main(["pareto", "hypercube(3)", "broadcast", *options]) == 0
    return path


def test_a_frontier_shows_keeps_and_checks_a_family_once(
    saved: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", str(saved), "--collective", "broadcast"]) == 0
    assert "a pipeline checked for every m: S = m + 3" in capsys.readouterr().out
    assert main(["show", str(saved)]) == 0
    shown = capsys.readouterr().out
    assert "3 m + 3" in shown
    assert "1/3, the bound" in shown
    assert "Proved up to S = 12: S = 4, 6, 8, 10, 12 optimal for every C; S = 3 within" in shown
    assert "; S = 7 within 1.8 % (optimal for C <= " in shown
    assert "that of the pipeline, 13/33 with 13 steps (within 18 %, nearer with more)" in shown
    frontier = read_file(saved).claims()
    (family,) = frontier.families
    costs = {p.steps: p.bandwidth for p in frontier.points}
    assert {s: costs[s] for s in range(3, 13)} == {
        s: Fraction(s, 3 * (s - 2)) for s in range(3, 13)
    }
    proved = {proof.steps for proof in frontier.evidence.proofs if proof.scope_text == "all"}
    assert {4, 6, 8, 10, 12} <= proved
    assert all(family.has(steps, cost) for steps, cost in costs.items())


def test_a_changed_family_in_a_file_is_refused(saved: Path, tmp_path: Path) -> None:
    document = json.loads(saved.read_text())
    del document["digest"]
    broken = tmp_path / "broken.json"

    def read(change: object) -> None:
        copy = json.loads(json.dumps(document))
        change(copy["families"][0])  # type: ignore[operator]
        broken.write_text(json.dumps(copy))
        syncoll.check(broken)

    with pytest.raises(
        FileFormatError, match="the limit of a family is stated as 1/4; its parts make it 1/3"
    ):
        read(lambda family: family.update(limit="1/4"))
    with pytest.raises(FileFormatError, match="the chunks of a family"):
        read(lambda family: family["chunks"].update(each=4))
    with pytest.raises(VerificationError, match=r"families\[0\]"):
        read(lambda family: family["wave"]["algorithm"]["sends"].pop())
    with pytest.raises(VerificationError, match="different proportions"):
        read(lambda family: family["tail"]["chunk_classes"][0]["chunks"].append(3))


@pytest.fixture(scope="module")
def every_second() -> Family:
    """A broadcast on line(3) with a member for every second S: S = R = 2 m + 1, C = 2 m."""
    topology, collective = SESSION.topology("line(3)"), SESSION.collective("broadcast")
    algorithm = Algorithm((1, 1, 1), [[0, 0, 1, 0], [0, 1, 2, 1], [1, 0, 1, 1], [1, 1, 2, 2]])
    instance = collective.instantiate(topology, chunks=2, steps=3, rounds=3)
    return Family(Part(instance, algorithm), (1, 1), 1, found_by="hand")


def claimed(family: Family, steps: list[int]) -> Frontier:
    """A frontier of its first member, with proofs for some S."""
    topology, collective = family.topology, SESSION.collective("broadcast")
    request = SearchRequest(topology, collective)
    source = CandidateSource(request, BoundsTable(topology, collective))
    bare = Frontier(topology, collective.name, (family.member(1),), (), "", families=(family,))
    return with_claims(bare, source, steps, lambda _: "")


def test_costs_between_and_after_members_are_members_costs(every_second: Family) -> None:
    frontier = claimed(every_second, [3, 6, 12])
    check_claims(frontier)
    ratios = [(one.low, one.high) for one in frontier.open]
    assert [(one.least_steps, one.most_steps) for one in frontier.open] == [
        *((2, 2), (4, 5), (6, 6), (7, 11), (12, 12), (13, None))
    ]
    assert ratios == [
        (Fraction(3, 2), None),
        (Fraction(6, 5), Fraction(3, 2)),  # of 4 steps that of 3 is known, of 5 less
        (Fraction(6, 5), Fraction(5, 4)),
        (Fraction(12, 11), Fraction(7, 6)),
        (Fraction(12, 11), Fraction(11, 10)),
        (Fraction(1), Fraction(13, 12)),
    ]
    assert frontier.evidence is not None
    assert [proof.best for proof in frontier.evidence.proofs] == [ratios[k][1] for k in (1, 2, 4)]


def test_open_claims_of_members_take_one_line(every_second: Family) -> None:
    frontier = claimed(every_second, [3, 5])
    rows = [(2, 2, None), (4, 4, "3/2"), (5, 5, "5/4"), (6, 6, "5/4"), (8, 8, "7/6"), (9, 9, "9/8")]
    claims = [
        OpenClaim(a, b, Fraction(1), None if high is None else Fraction(high), "why")
        for a, b, high in rows
    ]
    claims += [OpenClaim(10, 11, Fraction(1), Fraction(9, 8), "why")]
    claims += [OpenClaim(12, None, Fraction(1), Fraction(11, 10), "who knows")]
    assert list(open_lines(replace(frontier, open=tuple(claims)))) == [
        "2 steps, bandwidth cost from 1: why",
        "4 to 6 steps, bandwidth cost from 1 to below that of the pipeline, 3/2 with 4 steps "
        "(within 50 %) to 5/4 with 6 steps (within 25 %): why",
        "8 to 9 steps, bandwidth cost from 1 to below that of the pipeline, 7/6 with 8 steps "
        "(within 17 %) to 9/8 with 9 steps (within 12 %): why",
        "10 to 11 steps, bandwidth cost from 1 to below that of the pipeline, 9/8 with 10 steps "
        "(within 12 %) to 11/10 with 11 steps (within 10 %): why",
        "12 or more steps, bandwidth cost from 1 to below that of the pipeline, 11/10 with "
        "12 steps (within 10 %, nearer with more): who knows",
    ]


def test_equal_open_claims_take_one_line(every_second: Family) -> None:
    low, high = Fraction(1), Fraction(3)
    claims = (
        OpenClaim(2, 2, low, high, "late"),
        OpenClaim(3, 4, low, high, "late"),
        OpenClaim(5, 5, low, Fraction(2), "late"),
        OpenClaim(7, 7, low, Fraction(2), "late"),
        OpenClaim(8, None, low, Fraction(2), "beyond"),
    )
    topology = every_second.topology
    frontier = Frontier(topology, "broadcast", (), claims, "", {}, complete=False)
    assert [line.partition(",")[0] for line in open_lines(frontier)] == [
        "2 to 4 steps",
        "5 steps",
        "7 steps",
        "8 or more steps",
    ]


def test_claims_that_ignore_or_overstate_a_member_are_refused(every_second: Family) -> None:
    frontier = claimed(every_second, [3, 6, 12])
    evidence = frontier.evidence
    assert evidence is not None
    for i, high in ((1, "5/4"), (3, "5/4"), (3, "12/11"), (4, "7/6"), (5, "3/2"), (5, "14/13")):
        claims = list(frontier.open)
        claims[i] = replace(claims[i], high=Fraction(high))
        with pytest.raises(VerificationError, match="the open regions are stated as"):
            check_claims(replace(frontier, open=tuple(claims)))
    for best in ("3/2", "11/10", None):
        proof = evidence.proofs[1]
        wrong = replace(proof, best=None if best is None else Fraction(best))
        proofs = (evidence.proofs[0], wrong, evidence.proofs[2])
        with pytest.raises(VerificationError, match="best cost found is 5/4"):
            check_claims(replace(frontier, evidence=replace(evidence, proofs=proofs)))
    with pytest.raises(VerificationError, match="best cost found"):
        check_claims(replace(frontier, counts_members=False))
    with pytest.raises(VerificationError, match=r"best cost found|what is open"):
        check_claims(replace(frontier, families=()))


def test_a_refutation_that_a_member_contradicts(every_second: Family) -> None:
    """It claims that S = 7, R = 7, C = 6, the member of three waves, or copies of it, is
    impossible."""
    frontier = claimed(every_second, [3, 8])
    evidence = frontier.evidence
    assert evidence is not None
    for rounds, chunks in ((7, 6), (7, 5), (14, 12), (10, 8)):
        said = Refuted(8, rounds, chunks, "step", "cpsat")
        last = replace(evidence.proofs[-1], refuted=(said,))
        proofs = (evidence.proofs[0], last)
        with pytest.raises(VerificationError, match="but a family has the member"):
            check_claims(replace(frontier, evidence=replace(evidence, proofs=proofs)))


def test_the_same_family_twice_is_refused(every_second: Family) -> None:
    frontier = claimed(every_second, [3])
    twice = replace(frontier, families=(every_second, replace(every_second)))
    with pytest.raises(VerificationError, match=r"families\[1\] costs the same as an earlier one"):
        check_claims(twice)


def test_no_family_begins_beyond_the_limit_of_files(every_second: Family) -> None:
    assert replace(every_second, first=MOST_FIRST).first == MOST_FIRST
    with pytest.raises(ModelError, match="first = 4097"):
        replace(every_second, first=MOST_FIRST + 1)


def test_limits_leave_no_family() -> None:
    found = syncoll.pareto("hypercube(3)", "broadcast", backend="pipelines", max_steps=5, work=2)
    assert not found.families
    assert max(p.steps for p in found.points) == 5
    solved = syncoll.pareto("ring(4)", "broadcast", max_steps=3)
    assert solved.open[-1].reason == "the search goes to 3 steps (--max-steps)"
    more = syncoll.pareto("line(3)", "broadcast", backend="pipelines", max_steps=14, max_rounds=13)
    costs = {p.steps: p.bandwidth for p in more.points}  # the seed proposes none beyond 12
    assert costs == {steps: Fraction(steps, steps - 1) for steps in range(2, 14)}
    topology, collective = SESSION.topology("hypercube(3)"), SESSION.collective("broadcast")
    asked = SearchRequest(topology, collective)
    family = families(topology, collective)[-1]
    assert belonging([family], asked, ()) == (family,)
    for limited in ({"k": 0}, {"strategy": Strategy.PAPER}, {"max_chunks": 5}, {"max_rounds": 9}):
        assert not belonging([family], replace(asked, **limited), ())
    # Its members within the limits are points then: S = R = m + 3, C = 3 m + 3.
    first = 3 + family.first
    for limited, last in (
        ({"max_rounds": 9}, 9),
        ({"max_chunks": 24}, 10),
        ({"k": 0}, MOST_LISTED),
    ):
        points = few_steps([family], replace(asked, **limited))
        assert [p.steps for p in points] == list(range(first, last + 1))
    # A member with too many chunks for an algorithm is no point: C = 3 m + 3 chunks at 8 nodes.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("syncoll.ledger.incumbents.MOST_DENSE_CELLS", 8 * 12)
        assert max(p.chunks for p in few_steps([family], asked)) == 12
    # With points as good as each of its members it has nothing to add.
    members = [family.member(m) for m in range(family.first, 5)]
    ends = replace(members[-1].instance, chunks=10**6)
    as_good = Point(ends, members[-1].algorithm, "", "", 0.0)
    assert belonging([family], asked, members) == (family,)
    assert belonging([family], asked, [as_good]) == (family,)
    assert not belonging([family], asked, [*members, as_good])


def test_plans_runs_and_exports_members(
    saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    how = ("--alpha", "0.7us", "--beta", "25GB/s", "--timing", "lockstep")
    assert main(["plan", str(saved), *how, "--size", "64MiB", "--size", "1KiB"]) == 0
    lines = capsys.readouterr().out
    assert "for 64 MiB: families[0].member(50), S = 53, R/C = 53/153" in lines
    assert "for 1 KiB: points[0], S = 3, R/C = 1" in lines
    plan = syncoll.plan(saved, **LOCKSTEP, size=["64MiB"])
    family = plan.frontier.families[0]
    # Sizes that were asked for add to the usual ones: the table holds for all the others too.
    usual = syncoll.plan(saved, **LOCKSTEP)
    small = syncoll.plan(saved, **LOCKSTEP, size="1KiB")
    assert small.document()["ranges"] == usual.document()["ranges"]
    best = plan.best(64 << 20)
    others = [
        plan.model.seconds(family.steps.at(m), family.bandwidth(m), 64 << 20) for m in range(99)
    ]
    assert plan.seconds(best.algorithm, 64 << 20) == min(others)
    assert main(["run", str(saved), "--point", "9,9,21", "--size", "4KiB"]) == 0
    assert main(["run", str(saved), "--point", "20,20,54", "--size", "4KiB"]) == 0
    assert "families[0].member(17)" in capsys.readouterr().out
    out = ("-o", str(tmp_path / "member.xml"))
    assert main(["export", str(saved), "--to", "msccl-xml", "--point", "20,20,54", *out]) == 0
    assert main(["run", str(saved), "--point", "20,20,55"]) == 2
    assert "or a member: S = m + 3" in capsys.readouterr().err
    (done,) = syncoll.run(family.member(5), "4KiB")
    assert "OK" in str(done)
