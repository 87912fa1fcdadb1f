"""Waves: the pairs of trees of a packing, started again in every step.

A packing rounded to few chunks is a wave.  Each of m waves starts a step after the one before; they
take depth + m - 1 steps and load every link alike except in the first and last steps.  So R/C tends
to the packing's.  A family has the same wave for every m.  Its wave has enough chunks for rounds
near the packing's value, more than an algorithm of several waves could have.
"""

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from syncoll.arrays import Ints
from syncoll.deadline import Deadline
from syncoll.model import Algorithm, Collective
from syncoll.packing.whole_chunks import DealtChunks, rounds_of, rounds_per_step
from syncoll.results import Family, Part
from syncoll.scheduling import family_of_waves
from syncoll_treepairs.fitting import MOST_CONTRIBUTIONS
from syncoll_treepairs.network import AllreduceNetwork
from syncoll_treepairs.pairs import Pair
from syncoll_treepairs.wave_packing import WavePacking
from syncoll_treepairs.whole_pairs import MOST_TRIED, deal, in_waves, own_sends, rounded_off

_LEAST_GAIN, _NEAR = 0.995, 1.01
"""More waves must lower R/C by the first factor, until it is within the second of the packing's; a
third more waves are tried each time.  Row mesh(6,6) of benchmarks/results/allreduce.md."""

_LEAST_WAVES = 256
"""A wave has at most the inverse of this as its part of the largest C; limits memory."""


def waves(
    packing: WavePacking, most_chunks: int, most_steps: int | None, until: Deadline
) -> Iterator[tuple[int, int, Algorithm]]:
    """First the largest useful number of waves, then smaller ones in ascending order: the number,
    the chunks of the whole collective, and the algorithm."""
    network = packing.network
    room = max(1, MOST_CONTRIBUTIONS // 4 // (2 * network.num_nodes**2)) * network.order
    most = max(network.least_chunks, min(room, most_chunks // _LEAST_WAVES))
    dealt = deal(packing, most, None, until)
    if dealt is None:
        return
    wave, load = _from_its_first_step(network, dealt)
    most = min(most_chunks, MOST_CONTRIBUTIONS // 2 // network.num_nodes) // wave.chunks
    if most_steps is not None:
        most = min(most, most_steps - load.shape[1] + 1)
    own = own_sends(network.topology, wave)
    kept, before = [], np.inf
    for count in _counts(most):
        cost = _rounds(network, load, count) / (wave.chunks * count)
        if cost < before * _LEAST_GAIN:
            kept.append(count)
            before = cost
        if cost <= wave.rounds / wave.chunks * _NEAR:
            break
    # The best R/C comes first: on a large network each number takes long.
    for count in (*kept[-1:], *kept[:-1]):
        yield count, wave.chunks * count, in_waves(network, wave, own, count)


def family_of(
    packing: WavePacking, collective: Collective, per: Fraction = Fraction(1)
) -> Family | None:
    """The family of waves of a packing; None if they would be too large.

    Args:
        collective: one or several allreduces.
        per: chunks of the collective for each unit of C.
    """
    network = packing.network
    nodes = network.num_nodes
    least = min(int(pair.steps[-1] - pair.steps[0]) + 1 for pair in packing.columns)
    # The first member is replayed; with more chunks rounding loses little.
    most = min(MOST_TRIED // 4, MOST_CONTRIBUTIONS // 16 // (2 * nodes * nodes * least))
    dealt = rounded_off(packing, most)
    if dealt is None:
        return None
    wave, load = _from_its_first_step(network, dealt)
    made = in_waves(network, wave, own_sends(network.topology, wave), 1)
    depth = load.shape[1]
    if made.steps != depth:
        return None  # one of its steps is empty
    instance = collective.instantiate(
        network.topology, chunks=int(wave.chunks / per), steps=depth, rounds=made.rounds
    )
    going = np.cumsum(load, axis=1)
    usual = going[:, -1:]
    per_step = (
        np.maximum(1, rounds_per_step(network.exact_rate, some)).tolist()
        for some in (usual, going[:, :-1], usual - going[:, :-1])
    )
    (every,), up, down = per_step
    algorithm = Algorithm(made.rounds_per_step, made.sends, made.contributions)
    return family_of_waves(Part(instance, algorithm), every, up, down)


def _from_its_first_step(
    network: AllreduceNetwork, dealt: DealtChunks[Pair]
) -> tuple[DealtChunks[Pair], Ints]:
    """A wave that begins with step 0, and the load of one bound of each orbit, ``[B, depth]``."""
    begins = min(int(pair.steps[0]) for pair, _ in dealt.columns[0])
    pairs = tuple((pair.later(-begins), number) for pair, number in dealt.columns[0])
    depth = 1 + max(int(pair.steps[-1]) for pair, _ in pairs)
    load = np.zeros((len(network.exact_rate), depth), dtype=np.int64)
    for pair, number in pairs:
        load += number * network.load(pair.links, pair.steps, depth)
    return DealtChunks(dealt.chunks, dealt.rounds, (pairs,)), load


def _rounds(network: AllreduceNetwork, load: Ints, count: int) -> int:
    """R of `count` waves with this load of one bound of each orbit, ``[B, depth]``."""
    depth = load.shape[1]
    total = np.zeros((len(load), depth + count), dtype=np.int64)
    total[:, :depth] += load
    total[:, count:] -= load  # a difference, summed up below
    return rounds_of(network.exact_rate, np.cumsum(total, axis=1)[:, :-1])


def _counts(most: int) -> Iterator[int]:
    count = 1
    while count < most:
        yield count
        count += max(1, count // 3)
    if most > 0:
        yield most
