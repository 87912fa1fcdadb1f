"""Runs an algorithm on data, step by step, and compares with the collective's definition.

All sends of a step read before any of them stores.  Rounds do not matter here.

A node keeps each piece of a chunk that it has or receives, labelled with the nodes whose
contributions are reduced in it.  Pieces with disjoint labels reduce to the piece with all their
labels, so that no contribution counts twice.  Copies, in collectives that only move data, have no
label.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
import psutil

from syncoll.errors import UsageError
from syncoll.model import Algorithm, Instance
from syncoll.model.associations import Association, associations, bit_masks
from syncoll.trust.data.definition import DataDemand, Inputs, demand, reduction
from syncoll.trust.data.workload import Array, ReduceOp, Workload, widen
from syncoll.wording import counted

Label = frozenset[int]

COPY: Label = frozenset()
"""The label of a chunk without a reduction."""


@dataclass(frozen=True)
class Mismatch:
    """The first failure of an execution, in a step or at the end, with the node, if any, whose
    contribution is missing or counts twice."""

    message: str
    chunk: int
    node: int
    step: int | None = None
    contributor: int | None = None


@dataclass(frozen=True)
class Execution:
    """The result of an execution.

    Args:
        steps: the number of completed steps.
        bytes_sent: over all links together.
        largest_error: the largest difference of any element from the definition.
        mismatch: None if every node of post holds the expected data.
    """

    steps: int
    bytes_sent: int
    largest_error: float
    mismatch: Mismatch | None

    @property
    def ok(self) -> bool:
        """Whether the algorithm performed the collective."""
        return self.mismatch is None


def execute(instance: Instance, algorithm: Algorithm, workload: Workload) -> Execution:
    """Runs an algorithm on data; stops at the first send that is impossible.  Raises `UsageError`
    if the data does not fit in memory."""
    if wrong := _senseless(instance, algorithm):
        return Execution(0, 0, 0.0, wrong)
    _require_memory(instance, algorithm, workload)
    labels = _labels(algorithm)
    added = associations(instance, algorithm) if instance.reproducible else {}
    orders = [added.get(mask) for mask in bit_masks(instance.pre)]
    inputs = Inputs(instance, workload)
    nodes = [NodeMemory(workload.operation, orders) for _ in range(instance.topology.num_nodes)]
    for chunk, node in np.argwhere(instance.pre).tolist():
        own = frozenset({node}) if instance.combining else COPY
        nodes[node].keep(chunk, own, inputs.of(chunk, node))

    bytes_sent = 0
    for step in range(algorithm.steps):
        arriving: list[tuple[int, int, Label, Array]] = []
        for i in np.flatnonzero(algorithm.sends[:, 3] == step).tolist():
            chunk, source, destination, _ = algorithm.sends[i].tolist()
            data = nodes[source].form(chunk, labels[i])
            if data is None:
                what = f"step {step} sends chunk {chunk} from node {source} to node {destination}"
                reason, whose = _lacking(nodes[source], chunk, source, labels[i])
                wrong = Mismatch(f"{what}, but {reason} then", chunk, source, step, whose)
                return Execution(step, bytes_sent, 0.0, wrong)
            arriving.append((destination, chunk, labels[i], data))
        for destination, chunk, label, data in arriving:
            nodes[destination].keep(chunk, label, data)
            bytes_sent += data.nbytes

    largest_error, first = 0.0, None
    for chunk in np.flatnonzero(instance.post.any(axis=1)).tolist():
        wanted = demand(instance, inputs, workload, chunk)
        all_of_it = _everybody(instance, chunk)
        for node in np.flatnonzero(instance.post[chunk]).tolist():
            result = nodes[node].form(chunk, all_of_it)
            if result is None:
                reason, whose = _lacking(nodes[node], chunk, node, all_of_it)
                first = first or Mismatch(f"{reason} after the last step", chunk, node, None, whose)
                continue
            largest_error = max(largest_error, wanted.error(result))
            if first is None:
                first = _compare(instance, inputs, workload, (chunk, node), result, wanted)
    return Execution(algorithm.steps, bytes_sent, largest_error, first)


def _labels(algorithm: Algorithm) -> list[Label]:
    """The contributors of each send."""
    if algorithm.contributions is None:
        return [COPY] * algorithm.num_sends
    rows, kind = np.unique(algorithm.contributions, axis=0, return_inverse=True)
    labels = [frozenset(np.flatnonzero(row).tolist()) for row in rows]
    return [labels[i] for i in kind.ravel().tolist()]


def _everybody(instance: Instance, chunk: int) -> Label:
    """The label of a chunk's finished result."""
    if not instance.combining:
        return COPY
    return frozenset(np.flatnonzero(instance.pre[chunk]).tolist())


def _require_memory(instance: Instance, algorithm: Algorithm, workload: Workload) -> None:
    pieces = int(instance.pre.sum()) * (2 if instance.combining else 1) + algorithm.num_sends
    chunk = max(1, workload.size // max(instance.chunks, int(instance.pre.sum(axis=0).max())))
    available = psutil.virtual_memory().available
    if pieces * chunk > available:
        raise UsageError(
            f"{pieces} pieces of data at the nodes, of {chunk} bytes each, do not fit in the "
            f"{available >> 20} MiB of memory that are free; use a smaller size"
        )


def _senseless(instance: Instance, algorithm: Algorithm) -> Mismatch | None:
    """A send with an unknown chunk, link or step, or contributions of the wrong kind."""
    nodes, carried = instance.topology.num_nodes, algorithm.contributions
    if instance.combining and (carried is None or carried.shape[1] != nodes):
        return Mismatch("the algorithm does not state whose contributions its sends carry", 0, 0)
    if not instance.combining and carried is not None:
        return Mismatch("the algorithm reduces, but the collective only moves data", 0, 0)
    links = set(instance.topology.links)
    for chunk, source, destination, step in algorithm.sends.tolist():
        what = f"chunk {chunk} from node {source} to node {destination}"
        if not 0 <= step < algorithm.steps:
            steps = f"the steps are 0 to {algorithm.steps - 1}"
            return Mismatch(f"{what} is sent in step {step}; {steps}", chunk, source, step)
        if not 0 <= chunk < instance.num_chunks:
            return Mismatch(f"step {step} sends {what}: no such chunk", chunk, source, step)
        if (source, destination) not in links:
            return Mismatch(f"step {step} sends {what}: no such link", chunk, source, step)
    return None


def _lacking(node: "NodeMemory", chunk: int, number: int, label: Label) -> tuple[str, int | None]:
    """Why a node cannot form a piece, and the first contributor to blame."""
    usable = [have for have in node.labels(chunk) if have <= label]
    if not label:
        return f"node {number} does not have chunk {chunk}", None
    missing = label.difference(*usable)
    if missing:
        who = min(missing)
        return f"node {number} lacks the contribution of node {who} to chunk {chunk}", who
    counts = {who: sum(who in have for have in usable) for who in sorted(label)}
    twice = max(counts, key=lambda who: counts[who])
    return (
        f"node {number} could form the reduction of chunk {chunk} only by counting the "
        f"contribution of node {twice} twice"
    ), twice


def _compare(
    instance: Instance,
    inputs: Inputs,
    workload: Workload,
    place: tuple[int, int],
    result: Array,
    wanted: DataDemand,
) -> Mismatch | None:
    """Compares a result with the definition, and looks for one contribution to blame."""
    chunk, node = place
    if result.shape != wanted.value.shape:
        message = f"chunk {chunk} at node {node} has {counted(len(result), 'element')}"
        return Mismatch(f"{message}, not {len(wanted.value)}", chunk, node)
    wrong = wanted.wrong(result)
    if not wrong.any():
        return None
    i = int(wrong.argmax())
    shown = widen(result[i : i + 1])[0], widen(wanted.value[i : i + 1])[0]
    message = f"chunk {chunk} at node {node}: element {i} is {shown[0]}, not {shown[1]}"
    everybody = _everybody(instance, chunk)
    for who in sorted(everybody):
        rest = [inputs.of(chunk, n) for n in sorted(everybody) if n != who]
        mine = inputs.of(chunk, who)
        for others, trouble in ((rest, "is missing"), ([*rest, mine, mine], "counts twice")):
            if others and not reduction(others, workload.operation).wrong(result).any():
                text = f"{message}; the contribution of node {who} {trouble}"
                return Mismatch(text, chunk, node, None, who)
    return Mismatch(message, chunk, node)


class NodeMemory:
    """The pieces of data at one node; `orders` has the association of each chunk, if any."""

    def __init__(
        self, operation: ReduceOp, orders: Sequence[Association | None] | None = None
    ) -> None:
        self._operation, self._orders = operation, orders
        self._pieces: dict[int, dict[Label, Array]] = {}

    def keep(self, chunk: int, label: Label, data: Array) -> None:
        """Stores a copy of a piece; replaces one with the same label."""
        piece = data.copy()
        piece.setflags(write=False)
        self._pieces.setdefault(chunk, {})[label] = piece

    def form(self, chunk: int, label: Label) -> Array | None:
        """The piece with this label, reduced from others if needed; None if impossible."""
        pieces = self._pieces.get(chunk, {})
        if label in pieces:
            return pieces[label]
        if self._orders is not None and (order := self._orders[chunk]) is not None:
            two = [self.form(chunk, part) for part in order.operands(label)]
            left, right = two or (None, None)
            return None if left is None or right is None else self._operation(left, right)
        parts = _parts(label, [have for have in pieces if have and have <= label], set())
        return reduce(self._operation, [pieces[part] for part in parts]) if parts else None

    def labels(self, chunk: int) -> list[Label]:
        """The labels of the pieces of a chunk."""
        return list(self._pieces.get(chunk, {}))


def _parts(label: Label, have: list[Label], hopeless: set[Label]) -> list[Label] | None:
    """Disjoint labels of `have` with the union `label`, by exact cover; None without a cover."""
    if not label:
        return []
    if label in hopeless:
        return None
    least = min(label)
    for part in have:
        if least in part and part <= label:
            rest = _parts(label - part, have, hopeless)
            if rest is not None:
                return [part, *rest]
    hopeless.add(label)
    return None
