"""What a collective means where nodes are gone, and known algorithms on the nodes that remain.

A node that is gone takes no part: nobody waits for its data, and it needs none.  So of each chunk's
pre and post the nodes that are left count, and a chunk that nobody has, or nobody needs, is no
longer there.  That is the collective of the same name on fewer nodes, where its numbers of nodes (a
root) are those of the nodes that remain; and it is looked at whether that is so.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product
from math import gcd

import numpy as np
import numpy.typing as npt

from syncoll.errors import LocatedError, ModelError, UsageError
from syncoll.model import Algorithm, Collective, RelationTable, Topology, refine
from syncoll.repairing.damaged import Damaged
from syncoll.results.frontier import Costs

__all__ = ["Broken", "carried_over", "collective_of_the_rest"]

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

_MOST_SPELLINGS = 64
_MOST_SENDS = 1 << 20
"""Algorithms of more sends are not carried over: it is done send by send."""


class Broken:
    """An algorithm of the whole machine on what is left of it, which may not be one any more.

    Args:
        topology: the damaged one.
        chunks: C.
        table: pre and post there.
        combining: whether it combines.
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
        nodes = self.topology.num_nodes
        known = np.array([a * nodes + b for a, b in self.topology.links], dtype=np.int64)
        return not np.isin(self.sends[:, 1] * nodes + self.sends[:, 2], known).all()


def collective_of_the_rest(
    machine: Damaged, collective: Collective, find: Callable[[str], Collective]
) -> Collective:
    """The collective on the damaged machine.

    Args:
        find: a collective by its name.

    Raises:
        UsageError: when nothing is left of it, as where the root of a broadcast is gone.
        ModelError: when it cannot be done on what is left, as where that is not connected.
    """
    rest = collective
    if machine.lost_nodes:
        rest = _renamed(machine, collective, find)
    least = rest.least_chunks(machine.topology.num_nodes)
    if least is None:
        raise UsageError(
            f"{rest.name} is defined for no C on the {machine.topology.num_nodes} nodes that are "
            f"left of {machine.whole.name}"
        )
    try:
        rest.table_on(machine.topology, least)
    except ModelError as error:
        raise ModelError(
            f"{rest.name} cannot be done {machine.words}: {error.message}",
            None,
            "a machine whose nodes still reach each other",
        ) from None
    return rest


def _renamed(
    machine: Damaged, collective: Collective, find: Callable[[str], Collective]
) -> Collective:
    """The collective whose table is what remains of the whole machine's."""
    nodes = machine.whole.num_nodes
    least = collective.least_chunks(nodes)
    if least is None:
        raise UsageError(f"{collective.name} is defined for no C on {nodes} nodes")
    table = collective.tabulate(nodes, least)
    pre, post, kept = _rest_of(table, machine)
    gone = " and ".join(f"node {node}" for node in machine.lost_nodes)
    needed = post.any(axis=1)
    if (needed & ~pre.any(axis=1)).all() or not kept.any():
        raise UsageError(
            f"nothing is left of {collective.name} without {gone}, where all its data starts or "
            "ends"
        )
    wanted = _kinds(pre[kept], post[kept])
    for rest in _spellings(machine, collective, find):
        count = len(machine.nodes)
        least = rest.least_chunks(count)
        if least is None or rest.combining is not collective.combining:
            continue
        try:
            other = rest.tabulate(count, least)
        except LocatedError:  # it makes no sense on so many nodes
            continue
        if _kinds(other.pre, other.post) == wanted:
            return rest
    raise UsageError(
        f"what is left of {collective.name} without {gone} is not {collective.name} on "
        f"{len(machine.nodes)} nodes, so that the two cannot be compared"
    )


def _rest_of(table: RelationTable, machine: Damaged) -> tuple[BoolArray, BoolArray, BoolArray]:
    """Pre and post of the nodes that are left, and which chunks somebody has and somebody needs."""
    nodes = list(machine.nodes)
    pre, post = table.pre[:, nodes], table.post[:, nodes]
    kept: BoolArray = np.logical_and(pre.any(axis=1), post.any(axis=1))
    return pre, post, kept


def _kinds(pre: BoolArray, post: BoolArray) -> dict[bytes, Fraction]:
    """The share of the chunks that start and end alike, for each of these."""
    rows = np.packbits(np.concatenate([pre, post], axis=1), axis=1)
    counts = Counter(row.tobytes() for row in rows)
    return {row: Fraction(count, len(rows)) for row, count in counts.items()}


def _spellings(
    machine: Damaged, collective: Collective, find: Callable[[str], Collective]
) -> Iterator[Collective]:
    """The collective itself, and with numbers in its name that may be those of nodes."""
    yield collective
    number = {node: i for i, node in enumerate(machine.nodes)}
    head, bracket, arguments = collective.name.partition("(")
    parts = re.split(r"(?<![\w.])([0-9]+)(?![\w.])", arguments)
    choices = [
        sorted({part, str(number.get(int(part), part))}) if i % 2 else [part]
        for i, part in enumerate(parts)
    ]
    for count, words in enumerate(product(*choices)):
        name = f"{head}{bracket}{''.join(words)}"
        if count >= _MOST_SPELLINGS:
            return
        if name != collective.name:
            try:
                yield find(name)
            except LocatedError:
                continue


def carried_over(point: Costs, machine: Damaged, rest: Collective) -> Broken | None:
    """A point's algorithm on what is left, its chunks numbered as those of the collective there.

    None where it is too large, or cannot be cut into such chunks.
    """
    instance, algorithm = point.instance, point.algorithm
    if algorithm.num_sends > _MOST_SENDS:
        return None
    nodes = len(machine.nodes)
    pre, post, kept = _rest_of(instance.table, machine)
    least = rest.least_chunks(nodes)
    if least is None:
        return None
    unit = len(rest.tabulate(nodes, least))
    parts = unit // gcd(unit, int(kept.sum()))
    if parts * algorithm.num_sends > _MOST_SENDS:
        return None
    if parts > 1:
        instance, algorithm = refine(instance, algorithm, parts)
        pre, post, kept = _rest_of(instance.table, machine)
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
    return Broken(machine.topology, chunks, table, left, combining=instance.combining)
