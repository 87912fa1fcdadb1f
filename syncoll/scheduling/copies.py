"""Which sends of a node one switch makes of a single one."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from syncoll.model import Counting, Topology

__all__ = ["copied_together"]


def copied_together(topology: Topology) -> npt.NDArray[np.int64]:
    """``[L]``: links out of a node that share bounds that count copies have equal numbers; else -1.

    What the node sends over links of equal numbers in one step may count once in some bound.
    """
    group = np.full(len(topology.links), -1, dtype=np.int64)
    tails = np.array([link[0] for link in topology.links], dtype=np.int64)
    for bound, members in zip(topology.bounds, topology.bound_links, strict=True):
        if bound.counts is not Counting.SOURCES:
            continue
        for node in np.unique(tails[members]).tolist():
            own = members[tails[members] == node]
            known = np.unique(group[own])
            joined = known[known >= 0]
            name = min([*joined.tolist(), int(own[0])])
            group[np.isin(group, joined)] = group[own] = name
    return group
