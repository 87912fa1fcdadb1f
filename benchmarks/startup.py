"""The cost of a command before it does anything: ``python benchmarks/startup.py [--write]``.

Whole processes, each paired in one run with the import of CP-SAT's Python modules, which a program
that calls that solver by itself would pay.  The first run of all fills caches and is not counted.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from benchmarks.tables import made_at

RESULTS = Path(__file__).parent / "results" / "startup.md"
IMPORT = [sys.executable, "-c", "from ortools.sat.python import cp_model"]
SYNCOLL = [sys.executable, "-m", "syncoll"]
COMMANDS = (
    ("solve", "dgx1", "allgather", "-C", "1", "-S", "2", "-R", "2"),
    ("check", "f.json"),
    ("verify", "f.json"),
    ("show", "dgx1"),
    ("--help",),
)
RUNS = 7


def seconds(command: list[str], folder: str) -> float:
    began = time.perf_counter()
    subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, check=False)
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"also write {RESULTS.name}")
    arguments = parser.parse_args()
    lines = [
        "# Start-up",
        "",
        made_at("syncoll"),
        f"Medians of {RUNS} runs, wall-clock seconds; the ratio is the median of the runs' ratios "
        "to `from ortools.sat.python import cp_model` in the same run.",
        "",
        "| command | seconds | import of CP-SAT | ratio |",
        "|---|---|---|---|",
    ]
    with tempfile.TemporaryDirectory() as folder:
        seconds([*SYNCOLL, "pareto", "dgx1", "allgather", "-o", "f.json"], folder)
        for words in COMMANDS:
            seconds([*SYNCOLL, *words], folder)
            pairs = [
                (seconds([*SYNCOLL, *words], folder), seconds(IMPORT, folder)) for _ in range(RUNS)
            ]
            mine, theirs = (median(column) for column in zip(*pairs, strict=True))
            ratio = median(a / b for a, b in pairs)
            lines.append(f"| `{' '.join(words)}` | {mine:.2f} | {theirs:.2f} | {ratio:.2f} |")
            print(lines[-1], flush=True)
    if arguments.write:
        RESULTS.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
