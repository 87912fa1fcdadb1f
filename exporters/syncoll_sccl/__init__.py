"""SCCL's algorithm JSON: ``msccl solve`` of msccl-tools writes it, and ``msccl ncclize`` reads it.

The format is that of ``msccl.serialization``: a topology, the chunks at each rank before and after,
and steps with their rounds and sends of (address, source, destination). The contributions to a
chunk that is reduced have one address; a send carries all that its source has reduced so far.
"""

import re

from syncoll.plugins import ExporterRecord

_START = re.compile(rb'(\xef\xbb\xbf)?\s*\{\s*"msccl_type"\s*:\s*"algorithm"')

RECORD = ExporterRecord(
    name="sccl",
    summary="SCCL's algorithm JSON, for msccl-tools",
    load="syncoll_sccl.writer:ScclExporter",
    load_checker="syncoll_sccl.reading:ScclChecker",
    recognises=lambda _path, head: _START.match(head) is not None,
    replayed=True,
)
