"""Shows how an instance becomes what a backend is asked: the encoding, each lowering between the
two, and how many variables and constraints there are before and after it.  Nothing is solved.

  syncoll explain dgx1 allgather -C 6 -S 3 -R 7 --encoding path --backend pysat
"""

from __future__ import annotations

import argparse

import syncoll
from syncoll.cli.exits import Exit
from syncoll.cli.options import FORMAT, add, add_instance, add_problem, add_solver
from syncoll.cli.output import picked, print_json, print_page

_SIZE = "variables constraints booleans integers clauses cardinalities linears differences literals"

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own."""
    add_problem(parser)
    add_instance(parser)
    add(parser, FORMAT)
    add_solver(parser)


def run(arguments: argparse.Namespace) -> int:
    """Runs the command; its exit code."""
    found = syncoll.explain(**picked(arguments, "topology collective chunks steps rounds"))
    if arguments.format != "json":
        print_page(found.page())
        return Exit.OK
    instance = found.instance
    print_json(
        {
            "schema": "syncoll/explanation/1",
            "topology": instance.topology.name,
            **picked(instance, "collective chunks steps rounds"),
            "global_chunks": instance.num_chunks,
            "least_steps": instance.least_steps,
            **picked(found, "note encoding backend"),
            "backend_features": list(found.features),
            "stages": [
                {
                    "name": stage.name,
                    "summary": stage.summary,
                    "seconds": round(stage.seconds, 6),
                    **picked(stage.size, _SIZE),
                    "features": sorted(stage.size.features),
                }
                for stage in found.stages
            ],
            **{name: {"ok": ok, "reason": reason} for name, ok, reason in found.answers},
        }
    )
    return Exit.OK
