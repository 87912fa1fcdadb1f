"""MSCCL++ execution plans: JSON, the schema of v0.8 and later.

The writer is in `syncoll_mscclpp.writer`, the checker, which shares no code with it, in
`syncoll_mscclpp.checker`.
"""

from __future__ import annotations

import re
from pathlib import Path

from syncoll.plugins import ExporterRecord
from syncoll_mscclpp.options import OPTIONS

_KEYS = re.compile(rb'"(gpus|protocol|inplace|reuse_resources|num_threads_per_block)"\s*:')


def _recognises(_path: Path, head: bytes) -> bool:
    """A JSON object with at least two of the keys that stand at the beginning of a plan."""
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    return start.startswith(b"{") and len(set(_KEYS.findall(start))) >= 2


RECORD = ExporterRecord(
    name="mscclpp",
    summary="MSCCL++ execution plan (v0.8 and later)",
    load="syncoll_mscclpp.writer:MscclppExporter",
    load_checker="syncoll_mscclpp.checker:MscclppChecker",
    options=OPTIONS,
    recognises=_recognises,
)
RECORDS = (RECORD,)
