"""The models of an encoding are exactly the algorithms in normal form, counted by brute force."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count, permutations, product

import numpy as np
import pytest
from pysat.solvers import Solver

from syncoll.formula import Assignment, Feature, Formula, FormulaBuilder
from syncoll.lowerings import lower
from syncoll.model import Algorithm, Instance
from syncoll.plugins import PluginManager, resolve_options
from syncoll.testing.brute_force import TooLargeError
from syncoll.testing.instances import random_instance
from syncoll.trust import violations
from tests.oracles.enumeration import all_algorithms, compositions

Case = tuple[int, Instance, set[Algorithm]]
"""Seed, instance, its algorithms in normal form."""

MANAGER = PluginManager.discover()


def decoded_algorithms(
    name: str, instance: Instance, options: Mapping[str, object]
) -> set[Algorithm]:
    """The decoded algorithms of all models of the encoding.

    For each way to distribute the rounds, and each arrival time of each chunk if the encoding has
    such integers, a SAT solver enumerates the Booleans.  A model is blocked by its decoded
    algorithm, which depends only on the Booleans that decoding reads.
    """
    record = MANAGER.encodings[name]
    encoded = record.load().encode(instance, resolve_options(record.options, options, name))
    formula = encoded.formula
    found: set[Algorithm] = set()
    for rounds in compositions(instance.rounds, instance.steps):
        builder = copy_of(formula)
        for i, share in enumerate(rounds):
            builder.linear([], [], [1], [i], low=share, high=share)
        # Booleans for the values of an integer, so that blocking can refer to them.
        places: dict[tuple[int, int], int] = {}
        for i in range(len(rounds), formula.num_integers):
            low, high = builder.bounds_of(i)
            for value in range(low, high + 1):
                places[i, value] = builder.boolean()
                builder.linear([], [], [1], [i], low=value, high=value, enforcer=places[i, value])
            builder.exactly([places[i, value] for value in range(low, high + 1)], 1)
        lowered = lower(builder.build(), frozenset({Feature.CLAUSE}))
        with Solver("cadical153") as solver:
            for literals, enforcer in lowered.formula.clauses():
                solver.add_clause([*literals, -enforcer] if enforcer else literals)
            while solver.solve():
                booleans = np.zeros(lowered.formula.num_booleans + 1, dtype=bool)
                true = [x for x in solver.get_model() if 0 < x <= lowered.formula.num_booleans]
                booleans[true] = True
                raised = lowered.raise_assignment(Assignment(booleans, np.zeros(0, dtype=np.int64)))
                cut = Assignment(raised.booleans[: formula.num_booleans + 1], raised.integers)
                assert formula.violation(cut) is None
                assert cut.integers[: len(rounds)].tolist() == list(rounds)
                algorithm = encoded.decode(cut)
                found.add(algorithm)
                read = {abs(x) for x in getattr(encoded, "literals", np.arange(0)).tolist()}
                read = read or set(range(1, formula.num_booleans + 1))
                block = [-x if raised.booleans[x] else x for x in sorted(read)]
                solver.add_clause(block + [-x for x in places.values() if raised.booleans[x]])
    return found


def copy_of(formula: Formula) -> FormulaBuilder:
    builder = FormulaBuilder(formula)
    for clause in formula.clauses():
        builder.clause(*clause)
    for cardinality in formula.cardinalities():
        builder.cardinality(*cardinality)
    for linear in formula.linears():
        builder.linear(*linear)
    for difference in formula.differences():
        builder.difference(*difference)
    return builder


def normal_algorithms(instance: Instance) -> set[Algorithm]:
    """Every algorithm that delivers no chunk twice, and none too late for any use.

    A delivery is too late if the nearest node that needs the chunk, and lacked it at the start, is
    farther away than the steps that remain.
    """
    hops = [
        [int(x) if x < 99 else None for x in row] for row in instance.topology.distances.tolist()
    ]
    needed = [np.flatnonzero(row).tolist() for row in instance.post & ~instance.pre]

    def in_time(chunk: int, node: int, step: int) -> bool:
        left = instance.steps - 1 - step
        return any((far := hops[node][goal]) is not None and far <= left for goal in needed[chunk])

    return {
        algorithm
        for algorithm in all_algorithms(instance, most_work=20_000)
        if all(in_time(c, b, s) for c, _, b, s in algorithm.sends.tolist())
    }


@pytest.fixture(scope="module")
def tiny_cases() -> list[Case]:
    """Instances with no algorithm, with few, and with up to 400, a third each."""
    cases: list[Case] = []
    room = {"none": 8, "few": 8, "many": 15}
    for seed in count():
        instance = random_instance(seed, most_nodes=4, most_chunks=3, most_extra_steps=1)
        if not 1 <= instance.steps <= 3 or instance.rounds > 4:
            continue
        try:
            truth = normal_algorithms(instance)
        except TooLargeError:
            continue
        if len(truth) > 400:
            continue
        kind = "many" if len(truth) >= 10 else "few" if truth else "none"
        if room[kind]:
            room[kind] -= 1
            cases.append((seed, instance, truth))
        elif not any(room.values()):
            break
    return cases


def test_the_cases_have_all_kinds_of_answers(tiny_cases: list[Case]) -> None:
    assert sum(len(truth) for _, _, truth in tiny_cases) > 400
    assert sum(max(map(len, i.chunk_classes)) > 1 for _, i, _ in tiny_cases) >= 9
    assert sum(any(len(b.links) > 1 for b in i.topology.bounds) for _, i, _ in tiny_cases) >= 6


def test_brute_force_algorithms_are_valid(tiny_cases: list[Case]) -> None:
    for seed, instance, truth in tiny_cases:
        for algorithm in truth:
            assert violations(instance, algorithm) == [], seed


@pytest.mark.parametrize("encoding", ["path", "step"])
def test_models_are_the_normal_algorithms(encoding: str, tiny_cases: list[Case]) -> None:
    for seed, instance, truth in tiny_cases:
        assert decoded_algorithms(encoding, instance, {"symmetry": "none"}) == truth, seed


@pytest.mark.parametrize("encoding", ["path", "step"])
def test_ordered_chunks_stand_for_all(encoding: str, tiny_cases: list[Case]) -> None:
    """Breaking the symmetry drops algorithms, but keeps one of each up to renumbered chunks."""
    dropped = 0
    for seed, instance, truth in tiny_cases:
        kept = decoded_algorithms(encoding, instance, {"symmetry": "arrival"})
        assert kept <= truth, seed
        renumbered = {other for algorithm in kept for other in orbit(instance, algorithm)}
        assert renumbered == truth, seed
        dropped += len(truth) - len(kept)
    assert dropped > 80


def orbit(instance: Instance, algorithm: Algorithm) -> list[Algorithm]:
    """The algorithm under every renumbering of chunks with equal pre and post."""
    classes = [members.tolist() for members in instance.chunk_classes]
    found = []
    for images in product(*(permutations(members) for members in classes)):
        number = np.arange(instance.num_chunks)
        for members, image in zip(classes, images, strict=True):
            number[members] = image
        sends = algorithm.sends.copy()
        sends[:, 0] = number[sends[:, 0]]
        found.append(Algorithm(algorithm.rounds_per_step, sends))
    return found
