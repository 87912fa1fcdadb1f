"""The price of reproducible sums: allreduce with and without on six machines.

::

    python benchmarks/reproducible.py                  # results/reproducible.md
    python benchmarks/reproducible.py "ring(8)" --work 30

For each machine both frontiers are searched with the same limit of work.  R/C is the least of at
most S steps.  Reproducible sums are a special case, so the bounds without them hold for both: the
price is proved to be none where R/C meets the bound, and else at most its distance from the bound.
"""

from __future__ import annotations

import argparse
from fractions import Fraction

import syncoll
from benchmarks.tables import Page, add_options, least_cost, least_proved, made_at

MACHINES = ("dgx1", "ring(8)", "hypercube(3)", "torus(4,4)", "mi300x", "dgx_h100(boxes=2)")


def main() -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("machines", nargs="*", help='such as "ring(8)"')
    parser.add_argument("--work", type=float, default=10.0, help="of each search (default 10)")
    add_options(parser, "reproducible")
    arguments = parser.parse_args()
    page = Page(arguments.output)
    page.say("# The price of reproducible sums", "", made_at(), "")
    page.say(f"Allreduce, work {arguments.work:g} for each search.", "")
    page.head("machine", "S", "R/C", "R/C without", "proved bound", "price", "proved price")
    for machine in arguments.machines or MACHINES:
        for cells in rows(machine, arguments.work):
            page.row(*cells)
        page.write(None)


def rows(machine: str, work: float) -> list[list[str]]:
    """The cells of a machine, for each S at which one of the two costs falls."""
    found, plain = (
        syncoll.pareto(machine, name, work=work, progress="none")
        for name in ("allreduce reproducible", "allreduce")
    )
    listed = []
    for steps in sorted({one.steps for some in (found, plain) for one in some.points}):
        own, other = least_cost(found, steps), least_cost(plain, steps)
        bound = max(least_proved(found, steps), least_proved(plain, steps))
        price = "" if own is None or other is None else percent(max(own, other), other)
        proved = "" if own is None else f"at most {percent(own, bound)}"
        proved = "none" if own == bound else proved
        cells = [machine, str(steps), str(own or ""), str(other or ""), str(bound), price, proved]
        listed.append(cells)
    return listed


def percent(cost: Fraction, of: Fraction) -> str:
    """By how much a cost is above another one."""
    return f"{float(cost / of - 1):.1%}"


if __name__ == "__main__":
    main()
