"""The search for Pareto frontiers between latency cost S and bandwidth cost R/C."""

from syncoll.search.bounds_table import BoundsTable
from syncoll.search.candidates import Candidate, CandidateSource
from syncoll.search.combined import search
from syncoll.search.frontier import Frontier, OpenClaim, Point
from syncoll.search.observer import Observer
from syncoll.search.one import decided_as, solve_one
from syncoll.search.request import SearchRequest, Strategy

__all__ = [
    "BoundsTable",
    "Candidate",
    "CandidateSource",
    "Frontier",
    "Observer",
    "OpenClaim",
    "Point",
    "SearchRequest",
    "Strategy",
    "decided_as",
    "search",
    "solve_one",
]
