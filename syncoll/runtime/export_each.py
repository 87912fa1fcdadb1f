"""Exports of several algorithms into a folder."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from syncoll.documents import StoredAlgorithm, remove_empty
from syncoll.errors import ExportError, UsageError, VerificationError
from syncoll.plugins import ExporterRecord, ExportRequest
from syncoll.progress import tracked
from syncoll.runtime.export import SavedExport, counts_of, export_verified, request_of, save
from syncoll.wording import counted

_MOST_OFFERED = 8
"""Simpler algorithms that are counted for one that does not fit."""


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
    others: Sequence[StoredAlgorithm] = (),
) -> Iterator[tuple[StoredAlgorithm, SavedExport | ExportError | VerificationError]]:
    """Exports algorithms one by one, and yields an error for an algorithm that cannot be exported.

    The folder is made with the first file in it.  Without an `out` nothing is written; for the
    other arguments see `export`.

    Args:
        others: algorithms for the same collective; the error for an algorithm that the runtime
            cannot carry names the best simpler one that it carries.

    Raises:
        UsageError: if a file cannot be written.
    """
    for one in tracked(algorithms, lambda stored: f"exporting {stored.where}"):
        request = request_of(one, in_place=in_place, min_bytes=min_bytes, max_bytes=max_bytes)
        try:
            done = export_verified(record, request, options)
        except ExportError as error:
            yield one, _with_simpler(error, one, others, record, request, options)
            continue
        except VerificationError as error:
            yield one, error
            continue
        if out is None:
            yield one, SavedExport((), done)
            continue
        made = apart and _make_folder(out)
        try:
            place = out / request.name if record.folder and apart else out
            files = save(place, done.exported.files, folder=record.folder)
        except UsageError:
            if made:
                remove_empty(out)
            raise
        written = files[0].parent if record.folder else files[0]
        yield one, SavedExport(tuple(files), done.placed(written))


def _with_simpler(
    error: ExportError,
    one: StoredAlgorithm,
    others: Sequence[StoredAlgorithm],
    record: ExporterRecord,
    request: ExportRequest,
    options: Mapping[str, object],
) -> ExportError:
    """The error, with the best algorithm of fewer chunks, or sends, that the runtime carries."""
    simpler = [
        other
        for other in others
        if (other.chunks, other.algorithm.num_sends) < (one.chunks, one.algorithm.num_sends)
    ]
    simpler.sort(key=lambda other: (abs(other.steps - one.steps), other.bandwidth, other.chunks))
    for other in simpler[:_MOST_OFFERED]:
        asked = replace(request, instance=other.instance, algorithm=other.algorithm)
        try:
            if counts_of(record, asked, options) is None:
                return error
        except ExportError:
            continue
        return ExportError(
            f"{error}; {other.where} fits: {counted(other.steps, 'step')}, R/C = "
            f"{other.bandwidth}, {counted(other.chunks, 'chunk')}"
        )
    return error


def _make_folder(out: Path) -> bool:
    """Makes a folder; whether it is new."""
    new = not out.exists()
    try:
        out.mkdir(exist_ok=True)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise UsageError(f"cannot make the folder {out}: {reason}") from error
    return new
