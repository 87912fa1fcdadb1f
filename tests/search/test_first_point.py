"""The first point of a small machine comes before slow computations."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar

import pytest

import syncoll
from syncoll.ledger import Observer
from syncoll.ledger.bounds_table import BoundsTable
from syncoll.results.frontier import Point
from syncoll.searching.seed_process import SeedProcess
from syncoll.solving.process import SolverProcess


class FirstPoint(Observer):
    """Records whether there is a point, and the calls before it."""

    def __init__(self) -> None:
        self.found_one = False
        self.before: list[str] = []

    def found(self, points: tuple[Point, ...]) -> None:
        self.found_one |= bool(points)

    def watched(self, name: str, function: Any) -> Any:
        def call(*args: Any, **keywords: Any) -> Any:
            if not self.found_one:
                self.before.append(name)
            return function(*args, **keywords)

        return call


@pytest.mark.parametrize(
    "collective", ["allgather", "broadcast", "alltoall", "reducescatter", "allreduce"]
)
@pytest.mark.parametrize("machine", ["ring(4)", "mesh(2,3)"])
def test_no_bound_by_a_linear_program_and_no_process_comes_first(
    machine: str, collective: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = FirstPoint()
    for of, name in (
        (BoundsTable, "_rounds"),
        (SolverProcess, "_started"),
        (SeedProcess, "__init__"),
    ):
        monkeypatch.setattr(of, name, seen.watched(f"{of.__name__}.{name}", getattr(of, name)))
    found = syncoll.pareto(machine, collective, work=0.5, progress=seen)
    assert found.points
    assert seen.before == []


@pytest.mark.parametrize("collective", ["allgather", "gather", "allreduce"])
def test_a_little_work_is_enough(collective: str) -> None:
    assert syncoll.pareto("hypercube(3)", collective, work=0.3, progress="none").points


def test_a_large_machine_has_its_cut_first() -> None:
    """There may be no time for it in the end."""

    class Order(Observer):
        events: ClassVar[list[str]] = []

        def bounded(self, steps: int | None, bandwidth: Fraction) -> None:
            self.events.append("bounded")

        def found(self, points: tuple[Point, ...]) -> None:
            self.events.append("found")

    found = syncoll.pareto("torus(6,8)", "allgather", work=0.3, progress=Order())
    assert found.points
    assert Order.events[0] == "bounded"
