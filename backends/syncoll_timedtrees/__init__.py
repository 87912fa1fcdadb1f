"""Timed trees: every chunk's sends and their steps at once, packed by column generation.

A linear program shares the chunks of a node among trees in the network of links and steps; its dual
prices say which trees are worth adding.  It is solved on the orbits of a group of automorphisms, so
that one node of many has to be looked at, and rounded to whole chunks by an integer program.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncoll.plugins import Answer, Option, Seed, SeedRecord, hookimpl

if TYPE_CHECKING:
    from syncoll.model import Collective, Topology

__all__ = ["RECORD", "load", "syncoll_seeds"]


def load() -> Seed:
    """The seed."""
    from syncoll_timedtrees.seed import TimedTreeSeed

    return TimedTreeSeed()


def _fits(topology: Topology, collective: Collective) -> Answer:
    from syncoll_timedtrees.seed import fits

    return fits(topology, collective)


RECORD = SeedRecord(
    name="timedtrees",
    summary="timed trees packed by column generation on the orbits of a symmetry",
    load=load,
    options=(
        Option("chunks", 16384, "C up to so many times the least, without --max-chunks", low=1),
        Option("seconds", 30.0, "end after so many where the search has no limit", low=0.0),
    ),
    fits=_fits,
    first_seconds=1.5,
    weight=12.0,
    resumes=True,
)


@hookimpl
def syncoll_seeds() -> list[SeedRecord]:
    """This seed."""
    return [RECORD]
