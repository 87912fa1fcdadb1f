"""A search that returns a frontier after any interruption, even before its first bound."""

import time
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from syncoll.clock import limit_in_words
from syncoll.deadline import Deadline, OutOfTimeError
from syncoll.ledger import Observer, SearchRequest
from syncoll.ledger.events import Log
from syncoll.results import Frontier, OpenClaim
from syncoll.searching.agenda import OUT_OF_MEMORY
from syncoll.searching.answers import AnswerSource
from syncoll.searching.frontiers import search

SHARE_BEFORE_PROOFS = 0.7
"""The part of a time limit for a search before the proofs of its refutations."""

Keep = Callable[[Frontier], None]


def search_to_the_end(
    request: SearchRequest,
    answers: AnswerSource,
    observer: Observer | Log | None,
    keep: Keep | None,
    until: Deadline,
) -> Frontier:
    """The frontier of a search; incomplete after Ctrl-C, a limit of time or a lack of memory."""
    began = time.perf_counter()
    kept: list[Frontier] = []

    def keep_too(frontier: Frontier) -> None:
        kept[:] = [frontier]
        if keep is not None:
            keep(frontier)

    interrupted, reason = True, "interrupted"
    try:
        return search(request, answers, observer, on_points=keep_too, deadline=until)
    except KeyboardInterrupt:
        pass
    except OutOfTimeError:
        interrupted, reason = False, limit_in_words()
    except MemoryError as error:  # elsewhere the search goes on without the result
        interrupted, reason = False, OUT_OF_MEMORY
        answers.lost(f"{reason}: {error}")
    if kept:
        return replace(kept[0], complete=False, interrupted=interrupted)
    return Frontier(
        request.topology,
        request.collective.name,
        (),
        (OpenClaim(0, None, Fraction(0), None, reason),),
        "nothing yet",
        {"strategy": str(request.strategy)},
        complete=False,
        interrupted=interrupted,
        seconds=time.perf_counter() - began,
    )
