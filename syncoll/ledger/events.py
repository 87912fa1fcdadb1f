"""The five kinds of event of a search, and the log in which each is entered with its engine.

* `Point`: a verified algorithm; `Family`: verified algorithms for every m.
* `Bound`: no algorithm of so many steps costs less.
* `Refuted`: a solver proved that a candidate has no algorithm.
* `Undecided`: a solver gave a candidate up.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from syncoll.ledger.request import Candidate
from syncoll.results.family import Family
from syncoll.results.frontier import Point
from syncoll.results.proof import Refuted

__all__ = ["Bound", "Event", "Undecided"]


@dataclass(frozen=True)
class Bound:
    """No algorithm of at most `steps` steps (None: any number) costs less than `bandwidth`."""

    steps: int | None
    bandwidth: Fraction


@dataclass(frozen=True)
class Undecided:
    """A candidate that a solver gave up, and why, in words."""

    candidate: Candidate
    why: str


Event = Point | Family | Bound | Refuted | Undecided
