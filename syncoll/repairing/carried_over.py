"""Algorithms of the whole machine, carried over to the damaged one."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

import numpy as np

from syncoll.damage.damaged import Damaged
from syncoll.model import Algorithm, Collective, RelationTable, Topology, refine
from syncoll.model.fewer_nodes import rest_of
from syncoll.results.frontier import Costs

__all__ = ["BrokenAlgorithm", "carried_over"]

_MOST_SENDS = 1 << 20
"""Larger algorithms are not carried over: it is done send by send."""


@dataclass(frozen=True, eq=False)
class BrokenAlgorithm:
    """An algorithm of the whole machine on the damaged one, where it may no longer work.

    Args:
        topology: the damaged one.
        table: pre and post there.
        algorithm: with the rounds of the whole machine, and the sends whose ends and chunks are
            left, those over lost links included.
    """

    topology: Topology
    chunks: int
    table: RelationTable
    algorithm: Algorithm
    combining: bool

    @property
    def uses_what_is_gone(self) -> bool:
        """Whether a send is over a lost link."""
        sends = self.algorithm.sends
        return bool((self.topology.links_of(sends[:, 1], sends[:, 2]) < 0).any())


def carried_over(point: Costs, machine: Damaged, rest: Collective) -> BrokenAlgorithm | None:
    """A point's algorithm on the damaged machine, with the chunks of the collective there.

    None if it is too large, or cannot be cut into such chunks.
    """
    instance, algorithm = point.instance, point.algorithm
    if algorithm.num_sends > _MOST_SENDS:
        return None
    nodes = len(machine.nodes)
    pre, post, kept = rest_of(instance.table, machine.nodes)
    least = rest.least_chunks(nodes)
    if least is None:
        return None
    unit = len(rest.tabulate(nodes, least))
    parts = unit // gcd(unit, int(kept.sum()))
    if parts * algorithm.num_sends > _MOST_SENDS:
        return None
    if parts > 1:
        instance, algorithm = refine(instance, algorithm, parts)
        pre, post, kept = rest_of(instance.table, machine.nodes)
    chunks = least * int(kept.sum()) // unit
    if not rest.admits(nodes, chunks):
        return None
    table = rest.tabulate(nodes, chunks)
    matching = RelationTable(pre[kept], post[kept]).matching(table)
    if matching is None:
        return None
    chunk = np.full(len(kept), -1, dtype=np.int64)
    chunk[np.flatnonzero(kept)] = matching
    node = np.full(machine.whole.num_nodes, -1, dtype=np.int64)
    node[list(machine.nodes)] = np.arange(nodes)
    sends = algorithm.sends
    here = (chunk[sends[:, 0]] >= 0) & (node[sends[:, 1:3]] >= 0).all(axis=1)
    moved = np.stack(
        [chunk[sends[:, 0]], node[sends[:, 1]], node[sends[:, 2]], sends[:, 3]], axis=1
    )[here]
    carried = algorithm.contributions
    if carried is not None:
        carried = carried[here][:, list(machine.nodes)]
        some = carried.any(axis=1)  # what a node that is gone had given is no longer there
        moved, carried = moved[some], carried[some]
    left = Algorithm(algorithm.rounds_per_step, moved, carried)
    return BrokenAlgorithm(machine.topology, chunks, table, left, instance.combining)
