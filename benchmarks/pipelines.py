"""Collectives with one root: how near the default command comes to its bounds, S by S.

Every row is one ``syncoll pareto`` with no option but a time limit, in a process of its own and
without a store; its file is read back and checked by ``syncoll check``. For each S up to twelve the
least R/C of points and members with at most S steps is compared with the proved bound for S.

::

    python benchmarks/pipelines.py                 # into results, 60 s a row: about 8 minutes
    python benchmarks/pipelines.py --large         # larger machines too: 5 minutes more
    python benchmarks/pipelines.py --other ../before/.venv/bin/python   # against another version
    python benchmarks/pipelines.py --save now.json --before then.json   # with an earlier run's
    python benchmarks/pipelines.py --row torus --steps 12 -o torus.md
"""

from __future__ import annotations

import argparse
import tempfile
from fractions import Fraction
from pathlib import Path

from benchmarks.processes import pareto, process
from benchmarks.tables import (
    Costs,
    Page,
    add_options,
    add_other,
    add_rows,
    earlier,
    is_asked,
    least_cost,
    least_proved,
    made_at,
)
from syncoll.results import Frontier

SMALL: tuple[tuple[str, str], ...] = tuple(
    (machine, collective)
    for machine, roots in (
        ("dgx1", ("", "(root=1)")),
        ("hypercube(3)", ("",)),
        ("torus(4,4)", ("",)),
        ("hub(8)", ("",)),
        ("a100(boxes=2)", ("",)),
    )
    for collective in (f"{name}{root}" for name in ("broadcast", "reduce") for root in roots)
)
LARGE: tuple[tuple[str, str], ...] = (
    ("mesh(6,6)", "broadcast"),
    ("torus(8,8)", "broadcast"),
    ("fat_tree(4)", "reduce"),
    ("dgx_h100(boxes=4)", "broadcast"),
    ("mi250(boxes=2)", "broadcast"),
)
ENDS: tuple[tuple[str, str], ...] = tuple(
    (machine, collective)
    for machine in ("dgx1", "hypercube(3)", "torus(4,4)")
    for collective in ("scatter", "gather")
)
"""Topologies and collectives."""


def row(
    page: Page, topology: str, collective: str, most: int, seconds: float, before: Costs | None
) -> None:
    """A line of the table."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "frontier.json"
        took, frontier = pareto(topology, collective, seconds, file)
        if frontier is None:
            page.say(f"| {topology} | {collective} | no point | | | | | | |")
            return
        process(["check", str(file)], allowed=(0, 4))
    cells, worst = [], Fraction(0)
    last: Fraction | None = None
    every = costs(frontier, most)
    for steps, (cost, low) in every.items():
        if cost is None or cost == last == low:
            continue  # settled with fewer steps
        gap = cost / low - 1
        worst, last = max(worst, gap), cost
        cells.append(f"({steps}, {cost})" + (f" +{float(gap):.1%}" if gap else ""))
    page.found[f"{collective} on {topology}"] = every
    was = "" if before is None else f"{worst_gap(before):.1%}"
    families = "; ".join(family.words for family in frontier.families) or "none"
    ends = min(one.limit for one in frontier.families) if frontier.families else last
    end = float(ends / frontier.least_bandwidth - 1) if ends else float("inf")
    page.say(
        f"| {topology} | {collective} | {', '.join(cells)} | {was} | {float(worst):.1%} "
        f"| {families} | {end:.1%} | {took.seconds:.1f} | {took.work:.1f} |"
    )


def costs(frontier: Frontier, most: int) -> Costs:
    """For each S up to the most."""
    return {
        steps: (least_cost(frontier, steps), least_proved(frontier, steps))
        for steps in range(frontier.least_steps, most + 1)
    }


def earlier_costs(
    topology: str, collective: str, most: int, seconds: float, python: str
) -> Costs | None:
    """The gaps of another version; None where it has no point."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "frontier.json"
        frontier = pareto(topology, collective, seconds, file, python=python)[1]
        return None if frontier is None else costs(frontier, most)


def worst_gap(every: Costs) -> float:
    """Of those S for which something was found."""
    return max((float(found / low - 1) for found, low in every.values() if found), default=0.0)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_rows(parser)
    parser.add_argument("--steps", type=int, default=12, help="S up to this")
    parser.add_argument("--seconds", type=float, default=60.0, help="for each row")
    parser.add_argument("--large", action="store_true", help="larger machines, too")
    add_options(parser, "pipelines")
    add_other(parser)
    arguments = parser.parse_args()
    before, page = earlier(arguments), Page(arguments.output)
    page.say("# Collectives with one root", "")
    page.say(made_at())
    page.say(
        "Made by `benchmarks/pipelines.py`, every file checked by `syncoll check`. Where R/C is"
    )
    page.say(
        "met with fewer steps there is no S. *Worst* is the widest gap of any S, *end* that of"
    )
    page.say("the limit of R/C with many steps, to the bound for any number of them.", "")
    page.conditions(arguments.seconds)
    for rows in (SMALL, *([LARGE] if arguments.large or arguments.row else []), ENDS):
        chosen = [one for one in rows if is_asked(arguments, *one)]
        if not chosen:
            continue
        page.say("| machine | collective | (S, least R/C of at most S steps), gap to the bound "
                 "| worst before | worst | pipelines | end | s | CPU s |")  # fmt: skip
        page.say("|---|---|---|--:|--:|---|--:|--:|--:|")
        for machine, collective in chosen:
            was = before.get(f"{collective} on {machine}")
            steps, seconds = arguments.steps, arguments.seconds
            if arguments.other is not None:
                was = earlier_costs(machine, collective, steps, seconds, arguments.other)
            row(page, machine, collective, steps, seconds, was)
        page.say("")
    page.write(arguments.save)


if __name__ == "__main__":
    main()
