"""The effect of seeds on a search: ``python benchmarks/seeds.py``.

Each search runs in turns without seeds, with the default seeds, with their points but without hints
to the solver, and with every seed; each in a fresh process without a store. The ratios of one row
were measured right after each other.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.tables import made_at

RESULTS = Path(__file__).parent / "results" / "seeds.md"

ROWS = (
    ("dgx1", "allgather", ()),
    ("dgx1", "alltoall", ()),
    ("dgx1", "broadcast", ("--max-steps", "5")),
    ("dgx1", "reducescatter", ()),
    ("ring(8)", "allgather", ()),
    ("ring(8)", "broadcast", ("--max-steps", "8")),
    ("torus(3,3)", "broadcast", ("--max-steps", "5")),
    ("torus(4,4)", "allgather", ()),
    ("torus(4,4)", "broadcast", ("--max-steps", "6")),
    ("torus(4,4)", "alltoall", ()),
    ("hub(8)", "broadcast", ("--max-steps", "3")),
    ("dgx_a100", "allgather", ()),
    ("a100(boxes=1)", "allgather", ()),
    ("p2_16xlarge", "allgather", ()),
)
NO_HINTS = ("--backend-option", "cpsat.hints=false", "--backend-option", "pysat.hints=false")
WAYS = {
    "none": ("--seeds", "none"),
    "default": (),
    "default, no hints": NO_HINTS,
    "all": ("--seeds", "@all"),
}


def seeds() -> str:
    from syncoll.plugins import PluginManager

    return ",".join(PluginManager.discover().seeds)


def run(
    machine: str, collective: str, more: tuple[str, ...], limit: str
) -> tuple[float, dict[str, Any]]:
    command = [sys.executable, "-m", "syncoll", "pareto", machine, collective, *more]
    command += ["--time-limit", limit, "--format", "json", "--progress", "none"]
    began = time.perf_counter()
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "SYNCOLL_STORE": "none"},
    )
    seconds = time.perf_counter() - began
    if done.returncode not in (0, 3):
        raise SystemExit(f"{' '.join(command)}: {done.stderr}")
    return seconds, json.loads(done.stdout)


def points(document: dict[str, Any]) -> str:
    return ", ".join(f"({p['steps']}, {p['bandwidth']})" for p in document["points"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", default="40s", help="of each search (default: 40s)")
    parser.add_argument("--repeat", type=int, default=3, help="of each cell; the median counts")
    arguments = parser.parse_args()
    everything = seeds()
    ways = {k: tuple(everything if w == "@all" else w for w in v) for k, v in WAYS.items()}
    lines = [
        "# Searches with and without seeds",
        "",
        made_at(),
        f"`python benchmarks/seeds.py --limit {arguments.limit} --repeat {arguments.repeat}`: "
        "seconds of the whole command, the median of the runs; ratios to *none*. Points are the "
        "same wherever nothing else is said.",
        "",
        "| machine | collective | points | none s | default | default, no hints | all |",
        "|---|---|---|--:|--:|--:|--:|",
    ]
    ratios: dict[str, list[float]] = {name: [] for name in ways}
    for machine, collective, more in ROWS:
        taken: dict[str, list[float]] = {name: [] for name in ways}
        found: dict[str, str] = {}
        for _ in range(arguments.repeat):
            for name, way in ways.items():
                seconds, document = run(machine, collective, (*more, *way), arguments.limit)
                taken[name].append(seconds)
                found[name] = points(document)
        median = {name: statistics.median(values) for name, values in taken.items()}
        cells = []
        for name in list(ways)[1:]:
            ratio = median[name] / median["none"]
            ratios[name].append(ratio)
            other = "" if found[name] == found["none"] else f": {found[name]}"
            cells.append(f"{ratio:.2f}{other}")
        row = " | ".join([machine, collective, found["none"], f"{median['none']:.2f}", *cells])
        lines.append(f"| {row} |")
        print(lines[-1], flush=True)
    means = [f"{statistics.geometric_mean(ratios[name]):.2f}" for name in list(ways)[1:]]
    lines.append(f"| geometric mean | | | | {' | '.join(means)} |")
    print(lines[-1])
    RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
