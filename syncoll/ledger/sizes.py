"""How large a network is for a search: whether solvers or seeds are sooner there."""

from __future__ import annotations

from bisect import bisect_left
from enum import IntEnum

from syncoll.model import Topology

__all__ = ["Size", "is_small", "size_of"]


class Size(IntEnum):
    """Sizes of a network.

    * `TINY`: a solver is as fast as seeds with warm starts, or in the background (ring(8)).
    * `SMALL`: a solver is often as fast as a seed (torus(4,4)).
    * `MEDIUM`: seeds construct for as long as a solver would take (mesh(6,6)).
    * `WIDE`: seeds of a composition have a first look only.
    * `LARGE`: a solver seldom finds what seeds do not (torus(8,8)).
    """

    TINY, SMALL, MEDIUM, WIDE, LARGE = range(5)


_MOST = (500, 1_200, 6_000, 12_000)
"""Links times nodes of all but the largest, by the rows of `benchmarks/scale.py`."""


def size_of(topology: Topology) -> Size:
    """The size of a network."""
    return Size(bisect_left(_MOST, len(topology.links) * topology.num_nodes))


def is_small(topology: Topology) -> bool:
    """Whether a solver is often as fast as a seed."""
    return size_of(topology) <= Size.SMALL
