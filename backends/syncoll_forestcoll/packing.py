"""A packing: the link by which every tree enters every node, for all trees of a network.

The trees lie on a line: position p is one tree (one unit), and each root has an interval as long as
its demand.  For every node the line is cut into pieces with the same entering link.  Runs of equal
trees cost nothing, so demands may be large.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from syncoll.arrays import Ints
from syncoll.model import Fabric, Forest
from syncoll.routing.network import Network, Path

ArcArray = npt.NDArray[np.int32]

Arc = tuple[int, int, Path]
"""(tail, head, physical path) of a link between two terminals."""


@dataclass(frozen=True, eq=False)
class ArcBlock:
    """The entering links of some nodes.

    Args:
        starts: starts of the pieces of the line, rising from 0.
        arcs: ``[piece, node]``: the number of an arc, or -1 where the node is the root.
    """

    vertices: tuple[int, ...]
    starts: Ints
    arcs: ArcArray


@dataclass(frozen=True, eq=False)
class ForestPacking:
    """All trees of a network.

    Args:
        total: the length of the line.
        root_start: start of the interval of each root.
        arcs: the arcs that the blocks number.
        blocks: each node is in one of them.
    """

    total: int
    root_start: dict[int, int]
    arcs: list[Arc]
    blocks: list[ArcBlock]


def locate(starts: Ints, positions: Ints) -> Ints:
    """The piece that contains each position."""
    return np.searchsorted(starts, positions, side="right") - 1


def on_paths(
    network: Network, links: Sequence[tuple[int, int]], packing: ForestPacking
) -> ForestPacking:
    """Divides the physical paths of each link among the trees that use it.  The packing's blocks
    number `links`; `packing.arcs` is ignored."""
    arcs: list[Arc] = []
    first = np.zeros(len(links) + 1, dtype=np.int64)
    bounds: list[Ints | None] = []
    for i, (u, v) in enumerate(links):
        first[i] = len(arcs)
        pieces = network.pieces[u, v]
        arcs.extend((u, v, path) for path, _ in pieces)
        bounds.append(
            np.cumsum([units for _, units in pieces], dtype=np.int64) if len(pieces) > 1 else None
        )
    blocks = []
    for block in packing.blocks:
        used = np.unique(block.arcs)
        cut = {int(i) for i in used if i >= 0 and bounds[i] is not None}
        if not cut:
            arcs_now = np.where(block.arcs < 0, -1, first[block.arcs]).astype(np.int32)
            blocks.append(ArcBlock(block.vertices, block.starts, arcs_now))
            continue
        lengths = np.diff(block.starts, append=packing.total)
        new_starts: list[Ints] = [block.starts]
        layers: list[tuple[int, int, Ints, Ints]] = []
        for column in range(len(block.vertices)):
            line = block.arcs[:, column]
            order = np.argsort(line, kind="stable")
            ends = np.searchsorted(line[order], np.arange(-1, len(links)), side="right")
            for i in cut.intersection(np.unique(line).tolist()):
                rows = order[ends[i] : ends[i + 1]]
                bound = bounds[i]
                assert bound is not None
                offset = np.cumsum(lengths[rows]) - lengths[rows]
                inner = bound[:-1][bound[:-1] < offset[-1] + lengths[rows[-1]]]
                at = locate(offset, inner)
                new_starts.append(block.starts[rows[at]] + inner - offset[at])
                layers.append((column, i, rows, offset))
        starts = np.unique(np.concatenate(new_starts))
        piece = locate(block.starts, starts)
        old = block.arcs[piece]
        new = np.where(old < 0, -1, first[old])
        shift = starts - block.starts[piece]
        for column, i, rows, offset in layers:
            bound = bounds[i]
            assert bound is not None
            where = np.nonzero(old[:, column] == i)[0]
            place = np.searchsorted(rows, piece[where])
            position = offset[place] + shift[where]
            new[where, column] += np.searchsorted(bound, position, side="right")
        blocks.append(ArcBlock(block.vertices, starts, new.astype(np.int32)))
    return ForestPacking(packing.total, packing.root_start, arcs, blocks)


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
    """The positions where a node's entering link, or the root, changes."""
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
