"""Optimal forests as the command line asks for them."""

from __future__ import annotations

import time
from fractions import Fraction

from syncoll.deadline import enclosing
from syncoll.model.fabric import Fabric
from syncoll.model.forest import Forest
from syncoll.results.forest import ForestCollective, PackedForest
from syncoll_forestcoll import Plan, allgather, allreduce, broadcast, reduce, reducescatter
from syncoll_forestcoll.allreduce_program import allreduce_bounds
from syncoll_forestcoll.shortening import pruned, shortened

__all__ = ["FabricPacker"]

_FEW_CELLS, _MOST_CELLS = 1 << 14, 1 << 19
"""Trees (each counted with its weight) times nodes: in larger forests trees keep their heights."""

_SECONDS_OF_LARGE = 5.0
"""The work in which those of forests with more than a few are made lower."""

_SHARE_OF_HEIGHTS = 0.6
"""The part of the time that is left in which trees are made lower."""

_MOST_ROOTS = 32
"""Nodes of the largest network for which the linear program of allreduce is solved."""


class FabricPacker:
    """Packs the forests of a fabric."""

    def pack(
        self,
        fabric: Fabric,
        collective: ForestCollective,
        *,
        root: int = 0,
        fixed_k: int | None = None,
    ) -> tuple[PackedForest, ...]:
        """See `syncoll.plugins.ForestPacker`."""
        match collective:
            case ForestCollective.ALLGATHER:
                plans = [allgather(fabric, fixed_k=fixed_k)]
            case ForestCollective.REDUCESCATTER:
                plans = [reducescatter(fabric, fixed_k=fixed_k)]
            case ForestCollective.BROADCAST:
                plans = [broadcast(fabric, root, fixed_k=fixed_k)]
            case ForestCollective.REDUCE:
                plans = [reduce(fabric, root, fixed_k=fixed_k)]
            case ForestCollective.ALLREDUCE:
                both = allreduce(fabric, fixed_k=fixed_k)
                plans = [both.reducescatter, both.allgather]
        return tuple(_packed(fabric, plan) for plan in plans)

    def any_roots(self, fabric: Fabric) -> tuple[Fraction, Fraction] | None:
        """See `syncoll.plugins.ForestPacker`."""
        if fabric.num_nodes > _MOST_ROOTS:
            return None
        found = allreduce_bounds(fabric)
        return found.at_least, found.at_most


def _packed(fabric: Fabric, plan: Plan) -> PackedForest:
    """A plan as the command line wants it: its cut turned the right way, its trees low."""
    began = time.perf_counter()
    forest, found = _low(plan.forest), plan.bottleneck
    # A reduction's cut is one of the transposed network: there everything leaves it, here the
    # same bandwidth leaves its complement.
    everything = frozenset(range(fabric.num_vertices))
    return PackedForest(
        ForestCollective(plan.collective),
        forest,
        found.algbw,
        everything - found.cut if forest.inward else found.cut,
        {**plan.seconds, "heights": time.perf_counter() - began},
    )


def _low(forest: Forest) -> Forest:
    """The forest with lower trees, unless that would take long."""
    outward, until = forest.reversed() if forest.inward else forest, enclosing()
    cells = int(forest.multiplicity.sum()) * forest.fabric.num_nodes
    if cells > _MOST_CELLS:
        lower = pruned(outward)
    else:
        seconds = None if cells <= _FEW_CELLS else _SECONDS_OF_LARGE
        lower = shortened(outward, until.share(_SHARE_OF_HEIGHTS).working(seconds))
    return lower.reversed() if forest.inward else lower
