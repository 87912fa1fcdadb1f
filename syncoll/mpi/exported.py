"""Runs exported files on processes or devices of this machine, and measures them.

As over MPI (`syncoll.mpi.measuring`), but the results are compared with the definition of the
collective, and the library's own collective is only timed.
"""

import importlib
import os
import pickle
import traceback
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from types import SimpleNamespace
from typing import Any, cast

from syncoll.errors import SyncollError, UsageError
from syncoll.mpi.collective import MpiCollective
from syncoll.mpi.launcher import supervised
from syncoll.mpi.measuring import Job, MpiComparison, Result, Run, describe, run_of, used, whole
from syncoll.mpi.rank import JOB, Watch, watch_of, write_result, write_text
from syncoll.mpi.reference import DefinitionReference
from syncoll.plugins import ExporterRecord, ExportRequest, Ranks
from syncoll.processes import available_cores, python_command
from syncoll.runtime import Kind, export_verified
from syncoll.trust.data import Workload
from syncoll.wording import counted

_START = "from syncoll.mpi.exported import main; main(sys.argv[1])"


def run_exported(job: Job, record: ExporterRecord, seconds: float) -> Result:
    """Exports the algorithms of a job, runs the files, and returns the measured times.

    Raises:
        UsageError: if the library is not installed.
        ExportError: if an algorithm cannot be exported.
        ExecutionError: if a process failed, or the time was up.
    """
    name = record.name
    if find_spec(name) is None:
        raise UsageError(
            f"running over {name} needs {name}; install it with `pip install 'syncoll[{name}]'`"
        )
    texts = []
    for one in job.work:
        request = ExportRequest("exported", one.instance.collective, one.instance, one.algorithm)
        (content,) = export_verified(record, request, {}).exported.files.values()
        texts.append(content.decode())
    command = python_command(_START, "{folder}")
    return supervised(job, (record.runs, texts), command, name, seconds)


def main(name: str) -> None:
    """Runs the job in a folder; other processes are started from this one."""
    folder = Path(name)
    job, ranks, parent, seconds, start, texts = pickle.loads((folder / JOB).read_bytes())
    module, _, function = start.partition(":")
    (folder / "ranks").mkdir()
    started: Ranks = getattr(importlib.import_module(module), function)(ranks, folder / "ranks")
    rank = started.local[0]
    watch = watch_of(folder, rank, seconds, parent)
    try:
        result = _measure(started, job, texts, watch)
        if rank == 0:
            write_result(folder, result)
        started.everyone(None)
    except BaseException as error:
        known = isinstance(error, SyncollError)
        write_text(folder / f"failed.{rank}", str(error) if known else traceback.format_exc())
        os._exit(1)
    os._exit(0)  # other threads of the library may run


def _measure(ranks: Ranks, job: Job, texts: list[str], watch: Watch) -> Result:
    comparisons = []
    for work, text in zip(job.work, texts, strict=True):
        collective = MpiCollective(work.algorithm, work.instance)
        runs = []
        for size in job.sizes:
            watch.tell(f"{work.where} with {counted(size, 'byte')}")
            runs.append(_run(ranks, collective, text, job.workload(size), job.repeats))
        comparisons.append(MpiComparison(work.where, str(collective.collective), tuple(runs)))
    nodes = job.work[0].instance.topology.num_nodes
    return Result(nodes, 1, available_cores(), ranks.name, "", tuple(comparisons))


def _run(
    ranks: Ranks, collective: MpiCollective, text: str, workload: Workload, repeats: int
) -> Run:
    total = whole(collective, workload.elements)
    if collective.collective.kind is Kind.CUSTOM:  # chunks of one length
        total += -total % collective.instance.num_chunks
    shares, op = collective.shares(total), str(workload.operation)
    inputs = [workload.draw(int(shares.inputs[rank]), rank) for rank in ranks.local]
    lengths = [int(shares.outputs[rank]) for rank in ranks.local]
    reference = DefinitionReference(collective, total, workload)
    demands = [
        reference.demand(cast(Any, SimpleNamespace(rank=rank)), send, length)
        for rank, send, length in zip(ranks.local, inputs, lengths, strict=True)
    ]
    ours = ranks.exported(text, inputs, lengths, op, total)
    what = collective.collective
    theirs = ranks.library(str(what.kind), what.root or 0, inputs, lengths, op)
    calls = [ours.run, *([theirs[1].run] if theirs is not None else [])]
    times: tuple[list[float], list[float]] = ([], [])
    for turn in range(repeats + 1):
        for one, call in zip(times, calls, strict=False):
            ranks.everyone(None)
            start = perf_counter()
            call()
            if turn:  # the first calls prepare
                one.append(perf_counter() - start)
    mine = []
    for rank, demand, found in zip(ranks.local, demands, ours.results(), strict=True):
        words = describe(demand, found, rank, collective, shares, reference.name)
        mine.append((demand.error(found), used(demand, found), words))
    every = ranks.everyone((times, mine))
    name = reference.name + ("" if theirs is None else f"; timed with {theirs[0]}")
    each = [one for _, some in every for one in some]
    return run_of(workload, total, name, [one for one, _ in every], each)
