"""Chooses, for every message, the fastest algorithm of a frontier.  Times are simulated, as
`syncoll simulate` does it: a send leaves when its data is there and its lane is free.  With
--timing lockstep steps do not overlap, and one of S steps and R rounds with C chunks per node takes

  overhead + S * alpha + (R/C) * L * beta

--alpha is the latency of each send, in lockstep of each step, as a time (ns, us, ms, s).
--beta is given as a bandwidth: that of a link of one chunk per round, per second in bytes
(GB/s = 10^9, GiB/s = 2^30) or bits (Gb/s).  If the machine has units, the frontier's file gives
the bandwidth and --beta can be left out.  If it has latencies, --alpha can be left out; in lockstep
it is then the greatest of them.

L is the data of one node, C chunks of it: each node's input; of broadcast and scatter the root's.
Of collectives with sizes, such as alltoallv, and of sums, L is one unit.
Sizes are bytes of messages, as runtimes and nccl-tests count them:
  allgather, gather      the output, P * L
  all others             L: the input of reducescatter, alltoall and scatter; the buffer of
                         allreduce, reduce and broadcast; the input of collectives of one's own,
                         of an uneven one the largest of a node
The exported ranges and the algorithm bandwidth (algbw, message over time) are of messages, too.

  syncoll plan frontier.json --alpha 0.7us --beta 25GB/s
  syncoll plan frontier.json --alpha 0.7us --beta 200Gb/s --plot frontier.svg --sizes 1KiB..1GiB
  syncoll plan frontier.json --alpha 0.7us --beta 25GB/s --size 64MiB
  syncoll plan frontier.json --alpha 0.7us --beta 25GB/s --to msccl-xml --dialect rccl -o planned

-o makes a folder: index.json, and in algorithms/ an export of each algorithm that is the best for
some message, for these sizes and no others.  Ranges touch, the first begins at 0 and the last has
no end, or ends where the runtime's own limit is, as a note then says.  Each export is verified,
written, read back by the format's checker and executed; the folder appears with all of them or not
at all.  After Ctrl-C the folder has the finished exports.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import syncoll
from syncoll.api.arguments import size_range
from syncoll.cli.exits import Exit
from syncoll.cli.exporter_options import add_exporter_options, exporter_options, flags_given
from syncoll.cli.options import (
    BETA_IN_FILE,
    FORMAT,
    TIMING,
    Declared,
    add,
    add_in_place,
    output_folder,
    progress,
)
from syncoll.cli.output import note, picked, print_json, print_page, print_text
from syncoll.documents import require_new_folder, require_writable, write_atomically
from syncoll.errors import UsageError, VerificationError
from syncoll.planning import PlannedExports, picture_format
from syncoll.wording import counted

__all__ = ["add_arguments", "print_exports", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own."""
    declared = {
        "file FRONTIER": "saved with -o",
        "--alpha TIME": "latency of each send, in lockstep of each step, such as 0.7us (default: "
        "the latencies in the file, if its machine has any)",
        **BETA_IN_FILE,
        "--overhead TIME = 0s": "of each call, whatever the algorithm; moves no crossover",
        **TIMING,
        "--size SIZE ...": "of a message, such as 64MiB, for which to name the fastest; also "
        "several. Of a pipeline the fastest member takes part, with those for 1 KiB to 1 GiB",
        "--sizes FROM..TO": "messages to show, such as 1KiB..1GiB, also FROM:TO, or one (default: "
        "all; in a plot 1KiB to 1GiB and every crossover)",
        "--plot PICTURE": "draw time and bandwidth over size; a name that ends in .png or .svg",
    }
    add(parser, declared | FORMAT | progress())
    group = parser.add_argument_group("exports")
    exports: Declared = {
        "--to FORMAT": "such as mscclpp or msccl-xml",
        "-o, --output FOLDER": (output_folder, "a new folder for the exports"),
    }
    add(group, exports)
    add_in_place(group)
    skipping = "plan without the algorithms that the format cannot express (default: give up)"
    add(group, {"--skip-refused": skipping})
    add_exporter_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Runs the command; its exit code."""
    _require_together(arguments)
    sizes, output = arguments.sizes, arguments.output
    size_range("sizes", sizes)
    style = None
    if arguments.plot is not None:
        style = picture_format(arguments.plot)
        require_writable(arguments.plot)
    options = {}
    if output is not None:
        require_new_folder(output)
        record = arguments.session.plugins.exporters[arguments.to]
        options = exporter_options(arguments, record)
    try:
        plan = syncoll.plan(
            arguments.file,
            options=options,
            **picked(
                arguments, "alpha beta overhead timing size to in_place skip_refused progress"
            ),
        )
    except VerificationError as error:
        if output is None:
            raise
        note(f"syncoll: {error} (a bug of the exporter or its checker; please report)")
        return Exit.BUG
    picture = None if style is None else plan.plot(sizes).content(style)
    trouble: UsageError | None = None
    try:
        if output is not None:
            plan.save(output, sizes)
        if picture is not None:
            write_atomically(arguments.plot, picture)
    except UsageError as error:  # a full disk must not cost the plan
        trouble = error
    if arguments.format == "json":
        print_json(plan.document(sizes))
    else:
        print_page(plan.page(sizes))
        if plan.made is not None and trouble is None:
            print_exports(plan.made, output)
        if picture is not None and trouble is None:
            print_text(f"drawn in {arguments.plot}")
    for one, reason in () if plan.made is None else plan.made.refused:
        note(f"syncoll: {arguments.file}: {one.where}: left out: {reason}")
    if trouble is not None:
        raise trouble
    return Exit.INTERRUPTED if plan.made is not None and plan.made.interrupted else Exit.OK


def _require_together(arguments: argparse.Namespace) -> None:
    if (arguments.to is None) != (arguments.output is None):
        given, missing = ("-o", "--to") if arguments.to is None else ("--to", "-o")
        raise UsageError(
            f"{given} without {missing}: exports need a format and a folder, such as "
            "--to msccl-xml -o planned"
        )
    alone = ["--in-place"] * arguments.in_place + ["--skip-refused"] * arguments.skip_refused
    alone += [f"--{name}" for name in flags_given(arguments)]
    alone += ["--option"] * bool(arguments.option)
    if arguments.to is None and alone:
        raise UsageError(f"{alone[0]} is for exports; it needs --to and -o")


def print_exports(made: PlannedExports, folder: Path) -> None:
    """Prints the files of exports, with the collectives that they were found to do."""
    print_text(f"written to {folder}: index.json and")
    for one in made.exports:
        end = "up" if one.max_bytes is None else f"to {one.max_bytes}"
        where = one.files[0]
        if len(one.files) > 1:
            where = f"{where.rpartition('/')[0]} ({counted(len(one.files), 'file')})"
        print_text(f"  {where}: messages of {one.min_bytes} {end} bytes")
        checked = one.handed_out.checked
        print_text(f"    executed: {checked.format}, {checked.collective}")
    notes = (note for one in made.exports for note in one.notes(folder))
    for text in dict.fromkeys(notes):
        print_text(f"  note: {text}")
