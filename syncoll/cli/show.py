"""``syncoll show NAME|FILE``: a machine, a collective, or a stored result."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from syncoll.cli.arguments import Subparsers, add_format, count
from syncoll.cli.exits import Exit

if TYPE_CHECKING:
    from syncoll.model import Collective, Topology
    from syncoll.spec import SpecLibrary

__all__ = ["add_parser"]

_DESCRIPTION = """\
Shows a machine (its links and what bounds them), a collective (where chunks start and must end), or
the algorithms of a stored frontier, outcome or algorithm, step by step.

  syncoll show dgx1
  syncoll show alltoall --nodes 4 -C 4
  syncoll show frontier.json
"""

_WIDEST_MATRIX = 32
_MOST_CHUNKS_SHOWN = 64


def add_parser(commands: Subparsers[argparse.ArgumentParser]) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "show",
        help="a machine, a collective, or a stored algorithm step by step",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("what", metavar="NAME|FILE")
    parser.add_argument(
        "--nodes", type=count, default=4, help="P for a collective's pre and post (default: 4)"
    )
    parser.add_argument(
        "-C", "--chunks", type=count, help="C for a collective (default: the least defined)"
    )
    add_format(parser)
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from syncoll.cli.arguments import library, manager

    what: str = arguments.what
    if what.lower().endswith(".json") or (Path(what).is_file() and ".syncoll" not in what):
        return _show_file(Path(what), arguments.format)
    specs = library(manager())
    kind = _kind_of(specs, what)
    if kind == "topology":
        return _show_topology(
            specs.topology(what), specs.definition("topology", what).doc, arguments.format
        )
    return _show_collective(
        specs.collective(what),
        specs.definition("collective", what).doc,
        arguments.nodes,
        arguments.chunks,
        arguments.format,
    )


def _kind_of(specs: SpecLibrary, reference: str) -> str:
    """Whether the reference names a topology or a collective.

    Raises:
        SpecError: what is wrong with it as a topology, when it is neither.
    """
    from syncoll.errors import SpecError, UsageError

    found, failure = [], None
    for kind in ("topology", "collective"):
        try:
            specs.definition(kind, reference)
            found.append(kind)
        except SpecError as error:
            # The complaint of the kind that the user meant is unknown; the first one that is not
            # about a missing name says most.
            if failure is None or failure.message.startswith("there is no"):
                failure = error
    if not found:
        known = [d.name for kind in ("topology", "collective") for d in specs.names(kind)]
        if failure is not None and not failure.message.startswith("there is no"):
            raise failure
        raise UsageError(
            f"there is no machine or collective {reference!r} and no such file; known are "
            + ", ".join(known)
        )
    if len(found) > 1:
        raise UsageError(f"{reference} has a machine and a collective; name one: {reference}:NAME")
    return found[0]


def _show_file(path: Path, style: str) -> int:
    from syncoll.cli.output import print_json, print_text
    from syncoll.cli.searching import show_frontier
    from syncoll.cli.steps import show_algorithm
    from syncoll.files import read_file

    stored = read_file(path)
    if style == "json":
        print_json(stored.document)
        return Exit.OK
    if stored.frontier is not None:
        show_frontier(stored.frontier)
    elif not stored.algorithms:
        print_text(
            f"{stored.collective} on {stored.topology.name}: {stored.document['verdict']} "
            f"({stored.document['reason']})"
        )
    for one in stored.algorithms:
        print_text()
        show_algorithm(one.instance, one.algorithm)
    return Exit.OK


def _show_topology(topology: Topology, doc: str, style: str) -> int:
    from syncoll.cli.output import console, print_json, print_text, table
    from syncoll.files.layout import interconnect_to_json
    from syncoll.model import UNREACHABLE

    if style == "json":
        print_json(
            {
                "schema": "syncoll/topology/1",
                "topology": topology.name,
                "nodes": topology.num_nodes,
                "interconnect": interconnect_to_json(topology),
            }
        )
        return Exit.OK
    if doc:
        print_text(doc + "\n")
    diameter = int(topology.distances.max())
    print_text(
        f"{topology.name}: {topology.num_nodes} nodes, {len(topology.links)} directed links, "
        + ("not connected" if diameter >= UNREACHABLE else f"diameter {diameter}")
    )
    own = {b.links[0]: b.chunks_per_round for b in topology.bounds if len(b.links) == 1}
    nodes = range(topology.num_nodes)
    if topology.num_nodes <= _WIDEST_MATRIX:
        known = set(topology.links)

        def cell(a: int, b: int) -> str:
            return str(own.get((a, b), "*")) if (a, b) in known else "."

        title = "chunks per round, from row to column"
        if any(link not in own for link in topology.links):
            title += "; * means bounded only together with other links"
        rows = [(a, *(cell(a, b) for b in nodes)) for a in nodes]
        console().print(table(title, ("", *(f">{b}" for b in nodes)), rows))
    else:
        for a, b in topology.links:
            print_text(f"  {a} -> {b}: {own.get((a, b), 'shared')}")
    for bound in topology.bounds:
        if len(bound.links) > 1:
            links = " ".join(f"{a}->{b}" for a, b in bound.links[:12])
            links += f" … ({len(bound.links)} links)" if len(bound.links) > 12 else ""
            label = f"{bound.label}: " if bound.label else ""
            print_text(f"shared: {label}{bound.chunks_per_round} chunks per round over {links}")
    return Exit.OK


def _show_collective(
    collective: Collective, doc: str, nodes: int, chunks: int | None, style: str
) -> int:
    from syncoll.cli.output import console, print_json, print_text, table
    from syncoll.errors import UsageError

    if chunks is None:
        chunks = next((c for c in range(1, 10_000) if collective.admits(nodes, c)), 1)
    if not collective.admits(nodes, chunks):
        raise UsageError(
            f"collective {collective.name} is not defined for C = {chunks} on {nodes} nodes"
            + (f": {collective.requirement}" if collective.requirement else "")
        )
    relation = collective.tabulate(nodes, chunks)
    if style == "json":
        print_json(
            {
                "schema": "syncoll/collective/1",
                "collective": collective.name,
                "nodes": nodes,
                "chunks": chunks,
                "global_chunks": len(relation.pre),
                "pre": [row.nonzero()[0].tolist() for row in relation.pre],
                "post": [row.nonzero()[0].tolist() for row in relation.post],
            }
        )
        return Exit.OK
    if doc:
        print_text(doc + "\n")
    marks = {(False, False): ".", (True, False): "pre", (False, True): "post", (True, True): "both"}
    rows = [
        (c, *(marks[bool(relation.pre[c, n]), bool(relation.post[c, n])] for n in range(nodes)))
        for c in range(min(len(relation.pre), _MOST_CHUNKS_SHOWN))
    ]
    title = (
        f"{collective.name} on {nodes} nodes, C = {chunks}: {len(relation.pre)} chunks; where each "
        "starts (pre) and must end (post)"
    )
    columns = (">chunk", *(f"node {n}" for n in range(nodes)))
    console().print(table(title, columns, rows))
    if len(relation.pre) > _MOST_CHUNKS_SHOWN:
        print_text(f"… and {len(relation.pre) - _MOST_CHUNKS_SHOWN} chunks more (--format json)")
    return Exit.OK
