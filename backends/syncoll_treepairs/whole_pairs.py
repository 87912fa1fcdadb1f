"""Rounds a fractional packing to whole chunks of all nodes, for a C that loses little."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from math import ceil

import numpy as np
import numpy.typing as npt

from syncoll.deadline import Deadline
from syncoll.model import Algorithm, Carriers, OrbitAlgorithm, Topology
from syncoll.packing.arrivals import MOST_CELLS
from syncoll.packing.expand_orbits import sends_on
from syncoll.packing.master import Master
from syncoll.packing.whole_chunks import (
    KIND,
    KINDEST,
    NEAR_PROMISE,
    WHOLE,
    ColumnChoice,
    DealtChunks,
)
from syncoll_treepairs.network import AllreduceNetwork
from syncoll_treepairs.pairs import AllreducePacking, Pair

_CHOICE = 160
"""Pairs to choose from, including some without a share; limits work."""

MOST_TRIED = MOST_CELLS >> 9
"""Most numbers of chunks that are tried, in units; limits work."""


def pair_choice(packing: AllreducePacking, count: int | None = None) -> ColumnChoice[Pair]:
    """The pairs with a share, and some others, the last ones first.

    Args:
        count: chunks of each orbit for a unit; None for the network's.
    """
    kinds = dict(packing.shared())
    others = [i for i in range(len(packing.columns) - 1, -1, -1) if i not in kinds]
    used = [*kinds, *others[: max(0, _CHOICE - len(kinds))]]
    counts = [packing.network.times if count is None else count]
    return ColumnChoice.of(packing, packing.network.exact_rate, counts, used)


def deal(
    packing: AllreducePacking,
    most_chunks: int,
    below: Fraction | None,
    until: Deadline,
    *,
    thorough: bool = False,
) -> DealtChunks[Pair] | None:
    """The best rounding found, for a few numbers of chunks; None if none costs less.  A `thorough`
    one is for two of them, first with whole rounds of the slowest bound."""
    order, stride = packing.network.order, packing.network.times
    choice = pair_choice(packing, 1)
    most = max(stride, min(most_chunks // order, MOST_TRIED))

    def least(times: int) -> int:
        """A lower bound on the rounds by the packing's value."""
        return max(1, ceil(packing.value * order * times - WHOLE))

    every = {t: Fraction(least(t), t) for t in range(stride, most + 1, stride)}
    promised = {t: cost for t, cost in every.items() if below is None or cost / order < below}
    if not promised:
        return None
    best_promise = min(promised.values())
    losses = choice.losses(t for t in promised if t <= KIND * stride or t % (16 * stride) == 0)
    near = sorted(losses, key=lambda t: losses[t])[: KINDEST // 2]
    candidates = [t for t in near if losses[t] <= best_promise][:1]
    candidates += [t for t, cost in promised.items() if cost <= best_promise * NEAR_PROMISE][:1]
    candidates += [min(promised, key=lambda t: promised[t]), *near]
    if thorough:  # one round more matters least for the largest
        candidates = [max(promised), *near[:1]]
    best: DealtChunks[Pair] | None = None
    for i, times in enumerate(dict.fromkeys(candidates)):
        numbers, part = choice.rounded(times), until.share(1 / (len(candidates) - i))
        for whole in dict.fromkeys((choice.slowest if thorough else 1, 1)):
            if choice.rounds(numbers) > least(times):
                seconds = part.left() * (2 / 3 if whole > 1 else 1)
                numbers = choice.solved(numbers, seconds, whole=whole)
        numbers, units = choice.coarsened(numbers, times // stride)
        dealt = choice.dealt(numbers, order * stride * units)
        if best is None or (dealt.bandwidth, dealt.chunks) < (best.bandwidth, best.chunks):
            best = dealt
        if until.passed:
            break
    if best is None or (below is not None and best.bandwidth >= below):
        return None
    return best


def few_chunks(
    topology: Topology, pairs: Sequence[Pair], most: int, stride: int, until: Deadline
) -> DealtChunks[Pair] | None:
    """Assigns chunks to pairs: the fewest chunks that bring R/C near the fractional optimum.

    Args:
        pairs: at least one.
        most: the largest number of chunks.
        stride: the number of chunks is a multiple of it.
        until: deadline; returns None without an optimum by then.
    """
    steps = 1 + max(int(pair.steps[-1]) for pair in pairs)
    shape, links = (steps, len(topology.links)), len(topology.links)
    counts = [np.bincount(p.steps * links + p.links, minlength=steps * links) for p in pairs]
    on_links = np.stack(counts).reshape(len(pairs), *shape)
    loads = np.stack([on_links[:, :, some].sum(axis=2) for some in topology.bound_links], axis=1)
    rates = [bound.chunks_per_round for bound in topology.bounds]
    rounds = np.moveaxis(loads / np.array([*map(float, rates)])[:, None], 1, 0)
    alike = np.unique(rounds.reshape(len(rounds), -1), axis=0).reshape(-1, len(pairs), steps)
    master = Master(np.ones(len(alike)), [1.0], steps)
    for i in range(len(pairs)):
        master.add(0, alike[:, i])
    if master.solve(until.left()) is None:
        return None
    choice = ColumnChoice(rates, [1], [len(pairs)], pairs, master.shares, loads)
    return _least_lost(choice, range(stride, most + 1, stride), 1)


def rounded_off(packing: AllreducePacking, most_chunks: int) -> DealtChunks[Pair] | None:
    """Rounds the shares for the number of chunks that loses least; None if `most_chunks` is below
    the least number of chunks.

    It calls no solver, so it is fast; with some hundred chunks little is lost.
    """
    network = packing.network
    times = range(network.times, min(most_chunks // network.order, MOST_TRIED) + 1, network.times)
    return _least_lost(ColumnChoice.of(packing, network.exact_rate, [1]), times, network.order)


def _least_lost(
    choice: ColumnChoice[Pair], times: Iterable[int], order: int
) -> DealtChunks[Pair] | None:
    best = choice.least_lost(times)
    return None if best is None else choice.dealt(choice.rounded(best), order * best)


def algorithm_of(network: AllreduceNetwork, dealt: DealtChunks[Pair]) -> Algorithm:
    """The algorithm of these chunks and all their images."""
    return in_waves(network, dealt, own_sends(network.topology, dealt), 1)


def own_sends(topology: Topology, dealt: DealtChunks[Pair]) -> Algorithm:
    """The algorithm of one chunk of each orbit, without rounds."""
    sends, carried = [], []
    whose: dict[Pair, npt.NDArray[np.bool_]] = {}  # independent of the first step
    first = steps = 0
    for pair, number in dealt.columns[0]:
        sends.append(sends_on(pair, topology.ends, np.arange(first, first + number)))
        own_steps = pair.later(-int(pair.steps[0]))
        if own_steps not in whose:
            whose[own_steps] = pair.contributions(topology.ends)
        carried.append(np.tile(whose[own_steps], (number, 1)))
        first += number
        steps = max(steps, int(pair.steps.max(initial=-1)) + 1)
    return Algorithm((0,) * steps, np.concatenate(sends), np.concatenate(carried))


def in_waves(
    network: AllreduceNetwork, dealt: DealtChunks[Pair], own: Algorithm, waves: int
) -> Algorithm:
    """The algorithm of own sends and all their images, in waves.

    Args:
        own: see `own_sends`.
        waves: number of waves; each has other chunks and starts a step later.
    """
    group, each = network.group, dealt.chunks // network.order
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
    return OrbitAlgorithm.plain_if_small(own, carriers).tightened(network.topology)


def _again(carriers: Carriers, times: int) -> Carriers:
    """Repeats carriers for the chunks of each wave, a step later each time."""
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
