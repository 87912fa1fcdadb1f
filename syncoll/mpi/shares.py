"""The number of elements of each chunk, if the data does not divide evenly.

All ranks derive it from the elements of the whole: of allgather and gather the output, of
reducescatter, scatter and alltoall the input, of allreduce, broadcast and reduce the buffer, of a
custom collective all its chunks together.  It is cut as by ``numpy.array_split``, the first parts
one element longer than the others: first between ranks, if each has a share of its own, and then
each share into its chunks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from syncoll.arrays import IntArray
from syncoll.runtime import Kind, Layout

__all__ = ["BufferShares", "shares_of", "split"]

_WHOLE = (Kind.ALLREDUCE, Kind.BROADCAST, Kind.REDUCE, Kind.CUSTOM)
_OWNED_BY_SOURCE = (Kind.ALLGATHER, Kind.GATHER)


def split(total: int, parts: int) -> IntArray:
    """The lengths of the parts of a total."""
    return total // parts + (np.arange(parts) < total % parts)


@dataclass(frozen=True, eq=False)
class BufferShares:
    """The lengths of everything, in elements: of chunks ``[G]``, inputs and outputs ``[P]``."""

    total: int
    chunks: IntArray
    inputs: IntArray
    outputs: IntArray


def shares_of(layout: Layout, total: int) -> BufferShares:
    """Cuts the elements of a whole into the chunks of a collective."""
    chunks = _chunks(layout, total)
    inputs = np.where(layout.inputs >= 0, chunks[:, None], 0).sum(axis=0)
    outputs = np.where(layout.outputs >= 0, chunks[:, None], 0).sum(axis=0)
    return BufferShares(total, chunks, inputs, outputs)


def _chunks(layout: Layout, total: int) -> IntArray:
    collective, number = layout.collective, len(layout.inputs)
    if collective.kind in _WHOLE:
        return split(total, number)
    places = layout.inputs if collective.kind in _OWNED_BY_SOURCE else layout.outputs
    owner = (places >= 0).argmax(axis=1)
    share = split(total, collective.num_nodes)[owner]
    place = places[np.arange(number), owner] % collective.share
    lengths: IntArray = share // collective.share + (place < share % collective.share)
    return lengths
