"""SearchRequest: the topology, collective, strategy and limits of a search; and Observer."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from syncoll.errors import UsageError
from syncoll.formula import Verdict
from syncoll.ledger.aim import Aim
from syncoll.model import Collective, Topology
from syncoll.model.grains import Rounds, in_rounds
from syncoll.results.frontier import TOLERANCE, Point

if TYPE_CHECKING:
    from syncoll.ledger.events import EngineRecord, Entry


class Strategy(StrEnum):
    """How candidates (R, C) are chosen for each S."""

    CERTIFIED = "certified"
    PAPER = "paper"


class Size(IntEnum):
    """Sizes of a network.

    * `TINY`: a solver is as fast as seeds with warm starts, or in the background (ring(8)).
    * `SMALL`: a solver is often as fast as a seed (torus(4,4)).
    * `MEDIUM`: seeds construct for as long as a solver would take (mesh(6,6)).
    * `WIDE`: seeds of a composition have only a short first turn.
    * `LARGE`: a solver seldom finds points that seeds do not find (torus(8,8)).
    """

    TINY, SMALL, MEDIUM, WIDE, LARGE = range(5)


_MOST = (500, 1_200, 6_000, 12_000)
"""Links times nodes of all but the largest, by the rows of `benchmarks/scale.py`."""


def size_of(topology: Topology) -> Size:
    """The size of a network."""
    return Size(bisect_left(_MOST, len(topology.links) * topology.num_nodes))


def is_small(topology: Topology) -> bool:
    """Whether a solver is often as fast as a seed."""
    return size_of(topology) <= Size.SMALL


@dataclass(frozen=True)
class SearchRequest:
    """A Pareto search.

    Args:
        strategy: see `Strategy` and `candidates`.
        k: only k-synchronous algorithms, R <= S + k.  None: for the paper's strategy the least k
            that admits a bandwidth-optimal algorithm at the least number of steps; for the
            certified strategy no such limit.
        max_steps: S at most; None for 3 more than the least possible.
        max_rounds: R at most; None for no limit.
        max_chunks: C at most; None for a default.
        max_messages: points have at most this number of messages; None for no limit.
        tolerance: the share by which the R/C of a simple point may exceed the least one for its S.
        time_limit: seconds for the whole search; None for no limit.
        point_limit: seconds for each candidate; None for no limit.
        symmetric: whether the certified strategy also looks for symmetric algorithms, and for
            shorter ones near known algorithms, where solvers are slow; see `symmetric` and
            `large_neighbourhood`.
        aim: the message sizes that the search is for; algorithms that are not the fastest for any
            of them are not looked for.  None for all sizes.
        is_part: whether the points become parts of other algorithms.
        work: units of work for the whole search, in place of `time_limit`; see `syncoll.clock`.
        grains: in a round, if R of this request, except k, counts grains.

    Raises:
        UsageError: on an invalid limit, and for an irregular collective.
    """

    topology: Topology
    collective: Collective
    strategy: Strategy = Strategy.CERTIFIED
    k: int | None = None
    max_steps: int | None = None
    max_rounds: Rounds | None = None
    max_chunks: int | None = None
    max_messages: int | None = None
    tolerance: Fraction = TOLERANCE
    time_limit: float | None = None
    point_limit: float | None = None
    symmetric: bool = True
    aim: Aim | None = None
    is_part: bool = False
    work: float | None = None
    grains: int = 1

    def __post_init__(self) -> None:
        for given, kind in ((self.topology, Topology), (self.collective, Collective)):
            if not isinstance(given, kind):
                raise UsageError(f"{given!r} is not a {kind.__name__}")
        self.collective.require_regular()
        if not isinstance(self.symmetric, bool):
            raise UsageError(f"symmetric is {self.symmetric!r}; it must be True or False")
        if not isinstance(self.tolerance, Fraction) or self.tolerance < 0:
            raise UsageError(
                f"tolerance is {self.tolerance!r}; it must be a Fraction of at least 0"
            )
        most = ("max_steps", "max_rounds", "max_chunks", "max_messages")
        for name in ("k", *most, "time_limit", "point_limit", "work"):
            value, least = getattr(self, name), int(name in ("max_chunks", "max_messages"))
            exact = name.startswith("max_") or name == "k"
            number: Any = int if exact else (int, float)
            number = (int, Fraction) if name == "max_rounds" else number
            if value is not None and (isinstance(value, bool) or not isinstance(value, number)):
                raise UsageError(f"{name} is {value!r}; it must be a number")
            if value is not None and value < least:
                raise UsageError(f"{name} is {value}; it must be at least {least}")
        if self.max_rounds is not None:  # in whole grains
            grains = int(self.max_rounds * self.topology.grains)
            object.__setattr__(self, "max_rounds", in_rounds(grains, self.topology.grains))


@dataclass(frozen=True)
class Candidate:
    """One (S, R, C) to try."""

    steps: int
    rounds: Rounds
    chunks: int

    @property
    def numbers(self) -> tuple[int, Rounds, int]:
        """S, R and C."""
        return self.steps, self.rounds, self.chunks

    @property
    def bandwidth(self) -> Fraction:
        """R/C."""
        return Fraction(self.rounds, self.chunks)


class Observer:
    """Receives every step of a search; this one ignores everything.  Override methods as needed."""

    def logged(self, entry: "Entry") -> None:
        """An event of the search, see `syncoll.ledger.events`."""

    def ended(self, engines: "Sequence[EngineRecord]") -> None:
        """The search is over; records of the engines that had turns."""

    def began(self, collective: str) -> None:
        """The search for this collective, perhaps a part of the one asked for, begins."""

    def seeding(self, seeds: tuple[str, ...]) -> None:
        """The turn of these seeds begins."""

    def bounded(self, steps: int | None, bandwidth: Fraction) -> None:
        """No algorithm of `steps` steps (None: of any number) costs less than `bandwidth`."""

    def trying(self, candidate: Candidate) -> None:
        """The solver is asked about a candidate."""

    def settled(self, candidate: Candidate, verdict: Verdict, seconds: float) -> None:
        """The solver answered, or was stopped."""

    def found(self, points: tuple[Point, ...]) -> None:
        """The frontier has changed; all of its points."""
