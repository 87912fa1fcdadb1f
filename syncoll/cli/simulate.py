"""Simulates the algorithms of a file on their physical network, and prints their times for each
message as nccl-tests does: message, count, type, redop, time, algbw, busbw.  It compares them with
ring, double binary tree, recursive halving and doubling, and the other classics that exist on this
machine, and names the fastest for each message.

--alpha is the latency of each send, --beta the bandwidth of a link of one chunk per round; both can
be left out where the machine's description has them.

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

import syncoll
from syncoll.cli.arguments import classics_of
from syncoll.cli.exits import Exit
from syncoll.cli.options import (
    BETA_IN_FILE,
    COLLECTIVE_MEANT,
    FILE,
    FORMAT,
    TIMING,
    add,
    progress,
)
from syncoll.cli.output import picked, print_text, print_value
from syncoll.documents import require_writable
from syncoll.errors import UsageError

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own."""
    declared = {
        **FILE,
        "--sizes FROM:TO = 1KiB:1GiB": "of messages as nccl-tests counts them (of an allgather or "
        "gather the output), also FROM..TO, one size or several with commas",
        "--factor N = 4": "from each size to the next",
        "--alpha TIME": "of each send beside its bytes, such as 0.7us (default: the latencies of "
        "the machine)",
        **BETA_IN_FILE,
        "--overhead TIME = 0s": "of each call",
        "--classics NAMES = all": "to compare with: all, none, or names with commas between them",
        "--all-classics": "a table for each form of a classic, not one with its fastest at each "
        "size",
    }
    add(parser, declared | COLLECTIVE_MEANT | FORMAT | progress())
    traces = {
        "--trace FILE": "write what happens when, such as out.pftrace: a track for each lane, "
        "arrows from hop to hop, and how much of each lane is used",
        "--trace-size SIZE = 1MiB": "of the message",
        "--trace-of NAME ...": "such as points[1] or ring[0], also several (default: the fastest, "
        "and the fastest classic)",
    }
    add(parser.add_argument_group("traces, for ui.perfetto.dev"), traces)
    behaviour = {
        **TIMING,
        "--sharing in-turn|fair": "sends that meet on a lane go one after the other, or share it "
        "fairly",
        "--switching cut-through|store-and-forward": "a switch sends on when the first byte is "
        "there, or all",
        "--packet SIZE": "payload of a packet (default: a send goes as one)",
        "--header SIZE = 0": "before each packet, or each send",
        "--injection free|lockstep": "whether a node goes on to its next step at once, or in "
        "MultiTree's lockstep",
        "--depth N": "sends that a connection has room for until the first of them has arrived "
        "(default: any number)",
        "--reduction BANDWIDTH": "bytes per second that a node adds up, such as 300GB/s (default: "
        "no time)",
        '--slow "A->B by N" ...': "lanes with an Nth of their bandwidth; A and B are nodes, "
        "'switch N', or * (also several)",
        '--late "rank N by TIME" ...': "a rank that begins later (also several)",
    }
    add(parser.add_argument_group("how the network behaves"), behaviour)


def run(arguments: argparse.Namespace) -> int:
    """Runs the command; its exit code."""
    if arguments.trace is not None:
        require_writable(arguments.trace)
    elif arguments.trace_of:
        raise UsageError("--trace-of without --trace: say which file to write")
    found = syncoll.simulate(
        arguments.file,
        classics=classics_of(arguments),
        **picked(arguments, "sizes factor alpha beta overhead collective timing sharing switching"),
        **picked(arguments, "packet header injection depth reduction slow late progress"),
    )
    traced: tuple[str, ...] = ()
    if arguments.trace is not None:
        traced = found.trace(arguments.trace, arguments.trace_size, arguments.trace_of)
    print_value(arguments, found, all_classics=arguments.all_classics)
    if traced and arguments.format != "json":
        print_text(f"{' and '.join(traced)} traced in {arguments.trace}")
    return Exit.OK
