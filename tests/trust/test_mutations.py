"""The verifier against a naive checker, on valid algorithms and on thousands of broken ones."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from syncoll.errors import VerificationError
from syncoll.model import Algorithm, Instance
from syncoll.plugins import PluginManager
from syncoll.solving import Solver
from syncoll.testing.brute_force import TooLargeError
from syncoll.testing.instances import random_instance
from syncoll.trust import require_valid, violations
from tests.oracles.classics import allgather, dgx1
from tests.oracles.enumeration import all_algorithms

Send = tuple[int, int, int, int]
"""Chunk, source, destination, step."""

Plan = tuple[list[int], list[Send]]
"""Rounds of each step, and sends."""


def is_valid(instance: Instance, plan: Plan) -> bool:
    """Definition by definition, with sets and fractions."""
    rounds, sends = plan
    topology = instance.topology
    if len(rounds) != instance.steps or any(r < 0 for r in rounds):
        return False
    if instance.rounds_per_step not in (None, tuple(rounds)):
        return False
    if sum(rounds) != instance.rounds or len(sends) != len(set(sends)):
        return False
    if any((a, b) not in set(topology.links) for _, a, b, _ in sends):
        return False
    if any(not 0 <= c < instance.num_chunks or not 0 <= s < instance.steps for c, _, _, s in sends):
        return False
    chunks, nodes = range(instance.num_chunks), range(topology.num_nodes)
    held = {(c, n) for c in chunks for n in nodes if instance.pre[c, n]}
    for step, share in enumerate(rounds):
        now = [send for send in sends if send[3] == step]
        if any((c, a) not in held for c, a, _, _ in now):
            return False
        for bound in topology.bounds:
            used = sum(1 for _, a, b, _ in now if (a, b) in bound.links)
            if Fraction(used) > bound.chunks_per_round * share:
                return False
        held |= {(c, b) for c, _, b, _ in now}
    return all((c, n) in held for c in chunks for n in nodes if instance.post[c, n])


def plan_of(algorithm: Algorithm) -> Plan:
    return list(algorithm.rounds_per_step), [
        (c, a, b, s) for c, a, b, s in algorithm.sends.tolist()
    ]


def algorithm_of(plan: Plan) -> Algorithm:
    rounds, sends = plan
    return Algorithm(tuple(rounds), np.array(sends, dtype=np.int64).reshape(-1, 4))


def drop(rng: random.Random, instance: Instance, rounds: list[int], sends: list[Send]) -> Plan:
    sends.pop(rng.randrange(len(sends)))
    return rounds, sends


def duplicate(rng: random.Random, instance: Instance, rounds: list[int], sends: list[Send]) -> Plan:
    return rounds, [*sends, rng.choice(sends)]


def change(column: int) -> Callable[[random.Random, Instance, list[int], list[Send]], Plan]:
    """Another value in one column of one send, now and then out of its range."""

    def mutate(
        rng: random.Random, instance: Instance, rounds: list[int], sends: list[Send]
    ) -> Plan:
        nodes = instance.topology.num_nodes
        end = (instance.num_chunks, nodes, nodes, instance.steps)[column]
        row = list(sends.pop(rng.randrange(len(sends))))
        row[column] = rng.choice([*range(end), *range(end), -1, end, end + 3, 10**12])
        return rounds, [*sends, (row[0], row[1], row[2], row[3])]

    return mutate


def reverse_send(
    rng: random.Random, instance: Instance, rounds: list[int], sends: list[Send]
) -> Plan:
    c, a, b, s = sends.pop(rng.randrange(len(sends)))
    return rounds, [*sends, (c, b, a, s)]


def add(rng: random.Random, instance: Instance, rounds: list[int], sends: list[Send]) -> Plan:
    a, b = rng.choice(instance.topology.links)
    extra = (rng.randrange(instance.num_chunks), a, b, rng.randrange(instance.steps))
    return rounds, [*sends, extra]


def flood(rng: random.Random, instance: Instance, rounds: list[int], sends: list[Send]) -> Plan:
    """All data of a node at the start, over one link at once."""
    a, b = rng.choice(instance.topology.links)
    chunks = np.flatnonzero(instance.pre[:, a]).tolist()
    step = rng.randrange(instance.steps)
    return rounds, sorted({*sends, *((c, a, b, step) for c in chunks)})


def jump(rng: random.Random, instance: Instance, rounds: list[int], sends: list[Send]) -> Plan:
    """A send between any two nodes, link or not."""
    a, b = (rng.randrange(instance.topology.num_nodes) for _ in range(2))
    c, _, _, s = rng.choice(sends)
    return rounds, [*sends, (c, a, b, s)]


def shift_round(
    rng: random.Random, instance: Instance, rounds: list[int], sends: list[Send]
) -> Plan:
    rounds[rng.randrange(len(rounds))] -= 1
    rounds[rng.randrange(len(rounds))] += 1
    return rounds, sends


def fewer_rounds(
    rng: random.Random, instance: Instance, rounds: list[int], sends: list[Send]
) -> Plan:
    rounds[rng.randrange(len(rounds))] -= 1
    return rounds, sends


def more_rounds(
    rng: random.Random, instance: Instance, rounds: list[int], sends: list[Send]
) -> Plan:
    rounds[rng.randrange(len(rounds))] += rng.randint(1, 3)
    return rounds, sends


def extra_step(
    rng: random.Random, instance: Instance, rounds: list[int], sends: list[Send]
) -> Plan:
    return [*rounds, 0], sends


def missing_step(
    rng: random.Random, instance: Instance, rounds: list[int], sends: list[Send]
) -> Plan:
    return rounds[:-1], sends


def swap_steps(
    rng: random.Random, instance: Instance, rounds: list[int], sends: list[Send]
) -> Plan:
    i, j = (rng.randrange(len(rounds)) for _ in range(2))
    other = {i: j, j: i}
    if rng.random() < 0.7:
        rounds[i], rounds[j] = rounds[j], rounds[i]
    return rounds, [(c, a, b, other.get(s, s)) for c, a, b, s in sends]


def swap_chunks(
    rng: random.Random, instance: Instance, rounds: list[int], sends: list[Send]
) -> Plan:
    i, j = (rng.randrange(instance.num_chunks) for _ in range(2))
    other = {i: j, j: i}
    return rounds, [(other.get(c, c), a, b, s) for c, a, b, s in sends]


MUTATIONS = {
    "drop": drop,
    "duplicate": duplicate,
    "change the chunk": change(0),
    "change the source": change(1),
    "change the destination": change(2),
    "change the step": change(3),
    "reverse a send": reverse_send,
    "add": add,
    "flood": flood,
    "jump": jump,
    "shift a round": shift_round,
    "fewer rounds": fewer_rounds,
    "more rounds": more_rounds,
    "extra step": extra_step,
    "missing step": missing_step,
    "swap steps": swap_steps,
    "swap chunks": swap_chunks,
}

HARMLESS = {"add", "shift a round", "change the source", "swap steps", "swap chunks", "drop"}
"""Mutations that must leave some algorithms valid; otherwise only one direction is tested."""


@pytest.fixture(scope="module")
def valid() -> list[tuple[Instance, Plan]]:
    """Algorithms of random instances, and solved ones of a real machine."""
    found: list[tuple[Instance, Plan]] = []
    rng = random.Random(7)
    for seed in range(300):
        instance = random_instance(seed, most_nodes=4, most_chunks=4)
        if not 1 <= instance.steps <= 3 or not (instance.post & ~instance.pre).any():
            continue
        try:
            algorithms = list(all_algorithms(instance, most_work=3_000))
        except TooLargeError:
            continue
        for algorithm in rng.sample(algorithms, min(3, len(algorithms))):
            if rng.random() < 0.1:
                given = replace(instance, rounds_per_step=algorithm.rounds_per_step)
                found.append((given, plan_of(algorithm)))
            else:
                found.append((instance, plan_of(algorithm)))
    with Solver(PluginManager.discover()) as solver:
        for chunks, steps, rounds in ((1, 2, 2), (2, 2, 3), (2, 3, 3), (6, 3, 7), (3, 4, 4)):
            instance = allgather().instantiate(dgx1(), chunks=chunks, steps=steps, rounds=rounds)
            algorithm = solver.solve(instance).algorithm
            assert algorithm is not None
            found += [(instance, plan_of(algorithm))] * 3
    return found


def test_valid_algorithms_pass(valid: list[tuple[Instance, Plan]]) -> None:
    assert len(valid) >= 150
    for instance, plan in valid:
        assert is_valid(instance, plan)
        assert violations(instance, algorithm_of(plan)) == []
        require_valid(instance, algorithm_of(plan))


@pytest.mark.parametrize("name", MUTATIONS)
def test_mutants(name: str, valid: list[tuple[Instance, Plan]]) -> None:
    """The verdicts of the verifier and of the naive checker agree for every mutant."""
    rng = random.Random(name)
    verdicts: Counter[bool] = Counter()
    for instance, (rounds, sends) in valid:
        for _ in range(3):
            mutant = MUTATIONS[name](rng, instance, list(rounds), list(sends))
            right = is_valid(instance, mutant)
            verdicts[right] += 1
            found = violations(instance, algorithm_of(mutant))
            assert (not found) == right, (instance, mutant, found)
            if not right:
                with pytest.raises(VerificationError, match="not a valid algorithm"):
                    require_valid(instance, algorithm_of(mutant))
    assert verdicts[False] >= 50
    if name in HARMLESS:
        assert verdicts[True] >= 10


def test_mutants_of_mutants(valid: list[tuple[Instance, Plan]]) -> None:
    """Several mutations at once, and the first of several faults may not hide the verdict."""
    rng = random.Random(11)
    for instance, (rounds, sends) in valid:
        mutant: Plan = (list(rounds), list(sends))
        for _ in range(4):
            if mutant[1] and len(mutant[0]) == instance.steps:
                mutant = MUTATIONS[rng.choice(list(MUTATIONS))](rng, instance, *mutant)
            right = is_valid(instance, mutant)
            for limit in (1, 2, 100):
                found = violations(instance, algorithm_of(mutant), limit=limit)
                assert (not found) == right, (instance, mutant, found)
                assert len(found) <= limit


def test_a_missing_send_names_chunk_and_node(valid: list[tuple[Instance, Plan]]) -> None:
    for instance, plan in valid:
        lean = algorithm_of(plan).without_useless_sends(instance)
        for row, (c, _, b, _) in enumerate(lean.sends.tolist()):
            mutant = replace(lean, sends=np.delete(lean.sends, row, axis=0))
            messages = [v.message for v in violations(instance, mutant)]
            passed_on = f"sends chunk {c} from node {b} to"
            assert any(
                message == f"chunk {c} never reaches node {b}" or passed_on in message
                for message in messages
            ), (messages, c, b)
