"""``syncoll show NAME|FILE``: a machine, a collective, or a stored result."""

from __future__ import annotations

import argparse
import difflib
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from syncoll.cli.arguments import Subparsers, add_format, count
from syncoll.cli.exits import Exit
from syncoll.wording import counted

if TYPE_CHECKING:
    from syncoll.model import BandwidthBound, BoolArray, Collective, Topology
    from syncoll.spec import SpecLibrary

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

_MOST_CHUNKS_SHOWN = 64
_WIDEST_MATRIX = 110
"""Columns of a matrix where nothing else limits it; larger networks are shown as lists."""

_MOST_LINKS_SHOWN = 8
_FEW_NODES = 12
_MOST_NODES_TRIED = 64
_MOST_CHUNKS_TRIED = 1_000


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
    from syncoll.cli.arguments import library, manager
    from syncoll.errors import UsageError

    what: str = arguments.what
    specs = library(manager())
    if what.lower().endswith(".json") and not specs.is_read(what):
        return _show_file(Path(what), arguments.view, arguments.format)
    kind = _kind_of(specs, what)
    if kind == "file":
        return _show_file(Path(what), arguments.view, arguments.format)
    if arguments.view != _VIEWS[0]:
        raise UsageError(
            f"--as {arguments.view} shows stored algorithms, and {what} is a {kind}; name a file "
            "that a search wrote with -o"
        )
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
    """Whether the reference names a topology, a collective or a file of results.

    Raises:
        SpecError: what is wrong with it as a reference.
        UsageError: when nothing has this name, or more than one thing.
    """
    from syncoll.errors import SpecError, UsageError

    found, failures = [], {}
    for kind in ("topology", "collective", "search", "relation"):
        try:
            specs.expect(kind, reference)
            found.append(kind)
        except SpecError as error:
            failures[kind] = error
    shown = [kind for kind in found if kind in ("topology", "collective")]
    if len(shown) == 1:
        return shown[0]
    if shown:
        raise UsageError(f"{reference} has a machine and a collective; name one: {reference}:NAME")
    if Path(reference).is_file() and not reference.endswith(".syncoll"):
        return "file"
    if "search" in found:
        raise UsageError(f"{reference} is a search; run it with `syncoll search {reference}`")
    if "relation" in found:
        raise UsageError(f"{reference} is a relation; show a collective that uses it")
    if reference and Path(reference).is_dir():
        raise UsageError(f"{reference} is a folder; name a file in it")
    if any("there is no" not in error.message for error in failures.values()):
        # Not just an unknown name: the first complaint of another kind says most.
        raise next(e for e in failures.values() if "there is no" not in e.message)
    if ".syncoll" in reference:
        raise failures["topology"]
    known = [n for kind in ("topology", "collective") for n in sorted(specs.known_names(kind))]
    close = difflib.get_close_matches(reference.partition("(")[0].strip(), known, n=1)
    hint = f"; did you mean {close[0]}?" if close else ""
    raise UsageError(
        f"there is no machine, collective or file {reference!r}{hint}\n"
        f"expected a file, or one of {', '.join(known)}"
    )


def _show_file(path: Path, view: str, style: str) -> int:
    from syncoll.cli.output import print_json, print_text
    from syncoll.cli.searching import show_frontier
    from syncoll.cli.steps import show_algorithm
    from syncoll.cli.tables import show_ni_tables
    from syncoll.documents import read_file

    stored = read_file(path)
    if view == "ni-table":
        show_ni_tables(stored, style)
        return Exit.OK
    if style == "json":
        print_json(stored.document)
        return Exit.OK
    if stored.frontier is not None:
        show_frontier(stored.frontier)
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
        show_algorithm(one.instance, one.algorithm)
    return Exit.OK


def _show_topology(topology: Topology, doc: str, style: str) -> int:
    from syncoll.cli.output import print_json, print_text
    from syncoll.documents.problem import interconnect_record
    from syncoll.documents.record import written
    from syncoll.model import UNREACHABLE

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
    if doc:
        print_text(doc + "\n")
    diameter = int(topology.distances.max())
    print_text(
        f"{topology.name}: {counted(topology.num_nodes, 'node')}, "
        f"{counted(len(topology.links), 'directed link')}, "
        + ("not connected" if diameter >= UNREACHABLE else f"diameter {diameter}")
    )
    fabric = topology.fabric
    if fabric is not None:
        switches = counted(fabric.num_switches, "switch")
        print_text(
            f"physical network: {switches}, {counted(len(fabric.links), 'directed link')}"
            + (
                f"; a chunk per round is {fabric.chunk_bandwidth} GB/s"
                if fabric.measure == "GB/s"
                else ""
            )
        )
    if topology.links:
        _show_links(topology)
    for bound in topology.bounds:
        if len(bound.links) > 1:
            print_text(_shared(bound))
    return Exit.OK


def _show_links(topology: Topology) -> None:
    """A matrix where it fits, else the neighbours of each node."""
    from syncoll.cli.output import print_table, print_text, width

    own: dict[tuple[int, int], Fraction] = {}
    for bound in topology.bounds:
        if len(bound.links) == 1:
            link = bound.links[0]
            own[link] = min(bound.chunks_per_round, own.get(link, bound.chunks_per_round))
    legend = "chunks per round"
    if any(link not in own for link in topology.links):
        legend += "; * means bounded only together with other links"
    nodes, links = (
        range(topology.num_nodes),
        {link: str(own.get(link, "*")) for link in topology.links},
    )
    widest = max(len(str(topology.num_nodes)), *(len(value) for value in links.values())) + 2
    available = width() or _WIDEST_MATRIX
    if widest * (topology.num_nodes + 1) + 2 <= available:
        print_text(f"{legend}, from row to column\n")
        rows = [(a, *(links.get((a, b), ".") for b in nodes)) for a in nodes]
        print_table((">", *(f">{b}" for b in nodes)), rows)
        return
    same = set(links.values()).pop() if len(set(links.values())) == 1 else None
    print_text(f"{legend}: {same} on every link" if same else f"{legend} in parentheses")
    targets: dict[int, list[str]] = {}
    for (a, b), value in links.items():
        targets.setdefault(a, []).append(str(b) if same else f"{b} ({value})")
    digits = len(str(topology.num_nodes - 1))
    for a, told in targets.items():
        print_text(f"  {a:>{digits}} -> {'  '.join(told)}")


def _shared(bound: BandwidthBound) -> str:
    """A bound over several links in one line."""
    links = " ".join(f"{a}->{b}" for a, b in bound.links[:_MOST_LINKS_SHOWN])
    if len(bound.links) > _MOST_LINKS_SHOWN:
        links += f" … ({counted(len(bound.links), 'link')})"
    label = f"{bound.label}: " if bound.label else ""
    rate = bound.chunks_per_round
    amount = counted(int(rate), "chunk") if rate.denominator == 1 else f"{rate} chunks"
    return f"shared: {label}{amount} per round over {links}"


def _show_collective(
    collective: Collective, doc: str, nodes: int | None, chunks: int | None, style: str
) -> int:
    from syncoll.cli.output import print_json, print_table, print_text

    nodes, chunks = _size(collective, nodes, chunks)
    relation = collective.tabulate(nodes, chunks)
    if style == "json":
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
    if doc:
        print_text(doc + "\n")
    print_text(
        f"{collective.name} on {counted(nodes, 'node')}, C = {chunks}: "
        f"{counted(len(relation.pre), 'chunk')} in all\n"
        + (
            "which nodes contribute to each chunk (pre) and need the result (post)\n"
            if collective.combining
            else "where each chunk starts (pre) and must end (post)\n"
        )
    )
    if collective.dual is not None:
        print_text(f"the inverse of {collective.dual.name}\n")
    if collective.ways:
        ways = " or ".join(" then ".join(part.name for part in way) for way in collective.ways)
        print_text(f"composed: {ways}\n")
    shown = range(min(len(relation.pre), _MOST_CHUNKS_SHOWN))
    if nodes <= _FEW_NODES:
        marks = (".", "pre", "post", "both")
        kinds = relation.pre + 2 * relation.post
        rows = [(c, *(marks[kind] for kind in kinds[c].tolist())) for c in shown]
        print_table((">chunk", *(f"node {n}" for n in range(nodes))), rows)
    else:
        rows = [(c, _ranges(relation.pre[c]), _ranges(relation.post[c])) for c in shown]
        begin, end = "starts at nodes", "must end at nodes"
        if collective.combining:
            begin, end = "contributed by nodes", "result at nodes"
        print_table((">chunk", begin, end), rows)
    if len(relation.pre) > len(shown):
        more = counted(len(relation.pre) - len(shown), "more chunk")
        print_text(f"… and {more} (--format json shows all)")
    return Exit.OK


def _ranges(row: BoolArray) -> str:
    """The positions that are true, runs of them in short: ``0-3 5``."""
    runs: list[list[int]] = []
    for n in row.nonzero()[0].tolist():
        if runs and runs[-1][1] == n - 1:
            runs[-1][1] = n
        else:
            runs.append([n, n])
    return " ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs) or "none"


def _size(collective: Collective, nodes: int | None, chunks: int | None) -> tuple[int, int]:
    """P and C to show: as given, else the least for which the collective is defined.

    Raises:
        UsageError: when it is defined for none.
    """
    from syncoll.errors import LocatedError, UsageError

    failure: LocatedError | None = None
    for p in range(4, _MOST_NODES_TRIED + 1) if nodes is None else (nodes,):
        for c in range(1, _MOST_CHUNKS_TRIED + 1) if chunks is None else (chunks,):
            try:
                if collective.admits(p, c):
                    collective.tabulate(p, c)
                    return p, c
            except LocatedError as error:  # nothing to do with C: the next P
                failure = failure or error
                break
    if failure is not None:
        raise failure
    place = f" on {counted(nodes, 'node')}" if nodes is not None else ""
    which = f"C = {chunks}" if chunks is not None else "no C that was tried"
    needs = f"; it needs {collective.requirement}" if collective.requirement else ""
    negated = "not " if chunks is not None else ""
    raise UsageError(f"collective {collective.name} is {negated}defined for {which}{place}{needs}")
