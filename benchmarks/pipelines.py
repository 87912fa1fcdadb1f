"""Collectives with one root: how near the default command comes to what it proves, S by S.

Every row is one ``syncoll pareto`` with no option but a time limit, in a process of its own and
without a store; its file is read back and checked by ``syncoll check``.  For each S up to twelve
the least R/C of at most S steps, of a point or of a pipeline's member, is compared with the proved
bound for S.

::

    python benchmarks/pipelines.py                      # all rows of the tables, 60 s each
    python benchmarks/pipelines.py --row torus --steps 12
"""

from __future__ import annotations

import argparse
import os
import tempfile
from fractions import Fraction
from pathlib import Path

from processes import pareto, process

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


def costs(frontier: Frontier, steps: int) -> Fraction | None:
    """The least R/C of a point or member of at most so many steps."""
    found = [point.bandwidth for point in frontier.points if point.steps <= steps]
    found += [c for f in frontier.families if (c := f.cost_within(steps)) is not None]
    return min(found, default=None)


def bound(frontier: Frontier, steps: int) -> Fraction:
    """The best proved bound that holds for at most so many steps: one for more steps does too."""
    proofs = () if frontier.evidence is None else frontier.evidence.proofs
    proved = [one.bound for one in proofs if one.steps >= steps]
    return max([*proved, frontier.least_bandwidth])


def row(topology: str, collective: str, most: int, seconds: float) -> str:
    """A line of the table."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "frontier.json"
        took, frontier = pareto(topology, collective, seconds, file)
        if frontier is None:
            return f"| {topology} | {collective} | no point | | | | |"
        process(["check", str(file)], allowed=(0, 4))
    cells, worst = [], Fraction(0)
    last: Fraction | None = None
    for steps in range(frontier.least_steps, most + 1):
        cost, low = costs(frontier, steps), bound(frontier, steps)
        if cost is None or cost == last == low:
            continue  # settled with fewer steps
        gap = cost / low - 1
        worst, last = max(worst, gap), cost
        cells.append(f"({steps}, {cost})" + (f" +{float(gap):.1%}" if gap else ""))
    families = "; ".join(family.words for family in frontier.families) or "none"
    ends = min(one.limit for one in frontier.families) if frontier.families else last
    end = float(ends / frontier.least_bandwidth - 1) if ends else float("inf")
    return (
        f"| {topology} | {collective} | {', '.join(cells)} | {float(worst):.1%} | {families} "
        f"| {end:.1%} | {took.seconds:.1f} | {took.work:.1f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--row", action="append", help="only rows whose machine contains this")
    parser.add_argument("--collective", action="append")
    parser.add_argument("--steps", type=int, default=12, help="S up to this")
    parser.add_argument("--seconds", type=float, default=60.0, help="for each row")
    arguments = parser.parse_args()
    loads = " ".join(f"{load:.1f}" for load in os.getloadavg())
    print(f"{os.cpu_count()} cores; load {loads}; {arguments.seconds:g} s each\n")
    for rows in (SMALL, LARGE, ENDS):
        chosen = [
            (machine, collective)
            for machine, collective in rows
            if (not arguments.row or any(part in machine for part in arguments.row))
            and (not arguments.collective or collective in arguments.collective)
        ]
        if not chosen:
            continue
        print("| machine | collective | (S, least R/C of at most S steps), gap to the bound "
              "| worst | pipelines | end | s | CPU s |")  # fmt: skip
        print("|---|---|---|--:|---|--:|--:|--:|", flush=True)
        for machine, collective in chosen:
            print(row(machine, collective, arguments.steps, arguments.seconds), flush=True)
        print()


if __name__ == "__main__":
    main()
