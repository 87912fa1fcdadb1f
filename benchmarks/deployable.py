"""Few chunks: the gap between R/C with a limit on chunks and the bound for any number of them.

Each machine and collective has a ``syncoll pareto`` without a limit on chunks, one for each limit
on chunks, and ``syncoll bounds``, whose bounds hold for every C.  A row is an S of at least 3 for
which the first has a point.  A gap is the least R/C of a point with at most S steps over the best
proved bound, minus 1; means are geometric.

::

    python benchmarks/deployable.py                   # all tables, into results: half an hour
    python benchmarks/deployable.py --row torus --time-limit 20 -o torus.md
    python benchmarks/deployable.py --save now.json --before results/deployable_before.json
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from math import inf
from pathlib import Path
from typing import Any

from benchmarks.processes import pareto, process
from benchmarks.tables import Page, add_options, add_rows, is_asked, least_proved, made_at, mean
from syncoll.documents import read_file
from syncoll.documents.atomic import write_atomically
from syncoll.results import Frontier

LIMITS: tuple[tuple[str, str, dict[int, float]], ...] = (
    ("dgx_h100(boxes=2)", "allgather", {4: 0.08, 8: 0.05}),
    ("a100(boxes=2)", "allgather", {4: 0.08, 8: 0.05}),
    ("dgx_h100(boxes=2)", "allreduce", {64: 0.08}),
    ("a100(boxes=2)", "allreduce", {64: 0.08}),
    ("dgx_h100(boxes=4)", "allgather", {4: 0.12}),
    ("a100(boxes=4)", "allgather", {4: 0.12}),
    ("dgx_h100(boxes=4)", "allreduce", {128: 0.12}),
    ("a100(boxes=4)", "allreduce", {128: 0.12}),
    ("mi300x(boxes=2)", "allgather", {4: 0.08, 16: 0.04}),
    ("mi250(boxes=1)", "allgather", {4: 0.08, 16: 0.04}),
    ("torus(4,4)", "allreduce", {64: 0.06}),
    ("dgx1", "allreduce", {48: 0.06}),
    ("mi250(boxes=1)", "allreduce", {64: 0.06}),
)
"""Topology, collective, and for each limit on C the gap that is aimed at."""

LEAST_STEPS = 3

MOST_BOUNDED = 18
"""Largest S with a bound of its own; more steps seldom have a larger bound than any number."""

Limited = dict[int, "Found | None"]
"""For each S the best point."""


@dataclass(frozen=True)
class Found:
    """The costs of an algorithm; saved allgathers may lack messages."""

    bandwidth: Fraction
    chunks: int
    messages: int | None

    def __str__(self) -> str:
        messages = "" if self.messages is None else f", {self.messages}"
        return f"{self.bandwidth} (C = {self.chunks}{messages})"


@dataclass(frozen=True)
class Case:
    """A machine and a collective.

    Args:
        proved: for each S the bound on R/C.
        any: for each S the best point without a limit on chunks.
        limited: the same for each limit.
    """

    proved: dict[int, Fraction]
    any: Limited
    limited: dict[int, Limited]


def best(frontier: Frontier | None, steps: int) -> Found | None:
    """The point of least R/C with at most these steps; of equal ones the simplest."""
    points = [] if frontier is None else [p for p in frontier.points if p.steps <= steps]
    costs = [(p.bandwidth, p.chunks, p.messages) for p in points]
    return Found(*min(costs)) if costs else None


def searched(topology: str, collective: str, seconds: float, chunks: int | None) -> Frontier | None:
    """The frontier, with a limit on C or without."""
    with tempfile.TemporaryDirectory() as folder:
        more = [] if chunks is None else ["--max-chunks", str(chunks)]
        return pareto(topology, collective, seconds, Path(folder) / "frontier.json", more)[1]


def bounded(topology: str, collective: str, seconds: float, steps: int) -> Frontier:
    """The bounds for each S up to `steps`, as a frontier without points."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "bounds.json"
        limits = ["--max-steps", str(steps), "--time-limit", f"{seconds:g}s", "-o", str(file)]
        process(["bounds", topology, collective, *limits])
        return read_file(file).claims()


def measured(
    topology: str,
    collective: str,
    limits: Mapping[int, float],
    seconds: float,
    before: Case | None,
    *,
    limited_only: bool,
) -> Case:
    """Searches without a limit and with each; bounds and S of an earlier run stay."""
    if before is not None and limited_only:
        proved, free_points = before.proved, before.any
    else:
        free = searched(topology, collective, seconds, None)
        if free is None:
            raise RuntimeError(f"{topology} {collective}: no point in {seconds:g} s")
        every = {p.steps for p in free.points if p.steps >= LEAST_STEPS}
        every = every if before is None else set(before.proved)
        known = {} if before is None else before.proved
        last = min(max(every), MOST_BOUNDED)
        either = [free, bounded(topology, collective, seconds, last)]
        proved = {
            s: max(known.get(s, Fraction(0)), *(least_proved(one, s) for one in either))
            for s in sorted(every)
        }
        free_points = {s: best(free, s) for s in proved}
    limited = {}
    for chunks in limits:
        found = searched(topology, collective, seconds, chunks)
        limited[chunks] = {s: best(found, s) for s in proved}
    return Case(proved, free_points, limited)


def gap(found: Found | None, proved: Fraction) -> float:
    """R/C over the proved one, minus 1."""
    return inf if found is None else float(found.bandwidth / proved - 1)


def gaps(case: Case, limited: Limited) -> list[float]:
    """Of every S."""
    return [gap(limited.get(s), proved) for s, proved in case.proved.items()]


def lines(name: str, case: Case, before: Case | None) -> Iterator[str]:
    """Lines of the table of all S."""
    for chunks, found in case.limited.items():
        was = {} if before is None else before.limited.get(chunks, {})
        for s, proved in case.proved.items():
            one, other = found[s], was.get(s)
            then = "" if other is None else f"{other} | {gap(other, proved):.1%}"
            yield (
                f"| {name} | {chunks} | {s} | {then or '|'} "
                f"| {one or 'none'} | {gap(one, proved):.1%} | {proved} |"
            )


def summary(
    name: str, case: Case, limits: Mapping[int, float], before: Case | None
) -> Iterator[str]:
    """Lines of the table of limits."""
    for chunks, found in ((None, case.any), *case.limited.items()):
        own = gaps(case, found)
        was = ["", ""]
        if before is not None:
            then = gaps(case, before.any if chunks is None else before.limited.get(chunks, {}))
            was = [f"{max(then):.1%}", f"{mean(then):.1%}"]
        aim = "" if chunks is None else f"{limits[chunks]:.0%}"
        yield (
            f"| {name} | {chunks or 'any'} | {aim} | {' | '.join(was)} "
            f"| {max(own):.1%} | {mean(own):.1%} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_rows(parser)
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds for each search")
    parser.add_argument(
        "--limited", action="store_true", help="bounds and points for any C of --before"
    )
    add_options(parser, "deployable")
    arguments = parser.parse_args()
    before = {} if arguments.before is None else read(arguments.before)
    page = Page(arguments.output)
    page.say("# Algorithms of few chunks", "", made_at())
    page.say("Made by `benchmarks/deployable.py`. A gap is the found R/C over the bound for any C,")
    page.say("minus 1. For each S algorithms with at most S steps count; in parentheses C and the")
    page.say("number of messages.", "")
    page.conditions(arguments.time_limit)
    page.say("| machine, collective | C at most | S | before | gap | found | gap | bound |")
    page.say("|---|--:|--:|---|--:|---|--:|--:|")
    cases: dict[str, Case] = {}
    summaries: list[str] = []
    for topology, collective, limits in LIMITS:
        if not is_asked(arguments, topology, collective):
            continue
        name = f"{topology} {collective}"
        then = before.get(name)
        case = measured(
            topology, collective, limits, arguments.time_limit, then, limited_only=arguments.limited
        )
        cases[name] = case
        page.say(*lines(name, case, then))
        summaries += summary(name, case, limits, then)
    page.say("", "| machine, collective | C at most | aim | before: worst | mean | worst | mean |")
    page.say("|---|--:|--:|--:|--:|--:|--:|", *summaries, "")
    rows = [(name, chunks) for name, case in cases.items() for chunks in case.limited]
    every = [one for name, chunks in rows for one in gaps(cases[name], cases[name].limited[chunks])]
    page.say(f"Geometric mean of the gaps of all S and limits: {mean(every):.1%}.")
    known = [
        one
        for name, chunks in rows
        if name in before
        for one in gaps(cases[name], before[name].limited.get(chunks, {}))
    ]
    if known:
        page.say(f"Before: {mean(known):.1%}.")
    page.write(None)
    if arguments.save is not None:
        write(arguments.save, cases)


def write(file: Path, cases: Mapping[str, Case]) -> None:
    """Saves cases as JSON; fractions are texts."""
    text = json.dumps({name: asdict(case) for name, case in cases.items()}, default=str, indent=1)
    write_atomically(file, text + "\n")


def read(file: Path) -> dict[str, Case]:
    """Reads cases that `write` saved."""
    return {
        name: Case(
            {int(s): Fraction(proved) for s, proved in case["proved"].items()},
            _limited(case["any"]),
            {int(chunks): _limited(one) for chunks, one in case["limited"].items()},
        )
        for name, case in json.loads(file.read_text()).items()
    }


def _limited(found: Mapping[str, Mapping[str, Any] | None]) -> Limited:
    return {
        int(s): None
        if one is None
        else Found(Fraction(one["bandwidth"]), one["chunks"], one["messages"])
        for s, one in found.items()
    }


if __name__ == "__main__":
    main()
