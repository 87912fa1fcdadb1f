"""Fits the costs of a runtime to measurements of a machine: the cost of a call, hops and shares of
links for each protocol.  The file of -o is a runtime for --runtime of other commands.

  syncoll calibrate allreduce.log --machine "dgx_h100(boxes=2)" -o ours.toml
  syncoll calibrate one.log two.log --machine "dgx_h100(boxes=n)" -o ours.toml
  syncoll simulate frontier.json --runtime ours.toml

Three rows suffice; more rows move more of the costs.  A LOG is the output of nccl-tests,
rccl-tests, mscclpp-test or the OSU micro-benchmarks, also pasted from a terminal.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from syncoll.verbs.asking import Progress, Where, session_for, verb
from syncoll.verbs.declaration import Shell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from syncoll.measuring.fit import Sample, fit as fitted
    from syncoll.planning import message_of_collective
    from syncoll.simulating import runtime as runtime_of
    from syncoll.verbs.calibrate.result import CalibrationResult
    from syncoll.verbs.measured import (
        STARTS,
        library_ways,
        measured_runs,
        network_of,
        samples_of,
        variants_of,
    )

__all__ = ["calibrate"]

SHELL = Shell(
    {
        "logs": ("logs LOG ...", "the outputs of benchmarks"),
        "machine": "--machine MACHINE",
        "column": "--column out-of-place|in-place",
    },
    {"-o, --output FILE": "save the runtime, such as ours.toml"},
    groups={"format": ""},
    defaults={"kinds": {}},
)


@verb
def calibrate(
    logs: str | Path | Sequence[str | Path],
    *,
    machine: Where,
    collective: str | None = None,
    ranks: int | None = None,
    column: Literal["out-of-place", "in-place"] = "out-of-place",
    runtime: str | Path | None = None,
    alpha: float | str | None = None,
    beta: float | str | None = None,
    progress: Progress = "auto",
) -> CalibrationResult:
    """The costs of a runtime that fit measurements.

    Args:
        logs: files of benchmarks' outputs.
        machine: see `ceiling`.
        collective: see `ceiling`.
        ranks: see `ceiling`.
        column: see `ceiling`.
        runtime: from which the fit starts; None for the runtime of the benchmark.
        alpha: see `ceiling`.
        beta: see `pareto`.
        progress: ``auto``, ``live``, ``plain`` or ``none``.

    Raises:
        UsageError: if a log cannot be read, contradicts the machine, or there are too few rows.
    """
    session, samples, known = session_for(), list[Sample](), dict[tuple[str, str], Any]()
    files = [logs] if isinstance(logs, str | Path) else list(logs)
    start = runtime
    for file in files:
        for one in measured_runs(session, file, machine, collective, ranks, column):
            start = start or STARTS[one.run.program]
            topology, kind = one.topology, one.collective
            if (key := (one.machine, kind.name)) not in known:
                each = [network_of(x, alpha, beta) for x in variants_of(session, topology)]
                known[key] = library_ways(session, kind, each)
            measured = message_of_collective(kind, topology.num_nodes).kind
            samples += samples_of(one.run, one.times, known[key], measured, str(file))
    return CalibrationResult(fitted(samples, runtime_of(start or "nccl")), tuple(map(str, files)))
