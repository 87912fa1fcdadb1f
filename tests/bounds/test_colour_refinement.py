"""A reduced linear program has the optimum of the original, and its dual becomes one of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from syncoll.bounding.network import TimeExpandedNetwork
from syncoll.bounding.relaxation import Relaxation, RelaxationKind
from syncoll.certificates import demands
from syncoll.linear import LinearProgram, Optimum
from syncoll.linear.colour_refinement import is_equitable
from syncoll.model import Collective, Topology
from syncoll.testing.instances import random_instance
from tests.oracles.classics import allgather, alltoall, broadcast, bus, dgx1, hub, line, ring


def is_equitable_for(program: LinearProgram, rows: np.ndarray, columns: np.ndarray) -> bool:
    return is_equitable(program.graph(), np.concatenate([rows, rows.max() + 1 + columns]))


def dense(program: LinearProgram) -> np.ndarray:
    matrix = np.zeros((len(program.row_low), len(program.costs)))
    matrix[program.rows, program.columns] = program.values
    return matrix


def program_of(matrix: np.ndarray, costs: np.ndarray, low: np.ndarray) -> LinearProgram:
    rows, columns = np.nonzero(matrix)
    return LinearProgram(
        costs, rows, columns, matrix[rows, columns], low, np.full(len(low), np.inf)
    )


def flows(
    topology: Topology, collective: Collective, steps: int | None, kind: RelaxationKind
) -> LinearProgram:
    chunks = next(c for c in range(1, 99) if collective.admits(topology.num_nodes, c))
    needs = demands(collective.tabulate(topology.num_nodes, chunks))
    network = TimeExpandedNetwork.of(topology, steps)
    return Relaxation(network, needs, kind).program()


def assert_optimal(program: LinearProgram, optimum: Optimum, value: float) -> None:
    """Primal and dual are feasible in the original and both have the value."""
    matrix = dense(program)
    scale = 1e-6 * max(1.0, abs(value))
    x, y = optimum.columns, optimum.row_duals
    assert (x >= -scale).all()
    assert (matrix @ x >= program.row_low - scale).all()
    assert (matrix @ x <= program.row_high + scale).all()
    assert program.costs @ x == pytest.approx(value, abs=scale)
    assert (y @ matrix <= program.costs + scale).all()
    low = np.where(np.isfinite(program.row_low), program.row_low, 0.0)
    high = np.where(np.isfinite(program.row_high), program.row_high, 0.0)
    assert (y[~np.isfinite(program.row_low)] <= scale).all()
    assert (y[~np.isfinite(program.row_high)] >= -scale).all()
    assert np.maximum(y, 0) @ low + np.minimum(y, 0) @ high == pytest.approx(value, abs=scale)


SYMMETRIC = [
    (ring(6), allgather(), None, RelaxationKind.COPIES),
    (ring(6), allgather(), 4, RelaxationKind.COPIES),
    (ring(7), alltoall(), 3, RelaxationKind.COPIES),
    (ring(8), broadcast(), 5, RelaxationKind.TOGETHER),
    (dgx1(), allgather(), 2, RelaxationKind.COPIES),
    (dgx1(), allgather(), 3, RelaxationKind.TOGETHER),
    (hub(6), allgather(), 2, RelaxationKind.COPIES),
    (hub(6), broadcast(), 3, RelaxationKind.COPIES),
    (bus(5), alltoall(), 2, RelaxationKind.COPIES),
    (line(5), allgather(), 5, RelaxationKind.COPIES),
]


@pytest.mark.parametrize("case", SYMMETRIC, ids=lambda case: f"{case[0].name}-{case[1].name}")
def test_flows_through_symmetric_machines(
    case: tuple[Topology, Collective, int | None, RelaxationKind],
) -> None:
    program = flows(*case)
    whole = program.minimise_unreduced()
    reduction = program.reduced()
    assert whole is not None
    assert reduction is not None
    assert len(reduction.program.costs) < 0.7 * len(program.costs)
    small = reduction.program.minimise_unreduced()
    assert small is not None
    assert small.value == pytest.approx(whole.value, rel=1e-7)
    assert_optimal(program, reduction.expand(small), whole.value)
    assert is_equitable_for(program, reduction.row_of, reduction.column_of)


def test_the_more_symmetric_the_smaller() -> None:
    sizes = []
    for nodes in (4, 8, 16):
        reduction = flows(hub(nodes), allgather(), None, RelaxationKind.COPIES).reduced()
        assert reduction is not None
        sizes.append(len(reduction.program.costs))
    assert sizes[0] == sizes[1] == sizes[2] <= 12  # any two nodes of a switch are alike


def test_random_instances() -> None:
    """Irregular machines have few symmetries, but copies of chunks, ports and links."""
    reduced = 0
    for seed in range(600):
        instance = random_instance(seed, most_chunks=4)
        needs = demands(instance)
        if not needs or instance.steps < instance.least_steps:
            continue
        network = TimeExpandedNetwork.of(instance.topology, instance.steps)
        relaxation = Relaxation(network, needs, RelaxationKind.COPIES)
        program = relaxation.program()
        reduction = program.reduced()
        if reduction is None:
            continue
        reduced += 1
        whole, small = program.minimise_unreduced(), reduction.program.minimise_unreduced()
        assert whole is not None
        assert small is not None
        assert small.value == pytest.approx(whole.value, rel=1e-7, abs=1e-9), seed
        assert_optimal(program, reduction.expand(small), whole.value)
    assert reduced >= 8


def blown_up(rng: np.random.Generator) -> LinearProgram:
    """A small random covering program, each row and column several times, in random order."""
    small = rng.integers(0, 3, (4, 5)).astype(float)
    small[:, 0] += 1  # every row can be met
    costs, low = rng.integers(1, 5, 5).astype(float), rng.integers(0, 4, 4).astype(float)
    rows = rng.permutation(np.repeat(np.arange(4), rng.integers(1, 4, 4)))
    columns = rng.permutation(np.repeat(np.arange(5), rng.integers(2, 5, 5)))
    return program_of(small[np.ix_(rows, columns)], costs[columns], low[rows])


def test_repeated_rows_and_columns() -> None:
    for seed in range(100):
        program = blown_up(np.random.default_rng(seed))
        reduction = program.reduced()
        assert reduction is not None
        assert len(reduction.program.costs) <= 5
        assert len(reduction.program.row_low) <= 4
        whole, small = program.minimise_unreduced(), reduction.program.minimise_unreduced()
        assert whole is not None
        assert small is not None
        assert small.value == pytest.approx(whole.value), seed
        assert_optimal(program, reduction.expand(small), whole.value)


def test_a_cost_or_a_bound_that_differs_keeps_its_own_colour() -> None:
    matrix = np.ones((3, 4))
    program = program_of(matrix, np.array([1.0, 1.0, 1.0, 1.0 + 1e-15]), np.array([2.0, 2.0, 3.0]))
    reduction = program.reduced()
    assert reduction is not None
    assert reduction.column_of[3] not in reduction.column_of[:3]
    assert len(set(reduction.column_of)) == 2
    assert reduction.row_of[0] == reduction.row_of[1] != reduction.row_of[2]


def test_values_next_to_each_other_are_not_equal() -> None:
    program = program_of(np.diag([0.1 + 0.2, 0.3]), np.ones(2), np.ones(2))
    colours = program.colours()
    assert colours is not None
    rows, columns = colours
    assert len(set(rows)) == len(set(columns)) == 2


def test_a_coarser_partition_is_not_equitable() -> None:
    """Merging any two colours of the coarsest equitable partition breaks it, where kinds allow."""
    program = flows(line(5), broadcast(), None, RelaxationKind.COPIES)
    program = replace(
        program,
        costs=np.ones(len(program.costs)),
        row_low=np.zeros(len(program.row_low)),
        row_high=np.zeros(len(program.row_high)),
    )
    colours = program.colours()
    assert colours is not None
    rows, columns = colours
    assert is_equitable_for(program, rows, columns)
    for a in range(int(columns.max()) + 1):
        for b in range(a):
            merged = np.where(columns == a, b, columns)
            numbered = np.unique(merged, return_inverse=True)[1]
            assert not is_equitable_for(program, rows, numbered)


def test_no_entries() -> None:
    program = program_of(np.zeros((3, 4)), np.array([0.0, 0.0, 1.0, 1.0]), np.zeros(3))
    colours = program.colours()
    assert colours is not None
    rows, columns = colours
    assert columns.tolist() in ([0, 0, 1, 1], [1, 1, 0, 0])
    assert len(set(rows)) == 1


def test_too_many_variables_are_not_solved() -> None:
    program = flows(ring(8), allgather(), 5, RelaxationKind.COPIES)
    whole = program.minimise()
    assert whole is not None
    assert whole.solved_columns < len(program.costs)
    assert program.minimise(most_columns=whole.solved_columns) is not None
    assert program.minimise(most_columns=whole.solved_columns - 1) is None
