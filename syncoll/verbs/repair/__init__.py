"""Finds the best algorithms of a damaged machine, from a frontier of the whole machine: algorithms
that do not use the damage are kept, others get ways around it, and the search of the damaged
machine starts from them.  A table shows the losses, and the part of each that a proved bound makes
unavoidable.

  syncoll pareto dgx1 allgather -o whole.json
  syncoll repair whole.json --without "link 3->6" -o damaged.json
  syncoll repair whole.json --without "link 3<->2" --without "node 5"
  syncoll repair whole.json --slow "link 3->2 by 2"
  syncoll repair whole.json --survey links -o failures

A damage is written as "link 3->6", "link 3<->6" for both directions, "link 3->switch 0", "node 5"
(the others go on without it), or "switch 0".  It may also be the label of a cable as `syncoll show`
prints it, or words of it: "card 2" for the network card of GPU 2.

--survey breaks the links one by one, one of each orbit, and lists the worst first.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from syncoll.errors import UsageError
from syncoll.session.settings import SettingsOptions
from syncoll.verbs.asking import Progress, What, Where, deadline_of, reading, session_for, verb
from syncoll.verbs.declaration import Shell
from syncoll.verbs.search_options import SearchOptions, limits_of
from syncoll.wording import argument

if TYPE_CHECKING:
    from syncoll.documents import require_writable
    from syncoll.documents.folder import FrontierFolder
    from syncoll.ledger import Observer, SearchRequest
    from syncoll.repairing.collective_meant import collective_meant
    from syncoll.repairing.fewer_nodes import left
    from syncoll.repairing.survey import FailureKind, SurveyWork, survey as repair_each
    from syncoll.repairing.warm_start_seeds import warm_start_seeds
    from syncoll.spec.damages import parse_damage
    from syncoll.values import choice_of, listed, seconds_of
    from syncoll.verbs.frontier import Source, with_points
    from syncoll.verbs.pareto.searching import searched
    from syncoll.verbs.repair.result import RepairResult, SurveyResult, survey_head

SHELL = Shell(
    {
        "source": ("source FILE", "a frontier, or an algorithm, of the whole machine"),
        "without": "--without PART ...",
        "slow": '--slow "PART by N" ...',
        "output": (
            "-o, --output FILE",
            "save the frontier of the damaged machine as JSON as it grows, for every command that "
            "takes one; - for standard output, once, in place of the tables; with --survey a "
            "folder of frontiers, which a later survey continues",
        ),
        "time_limit": (
            "--time-limit TIME",
            "of the whole command (default: 30s; with --survey no limit)",
        ),
    },
    {
        "--search-limit TIME": "with --survey, for each failure (default: 10s)",
        "--table FILE": "with --survey, write a row for each failure and S; a name that ends in "
        ".csv or .parquet",
    },
    {"output": "output", "k": "search", "search-limit": "search", "table": "output"},
)

_SECONDS, _SECONDS_EACH = 30.0, 10.0


@verb
def repair(
    source: Source,
    without: str | Sequence[str] = (),
    *,
    slow: str | Sequence[str] = (),
    topology: Where | None = None,
    collective: What | None = None,
    output: str | Path | None = None,
    progress: str | Observer = "auto",
    **options: Unpack[SearchOptions],
) -> RepairResult:
    """The best algorithms of a machine after a failure.

    Every algorithm has passed the verifier on the damaged machine.

    Args:
        source: the frontier of the whole machine, an algorithm of it, or a file of one.
        without: broken parts, such as ``"link 3->6"`` or ``"node 5"``; several are broken together.
        slow: parts with less bandwidth: ``"link 3->6 by 2"`` has half of it.
        topology: the whole machine; None for the one of the file.
        collective: of the frontier; None for the collective that its file names.
        output: saves the frontier of the damaged machine as JSON as it grows.
        progress: on standard error; ``log`` has a line for each event and a table of the engines;
            or an `Observer`.
        options: limits and settings as for `pareto`, with a time limit of 30 s.

    Raises:
        SyncollError: as `pareto`; if a broken part does not exist, or the collective has become
            impossible.

    Examples:
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
                f"{argument('output')}: {output} is the frontier of the whole machine, and would "
                "be overwritten; name another file"
            )
    limits, settings = limits_of(options)
    if limits["time_limit"] is None and limits["work"] is None:
        limits["time_limit"] = _SECONDS
    until = deadline_of(limits["time_limit"], work=limits["work"])
    session = session_for(settings)
    damages = [parse_damage(text) for text in _listed("without", without)]
    damages += [parse_damage(text, slow=True) for text in _listed("slow", slow)]
    with reading(until):
        whole = with_points(source, "repair", topology, collective)
        meant = collective_meant(whole, whole.source, collective, session.collective)
        machine, rest = left(whole.topology, damages, meant, session.collective)
        seeds = warm_start_seeds(machine, meant, rest, whole.points, whole.families)
    request = SearchRequest(machine.topology, rest, **limits)
    found = searched(session, request, until, output, None, progress, also=seeds)
    return RepairResult(machine, whole, found)


@verb
def survey(
    source: Source,
    what: str = "links",
    *,
    topology: Where | None = None,
    collective: What | None = None,
    search_limit: float | str | None = None,
    time_limit: float | str | None = None,
    work: float | None = None,
    output: str | Path | None = None,
    progress: Progress = "auto",
    **settings: Unpack[SettingsOptions],
) -> SurveyResult:
    """The cost of each single failure of a machine, the worst first.

    One failure of each orbit of the machine's symmetries is repaired, as by `repair`.

    Args:
        source: see `repair`.
        what: ``links``, each direction by itself, ``cables``, both at once, ``nodes`` or
            ``switches``.
        topology: see `repair`.
        collective: see `repair`.
        search_limit: for each failure, such as ``1min``; None for 10 s.
        time_limit: of the whole survey; at the limit, as after Ctrl-C, the result has the failures
            so far; None for no limit.
        work: see `pareto`.
        output: a folder that keeps the frontier of each failure, for `check`, and the table as
            index.json; frontiers that are there already are checked and not searched again.
        settings: see `Settings`.

    Raises:
        SyncollError: as `repair`; if the machine has no part of the kind.

    Examples:
        >>> from syncoll import pareto
        >>> found = survey(pareto("ring(4)", "allgather", progress="none"), progress="none")
        >>> [(one.words, one.failure.images, str(one.any_steps.lost)) for one in found.surveyed]
        [('link 0->1', 8, '1')]
    """
    kind = choice_of("survey", what, FailureKind)
    session, until = session_for(settings), deadline_of(time_limit, work=work)
    seconds = seconds_of(search_limit)
    with reading(until):
        whole = with_points(source, "a survey", topology, collective)
        meant = collective_meant(whole, whole.source, collective, session.collective)
    folder = None if output is None else FrontierFolder(Path(output), session.tell)
    if folder is not None:
        about = f"a survey of {kind} of {whole.topology.name} for {whole.collective}"
        folder.require_same(survey_head(whole, kind), about)
    each = _SECONDS_EACH if seconds is None else seconds
    with session.limited():
        task = SurveyWork(session.search, each, until, folder)
        found = repair_each(whole, meant, kind, task, session.collective)
    result = SurveyResult.of(found)
    if folder is not None:
        folder.finish(result.document())
    return result


def _is_one_file(one: str | Path, other: str | Path) -> bool:
    try:
        return Path(one).samefile(other)
    except OSError:  # one of them does not exist
        return False


def _listed(name: str, given: str | Sequence[str]) -> list[str]:
    """Texts of one or several.  Raises `UsageError` on other values."""
    texts = listed(given)
    if not all(isinstance(text, str) for text in texts):
        expected = "is not a text such as 'link 3->2', nor several"
        raise UsageError(f"{argument(name)}: {given!r} {expected}")
    return texts
