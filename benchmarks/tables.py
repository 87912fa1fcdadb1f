"""A benchmark's tables: printed as they come, and kept in `results`.

The results of a run can be saved as JSON, so that a later one, of another version, shows both.
"""

from __future__ import annotations

import json
import os
import subprocess
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from datetime import date
from fractions import Fraction
from math import exp, log
from pathlib import Path

from syncoll.documents.atomic import write_atomically
from syncoll.results import Frontier

__all__ = [
    "RESULTS",
    "Costs",
    "Page",
    "add_options",
    "add_other",
    "add_rows",
    "earlier",
    "is_asked",
    "least_cost",
    "least_proved",
    "made_at",
    "mean",
]

Costs = dict[int, tuple[Fraction | None, Fraction]]
"""For each S the best R/C with at most S steps, and the bound."""

RESULTS = Path(__file__).parent / "results"


def made_at(*measured: str) -> str:
    """The line of a page that ``python -m tasks benchmarks`` reads: its commit and date.

    Args:
        measured: folders of the product that the figures depend on; by default all.
    """
    asked = ["git", "-C", str(RESULTS), "rev-parse", "--short=8", "HEAD"]
    commit = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    scope = f"; measures {' '.join(measured)}" if measured else ""
    return f"Made at commit {commit}, {date.today().isoformat()}{scope}.\n"


def least_cost(frontier: Frontier, steps: int) -> Fraction | None:
    """The least R/C of a point or a pipeline's member of at most `steps` steps."""
    found = [point.bandwidth for point in frontier.points if point.steps <= steps]
    found += [c for f in frontier.families if (c := f.cost_within(steps)) is not None]
    return min(found, default=None)


def least_proved(frontier: Frontier, steps: int) -> Fraction:
    """The best proved bound for at most `steps` steps; a bound for more steps holds, too."""
    proofs = () if frontier.evidence is None else frontier.evidence.proofs
    proved = [one.bound for one in proofs if one.steps >= steps]
    return max([*proved, frontier.least_bandwidth])


def mean(gaps: Sequence[float]) -> float:
    """Geometric, of one plus each; 0 without any."""
    return exp(sum(log(1 + gap) for gap in gaps) / len(gaps)) - 1 if gaps else 0.0


class Page:
    """A page of Markdown.

    Args:
        file: where it goes; None for nowhere.
    """

    def __init__(self, file: Path | None) -> None:
        self._file, self._lines = file, list[str]()
        self.found: dict[str, Costs] = {}

    def say(self, *lines: str) -> None:
        """Prints lines, and keeps them."""
        self._lines += lines
        print(*lines, sep="\n", flush=True)

    def row(self, *cells: object) -> None:
        """Adds a row of a table."""
        self.say(f"| {' | '.join(map(str, cells))} |")

    def head(self, *cells: str) -> None:
        """Begins a table with the names of its columns."""
        self.row(*cells)
        self.row(*["---"] * len(cells))

    def conditions(self, seconds: float) -> None:
        """Adds the conditions of the run."""
        loads = " ".join(f"{load:.1f}" for load in os.getloadavg())
        self.say(f"{os.cpu_count()} cores, load {loads} at the start; {seconds:g} s each.", "")

    def write(self, saved: Path | None) -> None:
        """Writes the page, and the results if a file for them is given."""
        if self._file is not None:
            write_atomically(self._file, "\n".join(self._lines) + "\n")
        if saved is not None:
            text = {
                name: {str(s): [None if f is None else str(f), str(p)] for s, (f, p) in one.items()}
                for name, one in self.found.items()
            }
            write_atomically(saved, json.dumps(text, indent=1) + "\n")


def add_options(parser: ArgumentParser, name: str) -> None:
    """Options for the files of results, and for the results to compare with."""
    page = RESULTS / f"{name}.md"
    parser.add_argument(
        "-o", "--output", type=Path, default=page, help=f"the page (default {page})"
    )
    parser.add_argument("--save", type=Path, metavar="FILE", help="the results, as JSON")
    parser.add_argument("--before", type=Path, metavar="FILE", help="the results of an earlier run")


def add_rows(parser: ArgumentParser) -> None:
    """Options for the rows to measure."""
    parser.add_argument("--row", action="append", help="only rows whose machine contains this")
    parser.add_argument("--collective", action="append")


def is_asked(arguments: Namespace, machine: str, collective: str) -> bool:
    """Whether the options of `add_rows` choose a row."""
    return (not arguments.row or any(part in machine for part in arguments.row)) and (
        not arguments.collective or collective in arguments.collective
    )


def add_other(parser: ArgumentParser) -> None:
    """Another version, with which each row is run as well, just before."""
    parser.add_argument("--other", metavar="PYTHON", help="the interpreter of another version")


def earlier(arguments: Namespace) -> dict[str, Costs]:
    """The results of an earlier run; empty without its file."""
    if arguments.before is None:
        return {}
    return {
        name: {
            int(s): (None if found is None else Fraction(found), Fraction(proved))
            for s, (found, proved) in one.items()
        }
        for name, one in json.loads(arguments.before.read_text()).items()
    }
