"""Design: candidates with what is proved about each of them, and which are behind others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from syncoll.designing.candidates import Candidate
from syncoll.errors import LocatedError
from syncoll.model import Collective
from syncoll.results import Frontier, LowerBounds

__all__ = ["Assessed", "Design", "Others", "Proved", "Question", "ahead_of"]


Figures = tuple[Fraction | int, ...]


@dataclass(frozen=True, eq=False)
class Question:
    """What is asked about every candidate.

    Args:
        collectives: whose bounds are compared.
        conditions: as they were written.
        most: the largest value of a parameter.
        one_more_link: whether the candidates are the machine with one more link.
        searching: seconds for the search of each collective on each candidate that may be the
            best; None for bounds alone.
    """

    collectives: tuple[Collective, ...]
    conditions: tuple[str, ...] = ()
    most: int = 64
    one_more_link: bool = False
    searching: float | None = None


@dataclass(frozen=True, eq=False)
class Proved:
    """What is proved of a collective on a machine.

    Args:
        steps: S at least.
        bandwidth: R/C at least, with any number of steps.
        frontier: with points where some were searched, and with what proves the bounds, or weaker
            ones where a search had too little time for these; None where there is none.
    """

    steps: int
    bandwidth: Fraction
    frontier: Frontier | None

    @classmethod
    def of(cls, bounds: LowerBounds) -> Proved:
        """What bounds say."""
        frontier = None if bounds.evidence is None else bounds.frontier()
        return cls(bounds.steps, bounds.bandwidth, frontier)

    @property
    def settled(self) -> bool:
        """Whether nothing more would be found by looking again."""
        return self.frontier is None or self.frontier.complete

    def with_points(self, found: Frontier) -> Proved:
        """The same with what a search found; where that is nothing, as it is."""
        if not found.points:
            return self
        return Proved(
            max(self.steps, found.least_steps), max(self.bandwidth, found.least_bandwidth), found
        )


@dataclass(frozen=True, eq=False)
class Assessed:
    """A candidate with what is proved about it.

    Args:
        bounds: by the name of a collective; one that is missing was not looked at in time.
        refused: by the name of a collective, why it makes no sense there.
        no_better_than: another candidate whose algorithms are no worse than any of this one's can
            be, which therefore was not searched.
    """

    candidate: Candidate
    bounds: Mapping[str, Proved] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)
    no_better_than: str | None = None

    def figures(self, collectives: Sequence[str]) -> Figures | None:
        """What is to be small: costs, then for each collective the bounds on S and on R/C.

        R/C counts seconds a byte where the machine has units, so that others can be compared.
        None where something is missing.
        """
        found: list[Fraction | int] = []
        rate = self.candidate.rate
        for name in collectives:
            if name not in self.bounds:
                return None
            one = self.bounds[name]
            found += [one.steps, one.bandwidth if rate is None else one.bandwidth / rate]
        costs = self.candidate.costs
        return (costs.ports, costs.links, costs.bandwidth, *found)


@dataclass(frozen=True)
class Others:
    """Pairs of nodes whose bounds were not proved anew: others promise more.

    Args:
        pairs: how many, all those of an orbit counted.
        at_least: for each collective what R/C is still at least with one of these links; missing
            where nothing says so.
    """

    pairs: int
    at_least: Mapping[str, Fraction]


@dataclass(frozen=True, eq=False)
class Design:
    """Candidates, and what is proved about them.

    Args:
        left_out: by family, why some of its members make no machine, and how many.
        complete: whether all was looked at.
        interrupted: whether a person ended it.
        others: where one more link was asked for, those that were not looked at.
        shared_pairs: then, how many pairs of nodes are left out since their links share bandwidth
            with others, so that nothing says what a second cable would add.
    """

    question: Question
    assessed: tuple[Assessed, ...]
    left_out: Mapping[str, tuple[LocatedError, int]] = field(default_factory=dict)
    complete: bool = True
    interrupted: bool = False
    seconds: float = 0.0
    others: Others | None = None
    shared_pairs: int = 0

    @property
    def collectives(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(one.name for one in self.question.collectives)

    def behind(self) -> list[Assessed | None]:
        """For each candidate another one that costs no more, whose bounds are all no higher, and
        which is better in something; None for those that no other is ahead of.

        Only candidates with as many nodes and with the same kind of units are compared.
        """
        return ahead_of(self.assessed, self.collectives)


def ahead_of(assessed: Sequence[Assessed], collectives: Sequence[str]) -> list[Assessed | None]:
    """See `Design.behind`."""
    figures = [one.figures(collectives) for one in assessed]
    return [
        next(
            (
                other
                for other, theirs in zip(assessed, figures, strict=True)
                if other.candidate.comparable == one.candidate.comparable and is_ahead(theirs, ours)
            ),
            None,
        )
        for one, ours in zip(assessed, figures, strict=True)
    ]


def is_ahead(theirs: Figures | None, ours: Figures | None) -> bool:
    """Whether figures are nowhere larger than others, and somewhere smaller."""
    if theirs is None or ours is None or theirs == ours:
        return False
    return all(a <= b for a, b in zip(theirs, ours, strict=True))
