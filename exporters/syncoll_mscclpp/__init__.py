"""MSCCL++ execution plans: JSON, the schema of v0.8 and later.

The writer is in `syncoll_mscclpp.writer`, the checker, which shares no code with it, in
`syncoll_mscclpp.checker`.
"""

from __future__ import annotations

import re
from pathlib import Path

from syncoll.plugins import ExportChecker, Exporter, ExporterRecord, hookimpl
from syncoll_mscclpp.options import OPTIONS

__all__ = ["RECORD", "syncoll_exporters"]

_KEYS = re.compile(rb'"(gpus|protocol|inplace|reuse_resources|num_threads_per_block)"\s*:')


def _load() -> Exporter:
    from syncoll_mscclpp.writer import MscclppExporter

    return MscclppExporter()


def _load_checker() -> ExportChecker:
    from syncoll_mscclpp.checker import MscclppChecker

    return MscclppChecker()


def _recognises(_path: Path, head: bytes) -> bool:
    """A JSON object with at least two of the keys that stand at the beginning of a plan."""
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    return start.startswith(b"{") and len(set(_KEYS.findall(start))) >= 2


RECORD = ExporterRecord(
    name="mscclpp",
    summary="MSCCL++ execution plan (v0.8 and later)",
    load=_load,
    load_checker=_load_checker,
    options=OPTIONS,
    recognises=_recognises,
)


@hookimpl
def syncoll_exporters() -> list[ExporterRecord]:
    """The one exporter of this package."""
    return [RECORD]
