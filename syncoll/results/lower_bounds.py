"""LowerBounds: what no algorithm of a collective on a topology can go below."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from syncoll.certificates import RoundsBound
from syncoll.model import Topology

__all__ = ["LowerBounds"]


@dataclass(frozen=True, eq=False)
class LowerBounds:
    """Proved lower bounds for one C.

    Args:
        topology: where.
        collective: its name.
        chunks: C.
        steps: S at least, by distances.
        any_steps: on R with any number of steps.
        by_steps: on R for at most S steps, for each S from the least to `max_steps`.
        max_steps: the largest S that was looked at.
    """

    topology: Topology
    collective: str
    chunks: int
    steps: int
    any_steps: RoundsBound
    by_steps: tuple[tuple[int, RoundsBound], ...]
    max_steps: int

    @property
    def bandwidth(self) -> Fraction:
        """The lower bound on R/C with any number of steps."""
        return self.any_steps.rounds / self.chunks

    def bandwidth_in(self, steps: int) -> Fraction:
        """The lower bound on R/C with at most so many steps.

        Raises:
            KeyError: on a number of steps that was not looked at.
        """
        return dict(self.by_steps)[steps].rounds / self.chunks
