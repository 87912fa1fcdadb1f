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

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from syncoll.verbs.asking import Progress, What, Where, session_of, verb
from syncoll.verbs.declaration import Shell

if TYPE_CHECKING:
    from syncoll.documents import WITH_ALGORITHMS, StoredAlgorithm, StoredFile
    from syncoll.errors import UsageError, VerificationError
    from syncoll.reporting import Subject
    from syncoll.reporting.page import page
    from syncoll.reporting.times import times_of
    from syncoll.results import Frontier, Point
    from syncoll.simulating import Runtime, given_runtime
    from syncoll.trust import require_valid
    from syncoll.verbs.frontier import FrontierResult, Source, algorithms_of, stored_file
    from syncoll.verbs.report.result import ReportResult
    from syncoll.verbs.simulate.result import classics_of

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
    runtime: str | Path | Runtime = "wire",
    classics: bool | Sequence[str] = True,
    collective: What | None = None,
    topology: Where | None = None,
    progress: Progress = "auto",
) -> ReportResult:
    """One page about a frontier: points, bounds, times, the network and proofs.

    Args:
        path: the file to write; None for no file.
        alpha: latency of a step, such as ``0.7us``; None for the latencies of the machine, or else
            an assumed 1 us.
        beta: bandwidth of a link of one chunk per round, such as ``25GB/s``; None for the bandwidth
            of the machine, or else an assumed 25 GB/s.
        collective: the expected collective, with which more claims can be checked; None for any.
        topology: the expected machine; None for any.

    Raises:
        UsageError: on an invalid number, or if the page cannot be written.
        VerificationError: if an algorithm or a claim does not hold.
    """
    subject = _subject_of(source, collective, topology)
    how, session = given_runtime(runtime)[0], session_of(source)
    times = times_of(
        subject, alpha, beta, how, lambda one: classics_of(session, one, classics, collective)
    )
    found = ReportResult(subject, times, page(subject, times))
    if path is not None:
        found.save(path)
    return found


def _subject_of(source: Source, collective: What | None, topology: Where | None) -> Subject:
    name, digest, checked = "", "", None
    if isinstance(source, str | Path):
        name = Path(source).name
        source = stored_file(source, WITH_ALGORITHMS, "report", topology, collective)
    try:
        if isinstance(source, StoredFile) and source.frontier is not None:
            digest = str(source.document.get("digest", ""))
            source = FrontierResult.of(source.claims(), session=session_of(None))
        if isinstance(source, Frontier):
            found = FrontierResult.of(source)
            if found.evidence is not None:
                checked = found.check(collective, topology=topology)
            return Subject.of_frontier(found, checked, name, digest)
    except VerificationError as error:
        raise VerificationError(f"{name}: {error}" if name else str(error)) from error
    if isinstance(source, Point | StoredAlgorithm):
        require_valid(source.instance, source.algorithm)
    elif not isinstance(source, StoredFile):
        raise UsageError(f"{source!r} is not a frontier, an algorithm or a file of one")
    algorithms = algorithms_of(source, "report", topology, collective)
    stored = source if isinstance(source, StoredFile) else None
    return Subject.of_algorithms(algorithms, stored, name)
