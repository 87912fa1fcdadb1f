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

    from syncoll.documents import WITH_ALGORITHMS, StoredAlgorithm, StoredFile
    from syncoll.errors import UsageError, VerificationError
    from syncoll.model import Instance
    from syncoll.planning import members_for
    from syncoll.reporting import MESSAGES, ReportEntry, Subject, Times
    from syncoll.reporting.page import page
    from syncoll.reporting.times import DESCRIBED, usual_model
    from syncoll.results import Frontier, Point
    from syncoll.session import Session
    from syncoll.simulating import (
        Runtime,
        Semantics,
        compare,
        given_runtime,
        physical_network,
        with_floors,
    )
    from syncoll.trust import require_valid
    from syncoll.verbs.frontier import (
        AlgorithmVerbs,
        FrontierResult,
        Source,
        algorithms_of,
        stored_file,
    )
    from syncoll.verbs.report.result import ReportResult
    from syncoll.verbs.simulate.result import classics_of

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
    runtime: str | Path | Runtime = "wire",
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
        runtime: see `simulate`.
        classics: see `simulate`.
        collective: the expected collective, with which more claims can be checked; None for any.
        topology: the expected machine; None for any.
        progress: ``auto``, ``live``, ``plain`` or ``none``.

    Raises:
        UsageError: on an invalid number, or if the page cannot be written.
        VerificationError: if an algorithm or a claim does not hold.
    """
    subject = _subject_of(source, collective, topology)
    how = given_runtime(runtime)[0]
    times = _times_of(subject, alpha, beta, how, session_of(source), classics, collective)
    found = ReportResult(subject, times, page(subject, times))
    if path is not None:
        found.save(path)
    return found


def _times_of(
    subject: Subject,
    alpha: float | str | None,
    beta: float | str | None,
    runtime: Runtime,
    session: Session,
    classics: bool | Sequence[str],
    collective: What | None,
) -> Times:
    """Times by the formula, and by the simulator if it can simulate the algorithms."""
    how = usual_model(subject.topology, alpha, beta)
    if not subject.entries:
        return Times.of(subject, *how)
    model, stored = how[0], [one.stored for one in subject.entries]
    try:
        latency = None if how[1] == DESCRIBED else model.alpha
        network = physical_network(subject.topology, latency, model.bandwidth)
    except UsageError as error:
        return Times.of(subject, *how, left_out={"simulated times": str(error)})
    if subject.frontier is not None:
        shown = {(one.steps, one.bandwidth) for one in stored}
        models = runtime.models(network, Semantics())
        members = members_for(subject.frontier, models, MESSAGES)
        stored += [one for one in members if (one.steps, one.bandwidth) not in shown]
    try:
        found, reasons = classics_of(session, stored[0].instance, classics, collective)
        compared = compare(stored, found, network, Semantics(), MESSAGES, reasons, runtime)
        compared = with_floors(compared, subject.frontier)
    except UsageError as error:
        return Times.of(subject, *how, left_out={"simulated times": str(error)})
    return Times.of(subject, *how, compared)


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
    if isinstance(source, Point | AlgorithmVerbs):
        require_valid(source.instance, source.algorithm)
    elif not isinstance(source, StoredFile):
        raise UsageError(f"{source!r} is not a frontier, an algorithm or a file of one")
    algorithms = algorithms_of(source, "report", topology, collective)
    if isinstance(source, StoredFile) and not algorithms:
        asked = source.instances[0]
        verdict, reason = (str(source.document.get(key, "")) for key in ("verdict", "reason"))
        answer = f"{verdict or 'no algorithm'}: {asked.collective} with {_costs(asked)}"
        answer += f" ({reason})." if reason else "."
    else:
        asked = algorithms[0].instance
        answer = f"An algorithm of {_costs(algorithms[0])}, replayed send by send.  "
        answer = (answer + algorithms[0].derived).rstrip()
    entries = tuple(ReportEntry(one, "open", "not looked at") for one in algorithms)
    return Subject(asked.topology, asked.collective, entries, answer=answer, source=name)


def _costs(one: Instance | StoredAlgorithm) -> str:
    return f"C = {one.chunks}, S = {one.steps}, R = {one.rounds}"
