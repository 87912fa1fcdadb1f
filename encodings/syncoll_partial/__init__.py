"""The partial encoding's plugin record."""

from __future__ import annotations

from syncoll.plugins import Encoding, EncodingRecord, hookimpl

__all__ = ["load", "syncoll_encodings"]


def load() -> Encoding:
    """The encoding itself."""
    from syncoll_partial.encoding import PartialEncoding

    return PartialEncoding()


@hookimpl
def syncoll_encodings() -> list[EncodingRecord]:
    """One record: ``partial``."""
    return [
        EncodingRecord(
            name="partial",
            summary="which contributions each partial result holds, for combining collectives",
            load=load,
            rank=20,
            combining=True,
            counts_copies=True,
        )
    ]
