"""The algorithm from which a solver starts."""

from __future__ import annotations

import numpy as np

from syncoll.ledger.warm_starts import WarmStarts
from syncoll.model import Algorithm, Collective
from syncoll.results import Point
from syncoll.trust import violations
from tests.oracles.classics import allgather, broadcast, ring

LINE = [(0, 0, 1, 0), (0, 1, 2, 1), (0, 2, 3, 2)]


def point(collective: Collective, chunks: int, sends: list[tuple[int, ...]]) -> Point:
    topology = ring(4)
    algorithm = Algorithm((9,) * 9, np.array(sends)).tightened(topology)
    instance = collective.instantiate(
        topology, chunks=chunks, steps=algorithm.steps, rounds=algorithm.rounds
    )
    return Point(instance, algorithm, "none", "none", 0.0)


def test_the_cheapest_that_fits() -> None:
    around = point(broadcast(), 1, LINE)
    both = point(broadcast(), 2, [*LINE, (1, 0, 3, 0), (1, 3, 2, 1), (1, 2, 1, 2)])
    assert (around.bandwidth, both.bandwidth) == (3, 3 / 2)
    known = WarmStarts()
    known.add(around)
    known.add(both)

    def asked(chunks: int, steps: int) -> Algorithm | None:
        return known.nearest(broadcast().instantiate(ring(4), chunks=chunks, steps=steps, rounds=1))

    assert asked(4, 2) is None
    for chunks, factor, source in ((1, 1, around), (3, 3, around), (2, 1, both), (6, 3, both)):
        found = asked(chunks, 3)
        assert found is not None
        assert len(found.sends) == factor * len(source.algorithm.sends)


def test_copies_are_algorithms_for_the_question_s_chunks() -> None:
    """Chunks are numbered as in the collective, not copy by copy."""
    sends = [(c, (c + s) % 4, (c + s + 1) % 4, s) for c in range(4) for s in range(3)]
    known = WarmStarts()
    known.add(point(allgather(), 1, sends))
    for chunks in (1, 2, 5):
        instance = allgather().instantiate(ring(4), chunks=chunks, steps=3, rounds=3 * chunks)
        found = known.nearest(instance)
        assert found is not None
        assert not violations(instance, found.with_rounds(instance.topology, 3 * chunks))
