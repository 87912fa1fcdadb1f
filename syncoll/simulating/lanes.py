"""LaneState: lanes that take passages one after the other, and until when each is taken."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from syncoll.simulating.network import PhysicalNetwork

__all__ = ["LaneState"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class _Turns:
    """Which passages over lanes come after which.

    Args:
        cables: ``[n]``: which cable of its lane each takes, in order of lanes.
        slots: ``[n]``: the cable's number among all.
        passes: passages that have the same number of others before them on their cable.
    """

    cables: IntArray
    slots: IntArray
    passes: tuple[IntArray, ...]


_AT_ONCE = 2.0**40
"""What comes within a trillionth of its time comes at once, and goes in the order of the algorithm.

A part of the time, not a time: how far rounding is off grows with what a simulation has come to.
"""


class LaneState:
    """The lanes of a network, for several sizes at once.

    Args:
        sizes: how many.
        lane_of: ``[lanes]``: the lane that stands for each.

    Attributes:
        free: ``[sizes, cables of all lanes]``: seconds, until when each is taken.
    """

    def __init__(self, network: PhysicalNetwork, sizes: int, lane_of: IntArray) -> None:
        self._cables, self._lane_of = network.cables, lane_of
        self._first_slot = np.append(0, np.cumsum(network.cables))[:-1]
        self._dealt = np.zeros(len(network.lanes), dtype=np.int64)
        self.free = np.zeros((sizes, int(network.cables.sum())))

    def take(
        self,
        lanes: IntArray,
        head: FloatArray,
        enough: FloatArray,
        takes: FloatArray,
        *,
        ordered: bool,
    ) -> tuple[FloatArray, FloatArray, IntArray]:
        """Lanes take their passages one after the other.

        Args:
            lanes: ``[n]``.
            head: ``[sizes, n]``: when the first byte of each comes.
            enough: ``[sizes, n]``: from when on its bytes come fast enough to go on without pause.
            takes: ``[sizes, n]``: seconds of its bytes on the lane.
            ordered: whether lanes take them in this order; else as they come.

        Returns:
            When they begin, when they end, and for the first size their cables.
        """
        stand = self._lane_of[lanes]
        if ordered:
            order = np.broadcast_to(np.argsort(stand, kind="stable"), head.shape)
        else:
            mantissa, exponent = np.frexp(head)  # rounding must not say who comes first
            came = np.ldexp(np.round(mantissa * _AT_ONCE), exponent)
            order = np.lexsort((came, np.broadcast_to(stand, head.shape)), axis=-1)
        turns = self._turns(stand[order[0]])
        head, enough, takes = (
            np.take_along_axis(x, order, axis=1) for x in (head, np.maximum(head, enough), takes)
        )
        begin, end = np.empty_like(head), np.empty_like(head)
        for some in turns.passes:
            slots = turns.slots[some]
            free = self.free[:, slots]
            begin[:, some] = np.maximum(head[:, some], free)
            end[:, some] = np.maximum(enough[:, some], free) + takes[:, some]
            self.free[:, slots] = end[:, some]
        began, ended = np.empty_like(head), np.empty_like(head)
        np.put_along_axis(began, order, begin, axis=1)
        np.put_along_axis(ended, order, end, axis=1)
        cables = np.empty(len(lanes), dtype=np.int64)
        cables[order[0]] = turns.cables
        return began, ended, cables

    def _turns(self, lanes: IntArray) -> _Turns:
        """Deals passages to cables in turn; `lanes` are in order."""
        places = np.arange(len(lanes))
        new = np.append(True, lanes[1:] != lanes[:-1])
        rank = places - np.maximum.accumulate(np.where(new, places, 0))
        cables = self._cables[lanes]
        which = (self._dealt[lanes] + rank) % cables
        np.add.at(self._dealt, lanes, 1)
        turn = rank // cables
        order = np.argsort(turn, kind="stable")
        cuts = np.flatnonzero(np.diff(turn[order])) + 1
        return _Turns(which, self._first_slot[lanes] + which, tuple(np.split(order, cuts)))
