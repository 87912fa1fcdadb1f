"""Recommends the fastest algorithm of a collective on a machine for each message size, in one
command: it searches, simulates, compares with the classics, and with --to writes the files for a
runtime, each of them verified and executed.

  syncoll recommend "dgx_h100(boxes=2)" allreduce
  syncoll recommend "dgx_h100(boxes=2)" allgather --sizes 4KiB,1MiB,256MiB --to mscclpp -o deploy
  syncoll recommend dgx1 allreduce --alpha 0.7us --beta 25GB/s --time-limit 10min
  syncoll recommend frontier.json --sizes 1KiB..1GiB

Times are simulated as by `syncoll simulate`.  A saved frontier in place of a machine and a
collective is not searched again.

The new folder of -o has frontier.json, and the files that `syncoll plan -o` writes: index.json with
a plan for all messages, and in algorithms/ the exports.  It appears with all of them or not at all.
Ctrl-C ends the search; the answer is about the algorithms so far, which are saved even without -o.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

from syncoll.cli.arguments import resolve_names
from syncoll.cli.exits import Exit
from syncoll.cli.exporter_options import add_exporter_options, exporter_options, flags_given
from syncoll.cli.options import (
    FORMAT,
    WORK,
    Declared,
    add,
    add_in_place,
    add_solver,
    output_folder,
    progress,
    time_limit,
)
from syncoll.cli.output import note, picked, print_json, print_page
from syncoll.cli.plan import print_exports
from syncoll.cli.search_command import ended
from syncoll.documents import require_new_folder, to_text, write_new_folder
from syncoll.errors import SyncollError, UsageError

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own."""
    declared: Declared = {
        "source MACHINE": 'such as "dgx_h100(boxes=2)", FILE:NAME, IMPORTER:FILE, or the file of a '
        "frontier",
        "collective [COLLECTIVE]": "such as allreduce; left out behind a frontier",
        "--sizes A,B,... = 4KiB,1MiB,256MiB": "of messages as nccl-tests counts them (of an "
        "allgather or gather the output), also FROM..TO in steps of a factor of 4",
        "--alpha TIME": "latency of each send, such as 0.7us (default: the latencies of the "
        "machine)",
        "--beta BANDWIDTH": "of a link of one chunk per round, such as 25GB/s (default: the "
        "bandwidth in the description of the machine)",
        **time_limit(" (default: 60s)"),
        **WORK,
        **FORMAT,
        **progress("log|"),
    }
    add(parser, declared)
    exports: Declared = {
        "--to FORMAT": "such as mscclpp or msccl-xml",
        "-o, --output FOLDER": (output_folder, "a new folder for the frontier, a plan and exports"),
    }
    add(parser.add_argument_group("files"), exports)
    add_in_place(parser)
    add_exporter_options(parser)
    add_solver(parser, pool=True)


def run(arguments: argparse.Namespace) -> int:
    """Runs the command; its exit code."""
    from syncoll.api.recommend import FRONTIER, frontier_for, recommendation_for

    to, folder = arguments.to, arguments.output
    if to is None and (flags_given(arguments) or arguments.option or arguments.in_place):
        raise UsageError("options of exports need --to and -o")
    if to is not None and folder is None:
        raise UsageError(f"--to {to} needs -o: name a new folder")
    options = {}
    if to is not None:
        options = exporter_options(arguments, arguments.session.plugins.exporters[to])
    if folder is not None:
        require_new_folder(folder)
    if arguments.collective is not None:
        arguments.topology = arguments.source
        arguments.kinds = {name: name for name in ("topology", "collective")}
        resolve_names(arguments)
    frontier = frontier_for(
        **picked(arguments, "source collective sizes alpha beta time_limit work progress")
    )
    arguments.output = None
    if not frontier:
        code = ended(arguments, frontier, lambda: print_page(frontier.page()))
        return Exit.UNDECIDED if code is None else code
    found, made, trouble = None, None, None
    try:
        how = picked(arguments, "source sizes alpha beta progress")
        found = recommendation_for(frontier, **how)
        if arguments.format == "table":
            print_page(found.page())
        if folder is not None:
            how = picked(arguments, "in_place progress")
            made = found.export(folder, to, options=options, **how)
    except KeyboardInterrupt:
        frontier = replace(frontier, interrupted=True)
        if found is None and folder is not None:
            write_new_folder(folder, {FRONTIER: f"{to_text(frontier.document())}\n".encode()})
    except SyncollError as error:  # an export that fails must not cost the answer
        if found is None:
            raise
        trouble = error
    exports = None if made is None else made.made
    if found is not None and arguments.format == "json":
        document = found.document()
        if made is not None and exports is not None:
            document["exports"] = made.document()["exports"]
        print_json(document)
    if folder is not None and (folder / FRONTIER).is_file():
        arguments.output = folder / FRONTIER
    code = ended(arguments, frontier, lambda: None) or Exit.OK
    if exports is not None:
        if arguments.format == "table":
            print_exports(exports, folder)
        for one, reason in exports.refused:
            note(f"syncoll: {one.where}: left out: {reason}")
    if trouble is not None:
        raise trouble
    return Exit.INTERRUPTED if exports is not None and exports.interrupted else code
