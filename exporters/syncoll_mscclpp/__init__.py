"""MSCCL++ execution plans: JSON, the schema of v0.8 and later.

The writer is in `syncoll_mscclpp.writer`, the checker, which shares no code with it, in
`syncoll_mscclpp.checker`.
"""

import re
from pathlib import Path

from syncoll.plugins import ExporterRecord, Option

SMALL = 1 << 16
"""The largest message, in bytes, that is sent in packets by default."""

OPTIONS = (
    Option(
        "channel",
        "auto",
        "transport of data: the GPU itself (memory), a proxy on the host (port), or the GPU "
        "through switches that copy and reduce (switch); auto: switch if the algorithm relies "
        "on it and a plan can express it, else memory within a box and port between boxes",
        choices=("auto", "memory", "port", "switch"),
    ),
    Option("threads", 1024, "threads of a thread block, a multiple of 32", low=32, high=1024),
    Option("blocks", 32, "most thread blocks of a rank", low=1, high=1024),
    Option(
        "alignment",
        16,
        "chunk sizes are multiples of this, in bytes; a multiple of 16",
        low=16,
        high=1 << 20,
    ),
    Option(
        "packets",
        "auto",
        "protocol LL, data with flags instead of signals: auto for plans of at most 64 KiB, and "
        "of `syncoll plan` for sizes at which it is the fastest; not through switches",
        choices=("auto", "yes", "no"),
    ),
)

_KEYS = re.compile(rb'"(gpus|protocol|inplace|reuse_resources|num_threads_per_block)"\s*:')


def _recognises(_path: Path, head: bytes) -> bool:
    """A JSON object with at least two of the first keys of a plan."""
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    return start.startswith(b"{") and len(set(_KEYS.findall(start))) >= 2


RECORD = ExporterRecord(
    name="mscclpp",
    summary="MSCCL++ execution plan (v0.8 and later)",
    load="syncoll_mscclpp.writer:MscclppExporter",
    load_checker="syncoll_mscclpp.checker:MscclppChecker",
    counts="syncoll_mscclpp.writer:counts_of",
    options=OPTIONS,
    recognises=_recognises,
)
