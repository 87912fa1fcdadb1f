"""Frontier: the points of a search, and the regions that it left open.

The best known R/C for each S, the open regions, and the better R/C that may exist follow from the
proofs by functions that searches and `syncoll.trust.claims` share.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING

from syncoll.model import Algorithm, Instance, Topology
from syncoll.model.grains import Rounds
from syncoll.model.messages import count_messages
from syncoll.results.evidence import Evidence
from syncoll.results.proof import Proof, Refuted
from syncoll.wording import counted

if TYPE_CHECKING:
    from syncoll.formula import FormulaSize
    from syncoll.results.family import Family, Part

TOLERANCE = Fraction(1, 20)
NEARLY = Fraction(1, 50)
"""The share by which an algorithm of fewer chunks may cost more than the best one: of a frontier,
which keeps the best one, too, and of the exports of a plan, which then lack it, so that messages
take as much longer.  Runtimes need thread blocks for chunks, which simulated times do not count."""


class Costs:
    """The costs of an algorithm."""

    instance: Instance
    algorithm: Algorithm

    @property
    def steps(self) -> int:
        """S, the latency cost."""
        return self.algorithm.steps

    @property
    def rounds(self) -> Rounds:
        """R."""
        return self.algorithm.rounds

    @property
    def chunks(self) -> int:
        """C."""
        return self.instance.chunks

    @property
    def bandwidth(self) -> Fraction:
        """R/C, the bandwidth cost."""
        return Fraction(self.rounds, self.chunks)

    @cached_property
    def messages(self) -> int:
        """The messages of all nodes: sends of consecutive chunks over one link in one step are
        one."""
        return count_messages(self.instance, self.algorithm)


@dataclass(frozen=True, eq=False)
class Point(Costs):
    """A verified algorithm of the frontier.

    Args:
        instance: an instance with the algorithm's own S and R.
        algorithm: passed the verifier.
        encoding: its name.
        backend: its name.
        seconds: encode, lower, solve and verify together.
        size: size of the encoding's formula; None if the point came from a file.
        bound: a proved lower bound on R/C for algorithms of at most S steps.
    """

    instance: Instance
    algorithm: Algorithm
    encoding: str
    backend: str
    seconds: float
    size: FormulaSize | None = None
    bound: Fraction | None = None

    def bounded(self, bound: Fraction | None) -> Point:
        """The same point with another bound."""
        return self.restated(self.instance, self.algorithm, bound)

    def restated(self, instance: Instance, algorithm: Algorithm, bound: Fraction | None) -> Point:
        """The same sends in rounds of another length, with a bound."""
        same = copy(self)  # millions of sends are not counted again
        for name, value in (("instance", instance), ("algorithm", algorithm), ("bound", bound)):
            object.__setattr__(same, name, value)
        return same

    def claim(self, max_chunks: int | None) -> str:
        """The bound in a sentence, which holds for C up to `max_chunks`; empty without one."""
        if self.bound is None:
            return ""
        among = "" if max_chunks is None else f" and C <= {max_chunks}"
        best = ", so it is optimal" if self.bound == self.bandwidth else ""
        return f"No algorithm with S <= {self.steps}{among} has an R/C below {self.bound}{best}."

    def costs_no_more(self, other: Point) -> bool:
        """Whether the other is no better in S or R/C."""
        return self.steps <= other.steps and self.bandwidth <= other.bandwidth

    def dominates(self, other: Point) -> bool:
        """Whether the other is no better in S, R/C, C or messages."""
        if not self.costs_no_more(other) or self.chunks > other.chunks:
            return False
        return self.messages <= other.messages


@dataclass(frozen=True)
class OpenClaim:
    """A region of costs that the search neither filled nor ruled out.

    An algorithm of `least_steps` to `most_steps` steps whose bandwidth cost is at least `low` and
    below `high` may exist.

    Args:
        most_steps: None for any number.
        low: a proved bound within the limits of the search.
        high: the best cost found with no more steps; None without one.
        reason: why the search left it open, in words.
    """

    least_steps: int
    most_steps: int | None
    low: Fraction
    high: Fraction | None
    reason: str

    def __str__(self) -> str:
        if self.most_steps is None:
            steps = f"{self.least_steps} or more steps"
        elif self.most_steps == self.least_steps:
            steps = counted(self.least_steps, "step")
        else:
            steps = f"{self.least_steps} to {self.most_steps} steps"
        costs = f"from {self.low}" + (f" to below {self.high}" if self.high is not None else "")
        return f"{steps}, bandwidth cost {costs}: {self.reason}"

    def scaled(self, factor: Fraction) -> OpenClaim:
        """With bandwidth costs times `factor`."""
        high = None if self.high is None else self.high * factor
        return replace(self, low=self.low * factor, high=high)


@dataclass(frozen=True, eq=False)
class Frontier:
    """The result of a search.

    Args:
        topology: P and B.
        collective: its name.
        points: none dominates another; ordered by S and R/C.  For each S there are at most two:
            the one of the least R/C and the simplest one near it, see `thinned`.
        open: the unsettled regions.
        scope: the algorithms among which the points are optimal, in words.
        settings: settings of the search, for the record.
        least_steps: the distance bound on S.
        least_bandwidth: the proved bound on R/C for any number of steps.
        complete: whether the search ended by itself.
        interrupted: whether the user stopped it.
        seconds: the whole search.
        evidence: the proofs; None for a file without proofs.
        refuted: all refutations by solvers, used by a proof or not.
        left_out: C for which the collective is defined but makes no sense, and so was not searched,
            each with the reason.
        families: algorithms for every m, in closed form; none beats a point.
        timed: algorithms that are faster than the points for some size by simulated time; points
            may have fewer steps and a lower R/C.
        counts_members: whether known costs, and so open regions, count members of families; not in
            files before version 4.
        impossible: a sentence that no algorithm obeys the limits of the search, if distances and
            cuts prove that before the search; not kept in files.

    Examples:
        >>> from syncoll.api import Algorithm, Instance, Topology
        >>> line = Topology.from_matrix("line", [[0, 1, 0], [1, 0, 1], [0, 1, 0]])
        >>> broadcast = Instance(line, "broadcast", 1, 2, 2, [[1, 0, 0]], [[1, 1, 1]])
        >>> along = Algorithm((1, 1), [[0, 0, 1, 0], [0, 1, 2, 1]])
        >>> from syncoll.api import Frontier, Point
        >>> points = (Point(broadcast, along, "step", "cpsat", seconds=0.01),)
        >>> frontier = Frontier(line, "broadcast", points, open=(), scope="C <= 1")
        >>> [(point.steps, str(point.bandwidth)) for point in frontier.points]
        [(2, '2')]
        >>> points[0].dominates(points[0]), frontier.proof(points[0])  # a search adds evidence
        (True, None)
    """

    topology: Topology
    collective: str
    points: tuple[Point, ...]
    open: tuple[OpenClaim, ...]
    scope: str
    settings: Mapping[str, object] = field(default_factory=dict)
    least_steps: int = 0
    least_bandwidth: Fraction = Fraction(0)
    complete: bool = True
    interrupted: bool = False
    seconds: float = 0.0
    evidence: Evidence | None = None
    refuted: tuple[Refuted, ...] = ()
    left_out: tuple[tuple[int, str], ...] = ()
    families: tuple[Family, ...] = ()
    timed: tuple[Part, ...] = ()
    counts_members: bool = True
    impossible: str = ""

    @property
    def best(self) -> tuple[Point, ...]:
        """The points that no other point dominates in S and R/C."""
        return staircase(self.points)

    @property
    def max_chunks(self) -> int | None:
        """All proofs and open regions are about C up to this; None: every C."""
        if self.evidence is None or self.evidence.scaling:
            return None
        return self.evidence.max_chunks

    @property
    def bounds(self) -> list[tuple[int, Fraction]]:
        """The proved bounds on R/C by S, ascending; without evidence the bounds of the points."""
        if self.evidence is not None and self.evidence.proofs:
            return [(proof.steps, proof.bound) for proof in self.evidence.proofs]
        return [(p.steps, p.bound) for p in self.points if p.bound is not None]

    def is_simple(self, point: Point) -> bool:
        """Whether a lower R/C is known for its S: it is here for its chunks or messages."""
        return any(p.steps <= point.steps and p.bandwidth < point.bandwidth for p in self.points)

    def proof(self, point: Point) -> Proof | None:
        """The proof for algorithms of at most as many steps as the point."""
        return None if self.evidence is None else self.evidence.proof(point.steps)


def staircase(points: Iterable[Point]) -> tuple[Point, ...]:
    """The points that no other one dominates in S and R/C, by S; of equal ones the simplest."""
    kept: list[Point] = []
    for point in sorted(points, key=lambda p: (p.steps, p.bandwidth, p.chunks)):
        if not kept or point.bandwidth < kept[-1].bandwidth:
            kept.append(point)
        elif kept[-1].steps == point.steps and point.bandwidth == kept[-1].bandwidth:
            kept[-1] = min(kept[-1], point, key=lambda p: (p.chunks, p.messages))
    return tuple(kept)


def near(
    points: Iterable[Point],
    steps: int,
    tolerance: Fraction = TOLERANCE,
    families: Sequence[Family] = (),
) -> list[Point]:
    """The points of at most `steps` steps whose R/C is near the least one that is known for them:
    it is greater by a share of at most `tolerance`."""
    among = [point for point in points if point.steps <= steps]
    least = known_cost(steps, among, families)
    return [p for p in among if least is not None and p.bandwidth <= least * (1 + tolerance)]


def thinned(
    points: Iterable[Point], tolerance: Fraction = TOLERANCE, families: Sequence[Family] = ()
) -> tuple[Point, ...]:
    """At most two points for each S: of the staircase, and the simplest of the `near` ones, with
    the fewest chunks, and of these the fewest messages.  One with more steps than any of the
    staircase that costs no more must have fewer messages, too."""
    every = sorted(points, key=lambda p: (p.steps, p.bandwidth))
    best = staircase(every)
    at_best, kept = {point.steps for point in best}, {id(point) for point in best}
    simplest: Point | None = None
    for steps in dict.fromkeys(point.steps for point in every):
        among = near(every, steps, tolerance, families)
        among = [p for p in among if p.steps == steps or id(p) in kept]
        if not among:
            continue
        fewest = min(p.chunks for p in among)
        fewest_chunks = [p for p in among if p.chunks == fewest]
        point = fewest_chunks[0]
        if len(fewest_chunks) > 1:  # messages of millions of sends take long to count
            point = min(fewest_chunks, key=lambda p: p.messages)
        if simplest is None or steps in at_best or point.messages < simplest.messages:
            kept.add(id(point))
            simplest = point
    return tuple(point for point in every if id(point) in kept)


def known_cost(steps: int, points: Sequence[Point], families: Sequence[Family]) -> Fraction | None:
    """The least R/C of a point or a member in at most S steps; None without one."""
    costs = [point.bandwidth for point in points if point.steps <= steps]
    costs += [cost for one in families if (cost := one.cost_within(steps)) is not None]
    return min(costs, default=None)


def open_regions(
    frontier: Frontier, proofs: Sequence[Proof], least_steps: int, least_bandwidth: Fraction
) -> Iterator[tuple[int, int | None, Fraction, Fraction | None]]:
    """The regions that proofs, in order of steps, leave open: the first entries of `OpenClaim`."""
    families = frontier.families if frontier.counts_members else ()

    known = partial(known_cost, points=frontier.points, families=families)
    first = least_steps
    for proof in proofs:
        # A proof holds for unsearched S before it, until a family reaches its bound there.
        between = range(first, proof.steps)
        bound = proof.bound
        count = bisect_left(
            between, True, key=lambda s: (cost := known(s)) is not None and cost <= bound
        )
        if count:
            yield first, between[count - 1], proof.bound, known(first)
        if proof.low not in (None, proof.best):
            yield proof.steps, proof.steps, proof.low, proof.best
        first = proof.steps + 1
    best = known(first)
    if best is None or best > least_bandwidth:
        yield first, None, least_bandwidth, best


def better_left(
    domain: Iterable[int],
    best: Fraction | None,
    max_rounds: Rounds | None,
    least: Callable[[int, int], int | None],
    enough: Fraction | None = None,
    grains: int = 1,
) -> tuple[Fraction | None, int, bool]:
    """The least R/C below the best known that is not ruled out.

    Args:
        domain: each C, in ascending order.
        max_rounds: a limit on R, needed if no cost is known.
        least: the least R up to a limit that is not ruled out for a C, in grains; None if all are.
        enough: the search for lower R/C stops at this one.
        grains: in a round; any other R counts in rounds.

    Returns:
        The least R/C of the best and all that are not ruled out, None without any; the C up to
        which no better one is possible; and whether this holds for the whole domain.
    """
    low, closed, is_closed = best, 0, True
    for chunks in domain:
        limits = [] if max_rounds is None else [int(max_rounds * grains)]
        if best is not None:
            limits.append(-int(-best * chunks * grains // 1) - 1)
        rounds = least(chunks, min(limits))
        if rounds is not None:
            left = Fraction(rounds, chunks * grains)
            low, is_closed = left if low is None else min(low, left), False
        elif is_closed:
            closed = chunks
        if not is_closed and low == enough:
            break
    return low, closed, is_closed
