"""Simulates the algorithms of a file on their physical network, and prints what they take for each
size as nccl-tests does: size, count, type, redop, time, algbw, busbw.  Beside them stand ring,
double binary tree, recursive halving and doubling, and the other classics that exist on this
machine; then which is the fastest at which size, and by how much.

--alpha is what each send takes beside its bytes, --beta what a link of one chunk per round carries;
what the machine's description says itself can be left out.

  syncoll simulate frontier.json --alpha 1us --beta 25GB/s
  syncoll simulate frontier.json --alpha 1us --beta 25GB/s --sizes 1KiB:1GiB --factor 2
  syncoll simulate frontier.json --alpha 1us --beta 25GB/s --timing lockstep --classics none
  syncoll simulate frontier.json --alpha 1us --beta 25GB/s --slow "0->1 by 3" --late "rank 3 by 9us"
  syncoll simulate frontier.json --alpha 1us --beta 25GB/s --packet 256 --header 16 --format json
  syncoll simulate frontier.json --alpha 1us --beta 25GB/s --trace out.pftrace --trace-size 4MiB

docs/simulation.md says what each option means.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import syncoll
from syncoll.cli.arguments import add_format, add_timing, count, output_file, size
from syncoll.cli.exits import Exit
from syncoll.cli.output import print_json, print_page, print_text
from syncoll.documents import require_writable
from syncoll.errors import UsageError

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own."""
    parser.add_argument("file", metavar="FILE", type=Path, help="saved with -o")
    parser.add_argument(
        "--sizes",
        metavar="FROM:TO",
        default="1KiB:1GiB",
        help="of one node's data (of a collective with sizes, of one unit), also FROM..TO, one "
        "size or several with commas (default: 1KiB:1GiB)",
    )
    parser.add_argument(
        "--factor",
        metavar="N",
        type=count,
        default=4,
        help="from each size to the next (default: 4)",
    )
    parser.add_argument(
        "--alpha",
        metavar="TIME",
        help="of each send beside its bytes, such as 0.7us (default: the latencies of the machine)",
    )
    parser.add_argument(
        "--beta",
        metavar="BANDWIDTH",
        help="of a link of one chunk per round, such as 25GB/s (default: what the file says, if "
        "its machine has units)",
    )
    parser.add_argument(
        "--overhead", metavar="TIME", default="0s", help="of each call (default: 0s)"
    )
    parser.add_argument(
        "--classics",
        metavar="NAMES",
        default="all",
        help="to compare with: all, none, or names with commas between them (default: all)",
    )
    parser.add_argument(
        "--all-classics",
        action="store_true",
        help="a table for each form of a classic, not one with its fastest at each size",
    )
    parser.add_argument(
        "--collective", metavar="COLLECTIVE", help="that it is (default: by the name in the file)"
    )
    add_format(parser)
    traces = parser.add_argument_group("traces, for ui.perfetto.dev")
    traces.add_argument(
        "--trace",
        metavar="FILE",
        type=output_file,
        help="write what happens when, such as out.pftrace: a track for each lane, arrows from hop "
        "to hop, and how much of each lane is used",
    )
    traces.add_argument(
        "--trace-size", metavar="SIZE", default="1MiB", help="of one node's data (default: 1MiB)"
    )
    traces.add_argument(
        "--trace-of",
        metavar="NAME",
        action="append",
        default=[],
        help="such as points[1] or ring[0], also several (default: the fastest, and the fastest "
        "classic)",
    )
    group = parser.add_argument_group("how the network behaves")
    add_timing(group)
    group.add_argument(
        "--sharing",
        choices=("in-turn", "fair"),
        default="in-turn",
        help="sends that meet on a lane go one after the other, or share it fairly "
        "(default: in-turn)",
    )
    group.add_argument(
        "--switching",
        choices=("cut-through", "store-and-forward"),
        default="cut-through",
        help="a switch sends on when the first byte is there, or all (default: cut-through)",
    )
    group.add_argument(
        "--packet",
        metavar="SIZE",
        type=size,
        help="payload of a packet (default: a send goes as one)",
    )
    group.add_argument(
        "--header",
        metavar="SIZE",
        type=size,
        default=0,
        help="before each packet, or each send (default: 0)",
    )
    group.add_argument(
        "--injection",
        choices=("free", "lockstep"),
        default="free",
        help="whether a node goes on to its next step at once, or in MultiTree's lockstep "
        "(default: free)",
    )
    group.add_argument(
        "--depth",
        metavar="N",
        type=count,
        help="sends that a connection has room for until the first of them has arrived "
        "(default: any number)",
    )
    group.add_argument(
        "--reduction",
        metavar="BANDWIDTH",
        help="bytes per second that a node adds up, such as 300GB/s (default: no time)",
    )
    group.add_argument(
        "--slow",
        metavar='"A->B by N"',
        action="append",
        default=[],
        help="lanes with an Nth of their bandwidth; A and B are nodes, 'switch N', or * (also "
        "several)",
    )
    group.add_argument(
        "--late",
        metavar='"rank N by TIME"',
        action="append",
        default=[],
        help="a rank that begins later (also several)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Runs the command; its exit code."""
    chosen = arguments.classics
    if arguments.trace is not None:
        require_writable(arguments.trace)
    elif arguments.trace_of:
        raise UsageError("--trace-of without --trace: say which file to write")
    found = syncoll.simulate(
        arguments.file,
        classics=chosen == "all" or ([] if chosen == "none" else chosen.split(",")),
        **{
            name: getattr(arguments, name)
            for name in (
                *("sizes", "factor", "alpha", "beta", "overhead", "collective", "timing"),
                *("sharing", "switching", "packet", "header", "injection", "depth"),
                *("reduction", "slow", "late"),
            )
        },
    )
    traced: tuple[str, ...] = ()
    if arguments.trace is not None:
        traced = found.trace(arguments.trace, arguments.trace_size, arguments.trace_of)
    if arguments.format == "json":
        print_json(found.document())
    else:
        print_page(found.page(all_classics=arguments.all_classics))
        if traced:
            print_text(f"{' and '.join(traced)} traced in {arguments.trace}")
    return Exit.OK
