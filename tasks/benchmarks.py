"""The age of the benchmarks' pages, and ten rows of one of them made again.

A page of ``benchmarks/results`` has a line with the commit and the date that made it, and the
folders that its figures depend on, see ``made_at`` in ``benchmarks/tables.py``.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["NIGHTLY", "Age", "Row", "ages", "rows_of", "wider"]

_MADE_AT = re.compile(
    r"^Made at commit ([0-9a-f]{7,40}), (\d{4}-\d\d-\d\d)(?:; measures (.+))?\.$", re.MULTILINE
)

NIGHTLY = (
    ("torus(8,8)", "allgather"),
    ("hypercube(6)", "reducescatter"),
    ("torus(4,4)", "alltoall"),
    ("mesh(8,8)", "allgather"),
    ("a100(boxes=2)", "allgather"),
    ("dgx_h100(boxes=4)", "alltoall"),
    ("a100(boxes=4)", "allreduce"),
    ("fat_tree(8)", "allreduce"),
    ("slim_fly(5)", "allgather"),
    ("a100(boxes=16)", "allgather"),
)
"""Rows of scale.py that the nightly task makes again: topology and collective."""

_TOLERANCE = 0.3
"""Percentage points by which a gap may be wider: runs on one machine differ by about as much."""


@dataclass(frozen=True)
class Age:
    """The age of a page.

    Args:
        page: its name.
        commit: that made it; empty for a page without the line.
        day: when, such as 2026-11-25.
        commits: number of later commits to the folders that it measures.
    """

    page: str
    commit: str
    day: str
    commits: int


@dataclass(frozen=True)
class Row:
    """A row of ``results/scale.md``; `gaps`: percentages by column, NaN where there is no bound."""

    machine: str
    collective: str
    gaps: dict[str, float]


def ages(results: Path, product: tuple[str, ...]) -> Iterator[Age]:
    """The age of each page of a folder in a checkout.

    Args:
        results: the folder.
        product: paths that a page depends on which names no folders.
    """
    for page in sorted(results.glob("*.md")):
        line = _MADE_AT.search(page.read_text("utf-8"))
        if line is None:
            yield Age(page.name, "", "", 0)
            continue
        commit, day, measured = line.groups()
        folders = measured.split() if measured else product
        asked = ["git", "-C", str(results), "rev-list", "--count", f"{commit}..HEAD", "--"]
        asked += [f":/{folder}" for folder in folders]
        done = subprocess.run(asked, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{page}: commit {commit}: {done.stderr.strip()}")
        yield Age(page.name, commit, day, int(done.stdout))


def rows_of(text: str) -> dict[tuple[str, str], Row]:
    """The rows of the first table of ``scale.py`` in a text, by machine and collective."""
    rows: dict[tuple[str, str], Row] = {}
    heads: list[str] = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        if line.startswith("| machine"):
            heads = cells
        elif heads and line.startswith("| ") and len(cells) == len(heads):
            row = dict(zip(heads, cells, strict=True))
            gaps = {head: _percentage(row[head]) for head in ("first", "worst", "end")}
            key = row["machine"], row["collective"]
            rows.setdefault(key, Row(*key, gaps))
    return rows


def _percentage(text: str) -> float:
    return float("nan") if text == "?" else float(text.rstrip("%"))


def wider(before: Row, now: Row) -> list[str]:
    """The gaps of a row that are wider than before, in words."""
    return [
        f"{head} {was:.2f} % -> {now.gaps[head]:.2f} %"
        for head, was in before.gaps.items()
        if not now.gaps[head] <= was + _TOLERANCE and was == was
    ]


def nightly(root: Path) -> int:
    """Makes the rows of `NIGHTLY` anew and compares them with the page; the exit code."""
    before = rows_of((root / "benchmarks" / "results" / "scale.md").read_text("utf-8"))
    code = 0
    for machine, collective in NIGHTLY:
        was = before.get((machine, collective))
        command = [sys.executable, "benchmarks/scale.py", "--row", machine]
        command += ["--collective", collective]
        made = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, text=True, check=True)
        now = rows_of(made.stdout).get((machine, collective))
        if was is None or now is None:
            verdict, bad = "not on the page" if was is None else "no point", now is None
        else:
            worse = wider(was, now)
            verdict, bad = ", ".join(worse) or "as before", bool(worse)
        sys.stdout.write(f"{machine:24} {collective:14} {verdict}\n")
        sys.stdout.flush()
        code |= bad
    return code
