"""MultiTree: a spanning tree for every chunk, all grown at once, each edge with its time step.

MultiTree paper (Huang et al., Communication Algorithm-Architecture Co-Design for Distributed Deep
Learning), Algorithm 1.  Reducescatter and allreduce come from its allgather by inversion and
composition, as in the paper.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncoll.plugins import Answer, Option, Seed, SeedRecord, hookimpl

if TYPE_CHECKING:
    from syncoll.model import Collective, Topology

__all__ = ["RECORD", "load", "syncoll_seeds"]


def load() -> Seed:
    """The seed."""
    from syncoll_multitree.seed import MultiTreeSeed

    return MultiTreeSeed()


def _fits(topology: Topology, collective: Collective) -> Answer:
    from syncoll_multitree.seed import fits

    return fits(topology, collective)


RECORD = SeedRecord(
    name="multitree",
    summary="MultiTree: spanning trees grown together, level by level, on links that are free",
    load=load,
    options=(
        Option(
            "order",
            "any",
            "which neighbour a node takes in first; any tries the others",
            choices=("any", "far", "index", "scarce"),
        ),
        Option(
            "turns",
            "any",
            "which tree goes first in a time step; any: height unless the network is regular",
            choices=("any", "root", "height", "missing"),
        ),
        Option(
            "search",
            "any",
            "on switches, how a tree looks for its next node: near ones before all others, or from "
            "its nodes in turn as in the paper",
            choices=("any", "near", "node"),
        ),
        Option("trees", 8, "at most so many trees, and chunks, of a node", low=1),
        Option("pipelined", True, "also cut what goes down the trees into segments"),
        Option("sends", 4_000_000, "construct at most so many sends in all", low=1),
        Option("seconds", 10.0, "begin no trees beyond the first after so many", low=0.0),
    ),
    fits=_fits,
    first_seconds=0.02,
)


@hookimpl
def syncoll_seeds() -> list[SeedRecord]:
    """This seed."""
    return [RECORD]
