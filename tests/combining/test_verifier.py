"""The verifier of combining algorithms: every broken one is refused, with the reason."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from syncoll.errors import VerificationError
from syncoll.model import Algorithm, Instance, Topology
from syncoll.testing.instances import random_case
from syncoll.trust import violations
from syncoll.trust.holdings import _can_form
from tests.oracles import naive_combining as naive

LINE = Topology.from_links("line", 3, {(0, 1): 1, (1, 0): 1, (1, 2): 1, (2, 1): 1})
EVERYONE = np.ones((1, 3), dtype=bool)


def _instance(steps: int, rounds: int) -> Instance:
    return Instance(LINE, "allreduce", 1, steps, rounds, EVERYONE, EVERYONE, combining=True)


def _algorithm(rounds: tuple[int, ...], *rows: tuple[int, int, int, str]) -> Algorithm:
    """Rows of source, destination, step and the digits of the contributors."""
    carried = [[str(n) in who for n in range(3)] for *_, who in rows]
    return Algorithm(rounds, [[0, a, b, s] for a, b, s, _ in rows], carried)


GOOD = (
    (0, 1, 0, "0"),
    (2, 1, 0, "2"),
    (1, 0, 0, "1"),
    (1, 2, 0, "1"),
    (1, 0, 1, "2"),
    (1, 2, 1, "0"),
)


def _complaints(*rows: tuple[int, int, int, str], **options: bool) -> list[tuple[str, str]]:
    found = violations(_instance(2, 2), _algorithm((1, 1), *rows), **options)
    return [(v.kind, v.message) for v in found]


def test_a_reduced_value_may_come_back_to_a_contributor() -> None:
    assert _complaints(*GOOD) == []
    whole = (*GOOD[:2], (1, 0, 1, "012"), (1, 2, 1, "012"))
    assert _complaints(*whole) == []


@pytest.mark.parametrize(
    ("row", "kind", "part"),
    [
        ((1, 0, 1, "1"), "post", "node 0 never gets the contribution of node 2"),
        ((1, 0, 1, ""), "reduction", "carries no contribution"),
        ((0, 1, 0, "02"), "reduction", "node 0 does not hold the contribution of node 2 then"),
    ],
)
def test_each_mistake_is_named(row: tuple[int, int, int, str], kind: str, part: str) -> None:
    rows = [r for r in GOOD if r[:3] != row[:3]]
    found = _complaints(*rows, row)
    assert any(k == kind and part in message for k, message in found), found


def test_a_contribution_added_twice() -> None:
    instance = _instance(3, 3)
    rows = [(0, 1, 0, "0"), (1, 0, 1, "01"), (2, 1, 0, "2"), (1, 2, 1, "01")]
    # Node 0 holds {0} and {0, 1}; it cannot form {0, 1} plus another {0}, nor lose anything.
    bad = _algorithm((1, 1, 1), *rows, (1, 0, 2, "02"))
    found = [v.message for v in violations(instance, bad)]
    assert any("only by adding a contribution twice" in m for m in found), found


def test_a_result_that_would_count_a_contribution_twice() -> None:
    rows = [r for r in GOOD if r[:2] != (1, 0)]
    found = _complaints(*rows, (1, 0, 1, "01"), (1, 0, 1, "02"))
    assert any(
        kind == "post" and "node 0 can form the result of chunk 0 only by adding" in message
        for kind, message in found
    ), found


def test_an_operand_that_arrives_in_the_same_step() -> None:
    found = _complaints((0, 1, 0, "0"), (1, 2, 0, "01"))
    assert ("causality", found[0][1]) == found[0]
    assert "receives the missing contributions only in the same step" in found[0][1]


def test_a_node_outside_pre_contributes_nothing() -> None:
    pre = np.array([[True, True, False]])
    instance = Instance(LINE, "reduce", 1, 1, 1, pre, [[False, True, False]], combining=True)
    bad = _algorithm((1,), (0, 1, 0, "02"))
    found = [v.message for v in violations(instance, bad)]
    assert any("node 2 contribute nothing" in m for m in found), found


def test_a_link_over_its_bound_and_missing_contributions() -> None:
    found = _complaints(*GOOD, (1, 0, 1, "12"))
    assert [k for k, _ in found] == ["bandwidth"]
    bare = Algorithm((1, 1), [[0, 0, 1, 0]])
    assert "lacks the contributions" in violations(_instance(2, 2), bare)[0].message


def test_order_is_kept_if_requested() -> None:
    assert _complaints(*GOOD, in_order=True) == []
    rows = (*GOOD[:2], (1, 0, 1, "02"), (1, 2, 1, "02"), (1, 0, 0, "1"), (1, 2, 0, "1"))
    found = _complaints(*rows, in_order=True)
    assert {k for k, _ in found} >= {"order"}
    assert "these do not follow one another" in found[0][1]


def _mutate(rng: random.Random, instance: Instance, algorithm: Algorithm) -> Algorithm:
    """One random change of a few kinds; it may happen to be harmless."""
    sends, rounds = algorithm.sends.copy(), list(algorithm.rounds_per_step)
    carried = None if algorithm.contributions is None else algorithm.contributions.copy()
    i = rng.randrange(len(sends))
    kind = rng.choice(["drop", "step", "chunk", "end", "rounds", "double", "content", "content"])
    if kind == "content" and carried is None:
        kind = "drop"
    if kind == "drop":
        keep = np.arange(len(sends)) != i
        sends, carried = sends[keep], None if carried is None else carried[keep]
    elif kind == "step":
        sends[i, 3] = (sends[i, 3] + rng.choice([-1, 1])) % instance.steps
    elif kind == "chunk":
        sends[i, 0] = rng.randrange(instance.num_chunks)
    elif kind == "end":
        sends[i, rng.choice([1, 2])] = rng.randrange(instance.topology.num_nodes)
    elif kind == "rounds":
        step = rng.randrange(instance.steps)
        rounds[step] = max(0, rounds[step] - 1)
    elif kind == "double":
        sends = np.concatenate([sends, sends[i : i + 1]])
        carried = None if carried is None else np.concatenate([carried, carried[i : i + 1]])
    elif carried is not None:
        n = rng.randrange(instance.topology.num_nodes)
        carried[i, n] = not carried[i, n]
    return Algorithm(tuple(rounds), sends, carried)


def _copies_valid(instance: Instance, algorithm: Algorithm) -> bool:
    """The same second opinion for algorithms that only move data: contributors are sources."""
    if len(np.unique(algorithm.sends, axis=0)) != len(algorithm.sends):
        return False
    holds = {(c, n) for c, n in np.argwhere(instance.pre).tolist()}
    if sum(algorithm.rounds_per_step) != instance.rounds:
        return False
    for step, rounds in enumerate(algorithm.rounds_per_step):
        now = [tuple(r) for r in algorithm.sends.tolist() if r[3] == step]
        if any((c, a) not in holds or (a, b) not in instance.topology.links for c, a, b, _ in now):
            return False
        for bound in instance.topology.bounds:
            if sum((a, b) in bound.links for _, a, b, _ in now) > bound.chunks_per_round * rounds:
                return False
        holds |= {(c, b) for c, _, b, _ in now}
    return all((c, n) in holds for c, n in np.argwhere(instance.post).tolist())


def test_exactly_the_broken_algorithms_are_refused() -> None:
    rng = random.Random(20)
    refused = harmless = 0
    by_kind: dict[str, int] = {}
    for _ in range(600):
        instance, algorithm = random_case(rng)
        if not len(algorithm.sends):
            continue
        check = naive.is_valid if instance.combining else _copies_valid
        assert violations(instance, algorithm) == []
        assert check(instance, algorithm)
        mutant = _mutate(rng, instance, algorithm)
        found = violations(instance, mutant)
        assert (found == []) == check(instance, mutant), (instance, mutant, found)
        if found:
            refused += 1
            by_kind[instance.collective] = by_kind.get(instance.collective, 0) + 1
            assert all(len(v.message) > 10 for v in found)
        else:
            harmless += 1
    assert refused >= 400
    assert harmless > 0  # otherwise the second opinion never saw a valid one
    assert len(by_kind) == 6
    assert min(by_kind.values()) > 50


def test_rounds_per_step_are_part_of_the_problem_when_given() -> None:
    instance = replace(_instance(2, 2), rounds_per_step=(2, 0))
    found = violations(instance, _algorithm((1, 1), *GOOD))
    assert "rounds (1, 1), not (2, 0)" in found[0].message


def test_adversarial_partial_results_are_refused_quickly() -> None:
    """Whether overlapping partial results add up is an exact cover, hard in general."""
    rng = random.Random(1)
    held = [sum(1 << n for n in rng.sample(range(59), 3)) for _ in range(150)]
    with pytest.raises(VerificationError, match="too many to decide"):
        _can_form((1 << 59) - 1, held)
