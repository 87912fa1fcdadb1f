"""Automorphisms of a topology and a collective, and what they carry from one node to others."""

from syncoll.symmetry.free_group import FreeGroup
from syncoll.symmetry.orbits import LinkOrbits
from syncoll.symmetry.search import free_symmetry

__all__ = ["FreeGroup", "LinkOrbits", "free_symmetry"]
