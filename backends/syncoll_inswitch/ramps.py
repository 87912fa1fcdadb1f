"""Two boxes in S steps: as many chunks of each kind as fill cables and network cards best.

Waves of one size leave the cards idle while the first sums are formed, and while the last results
are copied.  So waves grow and shrink, and in the first and in the last steps the cards of all nodes
carry what only those of the roots would carry later.  A chunk is one of three kinds, each with
three steps i < j < k that need not follow one another:

* roots: i sums in the boxes, j the roots exchange them, k copies;
* before: i every node exchanges its contribution with that of its rail, j sums of both, k copies;
* behind: i sums in the boxes, j copies of them, k every node exchanges them along its rail.

Where some node is on no rail, or a rail is wider than another, all are of the first kind.  How much
of each there should be is a linear program of ``S^3 / 2`` variables; what it says is cut to so many
chunks that little is lost by whole rounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from syncoll.linear import GrowingProgram
from syncoll_inswitch.boxes import Boxes
from syncoll_inswitch.waves import Moves

__all__ = ["Ramp", "ramp"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_ROOTS, _BEFORE, _BEHIND = range(3)

_MOST_CHUNKS = 1 << 11
_SLACK = 0.002
"""Twice as many chunks are not worth so small a part."""


@dataclass(frozen=True)
class Ramp:
    """How many chunks there are of each kind, in as many as boxes have rails.

    Args:
        kinds: the kind and its three steps.
        times: of each.
    """

    steps: int
    kinds: tuple[tuple[int, tuple[int, int, int]], ...]
    times: tuple[int, ...]

    def moves(self, boxes: Boxes, each: int) -> Moves:
        """The sends of two boxes.

        Args:
            each: so many times as many chunks.
        """
        found: list[list[tuple[int, int, int]]] = [[] for _ in range(self.steps)]
        chunk = 0
        for (kind, at), times in zip(self.kinds, self.times, strict=True):
            sums, copies = {_ROOTS: (0, 2), _BEFORE: (1, 2), _BEHIND: (0, 1)}[kind]
            (between,) = {0, 1, 2} - {sums, copies}
            for rail in boxes.roots * times * each:
                for box, root in zip(boxes.nodes, rail, strict=True):
                    others = [node for node in box if node != root]
                    found[at[sums]] += [(chunk, node, root) for node in others]
                    found[at[copies]] += [(chunk, root, node) for node in others]
                for a, b in [rail] if kind == _ROOTS else boxes.rails:
                    found[at[between]] += [(chunk, a, b), (chunk, b, a)]
                chunk += 1
        return tuple(map(tuple, found))


def ramp(
    groups: Sequence[tuple[Boxes, int]], chunks: int, steps: int, most_chunks: int | None
) -> Ramp | None:
    """The one with the least R/C for so many steps; None where there are too few chunks for it.

    Args:
        groups: two boxes each, and how many times as many chunks as they have rails.
        chunks: C for one time each.
        most_chunks: C at most.
    """
    even = all(boxes.are_even for boxes, _ in groups)
    known = (_ROOTS, _BEFORE, _BEHIND) if even else (_ROOTS,)
    kinds = [(kind, at) for at in combinations(range(steps), 3) for kind in known]
    loads = np.concatenate([_loads(kinds, boxes, each, steps) for boxes, each in groups])
    rates = np.array(
        [float(rate) for boxes, _ in groups for rate in (boxes.wide, boxes.wide, boxes.narrow)]
    )
    parts = _parts(loads, rates)
    most = min(_MOST_CHUNKS, most_chunks or _MOST_CHUNKS) // chunks
    best: tuple[float, IntArray] | None = None
    for total in range(1, most + 1):
        times = np.rint(parts * total).astype(np.int64)
        if not times.any():
            continue
        rounds = np.ceil((loads @ times) / rates[:, None] - 1e-9).max(axis=0).sum()
        cost = rounds / (times.sum() * chunks)
        if best is None or cost < best[0] * (1 - _SLACK):
            best = cost, times
    if best is None:
        return None
    used = np.flatnonzero(best[1]).tolist()
    return Ramp(steps, tuple(kinds[i] for i in used), tuple(best[1][used].tolist()))


def _loads(
    kinds: list[tuple[int, tuple[int, int, int]]], boxes: Boxes, each: int, steps: int
) -> FloatArray:
    """``[3, S, kinds]``: what leaves a node, what enters it, and what a rail of weight 1 carries,
    the most of any, of as many chunks of a kind as there are rails, so many times."""
    out, into, rail = found = np.zeros((3, steps, len(kinds)))
    at_roots = max(boxes.weights)
    on_rails = len(boxes.rails) * len(boxes.nodes) == sum(map(len, boxes.nodes))
    to_roots = boxes.chunks - (min(boxes.weights) if on_rails else 0)
    for i, (kind, at) in enumerate(kinds):
        sums, copies = {_ROOTS: (0, 2), _BEFORE: (1, 2), _BEHIND: (0, 1)}[kind]
        (between,) = {0, 1, 2} - {sums, copies}
        out[at[sums], i] += to_roots
        into[at[sums], i] += at_roots
        out[at[copies], i] += at_roots
        into[at[copies], i] += to_roots
        rail[at[between], i] += 1 if kind == _ROOTS else boxes.chunks
    return each * found


def _parts(loads: FloatArray, rates: FloatArray) -> FloatArray:
    """Of each kind how much takes the fewest rounds, in parts of all."""
    steps, kinds = loads.shape[1:]
    program = GrowingProgram(np.concatenate([np.zeros(kinds), np.ones(steps)]))
    program.add(dict.fromkeys(range(kinds), 1.0), 1.0, np.inf)
    for load, rate in zip(loads, rates.tolist(), strict=True):
        for step in range(steps):
            row = {i: float(load[step, i]) for i in np.flatnonzero(load[step]).tolist()}
            program.add(row | {kinds + step: -rate}, -np.inf, 0.0)
    program.run()
    columns = program.columns
    assert columns is not None  # it has an optimum
    return columns[:kinds]
