"""The phases of a candidate search: which candidates for one S, in which order, for how long.

The paper's strategy tries its candidates once.  The certified strategy, without a time limit for a
candidate, returns to every S three times, each time for longer: one hard refutation must hide
neither the points behind it nor points of other S.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from itertools import takewhile

from syncoll.ledger import Candidate, CandidateSource, Strategy
from syncoll.ledger.ledger import StepState
from syncoll.searching.shares import SHORT_SECONDS

QUICK_SECONDS, _THOROUGH_SECONDS = 5.0, 30.0
"""For each candidate in the second phase and the last two (dgx1 and a100(boxes=2) in
`benchmarks/paper_tables.py`)."""

_FEW_MULTIPLES = 4
"""Few chunks are at most this multiple of the least C."""

Passes = Iterator[tuple[Iterable[Candidate], float | None]]
"""Candidates in ascending order of R/C, and the seconds for each (None for no limit).  The first
that has an algorithm ends the pass."""

Phase = Callable[[CandidateSource, StepState], Passes]
"""The passes for one S, whose state the caller keeps up to date between two of them."""


def _paper(source: CandidateSource, step: StepState) -> Passes:
    yield source.candidates(step.steps, step.best), source.request.point_limit


def _first(source: CandidateSource, step: StepState) -> Passes:
    """The cheapest candidate, then the ones with few chunks.

    The cheapest one mostly meets the bound, and nothing is left to do.  Otherwise a point with few
    chunks is found soon, and leaves less to improve for more chunks.
    """
    seconds = source.request.point_limit or SHORT_SECONDS
    step.cheapest = next(source.candidates(step.steps, step.best), None)
    yield [] if step.cheapest is None else [step.cheapest], seconds
    yield _untried(source, step, _FEW_MULTIPLES, all_grains=False), seconds


def _second(source: CandidateSource, step: StepState) -> Passes:
    """The cheapest candidate with more time, then candidates with any number of chunks."""
    limit = source.request.point_limit
    if limit is None:  # a stronger bound may have ruled it out meanwhile
        yield [c for c in _undecided(source, step) if c == step.cheapest], 2 * QUICK_SECONDS
    yield _untried(source, step), limit or QUICK_SECONDS


def _few_chunks_again(source: CandidateSource, step: StepState) -> Passes:
    """Undecided candidates with few chunks, with much more time.  A larger limit on C adds many
    cheaper candidates, and still finds the points of a smaller one."""
    yield _undecided(source, step, few=True), _THOROUGH_SECONDS


def _last(source: CandidateSource, step: StepState) -> Passes:
    """The other undecided candidates, with much more time; then larger ones of the same costs."""
    yield _undecided(source, step, few=False), _THOROUGH_SECONDS
    # Without a limit on R candidates have no end, but none beyond these is a larger one.
    most = max((c.bandwidth for c in step.undecided), default=Fraction(0))
    rest = takewhile(lambda c: c.bandwidth <= most, source.candidates(step.steps, step.best))
    larger = (c for c in rest if step.is_larger(c) and c not in step.tried)
    yield larger, source.request.point_limit or QUICK_SECONDS


PHASES: Mapping[Strategy, tuple[Phase, ...]] = {
    Strategy.PAPER: (_paper,),
    Strategy.CERTIFIED: (_first, _second, _few_chunks_again, _last),
}
"""The phases of each strategy; each runs for every S before the next begins."""


def _untried(
    source: CandidateSource,
    step: StepState,
    multiples: int | None = None,
    *,
    all_grains: bool = True,
) -> Iterator[Candidate]:
    candidates = source.candidates(step.steps, step.best, multiples, all_grains=all_grains)
    return (c for c in candidates if c not in step.tried and not step.is_larger(c))


def _undecided(
    source: CandidateSource, step: StepState, few: bool | None = None
) -> list[Candidate]:
    """Undecided candidates by R/C, those beyond the limit on C once; none if each has its own time.
    `few` restricts them to few chunks, or to the others."""
    if source.request.point_limit is not None:
        return []
    most = _FEW_MULTIPLES * source.least_chunks
    again = [c for c in step.undecided if c.chunks <= source.max_chunks]
    again = [c for c in again if few is None or few == (c.chunks <= most)]
    return sorted(again, key=lambda c: (c.bandwidth, c.chunks))
