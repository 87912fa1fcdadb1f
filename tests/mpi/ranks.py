"""Run by eight ranks: many collectives on many buffers, each compared with plain numpy.

``mpiexec -n 8 python ranks.py CASES RESULTS``: CASES is a pickle of names with an algorithm and its
instance.  The first rank writes to RESULTS a JSON object from the name of every check to the list
of errors, rank by rank.  Expected results are computed from the inputs of all ranks by the text of
the MPI standard, without code of syncoll.
"""

from __future__ import annotations

import json
import pickle
import sys
from collections.abc import Callable, Iterator
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI

from syncoll.documents import StoredAlgorithm
from syncoll.errors import UsageError
from syncoll.mpi import Job, MpiCollective, measure
from syncoll.trust.data import ReduceOp

WORLD = MPI.COMM_WORLD
OPERATIONS = {
    "sum": (MPI.SUM, np.add),
    "prod": (MPI.PROD, np.multiply),
    "max": (MPI.MAX, np.maximum),
    "min": (MPI.MIN, np.minimum),
}
DTYPES = ("float32", "float64", "int32", "int64")
LONG = 4099
GUARD = 5
"""Elements around every output that must stay untouched."""


def drawn(name: str, rank: int, length: int, dtype: str) -> Any:
    rng = np.random.default_rng([*name.encode(), rank, length])
    if dtype.startswith("int"):
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, length, dtype=dtype, endpoint=True) | 1
    return (rng.uniform(0.7, 1.4, length) * rng.choice([-1, 1], length)).astype(dtype)


def lengths(kind: str, root: int | None, total: int, ranks: int) -> tuple[list[int], list[int]]:
    """The lengths of every rank's input and output, as in MPI's functions with counts."""
    shares = [len(part) for part in np.array_split(np.empty(total), ranks)]
    at_root = [total if rank == root else 0 for rank in range(ranks)]
    every = [total] * ranks
    return {
        "allgather": (shares, every),
        "reducescatter": (every, shares),
        "allreduce": (every, every),
        "alltoall": (every, [share * ranks for share in shares]),
        "broadcast": (at_root, every),
        "reduce": (every, at_root),
        "gather": (shares, at_root),
        "scatter": (at_root, shares),
    }[kind]


def wanted(kind: str, root: int | None, inputs: list[Any], rank: int, function: Any) -> Any:
    """The final result of a rank by the MPI standard, before rounding."""
    ranks = len(inputs)
    if kind in ("allgather", "gather"):
        return np.concatenate(inputs)
    if kind == "broadcast":
        assert root is not None
        return inputs[root]
    if kind == "scatter":
        assert root is not None
        return np.array_split(inputs[root], ranks)[rank]
    if kind == "alltoall":
        return np.concatenate([np.array_split(one, ranks)[rank] for one in inputs])
    wide = inputs if inputs[0].dtype.kind == "i" else [i.astype(np.longdouble) for i in inputs]
    whole = reduce(function, wide)
    return np.array_split(whole, ranks)[rank] if kind == "reducescatter" else whole


def check(
    name: str, collective: MpiCollective, comm: MPI.Intracomm, total: int, dtype: str, op: str
) -> Iterator[str]:
    """Out of place, between guards; then in place, if MPI has it."""
    kind, root = str(collective.collective.kind), collective.collective.root
    ranks, rank = comm.size, comm.rank
    sends, receives = lengths(kind, root, total, ranks)
    inputs = [drawn(name, r, sends[r], dtype) for r in range(ranks)]
    right = wanted(kind, root, inputs, rank, OPERATIONS[op][1])
    exact = not collective.collective.combining or op in ("max", "min") or dtype[0] == "i"
    scale = ranks * np.finfo(dtype if dtype[0] == "f" else "f8").eps
    allowed: Any = 0
    if not exact:
        magnitudes = [np.abs(one) for one in inputs]
        allowed = scale * wanted(kind, root, magnitudes, rank, OPERATIONS[op][1])

    def compare(result: Any, how: str) -> Iterator[str]:
        if exact:
            good = np.array_equal(result, right)
        else:
            good = result.shape == right.shape and bool((np.abs(result - right) <= allowed).all())
        if not good:
            yield f"rank {rank}, {how}: {result[:4]} …, not {right[:4]} …"

    send = inputs[rank].copy()
    send.setflags(write=False)
    room = np.full(receives[rank] + 2 * GUARD, 77, dtype)
    receive = room[GUARD : GUARD + receives[rank]]
    collective(
        comm,
        send if sends[rank] else None,
        receive if receives[rank] else np.empty(0, dtype),
        op,
        total=total,
    )
    if receives[rank]:
        yield from compare(receive, "out of place")
    if not np.array_equal(send, inputs[rank]):
        yield f"rank {rank}: the input was written"
    if (room[:GUARD] != 77).any() or (room[GUARD + receives[rank] :] != 77).any():
        yield f"rank {rank}: something was written beside the output"

    if kind == "alltoall" and total % ranks:
        return
    native = OPERATIONS[op][0]
    if kind == "scatter":
        mine = inputs[rank].copy()
        if rank == root:
            collective(comm, mine, MPI.IN_PLACE, native, total=total)
            if not np.array_equal(mine, inputs[rank]):
                yield f"rank {rank}: the root's input was written"
        else:
            mine = np.full(receives[rank], 77, dtype)
            collective(comm, None, mine, native, total=total)
            yield from compare(mine, "in place")
        return
    buffer = np.full(max(sends[rank], receives[rank]), 77, dtype)
    if kind in ("allgather", "gather"):
        before = sum(sends[:rank])
        if receives[rank]:
            buffer[before : before + sends[rank]] = inputs[rank]
    elif sends[rank]:
        buffer[:] = inputs[rank]
    if rank == root or kind not in ("reduce", "gather"):
        collective(comm, MPI.IN_PLACE, buffer, native, total=total)
        yield from compare(buffer[: receives[rank]], "in place")
    else:
        collective(comm, inputs[rank], None, native, total=total)


def totals(collective: MpiCollective) -> list[int]:
    """A single element, fewer than chunks, one off from even, even, and many."""
    pieces = max(collective.instance.num_chunks, collective.num_ranks)
    return [1, pieces - 1, pieces * 3, pieces * 3 + 1, LONG]


def refusals(collective: MpiCollective, comm: MPI.Intracomm) -> Iterator[str]:
    """Invalid requests are refused at once by the rank that makes them."""
    n = comm.size * 6
    array, other = np.zeros(n, "f4"), np.zeros(n, "f4")
    fixed = np.zeros(n, "f4")
    fixed.setflags(write=False)
    for words, arguments in {
        "has 1 rank, but the algorithm is for 8": (MPI.COMM_SELF, array, other),
        "recvbuf of rank": (comm, array, np.zeros(n - 1, "f4")),
        "sendbuf is of float32, recvbuf of float64": (comm, array, np.zeros(n)),
        "sendbuf is of complex128": (comm, np.zeros(n, complex), other),
        "sendbuf is of list": (comm, [0.0] * n, other),
        "recvbuf is read-only": (comm, array, fixed),
        "overlap": (comm, array, array),
        "not contiguous": (comm, np.zeros(2 * n, "f4")[::2], other),
        "neither sendbuf nor recvbuf": (comm, None, None),
        "unknown operation 'avg'": (comm, array, other, "avg"),
        "unsupported operation": (comm, array, other, MPI.LXOR),
    }.items():
        try:
            collective(*arguments)
            yield f"no error with {words!r}"
        except UsageError as error:
            if words not in str(error):
                yield f"{error}: does not say {words!r}"


def spoiled(collective: MpiCollective, comm: MPI.Intracomm) -> Iterator[str]:
    """One wrong element at one rank is found by the comparison, and named."""
    call = MpiCollective.__call__

    def spoil(self: MpiCollective, comm: MPI.Intracomm, send: Any, receive: Any, *a: Any, **k: Any):
        call(self, comm, send, receive, *a, **k)
        if comm.rank == 5:
            receive[17] += 1

    work = (StoredAlgorithm(collective.instance, collective.algorithm, "it"),)
    job = Job(work, (4096,), "int32", repeats=0)
    MpiCollective.__call__ = spoil  # type: ignore[method-assign]
    try:
        result = measure(comm, job)
    finally:
        MpiCollective.__call__ = call  # type: ignore[method-assign]
    (run,) = result.comparisons[0].runs
    if result.ok or "element 17 of rank 5" not in str(run.mismatch):
        yield f"not found: {run.mismatch}"
    if not measure(comm, job).ok:
        yield "wrong although nothing was spoiled"


def main(cases_file: str, results_file: str) -> None:
    results: dict[str, list[str]] = {}

    def record(name: str, problems: Callable[[], Iterator[str]], comm: MPI.Intracomm) -> None:
        found = [text for texts in comm.allgather(list(problems())) for text in texts]
        results[name] = results.get(name, []) + found

    communicators = {WORLD.size: WORLD}
    for number, (name, solved) in enumerate(pickle.loads(Path(cases_file).read_bytes())):
        collective = MpiCollective(*solved)
        ranks = collective.num_ranks
        if ranks not in communicators:
            communicators[ranks] = WORLD.Split(WORLD.rank < ranks, WORLD.rank)
        comm = communicators[ranks]
        if comm.size != ranks:
            continue  # unused ranks
        kind = str(collective.collective.kind)
        if kind == "custom":
            work = (StoredAlgorithm(*solved[::-1], name),)
            for dtype in DTYPES:
                done = measure(comm, Job(work, (8, 4104), dtype, repeats=1))
                wrong = [str(r.mismatch) for c in done.comparisons for r in c.runs if r.mismatch]
                wrong += [
                    r.reference
                    for c in done.comparisons
                    for r in c.runs
                    if "def" not in r.reference
                ]
                record(f"{name} {dtype}", lambda w=wrong: iter(w), comm)
            continue
        for i, total in enumerate(totals(collective)):
            # Two types on the longest, one on each of the others, and all types over the cases.
            for j, dtype in enumerate(DTYPES):
                if (i + j + number) % (2 if total == LONG else 4):
                    continue
                op = list(OPERATIONS)[(j + number) % 4]
                label = f"{name} {total} {dtype} {op}"
                record(
                    label,
                    lambda t=total, d=dtype, o=op, c=collective, m=comm, n=label: check(
                        n, c, m, t, d, o
                    ),
                    comm,
                )
        work = (StoredAlgorithm(*solved[::-1], name),)
        op = list(OPERATIONS)[(number + 1) % 4]
        done = measure(comm, Job(work, (4104,), "float64", ReduceOp(op), repeats=2))
        wrong = [str(r.mismatch) for c in done.comparisons for r in c.runs if r.mismatch]
        record(f"{name} measured", lambda w=wrong: iter(w), comm)
        if name == "dgx1 allreduce":
            record("refusals", lambda c=collective, m=comm: refusals(c, m), comm)
            record("spoiled", lambda c=collective, m=comm: spoiled(c, m), comm)
    if WORLD.rank == 0:
        Path(results_file).write_text(json.dumps(results))


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except BaseException:
        import traceback

        traceback.print_exc()
        WORLD.Abort(1)
