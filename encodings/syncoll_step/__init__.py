"""The step encoding's plugin record."""

from __future__ import annotations

from syncoll.plugins import Encoding, EncodingRecord, Option, hookimpl

__all__ = ["load", "syncoll_encodings"]


def load() -> Encoding:
    """The encoding itself."""
    from syncoll_step.encoding import StepEncoding

    return StepEncoding()


@hookimpl
def syncoll_encodings() -> list[EncodingRecord]:
    """One record: ``step``."""
    return [
        EncodingRecord(
            name="step",
            summary="one Boolean per send and step, pruned by distance",
            load=load,
            rank=20,
            counts_copies=True,
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
