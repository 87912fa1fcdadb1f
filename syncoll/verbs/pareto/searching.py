"""Searches a frontier, keeps it in a file as it grows, and writes proofs."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from syncoll import documents, values
from syncoll.deadline import Deadline
from syncoll.documents.growing import GrowingFile
from syncoll.errors import UsageError
from syncoll.ledger import Aim, Observer, SearchRequest
from syncoll.ledger.events import Log
from syncoll.live.searches import progress as progress_of
from syncoll.model import Collective, Topology
from syncoll.searching import AnswerSource, search as search_with
from syncoll.searching.interruptible import SHARE_BEFORE_PROOFS
from syncoll.session import Session
from syncoll.simulating.urgency import points_by_urgency
from syncoll.solving import Solver
from syncoll.verbs.frontier import FrontierResult
from syncoll.wording import argument

if TYPE_CHECKING:
    from syncoll.simulating import PhysicalNetwork

__all__ = ["aimed", "require_possible", "searched"]

_SHARE_BEFORE_ORDER, _SHARE_OF_ORDER = 0.85, 0.4
"""The part of a time limit for the search when chunks are ordered afterwards, and the part of the
rest for ordering; the remainder is for simulating the points."""

_STYLES = ("auto", "live", "plain", "log", "none")


def require_possible(
    output: str | Path | None, proofs: str | Path | None, progress: str | Observer
) -> None:
    """Refuses outputs that cannot be written, before the search."""
    if output is not None:
        documents.require_writable(Path(output))
    if proofs is not None and Path(proofs).is_file():
        raise UsageError(f"{argument('proofs', str(proofs))}: this is a file; name a folder")
    if not isinstance(progress, Observer) and progress not in _STYLES:
        known = " or ".join(_STYLES)
        raise UsageError(f"{argument('progress')}: {progress!r}; expected {known}")


def searched(
    session: Session,
    request: SearchRequest,
    until: Deadline,
    output: str | Path | None,
    proofs: str | Path | None,
    progress: str | Observer,
    solver: Solver | AnswerSource | None = None,
    *,
    network: PhysicalNetwork | None = None,
    **how: Any,
) -> FrontierResult:
    """Searches, saves the frontier as it grows, and proves it; a full disk costs no result.

    Args:
        how: further keywords of `Session.pareto`.
    """
    file = GrowingFile(None if output is None else Path(output), until, session.tell)
    before = until.share(SHARE_BEFORE_PROOFS) if proofs is not None else until
    before = before.keeping(file.reserve)
    after = before
    if network is not None:
        before = before.share(_SHARE_BEFORE_ORDER)
    with nullcontext(progress) if isinstance(progress, Observer) else progress_of(progress) as seen:
        log = Log(seen)
        if solver is not None:
            found = search_with(request, solver, log, on_points=file.offer, deadline=before)
        else:
            how |= {"observer": log, "on_points": file.offer, "until": before}
            found = session.pareto(request, **how)
        engines = log.end(found)
    if network is not None and request.aim is not None and not found.interrupted:
        low, high = max(int(request.aim.low), 1), max(int(request.aim.high), 1)
        limits = after.share(_SHARE_OF_ORDER), request.tolerance, request.max_messages
        found = points_by_urgency(found, network, low, high, *limits)
    unproved = ""
    if proofs is not None and not found.interrupted:
        try:
            found = session.prove(found, Path(proofs), request.point_limit, until)
        except UsageError as error:
            unproved = f"{error}; the proofs are left out"
            session.tell(unproved)
    file.save(found)
    return FrontierResult.of(
        found,
        session=session,
        source=request.collective,
        unsaved=file.failure,
        unproved=unproved,
        log=tuple(log.entries),
        engines=engines,
    )


def aimed(
    topology: Topology,
    collective: Collective,
    optimise_for: int | str | None,
    alpha: float | str | None,
    beta: float | str | None,
) -> tuple[PhysicalNetwork | None, Aim | None]:
    """The network and the aim of a search for some sizes; None without sizes."""
    sizes = values.size_range("optimise_for", optimise_for)
    if sizes is None:
        if alpha is not None or beta is not None:
            raise UsageError(
                f"{argument('alpha')} and {argument('beta')} need the sizes of "
                f"{argument('optimise_for')}, which is missing"
            )
        return None, None
    from syncoll.planning import message_of_collective
    from syncoll.simulating import given_network

    network = given_network(topology, alpha, beta)
    message = message_of_collective(collective, topology.num_nodes)
    low, high = map(message.node_bytes, sizes)
    most, least = network.greatest_latency, network.least_latency
    per_node = message.per_node
    return network, Aim(most, network.unit, low, high, least=least, per_node=per_node)
