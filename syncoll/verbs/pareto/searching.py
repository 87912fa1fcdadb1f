"""Searches a frontier, keeps it in a file as it grows, and writes proofs."""

from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from syncoll import documents
from syncoll.deadline import Deadline
from syncoll.documents.growing import GrowingFile
from syncoll.errors import SyncollError, UsageError
from syncoll.ledger import Observer, SearchRequest
from syncoll.ledger.events import Log
from syncoll.live.searches import progress as progress_of
from syncoll.results import Frontier
from syncoll.searching import AnswerSource, search as search_with
from syncoll.searching.by_time import TimeGoal, by_time
from syncoll.searching.interruptible import SHARE_BEFORE_PROOFS
from syncoll.session import Session
from syncoll.solving import Solver
from syncoll.verbs.frontier import FrontierResult
from syncoll.wording import argument

_SHARE_BEFORE_ORDER = 0.75
"""Part of a time limit with sizes for the search; the rest is for times."""

_SHARE_OF_PRICE, _SECONDS_OF_PRICE = 0.3, 30.0
"""Part of a time limit, and most seconds, for the search without reproducible sums."""

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
    goal: TimeGoal | None = None,
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
    if goal is not None:
        before = before.share(_SHARE_BEFORE_ORDER)
    with nullcontext(progress) if isinstance(progress, Observer) else progress_of(progress) as seen:
        log, plain = Log(seen), None
        if request.collective.plain is not None and solver is None:
            plain = _plain(session, request, before.share(_SHARE_OF_PRICE), how)
        if solver is not None:
            found = search_with(request, solver, log, on_points=file.offer, deadline=before)
        else:
            how |= {"observer": log, "on_points": file.offer, "until": before}
            found = session.pareto(request, **how)
        engines = log.end(found)
    if goal is not None and found.points and not found.interrupted:
        known = partial(session.classics, request.topology, request.collective)
        found = by_time(
            found, request, goal, after, lambda until: chain(*known(until=until)[0].values())
        )
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
        plain=plain,
    )


def _plain(
    session: Session, request: SearchRequest, until: Deadline, how: dict[str, Any]
) -> Frontier | None:
    """The frontier without the demand for reproducible sums; None if the settings leave none."""
    assert request.collective.plain is not None
    asked = replace(request, collective=request.collective.plain)
    try:
        return session.pareto(asked, **how, until=until.sooner(_SECONDS_OF_PRICE))
    except SyncollError:
        return None
