"""Designs for people."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from syncoll.designing import Assessed, Design
from syncoll.pages.page import Page
from syncoll.wording import counted

__all__ = ["design_page"]

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
    wide = any(c.costs.bandwidth != c.costs.links for c in (a.candidate for a in design.assessed))
    units = any(one.candidate.rate is not None for one in design.assessed)
    searched = ["found"] if design.question.searching is not None else []
    by_steps = [">R/C >= by S"] if design.question.steps else []
    bounds = [c for name in names for c in (f">{name}: S >=", ">R/C >=", *by_steps, *searched)]
    images = design.question.one_more_link
    columns = [
        "topology",
        *([">pairs alike"] if images else []),
        ">nodes",
        ">ports",
        ">links",
        *([">bandwidth"] if wide else []),
        *([">GB/s a chunk"] if units else []),
        *bounds,
        "behind",
    ]
    rows = []
    for number, (one, ahead) in enumerate(zip(design.assessed, design.behind(), strict=True)):
        costs = one.candidate.costs
        cells = [
            cell for name in names for cell in _cells(one, name, bool(by_steps), bool(searched))
        ]
        behind = "" if ahead is None else ahead.candidate.name
        if one.no_better_than is not None:
            behind = f"not searched: no better than {one.no_better_than}"
        alike = [one.candidate.images if number else ""] if images else []
        rows.append(
            (
                one.candidate.name,
                *alike,
                costs.nodes,
                costs.ports,
                costs.links,
                *([costs.bandwidth] if wide else []),
                *([_unit(one)] if units else []),
                *cells,
                behind,
            )
        )
    page.table(columns, rows)
    page.text(
        "ports: the most links that leave or enter a node; links: one for each direction"
        + ("; bandwidth: of all links together" if wide else "")
    )
    if units:
        page.text(
            "GB/s a chunk: what one chunk per round stands for; R/C is compared over that, and "
            "only among machines that state it"
        )
    page.text(
        "behind: another machine costs no more, and none of its bounds is higher; what algorithms "
        "reach may differ from bounds"
    )
    if by_steps:
        page.text(
            "by S: S, and R/C with at most so many steps, at least; with more as with any number"
        )
    if searched:
        page.text(
            "found: S and R/C of verified algorithms; a machine is not searched where the "
            "algorithms of another one that costs no more reach its bounds"
        )
    if design.others is not None:
        pairs = counted(design.others.pairs, "other pair of nodes", "other pairs of nodes")
        least = [f"R/C of {name} >= {least}" for name, least in design.others.at_least.items()]
        page.text(f"{pairs} not looked at{', by the prices of the bound:' if least else ''}")
        for text in least:
            page.text(f"  {text}, whichever of them is joined")
    if design.shared_pairs:
        pairs = counted(design.shared_pairs, "pair of nodes", "pairs of nodes")
        page.text(
            f"{pairs} left out: their links share bandwidth with others, so that nothing says what "
            "a second cable would add"
        )
    for one in design.assessed:
        if one.candidate.same:
            same = ", ".join(one.candidate.same)
            page.text(f"the same machine as {one.candidate.name}: {same}")
    for family, (error, count) in design.left_out.items():
        why = f"{error.message} (expected {error.expected})" if error.expected else error.message
        page.text(f"{counted(count, 'member')} of {family} left out, such as: {why}")
    for one in design.assessed:
        for name, why in one.refused.items():
            page.text(f"{name} on {one.candidate.name}: {why}")
    if not design.complete:
        why = "it was interrupted" if design.interrupted else "the time was over"
        page.text(f"not everything was looked at to the end: {why}")
        for family, seen in design.unseen.items():
            page.text(f"  of {family} {seen}")
    return page


def _unit(one: Assessed) -> str:
    """GB/s that carry a chunk in a round; a dash where the machine does not say."""
    rate = one.candidate.rate
    return "-" if rate is None else f"{float(rate) / 1e9:g}"


def _cells(one: Assessed, name: str, by_steps: bool, searched: bool) -> list[object]:
    """The bounds on S and R/C, by S too, and the points found; dashes where nobody looked."""
    proved = one.bounds.get(name)
    if proved is None:
        first = ["see below", ""] if name in one.refused else ["-", "-"]
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
