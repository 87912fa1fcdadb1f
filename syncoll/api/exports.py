"""Files for runtimes in the hands of a user: written once they are executed, and verified."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from syncoll.api import arguments
from syncoll.api.base import (
    Displayable,
    What,
    Where,
    session_for,
    session_of,
    shows_progress,
    verb,
)
from syncoll.api.frontier import Source, algorithms_of
from syncoll.documents import StoredAlgorithm, StoredFile, read_file, remove_empty
from syncoll.errors import ExportError, UncheckedError, UsageError, VerificationError
from syncoll.pages import Page
from syncoll.pages.verified import CheckedRefutation, verified_page
from syncoll.plugins import ExporterRecord, ExportRequest
from syncoll.plugins.exporters import UNLIMITED
from syncoll.progress import tracked
from syncoll.runtime import SavedExport, export_verified, label, save
from syncoll.runtime.exported import VerifiedExports, exporter_of, verify_exports
from syncoll.session import Session
from syncoll.trust import require_valid
from syncoll.trust.same_problem import require_same_collective, require_same_topology
from syncoll.wording import argument

__all__ = ["ExportResult", "export", "verify"]


@dataclass(frozen=True, repr=False)
class ExportResult(Displayable, SavedExport):
    """Files of a runtime, which its format's checker has executed."""

    def page(self) -> Page:
        """Where they are, and what they were found to do."""
        checked = self.export.checked
        facts = ", ".join(f"{name} {value}" for name, value in checked.facts.items())
        page = Page().text(f"{', '.join(str(path) for path in self.files)}")
        page.text(f"executed: {checked.format}, {checked.collective}; {facts}")
        for note in self.export.exported.notes:
            page.text(f"note: {note}")
        return page


@verb
@shows_progress
def export(
    source: Source,
    to: str,
    folder: str | Path,
    *,
    apart: bool = True,
    in_place: bool = False,
    min_bytes: int | str = 0,
    max_bytes: int | str | None = None,
    options: Mapping[str, object] | None = None,
    progress: str = "auto",
) -> list[ExportResult]:
    """Writes every point of a frontier in a format of a runtime, each checked by executing it.

    Args:
        source: a frontier, an algorithm, or a file of one.
        to: the exporter.
        folder: where; made when it is not there.
        apart: whether each algorithm gets a name of its own in it; else `folder` is a single
            algorithm's file, or for a format of several files its folder.
        in_place: for calls whose input and output are one buffer.
        min_bytes: the smallest message for which the runtime should choose it.
        max_bytes: the largest one; None for no limit.
        options: of the exporter, by name.
        progress: ``auto``, ``live``, ``plain`` or ``none``.

    Raises:
        ExportError: when the format cannot express one of them.
        UsageError: when a file cannot be written.
    """
    algorithms, session = algorithms_of(source, "export"), session_of(source)
    if not isinstance(to, str):
        raise UsageError(f"{to!r} is not the name of an exporter")
    done = export_each(
        session.plugins.exporters[to],
        algorithms,
        Path(folder),
        apart=apart,
        in_place=in_place,
        min_bytes=arguments.bytes_of(min_bytes) if min_bytes else 0,
        max_bytes=None if max_bytes is None else arguments.bytes_of(max_bytes),
        options=options or {},
    )
    found: list[ExportResult] = []
    for _, one in done:
        if not isinstance(one, ExportResult):
            raise one
        found.append(one)
    return found


def export_each(
    record: ExporterRecord,
    algorithms: Sequence[StoredAlgorithm],
    out: Path | None,
    *,
    apart: bool,
    in_place: bool,
    min_bytes: int,
    max_bytes: int | None,
    options: Mapping[str, object],
) -> Iterator[tuple[StoredAlgorithm, ExportResult | ExportError | VerificationError]]:
    """Exports algorithms one by one; what cannot be exported comes out as the error.

    The folder appears with the first file in it.  Without an `out` nothing is written; for the
    rest see `export`.

    Raises:
        UsageError: when a file cannot be written.
    """
    for one in tracked(algorithms, lambda stored: f"exporting {stored.where}"):
        collective = one.instance.collective
        name = label(one, collective, in_place=in_place)
        most = UNLIMITED if max_bytes is None else max_bytes
        request = ExportRequest(
            name, collective, one.instance, one.algorithm, in_place, min_bytes, most
        )
        try:
            done = export_verified(record, request, options)
        except (ExportError, VerificationError) as error:
            yield one, error
            continue
        if out is None:
            yield one, ExportResult((), done)
            continue
        made = apart and _make_folder(out)
        try:
            place = out / name if record.folder and apart else out
            files = save(place, done.exported.files, folder=record.folder)
        except UsageError:
            if made:
                remove_empty(out)
            raise
        written = files[0].parent if record.folder else files[0]
        yield one, ExportResult(tuple(files), done.placed(written))


def _make_folder(out: Path) -> bool:
    """Makes a folder; whether there was none."""
    new = not out.exists()
    try:
        out.mkdir(exist_ok=True)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise UsageError(f"cannot make the folder {out}: {reason}") from error
    return new


@verb
def verify(
    path: str | Path,
    *,
    to: str | None = None,
    topology: Where | None = None,
    collective: What | None = None,
    chunks: int | None = None,
    in_order: bool = False,
    options: Mapping[str, object] | None = None,
) -> Page:
    """Replays a file of ours, or executes an exported file as its runtime would.

    Args:
        path: a file, or a folder of exports.
        to: the format of an export; None where the file tells.
        topology: that the file must be about, or over whose links alone data may go.
        collective: that is meant; None for what the file says of itself.
        chunks: C, for an export whose file has none.
        in_order: of files of ours: whether reductions must keep the order of the nodes.
        options: of the format, by name.

    Raises:
        UncheckedError: when nothing is wrong, but something could not be checked.
        VerificationError: when something is wrong.
        FileFormatError: when it cannot be read.
    """
    session, file = session_for(), Path(path)
    record = exporter_for(session, file, to)
    found = verified(
        session,
        file,
        record,
        topology=topology,
        collective=collective,
        chunks=chunks,
        in_order=in_order,
        options=options or {},
    )
    if isinstance(found, VerifiedExports):
        for where, reason in found.wrong:
            raise VerificationError(f"{where}: {reason}")
        for where, reason in found.unchecked:
            raise UncheckedError(f"{where}: {reason}")
    return verified_page(found)


def exporter_for(session: Session, file: Path, to: str | None) -> ExporterRecord | None:
    """Of whose format a file is, or is said to be; None for a file of ours.

    Raises:
        UsageError: when it is a folder, and of no format.
    """
    plugins = session.plugins
    record = plugins.exporters[to] if to is not None else exporter_of(file, plugins, session.tell)
    if record is None and file.is_dir():
        raise UsageError(
            f"{file} is a folder without files of any exporter; name a file, or the format of the "
            "folder"
        )
    return record


def verified(
    session: Session,
    file: Path,
    record: ExporterRecord | None,
    *,
    topology: Where | None,
    collective: What | None,
    chunks: int | None,
    in_order: bool,
    options: Mapping[str, object],
) -> VerifiedExports | CheckedRefutation | StoredFile:
    """What was found in a file; of exports also what is wrong; see `verify`."""
    where = None if topology is None else session.topology(topology)
    what = None if collective is None else session.collective(collective)
    if record is not None:
        if in_order:
            raise UsageError(
                f"{file} is an export ({record.name}), to which {argument('in_order')} does not "
                "apply"
            )
        return verify_exports(file, record, options, topology=where, collective=what, chunks=chunks)
    if options:
        raise UsageError(f"{file} is not an export; options of formats say nothing about it")
    if chunks is not None:
        raise UsageError(f"{file} says its C itself; {argument('chunks')} is for exports")
    stored = read_file(file, taker="verify")
    if stored.kind == "refutation":  # whose check needs encodings and lowerings too
        from syncoll.proofs.refutation import check_refutation

        return check_refutation(file, session.plugins, topology=where, collective=what)
    if where is not None:
        require_same_topology(stored.topology, where)
    if what is not None:
        evidence = None if stored.frontier is None else stored.frontier.evidence
        require_same_collective(
            stored.collective, stored.topology, stored.instances, evidence, what
        )
    for one in stored.algorithms if in_order else ():
        if one.instance.combining:
            require_valid(one.instance, one.algorithm, in_order=True)
    return stored
