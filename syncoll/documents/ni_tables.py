"""Schedule tables of network interfaces (MultiTree paper, section IV.A, Figure 5).

Each node has a table, with a row for each operation: its flow (the paper's tree, here a chunk), its
receiver, its senders, and its time step.

- ``Reduce``: send the partial result to Parent once the Children have sent theirs.
- ``Gather``: send the finished data to Children once it came from Parent (nil: it is made here).
- ``NOP``: stay idle for a step before a later send, so that all nodes stay in step.

Any algorithm has tables if each chunk goes down a tree, up a tree, or up one and down another from
the same root: a row has one Parent.  A node that forwards a chunk in several steps has a row for
each.
"""

from collections import defaultdict
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from syncoll.arrays import BoolArray
from syncoll.errors import ExportError
from syncoll.model import Algorithm, Instance

HEAD = ("Op", "FlowID", "Parent", "Children", "Step")
"""The columns of a table; Start Addr and Size follow from FlowID."""

_NIL = "nil"


class TableOp(StrEnum):
    """The operations, in the order in which a step issues them."""

    REDUCE = "Reduce"
    GATHER = "Gather"
    NOP = "NOP"


@dataclass(frozen=True)
class ScheduleEntry:
    """One row.

    Args:
        step: the number of the step, from 1.
        flow: the chunk; None for a NOP.
        parent: the receiver of a Reduce, the source of a Gather's data; None without one.
        children: the senders a Reduce waits for, the receivers of a Gather; ascending.
    """

    op: TableOp
    step: int
    flow: int | None = None
    parent: int | None = None
    children: tuple[int, ...] = ()

    def cells(self, num_children: int) -> tuple[str, ...]:
        """The row as printed in the paper, with this number of columns for children."""
        padding = [None] * (num_children - len(self.children))
        numbers = (self.flow, self.parent, *self.children, *padding)
        shown = (_NIL if x is None else str(x) for x in numbers)
        return (str(self.op), *shown, str(self.step))


@dataclass(frozen=True)
class ScheduleTable:
    """The table of one node, by step."""

    node: int
    entries: tuple[ScheduleEntry, ...]

    @property
    def num_children(self) -> int:
        """The most children of an entry."""
        return max((len(entry.children) for entry in self.entries), default=0)


def ni_tables(instance: Instance, algorithm: Algorithm) -> tuple[ScheduleTable, ...]:
    """The schedule table of every node; within a step fewer children, then smaller flows, first.
    Raises `ExportError` with the place if the sends of a chunk are not a tree."""
    reduces, gathers = _split(instance, algorithm)
    children, tops = _upward(reduces)
    parents = _downward(gathers, tops, instance)
    rows: list[list[ScheduleEntry]] = [[] for _ in range(instance.topology.num_nodes)]
    for send in reduces:
        waits = tuple(sorted(children.get((send.flow, send.source), ())))
        rows[send.source].append(
            ScheduleEntry(TableOp.REDUCE, send.step + 1, send.flow, send.destination, waits)
        )
    below: dict[tuple[int, int, int], list[int]] = defaultdict(list)
    for send in gathers:
        below[send.source, send.flow, send.step].append(send.destination)
    for (source, flow, step), reached in below.items():
        parent = parents.get((flow, source))
        rows[source].append(
            ScheduleEntry(TableOp.GATHER, step + 1, flow, parent, tuple(sorted(reached)))
        )
    return tuple(ScheduleTable(node, _in_step(entries)) for node, entries in enumerate(rows))


class _Send(NamedTuple):
    flow: int
    source: int
    destination: int
    step: int
    carried: BoolArray


_At = tuple[int, int]
"""A flow and a node."""


def _split(instance: Instance, algorithm: Algorithm) -> tuple[list[_Send], list[_Send]]:
    """The sends of partial results, and the sends of finished data, in order of steps."""
    carried = instance.pre[algorithm.sends[:, 0]]
    finished = np.ones(len(carried), dtype=bool)
    if algorithm.contributions is not None:
        finished = (algorithm.contributions == carried).all(axis=1)
        carried = algorithm.contributions
    rows = zip(algorithm.sends.tolist(), carried, strict=True)
    sends = [_Send(c, a, b, s, of) for (c, a, b, s), of in rows]
    reduces = [send for send, whole in zip(sends, finished, strict=True) if not whole]
    return reduces, [send for send, whole in zip(sends, finished, strict=True) if whole]


def _upward(reduces: list[_Send]) -> tuple[dict[_At, list[int]], dict[int, int]]:
    """Checks that partial results of each flow go up a tree; returns its children, and its root."""
    sent: dict[_At, _Send] = {}
    for send in reduces:
        first = sent.setdefault((send.flow, send.source), send)
        if first is not send:
            raise _no_tree(
                f"node {send.source} sends partial results of chunk {send.flow} twice, to nodes "
                f"{first.destination} and {send.destination}"
            )
    children: dict[_At, list[int]] = defaultdict(list)
    tops: dict[int, int] = {}
    for send in reduces:
        flow, node = send.flow, send.destination
        children[flow, node].append(send.source)
        onward = sent.get((flow, node))
        if onward is None:
            top = tops.setdefault(flow, node)
            if top != node:
                raise _no_tree(
                    f"partial results of chunk {flow} come together at two nodes, {top} and {node}"
                )
        elif onward.step <= send.step or (send.carried & ~onward.carried).any():
            raise _no_tree(
                f"node {node} gets a partial result of chunk {flow} from node {send.source} in "
                f"step {send.step + 1}, but does not include it in its own to node "
                f"{onward.destination} in step {onward.step + 1}"
            )
    return children, tops


def _downward(gathers: list[_Send], tops: dict[int, int], instance: Instance) -> dict[_At, int]:
    """Checks that each flow goes down a tree, from `tops` if it is reduced; the parents."""
    parents: dict[_At, int] = {}
    roots = dict(tops)
    for send in gathers:
        flow, node = send.flow, send.destination
        if (flow, send.source) not in parents:
            root = roots.setdefault(flow, send.source)
            if root != send.source:
                raise _no_tree(
                    f"chunk {flow} is sent from two nodes that did not receive it, {root} and "
                    f"{send.source}"
                )
        if (flow, node) in parents:
            raise _no_tree(
                f"chunk {flow} reaches node {node} twice, from nodes {parents[flow, node]} and "
                f"{send.source}"
            )
        if node == roots[flow] or (not instance.combining and instance.pre[flow, node]):
            raise _no_tree(f"node {send.source} sends chunk {flow} to node {node}, which has it")
        parents[flow, node] = send.source
    return parents


def _no_tree(reason: str) -> ExportError:
    return ExportError(
        f"schedule tables need an algorithm in which each chunk goes up or down one tree; {reason}"
    )


def _in_step(entries: list[ScheduleEntry]) -> tuple[ScheduleEntry, ...]:
    """The entries in order, with a NOP in every step without one before the last."""
    busy = {entry.step for entry in entries}
    idle = {*range(1, max(busy, default=0))} - busy
    operations = list(TableOp)

    def place(entry: ScheduleEntry) -> tuple[int, int, int, int]:
        waiting = len(entry.children) if entry.op is TableOp.REDUCE else 0
        flow = -1 if entry.flow is None else entry.flow
        return (entry.step, operations.index(entry.op), waiting, flow)

    nops = [ScheduleEntry(TableOp.NOP, step) for step in idle]
    return tuple(sorted(entries + nops, key=place))
