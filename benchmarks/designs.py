"""Designs: every torus, twisted torus, circulant and hypercube of 64 nodes and degree 4 to 6.

::

    python benchmarks/designs.py                      # results/designs.md, figures/designs.svg
    python benchmarks/designs.py --steps 2 -o none    # R/C for two numbers of steps, too

All connected circulants of 64 nodes have an odd offset, which multiplication makes 1; and a ring of
4 nodes is a square, so that tori of three sizes are all with a degree of 4 to 6.  The table has the
machines that are behind no other.
"""

from __future__ import annotations

import argparse
import os
import time
from collections import Counter
from pathlib import Path

import syncoll
from benchmarks.tables import RESULTS, Page, made_at

FAMILIES = (
    "torus(a,b,c)",
    "twisted_torus(p,q,r)",
    "circulant(64,1,i)",
    "circulant(64,1,i,j)",
    "hypercube(d)",
)
WHERE = ("4 <= ports and ports <= 6 and P == 64", "a*b*c == 64 and a <= b and b <= c",
         "p*q*r == 64", "i <= 32", "i < j and j <= 32", "d == 6")  # fmt: skip
COLLECTIVES = ("allgather", "alltoall")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=0, help="bounds for the first numbers of S")
    parser.add_argument("--most", type=int, default=64, help="the largest parameter")
    parser.add_argument(
        "-o", "--output", type=Path, default=RESULTS / "designs.md", help="the page; none: none"
    )
    arguments = parser.parse_args()
    page = Page(None if str(arguments.output) == "none" else arguments.output)
    loads = " ".join(f"{load:.1f}" for load in os.getloadavg())
    began = time.process_time()
    found = syncoll.design(
        FAMILIES,
        COLLECTIVES,
        where=WHERE,
        steps=arguments.steps,
        most=arguments.most,
        progress="none",
    )
    work = time.process_time() - began
    every = list(zip(found.assessed, found.behind(), strict=True))
    names = sum(1 + len(one.candidate.same) for one in found.assessed)
    page.say(
        "# Designs of 64 nodes",
        "",
        made_at("syncoll/designing", "syncoll/bounding"),
        f"{', '.join(FAMILIES)} with degree 4 to 6: {names} names, {len(every)} machines, "
        f"{len(every) * len(COLLECTIVES)} proved pairs of bounds"
        + ("." if found.complete else ", not all of them in time."),
        f"{work:.0f} s of processor time, {found.seconds:.0f} s on the clock, in one process; "
        f"{os.cpu_count()} cores, load {loads} at the start.",
        "",
        "## By degree",
        "",
        "| degree | machines | behind no other | allgather: S, R/C at least | alltoall: S, R/C at "
        "least |",
        "|---|---|---|---|---|",
    )
    for ports, number in sorted(Counter(one.candidate.costs.ports for one, _ in every).items()):
        own = [(one, ahead) for one, ahead in every if one.candidate.costs.ports == ports]
        cells = []
        for name in COLLECTIVES:
            bounds = [one.bounds[name] for one, _ in own if name in one.bounds]
            steps, rates = [b.steps for b in bounds], [b.bandwidth for b in bounds]
            cells.append(f"{min(steps)} to {max(steps)}, {min(rates)} to {max(rates)}")
        front = sum(ahead is None for _, ahead in own)
        page.say(f"| {ports} | {number} | {front} | {' | '.join(cells)} |")
    page.say(
        "",
        "## Behind no other",
        "",
        "| machine | the same as | degree | links | "
        + " | ".join(f"{name}: S ≥ | R/C ≥" for name in COLLECTIVES)
        + " |",
        "|---" * (4 + 2 * len(COLLECTIVES)) + "|",
    )
    for one, ahead in every:
        if ahead is not None:
            continue
        same, costs = one.candidate.same, one.candidate.costs
        alike = ", ".join(same[:2]) + (f" and {len(same) - 2} more" if len(same) > 2 else "")
        cells = []
        for name in COLLECTIVES:
            proved = one.bounds.get(name)
            by_steps = () if proved is None else proved.by_steps
            more = ", ".join(f"{s}: {low}" for s, low in by_steps)
            low = "-" if proved is None else f"{proved.bandwidth}{f' ({more})' if more else ''}"
            cells += ["-" if proved is None else str(proved.steps), low]
        head = f"| {one.candidate.name} | {alike} | {costs.ports} | {costs.links} | "
        page.say(f"{head}{' | '.join(cells)} |")
    if str(arguments.output) != "none":
        picture = arguments.output.parent / "figures" / f"{arguments.output.stem}.svg"
        picture.parent.mkdir(exist_ok=True)
        found.plot().save(picture)
        page.say("", f"![R/C over links](figures/{picture.name})")
    page.write(None)


if __name__ == "__main__":
    main()
