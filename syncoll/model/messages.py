"""Messages: sends of one step over one link with consecutive chunks.

Chunks lie in buffers by kind: chunks with equal pre and post are neighbours, in the order of their
numbers.  Sends of one step over one link whose chunks are neighbours, and carry the same
contributions, are one message of a runtime.

An algorithm kept as an orbit is not listed for a count: sends are joined if they are images of
joined sends of the representative, and their chunks are neighbours.
"""

import numpy as np

from syncoll.arrays import Bools, Ints, in_words
from syncoll.model.algorithm import Algorithm
from syncoll.model.counting import numbered, packed
from syncoll.model.derivation import renumbered
from syncoll.model.instance import Instance
from syncoll.model.node_sets import by_first
from syncoll.model.orbit_algorithm import OrbitAlgorithm
from syncoll.model.orbit_carriers import Carriers
from syncoll.model.rows import RelationTable, ranges

_MOST_RENUMBERED = 1 << 20
"""Sends up to which chunks are renumbered; it takes longer than the verification."""

_MOST_COMPARED = 1 << 26
"""Pairs of chunks with a common send that are compared for an order of their trees."""


def chunk_places(table: RelationTable) -> Ints:
    """``[G]``: the place of each chunk in a buffer of all chunks."""
    return np.argsort(table.by_kind())


def message_numbers(keys: Ints, place: Ints) -> Ints:
    """``[M]``: equal numbers for the sends of one message, from 0, in order of the first sends.

    Args:
        keys: ``[M, K]``, equal rows for sends of one step, link and set of contributions.
        place: ``[M]``, of their chunks, see `chunk_places`.
    """
    order, same = _in_messages(packed(keys), place)
    run = np.empty(len(order), dtype=np.int64)
    run[order] = np.cumsum(~same) - 1
    _, first, number = np.unique(run, return_index=True, return_inverse=True)
    return by_first(first, number.reshape(-1))[1]


def count_messages(instance: Instance, algorithm: Algorithm) -> int:
    """The messages of all nodes and steps together; of an orbit at most this number.

    Examples:
        >>> from syncoll.api import Algorithm, Instance, Topology
        >>> pair = Topology.from_matrix("pair", [[0, 2], [2, 0]])
        >>> both, none = [[1, 0]] * 2, [[0, 1]] * 2
        >>> instance = Instance(pair, "copy", 2, 1, 1, both, none)
        >>> count_messages(instance, Algorithm((1,), [[0, 0, 1, 0], [1, 0, 1, 0]]))
        1
    """
    places = chunk_places(instance.table)
    if not isinstance(algorithm, OrbitAlgorithm):
        return algorithm.num_sends - _continuing(algorithm, places)
    own = algorithm.representative
    pairs, times = np.unique(_joined(own, places), axis=0, return_counts=True)
    chunks, at = np.unique(pairs, return_inverse=True)
    first, second = at.reshape(-1, 2).T
    images = places[algorithm.carriers.images(chunks)]
    joined = (images[:, second] - images[:, first] == 1).sum(axis=0)
    return algorithm.num_sends - int(joined @ times)


def contiguous(instance: Instance, algorithm: Algorithm) -> Algorithm:
    """The algorithm with interchangeable chunks renumbered, so that it has fewer messages.

    Chunks with equal sends become neighbours, and next to them chunks with similar sends.  Returns
    the algorithm itself if that does not make messages fewer, or if it has unknown chunks or very
    many sends.
    """
    own = algorithm.representative if isinstance(algorithm, OrbitAlgorithm) else algorithm
    if own.num_sends > _MOST_RENUMBERED:
        return algorithm
    kind = instance.table.kind
    width = len(kind)
    if isinstance(algorithm, OrbitAlgorithm):
        width = algorithm.carriers.chunks.shape[1]
    chunks = own.sends[:, 0]
    if width != len(kind) or chunks.min(initial=0) < 0 or chunks.max(initial=0) >= width:
        return algorithm  # a candidate that the verifier will refuse
    rank = _similar_together(own, kind)
    if isinstance(algorithm, OrbitAlgorithm):
        rank = _carried(rank, own, algorithm.carriers)
    old = np.lexsort((np.arange(len(kind)), kind))
    to = np.empty(len(kind), dtype=np.int64)
    to[np.lexsort((np.arange(len(kind)), rank, kind))] = old
    if np.array_equal(to, np.arange(len(to))):
        return algorithm
    renamed = renumbered(algorithm, to)
    fewer = count_messages(instance, renamed) < count_messages(instance, algorithm)
    return renamed if fewer else algorithm


def _cells(algorithm: Algorithm) -> Ints:
    """``[M]``: equal numbers for sends of one step, link and set of contributions."""
    keys = algorithm.sends[:, 1:]
    if algorithm.contributions is not None:
        carried = np.packbits(algorithm.contributions, axis=1)
        keys = np.concatenate([keys, carried.astype(np.int64)], axis=1)
    return packed(keys)


def _continuing(algorithm: Algorithm, places: Ints) -> int:
    """The number of sends that continue a message."""
    carried = algorithm.contributions
    # Millions of sends are sorted by one number; it differs by 1 within cells alone.
    cells, place = packed(algorithm.sends[:, 1:]), places[algorithm.sends[:, 0]]
    keys = cells * (len(places) + 1) + place
    if carried is None:
        return int((np.diff(np.sort(keys)) == 1).sum())
    order = np.argsort(keys)
    gaps = np.diff(keys[order])
    if (gaps == 0).any():  # several partial results of one chunk
        return int(_in_messages(_cells(algorithm), place)[1].sum())
    before, words = np.flatnonzero(gaps == 1), in_words(carried)
    return int((words[order[before]] == words[order[before + 1]]).all(axis=1).sum())


def _joined(algorithm: Algorithm, places: Ints) -> Ints:
    """``[J, 2]``: for each send but the first of a message the chunk before it, and its own."""
    order, same = _in_messages(_cells(algorithm), places[algorithm.sends[:, 0]])
    chunk = algorithm.sends[order, 0]
    return np.column_stack([chunk[:-1][same[1:]], chunk[same]])


def starts_of_messages(algorithm: Algorithm, table: RelationTable) -> Bools:
    """``[M]``: whether each send is the first of its message."""
    places = chunk_places(table)[algorithm.sends[:, 0]]
    order, same = _in_messages(_cells(algorithm), places)
    starts = np.empty(len(order), dtype=bool)
    starts[order] = ~same
    return starts


def _in_messages(cells: Ints, places: Ints) -> tuple[Ints, Bools]:
    """The order of sends by cells and places; and whether each continues the message before it."""
    order = np.argsort(packed(np.column_stack([cells, places])))
    same = (np.diff(cells[order]) == 0) & (np.diff(places[order]) == 1)
    return order, np.concatenate([np.zeros(min(1, len(cells)), dtype=bool), same])


def equal_trees(algorithm: Algorithm, kind: Ints) -> Ints:
    """``[G]``: equal numbers from 0 for chunks of one kind with equal sends."""
    return _trees(_cells(algorithm), algorithm.sends[:, 0], kind)[0]


def _trees(cells: Ints, chunk: Ints, kind: Ints) -> tuple[Ints, Ints]:
    """See `equal_trees`; and the first chunk of each number."""
    # A sum of pseudo-random numbers stands for a set; sets with one sum would only cost messages.
    code = (cells.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    code ^= code >> np.uint64(29)
    code *= np.uint64(0xBF58476D1CE4E5B9)
    code ^= code >> np.uint64(32)
    total = np.zeros(len(kind), dtype=np.uint64)
    np.add.at(total, chunk, code)
    _, first, tree = np.unique(
        np.column_stack([kind.astype(np.uint64), total]),
        axis=0,
        return_index=True,
        return_inverse=True,
    )
    return tree.reshape(-1), first


def _similar_together(algorithm: Algorithm, kind: Ints) -> Ints:
    """``[G]``: ranks by which chunks of one kind are sorted; equal ones for equal sends."""
    cells, chunk = _cells(algorithm), algorithm.sends[:, 0]
    tree, first = _trees(cells, chunk, kind)
    rank = first[tree]
    # One chunk stands for its tree; kinds with one tree need no order.
    chosen = np.zeros(len(kind), dtype=bool)
    chosen[first] = True
    several = np.bincount(kind[first], minlength=int(kind.max()) + 1) > 1
    mine = np.flatnonzero(chosen[chunk] & several[kind[chunk]])
    trees, of = np.unique(tree[chunk[mine]], return_inverse=True)
    if not len(trees):
        return rank
    cell = numbered(np.column_stack([kind[chunk[mine]], cells[mine]]))
    sizes = np.bincount(cell)
    if float((sizes.astype(np.float64) ** 2).sum()) > _MOST_COMPARED:
        return rank
    place = first.copy()
    place[trees] = _chained(of.reshape(-1), cell, kind[first[trees]])
    return place[tree]


def _chained(tree: Ints, cell: Ints, kind: Ints) -> Ints:
    """``[T]``: ranks of trees; after each tree comes the one of its kind with most common cells.

    Args:
        tree: ``[N]``, with `cell` the cells of the trees.
        cell: ``[N]``, different for different kinds.
        kind: ``[T]``.
    """
    own = cell[np.argsort(tree, kind="stable")]
    own_at = np.concatenate([[0], np.cumsum(np.bincount(tree, minlength=len(kind)))])
    users = tree[np.argsort(cell, kind="stable")]
    counts = np.bincount(cell)
    users_at = np.concatenate([[0], np.cumsum(counts)])
    rank = np.full(len(kind), -1, dtype=np.int64)
    left = kind.copy()
    at = 0
    for start in np.argsort(kind, kind="stable").tolist():
        now = start
        while left[now] >= 0:
            rank[now], at, left[now] = at, at + 1, -1
            cells = own[own_at[now] : own_at[now + 1]]
            others = users[ranges(users_at[cells], counts[cells])]
            others = others[left[others] >= 0]
            if not len(others):
                break
            now = int(np.bincount(others).argmax())
    return rank


def _carried(rank: Ints, own: Algorithm, carriers: Carriers) -> Ints:
    """``[G]``: ranks of all chunks: the images under one element are neighbours."""
    mine = np.unique(own.sends[:, 0])
    images = carriers.images(mine[np.argsort(rank[mine], kind="stable")])
    found = np.full(len(rank), images.size, dtype=np.int64)
    np.minimum.at(found, images.ravel(), np.arange(images.size))
    return found
