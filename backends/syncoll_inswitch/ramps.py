"""Boxes in S steps: as many chunks of each kind as fill cables and network cards best.

Waves of one size leave the cards idle while the first sums are formed, and while the last results
are copied.  So waves grow and shrink, and in the first and in the last steps the cards of all nodes
carry what only those of the roots would carry later.  What is done with a chunk are words, one for
each step in which something is; these steps need not follow one another.  The letters:

* S: sums in the boxes; C: the results are copied there;
* X: the roots exchange their sums;
* G and P, in place of X: the root of one box, another one for every chunk, gathers the sums from
  the others, and passes on the result;
* x, g and p: not the roots do so, but every node along its rail, with what it has by then;
* A: in place of sums and copies of them, all nodes of a box send what they have to all others;
* s, c and a: in the box that gathers alone; T and D: sums and copies in the others.

Where some node is on no rail, or a rail is wider than another, only roots use their cards.  How
much of each there should be is a linear program of ``S^3`` variables, of more than two boxes
``S^4 / 2``; what it says is cut to so many chunks that little is lost by whole rounds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

from syncoll.arrays import FloatArray, IntArray
from syncoll.linear import GrowingProgram
from syncoll.packing.column_generation import TINY
from syncoll.scheduling import MOST_SENDS
from syncoll_inswitch.boxes import Boxes
from syncoll_inswitch.waves import MOST_CHUNKS, Moves

__all__ = ["Ramp", "ramp"]

_BY_ROOTS = ("S X C",)
_BY_ALL = ("x S C", "S C x", "x A", "A x")
_GATHERED_BY_ROOTS = ("S G P C", "T sG P C", "S G Pc D", "T sG Pc D")
_GATHERED_BY_ALL = ("g s P C", "g s Pc D", "S G c p", "T sG c p", "g s c p", "g a p")

_Kind = tuple[tuple[str, ...], tuple[int, ...]]
"""Words, and the step of each."""

_LEAST_GAIN = 1e-5
"""The last kind of chunks costs more by this part, so that the first of equal ones are taken."""

_HOPELESS = 1.2
"""So many times the best that is known does not get below it by what still fits; limits work."""

_SLACK = 0.002
"""Twice as many chunks are not worth so small a part; row dgx_h100(boxes=4,nvls=true) of
benchmarks/results/switches.md."""


@dataclass(frozen=True)
class Ramp:
    """How many chunks there are of each kind, in as many as boxes have rails.

    Args:
        times: of each.
    """

    steps: int
    kinds: tuple[_Kind, ...]
    times: tuple[int, ...]

    def moves(self, boxes: Boxes, each: int) -> Moves:
        """The sends.

        Args:
            each: so many times as many chunks.
        """
        found: list[list[tuple[int, int, int]]] = [[] for _ in range(self.steps)]
        chunk = 0
        for (words, at), times in zip(self.kinds, self.times, strict=True):
            for number, rail in enumerate(boxes.roots * times * each):
                place = number // boxes.chunks % len(boxes.nodes)
                for word, step in zip(words, at, strict=True):
                    for letter in word:
                        pairs = _pairs(boxes, rail, place, letter)
                        found[step] += [(chunk, a, b) for a, b in pairs if a != b]
                chunk += 1
        return tuple(map(tuple, found))


def _pairs(
    boxes: Boxes, rail: tuple[int, ...], place: int, letter: str
) -> Iterator[tuple[int, int]]:
    """Who sends to whom, themselves included.

    Args:
        rail: the roots.
        place: the number of the box that gathers.
    """
    if letter in "XxGgPp":
        for one in boxes.rails if letter.islower() else (rail,):
            if letter in "Xx":
                yield from product(one, one)
            else:
                yield from ((n, one[place]) if letter in "Gg" else (one[place], n) for n in one)
        return
    for number, (nodes, root) in enumerate(zip(boxes.nodes, rail, strict=True)):
        if number == place if letter in "sca" else number != place or letter in "SCA":
            if letter in "Aa":
                yield from product(nodes, nodes)
            else:
                yield from ((n, root) if letter in "SsT" else (root, n) for n in nodes)


def ramp(
    groups: Sequence[tuple[Boxes, int]], chunks: int, steps: int, most_chunks: int | None
) -> Ramp | None:
    """The one with the least R/C for so many steps; None where there are too few chunks for it.

    Args:
        groups: equally many boxes each, and how many times as many chunks as they have rails.
        chunks: C for one time each.
        most_chunks: C at most.
    """
    even, several = all(one.are_even for one, _ in groups), len(groups[0][0].nodes) > 2
    known = [*_BY_ROOTS, *(_BY_ALL if even else ())]
    known += [*_GATHERED_BY_ROOTS, *(_GATHERED_BY_ALL if even else ())] if several else []
    kinds = [
        (words, at)
        for words in map(tuple, map(str.split, known))
        for at in combinations(range(steps), len(words))
    ]
    if not kinds:
        return None
    loads = np.concatenate([_loads(kinds, boxes, each, steps) for boxes, each in groups])
    rates = np.array(
        [float(rate) for boxes, _ in groups for rate in (boxes.wide, boxes.wide, boxes.narrow)]
    )
    parts = _parts(loads, rates)
    sends = sum(2 * each * boxes.chunks * sum(map(len, boxes.nodes)) for boxes, each in groups)
    most_chunks = min(MOST_CHUNKS, most_chunks or MOST_CHUNKS)
    most = min(most_chunks // chunks, MOST_SENDS // 16 // sends)
    best: tuple[float, IntArray] | None = None
    for total in range(1, most + 1):
        times = np.rint(parts * total).astype(np.int64)
        rounds = np.ceil((loads @ times) / rates[:, None] - TINY).max(axis=0)
        cost = rounds.sum() / (times.sum() * chunks) if times.any() else np.inf
        if best is not None and cost >= best[0] * _HOPELESS:
            continue
        _fill(times, loads, rates[:, None] * rounds, most)
        if times.any():
            cost = rounds.sum() / (times.sum() * chunks)
            if best is None or cost < best[0] * (1 - _SLACK):
                best = cost, times
    if best is None:
        return None
    used = np.flatnonzero(best[1]).tolist()
    return Ramp(steps, tuple(kinds[i] for i in used), tuple(best[1][used].tolist()))


def _fill(times: IntArray, loads: FloatArray, room: FloatArray, most: int) -> None:
    """Adds what there is room for, without another round.

    Args:
        times: of each kind, changed here.
        room: of the loads in each step.
        most: of all kinds together.
    """
    left = room - loads @ times
    while times.sum() < most:
        (fit,) = np.nonzero((loads <= left[:, :, None] + TINY).all(axis=(0, 1)))
        if not len(fit):
            return
        times[fit[0]] += 1
        left -= loads[:, :, fit[0]]


def _loads(kinds: Sequence[_Kind], boxes: Boxes, each: int, steps: int) -> FloatArray:
    """``[3, S, kinds]``: what leaves a node, what enters it, and what a rail of weight 1 carries,
    the most of any, of as many chunks of a kind as there are rails, so many times."""
    out, into, rail = found = np.zeros((3, steps, len(kinds)))
    at_roots, others = max(boxes.weights), len(boxes.nodes) - 1
    on_rails = len(boxes.rails) * len(boxes.nodes) == sum(map(len, boxes.nodes))
    to_roots = boxes.chunks - (min(boxes.weights) if on_rails else 0)
    for i, (words, at) in enumerate(kinds):
        for letter, step in ((x, t) for word, t in zip(words, at, strict=True) for x in word):
            if letter in "XxGgPp":
                values = boxes.chunks if letter.islower() else 1
                rail[step, i] += values * (others if letter in "Xx" else others / (others + 1))
                continue
            ends = (at_roots, to_roots)
            if letter in "Aa":
                ends = (boxes.chunks, boxes.chunks * (max(map(len, boxes.nodes)) - 1))
            elif letter in "SsT":
                ends = ends[::-1]
            part = 1 / (others + 1) if letter in "sca" else 1.0
            part = others / (others + 1) if letter in "TD" else part
            out[step, i] += ends[0] * part
            into[step, i] += ends[1] * part
    return each * found


def _parts(loads: FloatArray, rates: FloatArray) -> FloatArray:
    """Of each kind how much takes the fewest rounds, in parts of all; of equal ones those that come
    first, which are few, so that less is lost by whole rounds."""
    steps, kinds = loads.shape[1:]
    # Not the dual, as `packing.master` does: kinds are all known, and are many more than rows.
    later = _LEAST_GAIN * np.arange(kinds) / kinds
    program = GrowingProgram(np.concatenate([later, np.ones(steps)]))
    program.add(dict.fromkeys(range(kinds), 1.0), 1.0, np.inf)
    for load, rate in zip(loads, rates.tolist(), strict=True):
        for step in range(steps):
            row = {i: float(load[step, i]) for i in np.flatnonzero(load[step]).tolist()}
            program.add(row | {kinds + step: -rate}, -np.inf, 0.0)
    optimum = program.minimise()
    assert optimum is not None  # it has one
    return optimum.columns[:kinds]
