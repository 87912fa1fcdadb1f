"""The instance of a dual that an inverse's instance amounts to.

An inverse has an algorithm exactly when its dual has one with the same S and R on the topology with
every link reversed (SCCL paper, section 3.5).  That holds for each C by itself, whatever the C of
the dual is.
"""

from __future__ import annotations

from syncoll.errors import ModelError
from syncoll.model.collective import Collective
from syncoll.model.derived import dual_chunks
from syncoll.model.instance import Instance
from syncoll.model.topology import Topology

__all__ = ["dual_instance", "dual_of", "require_sense"]


def dual_of(collective: Collective, dual: Collective, nodes: int, chunks: int) -> int:
    """The C of the dual whose algorithms are those of its inverse with C = `chunks`, run backwards.

    Raises:
        ModelError: when the inverse is not defined for that C.
    """
    found = dual_chunks(dual, nodes, chunks)
    if found is None:
        raise ModelError(
            f"collective {collective.name}: no C of {dual.name} fits C = {chunks}",
            collective.origin,
        )
    return found


def dual_instance(instance: Instance, collective: Collective, dual: Collective) -> Instance:
    """The instance of the dual, on the reversed topology, that an inverse's instance amounts to.

    Raises:
        ModelError: as `dual_of`, or when the dual cannot be done on the reversed topology.
    """
    topology = instance.topology
    return dual.instantiate(
        topology.reversed(),
        chunks=dual_of(collective, dual, topology.num_nodes, instance.chunks),
        steps=instance.steps,
        rounds=instance.rounds,
    )


def require_sense(collective: Collective, topology: Topology, chunks: int) -> None:
    """Passes when there are algorithms to look for with a C for which the collective is defined.

    Raises:
        LocatedError: when its parts do not fit together, or what must get somewhere cannot.
    """
    instance = collective.instantiate(topology, chunks=chunks, steps=0, rounds=0)
    if collective.dual is not None:  # which is what solvers will be asked about
        dual_instance(instance, collective, collective.dual)
