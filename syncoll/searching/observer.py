"""Observer: what a search tells while it runs."""

from __future__ import annotations

from fractions import Fraction

from syncoll.formula import Verdict
from syncoll.results.frontier import Point
from syncoll.searching.candidates import Candidate

__all__ = ["Observer"]


class Observer:
    """Hears of every step of a search; this one ignores everything.  Override what you need."""

    def began(self, collective: str) -> None:
        """The search for this collective, perhaps a part of the one asked for, begins."""

    def limited(self, max_chunks: int) -> None:
        """What is told of this collective is proved for C up to `max_chunks` only."""

    def bounded(self, steps: int | None, bandwidth: Fraction) -> None:
        """No algorithm of `steps` steps (None: of any number) costs less than `bandwidth`."""

    def trying(self, candidate: Candidate) -> None:
        """The solver is asked about a candidate."""

    def settled(self, candidate: Candidate, verdict: Verdict, seconds: float) -> None:
        """The solver answered, or was stopped."""

    def found(self, points: tuple[Point, ...]) -> None:
        """The frontier has changed; all of its points."""
