"""Preparation: an instance made ready for a backend."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from syncoll.formula import FormulaSize
from syncoll.lowerings import Lowered, Stage
from syncoll.plugins import BackendRecord, Encoded

__all__ = ["Preparation"]


@dataclass(frozen=True, eq=False)
class Preparation:
    """An instance made ready for a backend.

    Args:
        backend: the one that is asked first.
        encoded: the formula as the encoding says it.
        lowered: the formula as the backend takes it.
        size: of the encoding's formula.
        lowered_size: of the backend's formula.
        seconds: ``encode`` and ``lower``.
    """

    backend: BackendRecord
    encoded: Encoded
    lowered: Lowered
    size: FormulaSize
    lowered_size: FormulaSize
    seconds: Mapping[str, float]

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The lowerings in between."""
        return self.lowered.stages
