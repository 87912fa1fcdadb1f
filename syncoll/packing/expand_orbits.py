"""From whole chunks on columns to their sends, and from trees on orbits to trees of every node."""

import numpy as np

from syncoll.arrays import Ints
from syncoll.model import Algorithm, Carriers, OrbitAlgorithm, RelationTable
from syncoll.packing.column_generation import Column
from syncoll.packing.problem import PackingProblem
from syncoll.packing.trees import TimedTree
from syncoll.packing.whole_chunks import DealtChunks
from syncoll.scheduling import StreamClass


def sends_on(column: Column, ends: Ints, chunks: Ints) -> Ints:
    """``[N K, 4]``: the sends of N chunks on a column; `ends` ``[L, 2]`` are of the links."""
    rows = np.column_stack([ends[column.links], column.steps])
    return np.column_stack([np.repeat(chunks, len(rows)), np.tile(rows, (len(chunks), 1))])


def algorithm_of(problem: PackingProblem, dealt: DealtChunks[TimedTree]) -> Algorithm:
    """The algorithm in which every image of a demand moves as the demand does."""
    table = problem.collective.tabulate(problem.num_nodes, dealt.chunks)
    members = {
        (tuple(one.starts.tolist()), tuple(one.needed.tolist())): one.chunks
        for one in StreamClass.of(table)
    }
    ends, parts = problem.topology.ends[problem.links.number], []
    for demand, trees in zip(problem.demands, dealt.columns, strict=True):
        chunks = members[demand.sources, demand.destinations]
        for tree, number in trees:
            parts.append(sends_on(tree, ends, chunks[:number]))
            chunks = chunks[number:]
    sends = np.concatenate(parts)
    maps = []
    for images in problem.group.generators:
        moved = RelationTable.joined([(table, images)], problem.num_nodes)
        maps.append(moved.matching(table))  # chunks of a kind, in order, map to its image
    chunk_maps = np.array(maps, dtype=np.int64).reshape(-1, len(table))
    own = Algorithm((0,) * (int(sends[:, 3].max(initial=-1)) + 1), sends)
    carriers = Carriers(problem.group.generators, chunk_maps, problem.group.products)
    return OrbitAlgorithm.plain_if_small(own, carriers).tightened(problem.topology)
