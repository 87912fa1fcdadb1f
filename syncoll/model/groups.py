"""Groups: the part of a collective for each group of nodes, as a collective on these nodes alone.

Nodes that share a chunk, which starts or must end there, are in one group.
"""

from dataclasses import replace

import numpy as np

from syncoll.errors import ModelError
from syncoll.model.instance import Instance
from syncoll.model.topology import Topology
from syncoll.wording import counted, few

Group = tuple[int, ...]


def groups_of(instance: Instance) -> tuple[Group, ...]:
    """The groups of nodes with chunks in common, by their least nodes; idle nodes have none."""
    label = np.arange(instance.topology.num_nodes)
    there = instance.pre | instance.post
    while True:
        least = np.where(there, label, len(label)).min(axis=1, initial=len(label))
        nearer = np.where(there, least[:, None], len(label)).min(axis=0, initial=len(label))
        nearer = np.minimum(label, nearer)
        if np.array_equal(nearer, label):
            break
        label = nearer
    used = there.any(axis=0)
    return tuple(
        tuple(np.flatnonzero((label == least) & used).tolist())
        for least in np.unique(label[used]).tolist()
    )


def instance_within(instance: Instance, number: int) -> Instance:
    """The part of an instance for one of its groups, renumbered from 0; raises as `group_of`."""
    nodes = group_of(instance, number)
    chunks = chunks_of(instance, nodes)
    return replace(
        instance,
        topology=topology_within(instance.topology, nodes),
        pre=instance.pre[np.ix_(chunks, nodes)],
        post=instance.post[np.ix_(chunks, nodes)],
    )


def group_of(instance: Instance, number: int) -> Group:
    """One of the groups; raises ModelError, which lists them, for an unknown number."""
    groups = groups_of(instance)
    if not 0 <= number < len(groups):
        there = few([f"{i} ({listed(group)})" for i, group in enumerate(groups)])
        raise ModelError(
            f"there is no group {number}; {instance.collective} has "
            f"{counted(len(groups), 'group')} of nodes: {there}"
        )
    return groups[number]


def chunks_of(instance: Instance, nodes: Group) -> list[int]:
    """The chunks that start or must end at some nodes."""
    there = instance.pre[:, nodes].any(axis=1) | instance.post[:, nodes].any(axis=1)
    return np.flatnonzero(there).tolist()


def listed(nodes: Group) -> str:
    """Nodes in words, at most eight of them."""
    return f"nodes {few(nodes)}"


def topology_within(topology: Topology, nodes: Group) -> Topology:
    """The links among some nodes, with their shared bounds as wide as before."""
    number = {node: i for i, node in enumerate(nodes)}
    kept = {
        (a, b): (number[a], number[b]) for a, b in topology.links if a in number and b in number
    }
    bounds = []
    for bound in topology.bounds:
        links = tuple(sorted(kept[link] for link in bound.links if link in kept))
        if links:
            bounds.append(replace(bound, links=links))
    name = f"{topology.name}, {listed(nodes)}"
    links = tuple(sorted(kept.values()))
    return Topology(name, len(nodes), links, tuple(bounds), grains=topology.grains)
