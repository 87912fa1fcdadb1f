"""How large a network is for a search: whether solvers or seeds are sooner there."""

from __future__ import annotations

from enum import IntEnum

from syncoll.model import Topology

__all__ = ["Size", "is_small", "size_of"]


class Size(IntEnum):
    """Sizes, each up to so many links times nodes.

    * `TINY`: a solver is as fast as seeds with warm starts, or in the background.
    * `SMALL`: a solver is often as fast as a seed (dgx1).
    * `MEDIUM`: seeds construct for as long as a solver would take (torus(4,4)).
    * `WIDE`: seeds of a composition have a first look only (torus(8,8)).
    * `LARGE`: a solver seldom finds what seeds do not (torus(8,8,8)).
    """

    TINY = 500
    SMALL = 1_200
    MEDIUM = 6_000
    WIDE = 12_000
    LARGE = 12_001


def size_of(topology: Topology) -> Size:
    """The size of a network."""
    found = len(topology.links) * topology.num_nodes
    return next((size for size in Size if found <= size), Size.LARGE)


def is_small(topology: Topology) -> bool:
    """Whether a solver is often as fast as a seed."""
    return size_of(topology) <= Size.SMALL
