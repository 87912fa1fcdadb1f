"""The path encoding's plugin record."""

from __future__ import annotations

from syncoll.plugins import Encoding, EncodingRecord, Option, hookimpl

__all__ = ["load", "syncoll_encodings"]


def load() -> Encoding:
    """The encoding itself."""
    from syncoll_path.encoding import PathEncoding

    return PathEncoding()


@hookimpl
def syncoll_encodings() -> list[EncodingRecord]:
    """One record: ``path``."""
    return [
        EncodingRecord(
            name="path",
            summary="arrival times and chosen links: C1 to C6 of the SCCL paper",
            load=load,
            rank=10,
            options=(
                Option(
                    "symmetry",
                    "none",
                    "arrival: interchangeable chunks arrive at one node in order",
                    choices=("none", "arrival"),
                ),
            ),
        )
    ]
