"""The trees of a forest as waves, started again in every step, for every number of waves.

A step in the middle loads the links with all trees together, so R/C tends to the forest's
throughput.  The multiple of the trees is chosen that loses the fewest rounds in the first and last
waves, where a step of several rounds can be shorter.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from syncoll.model import Collective, Topology
from syncoll.results import Family
from syncoll.scheduling import StepTree, waves_of_streams
from syncoll.scheduling.packing import TreePacking

__all__ = ["best_waves"]

_TIMES = (1, 2, 3, 4, 6, 8, 9)
"""The multiples of the trees that are tried."""

_LATE = 64
"""Families are compared by the member of so many waves."""

_MOST_SENDS = 1 << 16
"""Waves of more are not made."""


def best_waves(
    topology: Topology, collective: Collective, trees: Iterable[StepTree], most_chunks: int | None
) -> Family | None:
    """The family of waves that loses the fewest rounds; None where R/C would not fall.

    Args:
        collective: not combining.
        trees: at least one for each class of chunks.
        most_chunks: limit on C of its first member, or None.
    """
    packing = TreePacking(topology, trees)
    best: Family | None = None
    for times, chunks in packing.chunk_counts(collective, _TIMES, most_chunks):
        streams = packing.deal(collective.tabulate(topology.num_nodes, chunks))
        if not times or not 0 < streams.num_sends <= _MOST_SENDS:
            break
        family = waves_of_streams(topology, collective, streams, chunks)
        if family is None or (
            most_chunks is not None and family.chunks.at(family.first) > most_chunks
        ):
            continue
        if best is None or _late(family) < _late(best):
            best = family
    return best


def _late(family: Family) -> Fraction:
    """R/C of a member; of all families of the same trees it has as many steps."""
    return family.bandwidth(max(family.first, _LATE))
