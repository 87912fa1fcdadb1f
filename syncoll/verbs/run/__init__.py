"""Runs every algorithm of a file (a frontier, an outcome or an algorithm) on random data, step by
step, with a buffer for each node.  The results at the nodes are compared with the definition of the
collective, computed directly.  This second check shares no code with `syncoll verify`.

Copies, integers (which wrap around), maxima and minima must agree bit for bit; sums of k floats to
k * eps times the sum of their magnitudes, products to k * eps times the product (eps is 2^-23 of
float32, 2^-10 of float16, 2^-7 of bfloat16).  If an algorithm is wrong, the exit code is 2, with
the first wrong chunk and node.

With --via mpi each node is a process of its own: the algorithms run over MPI on buffers in MPI's
own layout, are compared with MPI's own collective, and both are timed for each size.  A collective
that MPI does not have is compared with its definition.  It needs the extra syncoll[mpi] and starts
the processes by itself; started with mpiexec, as on several machines, it runs in those processes.

With --via torch or --via jax the exported file runs on processes with Gloo, or on CPU devices, is
compared with the definition, and timed with the library's own collective.

  syncoll run frontier.json
  syncoll run frontier.json --size 64MiB --dtype int64 --op max
  syncoll run frontier.json --point 20,20,54
  syncoll run frontier.json --via mpi -n 8 --sizes 4KiB,1MiB
  syncoll run frontier.json --via torch --point 0
  mpiexec -n 8 -hosts one,two syncoll run frontier.json --via mpi
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from syncoll.errors import UsageError
from syncoll.verbs.asking import session_for, verb
from syncoll.verbs.declaration import POINT, Shell
from syncoll.wording import argument, counted

if TYPE_CHECKING:
    from syncoll import values
    from syncoll.mpi import Job, run_exported, run_job
    from syncoll.planning import message_of
    from syncoll.trust.data import ReduceOp, Workload, dtype_of, execute
    from syncoll.values import require_whole
    from syncoll.verbs.frontier import Source, algorithms_of
    from syncoll.verbs.run.result import ExecutionResult, MpiResult

SHELL = Shell({"sizes": "--sizes A,B,..."}, POINT, {"ranks": "via mpi", "point": ""})

SHORT_TYPES = {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64"}

SIZE = 1 << 20
_MPI_SIZES = (4 << 10, 64 << 10, 1 << 20)
_MPI_SECONDS = 120.0


@verb
def run(
    source: Source,
    size: int | str | None = None,
    *,
    dtype: Literal[
        "float32", "float64", "float16", "bfloat16", "int32", "int64", "int8", "fp16", "bf16"
    ] = "float32",
    op: Literal["sum", "prod", "max", "min"] = "sum",
    seed: int = 0,
    via: str = "memory",
    ranks: int | None = None,
    sizes: int | str | Sequence[int | str] | None = None,
    repeats: int | None = None,
    time_limit: float | str | None = None,
) -> list[ExecutionResult] | list[MpiResult]:
    """Runs every algorithm of a file on data, and compares with the definition.

    Args:
        size: of the message as nccl-tests counts it: of an allgather or gather the output, else the
            largest input of a node, in whole elements; None for 1MiB, via mpi 4KiB, 64KiB and 1MiB.
        dtype: of the elements; fp16 and bf16 are float16 and bfloat16, which are reduced in float32
            and rounded after each operation.
        op: the reduction of combining collectives.
        seed: of the random data.
        via: memory: all nodes in this process; mpi: a process for each; an exporter that runs its
            files here, such as torch or jax: the exported file on processes or devices.
        ranks: number of processes, as many as nodes.
        sizes: several sizes, one after the other, or a range such as ``4KiB..1MiB`` in steps of a
            factor of 4.
        repeats: number of timed runs; None for 10.
        time_limit: of everything, such as ``30s``; then all processes are ended; None for 120s.

    Returns:
        A result for each; in a program that mpiexec has started all of them at its first rank, and
        no result at the others.

    Raises:
        UsageError: on an invalid size or type, or if MPI is not installed.
        ExecutionError: if a process failed, or after the time limit.
    """
    session = session_for()
    runtimes = {one.name: one for one in session.plugins.exporters.values() if one.runs}
    if via not in (known := ("memory", "mpi", *sorted(runtimes))):
        raise UsageError(f"{argument('via')}: {via!r}; expected one of {', '.join(known)}")
    operation = values.choice_of("op", op, ReduceOp)
    require_whole("seed", seed)
    kind, algorithms = SHORT_TYPES.get(dtype, dtype), algorithms_of(source, "run")
    only_mpi = {"ranks": ranks, "sizes": sizes, "repeats": repeats, "time_limit": time_limit}
    for name, value in only_mpi.items():
        if value is not None and via == "memory":
            raise UsageError(
                f"{argument(name)} is for {argument('via', 'mpi')} or a library; add that, or "
                f"leave {argument(name)} out"
            )
    message = message_of(one.instance for one in algorithms)

    def inputs(size: int) -> int:
        Workload(size, kind)  # passes sizes of whole elements of a type that exists
        return message.input_bytes(size, dtype_of(kind).itemsize)

    if via == "memory":
        exact = values.bytes_of(SIZE if size is None else size)
        work = Workload(inputs(exact), kind, operation, seed)
        done = [execute(one.instance, one.algorithm, work) for one in algorithms]
        pairs = zip(done, algorithms, strict=True)
        return [ExecutionResult.of(one, stored=stored) for one, stored in pairs]
    if size is not None and sizes is not None:
        raise UsageError(
            f"{argument('size')} and {argument('sizes')} are the same request; give one of them"
        )
    single = _MPI_SIZES if size is None else (size,)
    wanted = values.sizes_of("size", single) if sizes is None else values.sizes_of("sizes", sizes)
    job = Job(
        tuple(algorithms), tuple(map(inputs, wanted)), kind, operation, seed, repeats or Job.repeats
    )
    if not job.work:
        return []
    topology = job.work[0].instance.topology
    if ranks not in (None, topology.num_nodes):
        raise UsageError(
            f"{argument('ranks', ranks)}, but the algorithms are for the "
            f"{counted(topology.num_nodes, 'node')} of {topology.name}; expected "
            f"{argument('ranks', topology.num_nodes)}, one rank for each node"
        )
    seconds = values.seconds_of(time_limit)
    seconds = _MPI_SECONDS if seconds is None else seconds
    if via == "mpi":
        result = run_job(job, seconds, session.tell)
    else:
        result = run_exported(job, runtimes[via], seconds)
    comparisons = () if result is None else result.comparisons
    return [MpiResult.of(one, job=job, result=result, via=via) for one in comparisons]
