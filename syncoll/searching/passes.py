"""Passes: which candidates are tried for one S, in which order, and for how long.

The paper's strategy tries its candidates once.  The certified one, where no time limit for a
candidate was given, first gives each only a few seconds, so that one hard refutation does not hide
the points behind it, and comes back to the undecided ones when it has a point for this S.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice, takewhile

from syncoll.searching.candidates import CandidateSource
from syncoll.searching.request import Candidate, Strategy

__all__ = ["StepState", "passes"]

_FIRST_SECONDS = 2.0
_QUICK_SECONDS = 5.0
_THOROUGH_SECONDS = 30.0

_MULTIPLES = (4, None)
"""The limits on C of the certified strategy's passes, in multiples of the least C."""


@dataclass
class StepState:
    """What is known about one number of steps.

    Args:
        found: whether the last pass found an algorithm.
        tried: what the solver was asked about.
        undecided: candidates that the solver gave up on, and why.
    """

    steps: int
    best: Fraction | None
    found: bool = False
    tried: set[Candidate] = field(default_factory=set)
    undecided: dict[Candidate, str] = field(default_factory=dict)

    def is_larger(self, candidate: Candidate) -> bool:
        """Whether several copies of an undecided candidate would do: most often that is harder."""
        return any(
            other.bandwidth == candidate.bandwidth and candidate.chunks % other.chunks == 0
            for other in self.undecided
            if other != candidate
        )


def passes(
    source: CandidateSource, step: StepState
) -> Iterator[tuple[Iterable[Candidate], float | None]]:
    """Candidates in ascending order of R/C, of which the first that has an algorithm ends the pass,
    and the seconds for each; None for no limit.

    In the certified strategy the cheapest candidate comes first: most often it meets the bound, and
    nothing is left to do.  Otherwise a point with few chunks is found soon, and leaves less for
    more chunks to beat.

    Args:
        step: kept up to date by the caller between two passes.
    """
    limit = source.request.point_limit
    if source.request.strategy is Strategy.PAPER:
        yield source.candidates(step.steps, step.best), limit
        return

    def may_return(candidate: Candidate) -> bool:
        """Whether to come back to what is undecided: more than the limit on C has one chance."""
        return candidate in step.undecided and candidate.chunks <= source.max_chunks

    cheapest = list(islice(source.candidates(step.steps, step.best), 1))
    yield cheapest, limit or _FIRST_SECONDS
    if not step.found and limit is None:
        # A stronger bound may rule it out sooner than a solver finds that out.
        yield [c for c in cheapest if may_return(c)], 2 * _QUICK_SECONDS
    if not step.found:
        for multiples in _MULTIPLES:
            candidates = source.candidates(step.steps, step.best, multiples)
            untried = (c for c in candidates if c not in step.tried and not step.is_larger(c))
            yield untried, limit or _QUICK_SECONDS
    if limit is None:
        again = sorted(filter(may_return, step.undecided), key=lambda c: (c.bandwidth, c.chunks))
        yield again, _THOROUGH_SECONDS
    # Without a limit on R candidates have no end, but none beyond these is a larger one.
    most = max((c.bandwidth for c in step.undecided), default=Fraction(0))
    rest = takewhile(lambda c: c.bandwidth <= most, source.candidates(step.steps, step.best))
    larger = (c for c in rest if step.is_larger(c))
    yield (c for c in larger if c not in step.tried), limit or _QUICK_SECONDS
