"""One sum for each chunk and node: it passes trees at once, and no errors."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from syncoll.model import Algorithm, Instance, Topology, compose, invert
from syncoll.testing.instances import connected_topology, random_trees
from syncoll.trust import Violation, violations
from syncoll.trust.sums import not_summed

Case = tuple[Instance, Algorithm]


def _allreduce(rng: random.Random, topology: Topology, copies: int) -> Case:
    """Along random trees to the root of each chunk, and along others from there."""
    own = np.tile(np.eye(topology.num_nodes, dtype=bool), (copies, 1))
    everyone = np.ones_like(own)
    to = random_trees(rng, topology.reversed(), "allgather", own, everyone)
    back = random_trees(rng, topology, "allgather", own, everyone)
    return compose(invert(*to, "reducescatter"), back, "allreduce")


def _ring(nodes: int) -> Topology:
    links = {(v, (v + step) % nodes): 1 for v in range(nodes) for step in (1, 9, nodes - 1)}
    return Topology.from_links("ring", nodes, links)


def _cases() -> list[Case]:
    """Some small ones, and some whose contributors need more than one word."""
    rng = random.Random(3)
    small = [_allreduce(rng, connected_topology(rng), rng.randint(1, 3)) for _ in range(60)]
    return [*small, *(_allreduce(rng, _ring(nodes), 1) for nodes in (63, 64, 65))]


def _mutant(rng: random.Random, instance: Instance, algorithm: Algorithm) -> Algorithm:
    """Another value in one place of one send, or no such send, or one more."""
    assert algorithm.contributions is not None
    sends, carried = algorithm.sends.copy(), algorithm.contributions.copy()
    i, kind = rng.randrange(len(sends)), rng.randrange(6)
    if kind == 0:
        sends, carried = np.delete(sends, i, axis=0), np.delete(carried, i, axis=0)
    elif kind == 1:
        n = rng.randrange(carried.shape[1])
        carried[i, n] = not carried[i, n]
    elif kind == 2:
        carried[i] = carried[rng.randrange(len(carried))]
    elif kind == 3:
        sends[i, 3] = rng.randrange(instance.steps)
    elif kind == 4:
        sends[i, 0] = rng.randrange(instance.num_chunks)
    else:
        a, b = rng.choice(instance.topology.links)
        extra = [[rng.randrange(instance.num_chunks), a, b, rng.randrange(instance.steps)]]
        sends = np.concatenate([sends, extra])
        carried = np.concatenate([carried, carried[i : i + 1]])
    return Algorithm(algorithm.rounds_per_step, sends, carried)


def _all(instance: Instance) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    return np.arange(instance.num_chunks)


def _in_full(
    instance: Instance, algorithm: Algorithm, monkeypatch: pytest.MonkeyPatch
) -> list[Violation]:
    """The errors if every chunk is checked by the exact rule."""
    with monkeypatch.context() as patch:
        patch.setattr("syncoll.trust.replay.not_summed", lambda *_: _all(instance))
        return violations(instance, algorithm)


def test_trees_and_their_compositions_leave_nothing() -> None:
    for instance, algorithm in _cases():
        assert not not_summed(instance, algorithm, _all(instance)).size


def test_no_error_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The exact rule finds the same, and no error in a chunk that its sums have passed."""
    rng = random.Random(4)
    wrong = right = 0
    for instance, algorithm in _cases():
        for _ in range(4):
            mutant = _mutant(rng, instance, algorithm)
            exact = _in_full(instance, mutant, monkeypatch)
            assert violations(instance, mutant) == exact
            passed = np.setdiff1d(_all(instance), not_summed(instance, mutant, _all(instance)))
            named = [chunk for v in exact for chunk in passed if f" chunk {chunk} " in v.message]
            assert not named, (exact, named)
            wrong += bool(exact)
            right += not exact
    assert wrong > 150
    assert right > 10


def test_blocks_of_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(5)
    instance, algorithm = _allreduce(rng, _ring(20), 2)
    for _ in range(20):
        mutant = _mutant(rng, instance, algorithm)
        whole = not_summed(instance, mutant, _all(instance))
        with monkeypatch.context() as patch:
            patch.setattr("syncoll.trust.sums._WORDS_AT_ONCE", 20 * 7)
            assert np.array_equal(not_summed(instance, mutant, _all(instance)), whole)


def test_separate_partial_results_go_to_the_exact_rule() -> None:
    """Node 1 passes on two partial results that it could have added up, and a finished one."""
    links = {(0, 1): 1, (1, 0): 1, (1, 2): 1, (2, 1): 1}
    line = Topology.from_links("line", 3, links)
    everyone = np.ones((2, 3), dtype=bool)
    instance = Instance(line, "allreduce", 2, 3, 5, everyone, everyone, combining=True)
    to = [(0, 0, 1, 0, "0"), (0, 2, 1, 0, "2"), (1, 0, 1, 1, "0"), (1, 2, 1, 1, "2")]
    apart = [(0, 1, 0, 1, "1"), (0, 1, 0, 2, "2"), (0, 1, 2, 1, "01")]
    summed = [(1, 1, 0, 2, "012"), (1, 1, 2, 2, "012")]
    rows = [*to, *apart, *summed]
    carried = [[str(n) in who for n in range(3)] for *_, who in rows]
    algorithm = Algorithm((1, 2, 2), [row[:4] for row in rows], carried)
    assert not violations(instance, algorithm)
    assert not_summed(instance, algorithm, np.array([0, 1])).tolist() == [0]
    none = replace(algorithm, contributions=np.zeros_like(algorithm.contributions))
    assert not_summed(instance, none, np.array([0, 1])).tolist() == [0, 1]
