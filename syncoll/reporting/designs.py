"""The page about a design: machines in a table and a picture, who is behind whom and why, and what
is proved and found of each.

It is made as the page about a frontier is (`syncoll.reporting.page`): one file that loads nothing.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from syncoll.designing import Assessed, Design
from syncoll.designing.reasons import reasons
from syncoll.errors import UsageError
from syncoll.model import Topology
from syncoll.pages.families import optimal_for
from syncoll.reporting.markup import Markup, element, items, joined, paragraph, table, text
from syncoll.reporting.page import filled, hidden
from syncoll.reporting.subject import state_of
from syncoll.reporting.times import ASSUMED_ALPHA, ASSUMED_BANDWIDTH
from syncoll.results import Point
from syncoll.simulating import physical_network
from syncoll.version import __version__
from syncoll.wording import counted

__all__ = ["design_report"]

_STYLES = ("base.css", "charts.css", "design.css", "print.css")
_SCRIPTS = ("data.js", "dom.js", "axes.js", "frontier.js", "sorting.js", "sizes.js", "machines.js")

_MOST = 500
"""Machines on a page; those that are behind others are the first to be left out."""

_MOST_POINTS = 400
"""Of a frontier, on a page."""


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
    found = sum(len(_points(one, name)) for one, _ in every for name in design.collectives)
    facts: list[tuple[str, object]] = [
        ("machines", len(every)),
        ("behind no other", front),
    ]
    if design.question.searching is not None:
        facts.append(("verified algorithms", found))
    cards = (element("div", element("dt", noun), element("dd", value)) for noun, value in facts)
    words = "No algorithm on a machine can go below its bounds, however clever. " + (
        "One machine is behind no other: " if front == 1 else "Behind no other: "
    )
    names = [one.candidate.name for one, ahead in every if ahead is None]
    more = f" and {len(names) - 6} more" if len(names) > 6 else ""
    headline = f"{words}{', '.join(names[:6])}{more}."
    return joined([element("dl", *cards, class_="facts"), paragraph(headline, class_="headline")])


def _machines(design: Design, shown: _Shown) -> Markup:
    """Costs and bounds; a row can be chosen."""
    names = design.collectives
    wide = any(one.candidate.costs.bandwidth != one.candidate.costs.links for one, _ in shown)
    units = any(one.candidate.rate is not None for one, _ in shown)
    images = design.question.one_more_link
    columns = [
        "machine",
        *([">pairs alike"] if images else []),
        *(">nodes", ">ports", ">links"),
        *([">bandwidth"] if wide else []),
        *([">GB/s a chunk"] if units else []),
        *(c for name in names for c in (f">{name}: S ≥", f">{name}: R/C ≥")),
        "behind",
    ]
    rows = []
    for number, (one, ahead) in enumerate(shown):
        costs, rate = one.candidate.costs, one.candidate.rate
        rows.append(
            (
                one.candidate.name,
                *([one.candidate.images if number else ""] if images else []),
                *(costs.nodes, costs.ports, costs.links),
                *([costs.bandwidth] if wide else []),
                *(["" if rate is None else f"{float(rate) / 1e9:g}"] if units else []),
                *(cell for name in names for cell in _bounds(one, name)),
                "" if ahead is None else ahead.candidate.name,
            )
        )
    caption = "Machines, what each costs, and what is proved; a head sorts, a row is chosen"
    return table(columns, rows, caption, rows_are="machine")


def _bounds(one: Assessed, name: str) -> tuple[object, object]:
    proved = one.bounds.get(name)
    if proved is None:
        return ("see the notes", "") if name in one.refused else ("", "")
    return proved.steps, proved.bandwidth


def _behind(design: Design, shown: _Shown) -> Markup:
    """Which machine another one is behind, and what is better there."""
    rows = [
        (
            one.candidate.name,
            ahead.candidate.name,
            "; ".join(reasons(ahead, one, design.collectives)),
        )
        for one, ahead in shown
        if ahead is not None
    ]
    caption = "What the other machine has, which costs no more and of which no bound is higher"
    return table(("machine", "is behind", "which has"), rows, caption) if rows else Markup("")


def _proved(design: Design, shown: _Shown) -> Markup:
    """Every bound and every algorithm, a row for each machine and collective."""
    rows = []
    for one, _ in shown:
        for name in design.collectives:
            proved = one.bounds.get(name)
            if proved is None:
                continue
            found = ", ".join(f"{p.steps}: {p.bandwidth}" for p in _points(one, name))
            if not found and one.no_better_than is not None:
                found = f"not searched: no better than {one.no_better_than}"
            by_steps = ", ".join(f"{s}: {low}" for s, low in proved.by_steps)
            cells = (one.candidate.name, name, proved.steps, by_steps, proved.bandwidth, found)
            rows.append(cells)
    columns = (
        "machine",
        "collective",
        ">S ≥",
        "R/C ≥ by S",
        ">R/C ≥ with any S",
        "found, R/C by S",
    )
    return table(columns, rows, "What is proved, and what was found") if rows else Markup("")


def _points(one: Assessed, name: str) -> tuple[Point, ...]:
    proved = one.bounds.get(name)
    if proved is None or proved.frontier is None:
        return ()
    return proved.frontier.points[:_MOST_POINTS]


def _notes(design: Design, left_out: int) -> Iterator[object]:
    yield "Ports: the most links that leave or enter a node. Links: one for each direction."
    yield (
        "Behind: another machine with as many nodes costs no more, none of its bounds is higher, "
        "and something is lower. What algorithms reach may differ from bounds."
    )
    if design.question.steps:
        yield (
            f"R/C is bounded for {counted(design.question.steps, 'number')} of steps, from the "
            "least on, as far as that is more than with any number."
        )
    if design.question.searching is not None:
        yield (
            "A machine is not searched where the algorithms of another one that costs no more "
            "reach its bounds. Every algorithm was verified, send by send."
        )
    if left_out:
        yield (
            f"{counted(left_out, 'machine')} behind others {'is' if left_out == 1 else 'are'} "
            "not on this page; --table has all."
        )
    if design.others is not None:
        pairs = counted(design.others.pairs, "other pair of nodes", "other pairs of nodes")
        yield f"{pairs} not looked at."
        for name, least in design.others.at_least.items():
            yield f"R/C of {name} is at least {least}, whichever of them is joined."
    if design.shared_pairs:
        pairs = counted(design.shared_pairs, "pair of nodes", "pairs of nodes")
        yield f"{pairs} left out: their links share bandwidth with others."
    for one in design.assessed:
        if one.candidate.same:
            yield f"The same machine as {one.candidate.name}: {', '.join(one.candidate.same)}."
    for family, (error, count) in design.left_out.items():
        yield f"{counted(count, 'member')} of {family} left out, such as: {error.message}."
    for one in design.assessed:
        for name, why in one.refused.items():
            yield f"{name} on {one.candidate.name}: {why}."
    if not design.complete:
        why = "it was interrupted" if design.interrupted else "the time was over"
        seen = "".join(f"; of {family} {words}" for family, words in design.unseen.items())
        yield f"Not everything was looked at to the end: {why}{seen}."
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
    lines = [" ".join(words), "syncoll check proofs"]
    note = (
        "A machine or a collective out of a spec file of your own is named as FILE:NAME. What a "
        "search finds in a given time depends on the machine it runs on."
    )
    return joined(
        [
            element("pre", element("code", "\n".join(lines)), tabindex=0),
            paragraph(note, class_="note"),
        ]
    )


def _content(design: Design, title: str, shown: _Shown) -> dict[str, Any]:
    """What is drawn; costs and bounds are texts of exact fractions."""
    places = {id(one): i for i, (one, _) in enumerate(shown)}  # two may have one name
    return {
        "title": title,
        "collectives": list(design.collectives),
        "alpha": float(ASSUMED_ALPHA),
        "bandwidth": float(ASSUMED_BANDWIDTH),
        "machines": [
            {
                "name": one.candidate.name,
                "nodes": one.candidate.costs.nodes,
                "ports": one.candidate.costs.ports,
                "links": one.candidate.costs.links,
                "bandwidth": str(one.candidate.costs.bandwidth),
                "rate": _number(one.candidate.rate),
                "alphas": _latencies(one.candidate.topology),
                "behind": None if ahead is None else places.get(id(ahead)),
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


def _number(value: Fraction | None) -> float | None:
    return None if value is None else float(value)


def _latencies(topology: Topology) -> list[float] | None:
    """Seconds of the fastest and the slowest link, where the machine states them."""
    if topology.fabric is None or not topology.fabric.states_latencies:
        return None
    try:
        network = physical_network(topology, None, ASSUMED_BANDWIDTH)
    except UsageError:  # of some lanes it does not; the page's alpha is for these machines, too
        return None
    return [float(network.least_latency), float(network.greatest_latency)]


def _drawn(one: Assessed, name: str) -> list[dict[str, Any]]:
    """The points of a frontier as its picture has them."""
    frontier = one.bounds[name].frontier
    if frontier is None:
        return []
    return [
        {
            "steps": point.steps,
            "cost": str(point.bandwidth),
            "state": state_of(frontier, point),
            "told": optimal_for(point, frontier.proof(point)),
        }
        for point in _points(one, name)
    ]
