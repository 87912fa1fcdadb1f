"""Repairs: the best algorithms of a machine on which something broke."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from syncoll.api import arguments
from syncoll.api.base import (
    Displayable,
    Tabular,
    What,
    as_result,
    counts_work,
    data_frame,
    deadline_of,
    reading,
    session_for,
    verb,
)
from syncoll.api.frontier import FrontierResult, Source, frontier_of
from syncoll.api.searches import SearchOptions, limits_of, searched
from syncoll.documents import require_writable
from syncoll.documents.folder import FrontierFolder
from syncoll.errors import LocatedError, UsageError
from syncoll.ledger import Observer, SearchRequest
from syncoll.model import Collective, Instance
from syncoll.pages.repair import repair_page, survey_page
from syncoll.progress import report
from syncoll.repairing.cost_delta import Repair
from syncoll.repairing.fewer_nodes import left
from syncoll.repairing.survey import (
    COLUMNS,
    FailureKind,
    Survey,
    SurveyWork,
    rows,
    survey as repair_each,
)
from syncoll.repairing.warm_start_seeds import warm_start_seeds
from syncoll.results import Frontier
from syncoll.session import Session
from syncoll.session.counting import counting
from syncoll.session.settings import SettingsOptions
from syncoll.spec.damages import parse_damage
from syncoll.wording import argument

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["RepairResult", "SurveyResult", "repair", "survey"]

_SECONDS, _SECONDS_EACH = 30.0, 10.0


@dataclass(frozen=True, eq=False, repr=False)
class RepairResult(Displayable, Repair):
    """A machine's frontier, and that of the same machine with something broken.

    Args:
        frontier: of the damaged machine, for all that a frontier is good for.
    """

    frontier: FrontierResult

    page = repair_page

    def to_pandas(self) -> DataFrame:
        """A row for each number of steps, and a last one (steps None) for any number.

        Raises:
            UsageError: when pandas is not installed.
        """
        rows = [loss_entry(one) for one in self.losses]
        return data_frame({name: [row[name] for row in rows] for name in rows[0]})

    def document(self) -> dict[str, Any]:
        """The same as JSON; the frontier has a file of its own."""
        return {
            "schema": "syncoll/repair/1",
            "topology": self.machine.whole.name,
            "collective": self.whole.collective,
            "without": [d.words for d in self.machine.damages if d.factor is None],
            "slow": [d.words for d in self.machine.damages if d.factor is not None],
            "nodes": list(self.machine.nodes),
            "damaged": {
                "topology": self.machine.topology.name,
                "collective": self.frontier.collective,
            },
            "least_steps": {"whole": self.whole.least_steps, "now": self.frontier.least_steps},
            "losses": [loss_entry(one) for one in self.losses],
            "complete": self.frontier.complete,
            "interrupted": self.frontier.interrupted,
            "seconds": round(self.frontier.seconds, 6),
        }


def loss_entry(loss: Any) -> dict[str, Any]:
    """A loss for other programs; fractions are texts, shares are numbers."""
    texts = {"whole": loss.whole, "now": loss.now, "bound": loss.bound}
    shares = {"lost": loss.lost, "lost_for_good": loss.lost_for_good, "gap": loss.gap}
    return {
        "steps": loss.steps,
        **{name: None if value is None else str(value) for name, value in texts.items()},
        **{name: None if value is None else float(value) for name, value in shares.items()},
        "found_by": loss.found_by,
    }


@verb
@counts_work
def repair(
    source: Source,
    without: str | Sequence[str] = (),
    *,
    slow: str | Sequence[str] = (),
    collective: What | None = None,
    output: str | Path | None = None,
    progress: str | Observer = "auto",
    **options: Unpack[SearchOptions],
) -> RepairResult:
    """The best algorithms of a machine on which something broke, from those of the whole machine.

    Those that do not use what is broken are kept, others get ways around it, and the ordinary
    search of the damaged machine goes on from there.  Every algorithm has passed the verifier on
    the damaged machine.

    Args:
        source: the frontier of the whole machine, or its file.
        without: what is broken: ``link 3->6``, ``link 3<->6``, ``node 5``, ``switch 0``, or the
            label of a cable; several are broken together.
        slow: what has a part of its bandwidth: ``link 3->6 by 2`` for a half.
        collective: that the frontier is of; None for the one of the name in it.
        output: a file where the frontier is kept as JSON as it grows.
        progress: ``auto``, ``live``, ``plain`` or ``none``, or an `Observer`.
        options: limits and settings as for `pareto`; the time limit is 30 s unless another is
            given.

    Raises:
        SyncollError: as `pareto`; when something broken is not there, and when the collective
            cannot be done any more.

    >>> from syncoll import pareto
    >>> whole = pareto("ring(4)", "allgather", progress="none")
    >>> done = repair(whole, "link 0->1", progress="none")
    >>> [(one.steps, str(one.whole), str(one.now)) for one in done.losses]
    [(2, '3/2', 'None'), (3, '3/2', '3'), (None, '3/2', '3')]
    """
    if output is not None:
        require_writable(Path(output))
        if isinstance(source, str | Path) and _is_one_file(source, output):
            raise UsageError(
                f"{argument('output')}: {output} is the frontier of the whole machine, which would "
                "be lost; name another file"
            )
    limits, settings = limits_of(options)
    if limits["time_limit"] is None and limits["work"] is None:
        limits["time_limit"] = _SECONDS
    until = deadline_of(limits["time_limit"], work=limits["work"])
    session = session_for(settings)
    damages = [parse_damage(text) for text in _listed("without", without)]
    damages += [parse_damage(text, slow=True) for text in _listed("slow", slow)]
    with reading(until):
        whole = frontier_of(source, "repair")
        meant = collective_meant(session, whole, collective)
        machine, rest = left(whole.topology, damages, meant, session.collective)
        seeds = warm_start_seeds(machine, meant, rest, whole.points, whole.families)
    request = SearchRequest(machine.topology, rest, **limits)
    found = searched(session, request, until, output, None, progress, also=seeds)
    return RepairResult(machine, whole, found)


@dataclass(frozen=True, eq=False, repr=False)
class SurveyResult(Tabular, Survey):
    """Every single failure of a machine, and what it costs."""

    page = survey_page
    columns = COLUMNS
    rows = rows

    def document(self) -> dict[str, Any]:
        """The table as JSON, without proofs."""
        return {
            **_about(self.whole, self.kind),
            "failures": [
                {
                    "broken": one.words,
                    "alike": one.failure.images,
                    "refused": one.refused or None,
                    "left_out": one.left_out or None,
                    "least_steps": None if one.repair is None else one.repair.frontier.least_steps,
                    "losses": []
                    if one.repair is None
                    else [loss_entry(loss) for loss in one.repair.losses],
                }
                for one in self.surveyed
            ],
            "complete": self.complete,
            "interrupted": self.interrupted,
            "seconds": round(self.seconds, 6),
        }


@verb
@counts_work
def survey(
    source: Source,
    what: str = "links",
    *,
    collective: What | None = None,
    search_limit: float | str | None = None,
    time_limit: float | str | None = None,
    work: float | None = None,
    output: str | Path | None = None,
    progress: str = "auto",
    **settings: Unpack[SettingsOptions],
) -> SurveyResult:
    """What each single failure of a machine costs, the worst first.

    One failure of each orbit of the machine's symmetries is repaired, as `repair` does it.

    Args:
        source: the frontier of the whole machine, or its file.
        what: ``links``, each direction by itself, ``cables``, both at once, ``nodes`` or
            ``switches``.
        collective: as for `repair`.
        search_limit: seconds for each failure, or a text such as ``1min``; None for 10.
        time_limit: seconds for all of it, or a text such as ``2min``; what was found by then is
            given, as after Ctrl-C.
        work: units of work in place of `time_limit`, see `pareto`; also for `search_limit`.
        output: a folder where the frontier of each is kept as it is found, for `check`, and the
            table as ``index.json``; what is there already is checked and not searched anew.
        progress: ``auto``, ``live``, ``plain`` or ``none``.
        settings: see `Settings`.

    Raises:
        SyncollError: as `repair`; when the machine has nothing of the kind.

    >>> from syncoll import pareto
    >>> found = survey(pareto("ring(4)", "allgather", progress="none"), progress="none")
    >>> [(one.words, one.failure.images, str(one.any_steps.lost)) for one in found.surveyed]
    [('link 0->1', 8, '1')]
    """
    kind = arguments.choice_of("survey", what, FailureKind)
    session, until = session_for(settings), deadline_of(time_limit, work=work)
    seconds = arguments.seconds_of(search_limit)
    with reading(until):
        whole = frontier_of(source, "a survey")
        meant = collective_meant(session, whole, collective)
    folder = None if output is None else FrontierFolder(Path(output), session.tell)
    if folder is not None:
        about = _about(whole, kind)
        folder.require_same(
            about, f"a survey of {kind} of {whole.topology.name} for {whole.collective}"
        )
    each = _SECONDS_EACH if seconds is None else seconds
    with session.limited(), counting(progress):
        task = SurveyWork(session.search, each, until, report, folder)
        found = repair_each(whole, meant, kind, task, session.collective)
    result = as_result(SurveyResult, found)
    if folder is not None:
        folder.finish(result.document())
    return result


def _about(whole: Frontier, kind: FailureKind) -> dict[str, str]:
    """What the table of a survey begins with."""
    return {
        "schema": "syncoll/survey/1",
        "topology": whole.topology.name,
        "collective": whole.collective,
        "kind": str(kind),
    }


def _is_one_file(one: str | Path, other: str | Path) -> bool:
    try:
        return Path(one).samefile(other)
    except OSError:  # one of them is not there
        return False


def _listed(name: str, given: str | Sequence[str]) -> list[str]:
    """Texts of one or several.

    Raises:
        UsageError: when they are no texts.
    """
    texts = given if isinstance(given, list | tuple) else [given]
    for text in texts:
        if not isinstance(text, str):
            raise UsageError(
                f"{argument(name)}: {given!r} is not a text such as 'link 3->2', nor several"
            )
    return list(texts)


def collective_meant(session: Session, whole: FrontierResult, meant: What | None) -> Collective:
    """The collective of a frontier.

    Raises:
        SpecError: when nothing is called as the one that was said.
        UsageError: when nothing is called as the one in the file, or something else is.
    """
    if meant is None and whole.source is not None:
        return whole.source
    try:
        found = session.collective(whole.collective if meant is None else meant)
    except LocatedError as error:
        if meant is not None:
            raise
        raise UsageError(
            f"what {whole.collective} is, is not known ({error.message}); name it with "
            f"{argument('collective')}"
        ) from None
    if not _is_of(found, whole.points[0].instance):
        if found.name == whole.collective and '"' in found.name:  # it names a file
            why = "its file says something else than when it was searched; search it again, or"
        else:
            why = f"it is another collective than {whole.collective} in the file;"
        raise UsageError(f"{found.name}: {why} say which it was with {argument('collective')}")
    return found


def _is_of(found: Collective, instance: Instance) -> bool:
    """Whether an instance is one of a collective."""
    nodes, chunks = instance.topology.num_nodes, instance.chunks
    try:
        table = found.tabulate(nodes, chunks) if found.admits(nodes, chunks) else None
    except LocatedError:  # it is for other numbers of nodes
        return False
    return (
        table is not None
        and found.combining is instance.combining
        and table.matching(instance.table) is not None
    )
