"""The search for Pareto frontiers between latency cost S and bandwidth cost R/C."""

from typing import TYPE_CHECKING

from syncoll.lazy import lazily

if TYPE_CHECKING:
    from syncoll.searching.answers import AnswerSource
    from syncoll.searching.constructing import constructed
    from syncoll.searching.driver import OUT_OF_MEMORY
    from syncoll.searching.frontiers import search
    from syncoll.searching.heuristic_state import ChosenSeed
    from syncoll.searching.heuristics import Seeding
    from syncoll.searching.point import decided_as, solve_one
else:  # a single question needs a part of it
    __getattr__ = lazily(
        __name__,
        {
            "answers": "AnswerSource",
            "constructing": "constructed",
            "driver": "OUT_OF_MEMORY",
            "frontiers": "search",
            "point": "decided_as solve_one",
            "heuristics": "ChosenSeed Seeding",
        },
    )

__all__ = [
    "OUT_OF_MEMORY",
    "AnswerSource",
    "ChosenSeed",
    "Seeding",
    "constructed",
    "decided_as",
    "search",
    "solve_one",
]
