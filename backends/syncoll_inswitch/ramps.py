"""Allreduce of several boxes in S steps: a mix of kinds of chunks that fills cables and cards best.

Waves of one size leave the network cards idle while the first sums are formed, and while the last
results are copied.  So waves grow and shrink, and in the first and in the last steps all cards
carry data that later only the roots' cards carry.  The sends of a kind of chunk are given by words,
one for each step with sends; these steps need not be consecutive.  The letters:

* S: sums within the boxes; C: copies of the results within the boxes;
* X: the roots exchange their sums;
* G and P, in place of X: the root of one box, the boxes in turn, gathers the sums from the others,
  and passes on the result;
* x, g and p: the same by every node along its rail, with the data that it has;
* A: in place of sums and copies, all nodes of a box send their data to all others;
* s, c and a: S, C and A in the box that gathers; T and D: sums and copies in the other boxes.

If a node is on no rail, or rails differ in bandwidth, only roots use their cards.  A linear program
chooses the share of each kind, with ``S^3`` variables, or ``S^4 / 2`` for more than two boxes.  Its
solution is rounded for the number of chunks that loses little to whole rounds.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

from syncoll.arrays import Floats, Ints
from syncoll.linear import GrowingProgram
from syncoll.packing.column_generation import TINY
from syncoll.scheduling import MOST_SENDS
from syncoll_inswitch.boxes import Boxes
from syncoll_inswitch.waves import MOST_CHUNKS, Moves

_BY_ROOTS = ("S X C",)
_BY_ALL = ("x S C", "S C x", "x A", "A x")
_GATHERED_BY_ROOTS = ("S G P C", "T sG P C", "S G Pc D", "T sG Pc D")
_GATHERED_BY_ALL = ("g s P C", "g s Pc D", "S G c p", "T sG c p", "g s c p", "g a p")

_Kind = tuple[tuple[str, ...], tuple[int, ...]]
"""The words of a kind of chunk, and the step of each word."""

_LEAST_GAIN = 1e-5
"""The last kind of chunk costs this part more, so that ties go to the first."""

_HOPELESS = 1.2
"""Roundings above this multiple of the best are not filled up; limits work."""

_SLACK = 0.002
"""Least gain for which more chunks are taken; row dgx_h100(boxes=4,nvls=true) of
benchmarks/results/switches.md."""


@dataclass(frozen=True)
class Ramp:
    """The number of chunks of each kind (`times`), in units of the rails' weights."""

    steps: int
    kinds: tuple[_Kind, ...]
    times: tuple[int, ...]

    def moves(self, boxes: Boxes, each: int) -> Moves:
        """The sends of each step, with `each` times the chunks."""
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


def wave(boxes: Boxes, times: int) -> Moves:
    """Sums in boxes, then between them, then copies of the results; `times` the chunks."""
    every = ("S C", *_BY_ROOTS, *_GATHERED_BY_ROOTS)
    words = tuple(every[min(len(boxes.nodes), 3) - 1].split())
    return Ramp(len(words), ((words, tuple(range(len(words)))),), (times,)).moves(boxes, 1)


def _pairs(
    boxes: Boxes, rail: tuple[int, ...], place: int, letter: str
) -> Iterator[tuple[int, int]]:
    """Pairs of sender and receiver, perhaps one node; `place` numbers the box that gathers."""
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
    """The ramp with the least R/C in S steps; None if it needs more chunks than allowed.

    Args:
        groups: boxes, equally many in each group, and the chunks in units of the rails' weights.
        chunks: C if every number is 1.
        most_chunks: limit on C, or None.
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
    best: tuple[float, Ints] | None = None
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


def _fill(times: Ints, loads: Floats, room: Floats, most: int) -> None:
    """Adds chunks to `times` in place, `most` in all, if they fit without another round."""
    left = room - loads @ times
    while times.sum() < most:
        (fit,) = np.nonzero((loads <= left[:, :, None] + TINY).all(axis=(0, 1)))
        if not len(fit):
            return
        times[fit[0]] += 1
        left -= loads[:, :, fit[0]]


def _loads(kinds: Sequence[_Kind], boxes: Boxes, each: int, steps: int) -> Floats:
    """``[3, S, kinds]``: the largest load out of a node, into a node, and on a rail of weight 1.
    Loads are those for `each` times as many chunks of a kind as all rails weigh."""
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


def _parts(loads: Floats, rates: Floats) -> Floats:
    """The share of each kind that takes the fewest rounds.  Ties go to the first kinds: with fewer
    kinds less is lost to whole rounds."""
    steps, kinds = loads.shape[1:]
    # The primal, unlike `packing.master`: all kinds are known and far outnumber the rows.
    later = _LEAST_GAIN * np.arange(kinds) / kinds
    program = GrowingProgram(np.concatenate([later, np.ones(steps)]))
    program.add(dict.fromkeys(range(kinds), 1.0), 1.0, np.inf)
    for load, rate in zip(loads, rates.tolist(), strict=True):
        for step in range(steps):
            row = {i: float(load[step, i]) for i in np.flatnonzero(load[step]).tolist()}
            program.add(row | {kinds + step: -rate}, -np.inf, 0.0)
    optimum = program.minimise()
    assert optimum is not None  # the program is feasible
    return optimum.columns[:kinds]
