"""``syncoll show NAME|FILE``: a machine, a collective, or a stored result."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from syncoll.cli.arguments import Subparsers, add_format, count
from syncoll.cli.exits import Exit

if TYPE_CHECKING:
    from syncoll.model import Collective, Topology

__all__ = ["add_parser"]

_DESCRIPTION = """\
Shows a machine (its links and what bounds them), a collective (where chunks start and must end), or
the algorithms of a stored frontier, outcome or algorithm, step by step.

  syncoll show dgx1
  syncoll show "torus(4,4)"
  syncoll show alltoall --nodes 4 -C 4
  syncoll show my-machine.syncoll:quad
  syncoll show frontier.json
  syncoll show frontier.json --as ni-table

--as ni-table prints what each node's network interface has to do: the schedule tables of the
MultiTree paper, for every algorithm whose chunks go up and down trees.
"""

_VIEWS = ("steps", "ni-table")


def add_parser(commands: Subparsers[argparse.ArgumentParser]) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "show",
        help="a machine, a collective, or a stored algorithm step by step",
        description=_DESCRIPTION,
    )
    parser.add_argument("what", metavar="NAME|FILE", help="`syncoll spec list` lists the names")
    parser.add_argument(
        "--nodes",
        type=count,
        metavar="P",
        help="nodes for a collective's pre and post (default: 4, or the least defined beyond)",
    )
    parser.add_argument(
        "-C",
        "--chunks",
        type=count,
        metavar="C",
        help="chunks per node for a collective (default: the least defined)",
    )
    parser.add_argument(
        "--as",
        dest="view",
        choices=_VIEWS,
        default=_VIEWS[0],
        help="how algorithms are shown: step by step, or as a schedule table for each node "
        "(default: steps)",
    )
    add_format(parser)
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from syncoll.errors import UsageError
    from syncoll.session.reference import kind_of

    what: str = arguments.what
    specs = arguments.session.specs
    if what.lower().endswith(".json") and not specs.is_read(what):
        return _show_file(Path(what), arguments.view, arguments.format)
    kind = kind_of(specs, what)
    if kind == "file":
        return _show_file(Path(what), arguments.view, arguments.format)
    if arguments.view != _VIEWS[0]:
        raise UsageError(
            f"--as {arguments.view} shows stored algorithms, and {what} is a {kind}; name a file "
            "that a search wrote with -o"
        )
    if kind == "topology":
        return _show_topology(
            arguments.session.topology(what),
            specs.definition("topology", what).doc,
            arguments.format,
        )
    return _show_collective(
        specs.collective(what),
        specs.definition("collective", what).doc,
        arguments.nodes,
        arguments.chunks,
        arguments.format,
    )


def _show_file(path: Path, view: str, style: str) -> int:
    from syncoll.cli.output import print_json, print_page, print_text
    from syncoll.cli.tables import show_ni_tables
    from syncoll.documents import read_file
    from syncoll.pages.algorithm import algorithm_page
    from syncoll.pages.frontier import frontier_page

    stored = read_file(path)
    if view == "ni-table":
        show_ni_tables(stored, style)
        return Exit.OK
    if style == "json":
        print_json(stored.document)
        return Exit.OK
    if stored.frontier is not None:
        print_page(frontier_page(stored.frontier))
        print_text("So says the file; `syncoll check` tells what of that is proved.")
    elif not stored.algorithms:
        instance = stored.instances[0]
        print_text(
            f"{stored.document['verdict']}: {stored.collective} on {stored.topology.name} with "
            f"C = {instance.chunks}, S = {instance.steps}, R = {instance.rounds} "
            f"({stored.document['reason']})"
        )
    for number, one in enumerate(stored.algorithms):
        if number or stored.frontier is not None:
            print_text()
        print_page(algorithm_page(one.instance, one.algorithm))
    return Exit.OK


def _show_topology(topology: Topology, doc: str, style: str) -> int:
    from syncoll.cli.output import print_json, print_page, width
    from syncoll.documents.problem import interconnect_record
    from syncoll.documents.record import written
    from syncoll.pages.topology import topology_page

    if style == "json":
        print_json(
            {
                "schema": "syncoll/topology/1",
                "topology": topology.name,
                "nodes": topology.num_nodes,
                "interconnect": written(interconnect_record(topology)),
            }
        )
        return Exit.OK
    print_page(topology_page(topology, doc, width()))
    return Exit.OK


def _show_collective(
    collective: Collective, doc: str, nodes: int | None, chunks: int | None, style: str
) -> int:
    from syncoll.cli.output import print_json, print_page
    from syncoll.pages.collective import collective_page, least_size

    nodes, chunks = least_size(collective, nodes, chunks)
    if style == "json":
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
    print_page(collective_page(collective, nodes, chunks, doc))
    return Exit.OK
