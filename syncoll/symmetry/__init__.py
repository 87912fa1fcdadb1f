"""Automorphisms of a topology and a collective, and what they carry from one node to others."""

from syncoll.symmetry.action import Action
from syncoll.symmetry.candidates import automorphism_graph
from syncoll.symmetry.found import Symmetry, find_symmetry
from syncoll.symmetry.free_group import FreeGroup
from syncoll.symmetry.group import Group
from syncoll.symmetry.orbits import LinkOrbits
from syncoll.symmetry.search import free_symmetry
from syncoll.symmetry.small_group import small_symmetry

__all__ = [
    "Action",
    "FreeGroup",
    "Group",
    "LinkOrbits",
    "Symmetry",
    "automorphism_graph",
    "find_symmetry",
    "free_symmetry",
    "small_symmetry",
]
