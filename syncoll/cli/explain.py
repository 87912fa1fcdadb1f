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
    from syncoll.cli.arguments import library, make_instance, make_solver, manager
    from syncoll.cli.output import counted, print_json, print_table, print_text
    from syncoll.search import decided_as

    plugins = manager()
    specs = library(plugins)
    instance = make_instance(arguments, specs)
    asked, note = decided_as(instance, specs.collective(arguments.collective))
    with make_solver(arguments, plugins) as solver:
        prepared = solver.prepare(asked)
        encoding, backend = solver.encoding_for(asked), prepared.backend
    answers = {
        "can_run": backend.can_run(prepared.lowered_size),
        "should_run": backend.should_run(prepared.lowered_size),
    }
    stages: list[tuple[str, str, FormulaSize, float]] = [
        (f"encoding {encoding.name}", encoding.summary, prepared.size, prepared.seconds["encode"])
    ]
    stages += [(s.name, s.summary, s.after, s.seconds) for s in prepared.stages]
    if arguments.format == "json":
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
                "note": note,
                "encoding": encoding.name,
                "backend": backend.name,
                "backend_features": sorted(backend.features),
                "stages": [
                    {"name": name, "summary": text, "seconds": round(seconds, 6), **_size(size)}
                    for name, text, size, seconds in stages
                ],
                **{
                    name: {"ok": answer.ok, "reason": answer.reason}
                    for name, answer in answers.items()
                },
            }
        )
        return Exit.OK
    rows = [
        (
            name,
            size.booleans,
            size.integers,
            size.clauses,
            size.cardinalities,
            size.linears,
            size.differences,
            size.literals,
            f"{seconds:.3f}",
        )
        for name, _, size, seconds in stages
    ]
    columns = (">Booleans", ">integers", ">clauses", ">cardinality", ">linear", ">difference")
    print_text(
        f"{instance.collective} on {instance.topology.name}, C = {instance.chunks}, "
        f"S = {instance.steps}, R = {instance.rounds}: {counted(instance.num_chunks, 'chunk')} "
        f"in all, at least {counted(instance.least_steps, 'step')}\n"
    )
    if note:
        print_text(f"{note}\n")
    print_table(("after", *columns, ">literals", ">seconds"), rows)
    for name, text, _, _ in stages:
        print_text(f"{name}: {text}")
    takes = ", ".join(sorted(backend.features))
    print_text(f"backend {backend.name}: {backend.summary}; takes {takes}")
    for name, answer in answers.items():
        verdict = "yes" if answer.ok else "no"
        reason = f": {answer.reason}" if answer.reason else ""
        print_text(f"{name.replace('_', ' ')} this: {verdict}{reason}")
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
