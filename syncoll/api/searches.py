"""Searches: the Pareto frontier of a collective on a topology."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, cast

from syncoll import documents
from syncoll.api import arguments
from syncoll.api.base import (
    What,
    Where,
    as_result,
    counts_work,
    deadline_of,
    reading,
    session_for,
    verb,
)
from syncoll.api.frontier import FrontierResult
from syncoll.clock import now
from syncoll.deadline import Deadline, Reserve, interrupted_at
from syncoll.documents import StoredAlgorithm
from syncoll.errors import OutOfTimeError, UsageError
from syncoll.ledger import Aim, Observer, SearchRequest, Strategy
from syncoll.ledger.events import Log
from syncoll.model import Algorithm, Collective, Topology
from syncoll.results import Frontier
from syncoll.searching import AnswerSource, ChosenSeed, search as search_with
from syncoll.session import Session
from syncoll.session.progress import progress as progress_of
from syncoll.session.reference import written_search
from syncoll.session.searching import SHARE_BEFORE_PROOFS
from syncoll.session.settings import SettingsOptions
from syncoll.solving import Solver
from syncoll.trust import require_valid
from syncoll.wording import argument

if TYPE_CHECKING:
    from syncoll.simulating import PhysicalNetwork

__all__ = ["limits_of", "pareto", "search", "searched"]

_TIMES_A_SAVE, _SECONDS_A_SEND = 10.0, 1e-5
"""After a frontier was saved the next one is saved so many times as long later; and none is saved
where that would take more than so small a part of the time that is over, or that is left.  How long
it takes is known from the last time; before the first, from how many sends are listed."""

_SECONDS_AT_THE_END, _SECONDS_A_ROW, _MOST_AT_THE_END = 5e-7, 2e-6, 0.3
"""What saving is taken to take at the end, for each send that is listed and for each row that is
written, and the most that is kept free for it of the time: what a slow machine takes."""

_FEW_SENDS = 100_000
"""A file of fewer says nothing of how long each takes."""

_SHARE_BEFORE_ORDER, _SHARE_OF_ORDER = 0.85, 0.4
"""The part of a time limit for the search when chunks are ordered afterwards, and the part of the
rest for ordering; the remainder is for simulating the points."""

_STYLES = ("auto", "live", "plain", "log", "none")


@verb
@counts_work
def pareto(
    topology: Where,
    collective: What,
    *,
    strategy: str = "certified",
    k: int | None = None,
    max_steps: int | None = None,
    max_rounds: int | None = None,
    max_chunks: int | None = None,
    time_limit: float | str | None = None,
    work: float | None = None,
    point_limit: float | str | None = None,
    symmetric: bool = True,
    optimise_for: int | str | None = None,
    alpha: float | str | None = None,
    beta: float | str | None = None,
    output: str | Path | None = None,
    proofs: str | Path | None = None,
    progress: str | Observer = "auto",
    **settings: Unpack[SettingsOptions],
) -> FrontierResult:
    """The Pareto frontier: for each number of steps S the least bandwidth cost R/C.

    Every point has passed the verifier.  Ctrl-C and the limits end the search with what is known,
    which says what is not settled.

    Args:
        topology: a name or an object.
        collective: a name or an object.
        strategy: ``certified``, or ``paper`` for Algorithm 1 of the SCCL paper.
        k: only k-synchronous algorithms, R <= S + k.
        max_steps: S at most; None for 3 more than the least possible.  Below the least possible,
            the result has no points and says why in `impossible`, at once.
        max_rounds: R at most; None for no limit.  Likewise.
        max_chunks: C at most; None for 24 times the least possible, up to 96 times where the
            bound's denominator asks for it, and what seeds construct.
        time_limit: seconds for all of it, or a text such as ``2min``; None to go on while that
            brings something, which takes minutes where gaps stay open.
        work: units of work in place of `time_limit`, each about one second of one core: every run
            with the same limit finds the same, whatever the load.  The search runs in one thread
            and does not use the store.
        point_limit: seconds, or units of work, for each (S, R, C).
        symmetric: whether symmetric algorithms are looked for first where that is quicker; found
            or not, they refute nothing.
        optimise_for: size of a message as nccl-tests counts it (of an allgather or gather the
            output), or a range such as ``64KiB:4MiB``: only points are searched that may be the
            fastest for one of these, by S * alpha + (R/C) * L * beta.
        alpha: seconds of a step, or a text such as ``0.7us``, in place of what the topology states.
        beta: bytes per second of a link of one chunk per round, or a text such as ``25GB/s``.
        output: a file where the frontier is kept as JSON as it grows.
        proofs: a folder for a proof of each refutation that a claim rests on (solves them again).
        progress: ``auto``, ``live``, ``plain``, ``log`` (a line for each event, and a table of the
            engines) or ``none``, or an `Observer`.  The result has the events as `log` in any case.
        settings: see `Settings`.

    Raises:
        SyncollError: on names that do not exist, settings that do not go together, and what
            plugins do wrong.

    >>> pareto("ring(4)", "allgather", progress="none")[0].bandwidth
    Fraction(3, 2)
    """
    _require_possible(output, proofs, progress)
    session, until = session_for(settings), deadline_of(time_limit, work=work)
    with reading(until):
        where, what = session.topology(topology), session.collective(collective)
    limits = (
        k,
        max_steps,
        max_rounds,
        max_chunks,
        arguments.seconds_of(time_limit),
        arguments.seconds_of(point_limit),
    )
    network, aim = _aimed(where, what, optimise_for, alpha, beta)
    how = arguments.choice_of("strategy", strategy, Strategy)
    request = SearchRequest(where, what, how, *limits, symmetric, aim, work=work)
    return searched(session, request, until, output, proofs, progress, network=network)


class SearchOptions(SettingsOptions, total=False):
    """Limits and settings of a search as keywords; see `pareto`."""

    k: int | None
    max_steps: int | None
    max_rounds: int | None
    max_chunks: int | None
    time_limit: float | str | None
    work: float | None
    point_limit: float | str | None


def limits_of(options: SearchOptions) -> tuple[dict[str, Any], SettingsOptions]:
    """The limits among the options of a search, None where none is given, and the settings."""
    settings = dict[str, Any](options)
    names = (n for n in SearchOptions.__annotations__ if n not in SettingsOptions.__annotations__)
    limits = {name: settings.pop(name, None) for name in names}
    limits |= {name: arguments.seconds_of(limits[name]) for name in ("time_limit", "point_limit")}
    return limits, cast("SettingsOptions", settings)


@verb
@counts_work
def search(
    what: str | SearchRequest,
    solver: Solver | AnswerSource | None = None,
    *,
    strategy: str = "certified",
    symmetric: bool = True,
    output: str | Path | None = None,
    proofs: str | Path | None = None,
    progress: str | Observer = "auto",
    **options: Unpack[SearchOptions],
) -> FrontierResult:
    """The Pareto frontier of a search written in a spec file, or of a request.

    Args:
        what: ``FILE:NAME``, a shipped search, or a request.
        solver: decides a request, with no seeds, store or pool beside it; None for what `pareto`
            asks.
        strategy: see `pareto`.
        symmetric: see `pareto`.
        output: see `pareto`.
        proofs: see `pareto`.
        progress: see `pareto`.
        options: limits and settings as for `pareto`, which go before what the file says.

    Raises:
        SyncollError: as `pareto`.

    >>> search("dgx1_allgather", progress="none").least_steps
    2
    """
    _require_possible(output, proofs, progress)
    began = time.perf_counter()
    limits, settings = limits_of(options)
    if isinstance(what, SearchRequest):
        own = [name for name, value in limits.items() if value is not None]
        own += ["strategy"] * (strategy != "certified") + ["symmetric"] * (not symmetric)
        own += list(settings) if solver else []
        if own:
            owner = "the request" if own[0] not in settings else "the solver"
            raise UsageError(f"{', '.join(own)}: {owner} says that itself")
        session = session_for(settings)
        until = deadline_of(what.time_limit, began, work=what.work)
        return searched(session, what, until, output, proofs, progress, solver=solver)
    if solver is not None:
        raise UsageError(f"{what!r} is asked as `pareto` asks; a solver goes with a request")
    session = session_for(settings)
    request, spec = written_search(
        session.specs, what, arguments.choice_of("strategy", strategy, Strategy), limits
    )
    request = replace(request, symmetric=symmetric)
    if request.work is not None:  # in place of the file's limit
        request = replace(request, time_limit=limits["time_limit"])
    until = deadline_of(request.time_limit, began, work=request.work)
    return searched(
        session,
        request,
        until,
        output,
        proofs,
        progress,
        encoding=spec.encoding,
        backend=spec.backend,
    )


def _require_possible(
    output: str | Path | None, proofs: str | Path | None, progress: str | Observer
) -> None:
    """Passes what can be written, before anything is searched."""
    if output is not None:
        documents.require_writable(Path(output))
    if proofs is not None and Path(proofs).is_file():
        raise UsageError(f"{argument('proofs', str(proofs))}: that is a file; name a folder")
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
    *,
    solver: Solver | AnswerSource | None = None,
    encoding: str | None = None,
    backend: str | None = None,
    network: PhysicalNetwork | None = None,
    also: Sequence[ChosenSeed] = (),
) -> FrontierResult:
    """Searches, keeps what is found in a file, and proves it; a full disk costs no result.

    Args:
        also: seeds beside those of the settings.
    """
    failures, reserve = [""], Reserve()
    rows: dict[int, tuple[Algorithm, int]] = {}
    started, seldom, rate = now(), Deadline.after(0.0), _SECONDS_A_SEND

    def keep_now_and_then(frontier: Frontier) -> None:
        """Saves, if that takes a small part of the time: files may have millions of sends."""
        nonlocal seldom, rate
        began, sends = now(), sum(p.algorithm.num_listed for p in frontier.points)
        if output is not None and not until.is_never:
            needed = _SECONDS_AT_THE_END * sends + _SECONDS_A_ROW * rows_of(frontier)
            reserve.seconds = min(needed, most)
        expected = _TIMES_A_SAVE * rate * sends
        if seldom.passed and expected <= min(began - started, until.left()):
            keep(frontier)
            spent = now() - began
            rate = max(rate, spent / (sends + _FEW_SENDS))
            seldom = Deadline.after(_TIMES_A_SAVE * spent)

    def rows_of(frontier: Frontier) -> int:
        """Rows in the file; each algorithm is looked at once."""
        from syncoll.documents.written_problem import rows_written

        for point in frontier.points:
            one = point.algorithm
            if id(one) not in rows:
                rows[id(one)] = one, rows_written(one)
        return sum(rows[id(point.algorithm)][1] for point in frontier.points)

    def keep(frontier: Frontier) -> None:
        if output is None:
            return
        try:
            documents.write_document(Path(output), documents.frontier_document(frontier))
        except UsageError as error:
            if str(error) not in failures:
                session.tell(str(error))
            failures.append(str(error))
        else:
            failures.append("")

    most = 0.0 if until.is_never else _MOST_AT_THE_END * max(0.0, until.left())
    before = until.share(SHARE_BEFORE_PROOFS) if proofs is not None else until
    before = before.keeping(reserve)
    after = before
    if network is not None:
        before = before.share(_SHARE_BEFORE_ORDER)
    with nullcontext(progress) if isinstance(progress, Observer) else progress_of(progress) as seen:
        log = Log(seen)
        if solver is not None:
            found = search_with(request, solver, log, on_points=keep_now_and_then, deadline=before)
        else:
            found = session.pareto(
                request,
                encoding=encoding,
                backend=backend,
                observer=log,
                on_points=keep_now_and_then,
                until=before,
                also=also,
            )
        engines = log.end(found)
    if network is not None and request.aim is not None and not found.interrupted:
        found = _by_urgency(found, network, request.aim, after.share(_SHARE_OF_ORDER))
    unproved = ""
    if proofs is not None and not found.interrupted:
        try:
            found = session.prove(found, Path(proofs), request.point_limit, until)
        except UsageError as error:
            unproved = f"{error}; the proofs are left out"
            session.tell(unproved)
    keep(found)
    return as_result(
        FrontierResult,
        found,
        session=session,
        source=request.collective,
        unsaved=failures[-1],
        unproved=unproved,
        log=tuple(log.entries),
        engines=engines,
    )


def _aimed(
    topology: Topology,
    collective: Collective,
    optimise_for: int | str | None,
    alpha: float | str | None,
    beta: float | str | None,
) -> tuple[PhysicalNetwork | None, Aim | None]:
    """The network that says what is the fastest for some sizes, and the aim; None without sizes."""
    sizes = arguments.size_range("optimise_for", optimise_for)
    if sizes is None:
        if alpha is not None or beta is not None:
            raise UsageError(
                f"{argument('alpha')} and {argument('beta')} say what is the fastest for the sizes "
                f"of {argument('optimise_for')}, which is missing"
            )
        return None, None
    from syncoll.planning import message_of_collective

    network = arguments.network_of(topology, alpha, beta)
    message = message_of_collective(collective, topology.num_nodes)
    low, high = map(message.node_bytes, sizes)
    most, least = network.greatest_latency, network.least_latency
    per_node = message.per_node
    return network, Aim(most, network.unit, low, high, least=least, per_node=per_node)


def _by_urgency(found: Frontier, network: PhysicalNetwork, aim: Aim, until: Deadline) -> Frontier:
    """The points with the numbers of chunks with which they are the fastest for the sizes."""
    from syncoll.simulating import Semantics, by_urgency

    low, high = max(int(aim.low), 1), max(int(aim.high), 1)
    sizes = sorted({low, round((low * high) ** 0.5), high})
    points = []
    for i, point in enumerate(found.points):
        stored = StoredAlgorithm(point.instance, point.algorithm, f"points[{i}]")
        with suppress(OutOfTimeError), interrupted_at(until):
            until.check()
            algorithm = by_urgency(stored, network, Semantics(), sizes, until)
            if algorithm is not None:
                require_valid(point.instance, algorithm)
                point = replace(point, algorithm=algorithm)
        points.append(point)
    return replace(found, points=tuple(points))
