"""What a collective is, computed from the inputs directly: no steps, no links, no partial results.

At every node of a chunk's post stands the reduction over all nodes of its pre; for a collective
that only moves data, the chunk's data as it is.

Copies, integers, maxima and minima must be met bit for bit.  Sums and products of floats depend on
the order of the operations.  However k numbers are added, rounding errors stay below about
k/2 * eps * sum |x_i| (Higham, Accuracy and Stability of Numerical Algorithms, section 4.2), so the
tolerance is twice that: relative to the sum of the magnitudes, which is to a sum that cancels what
its condition number says.  For products it is k * eps relative to the product.  The reference
itself is computed in numpy's longest float.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np

from syncoll.execution.inputs import Inputs
from syncoll.execution.workload import Array, Operation, Workload
from syncoll.model import Instance

__all__ = ["Demand", "demand", "reduction"]


@dataclass(frozen=True, eq=False)
class Demand:
    """What must stand at every node of a chunk's post.

    Args:
        value: in a type at least as precise as the data's.
        tolerance: the largest difference allowed, for each element; None where none is.
    """

    value: Array
    tolerance: Array | None

    def wrong(self, result: Array) -> Array:
        """For each element whether a result is not what is demanded."""
        if self.tolerance is None:
            return np.asarray(result != self.value)
        return np.asarray(~(np.abs(result.astype(np.longdouble) - self.value) <= self.tolerance))

    def error(self, result: Array) -> float:
        """The largest difference of any element."""
        if not len(result) or np.array_equal(result, self.value):
            return 0.0
        return float(np.abs(result.astype(np.longdouble) - self.value).max())


def demand(instance: Instance, inputs: Inputs, workload: Workload, chunk: int) -> Demand:
    """What the collective's definition says about a chunk."""
    nodes = np.flatnonzero(instance.pre[chunk]).tolist()
    if not instance.combining:
        return Demand(inputs.of(chunk, nodes[0]), None)
    return reduction([inputs.of(chunk, node) for node in nodes], workload.operation)


def reduction(contributions: list[Array], operation: Operation) -> Demand:
    """All of them reduced, with the tolerance for another order of reduction."""
    dtype = contributions[0].dtype
    if dtype.kind == "i" or operation in (Operation.MAX, Operation.MIN):
        return Demand(reduce(operation, contributions), None)
    wide = [one.astype(np.longdouble) for one in contributions]
    value = reduce(operation, wide)
    scale = reduce(operation, map(np.abs, wide))
    return Demand(value, len(wide) * np.finfo(dtype).eps * scale)
