"""Reproducible sums on data: bits over sizes, numbers of chunks, and ways to run.

::

    python benchmarks/bit_equality.py                  # results/bit_equality.md
    python benchmarks/bit_equality.py "ring(5)" --work 2

The algorithm of least R/C on a machine is cut into 5 numbers of chunks, and runs at 20 sizes: in
numpy as `syncoll run` does, over MPI, and as a module of PyTorch over Gloo.  A size is a prefix of
the same random data, in which most of the first contributions are cancelled by others.  Every rank
compares the bits of its result with the sum in the stated association.  A sum in the order of ranks
has other bits where rounding depends on the order; the page counts these elements.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

import syncoll
from benchmarks.modules import text
from benchmarks.tables import Page, add_options, made_at
from syncoll.documents import StoredAlgorithm
from syncoll.model import Algorithm
from syncoll.model.associations import Association, associations
from syncoll.mpi import MpiCollective
from syncoll.mpi.launcher import find_mpiexec
from syncoll.processes import python_command
from syncoll.trust import require_valid
from syncoll.trust.data import ReduceOp, Workload, dtype_of, execute
from syncoll.trust.data.execute import Label, NodeMemory
from syncoll.trust.data.workload import Array, narrow
from syncoll.verbs.frontier import algorithms_of
from syncoll_torch import RECORD as MODULE

PIECES = (1, 2, 3, 5, 8)
"""The numbers of pieces into which each chunk is cut."""

SIZES = (
    *(1, 2, 3, 5, 7, 11, 16, 31, 64, 97, 128, 333),
    *(1000, 1024, 2999, 4096, 8191, 10007, 16384, 20011),
)
"""Elements of a rank."""

DTYPES = ("float32", "bfloat16")
_SECONDS = 500.0


@dataclass(frozen=True)
class Job:
    """The runs: algorithms for each number of chunks, their modules, and data of ranks by type."""

    algorithms: tuple[StoredAlgorithm, ...]
    modules: tuple[bytes, ...]
    data: Mapping[str, tuple[Array, ...]]
    sums: Mapping[str, Array]


@dataclass(frozen=True)
class Prefix(Workload):
    """A workload whose data are prefixes of known arrays."""

    data: tuple[Array, ...] = ()

    def draw(self, count: int, *stream: int) -> Array:
        """The first elements of a rank's array."""
        return self.data[stream[0]][:count].copy()


def main() -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("machine", nargs="?", default="hypercube(2)")
    parser.add_argument("--work", type=float, default=3.0, help="of the search (default 3)")
    add_options(parser, "bit_equality")
    arguments = parser.parse_args()
    frontier = syncoll.pareto(
        arguments.machine, "allreduce reproducible", work=arguments.work, progress="none"
    )
    found = min(algorithms_of(frontier, "benchmarks"), key=lambda one: one.bandwidth)
    job, order = job_of(found)
    page = Page(arguments.output)
    page.say("# Bits of reproducible sums", "", made_at(), "")
    one = found.instance
    page.say(f"Allreduce on {arguments.machine}, S = {one.steps}, R/C = {found.bandwidth}.", "")
    page.say(f"Association {order}.", "")
    chunks = ", ".join(str(one.instance.num_chunks) for one in job.algorithms)
    page.say(f"{len(SIZES)} sizes of {SIZES[0]} to {SIZES[-1]} elements; {chunks} chunks.", "")
    page.head("run", "type", "results", "bit-equal", "elements", "of other bits in order of ranks")
    for way, runs in (("numpy", in_numpy(job)), ("MPI", over_mpi(job)), ("PyTorch", in_torch(job))):
        for dtype in DTYPES:
            total, equal = runs[f"{dtype} all"], runs[f"{dtype} equal"]
            plain = reduce(ReduceOp.SUM, job.data[dtype])
            other = int((bits(plain) != bits(job.sums[dtype])).sum())
            page.row(way, dtype, total, equal, len(plain), other)
    page.write(None)


def job_of(found: StoredAlgorithm) -> tuple[Job, Association]:
    """The algorithm in pieces, with data and its sums; and its association."""
    every = tuple(cut(found, pieces) for pieces in PIECES)
    [order] = {
        str(order): order
        for one in every
        for order in associations(one.instance, one.algorithm).values()
    }.values()
    data = {dtype: drawn(found.instance.topology.num_nodes, dtype) for dtype in DTYPES}
    sums = {dtype: added(order, order.whole, data[dtype]) for dtype in DTYPES}
    return Job(every, tuple(text(one, MODULE) for one in every), data, sums), order


def cut(found: StoredAlgorithm, pieces: int) -> StoredAlgorithm:
    """The same algorithm with each chunk cut."""
    instance, algorithm = found.instance, found.algorithm
    assert algorithm.contributions is not None
    every = instance.num_chunks
    sends = [algorithm.sends + np.array([piece * every, 0, 0, 0]) for piece in range(pieces)]
    made = Algorithm(
        tuple(rounds * pieces for rounds in algorithm.rounds_per_step),
        np.concatenate(sends),
        np.tile(algorithm.contributions, (pieces, 1)),
    )
    collective = syncoll.collective("allreduce reproducible")
    how = {"chunks": instance.chunks * pieces, "steps": made.steps, "rounds": made.rounds}
    whole = collective.instantiate(instance.topology, **how)
    require_valid(whole, made)
    return StoredAlgorithm(whole, made, "benchmarks")


def drawn(ranks: int, dtype: str) -> tuple[Array, ...]:
    """Data of the ranks: for most elements two ranks cancel each other but for their last bits."""
    rng = np.random.default_rng(len(dtype))
    shape = ranks, max(SIZES)
    data = rng.normal(size=shape) * np.exp2(rng.integers(-6, 7, shape))
    one, two = (np.argsort(rng.random(shape), axis=0)[i] for i in (0, 1))
    at = np.flatnonzero(rng.random(shape[1]) < 0.8)
    nearly = 1 + rng.normal(size=len(at)) * 2.0**-7
    data[two[at], at] = -data[one[at], at] * 64 * nearly
    data[one[at], at] *= 64
    rows = data.astype(np.float32)
    return tuple(narrow(row) if dtype == "bfloat16" else row for row in rows)


def added(order: Association, mask: int, data: tuple[Array, ...]) -> Array:
    """The sum of some contributors in an association."""
    if mask not in order.parts:
        return data[mask.bit_length() - 1]
    one, two = order.parts[mask]
    return ReduceOp.SUM(added(order, one, data), added(order, two, data))


def bits(array: Array) -> Array:
    """The elements as integers."""
    return np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")


def in_numpy(job: Job) -> Counter[str]:
    """Results at the ranks, as `syncoll run` has them."""
    found: Counter[str] = Counter()
    form = NodeMemory.form
    for stored in job.algorithms:
        ranks = stored.instance.topology.num_nodes
        for dtype in DTYPES:
            for size in SIZES:
                results: dict[int, list[Array]] = {}

                def record(
                    self: NodeMemory,
                    chunk: int,
                    label: Label,
                    results: Any = results,
                    whole: int = ranks,
                ) -> Array | None:
                    data = form(self, chunk, label)
                    if data is not None and len(label) == whole:
                        results.setdefault(chunk, []).append(data)
                    return data

                workload = Prefix(size * dtype_of(dtype).itemsize, dtype, data=job.data[dtype])
                with patch.object(NodeMemory, "form", record):
                    assert execute(stored.instance, stored.algorithm, workload).ok
                # The ranks end with the last results of a chunk.
                for rank in range(-ranks, 0):
                    whole = np.concatenate([results[c][rank] for c in sorted(results)])
                    count(found, job, dtype, size, whole)
    return found


def count(found: Counter[str], job: Job, dtype: str, size: int, result: Array) -> None:
    """Counts a result, and whether it has the bits of the sum."""
    found[f"{dtype} all"] += 1
    found[f"{dtype} equal"] += np.array_equal(bits(result), bits(job.sums[dtype][:size]))


def over_mpi(job: Job) -> Counter[str]:
    """Results of the ranks of MPICH."""
    ranks = job.algorithms[0].instance.topology.num_nodes
    return _ran(job, [*find_mpiexec().command, "-n", str(ranks)], "mpi_rank")


def in_torch(job: Job) -> Counter[str]:
    """Results of processes with Gloo."""
    return _ran(job, [], "torch_ranks")


def _ran(job: Job, starting: list[str], function: str) -> Counter[str]:
    with tempfile.TemporaryDirectory() as place:
        Path(place, "job").write_bytes(pickle.dumps(vars(job)))
        code = f"from benchmarks.bit_equality import {function}; {function}(sys.argv[1])"
        yielding = {"MPIR_CVAR_POLLS_BEFORE_YIELD": "1", "MPIR_CVAR_ENABLE_HEAVY_YIELD": "1"}
        subprocess.run(
            [*starting, *python_command(code, place)],
            check=True,
            timeout=_SECONDS,
            env={**os.environ, **yielding, "GLOO_SOCKET_IFNAME": "lo"},
        )
        found: Counter[str] = Counter()
        for file in Path(place).glob("result*"):
            found += Counter(json.loads(file.read_text()))
        return found


def _calls(job: Job) -> Iterator[tuple[int, str, int]]:
    for number in range(len(job.algorithms)):
        for dtype in DTYPES:
            for size in SIZES:
                yield number, dtype, size


def mpi_rank(place: str) -> None:
    """A rank of MPI."""
    from mpi4py import MPI

    job = Job(**pickle.loads(Path(place, "job").read_bytes()))
    comm, found = MPI.COMM_WORLD, Counter[str]()
    functions = [MpiCollective(one) for one in job.algorithms]
    for number, dtype, size in _calls(job):
        send = job.data[dtype][comm.rank][:size].copy()
        receive = np.zeros_like(send)
        functions[number](comm, send, receive)
        count(found, job, dtype, size, receive)
    Path(place, f"result{comm.rank}").write_text(json.dumps(found))


def torch_ranks(place: str) -> None:
    """All ranks of Gloo: processes forked from this one."""
    job = Job(**pickle.loads(Path(place, "job").read_bytes()))
    ranks = job.algorithms[0].instance.topology.num_nodes
    rank = next((rank for rank in range(1, ranks) if not os.fork()), 0)
    _torch_rank(job, rank, ranks, place)
    if rank:
        os._exit(0)
    for _ in range(1, ranks):
        assert os.wait()[1] == 0


def _torch_rank(job: Job, rank: int, ranks: int, place: str) -> None:
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo", init_method=f"file://{place}/store", rank=rank, world_size=ranks
    )
    modules, found = list[dict[str, Any]](), Counter[str]()
    for content in job.modules:
        modules.append({"__name__": "exported"})
        exec(compile(content, "exported.py", "exec"), modules[-1])
    for number, dtype, size in _calls(job):
        own = job.data[dtype][rank][:size].copy()
        tensor = torch.from_numpy(bits(own).view(f"i{own.dtype.itemsize}")).view(
            getattr(torch, dtype)
        )
        modules[number]["allreduce"](tensor)
        count(found, job, dtype, size, own)  # the tensor has the memory of the array
    dist.barrier()
    Path(place, f"result{rank}").write_text(json.dumps(found))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
