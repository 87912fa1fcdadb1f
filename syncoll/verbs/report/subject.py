"""The subject of a report, verified, and its times."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from syncoll.documents import WITH_ALGORITHMS, StoredAlgorithm, StoredFile, read_file
from syncoll.errors import UsageError, VerificationError
from syncoll.planning import members_for
from syncoll.reporting import MESSAGES, Subject, Times
from syncoll.reporting.usual_model import DESCRIBED, usual_model
from syncoll.results import Frontier, Point
from syncoll.session import Session
from syncoll.simulating import Semantics, compare, physical_network, with_floors
from syncoll.trust import require_valid
from syncoll.verbs.asking import What, Where, session_of
from syncoll.verbs.frontier import AlgorithmVerbs, FrontierResult, Source
from syncoll.verbs.simulate.result import classics_of

__all__ = ["subject_of", "times_of"]


def times_of(
    subject: Subject,
    alpha: float | str | None,
    beta: float | str | None,
    session: Session,
    classics: bool | Sequence[str],
    collective: What | None,
) -> Times:
    """Times by the formula, and by the simulator if it can simulate the algorithms."""
    how = usual_model(subject.topology, alpha, beta)
    if not subject.entries:
        return Times.of(subject, *how)
    model, stored = how[0], [one.stored for one in subject.entries]
    if subject.frontier is not None:
        shown = {(one.steps, one.bandwidth) for one in stored}
        members = members_for(subject.frontier, model, MESSAGES)
        stored += [one for one in members if (one.steps, one.bandwidth) not in shown]
    try:
        latency = None if how[1] == DESCRIBED else model.alpha
        network = physical_network(subject.topology, latency, model.bandwidth)
        found, reasons = classics_of(session, stored[0].instance, classics, collective)
        compared = compare(stored, found, network, Semantics(), MESSAGES, reasons)
        compared = with_floors(compared, subject.frontier)
    except UsageError as error:
        return Times.of(subject, *how, left_out={"simulated times": str(error)})
    return Times.of(subject, *how, compared)


def subject_of(source: Source, collective: What | None, topology: Where | None) -> Subject:
    """The verified frontier or algorithms of a source."""
    name = ""
    if isinstance(source, str | Path):
        name, source = Path(source).name, read_file(Path(source), WITH_ALGORITHMS, "report")
    if isinstance(source, StoredFile):
        try:
            return _of_file(source, name, collective, topology)
        except VerificationError as error:
            raise VerificationError(f"{name}: {error}" if name else str(error)) from error
    if isinstance(source, Frontier):
        found = source if isinstance(source, FrontierResult) else FrontierResult.of(source)
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
        frontier = FrontierResult.of(stored.claims(), session=session_of(None))
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
