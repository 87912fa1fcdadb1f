"""The optimal forests of a fabric, by the name of the collective."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import lcm

from syncoll.model.fabric import Fabric
from syncoll.results.forest import ForestCollective
from syncoll.trust.forest import verify_forest
from syncoll_forestcoll.allreduce_program import AllreduceBounds
from syncoll_forestcoll.collectives import ForestPlan, plans, weighted_broadcast


@dataclass(frozen=True, eq=False)
class Allreduce:
    """A reducescatter and the allgather that follows it."""

    reducescatter: ForestPlan
    allgather: ForestPlan

    @property
    def algbw(self) -> Fraction:
        """Both halves move all data once, one after the other."""
        return 1 / (1 / self.reducescatter.algbw + 1 / self.allgather.algbw)


def _only(
    fabric: Fabric, collective: ForestCollective, root: int = 0, fixed_k: int | None = None
) -> ForestPlan:
    (plan,) = plans(fabric, collective, root, fixed_k)
    return plan


def allgather(fabric: Fabric, *, fixed_k: int | None = None) -> ForestPlan:
    return _only(fabric, ForestCollective.ALLGATHER, fixed_k=fixed_k)


def reducescatter(fabric: Fabric, *, fixed_k: int | None = None) -> ForestPlan:
    return _only(fabric, ForestCollective.REDUCESCATTER, fixed_k=fixed_k)


def broadcast(fabric: Fabric, root: int, *, fixed_k: int | None = None) -> ForestPlan:
    return _only(fabric, ForestCollective.BROADCAST, root, fixed_k)


def reduce(fabric: Fabric, root: int, *, fixed_k: int | None = None) -> ForestPlan:
    return _only(fabric, ForestCollective.REDUCE, root, fixed_k)


def allreduce(fabric: Fabric, *, fixed_k: int | None = None) -> Allreduce:
    return Allreduce(*plans(fabric, ForestCollective.ALLREDUCE, fixed_k=fixed_k))


def pack_allreduce(fabric: Fabric, bounds: AllreduceBounds) -> tuple[ForestPlan, ForestPlan]:
    """The verified forests of an allreduce that reaches `bounds.at_least`.

    Both run at the same time, each on its part of the bandwidth: first the reduction's in-trees,
    then the broadcast's.
    """
    broadcast, reduction = (
        Fabric.from_bandwidths(
            f"{fabric.name}, {direction} part",
            fabric.num_nodes,
            fabric.num_switches,
            {(x.source, x.destination): c for x, c in zip(fabric.links, own, strict=True) if c},
        )
        for direction, own in bounds.bandwidths.items()
    )
    broadcast = replace(broadcast, multicast=bounds.junctions["broadcast"])
    reduction = replace(reduction, reduce=bounds.junctions["reduce"])
    unit = lcm(*(x.denominator for x in bounds.shares))
    weights = [int(x * unit) for x in bounds.shares]
    onward = weighted_broadcast(broadcast, weights)
    back = weighted_broadcast(reduction.reversed(), weights)
    forest = back.forest.reversed()
    verify_forest(forest)
    return replace(back, collective=ForestCollective.REDUCESCATTER, forest=forest), onward
