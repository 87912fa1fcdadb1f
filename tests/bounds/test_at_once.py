"""Quick bounds by cuts and distances, which no time limit skips."""

from __future__ import annotations

from fractions import Fraction

import pytest

from syncoll import bounds, collective as named, design, pareto, topology
from syncoll.bounding import bound_at_once
from syncoll.certificates import Certificate, ChunkClasses
from syncoll.deadline import Deadline
from syncoll.ledger import BoundsTable
from syncoll.ledger.lower_bounds import lower_bounds
from syncoll.model import Fabric, Topology
from syncoll.routing import as_topology

F = Fraction

LEAVES = (9, 8, 4, 3)
"""The adapters on each leaf switch, of 24."""


def leaf_spine(uplinks: int) -> Topology:
    """Adapters on leaves of different sizes; `uplinks` cables lead from each leaf to each spine."""
    nodes, links = sum(LEAVES), []
    ends = iter(range(nodes))
    for i, size in enumerate(LEAVES):
        links += [(next(ends), nodes + i, 1) for _ in range(size)]
        links += [(nodes + i, nodes + len(LEAVES) + spine, uplinks) for spine in range(2)]
    network = Fabric.from_links("irregular", nodes, len(LEAVES) + 2, links, both_ways=True)
    return as_topology(network)


@pytest.mark.parametrize(
    ("asked", "uplinks", "cost"),
    [
        ("allgather", 4, F(23)),  # chunks that one adapter must receive
        ("alltoall", 4, F(23, 24)),
        ("allreduce", 4, F(23, 12)),  # 2 * 23 sends over 24 adapters
        ("allgather", 1, F(23)),
        ("alltoall", 1, F(9 * 15, 2 * 24)),  # chunks that must leave the largest leaf
        ("allreduce", 1, F(23, 12)),
    ],
)
def test_quick_bounds_without_any_time(asked: str, uplinks: int, cost: Fraction) -> None:
    machine, collective = leaf_spine(uplinks), named(asked)

    def prove(*_: object, **__: object) -> None:
        pytest.fail("it began a linear program")

    late = Deadline.after(0.0)
    found = lower_bounds(machine, collective, until=late)
    assert found.steps == 1
    assert found.late == ("any number of steps", "1 to 4 steps")
    table = BoundsTable(machine, collective, prove, late)  # type: ignore[arg-type]
    for bound in (found.any_steps, *(bound for _, bound in found.by_steps)):
        assert bound.rounds / found.chunks == cost
    assert table.bandwidth() == table.bandwidth(2) == cost
    table.certificate().check(machine)


def test_every_command_has_quick_bounds() -> None:
    machine = leaf_spine(1)
    found = pareto(machine, "alltoall", time_limit=0, progress="none", store=None)
    assert not found.points
    assert found.least_bandwidth == F(45, 16)
    assert bounds(machine, "alltoall", time_limit=0).bandwidth == F(45, 16)
    machines = design("torus(a,b)", "allgather", where="a * b == 8", time_limit=0, progress="none")
    costs = {one.candidate.name: one.bounds["allgather"].bandwidth for one in machines.assessed}
    assert costs == {"torus(1,8)": F(7, 2), "torus(2,4)": F(7, 3)}


def test_boxes_that_narrow_links_join() -> None:
    """Two boxes of four: combined data crosses twice."""
    links = {
        (a, b): F(8)
        for box in (0, 4)
        for a in range(box, box + 4)
        for b in range(box, box + 4)
        if a != b
    }
    links |= {(0, 4): F(1), (4, 0): F(1)}
    machine = Topology.from_links("two boxes", 8, links)
    shape = ChunkClasses.of(named("allreduce").tabulate(8, 1), 1, combining=True)
    bound = bound_at_once(machine, shape)
    assert bound.rounds == 1
    assert bound.method in ("sends", "cut")
    Certificate(shape, bound).check(machine)


def test_bounds_left_out_for_want_of_time_are_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs that cannot be built in the time are not started, even when no time passes."""
    machine, asked = topology("dgx1"), named("broadcast")
    found = lower_bounds(machine, asked, until=Deadline.after(10_000))
    assert found.late == ()
    monkeypatch.setattr("syncoll.bounding.rounds._BUILT_PER_SECOND", 0)
    left_out = lower_bounds(machine, asked, until=Deadline.after(10_000))
    assert left_out.late == ("any number of steps", "2 to 5 steps")
    assert left_out.any_steps.rounds <= found.any_steps.rounds
