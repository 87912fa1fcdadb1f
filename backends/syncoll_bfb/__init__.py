"""Breadth-first broadcast: every node receives a chunk in the step that its distance allows.

Pal et al., Efficient Direct-Connect Topologies for Collective Communications (NSDI 2025, arXiv
2202.03356), section 5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncoll.plugins import Answer, Seed, SeedRecord, hookimpl

if TYPE_CHECKING:
    from syncoll.model import Collective, Topology

__all__ = ["RECORD", "load", "syncoll_seeds"]


def load() -> Seed:
    """The seed."""
    from syncoll_bfb.seed import BreadthFirstSeed

    return BreadthFirstSeed()


def _fits(topology: Topology, collective: Collective) -> Answer:
    from syncoll_bfb.seed import fits

    return fits(topology, collective)


RECORD = SeedRecord(
    name="bfb",
    summary="breadth-first broadcast: chunks arrive along shortest paths as early as they can",
    load=load,
    fits=_fits,
    first_seconds=0.01,
)


@hookimpl
def syncoll_seeds() -> list[SeedRecord]:
    """This seed."""
    return [RECORD]
