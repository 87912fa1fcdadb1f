"""Writes one page about a frontier, or an answer, to look at, to send and to print.  Time, speed-up
and distance from the bound at three message sizes come first.  Then follow all points and times,
every step on the network, the proofs, the assumptions, and the commands to reproduce it.

Every algorithm is replayed and every claim checked before it is shown.  With --collective and
--topology so are claims that a file alone cannot prove, as by `syncoll check`.  The page is one
file that loads nothing when it is opened.

Times are simulated as by `syncoll simulate`, with the classics that run on this machine, and by the
formula S * alpha + (R/C) * L * beta.  --alpha is the latency of a step, --beta the bandwidth of a
link of one chunk per round.  If neither the command nor the machine has them they are assumed.  The
page says so, and its reader can change them.

  syncoll report frontier.json -o report.html
  syncoll report frontier.json --alpha 0.7us --beta 25GB/s --collective allgather -o report.html
  syncoll report frontier.json --figures figures
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncoll.verbs.asking import Progress, What, Where, session_of, verb
from syncoll.verbs.declaration import Shell

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from syncoll.reporting.page import page
    from syncoll.verbs.frontier import Source
    from syncoll.verbs.report.result import ReportResult
    from syncoll.verbs.report.subject import subject_of, times_of

__all__ = ["report"]

SHELL = Shell(
    {"path": ""},
    {
        "-o, --output PAGE = report.html": "the page to write; - for standard output",
        "--figures FOLDER": "also draw figures for papers, each as SVG and as PNG",
    },
    formats=False,
)


@verb
def report(
    source: Source,
    path: str | Path | None = None,
    *,
    alpha: float | str | None = None,
    beta: float | str | None = None,
    classics: bool | Sequence[str] = True,
    collective: What | None = None,
    topology: Where | None = None,
    progress: Progress = "auto",
) -> ReportResult:
    """One page about a frontier: points, bounds, times, the network and proofs.

    Args:
        source: a frontier, an algorithm, or a file of one.
        path: the file to write; None for no file.
        alpha: latency of a step, such as ``0.7us``; None for the latencies of the machine, or else
            an assumed 1 us.
        beta: bandwidth of a link of one chunk per round, such as ``25GB/s``; None for the bandwidth
            of the machine, or else an assumed 25 GB/s.
        classics: see `simulate`.
        collective: the expected collective, with which more claims can be checked; None for any.
        topology: the expected machine; None for any.
        progress: ``auto``, ``live``, ``plain`` or ``none``.

    Raises:
        UsageError: on an invalid number, or if the page cannot be written.
        VerificationError: if an algorithm or a claim does not hold.
    """
    subject = subject_of(source, collective, topology)
    times = times_of(subject, alpha, beta, session_of(source), classics, collective)
    found = ReportResult(subject, times, page(subject, times))
    if path is not None:
        found.save(path)
    return found
