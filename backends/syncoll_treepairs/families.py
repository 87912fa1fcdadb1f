"""Waves for every number of them: a packing of pairs of trees in closed form.

A wave is dealt as many chunks as make its rounds come near to the packing's value, more than an
algorithm of some waves could have: a family is one wave, whatever m is.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from syncoll.arrays import IntArray
from syncoll.model import Algorithm, Collective
from syncoll.packing.whole_chunks import rounds_of
from syncoll.results import Family, Part
from syncoll.scheduling import family_of_waves
from syncoll_treepairs.fitting import MOST_CONTRIBUTIONS
from syncoll_treepairs.waves import WavePacking, from_its_first_step
from syncoll_treepairs.whole_pairs import MOST_TRIED, in_waves, own_sends, rounded_off

__all__ = ["family_of"]


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
    wave = rounded_off(packing, most)
    if wave is None:
        return None
    wave, depth = from_its_first_step(wave)
    made = in_waves(network, wave, own_sends(network.topology, wave), 1)
    instance = collective.instantiate(
        network.topology, chunks=int(wave.chunks / per), steps=depth, rounds=made.rounds
    )
    if made.steps != depth:
        return None  # a step of it is empty
    load = np.zeros((len(network.exact_rate), depth), dtype=np.int64)
    for pair, number in wave.columns[0]:
        load += number * network.load(pair.links, pair.steps, depth)
    going = np.cumsum(load, axis=1)

    def rounds(loads: IntArray) -> list[int]:
        return [
            max(1, rounds_of(network.exact_rate, loads[:, [step]]))
            for step in range(loads.shape[1])
        ]

    (usual,) = rounds(going[:, -1:])
    algorithm = Algorithm(made.rounds_per_step, made.sends, made.contributions)
    return family_of_waves(
        Part(instance, algorithm),
        usual,
        rounds(going[:, :-1]),
        rounds(going[:, -1:] - going[:, :-1]),
    )
