"""The shell's part of plans: pictures and folders of exports."""

import argparse
from pathlib import Path

from syncoll.cli import Exit, ask, note, print_json, print_page, print_text
from syncoll.cli.exporter_options import add_exporter_options, exporter_options, flags_given
from syncoll.documents import require_new_folder, require_writable, write_atomically
from syncoll.errors import UsageError, VerificationError
from syncoll.planning import PlannedExports, picture_format
from syncoll.values import size_range
from syncoll.verbs.export.shell import BUG
from syncoll.wording import counted

more = add_exporter_options


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
        plan = ask(arguments, options=options)
    except VerificationError as error:
        if output is None:
            raise
        note(f"syncoll: {error}{BUG}")
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
        note(f"syncoll: {arguments.source}: {one.where}: left out: {reason}")
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
    """Prints the files of exports, with their collectives."""
    print_text(f"written to {folder}: index.json and")
    notes = [one.notes(folder) for one in made.exports]
    every = dict.fromkeys(text for each in notes for text in each)
    shared = [text for text in every if all(text in each for each in notes)]
    for one, own in zip(made.exports, notes, strict=True):
        least, most = one.min_bytes, one.max_bytes
        sizes = f"from {least}" if most is None else f"of {least} to {most}"
        where = one.files[0]
        if len(one.files) > 1:
            where = f"{where.rpartition('/')[0]} ({counted(len(one.files), 'file')})"
        print_text(f"  {where}: messages {sizes} bytes")
        checked = one.handed_out.checked
        print_text(f"    executed: {checked.format}, {checked.collective}")
        if (needs := one.needs) is not None:
            print_text(f"    needs: {needs}")
        for text in dict.fromkeys(own):
            if text not in shared:
                print_text(f"    note: {text}")
    for text in shared:
        print_text(f"  note: {text}")
