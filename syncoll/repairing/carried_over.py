"""Known algorithms of a machine on what is left of it."""

from __future__ import annotations

from math import gcd

import numpy as np

from syncoll.damage.damaged import Damaged
from syncoll.model import Algorithm, Collective, RelationTable, Topology, refine
from syncoll.model.fewer_nodes import rest_of
from syncoll.results.frontier import Costs

__all__ = ["BrokenAlgorithm", "carried_over"]


_MOST_SENDS = 1 << 20
"""Algorithms of more sends are not carried over: it is done send by send."""


class BrokenAlgorithm:
    """An algorithm of the whole machine on what is left of it, which may not be one any more.

    Args:
        topology: the damaged one.
        table: pre and post there.
        rounds: R of each step on the whole machine.
        sends: ``[M, 4]``, those whose ends and chunks are left, links that are gone included.
        contributions: ``[M, P]`` of a combining algorithm.
    """

    def __init__(
        self,
        topology: Topology,
        chunks: int,
        table: RelationTable,
        algorithm: Algorithm,
        *,
        combining: bool,
    ) -> None:
        self.topology, self.chunks, self.table = topology, chunks, table
        self.combining, self.rounds = combining, algorithm.rounds_per_step
        self.sends, self.contributions = algorithm.sends, algorithm.contributions
        self.algorithm = algorithm

    @property
    def uses_what_is_gone(self) -> bool:
        """Whether a send is over a link that is no longer there, or lacks its source."""
        return bool((self.topology.links_of(self.sends[:, 1], self.sends[:, 2]) < 0).any())


def carried_over(point: Costs, machine: Damaged, rest: Collective) -> BrokenAlgorithm | None:
    """A point's algorithm on what is left, its chunks numbered as those of the collective there.

    None where it is too large, or cannot be cut into such chunks.
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
    return BrokenAlgorithm(machine.topology, chunks, table, left, combining=instance.combining)
