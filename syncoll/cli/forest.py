"""Packs spanning trees that use a network's bandwidth as well as any algorithm can, however many
steps it takes, and names the bottleneck: a cut across which more has to go than its links can carry
any faster.  The trees are verified edge by edge, the cut by exact arithmetic, before anything is
shown.

Throughput is all data (of all nodes together) over time, in GB/s where the machine's description
says GB/s, else in chunks per round: then P / throughput is the least bandwidth cost R/C of
allgather.

  syncoll forest dgx1
  syncoll forest "torus(4,4)" "broadcast(root=5)" --trees
  syncoll forest dgx1 allreduce --fixed-k 2
  syncoll forest "torus(8,8)" --format json -o forest.json

--format json has for each tree the edges [sender, receiver, path] from the root on; in paths and in
the cut, switch i of a network of P nodes is P + i.  For allreduce `phases` has both halves; k, cut,
max_height and trees beside it are those of the slower one.
"""

from __future__ import annotations

import argparse

import syncoll
from syncoll.cli.arguments import json_for_dash
from syncoll.cli.exits import Exit
from syncoll.cli.options import FORMAT, add, progress, time_limit
from syncoll.cli.output import print_result
from syncoll.documents import require_writable
from syncoll.errors import UsageError

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own."""
    declared = {
        "topology TOPOLOGY": 'such as dgx1, "ring(8)", FILE:NAME',
        "collective [COLLECTIVE]": "allgather, reducescatter, allreduce, broadcast or reduce, also "
        'with its root: "broadcast(root=3)" (default: allgather)',
    }
    add(parser, declared)
    parser.add_argument(
        "--collective", dest="named", metavar="COLLECTIVE", help="the same as an option"
    )
    declared = {
        "--root N": "of broadcast and reduce (default: 0)",
        "--fixed-k K": "trees for each root (default: the least number that is optimal)",
        "--backend NAME": "the seed that packs them (default: the one that can)",
        **time_limit(
            "; at the limit the best trees so far are printed, or exit code 3 (default: none)"
        ),
        "--trees": "list every tree",
        **FORMAT,
        "-o, --output FILE": "save what --format json prints; - for standard output",
    }
    add(parser, declared | progress())
    parser.set_defaults(kinds={"topology": "topology"}, intermixed="collective")


def run(arguments: argparse.Namespace) -> int:
    """Runs the command; its exit code."""
    from syncoll.session.forests import forest_collective  # with numpy, once names are known

    json_for_dash(arguments)
    collective = arguments.collective or arguments.named or "allgather"
    if arguments.named not in (None, collective):
        raise UsageError(f"{collective} and --collective {arguments.named}: give one of them")
    forest_collective(collective, arguments.root)  # before anything that takes long
    if arguments.output is not None:
        require_writable(arguments.output)
    result = syncoll.forest(
        arguments.topology,
        collective,
        root=arguments.root,
        k=arguments.fixed_k,
        backend=arguments.backend,
        time_limit=arguments.time_limit,
        progress=arguments.progress,
    )
    print_result(arguments, result, trees=arguments.trees)
    return Exit.OK
