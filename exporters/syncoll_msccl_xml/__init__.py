"""MSCCL XML: what microsoft/msccl, Azure's msccl-executor-nccl and RCCL load as an algorithm.

The writer is in `syncoll_msccl_xml.writer`, the checker, which shares no code with it, in
`syncoll_msccl_xml.checker`.
"""

from __future__ import annotations

import re
from pathlib import Path

from syncoll.plugins import ExportChecker, Exporter, ExporterRecord, hookimpl
from syncoll_msccl_xml.options import OPTIONS

__all__ = ["RECORD", "syncoll_exporters"]

# A comment cannot contain its own end: with `.*?` in its place, many comments would take for ever.
_START = re.compile(
    rb"(\xef\xbb\xbf)?\s*(<\?xml[^>]*>\s*)?(<!--((?!-->).)*-->\s*)*<algo[\s>/]", re.DOTALL
)


def _load() -> Exporter:
    from syncoll_msccl_xml.writer import MscclXmlExporter

    return MscclXmlExporter()


def _load_checker() -> ExportChecker:
    from syncoll_msccl_xml.checker import MscclXmlChecker

    return MscclXmlChecker()


def _recognises(_path: Path, head: bytes) -> bool:
    """Also with a first line that the runtimes refuse, so that the checker can say so."""
    return _START.match(head) is not None


RECORD = ExporterRecord(
    name="msccl-xml",
    summary="MSCCL XML, for microsoft/msccl, msccl-executor-nccl and RCCL",
    load=_load,
    load_checker=_load_checker,
    options=OPTIONS,
    recognises=_recognises,
)


@hookimpl
def syncoll_exporters() -> list[ExporterRecord]:
    """The one exporter of this package."""
    return [RECORD]
