"""Lower bounds of a collective on a topology, with what proves them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from syncoll.certificates import RoundsBound
from syncoll.errors import UsageError
from syncoll.model import Topology
from syncoll.results.evidence import Evidence
from syncoll.results.frontier import Frontier, OpenClaim

__all__ = ["BOUNDS_ALONE", "LowerBounds"]

BOUNDS_ALONE = "no algorithms: lower bounds alone"
"""The scope of a frontier that nobody looked for algorithms for."""

_NOT_SEARCHED = "not searched"


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
        evidence: all of it with what proves it, to be saved and checked.
        late: of which numbers of steps, in words, more might have been proved with more time.
        interrupted: whether a person stopped it.
        had: how much time each bound had, in words.
    """

    topology: Topology
    collective: str
    chunks: int
    steps: int
    any_steps: RoundsBound
    by_steps: tuple[tuple[int, RoundsBound], ...]
    max_steps: int
    evidence: Evidence
    late: tuple[str, ...] = ()
    interrupted: bool = False
    had: str = "the time was over"

    @property
    def more(self) -> str:
        """Of which numbers of steps more may be provable, and why; empty where of none."""
        if not self.late:
            return ""
        why = "it was interrupted" if self.interrupted else self.had
        return f"more may be provable, but {why}: {', '.join(self.late)}"

    @property
    def bandwidth(self) -> Fraction:
        """The lower bound on R/C with any number of steps."""
        return self.any_steps.rounds / self.chunks

    def bandwidth_in(self, steps: int) -> Fraction:
        """The lower bound on R/C with at most so many steps.

        Beyond those that were looked at it is that of any number of steps.

        Raises:
            UsageError: when no algorithm has so few steps.
        """
        if isinstance(steps, bool) or not isinstance(steps, int) or steps < self.steps:
            raise UsageError(
                f"steps is {steps!r}; expected a whole number of at least {self.steps}: "
                f"{self.collective} on {self.topology.name} takes so many"
            )
        return dict(self.by_steps).get(steps, self.any_steps).rounds / self.chunks

    def frontier(self) -> Frontier:
        """The same as a frontier without points: what is proved, and that all above it is open."""
        claims = [
            OpenClaim(s, s, bound.rounds / self.chunks, None, _NOT_SEARCHED)
            for s, bound in self.by_steps
        ]
        beyond = self.by_steps[-1][0] + 1 if self.by_steps else self.steps
        claims.append(OpenClaim(beyond, None, self.bandwidth, None, _NOT_SEARCHED))
        return Frontier(
            self.topology,
            self.collective,
            (),
            tuple(claims),
            BOUNDS_ALONE,
            {"chunks": self.chunks, "max_steps": self.max_steps},
            self.steps,
            self.bandwidth,
            complete=not self.late,
            interrupted=self.interrupted,
            evidence=self.evidence,
        )
