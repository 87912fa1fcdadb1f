"""Shows a machine (its links and what bounds them), a collective (where chunks start and must end),
the algorithms of a stored frontier, outcome or algorithm, step by step, the trees of a stored
forest, or a machine's symmetry.

  syncoll show dgx1
  syncoll show "torus(4,4)"
  syncoll show alltoall --nodes 4 -C 4
  syncoll show my-machine.syncoll:quad
  syncoll show frontier.json
  syncoll show frontier.json --as ni-table
  syncoll show --symmetry "torus(4,4)" allgather

--as ni-table prints what each node's network interface has to do: the schedule tables of the
MultiTree paper, for every algorithm whose chunks go up and down trees.

--symmetry says by which permutations of the nodes searches carry what they find for one node to
others: those that keep the machine, and what the collective asks for where one is named.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import syncoll
from syncoll import documents
from syncoll.cli.exits import Exit
from syncoll.cli.options import FORMAT, add
from syncoll.cli.output import print_json, print_page, print_value, width
from syncoll.documents.sniff import holds_forest
from syncoll.errors import UsageError
from syncoll.session.reference import kind_of

_VIEWS = ("steps", "ni-table")

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own."""
    parser.add_argument("what", metavar="NAME|FILE", help="`syncoll spec list` lists the names")
    declared = {
        "collective [COLLECTIVE]": "which the symmetry of a machine is to keep too; only with "
        "--symmetry",
        "--symmetry": "of a machine, alone or with a collective",
        "--nodes P": "nodes for a collective's pre and post (default: 4, or the least defined "
        "beyond)",
        "-C, --chunks C": "chunks per node for a collective (default: the least defined)",
    }
    add(parser, declared)
    parser.add_argument(
        "--as",
        dest="view",
        choices=_VIEWS,
        default=_VIEWS[0],
        help="how algorithms are shown: step by step, or as a schedule table for each node "
        "(default: steps)",
    )
    add(parser, FORMAT)


def run(arguments: argparse.Namespace) -> int:
    """Runs the command; its exit code."""
    what, session = arguments.what, arguments.session
    if arguments.collective is not None and not arguments.symmetry:
        raise UsageError(
            f"{what} {arguments.collective}: one thing is shown at a time; two names go with "
            "--symmetry, a machine and a collective"
        )
    kind = kind_of(session.specs, what)
    if arguments.symmetry:
        return _show_symmetry(arguments, kind)
    if kind == "file" and arguments.view == _VIEWS[0] and holds_forest(Path(what)):
        print_value(arguments, syncoll.load_forest(what), trees=True)
        return Exit.OK
    # Only now, so that a mistyped name loads none of it.
    from syncoll.documents.record import written
    from syncoll.documents.written_problem import interconnect_record
    from syncoll.pages.collective import least_size

    if arguments.view != _VIEWS[0]:
        if kind != "file":
            raise UsageError(
                f"--as {arguments.view} shows stored algorithms, and {what} is a {kind}; name a "
                "file that a search wrote with -o"
            )
        from syncoll.cli.tables import show_ni_tables

        show_ni_tables(
            documents.read_file(Path(what), documents.WITH_ALGORITHMS, "show --as"),
            arguments.format,
        )
    elif arguments.format != "json":
        sizes = {"nodes": arguments.nodes, "chunks": arguments.chunks}
        print_page(syncoll.show(what, **sizes, width=width()))
    elif kind == "file":
        print_json(documents.read_file(Path(what), taker="show").document)
    elif kind == "topology":
        topology = session.topology(what)
        print_json(
            {
                "schema": "syncoll/topology/1",
                "topology": topology.name,
                "nodes": topology.num_nodes,
                "interconnect": written(interconnect_record(topology)),
            }
        )
    else:
        collective = session.collective(what)
        nodes, chunks = least_size(collective, arguments.nodes, arguments.chunks)
        relation = collective.tabulate(nodes, chunks)
        print_json(
            {
                "schema": "syncoll/collective/1",
                "collective": collective.name,
                "nodes": nodes,
                "chunks": chunks,
                "global_chunks": len(relation.pre),
                "combining": collective.combining,
                "inverse_of": collective.dual.name if collective.dual else None,
                "composed_of": [[part.name for part in way] for way in collective.ways],
                "pre": [row.nonzero()[0].tolist() for row in relation.pre],
                "post": [row.nonzero()[0].tolist() for row in relation.post],
            }
        )
    return Exit.OK


def _show_symmetry(arguments: argparse.Namespace, kind: str) -> int:
    """The symmetry of a machine, alone or with a collective."""
    what = arguments.what
    if kind != "topology":
        raise UsageError(
            f"--symmetry is about a machine, and {what} is a {kind}; write "
            "`syncoll show --symmetry TOPOLOGY COLLECTIVE`"
        )
    for name, given in (
        ("--nodes", arguments.nodes),
        ("--chunks", arguments.chunks),
        ("--as", arguments.view != _VIEWS[0]),
    ):
        if given:
            raise UsageError(f"{name} means nothing to --symmetry")
    print_value(arguments, syncoll.symmetry_of(what, arguments.collective))
    return Exit.OK
