"""Replays chunks of a combining collective that are added up along trees, all at once.

In a tree a node passes on the sum of all that it has of a chunk.  One sum is kept for each chunk
and node, its contributors as bits.  An arrival disjoint from the sum is added to it; one that
contains the sum, as a finished result does, replaces it; any other is ignored.  So the sum is a
reduction of disjoint partial results that the node holds (`syncoll.trust.holdings`).

A chunk is right if every send of it carries the nonempty sum of its sender as the step begins, and
every node of post ends with all contributions.  This is sufficient, not necessary: `holdings`
replays the other chunks.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from syncoll.arrays import BoolArray, IntArray
from syncoll.model import Algorithm, Instance
from syncoll.model.counting import Arrivals

Words = npt.NDArray[np.uint64]

_WORDS_AT_ONCE = 1 << 24
"""Words of 64 contributors in a block of sums: 128 MiB."""


def not_summed(
    instance: Instance, algorithm: Algorithm, chunks: IntArray, arrivals: Arrivals | None = None
) -> IntArray:
    """The chunks, of ``[K]``, that one sum for each node does not prove to be right.  The algorithm
    has only their sends, and the data that nodes receive is `arrivals`, by default the sends."""
    assert algorithm.contributions is not None
    sends, carried = algorithm.sends, _words(algorithm.contributions)
    row = np.zeros(instance.num_chunks, dtype=np.int64)
    row[chunks] = np.arange(len(chunks))
    of = row[sends[:, 0]]
    come = sends if arrivals is None else arrivals.sends
    brought = carried if arrivals is None else _words(arrivals.contributions)
    come_of = row[come[:, 0]]
    nodes = instance.topology.num_nodes
    block = max(1, _WORDS_AT_ONCE // (nodes * carried.shape[1]))
    right = np.zeros(len(chunks), dtype=bool)
    for low in range(0, len(chunks), block):
        part = slice(low, low + block)
        own = np.flatnonzero((of >= low) & (of < low + block))
        into = np.flatnonzero((come_of >= low) & (come_of < low + block))
        right[part] = _right(
            instance.pre[chunks[part]],
            instance.post[chunks[part]],
            (np.column_stack([of[own] - low, sends[own, 1:]]), carried[own]),
            (np.column_stack([come_of[into] - low, come[into, 1:]]), brought[into]),
            instance.steps,
        )
    return chunks[~right]


def _right(
    pre: BoolArray,
    post: BoolArray,
    sent: tuple[IntArray, Words],
    arriving: tuple[IntArray, Words],
    steps: int,
) -> BoolArray:
    """``[K]``: which chunks, with pre and post ``[K, P]``, are shown to be right.  The sends ``[M,
    4]`` are in order of steps, with their contributors ``[M, W]``, as is the data that arrives."""
    everyone = _words(pre)
    own = _words(np.eye(pre.shape[1], dtype=bool))
    sums: Words = np.where(pre[:, :, None], own, np.uint64(0))
    right = np.ones(len(pre), dtype=bool)
    turns = np.arange(steps + 1)
    starts, came = (np.searchsorted(part[0][:, 3], turns).tolist() for part in (sent, arriving))
    for step in range(steps):
        of_step = slice(starts[step], starts[step + 1])
        chunk, source, _, _ = sent[0][of_step].T
        now = sent[1][of_step]
        formed = (sums[chunk, source] == now).all(axis=1) & now.any(axis=1)
        right[chunk[~formed]] = False
        of_step = slice(came[step], came[step + 1])
        chunk, _, destination, _ = arriving[0][of_step].T
        now = arriving[1][of_step]
        for turn in _one_each(chunk * pre.shape[1] + destination):
            place = chunk[turn], destination[turn]
            have, new = sums[place], now[turn]
            common = have & new
            disjoint = ~common.any(axis=1)
            contained = (common == have).all(axis=1)
            sums[place] = np.where(
                disjoint[:, None], have | new, np.where(contained[:, None], new, have)
            )
    ends = (sums == everyone[:, None, :]).all(axis=2)
    found: BoolArray = right & (ends | ~post).all(axis=1)
    return found


def _one_each(keys: IntArray) -> Iterator[IntArray]:
    """The positions of all keys, in turns without a repeated key."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    is_first = np.append(True, ordered[1:] != ordered[:-1])[: len(keys)]
    starts = np.flatnonzero(is_first)
    place = np.arange(len(keys)) - starts[np.cumsum(is_first) - 1]
    for turn in range(int(place.max(initial=-1)) + 1):
        yield order[place == turn]


def _words(rows: BoolArray) -> Words:
    """Rows ``[N, P]`` as bits of words ``[N, W]``."""
    packed = np.packbits(rows, axis=1, bitorder="little")
    width = -(-rows.shape[1] // 64)
    padded = np.zeros((len(rows), 8 * width), dtype=np.uint8)
    padded[:, : packed.shape[1]] = packed
    return padded.view(np.uint64)
