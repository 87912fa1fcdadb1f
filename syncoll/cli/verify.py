"""Replays every algorithm of a file (a frontier, an outcome or an algorithm) step by step and
checks the costs that the file states.  Needs no solver.  A file that does not hold what it says
ends with exit code 2 and the reason.

The file brings its own machine and collective.  To make sure that they are the ones you mean, name
them: they are compared link by link and chunk by chunk.

Files for a runtime, as `syncoll export` or another tool writes them, are read as that runtime would
and executed: limits, deadlocks, races, messages that nobody receives, and whether the result is the
collective that the file names, or, with --collective, the one that you name.  With --topology data
may go over its links alone.  A format of several files is checked by its folder.  Exit codes of
these: 1 when something is wrong, 4 when something could not be checked.

  syncoll verify frontier.json
  syncoll verify frontier.json --topology dgx1 --collective allgather
  syncoll verify allgather.xml --dialect rccl
  syncoll verify sends.csv --topology dgx1 --collective allgather -C 6
"""

from __future__ import annotations

import argparse
from typing import Any

from syncoll.api.exports import exporter_for, verified
from syncoll.cli.exits import Exit
from syncoll.cli.exporter_options import add_exporter_options, exporter_options, options_given
from syncoll.cli.options import FILE, FORMAT, add, add_meant
from syncoll.cli.output import note, picked, print_json, print_page
from syncoll.documents import StoredFile
from syncoll.pages.verified import CheckedRefutation, verified_page
from syncoll.runtime.exported import VerifiedExports, exporter_of

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own."""
    add(parser, FILE)
    add_meant(parser)
    declared = {
        "-C, --chunks C": "exports: chunks per node of --collective (default: as many as the file "
        "has)",
        "--in-order": "combining collectives: the reduction is not commutative, so order must be "
        "kept",
    }
    add(parser, declared)
    parser.add_argument(
        "--as",
        dest="exporter",
        metavar="FORMAT",
        help="read it as an export of this format (default: found out from the file)",
    )
    add_exporter_options(parser)
    add(parser, FORMAT)


def run(arguments: argparse.Namespace) -> int:
    """Runs the command; its exit code."""
    session, file = arguments.session, arguments.file
    record = exporter_for(session, file, arguments.exporter)
    found = verified(
        session,
        file,
        record,
        **picked(arguments, "topology collective chunks in_order"),
        options=options_given(arguments)
        if record is None
        else exporter_options(arguments, record, reading=True),
    )
    if arguments.format == "json":
        print_json(_document(arguments, found))
    else:
        print_page(verified_page(found))
    if not isinstance(found, VerifiedExports):
        return Exit.OK
    for where, reason in found.wrong:
        note(f"syncoll: {where}: {reason}")
    for where, reason in found.unchecked:
        note(f"syncoll: {where}: not checked in full: {reason}")
    if found.wrong:
        recognised = exporter_of(file, session.plugins, lambda _: None) is record
        return Exit.IMPOSSIBLE if recognised else Exit.BAD_INPUT
    return Exit.OK if found.ok else Exit.UNCHECKED


def _document(
    arguments: argparse.Namespace, found: VerifiedExports | CheckedRefutation | StoredFile
) -> dict[str, Any]:
    head = {"schema": "syncoll/verification/1", "file": str(arguments.file)}
    if isinstance(found, VerifiedExports):
        facts = "format collective in_place result_checked"
        return {
            **head,
            "kind": found.exporter,
            "meant": arguments.collective,
            "verified": [
                {
                    "where": str(where),
                    **picked(one, facts),
                    "nodes": one.num_nodes,
                    "facts": dict(one.facts),
                }
                for where, one in found.checked
            ],
            "wrong": [{"where": str(where), "reason": why} for where, why in found.wrong],
            "unchecked": [{"where": str(where), "reason": why} for where, why in found.unchecked],
        }
    if isinstance(found, StoredFile):
        return {
            **head,
            "kind": found.kind,
            "topology": found.topology.name,
            "collective": found.collective,
            "verified": [
                {"where": one.where, **picked(one.instance, "chunks steps rounds")}
                for one in found.algorithms
            ],
        }
    lemmas = {"lemmas": found.proof.lemmas_checked}
    return {
        **head,
        "kind": "refutation",
        "topology": found.instance.topology.name,
        "collective": found.instance.collective,
        "refuted": {**picked(found.instance, "chunks steps rounds"), **lemmas},
        "verified": [],
    }
