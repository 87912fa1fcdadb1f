"""Candidates with their bounds, and the dominance relation between them.

Also texts on why one candidate dominates another, and a table for other programs with a row for
each machine and collective.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import inf
from typing import Any

from syncoll.designing.candidates import MachineCandidate
from syncoll.errors import LocatedError
from syncoll.model import Collective
from syncoll.results import Frontier, LowerBounds

Figures = tuple[Fraction | int, ...]


@dataclass(frozen=True, eq=False)
class Question:
    """The question of a design.

    Args:
        most: the largest value of a parameter.
        one_more_link: whether the candidates are one machine with one more link.
        steps: number of S, from the least on, whose bounds on R/C are proved, too.
        searching: seconds of search for each collective on each candidate that may be the best;
            None for bounds only.
    """

    collectives: tuple[Collective, ...]
    families: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    most: int = 64
    one_more_link: bool = False
    steps: int = 0
    searching: float | None = None

    def index(self) -> dict[str, Any]:
        """The head of the design's table."""
        return {
            "schema": "syncoll/design/1",
            "topologies": list(self.families),
            "collectives": [one.name for one in self.collectives],
            "where": list(self.conditions),
            "most": self.most,
            "one_more_link": self.one_more_link,
        }


@dataclass(frozen=True, eq=False)
class Proved:
    """The bounds of a collective on a machine.

    Args:
        steps: a lower bound on S.
        bandwidth: a lower bound on R/C for any number of steps.
        frontier: the frontier with the bounds' certificates, and with points if it was searched, or
            with weaker bounds if the search was too short; otherwise None.
        by_steps: (S, lower bound on R/C with at most S steps), ascending, as far as requested, up
            to the first that equals the bound for any number.
    """

    steps: int
    bandwidth: Fraction
    frontier: Frontier | None
    by_steps: tuple[tuple[int, Fraction], ...] = ()

    @property
    def found(self) -> list[tuple[int, Fraction]]:
        """S and R/C of the points."""
        points = () if self.frontier is None else self.frontier.best
        return [(point.steps, point.bandwidth) for point in points]

    @classmethod
    def of(cls, bounds: LowerBounds) -> "Proved":
        """The proved part of lower bounds."""
        frontier = None if bounds.evidence is None else bounds.frontier()
        by_steps = tuple((s, bound.rounds / bounds.chunks) for s, bound in bounds.by_steps)
        low = bounds.bandwidth
        return cls(bounds.steps, low, frontier, _needed(by_steps, low))

    @classmethod
    def read(cls, frontier: Frontier, steps: int) -> "Proved":
        """The bounds of a frontier, for `steps` values of S from the least on."""
        least = frontier.least_steps
        by_steps = tuple((s, low) for s, low in _by_steps(frontier) if s < least + steps)
        low = frontier.least_bandwidth
        return cls(least, low, frontier, _needed(by_steps, low))

    def at(self, steps: int) -> Fraction | None:
        """A lower bound on R/C with at most `steps` steps, also one for more steps; None if
        impossible."""
        if steps < self.steps:
            return None
        return max([self.bandwidth, *(bound for s, bound in self.by_steps if s >= steps)])

    @property
    def turns(self) -> list[int]:
        """The numbers of steps at which `at` may decrease."""
        return [self.steps, *(s + 1 for s, _ in self.by_steps if s >= self.steps)]

    def covers(self, steps: int) -> bool:
        """Whether these bounds suffice for `steps` values of S."""
        known = dict(self.by_steps)
        for s in range(self.steps, self.steps + steps):
            if s not in known:
                return False
            if known[s] <= self.bandwidth:
                return True
        return True

    @property
    def settled(self) -> bool:
        """Whether another search could not improve it."""
        return self.frontier is None or self.frontier.complete

    def with_points(self, found: Frontier) -> "Proved":
        """The same with the points of a search, if it found any."""
        if not found.points:
            return self
        new, low = dict(_by_steps(found)), max(self.bandwidth, found.least_bandwidth)
        by_steps = tuple((s, max(bound, new.get(s, bound))) for s, bound in self.by_steps)
        return Proved(max(self.steps, found.least_steps), low, found, _needed(by_steps, low))


def _needed(
    by_steps: Sequence[tuple[int, Fraction]], bandwidth: Fraction
) -> tuple[tuple[int, Fraction], ...]:
    """Bounds by S up to the first that equals the bound for any number of steps."""
    last = next((i for i, (_, low) in enumerate(by_steps) if low <= bandwidth), len(by_steps))
    return tuple(by_steps[: last + 1])


def _by_steps(frontier: Frontier) -> tuple[tuple[int, Fraction], ...]:
    """The bounds of a frontier that hold for every C, by S."""
    proofs = () if frontier.evidence is None else frontier.evidence.proofs
    found: dict[int, Fraction] = {}
    for one in proofs:
        if one.bound_chunks is None and one.steps >= frontier.least_steps:
            found[one.steps] = max(one.bound, found.get(one.steps, one.bound))
    return tuple(sorted(found.items()))


@dataclass(frozen=True, eq=False)
class Assessed:
    """A candidate with its bounds.

    Args:
        bounds: by the name of a collective; missing if time ran out.
        refused: by the name of a collective, the reason why it is not defined there.
        no_better_than: another candidate whose algorithms are no worse than any of this one can be,
            so this one was not searched.
    """

    candidate: MachineCandidate
    bounds: Mapping[str, Proved] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)
    no_better_than: str | None = None

    def over_unit(self, collective: str) -> Fraction:
        """The bound on R/C with any number of steps, over the unit if the machine has one."""
        return self.bounds[collective].bandwidth / (self.candidate.rate or 1)

    def at(self, collective: str, steps: int) -> Fraction | float:
        """The bound on R/C with at most `steps` steps, over the unit; infinite if impossible."""
        low = self.bounds[collective].at(steps)
        return inf if low is None else low / (self.candidate.rate or 1)

    def figures(self, collectives: Sequence[str]) -> Figures | None:
        """The figures to minimise, if all are known: costs, then for each collective the bounds on
        S and on R/C, in seconds per byte if the machine has units, to be comparable."""
        found: list[Fraction | int] = []
        for name in collectives:
            if name not in self.bounds:
                return None
            found += [self.bounds[name].steps, self.over_unit(name)]
        costs = self.candidate.costs
        return (costs.ports, costs.links, costs.bandwidth, *found)


@dataclass(frozen=True)
class Others:
    """Pairs of nodes, all of each orbit counted, whose bounds were not proved again, since others
    are more promising.  For each collective, if known, a bound on R/C with one of these links."""

    pairs: int
    at_least: Mapping[str, Fraction]


@dataclass(frozen=True, eq=False)
class Design:
    """Candidates with their bounds.

    Args:
        left_out: by family, the reason why some members are no valid machine, and their number.
        others: with one more link, the pairs that were not examined.
        shared_pairs: with one more link, the number of pairs left out since their links share
            bandwidth, so the effect of a second cable is undefined.
        unseen: by family, a text on the number of examined members, if not all.
    """

    question: Question
    assessed: tuple[Assessed, ...]
    left_out: Mapping[str, tuple[LocatedError, int]] = field(default_factory=dict)
    complete: bool = True
    interrupted: bool = False
    seconds: float = 0.0
    others: Others | None = None
    shared_pairs: int = 0
    unseen: Mapping[str, str] = field(default_factory=dict)

    @property
    def collectives(self) -> tuple[str, ...]:
        """The names of the collectives."""
        return tuple(one.name for one in self.question.collectives)

    def behind(self) -> list[Assessed | None]:
        """For each candidate another one that dominates it, or None: costs and bounds are no
        higher, and one of them is lower.

        Only candidates with equally many nodes and the same kind of units are compared.
        """
        return ahead_of(self.assessed, self.collectives)


def listed(costs: Sequence[tuple[int, Fraction]]) -> str:
    """S and R/C in words: ``2: 3/2, 3: 7/6``."""
    return ", ".join(f"{steps}: {cost}" for steps, cost in costs)


def ahead_of(assessed: Sequence[Assessed], collectives: Sequence[str]) -> list[Assessed | None]:
    """See `Design.behind`."""
    figures = [one.figures(collectives) for one in assessed]
    return [
        next(
            (
                other
                for other, theirs in zip(assessed, figures, strict=True)
                if other.candidate.comparable == one.candidate.comparable
                and theirs is not None
                and ours is not None
                and all(a <= b for a, b in zip(theirs, ours, strict=True))
                and (theirs != ours or _gains(other, one, collectives))
                and not _gains(one, other, collectives)
            ),
            None,
        )
        for one, ours in zip(assessed, figures, strict=True)
    ]


def _gains(one: Assessed, other: Assessed, collectives: Sequence[str]) -> bool:
    """Whether the bound on R/C of one is lower than that of another for some number of steps."""
    return any(
        one.at(name, steps) < other.at(name, steps)
        for name in collectives
        for steps in {*one.bounds[name].turns, *other.bounds[name].turns}
    )


def reasons(ahead: Assessed, behind: Assessed, collectives: Sequence[str]) -> list[str]:
    """The figures in which a candidate is better than one that it dominates.  Of bounds by the
    number of steps, only the one with the fewest is named for each collective."""
    found = []
    ours, theirs = ahead.candidate.costs, behind.candidate.costs
    for noun in ("ports", "links", "bandwidth"):
        few, many = getattr(ours, noun), getattr(theirs, noun)
        if few < many:
            found.append(f"{few} {noun} instead of {many}")
    for name in collectives:
        if name not in ahead.bounds or name not in behind.bounds:
            continue
        one, other = ahead.bounds[name], behind.bounds[name]
        if one.steps < other.steps:
            found.append(f"{name}: S >= {one.steps} instead of {other.steps}")
        if ahead.over_unit(name) < behind.over_unit(name):
            found.append(
                f"{name}: R/C >= {one.bandwidth}{_unit(ahead)} instead of "
                f"{other.bandwidth}{_unit(behind)}"
            )
        for steps in sorted({*one.turns, *other.turns}):
            low, high = one.at(steps), other.at(steps)
            if low is None or high is None or (low, high) == (one.bandwidth, other.bandwidth):
                continue
            if ahead.at(name, steps) < behind.at(name, steps):
                found.append(
                    f"{name} with {steps} steps: R/C >= {low}{_unit(ahead)} instead of "
                    f"{high}{_unit(behind)}"
                )
                break
    return found


def _unit(one: Assessed) -> str:
    rate = one.candidate.rate
    return "" if rate is None else f" at {float(rate) / 1e9:g} GB/s"
