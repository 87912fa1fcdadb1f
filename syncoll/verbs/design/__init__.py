"""Compares machines that might be built: the costs of each (nodes, ports of a node, links), and for
each collective the lower bounds on steps S and bandwidth cost R/C.  A machine is behind another one
that costs no more and none of whose bounds is higher.

  syncoll design "torus(a,b,c)" --where "a*b*c == 64 and a <= b <= c" allgather alltoall
  syncoll design "torus(a,b)" "hypercube(d)" "circulant(n,1,i)" --where "P == 16" allgather
  syncoll design dgx1 "hypercube(3)" "ring(8)" allgather allreduce
  syncoll design "torus(a,b)" "hypercube(d)" --where "P == 8" allgather --synthesise
  syncoll design "mesh(3,4)" --one-more-link alltoall

Names without a value, such as a, b and c, are whole numbers from 1 to 64 (--most).  --where is a
condition in the language of specs on them, on P, the number of nodes, and on `ports` and `links`.
Each of its parts between `and` applies to the topologies that have all the names in it.  Machines
that differ in the numbers of their nodes only are listed once.

Bounds come first, and are the only result by default.  --synthesise then searches algorithms as
`syncoll pareto` does: first on machines that are not behind others, then on those machines that
may still be better.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from syncoll.errors import UsageError
from syncoll.session.settings import SettingsOptions
from syncoll.verbs.asking import Progress, What, Where, deadline_of, reading, session_for, verb
from syncoll.verbs.declaration import Shell
from syncoll.wording import argument

if TYPE_CHECKING:
    from syncoll.designing import Question
    from syncoll.designing.assessing import DesignFolder, DesignWork
    from syncoll.designing.driver import design as run_design
    from syncoll.values import listed, require_whole, seconds_of
    from syncoll.verbs.design.result import DesignResult

SHELL = Shell(
    {
        "topologies": "",
        "collectives": "",
        "steps": "--steps N",
        "output": "-o, --output FOLDER",
        "jobs": ("--jobs N", "number of processes for bounds and searches (default: 1)"),
    },
    {
        "named TOPOLOGY|COLLECTIVE ...": 'topologies such as "torus(a,b)" or dgx1, and collectives '
        "such as allgather",
        "--table FILE": "write a row for each machine and collective; a name that ends in .csv or "
        ".parquet",
        "--plot PICTURE": "draw R/C over links; a name that ends in .png or .svg",
        "--report PAGE": "write a page of HTML, which loads nothing: tables to sort, pictures, the "
        "reasons why a machine is behind another, and the best machine for each size",
    },
    defaults={
        "kinds": {},
        "intermixed": "named",
        "smaller": "a smaller --most, or a --where that leaves fewer machines",
    },
)

_MOST, _SEARCH_SECONDS = 64, 10.0


@verb
def design(
    topologies: Where | Sequence[Where],
    collectives: What | Sequence[What],
    *,
    where: str | Sequence[str] = (),
    most: int | None = None,
    one_more_link: bool = False,
    steps: int = 0,
    synthesise: bool = False,
    search_limit: float | str | None = None,
    time_limit: float | str | None = None,
    work: float | None = None,
    output: str | Path | None = None,
    progress: Progress = "auto",
    **settings: Unpack[SettingsOptions],
) -> DesignResult:
    """Which network to build: bounds and costs of many machines.

    Args:
        topologies: families such as ``"torus(a,b)"``, machines, or objects.
        collectives: names or objects.
        where: a condition such as ``"a*b == 64 and ports <= 6"``; several must all hold.
        most: the largest value of a name without one; None for 64.
        one_more_link: for one machine: the link between two of its nodes that would help most, in
            both directions and as wide as most of its links.
        steps: also bound R/C for the first N numbers of steps, if that bound is higher than for any
            number; 0 for any number alone (the default).
        synthesise: also search frontiers of the machines that may be the best.
        search_limit: for the search of each collective on each of them, such as ``1min``; None for
            10 s.
        time_limit: of the whole command, such as ``30s``; at the limit, as after Ctrl-C, the result
            has the bounds proved so far; None for no limit.
        output: a folder that keeps each bound with its proof, for ``syncoll check FOLDER``, and the
            table as index.json; bounds that are there already are checked and not proved again.
        settings: see `Settings`; `jobs` processes prove the bounds.

    Raises:
        SyncollError: on names that do not exist, invalid conditions, and if no machine is left.

    Examples:
        >>> found = design("torus(a,b)", "allgather", where="a * b == 16 and b > 1")
        >>> [(one.candidate.name, str(one.bounds["allgather"].bandwidth)) for one in found.assessed]
        [('torus(1,16)', '15/2'), ('torus(2,8)', '5'), ('torus(4,4)', '15/4')]
    """
    session, until = session_for(settings), deadline_of(time_limit, work=work)
    most = _MOST if most is None else most
    require_whole("most", most, 1)
    require_whole("steps", steps)
    machines, asked, texts = map(listed, (topologies, collectives, where))
    for name, given in (("topologies", machines), ("collectives", asked)):
        if not given:
            raise UsageError(f"no {name}; a design needs at least one")
    for text in texts:
        if not isinstance(text, str):
            expected = "expected a condition such as 'a * b == 16', or several"
            raise UsageError(f"{argument('where')}: {text!r} is no condition; {expected}")
    with reading(until):
        families = [session.family(one) for one in machines]
        meant = tuple(session.collective(one) for one in asked)
    seconds = seconds_of(search_limit)
    if seconds is not None and not synthesise:
        raise UsageError(f"{argument('search_limit')} without {argument('synthesise')}")
    searching = (_SEARCH_SECONDS if seconds is None else seconds) if synthesise else None
    named = tuple(one.reference for one in families)
    question = Question(meant, named, tuple(texts), most, one_more_link, steps, searching)
    folder = None if output is None else DesignFolder(Path(output), session.tell)
    if folder is not None:
        folder.require_part_of(question)
    with session.limited():
        task = DesignWork(session.settings.jobs or 1, until, session.search, folder, session.tell)
        result = DesignResult.of(run_design(families, question, task))
    if folder is not None:
        folder.finish(result.document())
    return result
