"""Combining collectives out of others: inversion and composition of algorithms."""

from syncoll.combining.composition import compose
from syncoll.combining.inversion import invert
from syncoll.combining.refinement import refine, renumber

__all__ = ["compose", "invert", "refine", "renumber"]
