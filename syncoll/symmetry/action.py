"""The action of a free group on the chunks of an instance, and on the variables of its formula.

The chunk (v, i) of a single start goes to (g v, i).  A part of the group may fix the start and the
end of chunks, such as all of an allreduce.  These are permuted among themselves as far as their
number allows, and fixed beyond that.
"""

from dataclasses import dataclass

import numpy as np

from syncoll.arrays import Ints, KeyArray
from syncoll.deadline import NEVER, Deadline
from syncoll.formula.formula import Labels
from syncoll.model import Instance, RelationTable
from syncoll.symmetry.group import FreeGroup
from syncoll.symmetry.orbits import numbered_orbits
from syncoll.symmetry.search import free_symmetry


@dataclass(frozen=True, eq=False)
class Action:
    """A free group of automorphisms with its action on chunks.

    Args:
        group: its generators.
        chunks: ``[n, G]``, for each generator the image of each chunk.
    """

    group: FreeGroup
    chunks: Ints

    @classmethod
    def of(cls, instance: Instance, until: Deadline = NEVER) -> "Action":
        """The action of a large free group of an instance, found by `until`; it may be trivial."""
        table = instance.table
        return cls.on(free_symmetry(instance.topology, table, until, thorough=True), table)

    @classmethod
    def on(cls, group: FreeGroup, table: RelationTable) -> "Action":
        """The action of a group on the chunks of a table; a `ValueError` if it does not keep it."""
        elements, first = group.elements, group.elements[:, 0]
        where = np.full(group.num_nodes, -1)
        where[first] = np.arange(group.order)
        products = [where[generator[first]] for generator in group.generators]
        members: dict[bytes, list[int]] = {}
        starts, ends = table.starts, table.ends
        first_sets, last_sets = (
            [row.tobytes() for row in np.packbits(one.sets, axis=1)] for one in (starts, ends)
        )
        pairs = zip(starts.number.tolist(), ends.number.tolist(), strict=True)
        for chunk, (i, j) in enumerate(pairs):
            members.setdefault(first_sets[i] + last_sets[j], []).append(chunk)
        chunks = np.tile(np.arange(len(table)), (len(products), 1))
        done: set[bytes] = set()
        for kind, some in members.items():
            if kind in done:
                continue
            rows = np.empty((group.order, 2, group.num_nodes), dtype=bool)
            i, j = starts.number[some[0]], ends.number[some[0]]
            own = np.stack([starts.sets[i], ends.sets[j]])
            np.put_along_axis(rows, elements[:, None, :].repeat(2, axis=1), own[None], axis=2)
            images = [row.tobytes() for row in np.packbits(rows, axis=2)]
            done.update(images)
            try:
                found = np.array([members[image] for image in images], dtype=np.int64)
            except (KeyError, ValueError):  # no such chunks, or not as many
                raise ValueError("the group does not keep the chunks") from None
            # Chunk (b, x) for each element x: in block b of the chunks of kind x K, the position of
            # x among the elements with this kind.  The rest stays.
            together = images.count(images[0])
            seen: dict[bytes, int] = {}
            turn = np.zeros(group.order, dtype=np.int64)
            for x, image in enumerate(images):
                turn[x] = seen[image] = seen.get(image, -1) + 1
            blocks = len(some) // together
            places = np.arange(blocks) * together + turn[:, None]
            moving = np.take_along_axis(found, places, axis=1)
            staying = found[:, blocks * together :]
            for images_of, product in zip(chunks, products, strict=True):
                images_of[moving] = moving[product]
                images_of[staying] = staying[product]
        return cls(group, chunks)

    def keeps(self, sends: Ints) -> bool:
        """Whether the group maps sends ``[K, 4]`` (chunk, source, target, step) to themselves."""
        own = np.unique(sends, axis=0)
        for nodes, chunks in zip(self.group.generators, self.chunks, strict=True):
            c, u, v, step = own.T
            moved = np.stack([chunks[c], nodes[u], nodes[v], step], axis=1)
            if not np.array_equal(np.unique(moved, axis=0), own):
                return False
        return True

    def orbits(self, labels: Labels) -> tuple[Ints, Ints]:
        """For each Boolean and each integer the number of its orbit, counted from 0.  A variable
        without an image stays alone.  Raises `ValueError` if two variables have the same label."""
        return (
            self._orbits(labels.columns, labels.booleans),
            self._orbits(labels.columns, labels.integers),
        )

    def _orbits(self, columns: str, rows: Ints) -> Ints:
        most = int(rows.max(initial=0)) + 2
        most = max(most, self.group.num_nodes + 1, self.chunks.shape[1] + 1)
        random = np.random.default_rng(20220103)
        keys = random.integers(1 << 63, size=(len(columns), most), dtype=np.uint64)
        own = _hashes(rows, keys)
        order = np.argsort(own)
        ordered = own[order]
        if (ordered[1:] == ordered[:-1]).any():
            raise ValueError("two variables have the same label")
        maps = []
        for nodes, chunks in zip(self.group.generators, self.chunks, strict=True):
            moved = keys.copy()
            for i, letter in enumerate(columns):
                images = {"n": nodes, "c": chunks}.get(letter)
                if images is not None:
                    moved[i, 1 : 1 + len(images)] = keys[i, 1 + images]
            wanted = _hashes(rows, moved)
            at = np.minimum(np.searchsorted(ordered, wanted), max(0, len(rows) - 1))
            there = ordered[at] == wanted if len(rows) else np.zeros(0, dtype=bool)
            maps.append(np.where(there, order[at] if len(rows) else at, np.arange(len(rows))))
        return numbered_orbits(len(rows), maps)


def _hashes(rows: Ints, keys: KeyArray) -> KeyArray:
    """A key of each row; entries are at least -1."""
    found = np.zeros(len(rows), dtype=np.uint64)
    for column, key in zip(rows.T, keys, strict=True):
        found += key[column + 1]
    return found
