"""From a fractional packing to whole chunks: how many of them go which way, for which C."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, gcd
from typing import Protocol

import numpy as np
import numpy.typing as npt

from syncoll.arrays import IntArray
from syncoll.clock import took
from syncoll.deadline import Deadline
from syncoll.linear import GrowingProgram
from syncoll.linear.effort import TICKS_PER_UNIT, limit_cp_sat
from syncoll.model import Algorithm, Carriers, OrbitAlgorithm, Topology
from syncoll_treepairs.machine import Machine
from syncoll_treepairs.pairs import Pair

__all__ = [
    "Dealt",
    "Fractional",
    "algorithm_of",
    "deal",
    "few_chunks",
    "in_waves",
    "own_sends",
    "rounded_off",
    "rounds_of",
]


_NEAR, _FEW = Fraction(1004, 1000), 3
"""How near values of C have to come to the best promise, and how many are dealt."""

_CHOICE = 160
"""Pairs to choose from, those without a share too."""

_TRIED = 4096
_WHOLE = 1e-6


class Fractional(Protocol):
    """A packing: pairs with their loads ``[B, S]`` and shares."""

    machine: Machine
    value: float
    pairs: list[Pair]
    loads: list[IntArray]

    def shared(self) -> list[tuple[int, float]]:
        """Positions of the pairs with a share, the largest first."""


@dataclass(frozen=True, eq=False)
class Dealt:
    """Chunks dealt to pairs of trees.

    Args:
        chunks: how many, of the whole collective.
        rounds: R.
        pairs: each with a number of chunks above 0.
    """

    chunks: int
    rounds: int
    pairs: tuple[tuple[Pair, int], ...]

    @property
    def bandwidth(self) -> Fraction:
        """R for each chunk."""
        return Fraction(self.rounds, self.chunks)


def deal(
    packing: Fractional, most_chunks: int, below: Fraction | None, until: Deadline
) -> Dealt | None:
    """The best way found to deal chunks, for a few numbers of them; None if none costs less."""
    machine, order = packing.machine, packing.machine.order
    stride = machine.times
    kinds = packing.shared()
    used = {i for i, _ in kinds}
    others = [i for i in range(len(packing.pairs) - 1, -1, -1) if i not in used]
    kinds += [(i, 0.0) for i in others[: max(0, _CHOICE - len(kinds))]]
    loads = np.stack([packing.loads[i] for i, _ in kinds])
    shares = np.array([share for _, share in kinds])
    shares = shares / shares.sum()
    most = max(stride, min(most_chunks // order, _TRIED))
    promised: list[tuple[Fraction, int]] = []
    dealt_in: dict[int, tuple[int, IntArray]] = {}
    for times in range(stride, most + 1, stride):
        least = max(1, ceil(packing.value * order * times - _WHOLE))
        promise = Fraction(least, order * times)
        if below is None or promise < below:
            promised.append((promise, times))
            if times <= 64 * stride or times % (16 * stride) == 0:
                numbers = _rounded(shares, times)
                dealt_in[times] = _rounds(machine, numbers, loads), numbers
    if not promised:
        return None
    least_promise = min(promised)[0]
    near = sorted(dealt_in, key=lambda t: Fraction(dealt_in[t][0], t))[:_FEW]
    candidates = [t for t in near if Fraction(dealt_in[t][0], order * t) <= least_promise][:1]
    candidates += [t for promise, t in promised if promise <= least_promise * _NEAR][:1]
    candidates += [min(promised)[1], *near]
    best: Dealt | None = None
    for i, times in enumerate(dict.fromkeys(candidates)):
        numbers = _rounded(shares, times)
        rounds = _rounds(machine, numbers, loads)
        if rounds > max(1, ceil(packing.value * order * times - _WHOLE)):
            part = until.share(1 / (len(candidates) - i))
            numbers = _solved(machine, numbers, loads, rounds, part)
            rounds = _rounds(machine, numbers, loads)
        factor = gcd(*numbers.tolist(), times // stride)
        fewer = _rounds(machine, numbers // factor, loads)
        if fewer * factor <= rounds:
            numbers, rounds, times = numbers // factor, fewer, times // factor
        pairs = tuple(
            (packing.pairs[kinds[j][0]], int(numbers[j])) for j in np.flatnonzero(numbers).tolist()
        )
        dealt = Dealt(order * times, rounds, pairs)
        if best is None or (dealt.bandwidth, dealt.chunks) < (best.bandwidth, best.chunks):
            best = dealt
        if until.passed:
            break
    if best is None or (below is not None and best.bandwidth >= below):
        return None
    return best


def few_chunks(
    topology: Topology, pairs: Sequence[Pair], most: int, stride: int, until: Deadline
) -> Dealt | None:
    """Deals chunks to pairs: as few chunks as bring R/C near the fractional optimum.

    Args:
        pairs: at least one.
        most: the largest number of chunks.
        stride: the number of chunks is a multiple of it.
        until: deadline; the answer is None without an optimum by then.
    """
    steps = 1 + max(int(pair.steps[-1]) for pair in pairs)
    count, links = len(pairs), len(topology.links)
    sends = [np.bincount(p.links * steps + p.steps, minlength=links * steps) for p in pairs]
    on_links = np.stack(sends).reshape(count, links, steps)
    loads = np.stack([on_links[:, some].sum(axis=1) for some in topology.bound_links], axis=1)
    rates = [bound.chunks_per_round for bound in topology.bounds]
    over = np.array([float(rate) for rate in rates])
    program = GrowingProgram(np.concatenate([np.zeros(count), np.ones(steps)]))
    program.add(dict.fromkeys(range(count), 1.0), 1.0, 1.0)
    for step in range(steps):
        for row in np.unique(loads[:, :, step].T / over[:, None], axis=0):
            used = {int(i): float(row[i]) for i in np.flatnonzero(row)}
            program.add(used | {count + step: -1.0}, -np.inf, 0.0)
    optimum = program.minimise(max(0.05, until.left()))
    if optimum is None:
        return None
    shares = np.maximum(0.0, optimum.columns[:count])
    best: Dealt | None = None
    for chunks in range(stride, most + 1, stride):
        numbers = _rounded(shares / shares.sum(), chunks)
        rounds = rounds_of(rates, np.tensordot(numbers, loads, axes=1))
        if best is None or Fraction(rounds, chunks) < best.bandwidth:
            dealt = [(pair, n) for pair, n in zip(pairs, numbers.tolist(), strict=True) if n]
            best = Dealt(chunks, rounds, tuple(dealt))
    return best


def rounded_off(packing: Fractional, most_chunks: int) -> Dealt | None:
    """The shares of a packing as whole numbers, of that many chunks that least is lost.  None where
    fewer are allowed than there have to be.

    No solver is asked, so that it is soon done; with some hundred chunks little is lost.
    """
    machine, stride = packing.machine, packing.machine.times
    kinds = packing.shared()
    loads = np.stack([packing.loads[i] for i, _ in kinds])
    shares = np.array([share for _, share in kinds])
    best: tuple[Fraction, int] | None = None
    for times in range(stride, min(most_chunks // machine.order, _TRIED) + 1, stride):
        cost = Fraction(_rounds(machine, _rounded(shares / shares.sum(), times), loads), times)
        if best is None or cost < best[0]:
            best = cost, times
    if best is None:
        return None
    times = best[1]
    numbers = _rounded(shares / shares.sum(), times)
    pairs = [(packing.pairs[i], n) for (i, _), n in zip(kinds, numbers.tolist(), strict=True)]
    rounds = _rounds(machine, numbers, loads)
    return Dealt(machine.order * times, rounds, tuple(pair for pair in pairs if pair[1]))


def _rounds(machine: Machine, numbers: IntArray, loads: IntArray) -> int:
    return rounds_of(machine.rates, np.tensordot(numbers, loads, axes=1))


def rounds_of(rates: Sequence[Fraction], load: IntArray) -> int:
    """R of sends with loads ``[B, S]`` on bounds of these chunks per round."""
    over = np.array([rate.denominator for rate in rates])[:, None]
    rate = np.array([rate.numerator for rate in rates])[:, None]
    return int((-(-load * over // rate)).max(axis=0).sum())


def _rounded(shares: npt.NDArray[np.float64], whole: int) -> IntArray:
    """Whole numbers near these that add up to another (largest remainders)."""
    exact = shares * whole
    numbers = np.floor(exact + 1e-9).astype(np.int64)
    order = np.argsort(numbers - exact)
    missing = whole - int(numbers.sum())
    numbers[order[:missing]] += 1
    return numbers


def _solved(
    machine: Machine, hint: IntArray, loads: IntArray, most: int, until: Deadline
) -> IntArray:
    """The numbers by CP-SAT; the hint where it finds nothing better in time."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    whole = int(hint.sum())
    numbers = [model.new_int_var(0, whole, "") for _ in hint]
    rounds = [model.new_int_var(0, most, "") for _ in range(loads.shape[2])]
    model.add(sum(numbers) == whole)
    for variable, number in zip(numbers, hint.tolist(), strict=True):
        model.add_hint(variable, number)
    for bound, rate in enumerate(machine.rates):
        for step, room in enumerate(rounds):
            column = loads[:, bound, step]
            used = np.flatnonzero(column).tolist()
            if used:
                total = sum(int(column[i]) * numbers[i] for i in used)
                model.add(rate.denominator * total <= rate.numerator * room)
    model.add(sum(rounds) <= most)
    model.minimize(sum(rounds))
    solver = cp_model.CpSolver()
    limit_cp_sat(solver.parameters, max(0.05, until.left()))
    solver.parameters.relative_gap_limit = 0.001
    status = solver.solve(model)
    took(solver.response_proto.deterministic_time / TICKS_PER_UNIT)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return hint
    return np.array([solver.value(variable) for variable in numbers], dtype=np.int64)


def algorithm_of(machine: Machine, dealt: Dealt) -> Algorithm:
    """The algorithm in which every image of a chunk does what the chunk does."""
    return in_waves(machine, dealt, own_sends(machine.topology, dealt), 1)


def own_sends(topology: Topology, dealt: Dealt) -> Algorithm:
    """What the chunks do of which all others are images, without rounds."""
    ends = np.array(topology.links, dtype=np.int64).reshape(-1, 2)
    sends, carried = [], []
    whose: dict[Pair, npt.NDArray[np.bool_]] = {}  # the same whenever it begins
    first = 0
    steps = 0
    for pair, number in dealt.pairs:
        rows = np.concatenate([ends[pair.links], pair.steps[:, None]], axis=1)
        chunks = np.repeat(np.arange(first, first + number), len(rows))
        sends.append(np.concatenate([chunks[:, None], np.tile(rows, (number, 1))], axis=1))
        own_steps = pair.later(-int(pair.steps[0]))
        if own_steps not in whose:
            whose[own_steps] = pair.contributions(ends)
        carried.append(np.tile(whose[own_steps], (number, 1)))
        first += number
        steps = max(steps, int(pair.steps.max(initial=-1)) + 1)
    return Algorithm((0,) * steps, np.concatenate(sends), np.concatenate(carried))


def in_waves(machine: Machine, dealt: Dealt, own: Algorithm, waves: int) -> Algorithm:
    """The algorithm of own sends and all their images.

    Args:
        own: see `own_sends`.
        waves: all of it comes so often, for other chunks and a step later each time.
    """
    group, each = machine.group, dealt.chunks // machine.order
    # Element e has chunks e * each, ...
    numbers = {images.tobytes(): e for e, images in enumerate(group.elements)}
    maps = []
    for images in group.generators:
        goes = np.array([numbers[images[element].tobytes()] for element in group.elements])
        maps.append((goes[:, None] * each + np.arange(each)).ravel())
    moved = np.array(maps, dtype=np.int64).reshape(-1, dealt.chunks)
    carriers = Carriers(group.generators, moved, group.products)
    if waves > 1:
        carriers = _again(carriers, waves)
        own = replace(own, rounds_per_step=(0,) * (own.steps + waves - 1))
    return OrbitAlgorithm.plain_if_small(own, carriers).tightened(machine.topology)


def _again(carriers: Carriers, times: int) -> Carriers:
    """The same for so many times the chunks, each time a step later."""
    nodes, chunks = carriers.nodes.shape[1], carriers.chunks.shape[1]
    first = np.repeat(np.arange(times) * chunks, chunks)
    every = np.arange(times * chunks)
    generator, order = len(carriers.nodes), carriers.order
    later = np.arange(order * (times - 1))
    return Carriers(
        np.concatenate([carriers.nodes, np.arange(nodes)[None]]),
        np.concatenate(
            [np.tile(carriers.chunks, (1, times)) + first, (every + chunks)[None] % len(every)]
        ),
        np.concatenate(
            [carriers.products, np.stack([np.full_like(later, generator), later], axis=1)]
        ),
        np.concatenate([np.zeros(generator, dtype=np.int64), [1]]),
    )
