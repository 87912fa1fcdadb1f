"""MSCCL XML: algorithms for microsoft/msccl, Azure's msccl-executor-nccl and RCCL.

The writer is in `syncoll_msccl_xml.writer`, the checker, which shares no code with it, in
`syncoll_msccl_xml.checker`.
"""

from __future__ import annotations

import re
from pathlib import Path

from syncoll.plugins import ExporterRecord
from syncoll_msccl_xml.options import OPTIONS

# A comment cannot contain its own end: with `.*?` in its place, many comments would take for ever.
_START = re.compile(
    rb"(\xef\xbb\xbf)?\s*(<\?xml[^>]*>\s*)?(<!--((?!-->).)*-->\s*)*<algo[\s>/]", re.DOTALL
)


def _recognises(_path: Path, head: bytes) -> bool:
    """Also with a first line that the runtimes refuse, so that the checker can say so."""
    return _START.match(head) is not None


RECORD = ExporterRecord(
    name="msccl-xml",
    summary="MSCCL XML, for microsoft/msccl, msccl-executor-nccl and RCCL",
    load="syncoll_msccl_xml.writer:MscclXmlExporter",
    load_checker="syncoll_msccl_xml.checker:MscclXmlChecker",
    options=OPTIONS,
    recognises=_recognises,
)
RECORDS = (RECORD,)
