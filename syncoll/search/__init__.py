"""The search for Pareto frontiers between latency cost S and bandwidth cost R/C."""

from syncoll.search.asking import Asking
from syncoll.search.bounds_table import BoundsTable
from syncoll.search.candidates import Candidate, CandidateSource
from syncoll.search.combined import search
from syncoll.search.driver import OUT_OF_MEMORY
from syncoll.search.observer import Observer
from syncoll.search.one import decided_as, solve_one
from syncoll.search.request import SearchRequest, Strategy
from syncoll.search.seeding import ChosenSeed, Seeding

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
