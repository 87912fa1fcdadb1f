"""Questions: what searches, solvers, bounds and packers answer."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Unpack

from syncoll.api.answers import BoundsResult, ForestsResult, SolutionResult
from syncoll.api.frontier import FrontierResult
from syncoll.api.sessions import session_for
from syncoll.api.shown import dressed
from syncoll.api.units import deadline_of, seconds_of
from syncoll.deadline import NEVER, Deadline, interrupted_at
from syncoll.documents import (
    frontier_document,
    require_writable,
    write_document,
)
from syncoll.errors import UsageError
from syncoll.model import Collective, Fabric, Topology
from syncoll.pages import Page
from syncoll.results import Frontier
from syncoll.searching import AnswerSource, Observer, SearchRequest, Strategy
from syncoll.searching import search as search_with
from syncoll.session import Session
from syncoll.session.progress import progress as progress_of
from syncoll.session.reference import written_search
from syncoll.session.settings import SettingsOptions, require_whole
from syncoll.solving import Solver

__all__ = ["bounds", "explain", "forest", "pareto", "search", "solve"]

Where = str | Topology | Fabric
What = str | Collective


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
    point_limit: float | str | None = None,
    output: str | Path | None = None,
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
        max_steps: S at most; None for 3 more than the least possible.
        max_rounds: R at most; None for no limit.
        max_chunks: C at most; None for 24 times the least possible.
        time_limit: seconds for all of it, or a text such as ``2min``.
        point_limit: seconds for each (S, R, C).
        output: a file where the frontier is kept as JSON as it grows.
        progress: ``auto``, ``live``, ``plain`` or ``none``, or an `Observer`.
        settings: see `Settings`.

    Raises:
        SyncollError: on names that do not exist, settings that do not go together, and what
            plugins do wrong.

    >>> pareto("ring(4)", "allgather", progress="none")[0].bandwidth
    Fraction(3, 2)
    """
    session, until = session_for(settings), deadline_of(time_limit)
    path = _writable(output)
    with interrupted_at(until):
        where, what = session.topology(topology), session.collective(collective)
    request = SearchRequest(
        where,
        what,
        _strategy(strategy),
        k,
        max_steps,
        max_rounds,
        max_chunks,
        seconds_of(time_limit),
        seconds_of(point_limit),
    )
    return _searched(session, request, path, progress, until=until)


def search(
    what: str | SearchRequest,
    solver: Solver | AnswerSource | None = None,
    *,
    strategy: str = "certified",
    k: int | None = None,
    max_steps: int | None = None,
    max_rounds: int | None = None,
    max_chunks: int | None = None,
    time_limit: float | str | None = None,
    point_limit: float | str | None = None,
    output: str | Path | None = None,
    progress: str | Observer = "auto",
    **settings: Unpack[SettingsOptions],
) -> FrontierResult:
    """The Pareto frontier of a search written in a spec file, or of a request.

    Args:
        what: ``FILE:NAME``, a shipped search, or a request.
        solver: decides a request, with no seeds, store or pool beside it; None for what `pareto`
            asks.
        strategy: as for `pareto`, like the limits that follow; they and the settings go before
            what the file says.
        k: see `pareto`.
        max_steps: see `pareto`.
        max_rounds: see `pareto`.
        max_chunks: see `pareto`.
        time_limit: see `pareto`.
        point_limit: see `pareto`.
        output: see `pareto`.
        progress: see `pareto`.
        settings: see `Settings`.

    Raises:
        SyncollError: as `pareto`.

    >>> search("dgx1_allgather", progress="none").least_steps
    2
    """
    path, began = _writable(output), time.perf_counter()
    given: dict[str, Any] = {
        "k": k,
        "max_steps": max_steps,
        "max_rounds": max_rounds,
        "max_chunks": max_chunks,
        "time_limit": seconds_of(time_limit),
        "point_limit": seconds_of(point_limit),
    }
    if isinstance(what, SearchRequest):
        own = [name for name, value in given.items() if value is not None]
        own += ["strategy"] * (strategy != "certified") + (list(settings) if solver else [])
        if own:
            owner = "the request" if own[0] not in settings else "the solver"
            raise UsageError(f"{', '.join(own)}: {owner} says that itself")
        until = deadline_of(what.time_limit)
        return _searched(session_for(settings), what, path, progress, until=until, answers=solver)
    if solver is not None:
        raise UsageError(f"{what!r} is asked as `pareto` asks; a solver goes with a request")
    session = session_for(settings)
    request, spec = written_search(session.specs, what, _strategy(strategy), given)
    until = NEVER if request.time_limit is None else Deadline(began + request.time_limit)
    return _searched(session, request, path, progress, spec.encoding, spec.backend, until=until)


def _writable(output: str | Path | None) -> Path | None:
    """The file that a frontier is kept in.

    Raises:
        UsageError: when it cannot be written, before anything is searched.
    """
    if output is None:
        return None
    require_writable(Path(output))
    return Path(output)


def _searched(
    session: Session,
    request: SearchRequest,
    path: Path | None,
    progress: str | Observer,
    encoding: str | None = None,
    backend: str | None = None,
    *,
    until: Deadline,
    answers: Solver | AnswerSource | None = None,
) -> FrontierResult:
    troubles: list[str] = []

    def keep(frontier: Frontier) -> None:
        """A disk that is full must not cost what was found."""
        if path is not None:
            try:
                write_document(path, frontier_document(frontier))
            except UsageError as error:
                if not troubles:
                    session.tell(f"{error}; the search goes on")
                troubles.append(str(error))

    def ask(observer: Observer) -> Frontier:
        if answers is not None:
            return search_with(request, answers, observer, on_points=keep, deadline=until)
        return session.pareto(
            request,
            encoding=encoding,
            backend=backend,
            observer=observer,
            on_points=keep,
            until=until,
        )

    if isinstance(progress, Observer):
        found = ask(progress)
    elif progress in ("auto", "live", "plain", "none"):
        with progress_of(progress) as observer:
            found = ask(observer)
    else:
        raise UsageError(f"progress {progress!r} is not one of auto, live, plain and none")
    keep(found)
    return dressed(FrontierResult, found, session=session, source=request.collective)


def _strategy(name: str) -> Strategy:
    try:
        return Strategy(name)
    except ValueError:
        raise UsageError(f"strategy {name!r} is not one of {', '.join(Strategy)}") from None


def solve(
    topology: Where,
    collective: What,
    *,
    chunks: int,
    steps: int,
    rounds: int,
    time_limit: float | str | None = None,
    **settings: Unpack[SettingsOptions],
) -> SolutionResult:
    """Whether there is an algorithm of at most S steps and R rounds with C chunks per node.

    Args:
        topology: a name or an object.
        collective: a name or an object.
        chunks: C.
        steps: S.
        rounds: R.
        time_limit: seconds for all of it, or a text such as ``2min``.
        settings: see `Settings`.

    Raises:
        SyncollError: as `pareto`.

    >>> str(solve("ring(4)", "allgather", chunks=1, steps=1, rounds=1).verdict)
    'unsat'
    """
    session, until = _single(settings), deadline_of(time_limit)
    with interrupted_at(until):
        what = session.collective(collective)
        instance = session.instance(topology, what, chunks=chunks, steps=steps, rounds=rounds)
    solution = session.solve(instance, what, until)
    return dressed(SolutionResult, solution, session=session)


def _single(settings: SettingsOptions) -> Session:
    """The session of a single question, which a solver alone decides.

    Raises:
        UsageError: on a setting that means nothing to it.
    """
    for name in ("store", "seeds", "jobs", "executor"):
        if name in settings:
            raise UsageError(f"{name} means nothing to a single question; `pareto` has it")
    return session_for(settings)


def bounds(
    topology: Where,
    collective: What,
    *,
    chunks: int | None = None,
    max_steps: int | None = None,
    time_limit: float | str | None = None,
) -> BoundsResult:
    """What no algorithm can go below, proved without searching.

    Args:
        topology: a name or an object.
        collective: a name or an object.
        chunks: C; None for the least for which the collective is defined.
        max_steps: bounds for S up to this; None for 3 beyond the least.
        time_limit: seconds for all of it, or a text such as ``2min``.

    Raises:
        SyncollError: as `pareto`.

    >>> bounds("torus(3,3)", "alltoall").bandwidth
    Fraction(1, 3)
    """
    session, until = session_for({}), deadline_of(time_limit)
    for name, value, least in (("chunks", chunks, 1), ("max_steps", max_steps, 0)):
        if value is not None:
            require_whole(name, value, least)
    with interrupted_at(until):
        where, what = session.topology(topology), session.collective(collective)
    found = session.bounds(where, what, chunks=chunks, max_steps=max_steps, until=until)
    return dressed(BoundsResult, found)


def forest(
    topology: Where,
    collective: str = "allgather",
    *,
    root: int | None = None,
    k: int | None = None,
    backend: str | None = None,
    time_limit: float | str | None = None,
) -> ForestsResult:
    """Spanning trees of provably optimal throughput, also with switches and for 1000 nodes.

    Args:
        topology: a name, a network with switches, or a topology.
        collective: ``allgather``, ``reducescatter``, ``allreduce``, ``broadcast`` or ``reduce``.
        root: of broadcast and reduce.
        k: trees for each root; None for as many as the optimum needs.
        backend: the seed that packs; None for the first that can.
        time_limit: seconds for all of it, or a text such as ``2min``.

    Raises:
        SyncollError: as `pareto`.

    >>> forest("ring(4)").algbw
    Fraction(8, 3)
    """
    session, until = session_for({}), deadline_of(time_limit)
    with interrupted_at(until):
        where = session.fabric(topology)
    found = session.forest(where, collective, root=root, fixed_k=k, backend=backend, until=until)
    return dressed(ForestsResult, found)


def explain(
    topology: Where,
    collective: What,
    *,
    chunks: int,
    steps: int,
    rounds: int,
    **settings: Unpack[SettingsOptions],
) -> Page:
    """How large the formula of an (S, R, C) is after each lowering, and who would decide it.

    Args:
        topology: a name or an object.
        collective: a name or an object.
        chunks: C.
        steps: S.
        rounds: R.
        settings: see `Settings`.

    Raises:
        SyncollError: as `pareto`.
    """
    from syncoll.pages.explanation import explanation_page

    session = _single(settings)
    what = session.collective(collective)
    instance = session.instance(topology, what, chunks=chunks, steps=steps, rounds=rounds)
    return explanation_page(session.explain(instance, what))
