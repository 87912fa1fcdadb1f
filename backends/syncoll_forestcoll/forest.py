"""The forest that a packing describes."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from syncoll.model.fabric import Fabric
from syncoll.model.forest import Forest
from syncoll_forestcoll.packing import ForestPacking, locate

__all__ = ["forest_of"]


def forest_of(
    fabric: Fabric,
    weights: tuple[int, ...],
    k: int,
    scale: Fraction,
    packing: ForestPacking,
    junctions: tuple[int, ...] = (),
) -> Forest:
    """The forest that a packing of the whole fabric describes; its trees reach all junctions."""
    place = {v: i for i, v in enumerate((*range(fabric.num_nodes), *junctions))}
    starts = _all_starts(packing)
    entering = np.empty((len(starts), len(place)), dtype=np.int32)
    for block in packing.blocks:
        rows = locate(block.starts, starts)
        for column, v in enumerate(block.vertices):
            entering[:, place[v]] = block.arcs[rows, column]
    roots = np.array(sorted(packing.root_start, key=packing.root_start.__getitem__))
    begins = np.array([packing.root_start[v] for v in roots], dtype=np.int64)
    return Forest(
        fabric,
        weights,
        k,
        scale,
        roots[locate(begins, starts)].astype(np.int32),
        np.diff(starts, append=packing.total),
        tuple(path for _, _, path in packing.arcs),
        entering,
        junctions=junctions,
    )


def _all_starts(packing: ForestPacking) -> npt.NDArray[np.int64]:
    """Where some node's entering link changes, or the root."""
    roots = np.array(sorted(packing.root_start.values()), dtype=np.int64)
    if packing.total <= 1 << 26:
        marked = np.zeros(packing.total, dtype=np.bool_)
        marked[roots] = True
        for block in packing.blocks:
            marked[block.starts] = True
        return np.nonzero(marked)[0].astype(np.int64)
    starts = roots
    for block in packing.blocks:
        starts = np.union1d(starts, block.starts)
    return starts
