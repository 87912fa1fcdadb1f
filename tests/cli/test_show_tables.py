"""``syncoll show FILE --as ni-table``: the operations of each node's network interface."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from syncoll.documents.ni_tables import TableOp, ni_tables
from syncoll.errors import ExportError
from syncoll.model import Algorithm, Collective, Instance, Topology
from syncoll.plugins import PluginManager
from syncoll.spec import SpecLibrary
from syncoll.trust import require_valid

Run = Callable[..., Any]

# MultiTree paper, Figure 5: (op, flow, parent, children, step) for accelerators 0 to 3.  In the row
# of accelerator 2 without a parent the paper prints flow 1.  Only the root of a tree has no parent,
# and that of tree 1 is accelerator 1, so it has to be 2.
FIGURE_5 = [
    [("Reduce", 3, 1, [], 1), ("Reduce", 1, 1, [], 2), ("Reduce", 2, 2, [1], 2),
     ("Gather", 0, None, [1, 2], 3), ("Gather", 2, 2, [1], 4)],
    [("Reduce", 2, 0, [], 1), ("Reduce", 0, 0, [], 2), ("Reduce", 3, 3, [0], 2),
     ("Gather", 1, None, [0, 3], 3), ("Gather", 3, 3, [0], 4)],
    [("Reduce", 1, 3, [], 1), ("Reduce", 3, 3, [], 2), ("Reduce", 0, 0, [3], 2),
     ("Gather", 2, None, [0, 3], 3), ("Gather", 0, 0, [3], 4)],
    [("Reduce", 0, 2, [], 1), ("Reduce", 2, 2, [], 2), ("Reduce", 1, 1, [2], 2),
     ("Gather", 3, None, [1, 2], 3), ("Gather", 1, 1, [2], 4)],
]  # fmt: skip


@pytest.fixture(scope="module")
def specs() -> SpecLibrary:
    records = PluginManager.discover().spec_libraries.values()
    return SpecLibrary.load([record.folder for record in records])


@pytest.fixture
def mesh(run: Run, tmp_path: Path) -> Path:
    """MultiTree's allreduce on the 2x2 mesh of its paper."""
    file = tmp_path / "mesh.json"
    options = [part for o in ("pipelined=false", "trees=1") for part in ("--backend-option", o)]
    result = run("pareto", "mesh(2,2)", "allreduce", "--backend", "multitree", *options, "-o", file)
    assert result.code == 0
    return file


def test_the_tables_of_figure_5(specs: SpecLibrary) -> None:
    """The trees of Figure 3: tree f goes from f to its neighbours, from f ^ 2 also to f ^ 3."""
    up = [
        *((f, f ^ 3, f ^ 2, 0, {f ^ 3}) for f in range(4)),
        *((f, f ^ 1, f, 1, {f ^ 1}) for f in range(4)),
        *((f, f ^ 2, f, 1, {f ^ 2, f ^ 3}) for f in range(4)),
    ]
    down = [(f, to, frm, 3 - step, {0, 1, 2, 3}) for f, frm, to, step, _ in up]
    sends, carried = [one[:4] for one in up + down], [one[4] for one in up + down]
    algorithm = Algorithm((1,) * 4, np.array(sends), contributions(4, *carried))
    instance = instance_of(specs.collective("allreduce"), specs.topology("mesh(2,2)"), 4, algorithm)
    tables = [
        [(str(e.op), e.flow, e.parent, list(e.children), e.step) for e in table.entries]
        for table in ni_tables(instance, algorithm)
    ]
    assert tables == FIGURE_5


def test_the_tables_as_documents_and_as_printed(mesh: Path, run: Run) -> None:
    document = run("show", mesh, "--as", "ni-table", "--format", "json").json
    assert document["schema"] == "syncoll/ni-table/1"
    assert (document["collective"], document["topology"]) == ("allreduce", "mesh(2,2)")
    (algorithm,) = document["algorithms"]
    assert (algorithm["chunks"], algorithm["steps"], algorithm["rounds"]) == (4, 4, 4)
    assert [table["node"] for table in algorithm["tables"]] == [0, 1, 2, 3]
    text = run("show", mesh, "--as", "ni-table").out
    assert "schedule tables for C = 4, S = 4, R = 4" in text
    lines = [line.split() for line in text.splitlines()]
    assert lines.count(["Op", "FlowID", "Parent", "Children", "Step"]) == 4
    first = algorithm["tables"][0]["entries"][0]
    assert (first["op"], first["children"], first["step"]) == ("Reduce", [], 1)
    row = ["Reduce", str(first["flow"]), str(first["parent"]), "nil", "nil", "1"]
    assert lines[lines.index(["node", "0"]) + 3] == row
    assert ["Gather", "0", "nil", "1", "2", "3"] in lines


def test_any_algorithm_of_trees_has_tables(files: Path, run: Run) -> None:
    """A solver's allgather: tables have exactly its sends."""
    document = run("show", files / "sat.json", "--as", "ni-table", "--format", "json").json
    (algorithm,) = document["algorithms"]
    entries = [entry for table in algorithm["tables"] for entry in table["entries"]]
    assert sum(len(entry["children"]) for entry in entries if entry["op"] == "Gather") == 56
    assert {entry["op"] for entry in entries} <= {"Gather", "NOP"}


def test_every_point_of_a_frontier_has_tables(files: Path, run: Run) -> None:
    text = run("show", files / "frontier.json", "--as", "ni-table").out
    assert text.count("schedule tables for") == 2
    assert text.count("\nnode 7\n") == 2


def test_other_results_have_no_tables(files: Path, run: Run) -> None:
    for what, words in (
        ("dgx1", "--as ni-table shows stored algorithms, and dgx1 is a topology"),
        ("allgather", "allgather is a collective"),
        (files / "unsat.json", "there is no algorithm in it"),
    ):
        result = run("show", what, "--as", "ni-table")
        assert result.code == 2
        assert words in result.err
        assert not result.out
    assert run("show", files / "sat.json", "--as", "table").code == 2


def test_a_file_without_trees_is_refused(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "doubling.json"
    command = ["pareto", "hypercube(2)", "allreduce", "--backend", "recursive_doubling", "-o", file]
    assert run(*command, "--max-steps", 2).code == 0  # pairs exchange partial results
    result = run("show", file, "--as", "ni-table")
    assert result.code == 2
    assert "each chunk goes up or down one tree; node 0 sends partial results" in result.err
    assert not result.out
    assert run("show", file).code == 0
    # Next to an algorithm with tables it is named in a note.
    assert run(*command).code == 0
    result = run("show", file, "--as", "ni-table", "--format", "json")
    assert result.code == 0
    assert {one["steps"] for one in result.json["algorithms"]} == {4}
    assert "no tables for C = 2, S = 2, R = 2" in result.err


# --- the tables themselves ------------------------------------------------------------------------


def instance_of(
    collective: Collective, topology: Topology, chunks: int, algorithm: Algorithm
) -> Instance:
    instance = collective.instantiate(
        topology, chunks=chunks, steps=algorithm.steps, rounds=algorithm.rounds
    )
    require_valid(instance, algorithm)
    return instance


def refusal(instance: Instance, algorithm: Algorithm) -> str:
    with pytest.raises(ExportError) as caught:
        ni_tables(instance, algorithm)
    return str(caught.value)


def contributions(nodes: int, *carried: set[int]) -> np.ndarray[Any, np.dtype[np.bool_]]:
    return np.array([[node in each for node in range(nodes)] for each in carried])


def test_idle_steps_become_nops(specs: SpecLibrary) -> None:
    algorithm = Algorithm((1, 1, 1), np.array([(0, 0, 1, 0), (0, 1, 2, 2)]))
    instance = instance_of(specs.collective("broadcast"), specs.topology("line(3)"), 1, algorithm)
    tables = ni_tables(instance, algorithm)
    assert [(e.op, e.step) for e in tables[1].entries] == [
        (TableOp.NOP, 1), (TableOp.NOP, 2), (TableOp.GATHER, 3)
    ]  # fmt: skip
    assert tables[1].entries[0].cells(2) == ("NOP", "nil", "nil", "nil", "nil", "1")
    assert tables[2].entries == ()


def test_a_node_that_sends_in_two_steps_has_two_rows(specs: SpecLibrary) -> None:
    algorithm = Algorithm((1, 1), np.array([(0, 1, 0, 0), (0, 1, 2, 1)]))
    collective = specs.collective("broadcast(root = 1)")
    instance = instance_of(collective, specs.topology("line(3)"), 1, algorithm)
    rows = [(e.parent, e.children, e.step) for e in ni_tables(instance, algorithm)[1].entries]
    assert rows == [(None, (0,), 1), (None, (2,), 2)]


def test_copies_that_meet_are_no_tree(specs: SpecLibrary) -> None:
    sends = [(0, 0, 1, 0), (0, 0, 3, 0), (0, 1, 2, 1), (0, 3, 2, 1)]
    algorithm = Algorithm((1, 1), np.array(sends))
    instance = instance_of(specs.collective("broadcast"), specs.topology("ring(4)"), 1, algorithm)
    assert "chunk 0 reaches node 2 twice, from nodes 1 and 3" in refusal(instance, algorithm)
    back = Algorithm((1, 1, 1), np.array([*sends[:3], (0, 2, 3, 2)]))
    assert "chunk 0 reaches node 3 twice" in refusal(instance, back)
    home = Algorithm((1, 1), np.array([*sends[:3], (0, 1, 0, 1)]))
    assert "node 1 sends chunk 0 to node 0, which has it" in refusal(instance, home)


def test_two_sources_are_no_tree() -> None:
    pre = np.array([[True, False, True]])
    topology = Topology.from_links("two", 3, {(0, 1): 1, (2, 1): 1, (1, 2): 1})
    instance = Instance(topology, "made", 1, 1, 1, pre, np.ones((1, 3), dtype=bool))
    once = Algorithm((1,), np.array([(0, 0, 1, 0)]))
    assert len(ni_tables(instance, once)[0].entries) == 1
    twice = Algorithm((1,), np.array([(0, 0, 1, 0), (0, 2, 1, 0)]))
    assert "sent from two nodes that did not receive it, 0 and 2" in refusal(instance, twice)


@pytest.fixture
def pair(specs: SpecLibrary) -> Callable[[list[tuple[int, ...]], list[set[int]]], str]:
    """The reason why a valid allreduce of one chunk on four joined nodes has no tables."""

    def refused(sends: list[tuple[int, ...]], carried: list[set[int]]) -> str:
        steps = max(send[3] for send in sends) + 1
        algorithm = Algorithm((1,) * steps, np.array(sends), contributions(4, *carried))
        topology = specs.topology("fully_connected(4)")
        ones = np.ones((1, 4), dtype=bool)
        instance = Instance(topology, "sum", 1, steps, steps, ones, ones, combining=True)
        require_valid(instance, algorithm)
        return refusal(instance, algorithm)

    return refused


def test_an_exchange_of_partial_results_is_no_tree(pair: Callable[..., str]) -> None:
    exchange = [(0, a, a ^ 1, 0) for a in range(4)] + [(0, a, a ^ 2, 1) for a in range(4)]
    carried = [{a} for a in range(4)] + [{a, a ^ 1} for a in range(4)]
    assert "sends partial results of chunk 0 twice" in pair(exchange, carried)


def test_an_exchange_in_one_step_is_no_tree(pair: Callable[..., str]) -> None:
    pairs = [(a, b) for a in range(4) for b in range(4) if a != b]
    words = pair([(0, a, b, 0) for a, b in pairs], [{a} for a, _ in pairs])
    assert "sends partial results of chunk 0 twice, to nodes 1 and 2" in words


def test_sums_that_end_at_two_nodes_are_no_tree(pair: Callable[..., str]) -> None:
    """Node 0 adds 1, node 2 adds 3; they exchange, so both have the sum and no root exists."""
    sends = [(0, 1, 0, 0), (0, 3, 2, 0), (0, 0, 2, 1), (0, 2, 0, 1), (0, 0, 1, 2), (0, 2, 3, 2)]
    everybody = {0, 1, 2, 3}
    words = pair(sends, [{1}, {3}, {0, 1}, {2, 3}, everybody, everybody])
    assert "gets a partial result of chunk 0 from node" in words
    assert "but does not include it in its own" in words
