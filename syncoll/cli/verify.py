"""``syncoll verify FILE``: replays what a file claims."""

from __future__ import annotations

import argparse
from pathlib import Path

from syncoll.cli.arguments import Subparsers, add_format
from syncoll.cli.exits import Exit

__all__ = ["add_parser"]

_DESCRIPTION = """\
Replays every algorithm of a file (a frontier, an outcome or an algorithm) step by step and checks
the costs that the file states.  Needs no solver.  A file that does not hold what it says ends with
exit code 2 and the reason.

The file brings its own machine and collective.  To make sure that they are the ones you mean, name
them: they are compared link by link and chunk by chunk.

  syncoll verify frontier.json
  syncoll verify frontier.json --topology dgx1 --collective allgather
"""


def add_parser(commands: Subparsers[argparse.ArgumentParser]) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "verify",
        help="replay every algorithm of a file",
        description=_DESCRIPTION,
    )
    parser.add_argument("file", metavar="FILE", type=Path, help="saved with -o")
    parser.add_argument(
        "--topology", metavar="TOPOLOGY", help="the machine that the file must be about"
    )
    parser.add_argument(
        "--collective", metavar="COLLECTIVE", help="the collective that the file must be about"
    )
    parser.add_argument(
        "--in-order",
        action="store_true",
        help="combining collectives: the reduction is not commutative, so order must be kept",
    )
    add_format(parser)
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from syncoll.checking import compare
    from syncoll.cli.arguments import library, manager
    from syncoll.cli.output import counted, print_json, print_text
    from syncoll.files import read_file
    from syncoll.verify import require_valid

    stored = read_file(arguments.file)
    if stored.kind == "refutation":
        return _check_refutation(arguments)
    if arguments.topology is not None or arguments.collective is not None:
        specs = library(manager())
        compare(
            stored,
            None if arguments.topology is None else specs.topology(arguments.topology),
            None if arguments.collective is None else specs.collective(arguments.collective),
        )
    if arguments.in_order:
        for one in stored.algorithms:
            if one.instance.combining:
                require_valid(one.instance, one.algorithm, in_order=True)
    if arguments.format == "json":
        print_json(
            {
                "schema": "syncoll/verification/1",
                "file": str(arguments.file),
                "kind": stored.kind,
                "topology": stored.topology.name,
                "collective": stored.collective,
                "verified": [
                    {
                        "where": one.where,
                        "chunks": one.instance.chunks,
                        "steps": one.instance.steps,
                        "rounds": one.instance.rounds,
                    }
                    for one in stored.algorithms
                ],
            }
        )
        return Exit.OK
    print_text(f"{stored.kind}: {stored.collective} on {stored.topology.name}")
    for one in stored.algorithms:
        instance = one.instance
        print_text(
            f"  {one.where}: verified, C = {instance.chunks}, S = {instance.steps}, "
            f"R = {instance.rounds}, {counted(len(one.algorithm.sends), 'send')}"
        )
    if not stored.algorithms:
        print_text("  no algorithm in it; nothing to verify")
    return Exit.OK


def _check_refutation(arguments: argparse.Namespace) -> int:
    from syncoll.cli.arguments import library, manager
    from syncoll.cli.output import counted, print_json, print_text
    from syncoll.files.refutation import check_refutation

    plugins = manager()
    topology, collective = None, None
    if arguments.topology is not None or arguments.collective is not None:
        specs = library(plugins)
        topology = specs.topology(arguments.topology) if arguments.topology else None
        collective = specs.collective(arguments.collective) if arguments.collective else None
    checked = check_refutation(arguments.file, plugins, topology=topology, collective=collective)
    instance, proof = checked.instance, checked.proof
    if arguments.format == "json":
        print_json(
            {
                "schema": "syncoll/verification/1",
                "file": str(arguments.file),
                "kind": "refutation",
                "topology": instance.topology.name,
                "collective": instance.collective,
                "refuted": {
                    "chunks": instance.chunks,
                    "steps": instance.steps,
                    "rounds": instance.rounds,
                    "lemmas": proof.lemmas_checked,
                },
                "verified": [],
            }
        )
        return Exit.OK
    print_text(f"refutation: {checked.claim}")
    print_text(
        f"  proved: {counted(proof.lemmas_checked, 'lemma')} checked, encoding {checked.encoding}"
    )
    return Exit.OK
