"""Every row of the SCCL paper's Tables 4 and 5, for every encoding and backend.

Prints encode, lower and solve seconds, variables and constraints, and the paper's own seconds. It
keeps them in a JSON file, so a long run can be stopped and continued, and two versions can be
compared as ratios::

    python benchmarks/paper_tables.py                          # the defaults only
    python benchmarks/paper_tables.py --all                    # every encoding on every backend
    python benchmarks/paper_tables.py --show                   # print earlier measurements
    python benchmarks/paper_tables.py --output new.json --compare old.json
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.tables import made_at
from syncoll.documents import write_atomically
from syncoll.formula import Limits
from syncoll.plugins import PluginManager
from syncoll.routing import as_topology
from syncoll.searching import solve_one
from syncoll.solving import Solver, default_threads
from syncoll.spec import SpecLibrary

HERE = Path(__file__).parent
TABLES = json.loads((HERE / "sccl_tables.json").read_text())
DUALS = ("reduce", "reducescatter", "scatter")
"""The paper prints one row for these and their inverses."""


@dataclass(frozen=True)
class Row:
    """One row of a table with one encoding and backend."""

    topology: str
    collective: str
    chunks: int
    steps: int
    rounds: int
    encoding: str
    backend: str

    @property
    def key(self) -> str:
        return "/".join(str(value) for value in asdict(self).values())


def rows(encodings: list[str], backends: list[str]) -> Iterator[tuple[Row, float]]:
    """The rows to measure, each with the paper's seconds."""
    for backend in backends:
        for encoding in encodings:
            for topology in ("dgx1", "amd_z52"):
                for collective, table in TABLES[topology].items():
                    for chunks, steps, rounds, seconds in table:
                        row = Row(topology, collective, chunks, steps, rounds, encoding, backend)
                        yield row, seconds


def measure(
    solver: Solver, specs: SpecLibrary, row: Row, repeats: int, limit: float
) -> dict[str, object]:
    """The medians of some runs of one row."""
    topology, collective = (
        as_topology(specs.topology(row.topology)),
        specs.collective(row.collective),
    )
    runs = []
    for _ in range(repeats):
        solution = solve_one(
            solver,
            topology,
            collective,
            chunks=row.chunks,
            steps=row.steps,
            rounds=row.rounds,
            seconds=limit,
        )
        runs.append(solution)
        if solution.verdict == "unknown":
            break
    last = runs[-1]

    def median(*phases: str) -> float:
        values = [sum(run.seconds.get(phase, 0.0) for phase in phases) for run in runs]
        return round(statistics.median(values), 4)

    return {
        **asdict(row),
        "verdict": str(last.verdict),
        "reason": str(last.outcome.reason),
        "encode": median("encode"),
        "lower": median("lower"),
        "solve": median("load", "solve", "transfer"),
        "verify": median("verify"),
        "limit": limit,
        "variables": last.size.variables,
        "constraints": last.size.constraints,
        "lowered_variables": last.lowered_size.variables,
        "lowered_constraints": last.lowered_size.constraints,
    }


def show(results: dict[str, dict[str, object]]) -> None:
    """A Markdown table."""
    paper = {
        (t, c, *row[:3]): row[3]
        for t, collectives in TABLES.items()
        if t != "source"
        for c, table in collectives.items()
        for row in table
    }
    print("| machine | collective | C, S, R | encoding | backend | variables | constraints "
          "| encode s | lower s | solve s | paper s |")  # fmt: skip
    print("|---|---|---|---|---|--:|--:|--:|--:|--:|--:|")
    for r in results.values():
        solve = f"{r['solve']:.2f}" if r["verdict"] == "sat" else _why(r)
        numbers = (r["topology"], r["collective"], r["chunks"], r["steps"], r["rounds"])
        print(
            f"| {r['topology']} | {r['collective']} | {r['chunks']}, {r['steps']}, {r['rounds']} "
            f"| {r['encoding']} | {r['backend']} | {r['variables']} | {r['constraints']} "
            f"| {r['encode']:.3f} | {r['lower']:.3f} | {solve} | {paper[numbers]} |"
        )


def summary(results: dict[str, dict[str, object]]) -> None:
    """For each encoding and backend how long the rows took, from encoding to verifying."""
    groups: dict[tuple[str, str], list[dict[str, object]]] = {}
    for r in results.values():
        groups.setdefault((str(r["encoding"]), str(r["backend"])), []).append(r)
    print("\n| encoding | backend | rows | verified | median s | largest s | all rows s "
          "| the rows that are printed s |")  # fmt: skip
    print("|---|---|--:|--:|--:|--:|--:|--:|")
    for (encoding, backend), group in groups.items():
        seconds = [_total(r) for r in group]
        rows = sum(_total(r) for r in group if r["collective"] not in DUALS)
        verified = sum(r["verdict"] == "sat" for r in group)
        print(
            f"| {encoding} | {backend} | {len(group)} | {verified} "
            f"| {statistics.median(seconds):.2f} | {max(seconds):.2f} | {sum(seconds):.1f} "
            f"| {rows:.1f} |"
        )


def _total(result: dict[str, object]) -> float:
    return sum(float(str(result[phase])) for phase in ("encode", "lower", "solve", "verify"))


def _why(result: dict[str, object]) -> str:
    if result["reason"] == "time limit":
        return f"over {result['limit']:g}"
    return str(result["reason"])


def compare(results: dict[str, dict[str, object]], old: dict[str, dict[str, object]]) -> None:
    """Ratios of encode plus lower plus solve seconds, new to old, row by row."""
    ratios = []
    for key, new in results.items():
        before = old.get(key)
        if before is None or {new["verdict"], before["verdict"]} != {"sat"}:
            continue
        total = [
            sum(float(str(r[phase])) for phase in ("encode", "lower", "solve"))
            for r in (new, before)
        ]
        ratios.append(total[0] / total[1])
        print(f"{key}: {total[1]:.3f} s -> {total[0]:.3f} s, ratio {ratios[-1]:.2f}")
    if ratios:
        print(f"{len(ratios)} rows, median ratio {statistics.median(ratios):.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--all", action="store_true", help="every encoding on every backend")
    parser.add_argument("--encoding", action="append")
    parser.add_argument("--backend", action="append")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds for each row")
    parser.add_argument("--repeats", type=int, default=1, help="runs of each row; medians count")
    parser.add_argument("--threads", type=int, default=default_threads())
    parser.add_argument("--output", type=Path, default=HERE / "results" / "paper_tables.json")
    parser.add_argument("--show", action="store_true", help="measure nothing, print the table")
    parser.add_argument("--compare", type=Path, help="an older output to compare with")
    arguments = parser.parse_args()

    plugins = PluginManager.discover()
    specs = SpecLibrary([record.folder for record in plugins.spec_libraries.values()])
    moving = sorted(name for name, e in plugins.encodings.items() if not e.combining)
    encodings = arguments.encoding or (moving if arguments.all else ["step"])
    backends = arguments.backend or (sorted(plugins.backends) if arguments.all else ["auto"])
    results: dict[str, dict[str, object]] = {}
    if arguments.output.exists():
        results = json.loads(arguments.output.read_text())
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    began, solver = time.perf_counter(), None
    for row, _ in rows(encodings, backends):
        if arguments.show or row.key in results:
            continue
        if solver is None or (solver.encoding.name, solver.backend_name) != (
            row.encoding,
            row.backend,
        ):
            if solver is not None:
                solver.close()
            solver = Solver(
                plugins,
                encoding=row.encoding,
                backend=row.backend,
                limits=Limits(seconds=arguments.limit, threads=arguments.threads),
            )
        results[row.key] = measure(solver, specs, row, arguments.repeats, arguments.limit)
        write_atomically(arguments.output, json.dumps(results, indent=1) + "\n")
        r = results[row.key]
        print(f"[{time.perf_counter() - began:7.1f} s] {row.key}: {r['verdict']} in {r['solve']} s",
              flush=True)  # fmt: skip
    if solver is not None:
        solver.close()
    print(made_at())
    show(results)
    summary(results)
    if arguments.compare is not None:
        compare(results, json.loads(arguments.compare.read_text()))


if __name__ == "__main__":
    main()
