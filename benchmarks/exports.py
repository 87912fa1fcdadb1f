"""Every frontier algorithm in every format: written, read back and executed, or refused and why.

For each machine and collective a frontier is searched with a time limit, or read from the files of
``--frontiers``. Each of its algorithms is exported to each format and dialect, out of place and in
place. The format's own checker checks the files against the instance; a file that does not pass
ends the benchmark. A cell counts exports that passed, and after a dash the refused ones; the
reasons are below the table.

::

    python benchmarks/exports.py                        # dgx1 and ring(8), all collectives
    python benchmarks/exports.py --to mscclpp --topology dgx1 --frontiers kept/
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from benchmarks.tables import made_at
from syncoll.documents import StoredFile, read_file
from syncoll.errors import ExportError
from syncoll.plugins import ExporterRecord, ExportRequest, PluginManager
from syncoll.runtime import export_verified

TOPOLOGIES = ("dgx1", "ring(8)")
COLLECTIVES = (
    "allgather",
    "reducescatter",
    "allreduce",
    "alltoall",
    "broadcast",
    "reduce",
    "gather",
    "scatter",
)
_VARIANTS = ("dialect", "channel")
"""Options whose values are columns of their own."""

Column = tuple[ExporterRecord, dict[str, str]]


def columns(wanted: list[str] | None) -> Iterator[Column]:
    """Each format with each value of the option that makes it another one."""
    for record in PluginManager.discover().exporters.values():
        if wanted and record.name not in wanted:
            continue
        option = next((one for one in record.options if one.name in _VARIANTS), None)
        if option is None:
            yield record, {}
            continue
        for choice in option.choices:
            yield record, {option.name: choice}


def frontier(topology: str, collective: str, seconds: float, folder: Path) -> StoredFile:
    """The frontier, searched for unless its file is there.

    Raises:
        RuntimeError: when the search fails.
    """
    name = "".join(c for c in f"{topology}-{collective}" if c.isalnum() or c in "._-")
    file = folder / f"{name}.json"
    if not file.exists():
        command = [sys.executable, "-m", "syncoll", "pareto", topology, collective]
        command += ["--store", "none", "--time-limit", f"{seconds:g}s", "-o", str(file)]
        done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}: {done.stderr}")
    return read_file(file)


def export_all(stored: StoredFile, column: Column, reasons: Counter[str]) -> str:
    """A cell of the table.

    Raises:
        VerificationError: when something that was written does not pass its checker.
    """
    record, options = column
    passed = refused = 0
    for one in stored.algorithms:
        for in_place in (False, True):
            request = ExportRequest(
                "benchmark", stored.collective, one.instance, one.algorithm, in_place
            )
            try:
                export_verified(record, request, options)
                passed += 1
            except ExportError as error:
                refused += 1
                reasons[f"{_title(column)}: {error}"] += 1
    return f"{passed} - {refused}" if refused else str(passed)


def _title(column: Column) -> str:
    return " ".join((column[0].name, *column[1].values()))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--topology", action="append")
    parser.add_argument("--collective", action="append")
    parser.add_argument("--to", action="append", metavar="FORMAT")
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds for each search")
    parser.add_argument("--frontiers", type=Path, help="a folder that keeps the frontiers' files")
    arguments = parser.parse_args()
    print(made_at("exporters", "syncoll/runtime"))
    chosen = list(columns(arguments.to))
    reasons: Counter[str] = Counter()
    seconds = {_title(column): 0.0 for column in chosen}
    print(f"| machine | collective | algorithms | {' | '.join(map(_title, chosen))} |")
    print(f"|---|---|--:|{'--:|' * len(chosen)}", flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.frontiers or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for topology in arguments.topology or TOPOLOGIES:
            for collective in arguments.collective or COLLECTIVES:
                stored = frontier(topology, collective, arguments.time_limit, folder)
                cells = []
                for column in chosen:
                    began = time.perf_counter()
                    cells.append(export_all(stored, column, reasons))
                    seconds[_title(column)] += time.perf_counter() - began
                count = len(stored.algorithms)
                print(f"| {topology} | {collective} | {count} | {' | '.join(cells)} |", flush=True)
    print(f"| | seconds | | {' | '.join(f'{seconds[_title(one)]:.1f}' for one in chosen)} |")
    for reason, count in sorted(reasons.items()):
        print(f"\n- {count} times, {reason}", end="")
    print()


if __name__ == "__main__":
    main()
