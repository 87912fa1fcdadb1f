"""Compares a measurement with the proved limits of its machine: for each size of a log the rate,
the ceiling that no algorithm exceeds, without and with sums in switches, and the share of it that
is reached.  It names the lanes that bind, the limits of the library's own algorithms, and rows
that contradict the machine or themselves.

  syncoll ceiling "dgx_h100(boxes=2)" allreduce.log
  syncoll ceiling "dgx_h100(boxes=n)" all-runs.log
  syncoll ceiling "nvidia-smi(boxes=2,card=400Gb/s):topo.txt" allreduce.log
  syncoll ceiling "dgx_h100(boxes=2)" allreduce.log --to tuner -o tuner.csv

LOG is the output of nccl-tests, rccl-tests, mscclpp-test or the OSU micro-benchmarks, also pasted
from a terminal, with several runs.  docs/ceiling.md explains each column.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from syncoll.verbs.asking import Progress, Where, deadline_of, session_for, verb
from syncoll.verbs.declaration import Shell

if TYPE_CHECKING:
    from syncoll.verbs.ceiling.result import CeilingResult, ceilings_of
    from syncoll.verbs.measured import measured_runs

SHELL = Shell(
    {
        "machine": (
            "machine MACHINE",
            'such as "dgx_h100(boxes=2)", a family "dgx_h100(boxes=n)", FILE:NAME or IMPORTER:FILE',
        ),
        "log": ("log LOG", "the output of a benchmark"),
    },
    {"-o, --output FILE": "save the table, or with --to the settings"},
    groups={"to": "files", "format": ""},
    defaults={"kinds": {}},
)


@verb
def ceiling(
    machine: Where,
    log: str | Path,
    *,
    collective: str | None = None,
    ranks: int | None = None,
    column: Literal["out-of-place", "in-place"] = "out-of-place",
    alpha: float | str | None = None,
    beta: float | str | None = None,
    runtime: str | Path | None = None,
    time_limit: float | str | None = None,
    to: Literal["tuner"] | None = None,
    progress: Progress = "auto",
) -> CeilingResult:
    """The proved limits of a machine, and a measurement on it.

    Args:
        log: the file of a benchmark's output.
        collective: of runs that do not show theirs.
        runtime: from which the settings of `to` are fitted; None for the benchmark's.
        time_limit: for the bounds, such as ``30s``; None for about 20 s for each bound.
        to: ``tuner``: the settings by which the library would be faster, in the format of NCCL's
            example tuner plug-in.

    Raises:
        UsageError: if the log cannot be read, or contradicts the machine.
    """
    session, until = session_for(), deadline_of(time_limit)
    about = machine, collective, ranks, column, (alpha, beta)
    runs = measured_runs(session, log, *about, until)
    with session.limited():
        found = [ceilings_of(session, one, until) for one in runs]
    return CeilingResult(tuple(found), str(log), column, runtime, to)
