"""Runs every algorithm of a file (a frontier, an outcome or an algorithm) on random data, step by
step, with a buffer for each node, and compares what the nodes end with to the collective's
definition, computed directly.  It is a second check beside `syncoll verify`, with which it shares
no code.

Copies, integers (which wrap around), maxima and minima must agree bit for bit; sums of k floats to
k * eps times the sum of their magnitudes, products to k * eps times the product (eps is 2^-23 of
float32, 2^-10 of float16, 2^-7 of bfloat16).  An algorithm that
does not do what its collective demands ends with exit code 2 and the first chunk and node that are
wrong.

With --via mpi each node is a process of its own: the algorithms run over MPI on buffers in MPI's
own layout, are compared with MPI's own collective, and both are timed for each size.  A collective
that MPI does not have is compared with its definition.  It needs the extra syncoll[mpi] and starts
the processes by itself; started with mpiexec, as on several machines, it runs in those processes.

  syncoll run frontier.json
  syncoll run frontier.json --size 64MiB --dtype int64 --op max
  syncoll run frontier.json --point 20,20,54
  syncoll run frontier.json --via mpi -n 8 --sizes 4KiB,1MiB
  mpiexec -n 8 -hosts one,two syncoll run frontier.json --via mpi
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from fractions import Fraction
from statistics import median
from typing import Any

import syncoll
from syncoll.api.runs import SHORT_TYPES
from syncoll.cli.exits import Exit
from syncoll.cli.options import FILE, FORMAT, Declared, add
from syncoll.cli.output import note, picked, print_json, print_page, print_text
from syncoll.cli.points import add_point, chosen
from syncoll.documents import WITH_ALGORITHMS, StoredFile, read_file
from syncoll.errors import ExecutionError
from syncoll.pages.execution import execution_page, mpi_page
from syncoll.planning import message_of
from syncoll.trust.data import dtype_of
from syncoll.wording import counted

_SIZE = 1 << 20

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own."""
    add(parser, FILE)
    add_point(parser)
    declared: Declared = {
        "--size SIZE": "of the message as nccl-tests counts it: of an allgather or gather the "
        "output, else the largest input of a node, in whole elements (default: 1MiB; via mpi "
        "4KiB, 64KiB and 1MiB)",
        "--via memory|mpi": "memory: all nodes in this process; mpi: a process for each",
        "--dtype float32|float64|float16|bfloat16|int32|int64|int8": (
            _dtype,
            "type of the elements; fp16 and bf16 are float16 and bfloat16, which are reduced in "
            "float32 and rounded after each operation",
        ),
        "--op sum|prod|max|min": "how combining collectives reduce",
        "--seed N = 0": "of the random data",
    }
    add(parser, declared)
    declared = {
        "-n, --ranks N": "processes: as many as nodes (default)",
        "--sizes A,B,...": "several sizes, one after the other, also FROM..TO or FROM:TO in steps "
        "of a factor of 4",
        "--repeats N": "how often each is timed (default: 10)",
        "--time-limit TIME": "of everything, such as 30s; then all processes are ended (default: "
        "120s)",
    }
    add(parser.add_argument_group("via mpi"), declared)
    add(parser, FORMAT)


def _dtype(text: str) -> str:
    """The name of a type, from the short one that people use."""
    return SHORT_TYPES.get(text, text)


def run(arguments: argparse.Namespace) -> int:
    """Runs the command; its exit code."""
    stored = read_file(arguments.file, WITH_ALGORITHMS, "run")
    if arguments.point is not None:
        taken = chosen(stored, arguments.point, arguments.file, "run")
        stored = replace(stored, algorithms=taken)
    names = "size dtype op seed via ranks sizes repeats time_limit"
    try:
        done: list[Any] = list(syncoll.run(stored, **picked(arguments, names)))
    except ExecutionError as error:
        note(f"syncoll: {arguments.file}: {error}")
        return Exit.UNDECIDED if error.timed_out else Exit.BAD_INPUT
    if arguments.via == "mpi":
        return _over_mpi(arguments, stored, done)
    message = message_of(stored.instances)
    asked = _SIZE if arguments.size is None else arguments.size
    width = dtype_of(arguments.dtype).itemsize
    total = int(message.input_bytes(asked, width) * message.per_input)
    combining = any(one.instance.combining for one in stored.algorithms)
    ran = list(zip(stored.algorithms, done, strict=True))
    if arguments.format == "json":
        print_json(
            {
                "schema": "syncoll/execution/2",
                **_about(arguments, stored, combining),
                "message_bytes": total,
                "algorithms": [
                    {
                        "where": one.where,
                        "chunks": one.chunks,
                        **picked(result, "steps bytes_sent largest_error ok"),
                        "mismatch": None if result.mismatch is None else result.mismatch.message,
                    }
                    for one, result in ran
                ],
            }
        )
    else:
        how = f", reduced with {arguments.op}" if combining else ""
        print_text(
            f"{stored.kind}: {stored.collective} on {stored.topology.name}; a message of "
            f"{counted(total, 'byte')} of {arguments.dtype}{how}\n"
        )
        print_page(execution_page(ran))
    for one, result in ran:
        if result.mismatch is not None:
            note(f"syncoll: {arguments.file}: {one.where}: {result.mismatch.message}")
    return Exit.OK if all(one.ok for one in done) else Exit.BAD_INPUT


def _about(arguments: argparse.Namespace, stored: StoredFile, combining: bool) -> dict[str, Any]:
    return {
        "file": str(arguments.file),
        "kind": stored.kind,
        "topology": stored.topology.name,
        "collective": stored.collective,
        "dtype": arguments.dtype,
        "operation": arguments.op if combining else None,
        "seed": arguments.seed,
    }


def _over_mpi(arguments: argparse.Namespace, stored: StoredFile, done: list[Any]) -> int:
    if not stored.algorithms:
        print_text(f"{arguments.file}: no algorithm in it; nothing to run")
    if not done:  # or another rank prints it
        return Exit.OK
    job, result = done[0].job, done[0].result
    per_input = message_of(one.instance for one in job.work).per_input
    if arguments.format == "json":
        combining = any(one.instance.combining for one in stored.algorithms)
        print_json(
            {
                "schema": "syncoll/mpi-execution/2",
                "version": syncoll.__version__,
                **_about(arguments, stored, combining),
                "machines": result.hosts,
                **picked(result, "ranks cores library mpi4py ok"),
                "shows": "correctness" if result.hosts == 1 else "correctness and speed",
                "messages": [int(size * per_input) for size in job.sizes],
                "repeats": job.repeats,
                "algorithms": [
                    {
                        **picked(one, "where chunks steps rounds"),
                        "does": compared.does,
                        "ok": compared.ok,
                        "runs": [_run_document(run, per_input) for run in compared.runs],
                    }
                    for one, compared in zip(stored.algorithms, done, strict=True)
                ],
            }
        )
    else:
        print_page(mpi_page(job, result))
    for compared in done:
        for run in compared.runs:
            if run.mismatch is not None:
                where = f"{compared.where} with a message of {int(run.size * per_input)} bytes"
                note(f"syncoll: {arguments.file}: {where}: {run.mismatch}")
    return Exit.OK if result.ok else Exit.BAD_INPUT


def _run_document(run: Any, per_input: Fraction) -> dict[str, Any]:
    def seconds(times: tuple[float, ...]) -> dict[str, float] | None:
        if not times:
            return None
        return {"median": median(times), "least": min(times), "most": max(times)}

    return {
        "message_bytes": int(run.size * per_input),
        **picked(run, "largest_error bound_used mismatch"),
        "elements": run.total,
        "compared_with": run.reference,
        "seconds": seconds(run.seconds),
        "mpi_seconds": seconds(run.reference_seconds),
        "ok": run.mismatch is None,
    }
