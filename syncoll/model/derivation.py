"""Algorithms made of others: inverses, compositions, refinements and overlays.

An algorithm that sends chunk c from n to n' in step s has an inverse on the topology with all links
reversed.  The inverse sends the partial result of c from n' to n in step S-1-s.  A broadcast run
backwards is a reduction (SCCL paper, section 3.5).  Each chunk's sends form a tree out of the node
where it starts.  Backwards the tree leads all contributions there, and a send carries the reduction
over the subtree behind it.  Conversely, an algorithm that reduces along trees to one root per chunk
has an inverse that distributes.

In a composition steps and rounds add up.  If one of the algorithms has fewer and larger chunks,
both are refined to a common multiple.  The second may number its chunks differently: a chunk of the
first continues as one of the second that starts where it ended.  After a combining algorithm the
second moves finished results, so its sends carry the contributions of all nodes.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from math import lcm
from typing import Any

import numpy as np

from syncoll.arrays import Bools, Ints, from_words, in_words
from syncoll.errors import ModelError
from syncoll.model.algorithm import Algorithm
from syncoll.model.instance import Instance
from syncoll.model.node_sets import common_numbers, paired
from syncoll.model.orbit_algorithm import OrbitAlgorithm
from syncoll.model.rows import RelationTable


def refine(instance: Instance, algorithm: Algorithm, parts: int) -> tuple[Instance, Algorithm]:
    """Cuts each chunk into `parts`, which multiplies C, R and all rounds; S and R/C stay.  Part j
    of chunk c is chunk ``c + G * j``, so that numbers keep their remainder modulo P."""
    if parts == 1:
        return instance, algorithm
    finer = replace(
        instance,
        chunks=instance.chunks * parts,
        rounds=instance.rounds * parts,
        pre=np.tile(instance.pre, (parts, 1)),
        post=np.tile(instance.post, (parts, 1)),
    )
    return finer, _refined(algorithm, parts, instance.num_chunks)


def _refined(algorithm: Algorithm, parts: int, chunks: int) -> Algorithm:
    if isinstance(algorithm, OrbitAlgorithm):
        carriers, own = algorithm.carriers, _refined(algorithm.representative, parts, chunks)
        first = np.repeat(np.arange(parts) * chunks, chunks)
        maps = np.tile(carriers.chunks, (1, parts)) + first
        return OrbitAlgorithm(own, replace(carriers, chunks=maps))
    sends = np.tile(algorithm.sends, (parts, 1)).copy()
    sends[:, 0] += np.repeat(np.arange(parts) * chunks, algorithm.num_sends)
    carried = algorithm.contributions
    return Algorithm(
        tuple(r * parts for r in algorithm.rounds_per_step),
        sends,
        None if carried is None else np.tile(carried, (parts, 1)),
    )


def renumber(instance: Instance, algorithm: Algorithm, number: Ints) -> tuple[Instance, Algorithm]:
    """Chunk c becomes chunk ``number[c]``; `number` is a permutation."""
    pre, post = np.empty_like(instance.pre), np.empty_like(instance.post)
    pre[number], post[number] = instance.pre, instance.post
    return replace(instance, pre=pre, post=post), renumbered(algorithm, number)


def same_chunks(
    solved: tuple[Instance, Algorithm], table: RelationTable | Instance
) -> tuple[Instance, Algorithm] | None:
    """The same with the chunk numbers of a table; None if the chunks differ."""
    instance, algorithm = solved
    wanted = table.table if isinstance(table, Instance) else table
    number = instance.table.matching(wanted)
    if number is None or np.array_equal(number, np.arange(len(number))):
        return None if number is None else solved
    return renumber(instance, algorithm, number)


def renumbered(algorithm: Algorithm, number: Ints) -> Algorithm:
    """The algorithm with chunk ``number[c]`` in place of chunk c."""
    if isinstance(algorithm, OrbitAlgorithm):
        carriers, own = algorithm.carriers, renumbered(algorithm.representative, number)
        maps = np.empty_like(carriers.chunks)
        maps[:, number] = number[carriers.chunks]
        return OrbitAlgorithm(own, replace(carriers, chunks=maps))
    sends = algorithm.sends.copy()
    sends[:, 0] = number[sends[:, 0]]
    return Algorithm(algorithm.rounds_per_step, sends, algorithm.contributions)


def compose(
    first: tuple[Instance, Algorithm],
    second: tuple[Instance, Algorithm],
    collective: str,
    whole: RelationTable | None = None,
) -> tuple[Instance, Algorithm]:
    """Two algorithms in sequence, as one of the collective called `collective`.

    Args:
        second: a non-combining problem on the same topology and its algorithm.
        whole: the table of the result, with as many chunks.  If several chunks of the second start
            where one of the first ends, it continues as one that `whole` has.  None for the first
            of them.

    Raises:
        ModelError: if the second combines, or does not start where the first ends.

    Examples:
        >>> from syncoll.api import Algorithm, Instance, Topology
        >>> line = Topology.from_matrix("line", [[0, 1, 0], [1, 0, 1], [0, 1, 0]])
        >>> broadcast = Instance(line, "broadcast", 1, 2, 2, [[1, 0, 0]], [[1, 1, 1]])
        >>> along = Algorithm((1, 1), [[0, 0, 1, 0], [0, 1, 2, 1]])
        >>> from syncoll.model import compose, invert
        >>> reduce = invert(broadcast, along, "reduce")
        >>> allreduce, algorithm = compose(reduce, (broadcast, along), "allreduce")
        >>> allreduce.combining, algorithm.steps
        (True, 4)
    """
    if second[0].combining:
        raise ModelError(
            f"{collective}: {second[0].collective} combines, so it cannot come after "
            f"{first[0].collective}",
            first[0].origin,
            "a collective that only moves data",
        )
    common = lcm(first[0].num_chunks, second[0].num_chunks)
    one, head = refine(*first, common // first[0].num_chunks)
    two, tail = refine(*second, common // second[0].num_chunks)
    if whole is None:
        number = paired((two.table.starts,), (one.table.ends,))
    else:
        number = _through(one.table, two.table, whole)
    if number is None:
        raise ModelError(
            f"{collective}: {two.collective} does not start where {one.collective} ends",
            first[0].origin,
            "a second collective whose pre is the post of the first",
        )
    two, tail = renumber(two, tail, number)
    instance = Instance(
        one.topology,
        collective,
        one.chunks,
        one.steps + two.steps,
        one.rounds + two.rounds,
        one.pre,
        two.post,
        combining=one.combining,
        reproducible=one.reproducible,
    )
    return instance, _sequence(one, head, tail)


def _through(one: RelationTable, two: RelationTable, whole: RelationTable) -> Ints | None:
    """For each chunk of the second part one of the first that ends where it starts, or None.

    Chunks of the first that end alike may have started apart: each continues as a chunk that ends
    where the whole needs one with its start.  Kinds of chunks without a choice go first.
    """
    middles, starts, ends = (
        [numbers.tolist() for numbers in common_numbers(*pair)]
        for pair in ((one.ends, two.starts), (one.starts, whole.starts), (two.ends, whole.ends))
    )
    wanted = Counter(zip(starts[1], ends[1], strict=True))
    ours, theirs = defaultdict[Any, list[int]](list), defaultdict[Any, list[int]](list)
    for chunk, key in enumerate(zip(middles[0], starts[0], strict=True)):
        ours[key].append(chunk)
    onward = defaultdict[int, list[int]](list)
    for chunk, key in enumerate(zip(middles[1], ends[0], strict=True)):
        if key not in theirs:
            onward[key[0]].append(key[1])
        theirs[key].append(chunk)
    number = np.full(len(two), -1, dtype=np.int64)

    def choices(key: tuple[int, int]) -> list[int]:
        middle, start = key
        return [e for e in onward.get(middle, ()) if wanted[start, e] and theirs[middle, e]]

    left = dict(ours)
    while left:
        key = min(left, key=lambda one: len(choices(one)))
        middle, start = key
        chunks, ends_left = left[key], choices(key)
        if not ends_left:
            return None
        end = ends_left[0]
        count = min(len(chunks), wanted[start, end], len(theirs[middle, end]))
        for _ in range(count):
            number[theirs[middle, end].pop()] = chunks.pop()
        wanted[start, end] -= count
        if not chunks:
            del left[key]
    return None if (number < 0).any() else number


def _sequence(one: Instance, head: Algorithm, tail: Algorithm) -> Algorithm:
    """The algorithm of the first problem followed by that of the second."""
    if (
        isinstance(head, OrbitAlgorithm)
        and isinstance(tail, OrbitAlgorithm)
        and head.carriers.same_as(tail.carriers)
    ):
        own = _sequence(one, head.representative, tail.representative)
        return OrbitAlgorithm(own, head.carriers)
    later = tail.sends.copy()
    later[:, 3] += one.steps
    carried = None
    if one.combining:
        assert head.contributions is not None
        carried = np.concatenate([head.contributions, one.pre[later[:, 0]]])
    return Algorithm(
        head.rounds_per_step + tail.rounds_per_step, np.concatenate([head.sends, later]), carried
    )


def invert(instance: Instance, algorithm: Algorithm, collective: str) -> tuple[Instance, Algorithm]:
    """The inverse problem and the algorithm that solves it.

    Args:
        instance: non-combining with one node of pre per chunk, or combining with one node of post.
        algorithm: valid, without useless sends; a combining one sends each chunk at most once from
            every node.

    Returns:
        Pre and post exchanged, links reversed, steps mirrored; C is the largest number of chunks
        of pre at one node, the chunks into which that node's input is cut.

    Raises:
        ModelError: if a chunk has no single root, or the sends of a chunk are no tree.
    """
    roots = instance.post if instance.combining else instance.pre
    if (roots.sum(axis=1) != 1).any():
        chunk = int(np.flatnonzero(roots.sum(axis=1) != 1)[0])
        raise ModelError(
            f"collective {instance.collective} has no inverse: chunk {chunk} has "
            f"{int(roots[chunk].sum())} roots",
            instance.origin,
            "exactly one node where each chunk starts",
        )
    combining = not instance.combining
    inverse = Instance(
        instance.topology.reversed(),
        collective,
        max(1, int(instance.post.sum(axis=0).max())),
        instance.steps,
        instance.rounds,
        instance.post,
        instance.pre,
        combining=combining,
    )
    return inverse, _inverted(instance, algorithm, inverse)


def _inverted(instance: Instance, algorithm: Algorithm, inverse: Instance) -> Algorithm:
    if isinstance(algorithm, OrbitAlgorithm):
        own = _inverted(instance, algorithm.representative, inverse)
        carriers = algorithm.carriers
        return OrbitAlgorithm(own, replace(carriers, delays=-carriers.delays))
    _require_trees(instance, algorithm)
    sends = algorithm.sends[:, [0, 2, 1, 3]]
    sends[:, 3] = instance.steps - 1 - sends[:, 3]
    backwards = Algorithm(algorithm.rounds_per_step[::-1], sends)
    if not inverse.combining:
        return backwards
    return replace(backwards, contributions=tree_contributions(inverse.pre, backwards.sends))


def _require_trees(instance: Instance, algorithm: Algorithm) -> None:
    """Raises unless every node gets (or, combining, gives) each chunk at most once."""
    end = 1 if instance.combining else 2
    nodes = instance.topology.num_nodes
    pairs = np.sort(algorithm.sends[:, 0] * nodes + algorithm.sends[:, end])
    for pair in pairs[1:][pairs[1:] == pairs[:-1]][:1].tolist():
        chunk, node = divmod(pair, nodes)
        raise ModelError(
            f"the algorithm has no inverse: node {node} "
            f"{'sends' if instance.combining else 'receives'} chunk {chunk} more than once"
        )


def tree_contributions(pre: Bools, sends: Ints) -> Bools:
    """``[M, P]``: the contributions that each send carries: the sender's, and all it received
    before.  The `sends` are in order of steps."""
    nodes, used = pre.shape[1], np.zeros(len(pre), dtype=bool)
    used[sends[:, 0]] = True
    own = in_words(np.eye(nodes, dtype=bool))
    gathered = np.where(pre[used, :, None], own, np.uint64(0)).reshape(-1, own.shape[1])
    first = (np.cumsum(used) - 1)[sends[:, 0]] * nodes
    sources, destinations = first + sends[:, 1], first + sends[:, 2]
    carried = np.empty((len(sends), own.shape[1]), dtype=np.uint64)
    steps = np.arange(int(sends[:, 3].max(initial=-1)) + 2)
    for begin, end in pairwise(np.searchsorted(sends[:, 3], steps).tolist()):
        carried[begin:end] = gathered[sources[begin:end]]
        for word, now in zip(gathered.T, carried[begin:end].T, strict=True):
            np.bitwise_or.at(word, destinations[begin:end], now)
    return from_words(carried, nodes)


def overlay(parts: Sequence[tuple[Instance, Algorithm]], name: str) -> tuple[Instance, Algorithm]:
    """The algorithms of problems on one topology, with one C, as one of all their chunks in order.

    All begin with the first step.  A step has the fewest rounds for its sends together, at most the
    sum of the parts' rounds.
    """
    instances = [instance for instance, _ in parts]
    lists = [a.expanded() if isinstance(a, OrbitAlgorithm) else a for _, a in parts]
    combining = any(instance.combining for instance in instances)
    sends, carried, first = [], [], 0
    for instance, algorithm in zip(instances, lists, strict=True):
        own = algorithm.sends.copy()
        if combining:  # a chunk that is only moved is the contribution of its start
            moved = instance.pre[own[:, 0]]
            listed = algorithm.contributions
            carried.append(moved if listed is None else listed)
        own[:, 0] += first
        sends.append(own)
        first += instance.num_chunks
    topology = instances[0].topology
    together = Algorithm(
        (0,) * max(algorithm.steps for algorithm in lists),
        np.concatenate(sends),
        np.concatenate(carried) if combining else None,
    )
    tight = together.tightened(topology)
    whole = replace(
        instances[0],
        collective=name,
        steps=tight.steps,
        rounds=tight.rounds,
        pre=np.concatenate([instance.pre for instance in instances]),
        post=np.concatenate([instance.post for instance in instances]),
        combining=combining,
        reproducible=any(instance.reproducible for instance in instances),
        rounds_per_step=None,
    )
    return whole, tight
