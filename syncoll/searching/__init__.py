"""The search for Pareto frontiers between latency cost S and bandwidth cost R/C."""

from typing import TYPE_CHECKING

from syncoll.lazy import lazily

if TYPE_CHECKING:
    from syncoll.searching.asking import Asking
    from syncoll.searching.bounds_table import BoundsTable
    from syncoll.searching.candidates import Candidate, CandidateSource
    from syncoll.searching.combined import search
    from syncoll.searching.driver import OUT_OF_MEMORY
    from syncoll.searching.observer import Observer
    from syncoll.searching.one import decided_as, solve_one
    from syncoll.searching.request import SearchRequest, Strategy
    from syncoll.searching.seeding import ChosenSeed, Seeding
else:  # a single question needs a part of it
    __getattr__ = lazily(
        __name__,
        {
            "asking": "Asking",
            "bounds_table": "BoundsTable",
            "candidates": "Candidate CandidateSource",
            "combined": "search",
            "driver": "OUT_OF_MEMORY",
            "observer": "Observer",
            "one": "decided_as solve_one",
            "request": "SearchRequest Strategy",
            "seeding": "ChosenSeed Seeding",
        },
    )

__all__ = [
    "OUT_OF_MEMORY",
    "Asking",
    "BoundsTable",
    "Candidate",
    "CandidateSource",
    "ChosenSeed",
    "Observer",
    "SearchRequest",
    "Seeding",
    "Strategy",
    "decided_as",
    "search",
    "solve_one",
]
