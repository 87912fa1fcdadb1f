"""The times of the MultiTree paper's allreduces in packets and in messages, and their model.

Its figures are plots without numbers; the text about them is compared, and the highest ticks of
their axes, which are printed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from benchmarks.papers.multitree.allreduces import Allreduce, Made, on_links
from benchmarks.papers.multitree.machines import Machine
from syncoll.simulating import Injection, Semantics

__all__ = [
    "DBTREE",
    "HDRM",
    "MESSAGES",
    "MODEL",
    "MULTITREE",
    "PACKETS_SENT",
    "PAPER",
    "RING",
    "RING2D",
    "Times",
    "raced",
    "spread",
    "timed",
]

Floats = npt.NDArray[np.float64]
Times = Mapping[str, Floats]
"""Seconds for each size, by algorithm."""

PAPER = "Huang et al., MultiTree (ISCA 2021)"
"""Communication Algorithm-Architecture Co-Design for Distributed Deep Learning."""
MESSAGES, MULTITREE, DBTREE = "MultiTree, messages", "MultiTree", "double binary tree"
RING2D, RING, HDRM = "2D-ring", "ring", "HDRM"

PACKETS_SENT = Semantics(injection=Injection.LOCKSTEP, packet=256, header=16)
"""Packets of 256 bytes with a head flit of 16 (section II-C, Table III)."""
MESSAGES_SENT = Semantics(injection=Injection.LOCKSTEP, header=16)
"""A head flit for a whole chunk (section IV-B)."""

MODEL = (
    "Links of 16 GB/s and 150 ns, cut-through switches, lockstep injection for every algorithm "
    "(section V-A). Packets have 256 bytes with a head flit of 16; messages have one head flit for "
    "each chunk. Buffers are large enough, routers and additions take no time. Messages go over "
    "shortest paths, along rows first; the double binary tree has N/2 segments in each tree. Every "
    "algorithm has passed the verifier."
)


def raced(
    machine: Machine, makers: Iterable[tuple[str, Callable[[Machine], Made]]]
) -> dict[str, Allreduce]:
    """Verified allreduces on a network's links."""
    return {name: on_links(machine, make(machine)) for name, make in makers}


def timed(allreduces: Mapping[str, Allreduce], sizes: Sequence[int]) -> dict[str, Floats]:
    """Their times in packets, and of MultiTree in messages too, which comes first."""
    found = {}
    if MULTITREE in allreduces:
        found[MESSAGES] = allreduces[MULTITREE].seconds(sizes, MESSAGES_SENT)
    for name, one in allreduces.items():
        found[name] = one.seconds(sizes, PACKETS_SENT)
    return found


def spread(values: Iterable[float]) -> str:
    low, high = (f"{one:.2f}" for one in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"
