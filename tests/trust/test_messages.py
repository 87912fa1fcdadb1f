"""Messages of the verifier about one fault name the culprit."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from syncoll.errors import VerificationError
from syncoll.model import Algorithm, BandwidthBound, Instance, Topology
from syncoll.trust import require_valid, violations
from tests.oracles.classics import allgather, broadcast, line, ring

ROUNDS = (1, 1, 1)
SENDS = [(0, 0, 1, 0), (0, 1, 2, 1), (1, 0, 1, 1), (1, 1, 2, 2)]


@pytest.fixture
def instance() -> Instance:
    """Two chunks from node 0 down a line of three."""
    return broadcast().instantiate(line(3), chunks=2, steps=3, rounds=3)


def said(instance: Instance, rounds: tuple[int, ...], sends: list[tuple[int, ...]]) -> list[str]:
    return [v.message for v in violations(instance, Algorithm(rounds, np.array(sends)))]


def test_a_right_algorithm_has_no_errors(instance: Instance) -> None:
    assert said(instance, ROUNDS, SENDS) == []


@pytest.mark.parametrize(
    ("rounds", "change", "message"),
    [
        ((1, 1), {}, "2 steps, not 3"),
        ((1, 1, 1, 0), {}, "4 steps, not 3"),
        ((1, 1, 2), {}, "4 rounds, not 3"),
        ((0, 1, 1), {}, "2 rounds, not 3"),
        ((3, 1, -1), {}, "negative rounds in (3, 1, -1)"),
        (ROUNDS, {0: (5, 0, 1, 0)}, "send [5, 0, 1, 0]: chunk 5 is not within 0 to 1"),
        (ROUNDS, {0: (-1, 0, 1, 0)}, "send [-1, 0, 1, 0]: chunk -1 is not within 0 to 1"),
        (ROUNDS, {1: (0, 3, 2, 1)}, "send [0, 3, 2, 1]: source node 3 is not within 0 to 2"),
        (ROUNDS, {1: (0, 1, -2, 1)}, "destination node -2 is not within 0 to 2"),
        (ROUNDS, {3: (1, 1, 2, 3)}, "send [1, 1, 2, 3]: step 3 is not within 0 to 2"),
        (ROUNDS, {1: (0, 0, 2, 1)}, "a send from node 0 to node 2: no such link"),
        (ROUNDS, {1: (0, 1, 1, 1)}, "a send from node 1 to node 1: no such link"),
        (ROUNDS, {4: (1, 1, 2, 2)}, "send [1, 1, 2, 2] is listed 2 times"),
        (
            ROUNDS,
            {1: (0, 1, 2, 0)},
            "step 0 sends chunk 0 from node 1 to node 2, but node 1 does not hold it then",
        ),
        (
            ROUNDS,
            {2: (1, 0, 1, 0)},
            "step 0 of 1 round sends 2 chunks over 0->1, more than 1 a round",
        ),
        (ROUNDS, {3: None}, "chunk 1 never reaches node 2"),
    ],
)
def test_one_fault(
    instance: Instance,
    rounds: tuple[int, ...],
    change: dict[int, tuple[int, ...] | None],
    message: str,
) -> None:
    rows = dict(enumerate(SENDS)) | change
    sends = [row for row in rows.values() if row is not None]
    messages = said(instance, rounds, sends)
    assert any(message in one for one in messages), messages
    with pytest.raises(VerificationError) as caught:
        require_valid(instance, Algorithm(rounds, np.array(sends)))
    assert "broadcast on line(3)" in str(caught.value)


def test_rounds_that_are_given_must_be_kept(instance: Instance) -> None:
    given = replace(instance, rounds_per_step=(1, 1, 1))
    assert said(given, ROUNDS, SENDS) == []
    assert "rounds (1, 2, 0), not (1, 1, 1)" in said(given, (1, 2, 0), SENDS)
    given = replace(instance, rounds_per_step=(0, 2, 1))
    assert said(given, ROUNDS, SENDS) == ["rounds (1, 1, 1), not (0, 2, 1)"]


def test_an_overloaded_set_is_named_by_its_label() -> None:
    links = ((0, 1), (0, 2))
    port = BandwidthBound(links, Fraction(3, 2), label="egress of node 0")
    topology = Topology("fork", 3, links, (port,))
    instance = broadcast().instantiate(topology, chunks=1, steps=1, rounds=1)
    sends = [(0, 0, 1, 0), (0, 0, 2, 0)]
    assert said(instance, (1,), sends) == [
        "step 0 of 1 round sends 2 chunks over egress of node 0, more than 3/2 a round"
    ]


def test_every_link_set_is_counted_by_itself() -> None:
    """A load within the sum of two bounds, but not within either."""
    topology = Topology.from_links("v", 3, {(0, 1): 1, (0, 2): 3}, [([(0, 1), (0, 2)], 3)])
    instance = broadcast().instantiate(topology, chunks=2, steps=1, rounds=1)
    sends = [(c, 0, n, 0) for c in range(2) for n in (1, 2)]
    found = said(instance, (1,), sends)
    assert found == [
        "step 0 of 1 round sends 2 chunks over 0->1, more than 1 a round",
        "step 0 of 1 round sends 4 chunks over 0->1, 0->2, more than 3 a round",
    ]


def test_rounds_of_a_rational_bandwidth_are_not_rounded_up() -> None:
    topology = Topology.from_links("slow", 2, {(0, 1): Fraction(2, 3)})
    for rounds, chunks, fits in ((1, 1, False), (2, 1, True), (3, 2, True), (2, 2, False)):
        instance = broadcast().instantiate(topology, chunks=chunks, steps=1, rounds=rounds)
        found = said(instance, (rounds,), [(c, 0, 1, 0) for c in range(chunks)])
        assert (not found) == fits


def test_many_faults_are_cut_short_and_the_cut_is_shown() -> None:
    instance = allgather().instantiate(ring(8), chunks=4, steps=4, rounds=14)
    idle = Algorithm((14, 0, 0, 0), np.empty((0, 4), dtype=np.int64))
    assert len(violations(instance, idle)) == 100
    assert len(violations(instance, idle, limit=7)) == 7
    with pytest.raises(VerificationError, match=r"never reaches node \d …$"):
        require_valid(instance, idle)


def test_the_verifier_leaves_its_inputs_alone(instance: Instance) -> None:
    algorithm = Algorithm(ROUNDS, np.array(SENDS))
    before = instance.pre.copy(), instance.post.copy(), algorithm.sends.copy()
    require_valid(instance, algorithm)
    after = instance.pre, instance.post, algorithm.sends
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))
