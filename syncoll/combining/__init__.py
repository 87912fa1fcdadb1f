"""Combining collectives out of others: inversion and composition of algorithms."""

from syncoll.combining.composition import compose
from syncoll.combining.inversion import invert
from syncoll.combining.renumbering import matching, refine, renumber

__all__ = ["compose", "invert", "matching", "refine", "renumber"]
