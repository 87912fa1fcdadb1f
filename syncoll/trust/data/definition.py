"""What a collective is, computed from the inputs directly: no steps, no links, no partial results.

At every node of a chunk's post stands the reduction over all nodes of its pre; for a collective
that only moves data, the chunk's data as it is.

Copies, integers, maxima and minima must be met bit for bit.  Sums and products of floats depend on
the order of the operations.  However k numbers are added, rounding errors stay below about
k/2 * eps * sum |x_i| (Higham, Accuracy and Stability of Numerical Algorithms, section 4.2), so the
tolerance is twice that: relative to the sum of the magnitudes, which is to a sum that cancels what
its condition number says.  For products it is k * eps relative to the product, and k times the
least number above 0, as numbers below the normal ones are coarser.  eps is 2^-23 of float32, 2^-10
of float16 and 2^-7 of bfloat16.  (The bound on k - 1 additions is (k-1) u / (1 - (k-1) u) with
u = eps/2, at most k eps while (k-1) u <= 1/2: up to 129 contributions in bfloat16, 1025 in
float16.  Beyond about as many the tolerance reaches the sum itself and tells little.)

The reference itself is computed in numpy's longest float, in which sums of few halves are exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np

from syncoll.model import Instance
from syncoll.trust.data.halves import exactly, rounding
from syncoll.trust.data.inputs import Inputs
from syncoll.trust.data.workload import Array, ReduceOp, Workload

__all__ = ["DataDemand", "demand", "reduction"]


@dataclass(frozen=True, eq=False)
class DataDemand:
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
        return np.asarray(~(np.abs(exactly(result) - self.value) <= self.tolerance))

    def error(self, result: Array) -> float:
        """The largest difference of any element."""
        if not len(result):
            return 0.0
        return float(np.abs(exactly(result) - exactly(self.value)).max())


def demand(instance: Instance, inputs: Inputs, workload: Workload, chunk: int) -> DataDemand:
    """What the collective's definition says about a chunk."""
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
