"""Pages of a design."""

from collections.abc import Iterator, Sequence
from fractions import Fraction

from syncoll.designing import Assessed, Design
from syncoll.pages.page import Page, PageParts, paged, short_fraction
from syncoll.wording import counted

_MOST_POINTS = 4
"""Of a frontier, in a cell."""


@paged
def design_page(design: Design) -> PageParts:
    """Candidates with costs and bounds, the dominated ones, and the ones that were left out."""
    where = f"on {counted(len(design.assessed), 'machine')}"
    if design.question.one_more_link:
        where = "with one more link, in both directions"
    yield f"bounds of {' and '.join(design.collectives)} {where}"
    yield ""
    shown = list(zip(design.assessed, design.behind(), strict=True))
    columns, rows = machine_table(design, shown, "topology", "see below", in_full=True)
    yield Page().table(columns, rows, _optional(columns))
    yield from design_notes(design)


def machine_table(
    design: Design,
    shown: Sequence[tuple[Assessed, Assessed | None]],
    machine: str,
    refused: str,
    *,
    in_full: bool = False,
) -> tuple[list[str], list[tuple[object, ...]]]:
    """The columns and rows of a table of machines with their costs and bounds.

    Args:
        shown: candidates, each with another one that dominates it, if any.
        machine: the name of the first column.
        refused: the text in place of bounds if a collective is not defined on a machine.
        in_full: also bounds by S, points, and the reasons why machines were not searched; else
            the name of every column has the collective, since rows are sorted by any of them.
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


def _optional(columns: Sequence[str]) -> list[str]:
    """Columns that may be left out, the least important first."""
    steps = [column[1:] for column in columns[::-1] if column.endswith("S >=")]
    return ["GB/s a chunk", "bandwidth", "ports", *steps, "links", "nodes", "behind"]


def _states_bandwidth(design: Design) -> bool:
    return any(
        one.candidate.costs.bandwidth != one.candidate.costs.links for one in design.assessed
    )


def _states_units(design: Design) -> bool:
    return any(one.candidate.rate is not None for one in design.assessed)


def design_notes(design: Design) -> Iterator[str]:
    """The terms of the table, and the candidates that were left out."""
    more = "; bandwidth: of all links together" if _states_bandwidth(design) else ""
    yield f"ports: the most links that leave or enter a node; links: one for each direction{more}"
    if _states_units(design):
        yield (
            "GB/s a chunk: the bandwidth of one chunk per round; R/C is compared over this "
            "bandwidth, and only among machines that state it"
        )
    yield (
        "behind: another machine costs no more, and none of its bounds is higher; algorithms may "
        "not reach the bounds"
    )
    if design.question.steps:
        yield "by S: S, and the bound on R/C with at most S steps; larger S as any number"
    if design.question.searching is not None:
        yield (
            "found: S and R/C of verified algorithms; a machine is not searched where the "
            "algorithms of another one that costs no more reach its bounds"
        )
    if design.others is not None:
        pairs = counted(design.others.pairs, "other pair of nodes", "other pairs of nodes")
        least = design.others.at_least.items()
        yield f"{pairs} not assessed{', by the prices of the bound:' if least else ''}"
        for name, low in least:
            yield f"  R/C of {name} >= {low}, whichever of them is joined"
    if design.shared_pairs:
        pairs = counted(design.shared_pairs, "pair of nodes", "pairs of nodes")
        yield (
            f"{pairs} left out: their links share bandwidth with others, so the bandwidth of a "
            "second cable is unknown"
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
        why = "interrupted" if design.interrupted else "the time was over"
        yield f"the comparison is incomplete: {why}"
        for family, seen in design.unseen.items():
            yield f"  of {family} {seen}"


def _unit(one: Assessed) -> str:
    """GB/s that carry a chunk in a round; a dash if the machine states none."""
    rate = one.candidate.rate
    return "-" if rate is None else f"{float(rate) / 1e9:g}"


def _cells(one: Assessed, name: str, refused: str, by_steps: bool, searched: bool) -> list[object]:
    """The bounds on S and R/C, by S too, and the points found; dashes if not assessed."""
    proved = one.bounds.get(name)
    if proved is None:
        first = [refused, ""] if name in one.refused else ["-", "-"]
        return [*first, *[""] * (by_steps + searched)]
    more = [_listed(proved.by_steps)] * by_steps + [_listed(proved.found)] * searched
    return [proved.steps, proved.bandwidth, *more]


def _listed(points: Sequence[tuple[int, Fraction]]) -> str:
    """S and R/C of the first few, and of the last."""
    shown = [f"{steps}: {short_fraction(cost)}" for steps, cost in points[:_MOST_POINTS]]
    if len(points) > _MOST_POINTS:
        steps, cost = points[-1]
        shown[-1:] = ["…", f"{steps}: {short_fraction(cost)}"]
    return ", ".join(shown)
