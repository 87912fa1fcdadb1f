"""Symmetric algorithms alone against all of them: variables, constraints and seconds.

::

    python benchmarks/quotient.py                       # the rows of results/quotient.md
    python benchmarks/quotient.py --seconds 300 --backend cpsat

Each row decides one (S, R, C) twice: with the encoding's formula as it stands, and with one
variable for each orbit under a free group of automorphisms.  Seconds are those on the clock;
finding the group has a column of its own.
"""

from __future__ import annotations

import argparse
import time

from benchmarks.tables import made_at
from syncoll.formula import Limits
from syncoll.model import Instance
from syncoll.plugins import PluginManager
from syncoll.results import Solution
from syncoll.routing import as_topology
from syncoll.solving import Solver
from syncoll.spec import SpecLibrary
from syncoll.symmetry import Action

ROWS = (
    ("dgx1", "allgather", 6, 3, 7),
    ("a100(boxes=2)", "allgather", 6, 4, 7),
    ("torus(4,4)", "allgather", 4, 4, 15),
    ("torus(4,4)", "alltoall", 16, 4, 8),
    ("mesh(4,4)", "alltoall", 16, 6, 16),
    ("mi250(boxes=1)", "alltoall", 48, 5, 32),
)

WAYS = (("step", "auto"), ("step", "cpsat"), ("step", "pysat"), ("path", "auto"))

HEAD = ("machine", "collective", "C", "S", "R", "encoding", "backend", "group", "found in",
        "variables", "quotient", "constraints", "quotient", "answer", "s", "quotient",
        "s")  # fmt: skip


def row(cells: list[object]) -> None:
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def told(solver: Solver, instance: Instance, symmetry: Action | None) -> tuple[Solution, str, str]:
    """The answer, in words and in seconds on the clock."""
    began = time.perf_counter()
    solution = solver.solve(instance, symmetry=symmetry)
    seconds = time.perf_counter() - began
    reason = "" if solution.algorithm else f" ({solution.outcome.reason})"
    return solution, f"{solution.verdict}{reason}", f"{seconds:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="for each run")
    parser.add_argument("--backend", help="this one only")
    arguments = parser.parse_args()
    print(made_at("syncoll/symmetry", "encodings"))
    plugins = PluginManager.discover()
    library = SpecLibrary([one.folder for one in plugins.spec_libraries.values()])
    tiny = library.collective("allgather").instantiate(
        as_topology(library.topology("ring(4)")), chunks=1, steps=2, rounds=2
    )
    row(list(HEAD))
    row(["---"] * len(HEAD))
    for machine, name, chunks, steps, rounds in ROWS:
        collective = library.collective(name)
        instance = collective.instantiate(
            as_topology(library.topology(machine)), chunks=chunks, steps=steps, rounds=rounds
        )
        began = time.perf_counter()
        action = Action.of(instance)
        group = [action.group.order, f"{time.perf_counter() - began:.2f}"]
        for encoding, backend in WAYS:
            if arguments.backend not in (None, backend):
                continue
            limits = Limits(seconds=arguments.seconds, threads=2)
            with Solver(plugins, encoding=encoding, backend=backend, limits=limits) as solver:
                solver.solve(tiny)  # workers have started then
                small, *small_told = told(solver, instance, action)
                whole, *whole_told = told(solver, instance, None)
            sizes = [
                size
                for one, two in (
                    (whole.size.variables, small.size.variables),
                    (whole.size.constraints, small.size.constraints),
                )
                for size in (one, two)
            ]
            question = [machine, name, chunks, steps, rounds, encoding, backend]
            row([*question, *group, *sizes, *whole_told, *small_told])


if __name__ == "__main__":
    main()
