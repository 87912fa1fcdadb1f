"""Chakra execution traces: one file per rank, for ASTRA-sim's custom collectives.

The writer, `syncoll_chakra.writer`, has the part of Chakra's schema that it needs, and the checker,
`syncoll_chakra.checker`, reads by a schema of its own.  Both make the protobuf library's classes of
their schemas with `syncoll.protobuf` and share no other code.
"""

from pathlib import Path

from syncoll.plugins import MESSAGE_OPTIONS, ExporterRecord, installed_distribution

_METADATA_STARTS = (b"\x0a", b"\x12")
"""First bytes of the first message: its version, or its attributes."""


def _recognises(path: Path, head: bytes) -> bool:
    """A name that ends in .et, and a length before a message of the right kind."""
    if path.suffix != ".et":
        return False
    length = next((i for i, byte in enumerate(head[:5]) if byte < 0x80), None)
    if length is None:
        return False
    return head[length : length + 1] == b"\x00" or head[length + 1 : length + 2] in _METADATA_STARTS


RECORD = ExporterRecord(
    name="chakra",
    summary="Chakra execution traces, one .et per rank, for ASTRA-sim",
    load="syncoll_chakra.writer:ChakraExporter",
    load_checker="syncoll_chakra.checker:ChakraChecker",
    options=MESSAGE_OPTIONS,
    folder=True,
    installed=lambda: installed_distribution("protobuf", "google.protobuf"),
    recognises=_recognises,
)
