"""Fits the costs of a runtime to measurements of a machine: the cost of a call, hops and shares of
links for each protocol.  The file of -o is a runtime for --runtime of other commands.

  syncoll calibrate allreduce.log --machine "dgx_h100(boxes=2)" -o ours.toml
  syncoll calibrate one.log two.log --machine "dgx_h100(boxes=n)" -o ours.toml
  syncoll simulate frontier.json --runtime ours.toml

Three rows suffice; more rows move more of the costs.  A LOG is the output of nccl-tests,
rccl-tests, mscclpp-test or the OSU micro-benchmarks, also pasted from a terminal.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from syncoll.verbs.asking import Progress, Where, session_for, verb
from syncoll.verbs.declaration import Shell

if TYPE_CHECKING:
    from syncoll.measuring.fit import fit
    from syncoll.simulating import runtime as runtime_of
    from syncoll.values import listed
    from syncoll.verbs.calibrate.result import CalibrationResult
    from syncoll.verbs.measured import STARTS, measured_runs

SHELL = Shell(
    {"logs": ("logs LOG ...", "the outputs of benchmarks")},
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
        collective: of runs that do not show theirs.
        runtime: from which the fit starts; None for the runtime of the benchmark.

    Raises:
        UsageError: if a log cannot be read, contradicts the machine, or there are too few rows.
    """
    session, how = session_for(), (machine, collective, ranks, column, (alpha, beta))
    runs = [one for file in listed(logs) for one in measured_runs(session, file, *how)]
    start = runtime_of(runtime or STARTS[runs[0].run.program])
    samples = [row for one in runs for row in one.samples]
    return CalibrationResult.of(fit(samples, start))
