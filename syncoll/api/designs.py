"""Designs: which network to build."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from syncoll import documents
from syncoll.api import arguments
from syncoll.api.base import (
    Tabular,
    What,
    Where,
    as_result,
    counts_work,
    deadline_of,
    reading,
    session_for,
    verb,
)
from syncoll.designing import Design, Question
from syncoll.designing.assessing import DesignFolder, DesignWork
from syncoll.designing.design import COLUMNS, rows
from syncoll.designing.driver import design as run_design
from syncoll.designing.picture import draw_design
from syncoll.errors import UsageError
from syncoll.pages.design import design_page
from syncoll.planning import Picture
from syncoll.progress import report
from syncoll.reporting import design_report
from syncoll.session.counting import counting
from syncoll.session.settings import SettingsOptions, require_whole
from syncoll.solving.executor_name import ExecutorName
from syncoll.wording import argument

if TYPE_CHECKING:
    pass

__all__ = ["DesignResult", "design"]

_MOST = 64

_SEARCH_SECONDS = 10.0


@dataclass(frozen=True, eq=False, repr=False)
class DesignResult(Tabular, Design):
    """Candidates with their costs and what is proved about them."""

    page = design_page
    columns = COLUMNS
    rows = rows

    def plot(self) -> Picture:
        """R/C over links for each collective, with the bounds and what was found.

        Raises:
            UsageError: when nothing is proved, or matplotlib is not installed.
        """
        return draw_design(self)

    def report(self, path: str | Path | None = None) -> str:
        """One page of HTML with all of it: tables to sort, pictures, who is behind whom and why.

        It loads nothing when it is opened.

        Args:
            path: the file to write; None for none.

        Raises:
            UsageError: when it cannot be written.
        """
        html = design_report(self)
        if path is not None:
            documents.write_atomically(Path(path), html)
        return html

    def document(self) -> dict[str, Any]:
        """The table as JSON, without proofs."""
        ahead = self.behind()
        return {
            **self.question.index(),
            "complete": self.complete,
            "interrupted": self.interrupted,
            "candidates": [
                {
                    "topology": one.candidate.name,
                    "same": list(one.candidate.same),
                    "images": one.candidate.images,
                    "nodes": one.candidate.costs.nodes,
                    "ports": one.candidate.costs.ports,
                    "links": one.candidate.costs.links,
                    "link_bandwidth": str(one.candidate.costs.bandwidth),
                    "bounds": {
                        name: {
                            "steps": found.steps,
                            "bandwidth": str(found.bandwidth),
                            "by_steps": [
                                {"steps": s, "bandwidth": str(low)} for s, low in found.by_steps
                            ],
                            "points": [
                                {"steps": point.steps, "bandwidth": str(point.bandwidth)}
                                for point in (found.frontier.points if found.frontier else ())
                            ],
                        }
                        for name in self.collectives
                        for found in (one.bounds.get(name),)
                        if found is not None
                    },
                    "refused": dict(one.refused),
                    "no_better_than": one.no_better_than,
                    "behind": None if other is None else other.candidate.name,
                }
                for one, other in zip(self.assessed, ahead, strict=True)
            ],
            "others": None
            if self.others is None
            else {
                "pairs": self.others.pairs,
                "at_least": {k: str(v) for k, v in self.others.at_least.items()},
            },
            "shared_pairs": self.shared_pairs,
            "unseen": dict(self.unseen),
            "left_out": {
                family: {"members": count, "why": error.message}
                for family, (error, count) in self.left_out.items()
            },
        }


@verb
@counts_work
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
    progress: str = "auto",
    **settings: Unpack[SettingsOptions],
) -> DesignResult:
    """Bounds and costs of many machines at once.

    Args:
        topologies: families such as ``torus(a, b, c)``, whose parameters are whole numbers from 1
            on, single machines, or objects.
        collectives: names or objects.
        where: a condition on the parameters, in the language; also on ``P``, the number of nodes,
            ``ports`` and ``links``.  Several must all hold.
        most: the largest value of a parameter; None for 64.
        one_more_link: whether to ask for one machine which link between two of its nodes, in both
            directions and as wide as most of its links, would help most.
        steps: R/C is bounded for so many numbers of steps, too, from the least on, as far as that
            is more than with any number.
        synthesise: whether to search frontiers, too, of those machines that may be the best.
        search_limit: seconds for the search of each collective on each of them, or a text such as
            ``1min``; None for 10.
        time_limit: seconds for all of it, or a text such as ``2min``; what is proved by then is
            given, as after Ctrl-C.
        work: units of work in place of `time_limit`, see `pareto`; also for `search_limit`.
        output: a folder where each bound is kept with its proof as it is found, for `check`, and
            the table as ``index.json``; what is there already is checked and not proved anew.
        progress: ``auto``, ``live``, ``plain`` or ``none``.
        settings: see `Settings`; ``jobs`` are the processes that prove bounds, and with
            ``executor="dask://HOST:PORT"`` the workers of a Dask cluster do.

    Raises:
        SyncollError: on names that do not exist, conditions that make no sense, and where no
            machine is left.

    >>> found = design("torus(a,b)", "allgather", where="a * b == 16 and b > 1")
    >>> [(one.candidate.name, str(one.bounds["allgather"].bandwidth)) for one in found.assessed]
    [('torus(1,16)', '15/2'), ('torus(2,8)', '5'), ('torus(4,4)', '15/4')]
    """
    session, until = session_for(settings), deadline_of(time_limit, work=work)
    most = _MOST if most is None else most
    require_whole("most", most, 1)
    require_whole("steps", steps)
    listed, asked, texts = _listed(topologies), _listed(collectives), _listed(where)
    for name, given in (("topologies", listed), ("collectives", asked)):
        if not given:
            raise UsageError(f"no {name}; a design needs at least one")
    for text in texts:
        if not isinstance(text, str):
            expected = "expected a condition such as 'a * b == 16', or several"
            raise UsageError(f"{argument('where')}: {text!r} is no condition; {expected}")
    with reading(until):
        families = [session.family(one) for one in listed]
        meant = tuple(session.collective(one) for one in asked)
    seconds = arguments.seconds_of(search_limit)
    if seconds is not None and not synthesise:
        raise UsageError(f"{argument('search_limit')} without {argument('synthesise')}")
    searching = (_SEARCH_SECONDS if seconds is None else seconds) if synthesise else None
    named = tuple(one.reference for one in families)
    question = Question(meant, named, tuple(texts), most, one_more_link, steps, searching)
    folder = None if output is None else DesignFolder(Path(output), session.tell)
    if folder is not None:
        folder.require_part_of(question)
    executor = ExecutorName.of(session.settings.executor or "local", session.settings.num_jobs)
    with session.limited(), counting(progress):
        task = DesignWork(executor, until, session.search, report, folder, session.tell)
        result = as_result(DesignResult, run_design(families, question, task))
    if folder is not None:
        folder.finish(result.document())
    return result


def _listed(given: Any) -> list[Any]:
    """One thing, or several; what is neither is refused where it is used, as is a graph."""
    alone = isinstance(given, str) or not isinstance(given, Iterable) or hasattr(given, "edges")
    return [given] if alone else list(given)
