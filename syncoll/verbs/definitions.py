"""Topologies, collectives and plugins by their names."""

from __future__ import annotations

from syncoll.model import Collective, Fabric, Topology
from syncoll.plugins import PluginManager
from syncoll.verbs.asking import What, Where, session_for, verb


@verb
def topology(what: Where) -> Topology:
    """A topology: shipped, of a file, or imported from the output of a tool.

    Args:
        what: ``dgx1``, ``torus(8,8)``, ``my.syncoll:quad``, ``nvidia-smi:topo.txt``, or a network
            with switches, for the links between its nodes.

    Raises:
        SpecError: if it does not exist, or has an error.

    >>> topology("ring(4)").num_nodes
    4
    """
    return session_for().topology(what)


@verb
def fabric(what: Where) -> Fabric:
    """The physical network of a topology, with its switches.

    Raises:
        SpecError: if it does not exist, or has an error.
        ModelError: if its links share bandwidth, and the switches are unknown.

    >>> fabric("ring(4)").num_switches
    0
    """
    return session_for().fabric(what)


@verb
def collective(what: What, *values: object, **named: object) -> Collective:
    """A collective: shipped, of a file, or several combined.

    Args:
        what: ``broadcast(root=3)``, ``my.syncoll:step``, ``allgather within [[0,1],[2,3]]``,
            ``2 * allgather + alltoall``.
        values: arguments of a name that has none yet, as numbers, nested lists, numpy arrays or
            paths of CSV files.
        named: arguments with a name.

    Raises:
        SpecError: if it does not exist, or has an error.

    >>> collective("broadcast(root=3)").combining
    False
    >>> len(collective("alltoallv", [[0, 2], [1, 0]]).tabulate(2, 1))
    3
    >>> collective("alltoallv", [[0, 3], [4, 0]], unit=2, round_up=True).name
    'alltoallv([[0,3],[4,0]],unit=2,round_up=true)'
    """
    return session_for().collective(what, *values, **named)


@verb
def discover() -> PluginManager:
    """The installed plugins."""
    return PluginManager.discover()
