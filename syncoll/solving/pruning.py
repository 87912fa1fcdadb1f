"""Removes the useless sends of an algorithm that a solver found.

A solver only decides whether an algorithm exists, and may send more than needed: a partial result
that never reaches a destination, or one that its receiver already holds.
"""

from dataclasses import replace

import numpy as np

from syncoll.arrays import Ints
from syncoll.clock import took
from syncoll.model import Algorithm, Instance
from syncoll.trust import violations

_MOST_REPLAYED = 300_000
"""Number of sends that all trials together replay; it takes about a second."""

_UNITS_PER_SEND = 3.5e-6
"""Work of replaying a send."""


def without_useless_sends(instance: Instance, algorithm: Algorithm) -> Algorithm:
    """The algorithm without sends that can be left out.

    Sends of a combining algorithm are tried one by one, the last first.  No remaining send can be
    left out, since it was needed even with every send that was removed later.  In an algorithm too
    large for that, untried sends stay.
    """
    if not instance.combining:
        return algorithm.without_useless_sends(instance)
    chunks = np.flatnonzero(instance.post.any(axis=1))
    # If switches add up, whether a send fits depends on the sends of other chunks.
    together = [chunks] if instance.topology.counts_copies else chunks[:, None]
    left, parts = _MOST_REPLAYED, []
    for some in together:
        places, left = _kept(instance, algorithm, some, left)
        parts.append(places)
    took((_MOST_REPLAYED - left) * _UNITS_PER_SEND)
    kept = np.concatenate(parts)
    return _only(algorithm, kept, algorithm.sends[kept])


def _kept(instance: Instance, algorithm: Algorithm, chunks: Ints, most: int) -> tuple[Ints, int]:
    """The positions of the remaining sends of some chunks, and how many more may be replayed."""
    part = replace(instance, pre=instance.pre[chunks], post=instance.post[chunks])
    places = np.flatnonzero(np.isin(algorithm.sends[:, 0], chunks))
    sends = algorithm.sends[places].copy()
    sends[:, 0] = np.searchsorted(chunks, sends[:, 0])
    kept = np.arange(len(places))
    for send in kept[::-1].tolist():
        most -= len(kept)
        if most < 0:
            break
        fewer = kept[kept != send]
        if not violations(part, _only(algorithm, places[fewer], sends[fewer]), limit=1):
            kept = fewer
    return places[kept], max(0, most)


def _only(algorithm: Algorithm, places: Ints, sends: Ints) -> Algorithm:
    assert algorithm.contributions is not None
    return Algorithm(algorithm.rounds_per_step, sends, algorithm.contributions[places])
