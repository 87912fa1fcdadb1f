"""Compares machines that might be built: what each costs (nodes, ports of a node, links), and for
each collective what no algorithm on it can go below, in steps S and in bandwidth cost R/C.  A
machine is behind another one that costs no more and none of whose bounds is higher.

  syncoll design "torus(a,b,c)" --where "a*b*c == 64 and a <= b <= c" allgather alltoall
  syncoll design "torus(a,b)" "hypercube(d)" "circulant(n,1,i)" --where "P == 16" allgather
  syncoll design dgx1 "hypercube(3)" "ring(8)" allgather allreduce
  syncoll design "torus(a,b)" "hypercube(d)" --where "P == 8" allgather --synthesise
  syncoll design "mesh(3,4)" --one-more-link alltoall

Names without a value, such as a, b and c, are whole numbers from 1 to 64 (--most).  --where is a
condition in the language of specs on them, on P, the number of nodes, and on `ports` and `links`;
its parts between `and` each count for the topologies that have all the names in them.  Machines
that differ in the numbers of their nodes only are listed once.

Bounds come first, and are all that there is by default.  --synthesise then searches algorithms as
`syncoll pareto` does, on machines that are not behind others first, and on others only where what
was found leaves it open that they are better.
"""

from __future__ import annotations

import argparse

import syncoll
from syncoll.cli.arguments import STANDARD_OUTPUT
from syncoll.cli.exits import Exit
from syncoll.cli.options import (
    FORMAT,
    MEMORY_LIMIT,
    WORK,
    Declared,
    add,
    count,
    output_folder,
    progress,
    time_limit,
)
from syncoll.cli.output import note, picked, print_value
from syncoll.documents import require_writable
from syncoll.documents.tables import table_format
from syncoll.errors import SpecError, UsageError
from syncoll.planning import picture_format
from syncoll.spec import SpecLibrary

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own."""
    parser.add_argument(
        "named",
        metavar="TOPOLOGY|COLLECTIVE",
        nargs="+",
        help='topologies such as "torus(a,b)" or dgx1, and collectives such as allgather',
    )
    declared: Declared = {
        "--where CONDITION ...": 'such as "a*b == 64 and ports <= 6"; several must all hold',
        "--most N": "the largest value of a name without one (default: 64)",
        "--one-more-link": "for one machine: which link between two of its nodes, in both "
        "directions and as wide as most of its links, would help most; pairs of nodes that are "
        "alike count once",
        "--steps N": (
            count,
            "bound R/C for the first N numbers of steps, too, where that is more than with any "
            "number (default: with any number alone)",
        ),
        "--synthesise": "search frontiers, too, of the machines that may be the best (default: "
        "bounds alone)",
        "--search-limit TIME": "for the search of each collective on each of them (default: 10 s)",
        **time_limit("; what is proved by then is given, as after Ctrl-C (default: none)"),
        **WORK,
        **MEMORY_LIMIT,
        "--jobs N": "so many processes at once (default: 1)",
        "--executor WHERE": "where bounds are proved, and the solvers run: local, processes, or a "
        "Dask cluster as dask://HOST:PORT (default: local)",
        "--store FILE": "where --synthesise keeps its answers, as `syncoll pareto` does; none: "
        "nowhere",
        "-o, --output FOLDER": (
            output_folder,
            "keep each bound with its proof as it is found, for `syncoll check FOLDER`, and the "
            "table as index.json; what is there already is checked and not proved anew",
        ),
        "--table FILE": "write a row for each machine and collective; a name that ends in .csv or "
        ".parquet",
        "--plot PICTURE": "draw R/C over links; a name that ends in .png or .svg",
        "--report PAGE": "write a page of HTML: tables to sort, pictures, which machine is behind "
        "which and why, and which is the best for which size; it loads nothing",
        **FORMAT,
        **progress(),
    }
    add(parser, declared)
    parser.set_defaults(
        intermixed="named", smaller="a smaller --most, or a --where that leaves fewer machines"
    )


def run(arguments: argparse.Namespace) -> int:
    """Runs the command; its exit code."""
    if arguments.table is not None:
        table_format(arguments.table)
        require_writable(arguments.table)
    if arguments.plot is not None:
        picture_format(arguments.plot)
        require_writable(arguments.plot)
    if arguments.report is not None:
        if arguments.report == STANDARD_OUTPUT:
            raise UsageError("the table goes to standard output; --report needs the name of a file")
        require_writable(arguments.report)
    topologies, collectives = _told_apart(arguments.named, arguments.session.specs)
    settings = picked(arguments, "jobs store executor memory_limit")
    found = syncoll.design(
        topologies,
        collectives,
        steps=arguments.steps or 0,
        **picked(arguments, "where most one_more_link synthesise search_limit time_limit work"),
        **picked(arguments, "output progress"),
        **{name: value for name, value in settings.items() if value is not None},
    )
    print_value(arguments, found)
    if arguments.output is not None:
        note(f"saved in {arguments.output}")
    if arguments.table is not None:
        found.save_table(arguments.table)
        note(f"written to {arguments.table}")
    if arguments.plot is not None:
        found.plot().save(arguments.plot)
        note(f"drawn in {arguments.plot}")
    if arguments.report is not None:
        found.report(arguments.report)
        note(f"report in {arguments.report}")
    return Exit.INTERRUPTED if found.interrupted else Exit.OK


def _told_apart(words: list[str], specs: SpecLibrary) -> tuple[list[str], list[str]]:
    """Which words are topologies, and which collectives.

    Raises:
        SpecError: on what is neither.
        UsageError: where one kind is missing.
    """
    found: dict[str, list[str]] = {"topology": [], "collective": []}
    for word in words:
        try:
            specs.expect("collective", word)
            found["collective"].append(word)
        except SpecError as refusal:
            try:
                specs.expect("topology", word)
            except SpecError as error:  # whichever knows what was meant
                raise (refusal if "did you mean" in refusal.message else error) from None
            found["topology"].append(word)
    for kind, such in (("topology", '"torus(a,b)"'), ("collective", "allgather")):
        if not found[kind]:
            raise UsageError(f"no {kind} among {', '.join(words)}; name one, such as {such}")
    return found["topology"], found["collective"]
