"""Lower bounds on rounds, exact, with certificates that need no solver to check."""

from syncoll.bounding.combining import combining_rounds_bound, least_combining_cut
from syncoll.bounding.rounds import least_cut, rounds_bound, with_cut, with_trees

__all__ = [
    "combining_rounds_bound",
    "least_combining_cut",
    "least_cut",
    "rounds_bound",
    "with_cut",
    "with_trees",
]
