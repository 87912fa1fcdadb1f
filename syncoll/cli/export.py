"""Writes the algorithms of a file (a frontier, an outcome or an algorithm) in the format of a
runtime. Each is verified first; what was written is read back by the format's own checker and
executed as the runtime would, and only then handed out.

All algorithms are exported, be they one or more; --point takes one of them, by its number from 0 or
by its S,R,C, which may be those of any member of a pipeline.  What a format cannot express is
refused, with the reason; the others still come out, and the exit code is 2.  Ctrl-C keeps the
finished exports.

-o OUT is a file if its name has a suffix, and then takes one algorithm.  Any other name, one that
ends in /, and a folder that is there already, are a folder with an export of each.  A format of
several files makes a folder of its own in it for each algorithm; with --point OUT is that folder.

  syncoll export frontier.json --to msccl-xml --dialect rccl -o algorithms
  syncoll export frontier.json --to msccl-xml --point 3,7,6 --in-place -o allgather.xml
  syncoll export frontier.json --to mscclpp --point 0 --max-bytes 1MiB -o plan.json
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from syncoll.api.exports import ExportResult, export_each
from syncoll.cli.arguments import STANDARD_OUTPUT
from syncoll.cli.exits import Exit
from syncoll.cli.exporter_options import add_exporter_options, exporter_options
from syncoll.cli.options import FILE, FORMAT, Declared, add, add_in_place, output_file, progress
from syncoll.cli.output import note, picked, print_json, print_text, write_bytes
from syncoll.cli.points import add_point, chosen
from syncoll.documents import WITH_ALGORITHMS, StoredAlgorithm, StoredFile, read_file
from syncoll.errors import ExportError, UsageError
from syncoll.plugins import ExporterRecord
from syncoll.plugins.exporters import UNLIMITED
from syncoll.session.counting import counting
from syncoll.wording import counted

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own."""
    add(parser, FILE)
    needed: Declared = {
        "--to FORMAT": "such as mscclpp, msccl-xml or chakra; `syncoll plugins` lists them",
        "-o, --output OUT": (
            _output,
            "a name with a suffix: the file to write; any other: a folder with an export of each; "
            "- for standard output",
        ),
    }
    add(parser, needed, required=True)
    add_point(parser)
    add_in_place(parser)
    sizes = {
        "--min-bytes SIZE = 0": "the smallest message for which the runtime should choose it",
        "--max-bytes SIZE": "the largest one (default: no limit)",
    }
    add(parser, sizes)
    add_exporter_options(parser)
    add(parser, FORMAT | progress())


def _output(text: str) -> tuple[Path, bool]:
    """A name, and whether it is that of a folder."""
    path = output_file(text)
    separators = tuple(one for one in (os.sep, os.altsep) if one)
    return path, text.endswith(separators) or not path.suffix


def run(arguments: argparse.Namespace) -> int:
    """Runs the command; its exit code."""
    record = arguments.session.plugins.exporters[arguments.to]
    options = exporter_options(arguments, record)
    largest = UNLIMITED if arguments.max_bytes is None else arguments.max_bytes
    if arguments.min_bytes > largest:
        raise UsageError(f"--min-bytes {arguments.min_bytes} is more than --max-bytes {largest}")
    stored = read_file(arguments.file, WITH_ALGORITHMS, "export")
    taken = chosen(stored, arguments.point, arguments.file, "export")
    if arguments.output[0] == STANDARD_OUTPUT:
        _require_one_file(arguments, record, len(taken))
        out, apart = None, False
    else:
        out, folder = _place(arguments.output, record, len(taken))
        # The files of one algorithm that was asked for lie in the folder that was named.
        apart = folder and not (record.folder and arguments.point is not None)
        if apart:
            _require_folder(out)
    trouble: UsageError | None = None
    done: list[tuple[StoredAlgorithm, ExportResult]] = []
    refused: list[tuple[StoredAlgorithm, str]] = []
    code = Exit.OK
    each = export_each(
        record,
        taken,
        out,
        apart=apart,
        in_place=arguments.in_place,
        min_bytes=arguments.min_bytes,
        max_bytes=arguments.max_bytes,
        options=options,
    )
    try:
        with counting(arguments.progress):
            for one, result in each:
                if isinstance(result, ExportResult):
                    done.append((one, result))
                elif isinstance(result, ExportError):
                    refused.append((one, str(result)))
                    code = max(code, Exit.BAD_INPUT)
                else:
                    bug = "(a bug of the exporter or its checker; please report)"
                    refused.append((one, f"{result} {bug}"))
                    code = Exit.BUG
    except UsageError as error:  # a full disk: the others would not fit either
        trouble = error
    except KeyboardInterrupt:
        rest = taken[len(done) + len(refused) :]
        refused += [(one, "interrupted") for one in rest]
        code = Exit.INTERRUPTED
    if out is None:
        for _, result in done:
            (content,) = result.export.exported.files.values()
            write_bytes(content)
    elif done or trouble is None:
        _report(arguments, stored, record, done, refused)
    for one, reason in refused:
        note(f"syncoll: {arguments.file}: {one.where}: not exported: {reason}")
    if trouble is not None:
        raise trouble
    return code


def _require_one_file(arguments: argparse.Namespace, record: ExporterRecord, number: int) -> None:
    """Passes what can be written to standard output: one file, and nothing besides."""
    if record.folder:
        raise UsageError(f"{record.name} writes several files; name a folder with -o, not -")
    if number > 1:
        raise UsageError(f"there are {number} algorithms; take one with --point, or name a folder")
    if arguments.format == "json":
        raise UsageError("-o - and --format json both want standard output; leave one of them out")


def _place(output: tuple[Path, bool], record: ExporterRecord, number: int) -> tuple[Path, bool]:
    """Where the exports go, and whether that is a folder."""
    out, folder = output
    if folder or record.folder or out.is_dir():
        return out, True
    if number > 1:
        raise UsageError(
            f"{out} is the name of a file, and there are {number} algorithms; name a folder "
            f"({out.with_suffix('')}, or {out}/), or take one algorithm with --point"
        )
    return out, False


def _require_folder(out: Path) -> None:
    """Passes a name that is, or can become, a folder."""
    if out.exists() and not out.is_dir():
        raise UsageError(
            f"cannot write {out}: it is not a folder; name a folder, or a file with a suffix"
        )
    if not out.parent.is_dir():
        raise UsageError(f"cannot write {out}: there is no folder {out.parent}; create it first")


def _report(
    arguments: argparse.Namespace,
    stored: StoredFile,
    record: ExporterRecord,
    done: list[tuple[StoredAlgorithm, ExportResult]],
    refused: list[tuple[StoredAlgorithm, str]],
) -> None:
    if arguments.format == "json":
        print_json(
            {
                "schema": "syncoll/export/1",
                "file": str(arguments.file),
                "kind": stored.kind,
                "topology": stored.topology.name,
                "collective": stored.collective,
                "to": record.name,
                "in_place": arguments.in_place,
                "exported": [
                    {
                        **_costs(one),
                        "files": [str(path) for path in result.files],
                        "format": result.export.checked.format,
                        "does": result.export.checked.collective,
                        "facts": dict(result.export.checked.facts),
                        "notes": list(result.export.exported.notes),
                    }
                    for one, result in done
                ],
                "refused": [{**_costs(one), "reason": reason} for one, reason in refused],
            }
        )
        return
    print_text(f"{stored.kind}: {stored.collective} on {stored.topology.name}, to {record.name}")
    for one, result in done:
        files, checked = result.files, result.export.checked
        where = files[0] if not record.folder else f"{files[0].parent} ({len(files)} files)"
        facts = ", ".join(f"{name} {value}" for name, value in checked.facts.items())
        print_text(f"  {one.where}: {where}")
        print_text(
            f"    executed: {checked.format}, {checked.collective}"
            + (f"; {facts}" if facts else "")
        )
    notes = (text for _, result in done for text in result.export.exported.notes)
    for text in dict.fromkeys(notes):
        print_text(f"  note: {text}")
    print_text(f"  {counted(len(done), 'algorithm')} exported, {len(refused)} refused")


def _costs(one: StoredAlgorithm) -> dict[str, Any]:
    return {"where": one.where, **picked(one.instance, "chunks steps rounds")}
