"""How large relaxations are, before anything of them is built."""

from __future__ import annotations

from collections.abc import Sequence

from syncoll.bounding.relaxation import RelaxationKind
from syncoll.certificates.demand import Demand
from syncoll.model import Topology

__all__ = ["most_variables", "num_flows"]


def num_flows(demands: Sequence[Demand], kind: RelaxationKind) -> int:
    """How many flows a relaxation has: one for each destination, or for each copy of a chunk."""
    if kind is RelaxationKind.TOGETHER:
        return len({d for demand in demands for d in demand.destinations})
    copied = sum(len(one.destinations) for one in demands if len(one.destinations) > 1)
    return copied + len({one.destinations for one in demands if len(one.destinations) == 1})


def most_variables(
    topology: Topology, demands: Sequence[Demand], steps: int | None, kind: RelaxationKind
) -> int:
    """How many variables a relaxation has at most, but for a few for each flow and step.

    Every flow has one for each link and step.  With steps, distances leave about a half or a third
    of them; without, all.

    Args:
        topology: P and B.
        demands: what must get where.
        steps: S, or None for any number of steps.
        kind: which relaxation.
    """
    return num_flows(demands, kind) * len(topology.links) * (1 if steps is None else steps)
