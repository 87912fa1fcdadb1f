"""Designs for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from syncoll.designing import Assessed, Design
from syncoll.pages.page import Page
from syncoll.wording import counted

__all__ = ["design_notes", "design_page", "machine_table"]

_MOST_POINTS = 4
"""Of a frontier, in a cell."""


def design_page(design: Design) -> Page:
    """Candidates with costs and bounds, which are behind others, and what was left out."""
    page, names = Page(), design.collectives
    title = f"bounds of {' and '.join(names)} on {counted(len(design.assessed), 'machine')}"
    if design.question.one_more_link:
        title = f"bounds of {' and '.join(names)} with one more link, in both directions"
    page.text(title)
    page.text()
    shown = list(zip(design.assessed, design.behind(), strict=True))
    page.table(*machine_table(design, shown, "topology", "see below", in_full=True))
    for note in design_notes(design):
        page.text(note)
    return page


def machine_table(
    design: Design,
    shown: Sequence[tuple[Assessed, Assessed | None]],
    machine: str,
    refused: str,
    *,
    in_full: bool = False,
) -> tuple[list[str], list[tuple[object, ...]]]:
    """The columns and rows of a table of machines: what each costs and its bounds.

    Args:
        shown: candidates, and another one that each is behind.
        machine: the name of the first column.
        refused: what stands in place of bounds where a collective makes no sense.
        in_full: also bounds by S, points that were found, and why machines were not searched; else
            every column says which collective it is about, since rows are sorted by any of them.
    """
    names, question = design.collectives, design.question
    wide = _states_bandwidth(design)
    units, images = _states_units(design), question.one_more_link
    by_steps = in_full and bool(question.steps)
    searched = in_full and question.searching is not None
    more = [">R/C >= by S"] * by_steps + ["found"] * searched
    cost = ">R/C >=" if in_full else ">{}: R/C >="
    columns = [
        machine,
        *[">pairs alike"] * images,
        *(">nodes", ">ports", ">links"),
        *[">bandwidth"] * wide,
        *[">GB/s a chunk"] * units,
        *(c for name in names for c in (f">{name}: S >=", cost.format(name), *more)),
        "behind",
    ]
    rows: list[tuple[object, ...]] = []
    for number, (one, ahead) in enumerate(shown):
        costs = one.candidate.costs
        behind = "" if ahead is None else ahead.candidate.name
        if in_full and one.no_better_than is not None:
            behind = f"not searched: no better than {one.no_better_than}"
        rows.append(
            (
                one.candidate.name,
                *[one.candidate.images if number else ""] * images,
                *(costs.nodes, costs.ports, costs.links),
                *[costs.bandwidth] * wide,
                *[_unit(one)] * units,
                *(c for name in names for c in _cells(one, name, refused, by_steps, searched)),
                behind,
            )
        )
    return columns, rows


def _states_bandwidth(design: Design) -> bool:
    return any(
        one.candidate.costs.bandwidth != one.candidate.costs.links for one in design.assessed
    )


def _states_units(design: Design) -> bool:
    return any(one.candidate.rate is not None for one in design.assessed)


def design_notes(design: Design) -> Iterator[str]:
    """What the table means, and what was left out."""
    more = "; bandwidth: of all links together" if _states_bandwidth(design) else ""
    yield f"ports: the most links that leave or enter a node; links: one for each direction{more}"
    if _states_units(design):
        yield (
            "GB/s a chunk: what one chunk per round stands for; R/C is compared over that, and "
            "only among machines that state it"
        )
    yield (
        "behind: another machine costs no more, and none of its bounds is higher; what algorithms "
        "reach may differ from bounds"
    )
    if design.question.steps:
        yield "by S: S, and R/C with at most so many steps, at least; with more as with any number"
    if design.question.searching is not None:
        yield (
            "found: S and R/C of verified algorithms; a machine is not searched where the "
            "algorithms of another one that costs no more reach its bounds"
        )
    if design.others is not None:
        pairs = counted(design.others.pairs, "other pair of nodes", "other pairs of nodes")
        least = design.others.at_least.items()
        yield f"{pairs} not looked at{', by the prices of the bound:' if least else ''}"
        for name, low in least:
            yield f"  R/C of {name} >= {low}, whichever of them is joined"
    if design.shared_pairs:
        pairs = counted(design.shared_pairs, "pair of nodes", "pairs of nodes")
        yield (
            f"{pairs} left out: their links share bandwidth with others, so that nothing says what "
            "a second cable would add"
        )
    for one in design.assessed:
        if one.candidate.same:
            yield f"the same machine as {one.candidate.name}: {', '.join(one.candidate.same)}"
    for family, (error, count) in design.left_out.items():
        why = f"{error.message} (expected {error.expected})" if error.expected else error.message
        yield f"{counted(count, 'member')} of {family} left out, such as: {why}"
    for one in design.assessed:
        for name, why in one.refused.items():
            yield f"{name} on {one.candidate.name}: {why}"
    if not design.complete:
        why = "it was interrupted" if design.interrupted else "the time was over"
        yield f"not everything was looked at to the end: {why}"
        for family, seen in design.unseen.items():
            yield f"  of {family} {seen}"


def _unit(one: Assessed) -> str:
    """GB/s that carry a chunk in a round; a dash where the machine does not say."""
    rate = one.candidate.rate
    return "-" if rate is None else f"{float(rate) / 1e9:g}"


def _cells(one: Assessed, name: str, refused: str, by_steps: bool, searched: bool) -> list[object]:
    """The bounds on S and R/C, by S too, and the points found; dashes where nobody looked."""
    proved = one.bounds.get(name)
    if proved is None:
        first = [refused, ""] if name in one.refused else ["-", "-"]
        return [*first, *[""] * (by_steps + searched)]
    points = () if proved.frontier is None else proved.frontier.points
    found = _listed([(point.steps, point.bandwidth) for point in points])
    return [
        proved.steps,
        proved.bandwidth,
        *[_listed(proved.by_steps)] * by_steps,
        *[found] * searched,
    ]


def _listed(points: Sequence[tuple[int, Fraction]]) -> str:
    """S and R/C of the first few, and of the last."""
    shown = [f"{steps}: {bandwidth}" for steps, bandwidth in points[:_MOST_POINTS]]
    if len(points) > _MOST_POINTS:
        steps, bandwidth = points[-1]
        shown[-1:] = ["…", f"{steps}: {bandwidth}"]
    return ", ".join(shown)
