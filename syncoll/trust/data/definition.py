"""The definition of a collective, computed from the inputs: no steps, links or partial results.

Every node of a chunk's post holds the reduction over all nodes of its pre; for a collective that
only moves data, the chunk's data.

Copies, integers, maxima and minima must agree bit for bit.  Sums and products of floats depend on
the order of operations.  The rounding error of adding k numbers in any order stays below about
k/2 * eps * sum |x_i| (Higham, Accuracy and Stability of Numerical Algorithms, section 4.2); the
tolerance is twice that.  For products it is k * eps relative to the product, plus k times the least
number above 0 for subnormal results.  eps is 2^-23 for float32, 2^-10 for float16 and 2^-7 for
bfloat16.  (The bound on k - 1 additions is (k-1) u / (1 - (k-1) u) with u = eps/2, at most k eps
while (k-1) u <= 1/2: up to 129 contributions in bfloat16, 1025 in float16.  With more the tolerance
reaches the sum itself.)  The reference is computed in numpy's longest float.

A node's data is cut into C chunks of equal length, rounded up: the last ones are shorter, or empty.
A chunk's place among all that start at the first node of its pre gives its length: the C chunks of
one node add up to the node's data.
"""

from dataclasses import dataclass
from functools import reduce

import numpy as np

from syncoll.model import Instance
from syncoll.trust.data.workload import Array, ReduceOp, Workload, exactly, rounding, widen


class Inputs:
    """The data of every chunk at every node of its pre before the first step: in a combining
    instance the node's own contribution, otherwise the same at all nodes."""

    def __init__(self, instance: Instance, workload: Workload) -> None:
        pre = instance.pre
        owner = pre.argmax(axis=1)
        at_owner = (pre.cumsum(axis=0) - 1)[np.arange(len(pre)), owner]
        pieces = max(instance.chunks, int(pre.sum(axis=0).max()))
        longest = -(-workload.elements // pieces)
        lengths = np.clip(workload.elements - at_owner * longest, 0, longest)
        lengths[~pre.any(axis=1)] = 0
        self.lengths: list[int] = lengths.tolist()
        """Elements of each chunk."""
        self._data: dict[tuple[int, int], Array] = {}
        for node in range(pre.shape[1]):
            mine = pre[:, node] if instance.combining else pre[:, node] & (owner == node)
            chunks = np.flatnonzero(mine)
            ends = lengths[chunks].cumsum()
            drawn = workload.draw(int(lengths[chunks].sum()), node)
            drawn.setflags(write=False)
            for chunk, end in zip(chunks.tolist(), ends.tolist(), strict=True):
                self._data[chunk, node] = drawn[end - self.lengths[chunk] : end]
        if not instance.combining:
            for chunk, node in np.argwhere(pre).tolist():
                self._data[chunk, node] = self._data[chunk, int(owner[chunk])]

    def of(self, chunk: int, node: int) -> Array:
        """The data of a chunk at a node of its pre."""
        return self._data[chunk, node]


@dataclass(frozen=True, eq=False)
class DataDemand:
    """The data expected at every node of a chunk's post, in a type at least as precise as the
    data's.  The tolerance is the largest difference allowed for each element; None: exact."""

    value: Array
    tolerance: Array | None

    def wrong(self, result: Array) -> Array:
        """For each element whether a result differs from the demand by more than the tolerance."""
        if self.tolerance is None:
            return np.asarray(result != self.value)
        return np.asarray(~(np.abs(exactly(result) - self.value) <= self.tolerance))

    def error(self, result: Array) -> float:
        """The largest difference of any element."""
        if not len(result) or np.array_equal(widen(result), widen(self.value)):
            return 0.0  # without differences, which take four times the memory
        return float(np.abs(exactly(result) - exactly(self.value)).max())


def demand(instance: Instance, inputs: Inputs, workload: Workload, chunk: int) -> DataDemand:
    """The data of a chunk by the collective's definition."""
    nodes = np.flatnonzero(instance.pre[chunk]).tolist()
    if not instance.combining:
        return DataDemand(inputs.of(chunk, nodes[0]), None)
    return reduction([inputs.of(chunk, node) for node in nodes], workload.operation)


def reduction(contributions: list[Array], operation: ReduceOp) -> DataDemand:
    """All of them reduced, with the tolerance for another order of reduction."""
    dtype = contributions[0].dtype
    if dtype.kind == "i" or operation in (ReduceOp.MAX, ReduceOp.MIN):
        return DataDemand(reduce(operation, contributions), None)
    wide = [exactly(one) for one in contributions]
    value = reduce(operation, wide)
    scale = reduce(operation, map(np.abs, wide))
    eps, least = rounding(dtype)
    if operation is ReduceOp.SUM:
        least = 0.0  # sums of numbers that coarse are exact
    return DataDemand(value, len(wide) * (eps * scale + least))
