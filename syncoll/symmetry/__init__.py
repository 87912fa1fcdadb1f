"""Automorphisms of a topology and a collective, and the groups that they generate."""

from syncoll.symmetry.action import Action as Action
from syncoll.symmetry.candidates import automorphism_graph as automorphism_graph
from syncoll.symmetry.group import FreeGroup as FreeGroup, Group as Group
from syncoll.symmetry.orbits import LinkOrbits as LinkOrbits
from syncoll.symmetry.search import *
