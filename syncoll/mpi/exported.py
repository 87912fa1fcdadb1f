"""Runs exported files on processes or devices of this machine, and measures them.

As over MPI (`syncoll.mpi.measuring`), but the results are compared with the definition of the
collective, and the library's own collective is only timed.
"""

import importlib
import math
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
from syncoll.mpi.measuring import Job, MpiComparison, Result, Run, describe, used, whole
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
    times: list[list[float]] = [[] for _ in calls]
    for turn in range(repeats + 1):
        for one, call in zip(times, calls, strict=True):
            ranks.everyone(None)
            start = perf_counter()
            call()
            if turn:  # the first calls prepare
                one.append(perf_counter() - start)
    errors, bounds, mismatches = [], [], []
    for rank, demand, found in zip(ranks.local, demands, ours.results(), strict=True):
        error = demand.error(found)
        errors.append(math.inf if math.isnan(error) else error)
        bounds.append(used(demand, found))
        words = describe(demand, found, rank, collective, shares, reference.name)
        mismatches.append(words)
    every = ranks.everyone((times, errors, bounds, mismatches))
    most = max(error for one in every for error in one[1])
    slowest = [
        tuple(max(column) for column in zip(*(one[0][which] for one in every), strict=True))
        for which in range(len(calls))
    ]
    problems = [words for one in every for words in one[3] if words is not None]
    return Run(
        workload.size,
        total,
        reference.name + ("" if theirs is None else f"; timed with {theirs[0]}"),
        slowest[0],
        slowest[1] if theirs is not None else (),
        most if math.isfinite(most) else None,
        max((share for one in every for share in one[2] if share is not None), default=None),
        problems[0] if problems else None,
    )
