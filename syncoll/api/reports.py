"""Reports in the hands of a user: one page to look at, to send and to print."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from syncoll.api import arguments
from syncoll.api.base import (
    Displayable,
    What,
    Where,
    as_result,
    session_of,
    shows_progress,
    verb,
)
from syncoll.api.frontier import AlgorithmVerbs, FrontierResult, Source
from syncoll.api.simulations import classics_of
from syncoll.documents import (
    WITH_ALGORITHMS,
    StoredAlgorithm,
    StoredFile,
    read_file,
    write_atomically,
    write_folder,
)
from syncoll.errors import UsageError, VerificationError
from syncoll.model import Topology
from syncoll.pages import Page
from syncoll.planning import CostModel, Picture, members_for, unit_bandwidth
from syncoll.reporting import (
    ASSUMED_ALPHA,
    ASSUMED_BANDWIDTH,
    MESSAGES,
    Subject,
    Times,
    figure_files,
    figures,
    framed,
    page,
)
from syncoll.results import Frontier, Point
from syncoll.session import Session
from syncoll.simulating import Semantics, compare, floors, physical_network
from syncoll.trust import require_valid
from syncoll.wording import counted

__all__ = ["ReportResult", "report"]

_DESCRIBED = "as the machine is described"


@dataclass(frozen=True, eq=False, repr=False)
class ReportResult(Displayable):
    """A report, which a notebook shows in a frame.

    Args:
        subject: what it is about, verified.
        times: the model, and times out of it.
        html: the page.
    """

    subject: Subject
    times: Times
    html: str

    def page(self) -> Page:
        """What it is about, in a few lines."""
        found = counted(len(self.subject.entries), "algorithm")
        size = f"{len(self.html.encode()) / 1000:.0f} kB"
        text = f"{self.subject.title}: a report of {size} with {found}; {self.times.words}"
        return Page().text(text)

    def _repr_html_(self) -> str:
        return framed(self.html)

    def figures(self) -> dict[str, Picture]:
        """Pictures for papers by their names: the frontier, times, and steps on the network.

        Raises:
            UsageError: when matplotlib is not installed, or there is no algorithm.
        """
        return figures(self.subject, self.times)

    def save_figures(self, folder: str | Path) -> None:
        """Writes each picture as SVG and as PNG.

        Raises:
            UsageError: as `figures` does, and when they cannot be written.
        """
        write_folder(Path(folder), figure_files(self.subject, self.times))

    def save(self, path: str | Path) -> None:
        """Writes the page.

        Raises:
            UsageError: when it cannot be written.
        """
        write_atomically(Path(path), self.html)


@verb
@shows_progress
def report(
    source: Source,
    path: str | Path | None = None,
    *,
    alpha: float | str | None = None,
    beta: float | str | None = None,
    collective: What | None = None,
    topology: Where | None = None,
    classics: bool | Sequence[str] = True,
    progress: str = "auto",
) -> ReportResult:
    """One page about a frontier, or an answer: points, bounds, times, the network, and the proofs.

    Every algorithm is replayed and every claim checked before; what a file alone cannot prove is
    named on the page.

    Args:
        source: a frontier, an algorithm, or a file of one.
        path: the file to write; None for none.
        alpha: the latency of a step, such as ``0.7us``; None for what the topology says, or else an
            assumed 1 us, and the page says so.
        beta: what a link of one chunk per round carries, such as ``25GB/s``; None for what the
            topology says, or else an assumed 25 GB/s.
        collective: that it must be about, which lets more be checked; None for any.
        topology: likewise.
        classics: whether to simulate the classics as well, or which.
        progress: ``auto``, ``live``, ``plain`` or ``none``.

    Raises:
        UsageError: on a number that makes no sense, or when the page cannot be written.
        VerificationError: when an algorithm or a claim does not hold.
    """
    subject = _subject(source, collective, topology)
    how = usual_model(subject.topology, alpha, beta)
    times = _times(subject, how, session_of(source), classics, collective)
    found = ReportResult(subject, times, page(subject, times))
    if path is not None:
        found.save(path)
    return found


def usual_model(
    topology: Topology, alpha: float | str | None = None, beta: float | str | None = None
) -> tuple[CostModel, str, str]:
    """Alpha and beta, and who says each."""
    bandwidth: Fraction | None = unit_bandwidth(topology)
    latency, alpha_from, beta_from = ASSUMED_ALPHA, "assumed", _DESCRIBED
    if beta is not None:
        bandwidth, beta_from = arguments.bandwidth_of("beta", beta), "given"
    if bandwidth is None:
        bandwidth, beta_from = ASSUMED_BANDWIDTH, "assumed"
    if alpha is not None:
        latency, alpha_from = arguments.time_of("alpha", alpha), "given"
    elif topology.fabric is not None and topology.fabric.states_latencies:
        latency = physical_network(topology, None, bandwidth).greatest_latency
        alpha_from = _DESCRIBED
    return CostModel(latency, bandwidth), alpha_from, beta_from


def _times(
    subject: Subject,
    how: tuple[CostModel, str, str],
    session: Session,
    classics: bool | Sequence[str],
    collective: What | None,
) -> Times:
    """By the formula, and by the simulator where it knows what to do."""
    if not subject.entries:
        return Times.of(subject, *how)
    model, stored = how[0], [one.stored for one in subject.entries]
    least_steps, least_cost = 0, Fraction(0)
    if subject.frontier is not None:
        shown = {(one.steps, one.bandwidth) for one in stored}
        members = members_for(subject.frontier, model, MESSAGES)
        stored += [one for one in members if (one.steps, one.bandwidth) not in shown]
        if subject.frontier.evidence is not None:
            least_steps = subject.frontier.least_steps
            if subject.frontier.max_chunks is None:
                least_cost = subject.frontier.least_bandwidth
    try:
        alpha = None if how[1] == _DESCRIBED else model.alpha
        network = physical_network(subject.topology, alpha, model.bandwidth)
        found, reasons = classics_of(session, stored[0].instance, classics, collective)
        compared = compare(stored, found, network, Semantics(), MESSAGES, reasons)
        node = [compared.message.node_bytes(size) for size in MESSAGES]
        low = floors(
            stored[0].instance, network, node, least_steps=least_steps, least_cost=least_cost
        )
        compared = replace(compared, floors=low)
    except UsageError as error:
        return Times.of(subject, *how, left_out={"simulated times": str(error)})
    return Times.of(subject, *how, compared)


def _subject(source: Source, collective: What | None, topology: Where | None) -> Subject:
    """What is to be shown, verified."""
    name = ""
    if isinstance(source, str | Path):
        name, source = Path(source).name, read_file(Path(source), WITH_ALGORITHMS, "report")
    if isinstance(source, StoredFile):
        try:
            return _of_file(source, name, collective, topology)
        except VerificationError as error:
            raise VerificationError(f"{name}: {error}" if name else str(error)) from error
    if isinstance(source, Frontier):
        found = source if isinstance(source, FrontierResult) else as_result(FrontierResult, source)
        return _of_frontier(found, collective, topology)
    if isinstance(source, Point | AlgorithmVerbs):
        require_valid(source.instance, source.algorithm)
        where = getattr(source, "where", "algorithm")
        stored = StoredAlgorithm(source.instance, source.algorithm, where)
        return _of_algorithms((stored,))
    raise UsageError(f"{source!r} is not a frontier, an algorithm or a file of one")


def _of_frontier(
    frontier: FrontierResult,
    collective: What | None,
    topology: Where | None,
    name: str = "",
    digest: str = "",
) -> Subject:
    checked = None
    if frontier.evidence is not None:
        checked = frontier.check(collective, topology=topology)
    return Subject.of_frontier(frontier, checked, name, digest)


def _of_file(
    stored: StoredFile, name: str, collective: What | None, topology: Where | None
) -> Subject:
    if stored.frontier is not None:
        frontier = as_result(FrontierResult, stored.claims(), session=session_of(None))
        digest = str(stored.document.get("digest", ""))
        return _of_frontier(frontier, collective, topology, name, digest)
    if stored.algorithms:
        return _of_algorithms(stored.algorithms, name)
    instance = stored.instances[0]
    verdict, reason = (str(stored.document.get(key, "")) for key in ("verdict", "reason"))
    answer = (
        f"{verdict or 'no algorithm'}: {instance.collective} with C = {instance.chunks}, "
        f"S = {instance.steps}, R = {instance.rounds}" + (f" ({reason})." if reason else ".")
    )
    return Subject.of_answer(stored.topology, stored.collective, (), answer, name)


def _of_algorithms(algorithms: tuple[StoredAlgorithm, ...], name: str = "") -> Subject:
    instance = algorithms[0].instance
    answer = (
        f"An algorithm of C = {algorithms[0].chunks}, S = {algorithms[0].steps}, "
        f"R = {algorithms[0].rounds}, replayed send by send."
    )
    return Subject.of_answer(instance.topology, instance.collective, algorithms, answer, name)
