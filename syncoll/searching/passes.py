"""Passes: which candidates are tried for one S, in which order, and for how long.

The paper's strategy tries its candidates once.  The certified one, where no time limit for a
candidate was given, looks at every S three times, each time for longer: one hard refutation must
hide neither the points behind it nor those of other S.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from itertools import islice, takewhile

from syncoll.ledger.candidates import CandidateSource
from syncoll.ledger.ledger import StepState
from syncoll.ledger.request import Candidate, Strategy

__all__ = ["LOOKS", "Passes"]

_FIRST_SECONDS = 2.0
_QUICK_SECONDS = 5.0
_THOROUGH_SECONDS = 30.0

_FEW_MULTIPLES = 4
"""The limit on C of the first look, in multiples of the least C."""

Passes = Iterator[tuple[Iterable[Candidate], float | None]]
"""Candidates in ascending order of R/C, of which the first that has an algorithm ends the pass, and
the seconds for each; None for no limit."""


def first_look(source: CandidateSource, step: StepState) -> Passes:
    """The cheapest candidate, then those with few chunks.

    Most often the cheapest one meets the bound, and nothing is left to do.  Otherwise a point with
    few chunks is found soon, and leaves less for more chunks to beat.

    Args:
        step: kept up to date by the caller between two passes.
    """
    limit = source.request.point_limit
    if source.request.strategy is Strategy.PAPER:
        yield source.candidates(step.steps, step.best), limit
        return
    cheapest = list(islice(source.candidates(step.steps, step.best), 1))
    step.cheapest = cheapest[0] if cheapest else None
    yield cheapest, limit or _FIRST_SECONDS
    yield _untried(source, step, _FEW_MULTIPLES), limit or _FIRST_SECONDS


def second_look(source: CandidateSource, step: StepState) -> Passes:
    """The cheapest candidate with more time, then those with any number of chunks."""
    limit = source.request.point_limit
    if source.request.strategy is Strategy.PAPER:
        return
    if limit is None and step.cheapest is not None:
        # A stronger bound may have ruled it out meanwhile.
        yield [c for c in [step.cheapest] if _may_return(source, step, c)], 2 * _QUICK_SECONDS
    yield _untried(source, step, None), limit or _QUICK_SECONDS


def few_chunks_again(source: CandidateSource, step: StepState) -> Passes:
    """Undecided candidates with few chunks, with much more time.

    A larger limit on C adds many cheaper candidates, and still finds the points of a smaller one.
    """
    if source.request.strategy is Strategy.PAPER or source.request.point_limit is not None:
        return
    most = _FEW_MULTIPLES * source.least_chunks
    yield _undecided(source, step, most), _THOROUGH_SECONDS


def last_look(source: CandidateSource, step: StepState) -> Passes:
    """The other undecided candidates, with much more time; then larger ones of the same costs."""
    limit = source.request.point_limit
    if source.request.strategy is Strategy.PAPER:
        return
    if limit is None:
        again = _undecided(source, step, source.max_chunks)
        few = _FEW_MULTIPLES * source.least_chunks
        yield [c for c in again if c.chunks > few], _THOROUGH_SECONDS
    # Without a limit on R candidates have no end, but none beyond these is a larger one.
    most = max((c.bandwidth for c in step.undecided), default=Fraction(0))
    rest = takewhile(lambda c: c.bandwidth <= most, source.candidates(step.steps, step.best))
    larger = (c for c in rest if step.is_larger(c))
    yield (c for c in larger if c not in step.tried), limit or _QUICK_SECONDS


LOOKS: tuple[Callable[[CandidateSource, StepState], Passes], ...] = (
    first_look,
    second_look,
    few_chunks_again,
    last_look,
)
"""At every S, one after the other."""


def _untried(
    source: CandidateSource, step: StepState, multiples: int | None
) -> Iterator[Candidate]:
    candidates = source.candidates(step.steps, step.best, multiples)
    return (c for c in candidates if c not in step.tried and not step.is_larger(c))


def _undecided(source: CandidateSource, step: StepState, most: int) -> list[Candidate]:
    """The undecided candidates of at most `most` chunks, in ascending order of R/C."""
    again = [c for c in step.undecided if c.chunks <= most and _may_return(source, step, c)]
    return sorted(again, key=lambda c: (c.bandwidth, c.chunks))


def _may_return(source: CandidateSource, step: StepState, candidate: Candidate) -> bool:
    """Whether to come back to what is undecided: more than the limit on C has one chance."""
    return candidate in step.undecided and candidate.chunks <= source.max_chunks
