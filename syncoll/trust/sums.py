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
from dataclasses import dataclass, replace

import numpy as np

from syncoll.arrays import Bools, Ints, KeyArray, NarrowArray, in_words
from syncoll.model import Algorithm, Instance
from syncoll.model.counting import Arrivals

_WORDS_AT_ONCE = 1 << 24
"""Words of 64 contributors in a block of sums: 128 MiB."""


@dataclass(frozen=True)
class _Moves:
    """Data that nodes send or get, in order of steps.

    Args:
        row: ``[M]``, of each chunk in a table of K chunks; -1 outside.
        node, step: ``[M]``.
        words: ``[W, M]``, its contributors.
    """

    row: Ints
    node: Ints
    step: Ints
    words: KeyArray

    def of_rows(self, low: int, high: int) -> "_Moves":
        """The data of some rows, counted from `low`."""
        own = np.flatnonzero((self.row >= low) & (self.row < high))
        if len(own) == len(self.row):
            return self if not low else replace(self, row=self.row - low)
        return _Moves(self.row[own] - low, self.node[own], self.step[own], self.words[:, own])


def not_summed(
    instance: Instance, algorithm: Algorithm, chunks: Ints, arrivals: Arrivals | None = None
) -> Ints:
    """The chunks, of ``[K]``, that one sum for each node does not prove to be right.  The algorithm
    has only their sends, and the data that nodes receive is `arrivals`, by default the sends."""
    row = np.full(instance.num_chunks, -1, dtype=np.int64)
    row[chunks] = np.arange(len(chunks))
    assert algorithm.contributions is not None
    sends, come = algorithm.sends, algorithm.sends if arrivals is None else arrivals.sends
    words = np.ascontiguousarray(in_words(algorithm.contributions).T)
    brought = words if arrivals is None else in_words(arrivals.contributions).T
    sent = _Moves(row[sends[:, 0]], sends[:, 1], sends[:, 3], words)
    got = _Moves(row[come[:, 0]], come[:, 2], come[:, 3], brought)
    block = max(1, _WORDS_AT_ONCE // (instance.topology.num_nodes * len(words)))
    right = np.zeros(len(chunks), dtype=bool)
    for low in range(0, len(chunks), block):
        part = slice(low, low + block)
        pre, post = instance.pre[chunks[part]], instance.post[chunks[part]]
        of_rows = sent.of_rows(low, low + block), got.of_rows(low, low + block)
        right[part] = _right(pre, post, *of_rows, instance.steps)
    return chunks[~right]


def _right(pre: Bools, post: Bools, sent: _Moves, got: _Moves, steps: int) -> Bools:
    """``[K]``: which chunks, with pre and post ``[K, P]``, are shown to be right."""
    nodes = pre.shape[1]
    everyone, own = in_words(pre).T, in_words(np.eye(nodes, dtype=bool)).T
    sums: KeyArray = np.where(pre, own[:, None, :], np.uint64(0)).reshape(len(own), -1)
    right = np.ones(len(pre), dtype=bool)
    source, destination = (moves.row * nodes + moves.node for moves in (sent, got))
    scratch = np.empty(pre.size, dtype=np.int32)
    turns = np.arange(steps + 1)
    starts, came = (np.searchsorted(moves.step, turns).tolist() for moves in (sent, got))
    for step in range(steps):
        of_step = slice(starts[step], starts[step + 1])
        now = sent.words[:, of_step]
        formed = (sums[:, source[of_step]] == now).all(axis=0) & now.any(axis=0)
        right[sent.row[of_step][~formed]] = False
        of_step = slice(came[step], came[step + 1])
        place, now = destination[of_step], got.words[:, of_step]
        for turn in _one_each(place, scratch):
            have, new = sums[:, place[turn]], now[:, turn]
            common = have & new
            disjoint = ~common.any(axis=0)
            contained = (common == have).all(axis=0)
            sums[:, place[turn]] = np.where(disjoint, have | new, np.where(contained, new, have))
    row, node = post.nonzero()
    met = (sums[:, row * nodes + node] == everyone[:, row]).all(axis=0)
    right[row[~met]] = False
    return right


def _one_each(keys: Ints, scratch: NarrowArray) -> Iterator[Ints]:
    """The positions of all keys, in turns without a repeated key; `scratch` has a place for any
    key."""
    left = np.arange(len(keys))
    while len(left):
        own = keys[left]
        scratch[own[::-1]] = left[::-1]
        first = scratch[own] == left
        yield left[first]
        left = left[~first]
