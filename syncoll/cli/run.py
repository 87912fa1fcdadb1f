"""``syncoll run FILE``: executes what a file holds, on data."""

from __future__ import annotations

import argparse
from pathlib import Path

from syncoll.cli.arguments import Subparsers, add_format, amount, count, duration, memory
from syncoll.cli.exits import Exit
from syncoll.errors import UsageError
from syncoll.wording import counted

__all__ = ["add_parser"]

_DESCRIPTION = """\
Runs every algorithm of a file (a frontier, an outcome or an algorithm) on random data, step by
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
  syncoll run frontier.json --via mpi -n 8 --sizes 4KiB,1MiB
  mpiexec -n 8 -hosts one,two syncoll run frontier.json --via mpi
"""

_SIZE = 1 << 20
_REPEATS = 10
_SECONDS = 120.0


def add_parser(commands: Subparsers[argparse.ArgumentParser]) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "run",
        help="run every algorithm of a file on data, and compare with the definition",
        description=_DESCRIPTION,
    )
    parser.add_argument("file", metavar="FILE", type=Path, help="saved with -o")
    parser.add_argument(
        "--size",
        type=memory,
        metavar="SIZE",
        help="of one node's data, such as 64KiB (default: 1MiB; via mpi 4KiB, 64KiB and 1MiB)",
    )
    parser.add_argument(
        "--via",
        choices=("memory", "mpi"),
        default="memory",
        help="memory: all nodes in this process; mpi: a process for each (default: memory)",
    )
    parser.add_argument(
        "--dtype",
        type=_dtype,
        choices=("float32", "float64", "float16", "bfloat16", "int32", "int64", "int8"),
        default="float32",
        help="type of the elements; fp16 and bf16 are float16 and bfloat16, which are reduced in "
        "float32 and rounded after each operation (default: float32)",
    )
    parser.add_argument(
        "--op",
        choices=("sum", "prod", "max", "min"),
        default="sum",
        help="how combining collectives reduce (default: sum)",
    )
    parser.add_argument(
        "--seed", type=amount, default=0, metavar="N", help="of the random data (default: 0)"
    )
    group = parser.add_argument_group("via mpi")
    group.add_argument(
        "-n", dest="ranks", type=count, metavar="N", help="processes: as many as nodes (default)"
    )
    group.add_argument(
        "--sizes", type=_sizes, metavar="A,B,...", help="several sizes, one after the other"
    )
    group.add_argument(
        "--repeats",
        type=count,
        metavar="N",
        help=f"how often each is timed (default: {_REPEATS})",
    )
    group.add_argument(
        "--time-limit",
        type=duration,
        metavar="TIME",
        help=f"of everything, such as 30s; then all processes are ended (default: {_SECONDS:g}s)",
    )
    add_format(parser)
    parser.set_defaults(run=_run)


def _dtype(text: str) -> str:
    """The name of a type, from the short one that people use."""
    short = {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64"}
    return short.get(text, text)


def _sizes(text: str) -> tuple[int, ...]:
    """Sizes with commas between."""
    return tuple(memory(part) for part in text.split(","))


def _run(arguments: argparse.Namespace) -> int:
    if arguments.via == "mpi":
        from syncoll.cli.over_mpi import run_over_mpi

        arguments.repeats = arguments.repeats or _REPEATS
        if arguments.time_limit is None:
            arguments.time_limit = _SECONDS
        return run_over_mpi(arguments)
    for option, value in (
        ("-n", arguments.ranks),
        ("--sizes", arguments.sizes),
        ("--repeats", arguments.repeats),
        ("--time-limit", arguments.time_limit),
    ):
        if value is not None:
            raise UsageError(f"{option} is for --via mpi; add that, or leave {option} out")
    return _in_memory(arguments)


def _in_memory(arguments: argparse.Namespace) -> int:
    from syncoll.cli.output import note, print_json, print_table, print_text
    from syncoll.documents import read_file
    from syncoll.trust.data import ReduceOp, Workload, execute

    operation = ReduceOp(arguments.op)
    size = _SIZE if arguments.size is None else arguments.size
    workload = Workload(size, arguments.dtype, operation, arguments.seed)
    stored = read_file(arguments.file)
    done = [(one, execute(one.instance, one.algorithm, workload)) for one in stored.algorithms]
    combining = any(one.instance.combining for one in stored.algorithms)
    if arguments.format == "json":
        print_json(
            {
                "schema": "syncoll/execution/1",
                "file": str(arguments.file),
                "kind": stored.kind,
                "topology": stored.topology.name,
                "collective": stored.collective,
                "size": workload.size,
                "dtype": workload.dtype,
                "operation": str(operation) if combining else None,
                "seed": workload.seed,
                "algorithms": [
                    {
                        "where": one.where,
                        "chunks": one.instance.chunks,
                        "steps": result.steps,
                        "bytes_sent": result.bytes_sent,
                        "largest_error": result.largest_error,
                        "ok": result.ok,
                        "mismatch": None if result.mismatch is None else result.mismatch.message,
                    }
                    for one, result in done
                ],
            }
        )
    else:
        how = f", reduced with {operation}" if combining else ""
        print_text(
            f"{stored.kind}: {stored.collective} on {stored.topology.name}; "
            f"{counted(workload.size, 'byte')} of {workload.dtype} a node{how}\n"
        )
        columns = ("algorithm", ">chunks C", ">steps", ">bytes sent", ">max abs error", "result")
        rows = [
            (
                one.where,
                one.instance.chunks,
                result.steps,
                result.bytes_sent,
                f"{result.largest_error:.3g}",
                "OK" if result.ok else "WRONG",
            )
            for one, result in done
        ]
        print_table(columns, rows)
        if not rows:
            print_text("no algorithm in it; nothing to run")
    for one, result in done:
        if result.mismatch is not None:
            note(f"syncoll: {arguments.file}: {one.where}: {result.mismatch.message}")
    return Exit.OK if all(result.ok for _, result in done) else Exit.BAD_INPUT
