"""From chunks dealt to timed trees on orbits to an algorithm for every node."""

import numpy as np
import numpy.typing as npt

from syncoll.arrays import BoolArray, IntArray
from syncoll.model import Algorithm, Carriers, OrbitAlgorithm, RelationTable
from syncoll.packing.problem import PackingProblem
from syncoll.packing.trees import TimedTree
from syncoll.packing.whole_chunks import DealtChunks
from syncoll.symmetry import Group


def algorithm_of(problem: PackingProblem, dealt: DealtChunks[TimedTree]) -> Algorithm:
    """The algorithm in which every image of a demand moves as the demand does."""
    table = problem.collective.tabulate(problem.num_nodes, dealt.chunks)
    kinds = _Kinds(table)
    parts = []
    steps = 0
    for demand, trees in zip(problem.demands, dealt.columns, strict=True):
        ends = np.zeros((2, problem.num_nodes), dtype=bool)
        ends[0, list(demand.sources)] = True
        ends[1, list(demand.destinations)] = True
        chunks = kinds.members(ends)
        for tree, number in trees:
            own, chunks = chunks[:number], chunks[number:]
            links, step = tree.links, tree.steps
            steps = max(steps, int(step.max(initial=-1)) + 1)
            sends = np.stack(
                [problem.links.source[links], problem.links.target[links], step], axis=1
            )
            parts.append(
                np.concatenate(
                    [np.repeat(own, len(links))[:, None], np.tile(sends, (number, 1))], axis=1
                )
            )
    representative = Algorithm((0,) * steps, np.concatenate(parts))
    carriers = kinds.carriers(problem.group)
    return OrbitAlgorithm.plain_if_small(representative, carriers).tightened(problem.topology)


class _Kinds:
    """Chunks by their sources and their other destinations."""

    def __init__(self, table: RelationTable) -> None:
        self._ends = np.stack([table.pre, table.post & ~table.pre], axis=1)
        packed = self._packed(self._ends)
        self._found, first, kind = np.unique(packed, return_index=True, return_inverse=True)
        self._first = first
        order = np.argsort(kind, kind="stable")
        self._members: list[IntArray] = np.split(order, np.cumsum(np.bincount(kind))[:-1])

    def members(self, ends: BoolArray) -> IntArray:
        """The chunks of a kind, in order; `ends` has its sources and destinations, ``[2, P]``."""
        return self._members[int(self._place(ends[None])[0])]

    def carriers(self, group: Group) -> Carriers:
        """A group's action on nodes and chunks: chunks of a kind, in order, map to its image."""
        ends = self._ends[self._first]
        maps = np.empty((len(group.generators), len(self._ends)), dtype=np.int64)
        for images, chunks in zip(group.generators, maps, strict=True):
            moved = np.empty_like(ends)
            moved[:, :, images] = ends
            for own, image in zip(self._members, self._place(moved).tolist(), strict=True):
                chunks[own] = self._members[image]
        return Carriers(group.generators, maps, group.products)

    def _place(self, ends: BoolArray) -> IntArray:
        return np.asarray(np.searchsorted(self._found, self._packed(ends)))

    @staticmethod
    def _packed(ends: BoolArray) -> npt.NDArray[np.bytes_]:
        """One value for each row ``[2, P]``; only equal rows have equal values."""
        bits = np.packbits(ends.reshape(len(ends), -1), axis=1)
        return np.ascontiguousarray(bits).view(f"S{bits.shape[1]}").ravel()
