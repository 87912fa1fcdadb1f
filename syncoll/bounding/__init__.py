"""Lower bounds on rounds, exact, with certificates that need no solver to check."""

from syncoll.bounding.at_once import bound_at_once
from syncoll.bounding.combining import combining_rounds_bound
from syncoll.bounding.rounds import BoundsMemory, rounds_bound, with_cut, with_trees

__all__ = [
    "BoundsMemory",
    "bound_at_once",
    "combining_rounds_bound",
    "rounds_bound",
    "with_cut",
    "with_trees",
]
