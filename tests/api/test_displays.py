"""Values in a notebook: text, HTML, drawings, frames and graphs."""

from __future__ import annotations

import csv
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import networkx as nx
import pytest

import syncoll
from syncoll.errors import ModelError, UsageError


@pytest.fixture(scope="module")
def found() -> syncoll.FrontierResult:
    return syncoll.pareto("dgx1", "allgather", max_steps=3, backend="bfb", progress="none")


def test_repr_of_a_point_has_ten_lines(found: syncoll.FrontierResult) -> None:
    lines = repr(found[0]).splitlines()
    assert len(lines) == 10
    assert lines[:4] == [
        "point 0: allgather on dgx1",
        "  S = 2 steps, R = 3, C = 2 chunks per node",
        "  R/C = 3/2, optimal (proved: R/C >= 3/2)",
        f"  found by seed/bfb in {found[0].seconds:.2f} s",
    ]
    assert lines[4].endswith(" messages of 112 sends, such as:")
    assert found[0]._repr_html_().startswith("<pre>point 0: allgather on dgx1\n")
    assert found.evidence is not None
    of_shapes = [replace(one, scales=None) for one in found.evidence.shapes]
    older = replace(found, evidence=replace(found.evidence, shapes=tuple(of_shapes), max_chunks=6))
    assert "R/C = 3/2, optimal (proved for C <= 6: R/C >= 3/2)" in repr(older[0])
    sends = found[0].sends.tolist()
    for line in lines[5:9]:
        step, chunk, source, destination = (
            int(word) for word in line.replace(":", "").replace(",", "").split() if word.isdigit()
        )
        assert [chunk, source, destination, step] in sends


def test_a_topology_is_shown_as_html_with_a_drawing(tmp_path: Path) -> None:
    topology = syncoll.topology("torus(3,4)")
    html = topology._repr_html_()
    assert "torus(3,4): 12 nodes" in html
    assert "<svg" in html
    assert topology.plot().svg in html
    topology.plot().save(tmp_path / "torus.png")
    assert (tmp_path / "torus.png").read_bytes().startswith(b"\x89PNG")
    own = syncoll.Topology.from_links("own", 3, {(0, 1): 1, (1, 2): Fraction(1, 2)})
    assert "own: 3 nodes, 2 links" in own.plot().svg


def test_long_wraparound_links_are_drawn_as_stubs() -> None:
    short, long = (syncoll.topology(f"torus(3,{n})").plot().svg for n in (4, 12))
    assert len(long) > len(short)


def test_a_collective_is_shown_as_html_and_drawn() -> None:
    collective = syncoll.collective("alltoall")
    assert "alltoall on 4 nodes, C = 4" in collective._repr_html_()
    assert "alltoall on 3 nodes, C = 6" in collective.plot(3, 6).svg
    with pytest.raises(UsageError, match="not defined for C = 5"):
        collective.plot(3, 5)


def test_html_needs_no_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    topology = syncoll.topology("ring(5)")
    assert "<svg" not in topology._repr_html_()
    with pytest.raises(UsageError, match="matplotlib is not installed"):
        topology.plot()


@pytest.mark.parametrize(
    "name", ["dgx1", "hub(4)", "bus(3)", "dgx_h100(boxes=2, nvls=true)", "mi250", "ring(5, 2/3)"]
)
def test_a_graph_of_networkx_gives_the_topology_back(name: str) -> None:
    topology = syncoll.topology(name)
    graph = topology.to_networkx()
    assert isinstance(graph, nx.DiGraph)
    assert sorted(graph.edges) == list(topology.links)
    assert syncoll.Topology.from_networkx(graph).same_as(topology)


def test_a_graph_of_networkx_may_be_relabelled() -> None:
    graph = syncoll.topology("hub(3)").to_networkx(bandwidth="rate")
    turned = nx.DiGraph(**graph.graph)
    turned.add_nodes_from([2, 0, 1])
    turned.add_edges_from(graph.edges(data=True))
    topology = syncoll.Topology.from_networkx(turned, bandwidth="rate")
    assert topology.same_as(syncoll.topology("hub(3)"))
    turned.remove_node(1)
    with pytest.raises(ModelError):
        syncoll.Topology.from_networkx(turned, bandwidth="rate")


def test_plans_and_simulations_are_frames(found: syncoll.FrontierResult, tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    costs = {"alpha": "0.7us", "beta": "25GB/s"}
    plan = found.plan(**costs, timing="lockstep", progress="none")
    table = plan.to_pandas()
    assert list(table.columns) == list(plan.columns)
    assert table["steps"].tolist() == [one.steps for one in plan.ranges]
    assert table["message_from"].tolist() == [float(one.low) for one in plan.ranges]
    assert table["seconds_below"].isna().tolist()[-1]
    simulated = found.simulate(**costs, sizes=[1024, 4096], classics=("ring",))
    frame = simulated.to_pandas()
    assert len(frame) == 2 * len((*simulated.algorithms, *simulated.classics))
    assert frame["bandwidth"].tolist()[0] == 1.5
    assert frame["seconds"].tolist()[:2] == [float(x) for x in simulated.algorithms[0].seconds]
    assert set(frame["per_node"]) == {128.0, 512.0}
    assert set(frame["size"]) == {1024, 4096}
    simulated.save_table(tmp_path / "times.csv")
    assert (tmp_path / "times.csv").read_text().startswith("where,classic,steps")


def test_frontiers_and_repairs_are_tables(tmp_path: Path) -> None:
    whole = syncoll.pareto("ring(4)", "allgather", progress="none")
    (row,) = whole.rows()
    assert (row["steps"], row["bandwidth"], row["exact_bound"]) == (2, 1.5, "3/2")
    assert row["optimal_for"] == "all"
    whole.save_table(tmp_path / "points.csv")
    with (tmp_path / "points.csv").open() as file:
        assert list(csv.DictReader(file)) == [{name: str(row[name]) for name in whole.columns}]
    damaged = syncoll.repair(whole, "link 0->1", progress="none")
    steps = [(one["steps"], one["whole"], one["now"]) for one in damaged.rows()]
    assert steps == [(2, "3/2", None), (3, "3/2", "3"), (None, "3/2", "3")]
