"""ForestColl: provably optimal spanning trees for collectives, on networks with switches.

The algorithms of "ForestColl: Efficient Collective Communications on Heterogeneous Network
Fabrics", in exact arithmetic, made fast enough for a thousand GPUs.

::

    Fabric --bottleneck--> Bottleneck (time, cut, k) --> Network of integer capacities
           --remove_switches--> direct links with paths --Packer--> Forest --verify_forest--> Plan

As a plugin it offers forests to ``syncoll forest``, and as a seed the algorithms that their trees
make.  Its functions load on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from syncoll.plugins import Answer, Option, Seed, SeedRecord, hookimpl, installed_distribution

if TYPE_CHECKING:
    from syncoll.model import Collective, Topology
    from syncoll.model.forest import Forest, Tree
    from syncoll.plugins import ForestPacker
    from syncoll.routing.cuts import cut_ratio
    from syncoll.routing.optimality import Bottleneck, bottleneck
    from syncoll.trust.forest import verify_forest
    from syncoll_forestcoll.allreduce_program import (
        AllreduceBounds,
        allreduce_bounds,
        pack_allreduce,
    )
    from syncoll_forestcoll.collectives import (
        Allreduce,
        Plan,
        allgather,
        allreduce,
        broadcast,
        reduce,
        reducescatter,
        weighted_broadcast,
    )

__all__ = [
    "RECORD",
    "Allreduce",
    "AllreduceBounds",
    "Bottleneck",
    "Forest",
    "Plan",
    "Tree",
    "allgather",
    "allreduce",
    "allreduce_bounds",
    "bottleneck",
    "broadcast",
    "cut_ratio",
    "load",
    "load_packer",
    "pack_allreduce",
    "reduce",
    "reducescatter",
    "syncoll_seeds",
    "verify_forest",
    "weighted_broadcast",
]

_HOMES = {
    "syncoll_forestcoll.allreduce_program": (
        "AllreduceBounds",
        "allreduce_bounds",
        "pack_allreduce",
    ),
    "syncoll_forestcoll.collectives": (
        "Allreduce",
        "Plan",
        "allgather",
        "allreduce",
        "broadcast",
        "reduce",
        "reducescatter",
        "weighted_broadcast",
    ),
    "syncoll.model.forest": ("Forest", "Tree"),
    "syncoll.trust.forest": ("verify_forest",),
    "syncoll.routing.cuts": ("cut_ratio",),
    "syncoll.routing.optimality": ("Bottleneck", "bottleneck"),
}


def __getattr__(name: str) -> object:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(home), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def load() -> Seed:
    """Imports the seed."""
    from syncoll_forestcoll.seed import ForestSeed

    return ForestSeed()


def load_packer() -> ForestPacker:
    """Imports the packer."""
    from syncoll_forestcoll.packer import FabricPacker

    return FabricPacker()


def _installed() -> Answer:
    return installed_distribution("ortools", "ortools")


def _fits(topology: Topology, collective: Collective) -> Answer:
    from syncoll_forestcoll.seed import fits

    return fits(topology, collective)


RECORD = SeedRecord(
    name="forestcoll",
    summary="ForestColl: spanning trees of provably optimal throughput, pipelined",
    load=load,
    options=(
        Option("k", 0, "trees for each root; 0: several numbers up to the optimal one", low=0),
    ),
    installed=_installed,
    fits=_fits,
    forest=load_packer,
    first_seconds=0.3,
    counts_copies=True,
)


@hookimpl
def syncoll_seeds() -> list[SeedRecord]:
    """This seed."""
    return [RECORD]
