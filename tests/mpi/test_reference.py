"""Uneven demands and groups of ranks over MPI, compared with MPI's own collectives."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import syncoll
from syncoll.documents import StoredAlgorithm, read_file
from syncoll.model import Instance
from syncoll.mpi.reference import split_reference
from syncoll.trust.data import ReduceOp
from tests.oracles.classics import ring

MATRIX = [[0, 2, 1, 0], [1, 0, 0, 3], [0, 1, 0, 1], [2, 0, 0, 0]]
EXPECTED = {
    f"alltoallv({MATRIX})": "MPI_Alltoallv",
    "alltoall within [[0,1],[3,2]]": "MPI_Alltoallv",
    "allgather within [[2,0],[1,3]]": "MPI_Allgatherv in 2 groups",
    "reducescatter within [[0,1],[2,3]]": "MPI_Reduce_scatter in 2 groups",
    "gather(1) within [[0,1,2]]": "MPI_Alltoallv",
    "broadcast(1) within [[0,1,2]]": "MPI_Bcast",
    "allreduce within [[0,1],[2,3]]": "MPI_Allreduce in 2 groups",
    "reduce(1) within [[0,3,2]]": "MPI_Reduce",
    "allgather within [[0,1]] + broadcast within [[2,3]]":
        "MPI_Allgatherv and MPI_Bcast in 2 groups",
    "allgather within [[0,1],[1,2]]": None,
    "allgather + allreduce": None,
    "alltoallv([[0,1],[1,0]]) within [[0,1]] + alltoallv([[0,1],[1,0]]) within [[1,0]]":
        "MPI_Alltoallv",
    f"2 * alltoallv({MATRIX}) + alltoall": None,
}  # fmt: skip


@pytest.mark.parametrize("text", EXPECTED)
def test_the_matching_mpi_collective_is_found(text: str) -> None:
    collective = syncoll.collective(text)
    chunks = collective.least_chunks(4)
    assert chunks is not None
    table = collective.tabulate(4, chunks)
    instance = Instance(ring(4), text, chunks, 1, 1, table.pre, table.post,
                        combining=collective.combining)  # fmt: skip
    found = split_reference(instance, np.full(len(table), 3), ReduceOp.SUM)
    assert (None if found is None else found.name) == EXPECTED[text]


def test_four_ranks_get_the_result_of_mpi(tmp_path: Path) -> None:
    """All collectives in one job."""
    algorithms: list[StoredAlgorithm] = []
    wanted = [text for text in EXPECTED if "alltoall within" not in text][:9]
    for text in wanted:
        found = syncoll.pareto(ring(4), text, max_steps=2, max_chunks=4)
        found.save(tmp_path / "f.json")
        stored = read_file(tmp_path / "f.json")
        algorithms.append(replace(stored.algorithms[0], where=text))
    together = replace(stored, algorithms=tuple(algorithms))
    assert all(done.ok for done in syncoll.run(together, size="4KiB", dtype="int64"))
    ran = syncoll.run(together, via="mpi", sizes=["4KiB"], dtype="int64", repeats=1)
    assert all(done.ok for done in ran)
    names = {text: done.runs[0].reference for text, done in zip(wanted, ran, strict=True)}
    assert names == {text: EXPECTED[text] or "the definition" for text in wanted}
