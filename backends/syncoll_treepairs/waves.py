"""Waves: the pairs of trees of a packing, begun again in every step.

A whole packing for a few chunks is a wave; m waves, each begun a step after the one before, take
depth + m - 1 steps and load every link alike but for the first and last steps, so that R/C tends to
the packing's.  A family is one wave of many chunks, whatever m is: it is dealt as many as make its
rounds come near to the packing's value, more than an algorithm of some waves could have.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from syncoll.arrays import IntArray
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

__all__ = ["Waves", "family_of", "waves"]


_LEAST_GAIN, _NEAR = 0.995, 1.01
"""More waves must cost less by this factor, until they come this near to the packing; a third more
waves are tried each time.  Row mesh(6,6) of benchmarks/results/allreduce.md."""

_LEAST_WAVES = 256
"""A wave has at most this part of the chunks that there may be; limits memory."""


@dataclass(frozen=True, eq=False)
class Waves:
    """Some waves, as an algorithm.

    Args:
        chunks: how many, of the whole collective.
        count: how many waves.
        algorithm: of all of them.
    """

    chunks: int
    count: int
    algorithm: Algorithm


def waves(
    packing: WavePacking, most_chunks: int, most_steps: int | None, until: Deadline
) -> Iterator[Waves]:
    """So many waves as there is room for, then one, two, three and so on."""
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
    # What comes nearest is the first: on a large network each takes its time.
    for count in (*kept[-1:], *kept[:-1]):
        yield Waves(wave.chunks * count, count, in_waves(network, wave, own, count))


def family_of(
    packing: WavePacking, collective: Collective, per: Fraction = Fraction(1)
) -> Family | None:
    """Waves of a packing, one begun in every step; None where they would be too large.

    Args:
        collective: an allreduce, or some of them.
        per: its chunks for each that C counts.
    """
    network = packing.network
    nodes = network.num_nodes
    least = min(int(pair.steps[-1] - pair.steps[0]) + 1 for pair in packing.columns)
    # The first member is replayed; with more chunks whole numbers cost next to nothing.
    most = min(MOST_TRIED // 4, MOST_CONTRIBUTIONS // 16 // (2 * nodes * nodes * least))
    dealt = rounded_off(packing, most)
    if dealt is None:
        return None
    wave, load = _from_its_first_step(network, dealt)
    made = in_waves(network, wave, own_sends(network.topology, wave), 1)
    depth = load.shape[1]
    if made.steps != depth:
        return None  # a step of it is empty
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
) -> tuple[DealtChunks[Pair], IntArray]:
    """A wave that begins with step 0, and the load of one bound of each orbit, ``[B, depth]``."""
    begins = min(int(pair.steps[0]) for pair, _ in dealt.columns[0])
    pairs = tuple((pair.later(-begins), number) for pair, number in dealt.columns[0])
    depth = 1 + max(int(pair.steps[-1]) for pair, _ in pairs)
    load = np.zeros((len(network.exact_rate), depth), dtype=np.int64)
    for pair, number in pairs:
        load += number * network.load(pair.links, pair.steps, depth)
    return DealtChunks(dealt.chunks, dealt.rounds, (pairs,)), load


def _rounds(network: AllreduceNetwork, load: IntArray, count: int) -> int:
    """R of so many waves, each of which loads one bound of each orbit so, ``[B, depth]``."""
    depth = load.shape[1]
    total = np.zeros((len(load), depth + count), dtype=np.int64)
    total[:, :depth] += load
    total[:, count:] -= load  # a wave ends to count when the last has begun
    return rounds_of(network.exact_rate, np.cumsum(total, axis=1)[:, :-1])


def _counts(most: int) -> Iterator[int]:
    count = 1
    while count < most:
        yield count
        count += max(1, count // 3)
    if most > 0:
        yield most
