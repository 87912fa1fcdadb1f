"""Bounds on R/C by the number of steps: as for a single machine, stored, and compared."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

import syncoll
from syncoll.cli.main import main
from syncoll.designing import Assessed, BuildCosts, MachineCandidate, Proved, assessing
from syncoll.designing.design import ahead_of
from syncoll.designing.synthesis import is_no_better
from syncoll.errors import UsageError

LATE = ["dgx1", "circulant(8,1,4)"]
"""Machines whose bound at the fewest steps is above the bound for any number."""


def test_bounds_by_steps_match_a_single_machine() -> None:
    found = syncoll.design(LATE, ["allgather", "broadcast"], steps=3)
    lasting = 0
    for one, row in zip(
        [(a, n) for a in found.assessed for n in found.collectives], found.rows(), strict=True
    ):
        assessed, name = one
        proved = assessed.bounds[name]
        alone = syncoll.bounds(assessed.candidate.name, name, max_steps=proved.steps + 2)
        meant = {s: bound.rounds / alone.chunks for s, bound in alone.by_steps}
        assert [s for s, _ in proved.by_steps] == list(meant)[: len(proved.by_steps)]
        assert all(low == meant[s] for s, low in proved.by_steps)
        *before, (_, last) = proved.by_steps
        assert all(low > proved.bandwidth for _, low in before)
        assert last == proved.bandwidth or len(proved.by_steps) == 3
        for s, low in meant.items():
            assert proved.at(s) == low
        assert proved.at(proved.steps - 1) is None
        assert row["bounds_by_steps"] == ", ".join(f"{s}: {low}" for s, low in proved.by_steps)
        lasting += len(proved.by_steps) > 1
    assert lasting


def test_bounds_by_steps_are_shown_and_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked, usual = list[str](), assessing.lower_bounds

    def counted(topology: syncoll.Topology, *given: object, **how: object) -> object:
        asked.append(topology.name)
        return usual(topology, *given, **how)  # type: ignore[arg-type]

    monkeypatch.setattr(assessing, "lower_bounds", counted)
    command = ["design", "dgx1", "ring(8)", "allgather", "-o", str(tmp_path), "--format", "json"]

    def bounds_shown(*more: str) -> dict[str, object]:
        asked.clear()
        assert main([*command, *more]) == 0
        found = json.loads(capsys.readouterr().out)["candidates"]
        return {one["topology"]: one["bounds"]["allgather"]["by_steps"] for one in found}

    assert bounds_shown() == {"dgx1": [], "ring(8)": []}
    known = bounds_shown("--steps", "2")
    assert sorted(asked) == ["dgx1", "ring(8)"], "what was there says nothing of single S"
    assert known["dgx1"] == [{"steps": 2, "bandwidth": "3/2"}, {"steps": 3, "bandwidth": "7/6"}]
    assert known["ring(8)"] == [{"steps": 4, "bandwidth": "7/2"}]
    assert bounds_shown("--steps", "2") == known
    assert not asked
    assert bounds_shown("--steps", "3") == known
    assert not asked, "the bound with any number of steps was met"
    assert bounds_shown() == {"dgx1": [], "ring(8)": []}
    assert main(["check", str(tmp_path)]) == 0
    assert main(["design", "dgx1", "allgather", "--steps", "2"]) == 0
    assert "2: 3/2, 3: 7/6" in capsys.readouterr().out


def proved(steps: int, bandwidth: Fraction, *by_steps: tuple[int, Fraction]) -> Proved:
    return Proved(steps, bandwidth, None, by_steps)


def test_dominance_needs_every_number_of_steps() -> None:
    topology = syncoll.topology("ring(4)")
    costs = BuildCosts(4, 8, 2, Fraction(8))
    candidates = [MachineCandidate(replace(topology, name=name), costs) for name in ("one", "two")]

    def ahead(*both: Proved) -> list[str | None]:
        given = [Assessed(c, {"x": p}) for c, p in zip(candidates, both, strict=True)]
        return [None if one is None else one.candidate.name for one in ahead_of(given, ["x"])]

    low = Fraction(1)
    assert ahead(proved(2, low), proved(2, low)) == [None, None]
    assert ahead(proved(2, low), proved(2, low, (2, Fraction(2)))) == [None, "one"]
    # One has the lower bound with 2 steps, the other with 3.
    one, two = Fraction(3), Fraction(2)
    assert ahead(proved(2, low, (2, one), (3, two)), proved(2, low, (2, one + 1), (3, low))) == [
        None,
        None,
    ]
    assert ahead(proved(2, low, (2, one)), proved(3, low)) == [None, "one"]
    assert ahead(proved(2, low, (2, one), (3, two)), proved(3, low)) == [None, None]


def test_a_rival_has_an_algorithm_for_every_number_of_steps() -> None:
    frontier = syncoll.pareto("dgx1", "allgather", progress="none", store="none", max_steps=3)
    assert [(p.steps, p.bandwidth) for p in frontier] == [(2, Fraction(3, 2)), (3, Fraction(7, 6))]
    costs = BuildCosts.of(frontier.topology)
    rival = Assessed(
        MachineCandidate(frontier.topology, costs),
        {"allgather": Proved(2, Fraction(7, 6), frontier)},
    )
    other = MachineCandidate(replace(frontier.topology, name="other"), costs)
    least = Fraction(7, 6)

    def beaten(*by_steps: tuple[int, Fraction]) -> bool:
        known = {"allgather": proved(2, least, *by_steps)}
        return is_no_better(Assessed(other, known), rival, ["allgather"])

    assert not beaten(), "an algorithm of 2 steps and 7/6 may be there"
    assert beaten((2, Fraction(3, 2)))
    assert beaten((2, Fraction(3, 2)), (3, least))
    assert not beaten((2, Fraction(4, 3)))


def test_invalid_numbers_of_steps_are_refused() -> None:
    with pytest.raises(UsageError, match="steps is -1; expected a whole number"):
        syncoll.design("ring(4)", "allgather", steps=-1)
