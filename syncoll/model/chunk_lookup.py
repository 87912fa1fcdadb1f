"""ChunkLookup: finds the C for which a collective's table has a given measure."""

from collections.abc import Callable
from functools import lru_cache

from syncoll.errors import LocatedError
from syncoll.model.collective import Collective
from syncoll.model.rows import RelationTable

_LAST_TRIED = 10_000
"""The largest C tried in a search for the least one."""

_MOST_MEASURED = 1_000
"""The largest C of an irregular collective that is measured."""

_MOST_CELLS = 1 << 20
"""Cells of the tables made for one P of an irregular collective."""


def part_chunks(part: Collective, nodes: int, global_chunks: int) -> int | None:
    """The C for which a collective has G chunks in all; None if no C fits."""
    return kept_lookup(part, num_chunks)(nodes, global_chunks)


def num_chunks(table: RelationTable) -> int:
    """G, the chunks of all nodes together."""
    return len(table)


def largest_post(table: RelationTable) -> int:
    """The most chunks with which a node ends, at least 1."""
    return max(1, int(table.ends.per_node.max(initial=0)))


class ChunkLookup:
    """Finds the C for which a collective's table has a given measure.

    The least C of a regular collective determines all others.  For an irregular one each C is
    tried in turn, within the limits above.
    """

    def __init__(self, collective: Collective, measure: Callable[[RelationTable], int]) -> None:
        self.collective, self._measure = collective, measure
        self._measured: dict[int, int] = {}
        self._least: dict[int, tuple[int, RelationTable] | None] = {}

    def least(self, nodes: int) -> tuple[int, RelationTable] | None:
        """The least C and its table; None if no C is admitted."""
        if nodes not in self._least:
            found = self.collective.least_chunks(nodes, _LAST_TRIED)
            table = None if found is None else (found, self.collective.tabulate(nodes, found))
            self._least[nodes] = table
        return self._least[nodes]

    def admits(self, nodes: int, chunks: int) -> bool:
        """Whether there is a table for a C.

        A regular collective may admit a C by one of its ways that is no multiple of another way's
        least C.  The table of such a C does not come from cutting, so nothing follows from it.
        """
        if self.collective.irregular:
            return self.collective.admits(nodes, chunks)
        least = self.least(nodes)
        if least is None or chunks % least[0]:
            return False
        return self.collective.admits(nodes, chunks)

    def table(self, nodes: int, chunks: int) -> RelationTable:
        """The table for a C that is admitted; of a regular collective numbered as by cutting."""
        least = None if self.collective.irregular else self.least(nodes)
        if least is None:
            return self.collective.tabulate(nodes, chunks)
        return least[1].cut(chunks // least[0])

    def __call__(self, nodes: int, wanted: int) -> int | None:
        """The C, or None; raises the error of an impossible table if no C was found."""
        search = self._searched if self.collective.irregular else self._proportional
        return search(nodes, wanted)

    def _proportional(self, nodes: int, wanted: int) -> int | None:
        least = self.least(nodes)
        if least is None:
            return None
        if nodes not in self._measured:
            self._measured[nodes] = self._measure(least[1])
        times, odd = divmod(wanted, self._measured[nodes] or wanted + 1)
        if odd or not times or not self.collective.admits(nodes, times * least[0]):
            return None
        return times * least[0]

    def _searched(self, nodes: int, wanted: int) -> int | None:
        # In a sensible collective all nodes together have at least C chunks, so that some node has
        # at least C / P of them (as after a scatter), and larger C need not be tried.
        cells, refusal = 0, None
        for chunks in range(1, min(wanted * nodes, _MOST_MEASURED) + 1):
            try:
                if not self.collective.admits(nodes, chunks):
                    continue
                table = self.collective.tabulate(nodes, chunks)
            except LocatedError as error:  # this C cannot be the one
                refusal = refusal or error
                continue
            measured = self._measure(table)
            if measured == wanted:
                return chunks
            cells += table.cells
            if measured > wanted and cells > _MOST_CELLS:
                break
        if refusal is not None:
            raise refusal
        return None


@lru_cache(maxsize=64)  # a chain of inverses may have 32
def kept_lookup(collective: Collective, measure: Callable[[RelationTable], int]) -> ChunkLookup:
    """One lookup per collective and measure, which takes most of the time of a small search."""
    return ChunkLookup(collective, measure)
