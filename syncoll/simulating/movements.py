"""Movements: when sends left and arrived, and the passages over lanes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from syncoll.arrays import FloatArray, IntArray

__all__ = ["Movements", "Passages"]


@dataclass(frozen=True, eq=False)
class Passages:
    """Passages over lanes: an entry for each send, or strand of it, and lane on its way.

    On a cable no two of them overlap.

    Args:
        send: ``[H]``: the position in `Movements.sends`.
        lane: ``[H]``: the position in `PhysicalNetwork.lanes`.
        cable: ``[H]``: the lane's cable; with shared bandwidth a place among concurrent passages.
        start: ``[H]``: seconds, when its first byte enters the lane.
        end: ``[H]``: when its last byte does; it arrives at the other end by the latency later.
        size: ``[H]``: bytes, headers included.
    """

    send: IntArray
    lane: IntArray
    cable: IntArray
    start: FloatArray
    end: FloatArray
    size: FloatArray

    def __len__(self) -> int:
        return len(self.send)

    @classmethod
    def of(cls, parts: Iterable[Sequence[npt.ArrayLike]]) -> Passages:
        """Concatenates parts of these six columns; scalars are broadcast."""
        rows = [np.broadcast_arrays(*part) for part in parts]
        columns = [
            np.concatenate([row[i] for row in rows]) if rows else np.zeros(0) for i in range(6)
        ]
        send, lane, cable = (column.astype(np.int64) for column in columns[:3])
        start, end, size = (column.astype(np.float64) for column in columns[3:])
        return cls(send, lane, cable, start, end, size)


@dataclass(frozen=True, eq=False)
class Movements:
    """When sends left and arrived, for several sizes.

    Args:
        left: ``[sizes, M]``: seconds, when the first byte of each send left its source.
        arrived: ``[sizes, M]``: when the receiver has all of it, reduced if need be.
        passages: None if not asked for.
    """

    left: FloatArray
    arrived: FloatArray
    passages: Passages | None = None
