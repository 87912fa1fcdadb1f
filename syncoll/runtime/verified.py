"""Files are handed out only after their format's own checker has read and executed them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from syncoll.errors import ExportError, VerificationError
from syncoll.plugins import CheckedExport, Exported, ExporterRecord, ExportRequest, resolve_options
from syncoll.trust import require_valid

__all__ = ["HandedOut", "export_verified"]


@dataclass(frozen=True)
class HandedOut:
    """Files that do what their algorithm demands.

    Args:
        exported: the files, with notes.
        checked: what they were found to do.
    """

    exported: Exported
    checked: CheckedExport


def export_verified(
    record: ExporterRecord, request: ExportRequest, given: Mapping[str, object]
) -> HandedOut:
    """Verifies an algorithm, writes it, and executes what was written.

    Args:
        record: of the format.
        request: the algorithm and how it will be used.
        given: options by name; the others get their defaults.

    Raises:
        OptionError: on an unknown option or a value out of range.
        ExportError: when the format, or what it is given, cannot express the algorithm; or when
            what it needs is not installed.
        VerificationError: when the algorithm does not solve its instance, or what was written does
            not do what it should; the second is a bug of the exporter or of its checker.
    """
    options = resolve_options(record.options, given, f"exporter {record.name}")
    if not (answer := record.installed()).ok:
        raise ExportError(f"exporter {record.name} is not installed: {answer.reason}")
    if not 0 <= request.min_bytes <= request.max_bytes:
        raise ExportError(
            f"sizes from {request.min_bytes} to {request.max_bytes} bytes are none; expected a "
            "smallest size that is not above the largest"
        )
    require_valid(request.instance, request.algorithm)
    exported = record.load().export(request, options)
    try:
        checked = record.load_checker().check(exported.files, options, request.instance)
    except VerificationError as error:
        raise VerificationError(
            f"what exporter {record.name} wrote for {request.name} does not pass its checker, so "
            f"it is not handed out: {error}"
        ) from error
    return HandedOut(exported, checked)
