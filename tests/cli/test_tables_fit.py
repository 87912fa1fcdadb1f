"""Tables at 80 columns, for every shipped machine; and the microseconds of a frontier's table."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import cycle

import pytest

import syncoll
from syncoll.documents import StoredAlgorithm
from syncoll.model import Topology
from syncoll.pages import Page
from syncoll.pages.algorithm import point_summary
from syncoll.planning import CostModel
from syncoll.results import Point
from syncoll.simulating import Semantics, SimulatedSeconds, physical_network
from syncoll.units import microseconds
from syncoll.verbs.asking import session_for

F = Fraction
MACHINES = (
    "a100(boxes=2)", "amd_z52", "bigraph(4,2)", "bus(4)", "circulant(8,1,3)", "de_bruijn(2,3)",
    "dgx1", "dgx2", "dgx_a100", "dgx_h100(boxes=2)", "dragonfly(2,1)", "fat_tree(4)",
    "fully_connected(5)", "generalised_de_bruijn(7,2)", "generalised_kautz(9,2)", "hub(4)",
    "hypercube(3)", "hyperx(3,3)", "leaf_spine([[2,2],[2,2]])", "line(3)", "mesh(2,3)",
    "mi250(gpus=8)", "mi300x(boxes=2)", "nvl72(gpus=8)", "p2_16xlarge", "p3_16xlarge", "ring(7)",
    "slim_fly(3)", "star(4)", "torus(3,4)", "tpu_v4(4,4,1)", "tpu_v5p(4,4,1)",
    "twisted_torus(2,4)",
)  # fmt: skip
COLLECTIVES = ("allgather", "allreduce")
COSTS = {"alpha": "1us", "beta": "25GB/s"}


def fits(page: Page) -> bool:
    """Whether the page has tables, and all are tables at 80 columns."""
    wide, narrow = list(page.lines()), list(page.lines(79))
    rulers = [sum(set(line) == {" ", "─"} for line in lines) for lines in (wide, narrow)]
    return rulers[0] == rulers[1] > 0 and max(map(len, narrow)) < 80


def frontier_by(topology: Topology, name: str, *seeds: str) -> syncoll.FrontierResult:
    """A frontier of one point, by the first seed that has one; the bound's fraction is long."""
    session = session_for()
    meant = session.collective(name)
    each = (session.classics(topology, meant, [seed])[0].get(seed) for seed in seeds)
    stored = next(found for found in each if found)[0]
    instance, algorithm = stored.instance, stored.algorithm
    cost = F(algorithm.rounds, instance.chunks)
    bound = cost * F(1234567, 7654321)
    point = Point(instance, algorithm, "seed", "recursive_doubling", 123.4, bound=bound)
    return syncoll.FrontierResult(topology, name, (point,), (), scope="C <= 1", session=session)


def test_every_shipped_machine_is_listed() -> None:
    shipped = {one.name for one in session_for().specs.names("topology")}
    assert {name.partition("(")[0] for name in MACHINES} == shipped


@pytest.mark.parametrize(("name", "collective"), list(zip(MACHINES, cycle(COLLECTIVES))))
def test_tables_of_a_machine_fit_80_columns(name: str, collective: str) -> None:
    machine = syncoll.topology(name)
    frontier = frontier_by(machine, collective, "ring", "all_pairs")
    stated = machine.fabric is not None and machine.fabric.states_latencies
    costs = {} if stated else COSTS
    assert fits(frontier.page())
    longest = ["recursive_doubling"]  # no name of a classic is wider
    assert fits(frontier.plan(**costs, timing="lockstep", classics=longest).page())
    how = {"sizes": "1KiB:1GiB", "factor": 1024, "classics": ["ring"]}
    assert fits(frontier.simulate(**costs, **how).page())
    assert fits(syncoll.bounds(machine, collective, work=0.001).page())


@pytest.mark.parametrize(("machine", "broken"), [("ring(7)", "link 0->1"), ("dgx1", "node 3")])
def test_tables_of_a_repair_fit_80_columns(machine: str, broken: str) -> None:
    whole = frontier_by(syncoll.topology(machine), "allgather", "ring")
    how = {"backend": "bfb", "work": 0.01, "progress": "none"}
    assert fits(syncoll.repair(whole, broken, **how).page())  # type: ignore[arg-type]


def test_the_table_of_all_single_failures_fits_80_columns() -> None:
    whole = frontier_by(syncoll.topology("ring(7)"), "allgather", "ring")
    assert fits(syncoll.survey(whole, work=0.02, progress="none").page())


def test_the_table_of_a_design_fits_80_columns() -> None:
    found = syncoll.design(MACHINES, COLLECTIVES, work=0.01, progress="none")
    page = found.page()
    assert fits(page)
    assert "R/C >=" in "\n".join(page.lines(79))


ROW = (3, 7, F(123456, 654321), "C <= 24; within 2.2x", "2 2 3", "seed/recursive_doubling", "0.13")
NAMES = (">steps S", ">rounds R", ">R/C", "optimal for", "R by step", "found by", ">seconds")


def test_the_least_important_columns_are_left_out_first() -> None:
    page = Page().table(NAMES, [ROW], ("seconds", "R by step", "found by", "rounds R"))
    shown = {width: list(page.lines(width)) for width in (110, 79, 66, 45)}
    left_out = {
        width: " ".join(map(str.strip, lines)).partition("--format json): ")[2].strip()
        for width, lines in shown.items()
    }
    assert left_out == {
        110: "",
        79: "seconds",
        66: "R by step, found by, seconds",
        45: "rounds R, R by step, found by, seconds",
    }
    assert all(max(map(len, lines)) <= width for width, lines in shown.items())
    assert "0.18868" in shown[45][-4]
    assert "recursive_doubling" in page.to_html()
    assert "--format json" not in str(page)


def test_records_have_all_columns() -> None:
    page = Page().table(NAMES, [ROW], ("seconds", "R by step", "found by"))
    lines = list(page.lines(24))
    assert [line.split("  ")[1] for line in lines if line[2:3].strip()] == [
        name.removeprefix(">") for name in NAMES
    ]


# Microseconds of points ---------------------------------------------------------------------------


def test_times_of_a_frontier_equal_a_simulation() -> None:
    frontier = frontier_by(syncoll.topology("a100(boxes=2)"), "allgather", "all_pairs")
    (point,) = frontier.points
    network = physical_network(frontier.topology)
    stored = StoredAlgorithm(point.instance, point.algorithm, "")
    inputs = [size // 16 for size in (4 << 10, 1 << 20, 256 << 20)]
    seconds = SimulatedSeconds(network, Semantics())(stored, inputs)
    lines = list(frontier.page().lines())
    assert lines[2].split("  ")[1:4] == ["4 KiB us", "1 MiB us", "256 MiB us"]
    assert lines[4].split()[:3] == [*map(microseconds, seconds)]
    assert "Times are simulated; sizes are of the message, the output of one node." in lines


def test_times_of_many_sends_are_by_the_formula(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("syncoll.simulating.message_times._MOST_SENDS", 10)
    frontier = frontier_by(syncoll.topology("mi300x"), "allreduce", "all_pairs")
    (point,) = frontier.points
    network = physical_network(frontier.topology)
    model = CostModel(network.greatest_latency, network.unit)
    lines = list(frontier.page().lines())
    assert "Times are S alpha + (R/C) L beta" in " ".join(lines)
    seconds = [model.seconds(point.steps, point.bandwidth, 1 << bits) for bits in (12, 20, 28)]
    assert lines[4].split()[:3] == [*map(microseconds, seconds)]


def test_times_of_pipelines_take_the_fastest_member() -> None:
    frontier = syncoll.pareto(
        "nvl72(gpus=4, nvls=true)", "allreduce", backend="inswitch", progress="none"
    )
    (family,) = frontier.families
    network = physical_network(frontier.topology)
    model = CostModel(network.greatest_latency, network.unit)
    (row,) = [line for line in frontier.page().lines() if f"{family.steps}  " in line]
    for cell, bits in zip(row.split()[:3], (12, 20, 28), strict=True):
        times = (
            model.seconds(family.steps.at(m), family.bandwidth(m), 1 << bits)
            for m in range(family.first, 300)
        )
        assert cell == microseconds(min(times))


def test_a_page_names_the_formula_of_its_pipelines() -> None:
    """Points are simulated, and pipelines, which have a member for every m, are not."""
    machine = syncoll.topology("mi250(gpus=8)")
    pipelines = syncoll.pareto(machine, "broadcast", backend="pipelines", work=2, progress="none")
    trees = syncoll.pareto(machine, "broadcast", backend="bfb", progress="none")
    shown = " ".join(replace(trees, families=pipelines.families).page().lines())
    assert "Times are simulated, of pipelines S alpha + (R/C) L beta; sizes are" in shown


def test_a_machine_without_units_or_latencies_has_no_times() -> None:
    for name in ("dgx1", "tpu_v4(4,4,1)"):
        frontier = frontier_by(syncoll.topology(name), "allgather", "ring")
        assert "MiB us" not in str(frontier.page())


def test_a_tiny_gap_is_optimal_in_words_and_exact_in_files() -> None:
    frontier = frontier_by(syncoll.topology("ring(7)"), "allgather", "ring")
    (point,) = frontier.points
    bound = point.bandwidth * F(10**7 - 1, 10**7)
    near = replace(frontier, points=(replace(point, bound=bound),))
    row = next(line for line in near.page().lines() if "seed/" in line)
    assert "optimal" in row
    assert near.document()["points"][0]["bound"] == str(bound)
    assert f"within 0.001 % (proved: R/C >= {bound})" in point_summary(near.points[0], "near")
    far = replace(point, bound=point.bandwidth * F(99, 100))
    shown = str(replace(frontier, points=(far,)).page())
    assert "within 1 %" in shown
