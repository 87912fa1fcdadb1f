"""Runs a `search { … }` block of a spec file, which names the machine, the collective and the
limits.  Options take precedence over the file.  `syncoll spec list` shows the searches that come
with syncoll.

  syncoll search dgx1_allgather
  syncoll search my-searches.syncoll:overnight -o frontier.json

Ctrl-C, --time-limit and the exit codes are as for `syncoll pareto`.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack

from syncoll.errors import UsageError
from syncoll.verbs.asking import deadline_of, session_for, verb
from syncoll.verbs.search_options import SEARCH, SearchOptions, limits_of

if TYPE_CHECKING:
    from syncoll.ledger import Observer, SearchRequest, Strategy
    from syncoll.routing import as_topology
    from syncoll.searching import AnswerSource
    from syncoll.solving import Solver
    from syncoll.values import choice_of
    from syncoll.verbs.frontier import FrontierResult
    from syncoll.verbs.pareto.searching import require_possible, searched

SHELL = replace(
    SEARCH,
    usages={
        **SEARCH.usages,
        "what": ("what SEARCH", "FILE:NAME, or a shipped search"),
        "solver": "",
    },
    defaults={"kinds": {"what": "search"}},
)


@verb
def search(
    what: str | SearchRequest,
    solver: Solver | AnswerSource | None = None,
    *,
    strategy: Literal["certified", "paper"] = "certified",
    symmetric: bool = True,
    output: str | Path | None = None,
    proofs: str | Path | None = None,
    progress: str | Observer = "auto",
    **options: Unpack[SearchOptions],
) -> FrontierResult:
    """The Pareto frontier of a search in a spec file, or of a request.

    Args:
        what: ``FILE:NAME``, a shipped search, or a request.
        solver: decides a request, without seeds, store and pool; None for the solver of `pareto`.
        progress: on standard error; ``log`` has a line for each event and a table of the engines;
            or an `Observer`.
        options: limits and settings, see `SearchOptions`; they take precedence over the file.

    >>> search("dgx1_allgather", progress="none").least_steps
    2
    """
    require_possible(output, proofs, progress)
    began = time.perf_counter()
    limits, settings = limits_of(options)
    keeping = (output, proofs, progress)
    if isinstance(what, SearchRequest):
        set_twice = [name for name, value in limits.items() if value is not None]
        set_twice += ["strategy"] * (strategy != "certified") + ["symmetric"] * (not symmetric)
        set_twice += list(settings) if solver else []
        if set_twice:
            owner = "request" if set_twice[0] not in settings else "solver"
            raise UsageError(
                f"{', '.join(set_twice)}: the {owner} has this already; leave it out here"
            )
        session = session_for(settings)
        until = deadline_of(what.time_limit, began, work=what.work)
        return searched(session, what, until, *keeping, solver=solver)
    if solver is not None:
        raise UsageError(f"{what!r}: a solver goes with a request, not with the name of a search")
    session = session_for(settings)
    how = choice_of("strategy", strategy, Strategy)
    spec = session.specs.search(what)
    own: dict[str, Any] = {"k": spec.k, "max_steps": spec.steps, "max_rounds": spec.rounds}
    own |= {"max_chunks": spec.chunks, "time_limit": spec.seconds}
    own |= {name: value for name, value in limits.items() if value is not None}
    if limits["work"] is not None:  # in place of the file's limit
        own["time_limit"] = limits["time_limit"]
    topology = as_topology(spec.topology)
    request = SearchRequest(topology, spec.collective, how, symmetric=symmetric, **own)
    until = deadline_of(request.time_limit, began, work=request.work)
    asked: dict[str, Any] = {"encoding": spec.encoding, "backend": spec.backend}
    return searched(session, request, until, *keeping, **asked)
