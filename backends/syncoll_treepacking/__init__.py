"""Spanning-tree packing: the best division of the data over trees, by linear programming.

After "Optimal Message Scheduling for Aggregation" (SysML 2018).  Importing this package loads no
solver; `syncoll_treepacking.search` has the packings themselves, for physical networks as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncoll.plugins import Answer, Option, SeedRecord, hookimpl, installed_distribution

if TYPE_CHECKING:
    from syncoll.model import Collective, Topology
    from syncoll_treepacking.seed import TreePackingSeed

__all__ = ["RECORD", "syncoll_seeds"]

_MOST_ENTRIES = 1 << 22
"""Roots times links: beyond it the program of one tree for each root is not attempted."""


def load() -> TreePackingSeed:
    """The seed; the solver comes with it."""
    from syncoll_treepacking.seed import TreePackingSeed

    return TreePackingSeed()


def _installed() -> Answer:
    return installed_distribution("highspy", "highspy")


def _fits(topology: Topology, collective: Collective) -> Answer:
    from syncoll.errors import ModelError
    from syncoll_treepacking.demand import Demand
    from syncoll_treepacking.links import LinkSystem

    demand = Demand.of(collective, topology.num_nodes)
    if isinstance(demand, str):
        return Answer(False, demand)
    try:
        if demand.combines:
            LinkSystem.undirected(topology)
            return Answer(True, "spanning trees, used in both directions")
        LinkSystem.rooted(topology, demand.sources)
    except ModelError as error:
        return Answer(False, f"{error.message}; it needs {error.expected}")
    if len(demand.sources) * len(topology.links) > _MOST_ENTRIES:
        return Answer(False, f"trees for {len(demand.sources)} roots are too many to weigh up")
    return Answer(True, "trees that lead from each source to all nodes")


RECORD = SeedRecord(
    name="treepacking",
    summary="spanning-tree packing: the best division of the data over trees, by linear program",
    load=load,
    options=(
        Option("seconds", 10.0, "for the linear program, and again for whole trees", low=0.01),
    ),
    installed=_installed,
    fits=_fits,
    by_default=False,  # slower than the others, and seldom better; see benchmarks/seeds.py
)


@hookimpl
def syncoll_seeds() -> list[SeedRecord]:
    """This seed."""
    return [RECORD]
