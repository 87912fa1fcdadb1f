"""The search for Pareto frontiers between latency cost S and bandwidth cost R/C."""

from syncoll.searching.asking import Asking
from syncoll.searching.bounds_table import BoundsTable
from syncoll.searching.candidates import Candidate, CandidateSource
from syncoll.searching.combined import search
from syncoll.searching.driver import OUT_OF_MEMORY
from syncoll.searching.observer import Observer
from syncoll.searching.one import decided_as, solve_one
from syncoll.searching.request import SearchRequest, Strategy
from syncoll.searching.seeding import ChosenSeed, Seeding

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
