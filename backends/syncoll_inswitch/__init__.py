"""Allreduce by switches that copy and add up: wave after wave of sums and of copies of them.

Sums of some chunks come to their nodes while the results of those before them are copied to all:
the first fill the cables towards the switch, the others the cables back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncoll.plugins import Answer, Option, Seed, SeedRecord, hookimpl

if TYPE_CHECKING:
    from syncoll.model import Collective, Topology

__all__ = ["RECORD", "load", "syncoll_seeds"]


def load() -> Seed:
    """The seed."""
    from syncoll_inswitch.seed import InSwitchSeed

    return InSwitchSeed()


def _fits(topology: Topology, collective: Collective) -> Answer:
    from syncoll_inswitch.seed import fits

    return fits(topology, collective)


RECORD = SeedRecord(
    name="inswitch",
    summary="allreduce in switches that copy and add up, wave after wave",
    load=load,
    options=(
        Option("steps", 12, "members of up to so many steps become points", low=1),
        Option(
            "head",
            "yes",
            "a chunk more in the first step, copied by every node, where there is room for it",
            choices=("yes", "no"),
        ),
    ),
    fits=_fits,
    first_seconds=0.05,
    weight=6.0,
    resumes=True,
    counts_copies=True,
)


@hookimpl
def syncoll_seeds() -> list[SeedRecord]:
    """This seed."""
    return [RECORD]
