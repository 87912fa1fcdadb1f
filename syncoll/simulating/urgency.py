"""Renumbers interchangeable chunks: if latencies differ, the chunk that arrives last goes first.

In a step a lane takes sends of low chunks first, independent of their remaining way.  So chunks
that start and end alike are numbered by their last arrival, repeatedly, and the fastest algorithm
is kept.  Chunks with equal sends stay neighbours: runtimes move them together.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from math import log

import numpy as np
import numpy.typing as npt

from syncoll.arrays import Ints
from syncoll.deadline import NEVER, Deadline, interrupted_at
from syncoll.documents import StoredAlgorithm
from syncoll.errors import OutOfTimeError
from syncoll.model import Algorithm, Instance, OrbitAlgorithm
from syncoll.model.messages import equal_trees
from syncoll.results import TOLERANCE, Frontier, thinned
from syncoll.simulating.network import PhysicalNetwork
from syncoll.simulating.semantics import Semantics
from syncoll.simulating.simulation import SimulatedSeconds, simulate_algorithm
from syncoll.trust import require_valid

_TURNS = 2
_MOST_SENDS = 200_000
_WORTH = 1e-6
"""Smaller gains in the logarithm of the time are rounding errors."""


def by_urgency(
    stored: StoredAlgorithm,
    network: PhysicalNetwork,
    semantics: Semantics,
    sizes: Sequence[int],
    until: Deadline = NEVER,
) -> Algorithm | None:
    """The algorithm with interchangeable chunks renumbered, if that is faster; None if not, and if
    it is stored as images of some sends.  The product of the times for all sizes counts, in bytes
    of one node's data, above 0."""
    first = stored.algorithm
    if isinstance(first, OrbitAlgorithm) or len(first.sends) > _MOST_SENDS:
        return None

    def time(algorithm: Algorithm) -> float:
        one = replace(stored, algorithm=algorithm)
        seconds = SimulatedSeconds(network, semantics)(one, sizes)
        return sum(log(x) for x in map(float, seconds))

    groups = [group for group in _alike(stored.instance) if len(group) > 1]
    if not groups or not len(first.sends):
        return None
    best, least = first, time(first) - _WORTH
    for size in sizes:
        algorithm = best
        for _ in range(_TURNS):
            if until.passed:
                break
            moved = simulate_algorithm(
                replace(stored, algorithm=algorithm), network, semantics, size
            )
            last = np.zeros(stored.instance.num_chunks)
            np.maximum.at(last, moved.sends[:, 0], moved.arrived)
            tree = equal_trees(algorithm, stored.instance.table.kind)
            latest = np.zeros(tree.max() + 1)
            np.maximum.at(latest, tree, last)
            last = latest[tree]
            algorithm = _renumbered(algorithm, groups, last)
            took = time(algorithm)
            if took >= least:
                break
            best, least = algorithm, took
    return None if best is first else best


def _alike(instance: Instance) -> list[Ints]:
    """Groups of chunks that start and end at the same nodes."""
    places = np.concatenate([instance.pre, instance.post], axis=1)
    _, kind = np.unique(np.packbits(places, axis=1), axis=0, return_inverse=True)
    kind = kind.ravel()
    order = np.argsort(kind, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(kind[order])) + 1)


def _renumbered(
    algorithm: Algorithm, groups: Sequence[Ints], last: npt.NDArray[np.float64]
) -> Algorithm:
    """The chunks of each group in the order of their last arrival, the latest first."""
    new = np.arange(len(last))
    for group in groups:
        new[group[np.argsort(-last[group], kind="stable")]] = group
    sends = algorithm.sends.copy()
    sends[:, 0] = new[sends[:, 0]]
    return replace(algorithm, sends=sends)


def points_by_urgency(
    frontier: Frontier,
    network: PhysicalNetwork,
    low: int,
    high: int,
    until: Deadline,
    tolerance: Fraction = TOLERANCE,
    max_messages: int | None = None,
) -> Frontier:
    """The frontier with the chunks of each point renumbered, as far as there is time, for sizes
    from `low` to `high`, in bytes of one node's data.  That changes the numbers of messages: no
    point gets more than `max_messages`, and `thinned` chooses again."""
    sizes = sorted({low, round((low * high) ** 0.5), high})
    points = []
    for i, point in enumerate(frontier.points):
        stored = StoredAlgorithm(point.instance, point.algorithm, f"points[{i}]")
        with suppress(OutOfTimeError), interrupted_at(until):
            until.check()
            algorithm = by_urgency(stored, network, Semantics(), sizes, until)
            if algorithm is not None:
                require_valid(point.instance, algorithm)
                other = replace(point, algorithm=algorithm)
                if max_messages is None or other.messages <= max_messages:
                    point = other
        points.append(point)
    return replace(frontier, points=thinned(points, tolerance, frontier.families))
