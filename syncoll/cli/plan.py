"""``syncoll plan FRONTIER``: which algorithm for which size."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from syncoll.cli.arguments import Subparsers, add_format, output_file, output_folder
from syncoll.cli.exits import Exit
from syncoll.cli.exporting import add_exporter_options, flags_given
from syncoll.wording import counted

if TYPE_CHECKING:
    from syncoll.documents import StoredFile
    from syncoll.planning import CostModel, PlannedExports

__all__ = ["add_parser"]

_Value = TypeVar("_Value")

_DESCRIPTION = """\
Chooses, for every size of data, the fastest algorithm of a frontier.  One of S steps and R rounds
with C chunks per node takes

  overhead + S * alpha + (R/C) * L * beta

--alpha is the latency of a step, a time (ns, us, ms, s).  --beta is given as a bandwidth: what a
link of one chunk per round carries in a second, in bytes (GB/s = 10^9, GiB/s = 2^30) or bits
(Gb/s).  Where the machine was described with units, the frontier's file says it and --beta can be
left out; a latency no description says.

L is the data of one node, C chunks of it: each node's input; of broadcast and scatter the root's.
Runtimes and nccl-tests measure a message by a buffer of the call, and so do the exported ranges and
the algorithm bandwidth (algbw, message over time):
  allgather, gather      the output, P * L
  all others             L: the input of reducescatter, alltoall and scatter; the buffer of
                         allreduce, reduce and broadcast; the input of collectives of one's own

  syncoll plan frontier.json --alpha 0.7us --beta 25GB/s
  syncoll plan frontier.json --alpha 0.7us --beta 200Gb/s --plot frontier.svg --sizes 1KiB..1GiB
  syncoll plan frontier.json --alpha 0.7us --beta 25GB/s --to msccl-xml --dialect rccl -o planned

-o makes a folder: index.json, and in algorithms/ an export of each algorithm that is the best for
some message, for these sizes and no others.  Ranges touch, the first begins at 0 and the last has
no end, or ends where the runtime's own limit is, as a note then says.  Each export is verified,
written, read back by the format's checker and executed; the folder appears with all of them or not
at all.
"""


def add_parser(commands: Subparsers[argparse.ArgumentParser]) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "plan",
        help="which algorithm of a frontier for which message size; plots and exports them",
        description=_DESCRIPTION,
    )
    # So that what begins like a number is taken as the value, and refused as a negative one.
    parser._negative_number_matcher = re.compile(r"-[0-9.].*")
    parser.add_argument("file", metavar="FRONTIER", type=Path, help="saved with -o")
    parser.add_argument(
        "--alpha", metavar="TIME", help="latency of a step, such as 0.7us; always needed"
    )
    parser.add_argument(
        "--beta",
        metavar="BANDWIDTH",
        help="of a link of one chunk per round, such as 25GB/s (default: what the file says, if "
        "its machine has units)",
    )
    parser.add_argument(
        "--overhead",
        metavar="TIME",
        default="0s",
        help="of each call, whatever the algorithm; moves no crossover (default: 0s)",
    )
    parser.add_argument(
        "--sizes",
        metavar="FROM..TO",
        help="sizes of one node's data to show, such as 1KiB..1GiB (default: all; in a plot 1KiB "
        "to 1GiB and every crossover)",
    )
    parser.add_argument(
        "--plot",
        metavar="PICTURE",
        type=output_file,
        help="draw time and bandwidth over size; a name that ends in .png or .svg",
    )
    add_format(parser)
    group = parser.add_argument_group("exports")
    group.add_argument("--to", metavar="FORMAT", help="such as mscclpp or msccl-xml")
    group.add_argument(
        "-o", "--output", metavar="FOLDER", type=output_folder, help="a new folder for the exports"
    )
    group.add_argument(
        "--in-place",
        "--inplace",
        dest="in_place",
        action="store_true",
        help="for calls whose input and output are one buffer (default: two)",
    )
    group.add_argument(
        "--skip-refused",
        action="store_true",
        help="plan without the algorithms that the format cannot express (default: give up)",
    )
    add_exporter_options(parser)
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from syncoll.cli.output import note, print_json, print_page, print_text
    from syncoll.documents import require_writable, to_text, write_atomically
    from syncoll.errors import UsageError, VerificationError
    from syncoll.pages.plan import plan_page, plan_title
    from syncoll.planning import (
        draw,
        exports_document,
        picture_format,
        plan_document,
        plan_sizes,
        require_new_folder,
        write_new_folder,
    )

    _require_together(arguments)
    sizes = _sizes(arguments.sizes)
    style = None
    if arguments.plot is not None:
        style = picture_format(arguments.plot)
        require_writable(arguments.plot)
    if arguments.output is not None:
        require_new_folder(arguments.output)
    stored = _frontier(arguments.file)
    frontier = stored.frontier
    assert frontier is not None
    given = arguments.beta is not None
    model = _model(arguments, stored)
    try:
        made = None if arguments.output is None else _export(arguments, stored, model)
    except VerificationError as error:  # the file's algorithms had passed when it was read
        note(f"syncoll: {error} (a bug of the exporter or its checker; please report)")
        return Exit.BUG
    plan = plan_sizes(stored.algorithms, model) if made is None else made.plan
    document = plan_document(plan, stored, bandwidth_given=given, sizes=sizes)
    picture = None
    if style is not None:
        picture = draw(plan, plan_title(plan, frontier, given=given), sizes).content(style)
    if made is not None:
        document["exports"] = exports_document(made, arguments.to, arguments.in_place)
    trouble: UsageError | None = None
    try:
        if made is not None:
            index = f"{to_text(document)}\n".encode()
            write_new_folder(arguments.output, {"index.json": index, **made.files})
        if picture is not None:
            write_atomically(arguments.plot, picture)
    except UsageError as error:  # a full disk must not cost the plan
        trouble = error
    if arguments.format == "json":
        print_json(document)
    else:
        print_page(plan_page(plan, frontier, given=given, sizes=sizes))
        if made is not None and trouble is None:
            _print_exports(made, arguments.output)
        if picture is not None and trouble is None:
            print_text(f"drawn in {arguments.plot}")
    for one, reason in () if made is None else made.refused:
        note(f"syncoll: {arguments.file}: {one.where}: left out: {reason}")
    if trouble is not None:
        raise trouble
    return Exit.OK


def _require_together(arguments: argparse.Namespace) -> None:
    from syncoll.errors import UsageError

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


def _frontier(path: Path) -> StoredFile:
    """A frontier with points.

    Raises:
        UsageError: when the file is none, or an empty one.
    """
    from syncoll.documents import read_file
    from syncoll.errors import UsageError

    stored = read_file(path)
    if stored.frontier is None:
        raise UsageError(
            f"{path}: it holds no frontier (its kind is {stored.kind}); expected a file that "
            "`syncoll pareto` or `syncoll search` wrote with -o"
        )
    if not stored.algorithms:
        raise UsageError(f"{path}: the frontier has no points; there is nothing to choose from")
    return stored


def _model(arguments: argparse.Namespace, stored: StoredFile) -> CostModel:
    from syncoll.errors import UsageError
    from syncoll.planning import CostModel, parse_bandwidth, parse_time, unit_bandwidth

    if arguments.alpha is None:
        raise UsageError(
            "--alpha is missing: the latency of a step, such as --alpha 0.7us; descriptions of "
            "machines say bandwidths but no latencies"
        )
    alpha = _argument("--alpha", parse_time, arguments.alpha)
    overhead = _argument("--overhead", parse_time, arguments.overhead)
    if arguments.beta is not None:
        return CostModel(alpha, _argument("--beta", parse_bandwidth, arguments.beta), overhead)
    bandwidth = unit_bandwidth(stored.topology)
    if bandwidth is None:
        raise UsageError(
            f"--beta is missing: {stored.topology.name} is described in chunks per round, without "
            "units; say what a link of one chunk per round carries, such as --beta 25GB/s"
        )
    return CostModel(alpha, bandwidth, overhead)


def _argument(name: str, parse: Callable[[str], _Value], text: str) -> _Value:
    """The value of an option, whose name stands in errors."""
    from syncoll.errors import UsageError

    try:
        return parse(text)
    except UsageError as error:
        raise UsageError(f"{name}: {error}") from None


def _sizes(text: str | None) -> tuple[int, int] | None:
    """From ``1KiB..1GiB``."""
    from syncoll.errors import UsageError
    from syncoll.planning import parse_size

    if text is None:
        return None
    low, dots, high = text.partition("..")
    if not dots:
        raise UsageError(f"--sizes: {text!r} is no range; expected FROM..TO, such as 1KiB..1GiB")
    found = _argument("--sizes", parse_size, low), _argument("--sizes", parse_size, high)
    if found[0] >= found[1]:
        raise UsageError(f"--sizes: {text!r} is empty; expected FROM..TO with FROM below TO")
    return found


def _export(arguments: argparse.Namespace, stored: StoredFile, model: CostModel) -> PlannedExports:
    from syncoll.cli.exporting import exporter_options
    from syncoll.planning import export_plan
    from syncoll.runtime import label

    record = arguments.session.plugins.exporters[arguments.to]
    return export_plan(
        stored.algorithms,
        model,
        record,
        exporter_options(arguments, record),
        lambda one: label(one, stored.collective, in_place=arguments.in_place),
        in_place=arguments.in_place,
        skip_refused=arguments.skip_refused,
    )


def _print_exports(made: PlannedExports, folder: Path) -> None:
    from syncoll.cli.output import print_text

    print_text(f"written to {folder}: index.json and")
    for one in made.exports:
        end = "up" if one.max_bytes is None else f"to {one.max_bytes}"
        where = one.files[0]
        if len(one.files) > 1:
            where = f"{where.rpartition('/')[0]} ({counted(len(one.files), 'file')})"
        print_text(f"  {where}: messages of {one.min_bytes} {end} bytes")
        checked = one.handed_out.checked
        print_text(f"    executed: {checked.format}, {checked.collective}")
    notes = (note for one in made.exports for note in one.handed_out.exported.notes)
    for text in dict.fromkeys(notes):
        print_text(f"  note: {text}")
