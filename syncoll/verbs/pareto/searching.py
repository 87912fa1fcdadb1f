"""Searches a frontier, keeps it in a file as it grows, and writes proofs."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from syncoll import documents, values
from syncoll.clock import is_counted
from syncoll.deadline import Deadline
from syncoll.documents.growing import GrowingFile
from syncoll.errors import SyncollError, UsageError
from syncoll.ledger import Aim, Observer, SearchRequest
from syncoll.ledger.events import Log
from syncoll.live.searches import progress as progress_of
from syncoll.model import Collective, Topology
from syncoll.results import Frontier
from syncoll.searching import AnswerSource, search as search_with
from syncoll.searching.box_trees import box_algorithms
from syncoll.searching.by_time import TimeGoal, timed
from syncoll.searching.interruptible import SHARE_BEFORE_PROOFS
from syncoll.session import Session
from syncoll.simulating.urgency import points_by_urgency
from syncoll.solving import Solver
from syncoll.verbs.frontier import FrontierResult
from syncoll.wording import argument

if TYPE_CHECKING:
    from collections.abc import Sequence

    from syncoll.simulating import Runtime

_SHARE_BEFORE_ORDER, _SHARE_OF_ORDER, _SHARE_BY_TIME = 0.75, 0.25, 0.7
"""Parts of a time limit with sizes: of the whole for the search, of the rest for ordering chunks,
and of the rest for the comparison by time.  The remainder is for simulating the points."""

_UNITS_BY_TIME, _PART_BY_TIME = 3.0, 0.4
"""Units of work for the comparison by time, and part of all the work, at least."""

_SECONDS_BY_TIME, _SECONDS_OF_CLASSIC = 20.0, 5.0
"""For the comparison by time without a limit, and to construct a classic."""

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
        low, high = (max(int(one), 1) for one in (min(goal.sizes), max(goal.sizes)))
        limits = after.share(_SHARE_OF_ORDER), request.tolerance, request.max_messages
        found = points_by_urgency(found, goal.network, low, high, *limits)
        until_timed = after.sooner(_SECONDS_BY_TIME) if after.is_never else after
        until_timed = until_timed.share(_SHARE_BY_TIME)
        if is_counted():  # a search may exceed its part of the work
            least = max(_UNITS_BY_TIME, _PART_BY_TIME * (request.work or 0))
            until_timed = until_timed.granting(least)
        rivals = list[documents.StoredAlgorithm]()
        if request.collective.plain is None:  # they are not reproducible
            rivals += box_algorithms(request.collective, goal.network)
            rivals += _classics(session, request, until_timed)
        found = timed(found, goal, rivals, until_timed)
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


def aimed(
    topology: Topology,
    collective: Collective,
    optimise_for: int | str | Sequence[int | str] | None,
    alpha: float | str | None,
    beta: float | str | None,
    runtime: str | Path | Runtime | None = None,
) -> tuple[TimeGoal | None, Aim | None]:
    """The goal and the aim of a search for some sizes; None without sizes."""
    if optimise_for is None:
        if alpha is not None or beta is not None or runtime is not None:
            raise UsageError(
                f"{argument('alpha')}, {argument('beta')} and {argument('runtime')} need the sizes "
                f"of {argument('optimise_for')}, which is missing"
            )
        return None, None
    from syncoll.planning import message_of_collective
    from syncoll.simulating import WIRE, given_network, runtime as runtime_of

    sizes = goal_sizes(optimise_for)
    network, library = given_network(topology, alpha, beta), runtime_of(runtime or WIRE)
    message = message_of_collective(collective, topology.num_nodes)
    node = tuple(map(message.node_bytes, sizes))
    # Each protocol has its latencies, and its shares of the bandwidth.
    settings = library.settings(network, kind=message.kind)
    shares = [hop.share for one in settings for hop in one.protocol.hops.values()]
    low, high = min(node) / max(shares), max(node) / min(shares)
    most = max(one.network.greatest_latency for one in settings)
    least = min(one.network.least_latency for one in settings)
    stated = min(node), max(node)
    aim = Aim(most, network.unit, low, high, 1, least, message.per_node, stated)
    return TimeGoal(collective, network, library, node), aim


def goal_sizes(optimise_for: int | str | Sequence[int | str]) -> list[int]:
    """The sizes of messages of a range by powers of two, both ends included, or of a list."""
    found = values.sizes_of("optimise_for", optimise_for, 2)
    if isinstance(optimise_for, str) and "," not in optimise_for:
        found += values.size_range("optimise_for", optimise_for) or ()
    return sorted(set(found))


def _classics(
    session: Session, request: SearchRequest, until: Deadline
) -> list[documents.StoredAlgorithm]:
    """The classics of a collective; each may take half of the remaining time."""
    found, about = [], (request.topology, request.collective)
    for name in [one.name for one in session.plugins.seeds.values() if one.classic]:
        seconds = min(_SECONDS_OF_CLASSIC, max(0.0, until.left() / 2))
        for each in session.classics(*about, [name], seconds)[0].values():
            found += [documents.StoredAlgorithm(*one, f"{name}[{i}]") for i, one in enumerate(each)]
    return found
