"""Exports: written, read back and executed by their format's own checker, and only then saved."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePath

from syncoll.documents import StoredAlgorithm, write_atomically, write_folder
from syncoll.documents.json_text import collected_later
from syncoll.errors import ExportError, UsageError, VerificationError
from syncoll.model import Algorithm, Instance
from syncoll.plugins import CheckedExport, ExportCounts, Exported, ExporterRecord, ExportRequest
from syncoll.plugins.exporters import PLACE, UNLIMITED
from syncoll.plugins.options import Options, resolve_options
from syncoll.runtime.exported import require_in_boxes, require_reproducible
from syncoll.trust import require_valid


@dataclass(frozen=True)
class HandedOut:
    """Checked files, and the findings of their checker."""

    exported: Exported
    checked: CheckedExport

    def placed(self, place: PurePath) -> "HandedOut":
        """A copy whose notes name the file or folder to which it is written."""
        notes = tuple(note.replace(PLACE, str(place)) for note in self.exported.notes)
        return replace(self, exported=replace(self.exported, notes=notes))


@collected_later()
def counts_of(
    record: ExporterRecord, request: ExportRequest, given: Mapping[str, object]
) -> ExportCounts | None:
    """The resources that an algorithm needs of a runtime; None if the exporter does not count.
    Nothing is written or verified.

    Args:
        given: options by name; the others get their defaults.

    Raises:
        OptionError: on an unknown option or a value out of range.
        ExportError: if the format cannot express the algorithm, the runtime cannot carry it, or a
            needed package is not installed.
    """
    counts: ExportCounts | None = record.counts(request, _asked(record, request, given))
    return counts


def _asked(record: ExporterRecord, request: ExportRequest, given: Mapping[str, object]) -> Options:
    """The options of an export; raises as `counts_of`, before the exporter is asked."""
    options = resolve_options(record.options, given, f"exporter {record.name}")
    if not (answer := record.installed()).ok:
        raise ExportError(f"exporter {record.name} is not installed: {answer.reason}")
    if not 0 <= request.min_bytes <= request.max_bytes:
        raise ExportError(
            f"the smallest size is {request.min_bytes} bytes and the largest {request.max_bytes}; "
            "expected a smallest size of at least 0 that is not above the largest"
        )
    return options


@collected_later()
def export_verified(
    record: ExporterRecord, request: ExportRequest, given: Mapping[str, object]
) -> HandedOut:
    """Verifies an algorithm, writes it, and executes the files.

    Args:
        given: options by name; the others get their defaults.

    Raises:
        OptionError, ExportError: see `counts_of`; also if an option cannot express the algorithm.
        VerificationError: if the algorithm does not solve its instance, or the files fail their
            check; the second is a bug of the exporter or of its checker.
    """
    options = _asked(record, request, given)
    require_valid(request.instance, request.algorithm)
    exported = record.load().export(request, options)
    if exported.counts is None:
        exported = replace(exported, counts=record.counts(request, options))
    try:
        checked = record.load_checker().check(exported.files, options, request.instance)
        require_in_boxes(checked, request.instance.topology)
        if request.instance.reproducible and checked.added:
            require_reproducible(checked)
    except VerificationError as error:
        raise VerificationError(
            f"the files of exporter {record.name} for {request.name} do not pass its checker, so "
            f"they are not written: {error}"
        ) from error
    if not exported.in_switches and counts_on_switches(request.instance, request.algorithm):
        text = (
            "every send is separate, even if switches could copy or reduce, so the algorithm "
            "takes longer than R"
        )
        for one in record.options:  # where the exporter decides, a note of its own gives the reason
            if "switch" in one.choices and options[one.name] != "auto":
                text += f"; --option {one.name}=switch uses the switches if possible"
        exported = replace(exported, notes=(*exported.notes, text))
    return HandedOut(exported, checked)


def counts_on_switches(instance: Instance, algorithm: Algorithm) -> bool:
    """Whether an algorithm has fewer rounds than it would have if every send counted."""
    topology = instance.topology
    if not topology.counts_copies:
        return False
    needed = algorithm.least_rounds(topology.conservative)
    given = algorithm.rounds_per_step
    return any(least > rounds for least, rounds in zip(needed, given, strict=True))


@dataclass(frozen=True)
class SavedExport:
    """Saved files of a runtime, and the findings of their checker."""

    files: tuple[Path, ...]
    export: HandedOut


def label(one: StoredAlgorithm, collective: str, *, in_place: bool = False) -> str:
    """A name for an algorithm, of letters, digits and ``._-``: ``dgx1-allgather-C6-S3-R7``."""
    instance = one.instance
    costs = f"C{instance.chunks}-S{instance.steps}-R{instance.rounds}".replace("/", "_")
    plain = [
        re.sub(r"[^A-Za-z0-9._]+", "-", text).strip("-.")
        for text in (instance.topology.name, collective)
    ]
    return "-".join([*(text for text in plain if text), costs, *(["in-place"] if in_place else [])])


def request_of(
    one: StoredAlgorithm,
    *,
    in_place: bool,
    min_bytes: int = 0,
    max_bytes: int | None = None,
    small: int | None = None,
    name: str = "",
) -> ExportRequest:
    """The export of an algorithm with its claim, without a `name` by its `label`."""
    collective, most = one.instance.collective, UNLIMITED if max_bytes is None else max_bytes
    name = name or label(one, collective, in_place=in_place)
    what = name, collective, one.instance, one.algorithm, in_place, min_bytes, most, small
    return ExportRequest(*what, claims=(one.claim,) if one.claim else ())


def save(out: Path, files: Mapping[str, bytes], *, folder: bool) -> list[Path]:
    """Writes the files of one algorithm, by name, and returns their paths; all or none.

    A format of several files takes the folder `out`, others the file, or a folder for it.  Raises
    UsageError if they cannot be written.
    """
    if folder:
        others = sorted({p.name for p in out.iterdir()} - set(files)) if out.is_dir() else []
        if others:
            raise UsageError(
                f"{out} has other files ({others[0]}), which would count as part of the "
                "export; name a folder that is new, empty or of this algorithm"
            )
        write_folder(out, files)
        return [out / name for name in files]
    ((name, content),) = files.items()
    path = out / name if out.is_dir() else out
    write_atomically(path, content)
    return [path]
