"""Passages over lanes, the movements of sends, and lanes that take passages one after the other."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from syncoll.arrays import Floats, Ints
from syncoll.simulating.network import PhysicalNetwork

_AT_ONCE = 2.0**40
"""Arrivals within a trillionth of their time are simultaneous, and keep the order of exports.  The
tolerance is relative, since rounding errors grow with the simulated time."""


@dataclass(frozen=True, eq=False)
class Passages:
    """Passages over lanes: an entry for each send, or strand of it, and lane on its way.

    Passages on one cable do not overlap.

    Args:
        send: ``[H]``: the position in `Movements.sends`.
        lane: ``[H]``: the position in `PhysicalNetwork.lanes`.
        cable: ``[H]``: the lane's cable; with shared bandwidth a place among concurrent passages.
        start: ``[H]``: seconds, when its first byte enters the lane.
        end: ``[H]``: when its last byte does; it arrives at the other end by the latency later.
        size: ``[H]``: bytes, headers included.
    """

    send: Ints
    lane: Ints
    cable: Ints
    start: Floats
    end: Floats
    size: Floats

    def __len__(self) -> int:
        return len(self.send)

    @classmethod
    def of(cls, parts: Iterable[Sequence[npt.ArrayLike]]) -> "Passages":
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
    """``[sizes, M]``: seconds at which the first byte of each send left its source, and at which
    the receiver has all of it, reduced if need be; passages if requested."""

    left: Floats
    arrived: Floats
    passages: Passages | None = None


class LaneState:
    """The lanes of a network, for several sizes at once; `lane_of` ``[lanes]`` is the
    representative of each lane."""

    def __init__(self, network: PhysicalNetwork, sizes: int, lane_of: Ints) -> None:
        self._cables, self._lane_of = network.cables, lane_of
        self._first_slot = np.append(0, np.cumsum(network.cables))[:-1]
        self._dealt = np.zeros(len(network.lanes), dtype=np.int64)
        # One row for each cable; cables that are taken together are consecutive.
        self.free = np.zeros((int(network.cables.sum()), sizes))
        """``[cables of all lanes, sizes]``: seconds until which each is busy."""

    def take(
        self, lanes: Ints, head: Floats, enough: Floats | None, takes: Floats, *, ordered: bool
    ) -> tuple[Floats, Floats, Ints]:
        """Lanes take their passages one after the other.

        Args:
            head: ``[n, sizes]``: when the first byte of each arrives.
            enough: ``[n, sizes]``: time from which on its bytes arrive fast enough to continue
                without pause; None if all are there when the first one is.
            takes: ``[n, sizes]``: seconds of its bytes on the lane.
            ordered: whether lanes take them in this order; otherwise as they arrive.

        Returns:
            When they begin, when they end, and for the first size their cables.
        """
        stand = self._lane_of[lanes]
        at: Any = np.argsort(stand, kind="stable")
        turns, cables_used, slots_used, cuts = self._turns(stand[at])
        if ordered:
            first = at = at[turns]
        else:
            mantissa, exponent = np.frexp(head.T)  # rounding must not decide the order
            came = np.ldexp(np.round(mantissa * _AT_ONCE), exponent)
            order = np.lexsort((came, np.broadcast_to(stand, came.shape)), axis=-1)
            at = np.ascontiguousarray(order[:, turns].T), np.arange(len(came))
            first = at[0][:, 0]
        begin, takes = head[at], takes[at]
        end = np.empty_like(begin) if enough is None else np.maximum(begin, enough[at])
        free, used = self.free[:0], slots_used[:0]
        for low, high in pairwise(cuts):
            some = slice(low, high)
            if high - low != len(used):  # else the same cables take one more passage
                self.free[used], used = free, slots_used[some]
                free = self.free[used]
            np.maximum(begin[some], free, out=begin[some])
            if enough is None:
                free = np.add(begin[some], takes[some], out=end[some])
            else:
                np.maximum(end[some], free, out=end[some])
                free = np.add(end[some], takes[some], out=end[some])
        self.free[used] = free
        began, ended = np.empty_like(head), np.empty_like(head)
        began[at] = begin
        ended[at] = end
        cables = np.empty(len(lanes), dtype=np.int64)
        cables[first] = cables_used
        return began, ended, cables

    def _turns(self, lanes: Ints) -> tuple[Ints, Ints, Ints, list[int]]:
        """Assigns passages to cables in turn; `lanes` are in order.

        Returns:
            The passages by their position on their cable; in this order the cable of each on its
            lane, and this cable's number among all; and the positions at which passages with one
            more before them begin, with the end.
        """
        places = np.arange(len(lanes))
        new = np.append(True, lanes[1:] != lanes[:-1])
        rank = places - np.maximum.accumulate(np.where(new, places, 0))
        cables = self._cables[lanes]
        which = (self._dealt[lanes] + rank) % cables
        np.add.at(self._dealt, lanes, 1)
        turn = rank // cables
        order = np.argsort(turn, kind="stable")
        cuts = np.flatnonzero(np.diff(turn[order])) + 1
        slots = (self._first_slot[lanes] + which)[order]
        return order, which[order], slots, [0, *cuts.tolist(), len(lanes)]
