"""How large a machine is for a search: whether solvers or seeds are sooner there."""

from __future__ import annotations

from syncoll.model import Topology

__all__ = ["is_for_seeds", "is_small", "is_tiny"]

_TINY, _SMALL, _LARGE = 500, 1_200, 12_000
"""Links times nodes, up to which a solver is as fast as seeds that know something to begin with, or
work beside it; up to which it is often as fast as a seed that does not; and beyond which it seldom
finds what seeds do not."""


def is_small(topology: Topology) -> bool:
    """Whether a solver is often as fast as a seed."""
    return len(topology.links) * topology.num_nodes <= _SMALL


def is_tiny(topology: Topology) -> bool:
    """Whether a solver is as fast as any seed."""
    return len(topology.links) * topology.num_nodes <= _TINY


def is_for_seeds(topology: Topology, know: bool = False) -> bool:
    """Whether a solver seldom finds what seeds do not, or not as soon.

    Args:
        know: whether they know something to begin with.
    """
    return len(topology.links) * topology.num_nodes > (_TINY if know else _LARGE)
