"""``syncoll explain TOPOLOGY COLLECTIVE -C -S -R``: the formula, without solving it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from syncoll.cli.arguments import Subparsers, add_format, add_instance, add_problem, add_solver
from syncoll.cli.exits import Exit

if TYPE_CHECKING:
    from syncoll.formula import FormulaSize

__all__ = ["add_parser"]

_DESCRIPTION = """\
Shows how an instance becomes what a backend is asked: the encoding, each lowering between the two,
and how many variables and constraints there are before and after it.  Nothing is solved.

  syncoll explain dgx1 allgather -C 6 -S 3 -R 7 --encoding path --backend pysat
"""


def add_parser(commands: Subparsers[argparse.ArgumentParser]) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "explain",
        help="the formula of an instance and its lowerings, without solving",
        description=_DESCRIPTION,
    )
    add_problem(parser)
    add_instance(parser)
    add_format(parser)
    add_solver(parser)
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from syncoll.cli.arguments import instance_of
    from syncoll.cli.output import print_json, print_page
    from syncoll.pages.explanation import explanation_page

    session = arguments.session
    instance, collective = instance_of(arguments)
    found = session.explain(instance, collective)
    if arguments.format != "json":
        print_page(explanation_page(found))
        return Exit.OK
    print_json(
        {
            "schema": "syncoll/explanation/1",
            "topology": instance.topology.name,
            "collective": instance.collective,
            "chunks": instance.chunks,
            "steps": instance.steps,
            "rounds": instance.rounds,
            "global_chunks": instance.num_chunks,
            "least_steps": instance.least_steps,
            "note": found.note,
            "encoding": found.encoding,
            "backend": found.backend,
            "backend_features": list(found.features),
            "stages": [
                {
                    "name": stage.name,
                    "summary": stage.summary,
                    "seconds": round(stage.seconds, 6),
                    **_size(stage.size),
                }
                for stage in found.stages
            ],
            **{name: {"ok": ok, "reason": reason} for name, ok, reason in found.answers},
        }
    )
    return Exit.OK


def _size(size: FormulaSize) -> dict[str, Any]:
    return {
        "variables": size.variables,
        "constraints": size.constraints,
        "booleans": size.booleans,
        "integers": size.integers,
        "clauses": size.clauses,
        "cardinalities": size.cardinalities,
        "linears": size.linears,
        "differences": size.differences,
        "literals": size.literals,
        "features": sorted(size.features),
    }
