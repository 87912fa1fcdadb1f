"""C files over MPICH and modules over Gloo on one machine: ratios to the libraries, and the time
that a call adds to the same messages written out by hand.

    python benchmarks/modules.py    # results/modules.md
"""

from __future__ import annotations

import argparse
import os
import pickle
import re
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import syncoll
from benchmarks.tables import RESULTS, Page, made_at
from syncoll.documents import StoredAlgorithm
from syncoll.mpi.exported import run_exported
from syncoll.mpi.launcher import find_mpiexec
from syncoll.mpi.measuring import Job
from syncoll.planning import message_of
from syncoll.plugins import ExporterRecord, ExportRequest
from syncoll.processes import python_command
from syncoll.runtime import export_verified
from syncoll.units import format_size
from syncoll.verbs.frontier import algorithms_of
from syncoll_mpi_c import RECORD as C_FILE
from syncoll_torch import RECORD as MODULE

HERE = Path(__file__).parent
MACHINE, COLLECTIVES = "ring(4)", ("allgather", "allreduce")
SIZES = tuple(1 << power for power in range(10, 27, 4))
"""Bytes of a message, 1 KiB to 64 MiB."""

_ROW = re.compile(r"^ *(\d+) +([\d.]+) +([\d.]+) +[\d.]+$", re.MULTILINE)
_DOUBLE, _SECONDS, _TURNS = 8, 300.0, 3000
_SMALL = 64
"""Elements of a rank in the comparison with messages by hand."""


def algorithm(machine: str, collective: str) -> StoredAlgorithm:
    """The point with the least R/C."""
    frontier = syncoll.pareto(machine, collective, work=5, progress="none")
    return min(algorithms_of(frontier, "benchmarks"), key=lambda one: one.bandwidth)


def text(stored: StoredAlgorithm, record: ExporterRecord) -> bytes:
    """The file of an algorithm."""
    request = ExportRequest(
        "exported", stored.instance.collective, stored.instance, stored.algorithm
    )
    (content,) = export_verified(record, request, {}).exported.files.values()
    return content


def over_mpich(program: Path, ranks: int, *arguments: int) -> str:
    """The output of a program on ranks of this machine."""
    command = [*find_mpiexec().command, "-n", str(ranks), str(program), *map(str, arguments)]
    yielding = {
        "MPIR_CVAR_POLLS_BEFORE_YIELD": "1",
        "MPIR_CVAR_ENABLE_HEAVY_YIELD": "1",
        "MPIR_CVAR_DEVICE_COLLECTIVES": "none",  # its waits take seconds on a shared core
    }
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=True,
        timeout=_SECONDS,
        env={**os.environ, **yielding},
    ).stdout


def compiled(folder: Path, source: Path, *options: str) -> Path:
    """The program of a C file."""
    program = folder / source.stem
    compiler = Path(find_mpiexec().command[0]).with_name("mpicc")
    command = [str(compiler), "-std=c99", "-O2", *options, str(source), "-o", str(program)]
    subprocess.run(command, check=True)
    return program


def rows(collective: str, repeats: int) -> list[str]:
    """A row for each size: the times of the C file, MPICH, the module and Gloo, and the ratios."""
    stored, nodes = algorithm(MACHINE, collective), 4
    per_input = message_of([stored.instance]).per_input
    with tempfile.TemporaryDirectory() as place:
        source = Path(place, "exported.c")
        source.write_bytes(text(stored, C_FILE))
        program = compiled(Path(place), source, "-DSYNCOLL_TEST")
        c_times = []
        for size in SIZES:
            count = int(size / per_input) // _DOUBLE
            found = _ROW.search(over_mpich(program, nodes, count, repeats, count))
            assert found is not None
            c_times.append((float(found[2]) / 1e3, float(found[3]) / 1e3))
    inputs = tuple(int(size / per_input) for size in SIZES)
    (compared,) = run_exported(
        Job((stored,), inputs, repeats=repeats), MODULE, _SECONDS
    ).comparisons
    assert compared.ok
    made = []
    for size, (ours, mpich), run in zip(SIZES, c_times, compared.runs, strict=True):
        module, gloo = 1e3 * median(run.seconds), 1e3 * median(run.reference_seconds)
        made.append(
            f"| {collective} | {format_size(size)} | {ours:.4g} | {mpich:.4g} | {ours / mpich:.2f} "
            f"| {module:.4g} | {gloo:.4g} | {module / gloo:.2f} |"
        )
    return made


def c_overhead() -> tuple[float, float]:
    """Microseconds of a call of the C file, and of the same messages by hand."""
    with tempfile.TemporaryDirectory() as place:
        exported = Path(place, "exported.c")
        exported.write_bytes(text(algorithm("line(2)", "allgather"), C_FILE))
        program = compiled(Path(place), HERE / "modules.c", f'-DEXPORTED="{exported}"')
        ours, by_hand = map(float, over_mpich(program, 2, _TURNS, _SMALL).split())
    return 1e6 * ours, 1e6 * by_hand


def module_overhead() -> tuple[float, float]:
    """Microseconds of a call of the module, and of the same messages by hand."""
    with tempfile.TemporaryDirectory() as place:
        job = Path(place, "job")
        job.write_bytes(pickle.dumps(text(algorithm("line(2)", "allgather"), MODULE)))
        command = python_command("from benchmarks.modules import ranks; ranks(sys.argv[1])", place)
        output = subprocess.run(
            command, capture_output=True, text=True, check=True, timeout=_SECONDS
        ).stdout
    ours, by_hand = map(float, output.split())
    return 1e6 * ours, 1e6 * by_hand


def ranks(place: str) -> None:
    """Two ranks with Gloo; the first prints the seconds of both calls."""
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    rank = 0 if os.fork() else 1
    dist.init_process_group("gloo", init_method=f"file://{place}/store", rank=rank, world_size=2)
    module: dict[str, Any] = {"__name__": "exported"}
    exec(compile(pickle.loads(Path(place, "job").read_bytes()), "exported.py", "exec"), module)
    one, both = torch.zeros(_SMALL), torch.zeros(2 * _SMALL)
    own, other = both.view(2, -1)[rank], both.view(2, -1)[1 - rank]

    def by_hand() -> None:
        own.copy_(one)
        works = dist.irecv(other, 1 - rank), dist.isend(one, 1 - rank)
        for work in works:
            work.wait()

    calls: tuple[Callable[[], object], ...] = (lambda: module["allgather"](both, one), by_hand)
    times: tuple[list[float], ...] = ([], [])
    for _ in range(_TURNS):
        for call, own_times in zip(calls, times, strict=True):
            dist.barrier()
            start = perf_counter()
            call()
            own_times.append(perf_counter() - start)
    if rank == 0:
        print(*(sorted(each)[_TURNS // 100] for each in times), flush=True)
    dist.barrier()
    os._exit(0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=9, help="timed calls")
    parser.add_argument("-o", "--output", type=Path, default=RESULTS / "modules.md")
    arguments = parser.parse_args()
    page = Page(arguments.output)
    page.say("# C files and modules on one machine", "")
    page.say(made_at("exporters"))
    page.say("Made by `python benchmarks/modules.py`.\n")
    page.say(
        f"Four ranks of one machine run the point of {MACHINE} with the least R/C: the C file over",
        "MPICH, the module over PyTorch and Gloo. Ours and the library's own collective take turns",
        f"in one run; times are medians of {arguments.repeats} calls in ms. The links of the plan",
        "are not the memory of this machine: the ratios show the cost of a call, not the gain of",
        "the plan on its own links. Ranks of MPICH that wait leave their core to others",
        "(`MPIR_CVAR_ENABLE_HEAVY_YIELD`), and its collectives over shared memory, which wait for",
        "seconds if ranks share a core, are off (`MPIR_CVAR_DEVICE_COLLECTIVES=none`).",
        "",
        "| collective | message | C file | MPICH | ratio | module | Gloo | ratio |",
        "|---|---|---|---|---|---|---|---|",
    )
    for collective in COLLECTIVES:
        page.say(*rows(collective, arguments.repeats))
    page.say(
        "",
        "## A call against messages by hand",
        "",
        f"An allgather of {_SMALL} elements between two ranks, and the same copy, receive, send",
        f"and waits written out; {_TURNS} calls of each in turn. Times are in us; the fastest",
        "hundredth of the calls ends within them.",
        "",
        "| | exported | by hand | added |",
        "|---|---|---|---|",
    )
    for name, measured in (("C file", c_overhead), ("module", module_overhead)):
        ours, by_hand = measured()
        page.say(f"| {name} | {ours:.1f} | {by_hand:.1f} | {ours - by_hand:.1f} |")
    page.write(None)


if __name__ == "__main__":
    main()
