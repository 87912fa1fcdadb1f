"""``syncoll export FILE``: algorithms as files that a runtime loads."""

from __future__ import annotations

import argparse
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from syncoll.cli.arguments import STANDARD_OUTPUT, Subparsers, add_format, memory, output_file
from syncoll.cli.exits import Exit
from syncoll.cli.exporting import add_exporter_options

if TYPE_CHECKING:
    from syncoll.documents import StoredAlgorithm, StoredFile
    from syncoll.plugins import ExporterRecord
    from syncoll.runtime import HandedOut

__all__ = ["add_parser"]

_DESCRIPTION = """\
Writes the algorithms of a file (a frontier, an outcome or an algorithm) in the format of a runtime.
Each is verified first; what was written is read back by the format's own checker and executed as
the runtime would, and only then handed out.

All algorithms are exported, be they one or more; --point takes one of them, by its number from 0 or
by its S,R,C.  What a format cannot express is refused, with the reason; the others still come out,
and the exit code is 2.

-o OUT is a file if its name has a suffix, and then takes one algorithm.  Any other name, one that
ends in /, and a folder that is there already, are a folder with an export of each.  A format of
several files makes a folder of its own in it for each algorithm; with --point OUT is that folder.

  syncoll export frontier.json --to msccl-xml --dialect rccl -o algorithms
  syncoll export frontier.json --to msccl-xml --point 3,7,6 --in-place -o allgather.xml
  syncoll export frontier.json --to mscclpp --point 0 --max-bytes 1MiB -o plan.json
"""


def add_parser(commands: Subparsers[argparse.ArgumentParser]) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "export",
        help="write algorithms as files that a runtime loads",
        description=_DESCRIPTION,
    )
    parser.add_argument("file", metavar="FILE", type=Path, help="saved with -o")
    parser.add_argument(
        "--to",
        metavar="FORMAT",
        required=True,
        help="such as mscclpp, msccl-xml or chakra; `syncoll plugins` lists them",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        type=_output,
        required=True,
        help="a name with a suffix: the file to write; any other: a folder with an export of each; "
        "- for standard output",
    )
    parser.add_argument(
        "--point",
        metavar="POINT",
        type=_point,
        help="one algorithm: its number from 0, or S,R,C (default: all of them)",
    )
    parser.add_argument(
        "--in-place",
        "--inplace",
        dest="in_place",
        action="store_true",
        help="for calls whose input and output are one buffer (default: two)",
    )
    parser.add_argument(
        "--min-bytes",
        metavar="SIZE",
        type=_size,
        default=0,
        help="the smallest message for which the runtime should choose it (default: 0)",
    )
    parser.add_argument(
        "--max-bytes", metavar="SIZE", type=_size, help="the largest one (default: no limit)"
    )
    add_exporter_options(parser)
    add_format(parser)
    parser.set_defaults(run=_run)


def _output(text: str) -> tuple[Path, bool]:
    """A name, and whether it is that of a folder."""
    path = output_file(text)
    separators = tuple(one for one in (os.sep, os.altsep) if one)
    return path, text.endswith(separators) or not path.suffix


def _size(text: str) -> int:
    return 0 if re.fullmatch(r"0+", text) else memory(text)


def _point(text: str) -> tuple[int, ...]:
    """A number, or S, R and C."""
    match = re.fullmatch(r"\s*([0-9]{1,9})(?:\s*,\s*([0-9]{1,9})\s*,\s*([0-9]{1,9}))?\s*", text)
    if match is None:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no point; write its number from 0, or S,R,C such as 3,7,6"
        )
    return tuple(int(part) for part in match.groups() if part is not None)


def _run(arguments: argparse.Namespace) -> int:
    from syncoll.cli.exporting import exporter_options
    from syncoll.cli.output import note, write_bytes
    from syncoll.documents import read_file, remove_empty
    from syncoll.errors import ExportError, UsageError, VerificationError
    from syncoll.plugins import ExportRequest
    from syncoll.plugins.exporters import UNLIMITED
    from syncoll.runtime import export_verified, label, save

    plugins = arguments.session.plugins
    record = plugins.exporters[arguments.to]
    given = exporter_options(arguments, record)
    largest = UNLIMITED if arguments.max_bytes is None else arguments.max_bytes
    if arguments.min_bytes > largest:
        raise UsageError(f"--min-bytes {arguments.min_bytes} is more than --max-bytes {largest}")
    stored = read_file(arguments.file)
    chosen = _chosen(stored, arguments.point, arguments.file)
    if arguments.output[0] == STANDARD_OUTPUT:
        _require_one_file(arguments, record, len(chosen))
        out, folder = STANDARD_OUTPUT, False
    else:
        out, folder = _place(arguments.output, record, len(chosen))
    # The files of one algorithm that was asked for lie in the folder that was named.
    alone = record.folder and arguments.point is not None
    if folder and not alone:
        _require_folder(out)
    trouble: UsageError | None = None
    done: list[tuple[StoredAlgorithm, HandedOut, list[Path]]] = []
    refused: list[tuple[StoredAlgorithm, str]] = []
    code = Exit.OK
    for one in chosen:
        name = label(one, stored.collective, in_place=arguments.in_place)
        request = ExportRequest(
            name,
            stored.collective,
            one.instance,
            one.algorithm,
            arguments.in_place,
            arguments.min_bytes,
            largest,
        )
        try:
            handed = export_verified(record, request, given)
        except ExportError as error:
            refused.append((one, str(error)))
            code = max(code, Exit.BAD_INPUT)
        except VerificationError as error:
            refused.append((one, f"{error} (a bug of the exporter or its checker; please report)"))
            code = Exit.BUG
        else:
            if out == STANDARD_OUTPUT:
                (content,) = handed.exported.files.values()
                write_bytes(content)
                continue
            made = folder and not alone and _make_folder(out)
            place = out / name if record.folder and not alone else out
            try:
                files = save(place, handed.exported.files, folder=record.folder)
            except UsageError as error:  # a full disk: the others would not fit either
                if made:
                    remove_empty(out)
                trouble = error
                break
            done.append((one, handed, files))
    if out != STANDARD_OUTPUT and (done or trouble is None):
        _report(arguments, stored, record, done, refused)
    for one, reason in refused:
        note(f"syncoll: {arguments.file}: {one.where}: not exported: {reason}")
    if trouble is not None:
        raise trouble
    return code


def _require_one_file(arguments: argparse.Namespace, record: ExporterRecord, number: int) -> None:
    """Passes what can be written to standard output: one file, and nothing besides.

    Raises:
        UsageError: on anything else.
    """
    from syncoll.errors import UsageError

    if record.folder:
        raise UsageError(f"{record.name} writes several files; name a folder with -o, not -")
    if number > 1:
        raise UsageError(f"there are {number} algorithms; take one with --point, or name a folder")
    if arguments.format == "json":
        raise UsageError("-o - and --format json both want standard output; leave one of them out")


def _chosen(
    stored: StoredFile, point: tuple[int, ...] | None, path: Path
) -> tuple[StoredAlgorithm, ...]:
    """The algorithms to export.

    Raises:
        UsageError: when there is none, or no such.
    """
    from syncoll.errors import UsageError

    if not stored.algorithms:
        raise UsageError(f"{path}: no algorithm in it; nothing to export")
    if point is None:
        return stored.algorithms
    if len(point) == 1 and point[0] < len(stored.algorithms):
        return (stored.algorithms[point[0]],)
    costs = {
        (one.instance.steps, one.instance.rounds, one.instance.chunks): one
        for one in stored.algorithms
    }
    if len(point) == 3 and point in costs:
        return (costs[point[0], point[1], point[2]],)
    wanted = ",".join(map(str, point))
    there = " ".join(",".join(map(str, cost)) for cost in costs)
    raise UsageError(
        f"{path}: there is no point {wanted}; expected a number from 0 to "
        f"{len(stored.algorithms) - 1}, or S,R,C, one of: {there}"
    )


def _place(output: tuple[Path, bool], record: ExporterRecord, number: int) -> tuple[Path, bool]:
    """Where the exports go, and whether that is a folder.

    Args:
        output: a name, and whether it is written as that of a folder.
        record: of the format.
        number: of algorithms.

    Raises:
        UsageError: when it is a file, and there are several algorithms.
    """
    from syncoll.errors import UsageError

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
    """Passes a name that is, or can become, a folder.

    Raises:
        UsageError: when it is something else.
    """
    from syncoll.errors import UsageError

    if out.exists() and not out.is_dir():
        raise UsageError(
            f"cannot write {out}: it is no folder; name a folder, or a file with a suffix"
        )
    if not out.parent.is_dir():
        raise UsageError(f"cannot write {out}: there is no folder {out.parent}; create it first")


def _make_folder(out: Path) -> bool:
    """Makes a folder where there is none; whether there was none."""
    from syncoll.errors import UsageError

    new = not out.exists()
    try:
        out.mkdir(exist_ok=True)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise UsageError(f"cannot make the folder {out}: {reason}") from error
    return new


def _report(
    arguments: argparse.Namespace,
    stored: StoredFile,
    record: ExporterRecord,
    done: list[tuple[StoredAlgorithm, HandedOut, list[Path]]],
    refused: list[tuple[StoredAlgorithm, str]],
) -> None:
    from syncoll.cli.output import counted, print_json, print_text

    if arguments.format == "json":
        document: dict[str, Any] = {
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
                    "files": [str(path) for path in files],
                    "format": handed.checked.format,
                    "does": handed.checked.collective,
                    "facts": dict(handed.checked.facts),
                    "notes": list(handed.exported.notes),
                }
                for one, handed, files in done
            ],
            "refused": [{**_costs(one), "reason": reason} for one, reason in refused],
        }
        print_json(document)
        return
    print_text(f"{stored.kind}: {stored.collective} on {stored.topology.name}, to {record.name}")
    for one, handed, files in done:
        where = files[0] if not record.folder else f"{files[0].parent} ({len(files)} files)"
        facts = ", ".join(f"{name} {value}" for name, value in handed.checked.facts.items())
        print_text(f"  {one.where}: {where}")
        print_text(
            f"    executed: {handed.checked.format}, {handed.checked.collective}"
            + (f"; {facts}" if facts else "")
        )
    for text in dict.fromkeys(text for _, handed, _ in done for text in handed.exported.notes):
        print_text(f"  note: {text}")
    print_text(f"  {counted(len(done), 'algorithm')} exported, {len(refused)} refused")


def _costs(one: StoredAlgorithm) -> dict[str, Any]:
    return {
        "where": one.where,
        "chunks": one.instance.chunks,
        "steps": one.instance.steps,
        "rounds": one.instance.rounds,
    }
