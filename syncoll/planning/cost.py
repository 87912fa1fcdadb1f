"""What an algorithm costs: the alpha-beta model of the SCCL paper, in exact numbers.

An algorithm of S steps and R rounds that cuts each node's data of L bytes into C chunks takes

    overhead + S * alpha + (R / C) * L * beta

(SCCL paper, section 3.6; the overhead, that of starting a collective, is ours).  Alpha is the
latency of a step.  Beta is given by its inverse: the bandwidth of a link that carries one chunk per
round.  What faster and slower links do is in R already.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from syncoll.errors import UsageError
from syncoll.model import Topology

__all__ = ["CostModel", "unit_bandwidth"]


@dataclass(frozen=True)
class CostModel:
    """Times of algorithms.

    Args:
        alpha: seconds for each step; at least 0.
        bandwidth: 1/beta, bytes per second of a link that carries one chunk per round; above 0.
        overhead: seconds for each call, whatever the algorithm; at least 0.

    Raises:
        UsageError: on a number out of its range.
    """

    alpha: Fraction
    bandwidth: Fraction
    overhead: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        if self.alpha < 0 or self.overhead < 0:
            name = "alpha" if self.alpha < 0 else "an overhead"
            value = min(self.alpha, self.overhead)
            raise UsageError(f"{name} of {value} s is negative; expected at least 0")
        if self.bandwidth <= 0:
            raise UsageError(f"a bandwidth of {self.bandwidth} bytes/s moves nothing")

    def seconds(self, steps: int, bandwidth_cost: Fraction, size: Fraction | int) -> Fraction:
        """The time of an algorithm.

        Args:
            steps: S.
            bandwidth_cost: R/C.
            size: L, bytes of one node's data.
        """
        return self.overhead + steps * self.alpha + bandwidth_cost * size / self.bandwidth


def unit_bandwidth(topology: Topology) -> Fraction | None:
    """Bytes per second that a chunk per round stands for, where the topology has units.

    Returns:
        None where it counts in chunks per round only.
    """
    fabric = topology.fabric
    if fabric is None or fabric.measure != "GB/s":
        return None
    return fabric.chunk_bandwidth * 10**9
