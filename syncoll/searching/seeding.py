"""Points that seeds construct, before any solver is asked and beside it.

A seed is a heuristic: fast, and known only to be right once the verifier has passed what it made.
Its points are shown at once, bound what the solver is asked for from above, and where they meet a
proved bound nothing is left to ask.

Seeds that promise to be quick are asked first.  On a small machine a solver is often as fast as a
seed: the slow ones wait there until it finds its questions hard.  On a large one those that become
better for as long as they are let run do so beside the search, on a core of their own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from syncoll.deadline import NEVER, Deadline
from syncoll.ledger.incumbents import shows_families
from syncoll.ledger.request import SearchRequest
from syncoll.ledger.sizes import is_small, is_tiny
from syncoll.plugins import SeedLimits
from syncoll.results.family import Family
from syncoll.results.frontier import Point
from syncoll.searching.heuristics import Heuristics

__all__ = ["arrived", "first_round", "next_round"]

_SEED_SECONDS = (1.0, 20.0)
"""The work that the seeds of a search may do for more than one algorithm each before a solver is
asked, on a small machine and on others.  Where there is a time limit it may be more, since searches
that need one are long: ..."""

_SHARE_OF_SEEDS = ((0.05, 0.3), (0.75, 0.75))
"""... this part of it; and never more than that part.  Where data is combined a solver is slow on
any machine."""

_SHARE_FOR_SEEDS = 0.8
"""When this part of the time is over they are stopped, however little a busy machine let them
work."""

_SHARE_OF_SEEDS_ALONE = 0.7
"""The same where no solver is asked; the rest is for what can be proved about their points."""

_SHARE_OF_ALL = 0.95
"""And where nothing is to be proved either."""

_LONG_SECONDS = 10.0
"""With so much time they work beside a search for what combines data on a small machine, too, and
beside any that is not of the smallest."""

_KNOWING_SECONDS = 5.0
"""With so much they do where they know something to begin with: then they are soon of use."""

_SHORT_SECONDS = 4.0
"""With less none works beside a search: what a process needs to begin, and to come to its end in
time, would be most of it."""

_LATE_SECONDS = 1.5
"""Before the end, so that what seeds have in hand beside the search still comes in time."""

_SHARE_OF_WAIT = 0.3
"""The part of the time in which what they find there is waited for in the beginning."""

_PATIENCE_SECONDS = 10.0
_SHARE_OF_PATIENCE = 0.15
"""What a seed's work may take until it has its first algorithm, unless a solver is as fast: on a
large machine that has none for long."""


def first_round(
    run: Heuristics,
    request: SearchRequest,
    deadline: Deadline,
    *,
    alone: bool,
    proving: bool = True,
    ends: Deadline | None = None,
) -> Iterator[Point]:
    """What seeds construct before any solver is asked.

    Args:
        run: seeds at work on the request's collective.
        alone: whether no solver is asked.
        proving: whether something is to be proved about their points, or asked of a solver; if not,
            all the time is theirs.
        ends: until when those that work beside the search do so, where there is a core for them;
            None for the deadline.
    """
    run.shows_families = shows_families(request)
    share = _SHARE_OF_SEEDS_ALONE if alone else _SHARE_FOR_SEEDS
    until = deadline.share(share if proving else _SHARE_OF_ALL)
    left = max(0.0, deadline.left())
    work, slowest = until.seconds, math.inf
    if not alone and (proving or deadline.is_never):
        large = not is_small(request.topology)
        work = _SEED_SECONDS[large]
        if not large:
            slowest = _SEED_SECONDS[0]  # a solver is sooner
        if not deadline.is_never:
            shares = _SHARE_OF_SEEDS[large or request.collective.combining]
            least, most = (left * part for part in shares)
            work = min(max(work, least), most)
    limits = _limits(request, work, until)
    soon = not alone and is_small(request.topology)
    patience = min(_SEED_SECONDS[0] if soon else _PATIENCE_SECONDS, left * _SHARE_OF_PATIENCE)
    ends, wait = ends or deadline, 0.0
    combining = request.collective.combining
    hard = combining or not is_tiny(request.topology)
    hard = hard and _LONG_SECONDS <= ends.left() < math.inf
    begun = run.warm_starts and _KNOWING_SECONDS <= ends.left() < math.inf
    short = not run.in_background and ends.left() < _SHORT_SECONDS
    if alone or not proving or short or (soon and not (hard or begun)):
        return _points(run.turn(limits, patience, slowest))
    if not run.in_background and (hard or not soon):
        most = _PATIENCE_SECONDS if combining or not soon else _SEED_SECONDS[0]
        wait = min(most, deadline.left(), ends.left() * _SHARE_OF_WAIT)
    background = ends.before(_LATE_SECONDS)
    return _points(run.turn(limits, patience, slowest, background=background, wait=wait))


def next_round(
    run: Heuristics,
    request: SearchRequest,
    work: float,
    until: Deadline,
    *,
    ends: Deadline | None = None,
    wait: float = 0.0,
) -> Iterator[Point]:
    """What they find in another round.

    Args:
        work: seconds for all together.
        until: when the round is over, however little a busy machine let them work.
        ends: until when those that can work beside the search do so from now on; None for turns.
        wait: for what those propose.
    """
    run.shows_families = shows_families(request)
    limits = _limits(request, work, until)
    if ends is not None:
        run.go_to_background(limits, ends.before(_LATE_SECONDS))
    return _points(run.turn(limits, wait=wait))


def arrived(run: Heuristics, request: SearchRequest) -> Iterator[Point]:
    """What has come by now from those that work beside the search."""
    run.shows_families = shows_families(request)
    return _points(run.arrivals(_limits(request), 0.0))


def _points(found: Iterator[Point | Family]) -> Iterator[Point]:
    return (one for one in found if isinstance(one, Point))


def _limits(
    request: SearchRequest, seconds: float | None = None, until: Deadline = NEVER
) -> SeedLimits:
    most = request.max_steps, request.max_rounds, request.max_chunks
    return SeedLimits(*most, seconds, until, is_part=request.is_part)
