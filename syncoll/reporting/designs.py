"""The page about a design, made as the page about a frontier is (`syncoll.reporting.page`)."""

import shlex
from collections.abc import Iterator, Sequence
from typing import Any

from syncoll.designing import Assessed, Design
from syncoll.designing.design import listed, reasons
from syncoll.errors import UsageError
from syncoll.model import Collective, Topology
from syncoll.pages.design import design_notes, machine_table
from syncoll.pages.families import optimal_for
from syncoll.planning import message_of_collective
from syncoll.reporting.markup import Markup, facts, items, joined, shell_commands, table, text
from syncoll.reporting.page import filled, hidden
from syncoll.reporting.sections import naming_note
from syncoll.reporting.subject import state_of
from syncoll.reporting.times import ASSUMED_ALPHA, ASSUMED_BANDWIDTH
from syncoll.simulating import bus_factor, physical_network
from syncoll.values import picked
from syncoll.version import __version__
from syncoll.wording import counted

_STYLES = "base charts design print"
_SCRIPTS = "data dom axes frontier sorting sizes machines"

_MOST = 500
"""Machines on a page; dominated ones are left out first."""

_MOST_POINTS = 400
"""Points of a frontier on a page."""


def design_report(design: Design) -> str:
    """The page as HTML."""
    every = list(zip(design.assessed, design.behind(), strict=True))
    order = sorted(range(len(every)), key=lambda i: every[i][1] is not None)
    shown = [every[i] for i in sorted(order[:_MOST])]
    title = f"{' and '.join(design.collectives)} on {counted(len(every), 'machine')}"
    kind = "Which network to build"
    if design.question.one_more_link:
        kind = "Which link to add"
    left_out = len(every) - len(shown)
    places = {
        "title": text(title),
        "kind": kind,
        "summary": _summary(design, every),
        "scripted": "The pictures and sorting need",
        "machines": _machines(design, shown),
        "behind": _behind(design, shown),
        "proved": _proved(design, shown),
        "notes": items(_notes(design, left_out)),
        "commands": _commands(design),
        "without_pictures": hidden(not any(one.bounds for one, _ in shown)),
        "without_behind": hidden(not any(ahead for _, ahead in shown)),
    }
    return filled("design.html", _STYLES, _SCRIPTS, places, _content(design, title, shown))


_Shown = Sequence[tuple[Assessed, Assessed | None]]


def _summary(design: Design, every: _Shown) -> Markup:
    front = sum(ahead is None for _, ahead in every)
    found = sum(len(proved.found) for one, _ in every for proved in one.bounds.values())
    entries: list[tuple[str, object]] = [("machines", len(every)), ("behind no other", front)]
    if design.question.searching is not None:
        entries.append(("verified algorithms", found))
    words = "No algorithm on a machine costs less than its bounds. " + (
        "One machine is behind no other: " if front == 1 else "Behind no other: "
    )
    names = [one.candidate.name for one, ahead in every if ahead is None]
    more = f" and {len(names) - 6} more" if len(names) > 6 else ""
    return facts(entries, f"{words}{', '.join(names[:6])}{more}.")


def _machines(design: Design, shown: _Shown) -> Markup:
    """Costs and bounds; rows are selectable."""
    columns, rows = machine_table(design, shown, "machine", "see the notes")
    columns = [column.replace(">=", "≥") for column in columns]
    caption = "Costs and proved bounds of machines; a column head sorts, a row is chosen"
    return table(columns, rows, caption, rows_are="machine")


def _behind(design: Design, shown: _Shown) -> Markup:
    """The dominance relation, with reasons."""
    rows = [
        (
            one.candidate.name,
            ahead.candidate.name,
            "; ".join(reasons(ahead, one, design.collectives)),
        )
        for one, ahead in shown
        if ahead is not None
    ]
    caption = (
        "Machines behind others: the other one costs no more, and none of its bounds is higher"
    )
    return table(("machine", "is behind", "which has"), rows, caption) if rows else Markup("")


def _proved(design: Design, shown: _Shown) -> Markup:
    """Every bound and every algorithm, a row for each machine and collective."""
    rows = []
    for one, _ in shown:
        for name in design.collectives:
            proved = one.bounds.get(name)
            if proved is None:
                continue
            found = listed(proved.found[:_MOST_POINTS])
            if not found and one.no_better_than is not None:
                found = f"not searched: no better than {one.no_better_than}"
            by_steps, low = listed(proved.by_steps), proved.bandwidth
            cells = (one.candidate.name, name, proved.steps, by_steps, low, found)
            rows.append(cells)
    columns = ("machine", "collective", ">S ≥", "R/C ≥ by S", ">R/C ≥, any S", "found, R/C by S")
    return table(columns, rows, "Bounds and algorithms by S") if rows else Markup("")


def _notes(design: Design, left_out: int) -> Iterator[object]:
    for note in design_notes(design):
        note = note.strip().removesuffix(":")
        yield f"{note[0].upper()}{note[1:]}."
    if left_out:
        yield (
            f"{counted(left_out, 'machine')} behind others {'is' if left_out == 1 else 'are'} "
            "not on this page; --table has all."
        )
    yield f"syncoll {__version__}; {design.seconds:.1f} s."


def _commands(design: Design) -> Markup:
    question = design.question
    words = ["syncoll design", *map(shlex.quote, question.families)]
    words += [f"--where {shlex.quote(text)}" for text in question.conditions]
    words += [shlex.quote(name) for name in design.collectives]
    words.append(f"--most {question.most}")
    if question.one_more_link:
        words.append("--one-more-link")
    if question.steps:
        words.append(f"--steps {question.steps}")
    if question.searching is not None:
        words.append(f"--synthesise --search-limit {question.searching:g}s")
    words += ["-o proofs", "--report design.html"]
    lines = shell_commands([" ".join(words), "syncoll check proofs"])
    return joined([lines, naming_note()])


def _content(design: Design, title: str, shown: _Shown) -> dict[str, Any]:
    """The data to draw; costs and bounds are texts of exact fractions."""
    places = {id(one): i for i, (one, _) in enumerate(shown)}  # two may have one name
    return {
        "title": title,
        "collectives": list(design.collectives),
        "alpha": float(ASSUMED_ALPHA),
        "bandwidth": float(ASSUMED_BANDWIDTH),
        "machines": [
            {
                "name": one.candidate.name,
                **picked(one.candidate.costs, "nodes ports links"),
                "bandwidth": str(one.candidate.costs.bandwidth),
                "rate": one.candidate.rate and float(one.candidate.rate),
                "alphas": _latencies(one.candidate.topology),
                "behind": None if ahead is None else places.get(id(ahead)),
                "messages": {
                    of.name: _message(of, one.candidate.costs.nodes)
                    for of in design.question.collectives
                    if of.name in one.bounds
                },
                "bounds": {
                    name: {
                        "steps": proved.steps,
                        "low": str(proved.bandwidth),
                        "by_steps": [[s, str(low)] for s, low in proved.by_steps],
                        "points": _drawn(one, name),
                    }
                    for name, proved in one.bounds.items()
                },
            }
            for one, ahead in shown
        ],
    }


def _message(collective: Collective, nodes: int) -> list[float | None]:
    """Bytes of the message for each byte of L, and busbw over algbw as nccl-tests define it."""
    message = message_of_collective(collective, nodes)
    factor = bus_factor(message.kind, nodes)
    return [float(message.per_node), None if factor is None else float(factor)]


def _latencies(topology: Topology) -> list[float] | None:
    """Seconds of the fastest and the slowest link, if the machine states them."""
    if topology.fabric is None or not topology.fabric.states_latencies:
        return None
    try:
        network = physical_network(topology, None, ASSUMED_BANDWIDTH)
    except UsageError:  # of some lanes it does not; the page's alpha is for these machines, too
        return None
    return [float(network.least_latency), float(network.greatest_latency)]


def _drawn(one: Assessed, name: str) -> list[dict[str, Any]]:
    """The points of a frontier for its picture."""
    frontier = one.bounds[name].frontier
    if frontier is None:
        return []
    return [
        {
            "steps": point.steps,
            "cost": str(point.bandwidth),
            "state": state_of(frontier, point),
            "scope": optimal_for(point, frontier),
        }
        for point in frontier.best[:_MOST_POINTS]
    ]
