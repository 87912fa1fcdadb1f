"""The shell's part of exports."""

import argparse
import os
from pathlib import Path
from typing import Any

from syncoll.cli import STANDARD_OUTPUT, Exit, note, print_json, print_text, write_bytes
from syncoll.cli.exporter_options import add_exporter_options, exporter_options
from syncoll.documents import WITH_ALGORITHMS, StoredAlgorithm, StoredFile, chosen
from syncoll.errors import ExportError, UsageError
from syncoll.live.tasks import counting
from syncoll.plugins import ExporterRecord
from syncoll.plugins.exporters import UNLIMITED
from syncoll.runtime import SavedExport
from syncoll.runtime.export_each import export_each
from syncoll.values import picked
from syncoll.verbs.export.result import ExportResult
from syncoll.verbs.frontier import require_meant, stored_file
from syncoll.wording import counted

more = add_exporter_options

BUG = " (a bug of the exporter or its checker; please report)"


def run(arguments: argparse.Namespace) -> int:
    """Runs the command; its exit code."""
    record = arguments.session.plugins.exporters[arguments.to]
    options = exporter_options(arguments, record)
    largest = UNLIMITED if arguments.max_bytes is None else arguments.max_bytes
    if arguments.min_bytes > largest:
        raise UsageError(f"--min-bytes {arguments.min_bytes} is more than --max-bytes {largest}")
    meant = arguments.topology, arguments.collective
    stored = stored_file(arguments.source, WITH_ALGORITHMS, "export", *meant)
    require_meant(stored.instances, *meant)
    taken = chosen(stored, arguments.point, arguments.source, "export")
    if arguments.folder == str(STANDARD_OUTPUT):
        _require_one_file(arguments, record, len(taken))
        out, apart = None, False
    else:
        out, folder = _place(arguments.folder, record, len(taken))
        # With --point, OUT is the folder of a format of several files.
        apart = folder and not (record.folder and arguments.point is not None)
        if apart:
            _require_folder(out)
    trouble: UsageError | None = None
    done: list[tuple[StoredAlgorithm, ExportResult]] = []
    refused: list[tuple[StoredAlgorithm, str]] = []
    code = Exit.OK
    how = picked(arguments, "in_place min_bytes max_bytes") | {"others": stored.algorithms}
    each = export_each(record, taken, out, apart=apart, options=options, **how)
    try:
        with counting(arguments.progress):
            for one, result in each:
                if isinstance(result, SavedExport):
                    done.append((one, ExportResult.of(result)))
                    continue
                is_bug = not isinstance(result, ExportError)
                refused.append((one, f"{result}{BUG * is_bug}"))
                code = max(code, Exit.BUG if is_bug else Exit.BAD_INPUT)
    except UsageError as error:  # a full disk: the others would not fit either
        trouble = error
    except KeyboardInterrupt:
        refused += [(one, "interrupted") for one in taken[len(done) + len(refused) :]]
        code = Exit.INTERRUPTED
    if out is None:
        for _, result in done:
            (content,) = result.export.exported.files.values()
            write_bytes(content)
    elif done or trouble is None:
        _report(arguments, stored, record, done, refused)
    for one, reason in refused:
        note(f"syncoll: {arguments.source}: {one.where}: not exported: {reason}")
    if trouble is not None:
        raise trouble
    return code


def _require_one_file(arguments: argparse.Namespace, record: ExporterRecord, number: int) -> None:
    """Refuses exports that cannot be written to standard output, which takes one file."""
    if record.folder:
        raise UsageError(f"{record.name} writes several files; name a folder with -o, not -")
    if number > 1:
        raise UsageError(f"there are {number} algorithms; take one with --point, or name a folder")
    if arguments.format == "json":
        raise UsageError("-o - and --format json both use standard output; leave one of them out")


def _place(name: str, record: ExporterRecord, number: int) -> tuple[Path, bool]:
    """The place of the exports, and whether it is a folder."""
    out, separators = Path(name), tuple(one for one in (os.sep, os.altsep) if one)
    if name.endswith(separators) or not out.suffix or record.folder or out.is_dir():
        return out, True
    if number > 1:
        raise UsageError(
            f"{out} is the name of a file, and there are {number} algorithms; name a folder "
            f"({out.with_suffix('')}, or {out}/), or take one algorithm with --point"
        )
    return out, False


def _require_folder(out: Path) -> None:
    """Refuses a name that is not, and cannot become, a folder."""
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
        about = {"schema": "syncoll/export/1", "file": str(arguments.source), "kind": stored.kind}
        about |= {"topology": stored.topology.name, "collective": stored.collective}
        exported = [{**_costs(one), **result.document()} for one, result in done]
        left = [{**_costs(one), "reason": reason} for one, reason in refused]
        how = {"to": record.name, "in_place": arguments.in_place}
        print_json({**about, **how, "exported": exported, "refused": left})
        return
    print_text(f"{stored.kind}: {stored.collective} on {stored.topology.name}, to {record.name}")
    for one, result in done:
        files = result.files
        where = files[0] if not record.folder else f"{files[0].parent} ({len(files)} files)"
        print_text(f"  {one.where}: {where}")
        print_text(f"    {result.executed}")
    notes = (text for _, result in done for text in result.export.exported.notes)
    for text in dict.fromkeys(notes):
        print_text(f"  note: {text}")
    print_text(f"  {counted(len(done), 'algorithm')} exported, {len(refused)} refused")


def _costs(one: StoredAlgorithm) -> dict[str, Any]:
    return {"where": one.where, **picked(one.instance, "chunks steps rounds")}
