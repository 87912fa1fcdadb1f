"""Optimal forests for the command line."""

import time
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction

from syncoll.deadline import OutOfTimeError, enclosing, interrupted_at
from syncoll.model import Fabric, Forest
from syncoll.results.forest import ForestCollective, PackedForest
from syncoll.routing.optimality import bottleneck
from syncoll.trust.forest import verify_packed
from syncoll_forestcoll.allreduce_program import allreduce_bounds
from syncoll_forestcoll.collectives import ForestPlan, directed, plans
from syncoll_forestcoll.quick import quick_forest
from syncoll_forestcoll.shortening import pruned, shortened

_FEW_CELLS, _MOST_CELLS = 1 << 14, 1 << 19
"""Trees (counted with their weights) times nodes; in larger forests trees keep their heights."""

_SECONDS_OF_LARGE = 5.0
"""Longest work on lowering the trees of a forest above `_FEW_CELLS`."""

_SHARE_OF_HEIGHTS = 0.6
"""The part of the remaining time for lowering trees."""

_SHARE_AT_ONCE = 0.3
"""The part of the time for the trees of `quick_forest`."""

_MOST_ROOTS = 32
"""Most nodes of a network for which the linear program of allreduce is solved."""


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
        began, until = time.perf_counter(), enclosing()
        at_once: tuple[PackedForest, ...] = ()
        if not until.is_never and fixed_k is None:
            with suppress(OutOfTimeError), interrupted_at(until.share(_SHARE_AT_ONCE)):
                at_once = _at_once(fabric, collective, root)
            # Reserves as much time for checking and printing as packing took.
            until = until.before(time.perf_counter() - began)
        try:
            with interrupted_at(until):
                found = plans(fabric, collective, root, fixed_k)
                return tuple(_packed(fabric, plan) for plan in found)
        except OutOfTimeError:
            if not at_once:
                raise
            return at_once

    def any_roots(self, fabric: Fabric) -> tuple[Fraction, Fraction] | None:
        """See `syncoll.plugins.ForestPacker`."""
        if fabric.num_nodes > _MOST_ROOTS:
            return None
        found = allreduce_bounds(fabric)
        return found.at_least, found.at_most


def _at_once(fabric: Fabric, collective: ForestCollective, root: int) -> tuple[PackedForest, ...]:
    """A quick forest for each phase, with the cut that bounds every forest."""
    phases = [collective]
    if collective is ForestCollective.ALLREDUCE:
        phases = [ForestCollective.REDUCESCATTER, ForestCollective.ALLGATHER]
    found = []
    for phase in phases:
        began = time.perf_counter()
        where, weights, inward = directed(fabric, phase, root)
        forest, optimum = quick_forest(where, weights), bottleneck(where, weights)
        everything = frozenset(range(fabric.num_vertices))
        packed = PackedForest(
            phase,
            replace(forest.reversed(), fabric=fabric) if inward else forest,
            optimum.algbw,
            everything - optimum.cut if inward else optimum.cut,
            {"at once": time.perf_counter() - began},
            in_time=False,
        )
        verify_packed(packed, fabric, root if phase.rooted else None)
        found.append(packed)
    return tuple(found)


def _packed(fabric: Fabric, plan: ForestPlan) -> PackedForest:
    """The forest of a plan, with lower trees, and its cut in the fabric itself."""
    began = time.perf_counter()
    forest, found = _low(plan.forest), plan.bottleneck
    # A reduction's cut is a cut of the reversed network; here its complement has that bandwidth.
    everything = frozenset(range(fabric.num_vertices))
    return PackedForest(
        plan.collective,
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
