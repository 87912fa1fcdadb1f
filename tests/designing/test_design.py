"""Designs: their machines, the proved bounds, and the dominated machines."""

from __future__ import annotations

import json
import random
from fractions import Fraction
from itertools import permutations, product
from math import prod
from pathlib import Path
from typing import Any

import pytest

import syncoll
from syncoll.cli.main import main
from syncoll.deadline import Deadline
from syncoll.designing import BuildCosts, MachineCandidate, Question, assessing, candidates
from syncoll.designing.candidates import CanonicalForm
from syncoll.errors import OutOfTimeError, SpecError, UsageError
from syncoll.ledger.lower_bounds import lower_bounds
from syncoll.model import BandwidthBound, Topology
from syncoll.results import LowerBounds
from syncoll.routing import as_topology
from syncoll.session import Session


def bounds_of(found: syncoll.DesignResult, collective: str) -> dict[str, tuple[int, Fraction]]:
    return {
        one.candidate.name: (one.bounds[collective].steps, one.bounds[collective].bandwidth)
        for one in found.assessed
    }


def test_bounds_of_tori_are_their_closed_forms() -> None:
    """A node receives P - 1 chunks by its ports, and half of an alltoall crosses the middle."""
    found = syncoll.design(
        "torus(a,b,c)", ["allgather", "alltoall"], where="a*b*c == 64 and 2 < a <= b <= c"
    )
    assert [one.candidate.name for one in found.assessed] == ["torus(4,4,4)"]
    found = syncoll.design("torus(a,b)", ["allgather", "alltoall"], where="P == 36 and 2 < a <= b")
    sizes = [(a, 36 // a) for a in range(3, 7) if 36 % a == 0]
    assert len(found.assessed) == len(sizes) == 3
    for a, b in sizes:
        name = f"torus({a},{b})"
        steps = a // 2 + b // 2
        assert bounds_of(found, "allgather")[name] == (steps, Fraction(35, 4))
        # Each node sends a P-th of its input to each node: the halves of the long side exchange P
        # / 2 * P / 2 pieces over 2 * a links, each way.
        least = Fraction(18 * 18, 36 * 2 * a) if b % 2 == 0 else Fraction(0)
        assert bounds_of(found, "alltoall")[name][0] == steps
        assert bounds_of(found, "alltoall")[name][1] >= least


def test_bounds_match_a_single_machine() -> None:
    found = syncoll.design(["circulant(9,1,i)", "dgx1"], ["allgather", "allreduce"], most=4)
    names = {one.candidate.name: one.candidate.same for one in found.assessed}
    assert names == {
        "circulant(9,1,2)": ("circulant(9,1,4)",),  # 1, 2 times 4
        "circulant(9,1,3)": (),
        "dgx1": (),
    }
    for one in found.assessed:
        for name, bound in one.bounds.items():
            alone = syncoll.bounds(one.candidate.name, name, max_steps=0)
            assert (bound.steps, bound.bandwidth) == (alone.steps, alone.bandwidth)


def test_members_meet_the_condition() -> None:
    found = syncoll.design("torus(a,b,c)", "allgather", where="a*b*c == 12 and ports <= 4", most=12)
    names = {name for one in found.assessed for name in (one.candidate.name, *one.candidate.same)}
    meant = {
        f"torus({a},{b},{c})"
        for a, b, c in product(range(1, 13), repeat=3)
        if a * b * c == 12 and sum(min(2, size - 1) for size in (a, b, c)) <= 4
    }
    assert names == meant
    for one in found.assessed:  # same sizes in another order, except for 4 = 2 * 2
        sizes = sorted(int(n) for n in one.candidate.name[6:-1].split(","))
        orders = {f"torus({','.join(map(str, o))})" for o in permutations(sizes)}
        assert orders <= {one.candidate.name, *one.candidate.same}
        assert prod(sizes) == 12


def test_each_condition_applies_to_its_own_families() -> None:
    where = ["P == 8", "i < j and a <= b", "links <= 32"]
    found = syncoll.design(["circulant(8,i,j)", "torus(a,b)", "dgx1"], "allgather", where=where)
    names = {name for one in found.assessed for name in (one.candidate.name, *one.candidate.same)}
    assert {"dgx1", "torus(1,8)", "torus(2,4)", "circulant(8,1,2)"} <= names
    assert "torus(4,2)" not in names
    assert "circulant(8,2,1)" not in names


def renumbered(topology: Topology, numbers: list[int]) -> Topology:
    def moved(links: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
        return tuple(sorted((numbers[a], numbers[b]) for a, b in links))

    bounds = [BandwidthBound(moved(b.links), b.chunks_per_round) for b in topology.bounds]
    random.Random(0).shuffle(bounds)
    return Topology("other", topology.num_nodes, moved(topology.links), tuple(bounds))


@pytest.mark.parametrize("name", ["torus(2,3,4)", "dgx1", "hub(5)", "generalised_kautz(9,2)"])
def test_isomorphic_machines_are_recognised(name: str) -> None:
    topology = syncoll.topology(name)
    numbers = list(range(topology.num_nodes))
    random.Random(1).shuffle(numbers)
    other = renumbered(topology, numbers)
    one, two = CanonicalForm.of(topology), CanonicalForm.of(other)
    assert one is not None
    assert two is not None
    assert one.key == two.key
    every = [syncoll.collective(name) for name in ("allgather", "alltoall", "allreduce")]
    assert one.is_same(two, every)


def test_machines_with_another_root_are_different(tmp_path: Path) -> None:
    """Stars whose centres have different numbers: only one broadcasts in a step."""
    file = tmp_path / "stars.syncoll"
    file.write_text(
        "topology first { nodes 4  link (0, 1), (0, 2), (0, 3) both ways bandwidth 1 }\n"
        "topology last { nodes 4  link (3, 0), (3, 1), (3, 2) both ways bandwidth 1 }\n"
    )
    names = [f"{file}:first", f"{file}:last"]
    steps = [one.bounds["broadcast"].steps for one in syncoll.design(names, "broadcast").assessed]
    assert sorted(steps) == [1, 2]
    (one,) = syncoll.design(names, ["allgather", "alltoall"]).assessed
    assert one.candidate.same


def test_irregular_collectives_are_refused(tmp_path: Path) -> None:
    """A bound for one C does not hold for others, whose R/C may be a quarter of it."""
    file = tmp_path / "odd.syncoll"
    file.write_text(
        "collective odd { irregular  chunks C  pre Root(0)"
        "  post { (c, n) : n == 1 or (c == 0 and n == 2) } }"
    )
    with pytest.raises(UsageError, match=r"odd is irregular: .*`syncoll solve"):
        syncoll.design("line(3)", f"{file}:odd")


def test_other_bandwidths_are_another_machine() -> None:
    found = syncoll.design(["ring(6,bandwidth=w)"], "allgather", most=3)
    assert bounds_of(found, "allgather") == {
        f"ring(6{'' if w == 1 else f',bandwidth={w}'})": (3, Fraction(5, 2 * w)) for w in (1, 2, 3)
    }
    assert not any(one.candidate.same for one in found.assessed)
    assert not any(found.behind()), "what is faster costs more bandwidth"


def test_a_dominated_machine_is_better_in_no_figure() -> None:
    found = syncoll.design(
        ["torus(a,b)", "circulant(n,1,i)", "hypercube(d)"], "allgather", where="12 <= P <= 16"
    )
    ahead = found.behind()
    assert any(ahead)
    for one, other in zip(found.assessed, ahead, strict=True):
        ours = one.figures(found.collectives)
        better = [
            rival
            for rival in found.assessed
            if rival.candidate.costs.nodes == one.candidate.costs.nodes
            and all(a <= b for a, b in zip(rival.figures(found.collectives), ours, strict=True))
            and rival.figures(found.collectives) != ours
        ]
        assert (other is None) == (not better)
        assert other is None or other in better


@pytest.mark.parametrize(
    ("where", "column", "text"),
    [
        ("a*b = 8", 5, "unexpected `=`"),
        ("a*q == 8", 3, "no topology here has a parameter `q`"),
        ("a + 2", 1, "this is a number"),
        ("P == 8 and a div (b - 1) == 2", 14, "division by zero"),
        ("a*n == 8", 1, "`a` and `n` together"),
    ],
)
def test_a_wrong_condition_is_shown_where_it_is_wrong(where: str, column: int, text: str) -> None:
    with pytest.raises(SpecError) as caught:
        syncoll.design(["torus(a,b)", "ring(n)"], "allgather", where=where)
    assert text in caught.value.message
    assert caught.value.origin is not None
    assert (caught.value.origin.line, caught.value.origin.column) == (1, column)


def test_conditions_without_members_are_refused() -> None:
    with pytest.raises(SpecError, match="no member of"):
        syncoll.design("torus(a,b)", "allgather", where="a*b == 100", most=9)
    with pytest.raises(SpecError, match="is not defined"):
        syncoll.design("circulant(3,i)", "allgather", where="i > 2", most=9)
    with pytest.raises(SpecError, match="machines to look at"):
        syncoll.design("torus(a,b,c,d)", "allgather")
    with pytest.raises(UsageError, match="no collectives"):
        syncoll.design("ring(4)", [])


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    """Options may be between the arguments, and several processes prove the same."""
    command = ["design", "torus(a,b)", "--where", "a*b == 8", "dgx1", "allgather", "alltoall"]
    assert main([*command, "--format", "json"]) == 0
    alone = json.loads(capsys.readouterr().out)
    assert [one["topology"] for one in alone["candidates"]] == ["torus(1,8)", "torus(2,4)", "dgx1"]
    assert alone["candidates"][0]["bounds"]["allgather"] == {
        "steps": 4,
        "bandwidth": "7/2",
        "by_steps": [],
        "points": [],
    }
    assert main([*command, "--format", "json", "--jobs", "2"]) == 0
    assert json.loads(capsys.readouterr().out) == alone
    assert main([*command]) == 0
    assert "torus(8,1)" in capsys.readouterr().out


def test_machines_may_be_objects() -> None:
    ring, switched = syncoll.topology("ring(4)"), syncoll.fabric("star(4)")
    alone = syncoll.design(ring, syncoll.collective("allgather"))
    assert alone.question.families == ("ring(4)",)
    assert bounds_of(alone, "allgather") == {"ring(4)": (2, Fraction(3, 2))}
    found = syncoll.design([ring, switched, "ring(n)"], "allgather", where="P == 4 and n > 3")
    assert sorted(one.candidate.name for one in found.assessed) == sorted(
        ["ring(4)", syncoll.topology(switched).name]
    )
    with pytest.raises(SpecError, match=r"no member of ring\(4\)"):
        syncoll.design(ring, "allgather", where="P > 4")
    with pytest.raises(SpecError, match=r"no member of ring\(4\)"):
        syncoll.design(ring, "allgather", where="1 == 2")


def test_an_undefined_collective_is_not_called_impossible() -> None:
    sizes = syncoll.collective("alltoallv", [[1] * 4] * 4)
    found = syncoll.design("ring(n)", sizes, where="3 <= n <= 4")
    page, report = " ".join(str(found.page()).split()), found.report()
    assert "sizes has 4 rows of 4 numbers" in page
    assert "see below" in page
    assert "see the notes" in report
    assert "impossible" not in page


def test_out_of_memory_the_hint_can_be_followed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def too_much(*_: object) -> None:
        raise MemoryError("this command has 9 GiB")

    monkeypatch.setattr("syncoll.designing.driver.find_candidates", too_much)
    assert main(["design", "ring(n)", "allgather", "--memory-limit", "8GiB"]) == 3
    printed = capsys.readouterr().err
    assert "this command has 9 GiB; try a smaller --most, or a --where" in printed


def test_words_of_one_kind_are_not_enough(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["design", "dgx1"]) == 2
    assert "no collective among dgx1" in capsys.readouterr().err
    assert main(["design", "dgx1", "algather"]) == 2
    assert "no collective `algather`; did you mean `allgather`?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("ending", "code", "why"),
    [(KeyboardInterrupt, 130, "interrupted"), (OutOfTimeError, 0, "the time was over")],
)
def test_bounds_found_before_the_end_are_shown(
    ending: type[BaseException],
    code: int,
    why: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    calls: list[str] = []

    def until_the_end(topology: Topology, *given: Any, **how: Any) -> LowerBounds:
        calls.append(topology.name)
        if len(calls) == 3:
            raise ending
        return lower_bounds(topology, *given, **how)

    monkeypatch.setattr(assessing, "lower_bounds", until_the_end)
    command = ["design", "ring(n)", "allgather", "--most", "5", "--format", "json"]
    assert main(command) == code
    printed = json.loads(capsys.readouterr().out)
    assert [bool(one["bounds"]) for one in printed["candidates"]] == [
        True,
        True,
        False,
        False,
        False,
    ]
    assert not printed["complete"]
    calls.clear()
    assert main(command[:-2]) == code
    assert f"the comparison is incomplete: {why}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("ending", "code", "why"),
    [(KeyboardInterrupt, 130, "interrupted"), (OutOfTimeError, 0, "the time to find")],
)
def test_machines_found_before_the_end_are_bounded(
    ending: type[BaseException],
    code: int,
    why: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    made: list[object] = []

    def until_the_end(network: Topology) -> Topology:
        made.append(network)
        if len(made) == 4:
            raise ending
        return as_topology(network)

    monkeypatch.setattr(candidates, "as_topology", until_the_end)
    monkeypatch.setattr(candidates, "_PROGRESS_SECONDS", 0.0)
    command = ["design", "ring(n)", "line(n)", "allgather", "--most", "5", "--progress", "plain"]
    assert main([*command, "--where", "links >= 2"]) == code
    printed = capsys.readouterr()
    assert "3/5 members of ring(n) examined, 2 machines found" in printed.err
    assert f"syncoll: {why}" in printed.err
    assert "continuing with the 2 machines" in printed.err
    assert "bounds of allgather on 2 machines" in printed.out
    assert "of ring(n) 3 of 5 members examined" in printed.out
    assert "of line(n) no member examined" in printed.out
    made.clear()
    assert main([*command, "--where", "links > 40"]) == (code or 3)


def test_machines_with_units_are_compared_in_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    """R/C counts chunks of a machine's own unit; units of different size are converted."""
    wide = syncoll.Fabric.from_links("wide", 4, 1, [(n, 4, 50) for n in range(4)], both_ways=True)
    narrow = syncoll.Fabric.from_links(
        "narrow", 4, 1, [(n, 4, 25) for n in range(4)], both_ways=True
    )
    candidates = [
        MachineCandidate(one, BuildCosts.of(one)) for one in map(as_topology, (wide, narrow))
    ]
    question = Question((syncoll.collective("allgather"),))
    work = assessing.DesignWork(1, Deadline.after(60), Session().search)
    done = assessing.assess(candidates, question, work)
    assert {one.bounds["allgather"].bandwidth for one in done.assessed} == {Fraction(3)}
    seconds = [one.figures(["allgather"]) for one in done.assessed]
    assert [one and one[-1] for one in seconds] == [
        Fraction(3, 50 * 10**9),
        Fraction(3, 25 * 10**9),
    ]
    assert main(["design", "a100(boxes=1)", "ring(8)", "allgather"]) == 0
    assert "GB/s a chunk" in capsys.readouterr().out
