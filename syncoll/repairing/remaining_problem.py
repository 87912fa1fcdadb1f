"""The rest of a machine and of a collective on it, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from syncoll.damage.damage import Damage
from syncoll.damage.damaged import Damaged, connections, damaged
from syncoll.errors import ImpossibleError, LocatedError, ModelError, UsageError
from syncoll.model import Collective, Topology
from syncoll.model.reach import Reach
from syncoll.repairing.fewer_nodes import on_fewer_nodes

__all__ = ["collective_of_the_rest", "left"]

Find = Callable[[str], Collective]


def left(
    topology: Topology, damages: Sequence[Damage], collective: Collective, find: Find
) -> tuple[Damaged, Collective]:
    """The damaged machine, and the collective on it.

    Raises:
        ImpossibleError: when it cannot be done there: nodes no longer reach each other, or the root
            of a broadcast is lost.
        SyncollError: when the rest cannot be described, which proves nothing.
    """
    try:
        try:
            machine = damaged(topology, damages)
        except ModelError:
            collective_of_the_rest(connections(topology, damages), collective, find)
            raise
        return machine, collective_of_the_rest(machine, collective, find)
    except LocatedError as error:  # what it would point at, nobody has written for this machine
        raise type(error)(error.message, None, error.expected) from None


def collective_of_the_rest(machine: Damaged, collective: Collective, find: Find) -> Collective:
    """The collective on the damaged machine."""
    collective.require_regular()
    nodes = machine.topology.num_nodes
    rest = on_fewer_nodes(machine, collective, find) if machine.lost_nodes else collective
    least = rest.least_chunks(nodes)
    if least is None:
        raise UsageError(
            f"{rest.name} is defined for no C on the {nodes} nodes that are left of "
            f"{machine.whole.name}"
        )
    table = rest.tabulate(nodes, least)
    if not table.ends.sets.any():
        raise UsageError(f"nothing is to do of {rest.name} {machine.words}")
    try:
        Reach(machine.topology, table, rest.combining).require(rest.name, None)
    except ModelError as error:
        raise ImpossibleError(
            f"{rest.name} cannot be done {machine.words}: {error.message}",
            None,
            "a machine whose nodes still reach each other",
        ) from None
    return rest
