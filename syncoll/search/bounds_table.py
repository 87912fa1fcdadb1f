"""BoundsTable: a collective's lower bounds on a topology, shared between values of C.

For most collectives C copies of the demands for one chunk are the demands for C chunks, so one
linear program serves every C.  Whether that is so is proved from the definition of the collective
where it can be, and otherwise compared for each C; it is not assumed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction

from syncoll.bounds import (
    Certificate,
    Reading,
    RoundsBound,
    Shape,
    combining_rounds_bound,
    least_cut,
    rounds_bound,
    with_cut,
    with_trees,
)
from syncoll.model import Collective, Instance, Topology

__all__ = ["BoundsTable", "SharedShape"]

_THOROUGH_SECONDS = 20.0

_LEAST_SECONDS = 1.0
"""What a linear program gets even when the time is over, since something must be proved."""

_SHARE_OF_TREES = 0.25
"""The part of the time that goes to trees, which seldom prove more than flows."""


@dataclass
class SharedShape:
    """A shape, and for which C it was compared and found to be in proportion.

    Args:
        shape: for one C.
        compared: these C have the same shape, in ascending order once all were asked for.
    """

    shape: Shape
    compared: list[int] = field(default_factory=list)


class BoundsTable:
    """Lower bounds on steps and rounds.

    Args:
        topology: where.
        collective: what.
        prove: computes bounds, as `syncoll.bounds.rounds_bound` does.
        until: in the time of `time.perf_counter`; when it is over, a bound for so many steps is not
            computed any more, and that for any number of steps stands in for it.
    """

    def __init__(
        self,
        topology: Topology,
        collective: Collective,
        prove: Callable[..., RoundsBound] = rounds_bound,
        until: float | None = None,
    ) -> None:
        self.topology, self.collective, self._prove = topology, collective, prove
        self.until = until
        self.scales = collective.scales(topology.num_nodes)
        self._shapes: list[SharedShape] = []
        self._shape_of: dict[int, SharedShape] = {}
        self._least_steps: dict[int, int] = {}
        self._bounds: dict[tuple[int, int | None], RoundsBound] = {}
        self._thorough: set[tuple[int, int | None]] = set()

    @property
    def shapes(self) -> tuple[SharedShape, ...]:
        """All shapes that came up."""
        return tuple(self._shapes)

    def instance(self, chunks: int, steps: int, rounds: int) -> Instance:
        """The instance for these numbers; raises `ModelError` where the collective makes none."""
        return self.collective.instantiate(self.topology, chunks=chunks, steps=steps, rounds=rounds)

    def admits(self, chunks: int) -> bool:
        """Whether the collective is defined for C = `chunks` here."""
        return self.collective.admits(self.topology.num_nodes, chunks)

    def least_steps(self, chunks: int) -> int:
        """The distance bound on S for C = `chunks`."""
        if self.scales is not None and self._least_steps:
            return next(iter(self._least_steps.values()))  # the same for every C
        if chunks not in self._least_steps:
            self._least_steps[chunks] = self.instance(chunks, 0, 0).least_steps
        return self._least_steps[chunks]

    def bandwidth(self, chunks: int, steps: int | None = None) -> Fraction:
        """A lower bound on R/C for C = `chunks` and at most `steps` steps (None: any number).

        The quick one, until `tighten` was called for the same steps.
        """
        return self.certificate(self.shape(chunks), steps).bandwidth

    def certificate(self, shape: Shape, steps: int | None = None) -> Certificate:
        """The best certificate known for a shape that came up and at most `steps` steps.

        One for any number of steps goes before an equal one for `steps`.
        """
        bounds = [self._bound(shape, None)]
        if steps is not None and (self._left() > 0 or (shape.chunks, steps) in self._bounds):
            bounds.append(self._bound(shape, steps))
        return Certificate(shape, max(bounds, key=lambda bound: bound.rounds))

    def certificates(self, chunks: Iterable[int], steps: int | None) -> tuple[Certificate, ...]:
        """For each shape of these C that distances do not rule out its best certificate."""
        shapes = dict.fromkeys(
            self.shape(c) for c in chunks if steps is None or self.least_steps(c) <= steps
        )
        return tuple(self.certificate(shape, steps) for shape in shapes)

    def tighten(
        self, chunks: int, steps: int | None, seconds: float | None = _THOROUGH_SECONDS
    ) -> Fraction:
        """The same bound after spending up to about `seconds` on the larger relaxation."""
        shape = self.shape(chunks)
        key = shape.chunks, steps
        if key not in self._thorough:
            self._thorough.add(key)
            after = self._rounds(shape, steps, seconds=seconds)
            before = self._bounds.get(key, after)
            self._bounds[key] = max(after, before, key=lambda bound: bound.rounds)
        return self.bandwidth(chunks, steps)

    def _left(self) -> float:
        """Seconds for the next linear program."""
        if self.until is None:
            return _THOROUGH_SECONDS
        return min(_THOROUGH_SECONDS, self.until - time.perf_counter())

    def _bound(self, shape: Shape, steps: int | None) -> RoundsBound:
        key = shape.chunks, steps
        if key not in self._bounds:
            seconds = max(_LEAST_SECONDS, self._left())
            self._bounds[key] = self._rounds(shape, steps, thorough=False, seconds=seconds)
        return self._bounds[key]

    def _rounds(
        self,
        shape: Shape,
        steps: int | None,
        *,
        thorough: bool = True,
        seconds: float | None = _THOROUGH_SECONDS,
    ) -> RoundsBound:
        if shape.combining:
            # Two linear programs for every node; the larger relaxation gains them next to nothing.
            return combining_rounds_bound(
                self.topology, shape, steps, thorough=False, seconds=seconds, prove=self._prove
            )
        demands = shape.demands(Reading.MOVING)
        bound = self._prove(self.topology, demands, steps, thorough=thorough, seconds=seconds)
        if steps is None and not bound.rounds:  # too large for a linear program in the time
            bound = least_cut(self.topology, demands)
        if thorough:
            share = (_THOROUGH_SECONDS if seconds is None else seconds) * _SHARE_OF_TREES
            bound = with_trees(self.topology, demands, bound, share)
        return with_cut(self.topology, demands, bound)

    def shape(self, chunks: int) -> Shape:
        """The shape that stands for C = `chunks`: the first one that came up in proportion."""
        if chunks not in self._shape_of:
            if self.scales is not None and self._shapes:
                shared = self._shapes[0]
            else:
                shared = self._compared(chunks)
            shared.compared.append(chunks)
            self._shape_of[chunks] = shared
        return self._shape_of[chunks].shape

    def _compared(self, chunks: int) -> SharedShape:
        table = self.collective.tabulate(self.topology.num_nodes, chunks)
        found = Shape.of(table, chunks, combining=self.collective.combining)
        for shared in self._shapes:
            if found.proportional(shared.shape):
                return shared
        self._shapes.append(SharedShape(found))
        return self._shapes[-1]
