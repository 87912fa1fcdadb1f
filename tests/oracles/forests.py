"""The optimal forests of a fabric, by the name of the collective."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from syncoll.model.fabric import Fabric
from syncoll.results.forest import ForestCollective
from syncoll_forestcoll.collectives import ForestPlan, plans


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
