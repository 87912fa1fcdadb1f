"""BoundsTable: a collective's lower bounds on a topology, shared between values of C.

For most collectives C copies of the demands for one chunk are the demands for C chunks, so one
linear program serves every C.  Whether that is so is compared, not assumed.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from syncoll.bounds import Demand, combining_rounds_bound, demands, rounds_bound, same_shape
from syncoll.model import Collective, Instance, RelationTable, Topology

__all__ = ["BoundsTable"]


@dataclass
class _Shape:
    """What must get where for one C; stands for every C with proportional demands."""

    chunks: int
    table: RelationTable
    demands: tuple[Demand, ...]


class BoundsTable:
    """Lower bounds on steps and rounds.

    Args:
        topology: where.
        collective: what.
    """

    def __init__(self, topology: Topology, collective: Collective) -> None:
        self.topology, self.collective = topology, collective
        self._shapes: list[_Shape] = []
        self._shape_of: dict[int, _Shape] = {}
        self._least_steps: dict[int, int] = {}
        self._bounds: dict[tuple[int, int | None], Fraction] = {}
        self._thorough: set[tuple[int, int | None]] = set()

    def instance(self, chunks: int, steps: int, rounds: int) -> Instance:
        """The instance for these numbers; raises `ModelError` where the collective makes none."""
        return self.collective.instantiate(self.topology, chunks=chunks, steps=steps, rounds=rounds)

    def admits(self, chunks: int) -> bool:
        """Whether the collective is defined for C = `chunks` here."""
        return self.collective.admits(self.topology.num_nodes, chunks)

    def least_steps(self, chunks: int) -> int:
        """The distance bound on S for C = `chunks`."""
        if chunks not in self._least_steps:
            self._least_steps[chunks] = self.instance(chunks, 0, 0).least_steps
        return self._least_steps[chunks]

    def bandwidth(self, chunks: int, steps: int | None = None) -> Fraction:
        """A lower bound on R/C for C = `chunks` and at most `steps` steps (None: any number).

        The quick one, until `tighten` was called for the same steps.
        """
        shape = self._shape(chunks)
        key = shape.chunks, steps
        if key not in self._bounds:
            self._bounds[key] = self._rounds(shape, steps, thorough=False)
        return self._bounds[key] / shape.chunks

    def tighten(self, chunks: int, steps: int | None, seconds: float | None = 20.0) -> Fraction:
        """The same bound after spending up to about `seconds` on the larger relaxation."""
        shape = self._shape(chunks)
        key = shape.chunks, steps
        if key not in self._thorough:
            self._thorough.add(key)
            after = self._rounds(shape, steps, seconds=seconds)
            self._bounds[key] = max(after, self._bounds.get(key, after))
        return self.bandwidth(chunks, steps)

    def _rounds(
        self,
        shape: _Shape,
        steps: int | None,
        *,
        thorough: bool = True,
        seconds: float | None = 20.0,
    ) -> Fraction:
        if self.collective.combining:
            # Two linear programs for every node; the larger relaxation gains them next to nothing.
            return combining_rounds_bound(
                self.topology, shape.table, steps, thorough=False, seconds=seconds
            ).rounds
        bound = rounds_bound(
            self.topology, shape.demands, steps, thorough=thorough, seconds=seconds
        )
        return bound.rounds

    def _shape(self, chunks: int) -> _Shape:
        if chunks not in self._shape_of:
            table = self.collective.tabulate(self.topology.num_nodes, chunks)
            found = demands(table, combining=self.collective.combining)
            for shape in self._shapes:
                if same_shape(found, chunks, shape.demands, shape.chunks):
                    break
            else:
                shape = _Shape(chunks, table, found)
                self._shapes.append(shape)
            self._shape_of[chunks] = shape
        return self._shape_of[chunks]
