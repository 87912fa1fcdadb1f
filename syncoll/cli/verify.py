"""``syncoll verify FILE``: replays what a file claims."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from syncoll.cli.arguments import Subparsers, add_format
from syncoll.cli.exits import Exit

if TYPE_CHECKING:
    from fractions import Fraction

    from syncoll.files import StoredFile
    from syncoll.model import BandwidthBound, Link
    from syncoll.spec import SpecLibrary

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
    from syncoll.cli.arguments import library, manager
    from syncoll.cli.output import counted, print_json, print_text
    from syncoll.files import read_file
    from syncoll.verify import require_valid

    stored = read_file(arguments.file)
    if arguments.topology is not None or arguments.collective is not None:
        _compare(stored, library(manager()), arguments.topology, arguments.collective)
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


def _compare(
    stored: StoredFile, specs: SpecLibrary, topology: str | None, collective: str | None
) -> None:
    """Makes sure that the file is about the machine and collective that the user means."""
    import numpy as np

    from syncoll.errors import VerificationError

    if topology is not None:
        meant = specs.topology(topology)
        same = (meant.num_nodes, meant.links, _bounds(meant.bounds)) == (
            stored.topology.num_nodes,
            stored.topology.links,
            _bounds(stored.topology.bounds),
        )
        if not same:
            raise VerificationError(
                f"the file's machine, {stored.topology.name!r}, is not {topology}: its links or "
                "bandwidths differ"
            )
    if collective is not None:
        wanted = specs.collective(collective)
        if not stored.instances:
            raise VerificationError(
                f"the file has no point, so that its collective, {stored.collective!r}, cannot be "
                f"compared with {collective}; leave out --collective"
            )
        for i in stored.instances:
            meant_instance = wanted.instantiate(
                i.topology, chunks=i.chunks, steps=i.steps, rounds=i.rounds
            )
            if not (
                np.array_equal(meant_instance.pre, i.pre)
                and np.array_equal(meant_instance.post, i.post)
            ):
                raise VerificationError(
                    f"the file's collective, {stored.collective!r}, is not {collective}: "
                    f"pre or post differ for C = {i.chunks}"
                )


def _bounds(bounds: tuple[BandwidthBound, ...]) -> list[tuple[tuple[Link, ...], Fraction]]:
    return sorted((bound.links, bound.chunks_per_round) for bound in bounds)
