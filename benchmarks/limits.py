"""Whether time limits hold: ``python benchmarks/limits.py``, on a machine with nothing else to do.

Each row is one command in a process of its own, without a store.  The limit counts from the start
of the command; it may exceed it by a second or a twentieth, the larger of the two.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.tables import made_at

RESULTS = Path(__file__).parent / "results" / "limits.md"

ROWS = (
    ("pareto", "torus(8,8)", "allgather", 6.0),
    ("pareto", "hypercube(6)", "allreduce", 6.0),
    ("pareto", "a100(boxes=2)", "allgather", 4.0),
    ("pareto", "dgx1", "allreduce", 10.0),
    ("pareto", "torus(16,16)", "allgather", 25.0),
    ("pareto", "torus(8,8)", "alltoall", 10.0),
    ("pareto", "fat_tree(8)", "reducescatter", 10.0),
    ("solve -C 4 -S 8 -R 64", "torus(8,8)", "allgather", 5.0),
    ("bounds", "torus(8,8)", "allgather", 5.0),
    ("bounds", "hypercube(6)", "allreduce", 5.0),
    ("pareto --seeds none", "torus(8,8)", "allgather", 3.0),
    ("pareto --jobs 2", "torus(8,8)", "allgather", 6.0),
    ("pareto --backend multitree", "torus(16,16)", "allgather", 6.0),
)
STOPPED_AFTER = 60.0
"""Seconds over its limit after which a command is ended."""


@dataclass(frozen=True)
class Row:
    """The result of a command.

    Args:
        limit: seconds.
        wall: seconds on the clock.
        points: their number; None where it searches no points.
        code: its exit code.
    """

    limit: float
    wall: float
    points: int | None
    code: int

    @property
    def over(self) -> float:
        """Seconds over the limit."""
        return max(0.0, self.wall - self.limit)

    @property
    def holds(self) -> bool:
        """Whether that is allowed."""
        return self.over <= max(1.0, 0.05 * self.limit)


def measure(command: str, machine: str, collective: str, limit: float) -> Row:
    """Runs one command."""
    verb, *more = command.split()
    with tempfile.TemporaryDirectory() as folder:
        arguments = [sys.executable, "-m", "syncoll", verb, machine, collective, *more]
        arguments += ["--time-limit", f"{limit:g}s", "--format", "json"]
        environment = {**os.environ, "SYNCOLL_STORE": "none"}
        began = time.perf_counter()
        try:
            done = subprocess.run(
                arguments,
                capture_output=True,
                text=True,
                check=False,
                cwd=folder,
                env=environment,
                timeout=limit + STOPPED_AFTER,
            )
        except subprocess.TimeoutExpired:
            return Row(limit, time.perf_counter() - began, None, -1)
    wall = time.perf_counter() - began
    points = None
    if verb == "pareto" and done.stdout:
        points = len(json.loads(done.stdout)["points"])
    return Row(limit, wall, points, done.returncode)


def start_up() -> float:
    """Seconds until a command that does next to nothing is over."""
    began = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "syncoll", "show", "ring(4)"], capture_output=True, check=True
    )
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="rows whose text contains this")
    parser.add_argument("--write", action="store_true", help=f"write {RESULTS.name}")
    arguments = parser.parse_args()
    start_up()  # files are in memory then
    load = os.getloadavg()[0]
    lines = [
        "# Limits of time",
        "",
        made_at(),
        "`python benchmarks/limits.py --write`. Allowed: a second over the limit, or 5 %.",
        f"Start-up and end of a command: {start_up():.2f} s, in the limit. "
        f"Load of the machine when it began: {load:.1f} on {os.cpu_count()} cores.",
        "",
        "| command | machine | collective | limit | took | over | holds | points | exit code |",
        "|---|---|---|---:|---:|---:|---|---:|---:|",
    ]
    print("\n".join(lines), flush=True)
    for command, machine, collective, limit in ROWS:
        if arguments.only not in f"{command} {machine} {collective}":
            continue
        row = measure(command, machine, collective, limit)
        points = "" if row.points is None else row.points
        lines.append(
            f"| `{command}` | {machine} | {collective} | {limit:g} s | {row.wall:.1f} s | "
            f"{row.over:.1f} s | {'yes' if row.holds else 'NO'} | {points} | {row.code} |"
        )
        print(lines[-1], flush=True)
    if arguments.write:
        RESULTS.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
