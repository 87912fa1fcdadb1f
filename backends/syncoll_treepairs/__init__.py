"""Allreduce by pairs of timed trees: into a core of nodes, an exchange there, and out of it.

Every chunk is collected along a tree (or a forest) into one node, or into a few that exchange what
they have, and spread along another.  Which trees, which core and which steps is chosen together by
a linear program over all such ways to sum a chunk (column generation), so that data still being
summed and data already summed share the links of a step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncoll.plugins import Answer, Option, Seed, SeedRecord, hookimpl

if TYPE_CHECKING:
    from syncoll.model import Collective, Topology

__all__ = ["RECORD", "load", "syncoll_seeds"]


def load() -> Seed:
    """The seed."""
    from syncoll_treepairs.seed import TreePairSeed

    return TreePairSeed()


def _fits(topology: Topology, collective: Collective) -> Answer:
    from syncoll_treepairs.seed import fits

    return fits(topology, collective)


RECORD = SeedRecord(
    name="treepairs",
    summary="allreduce by pairs of trees that meet in a core, packed with their steps",
    load=load,
    options=(
        Option("chunks", 131072, "C at most, without --max-chunks", low=1),
        Option("seconds", 30.0, "end after so many where the search has no limit", low=0.0),
    ),
    fits=_fits,
    first_seconds=0.4,
    weight=12.0,
    resumes=True,
)


@hookimpl
def syncoll_seeds() -> list[SeedRecord]:
    """This seed."""
    return [RECORD]
