"""The same question is recognised under any numbering, and another question is never mistaken for
it."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from syncoll.errors import FileFormatError
from syncoll.model import Instance, Topology
from syncoll.store import canonical
from syncoll.store.question import CanonicalQuestion, answer_question, bound_question
from syncoll.testing.instances import random_case, random_instance, random_topology
from syncoll.trust import require_valid
from tests.oracles import classics

Renumber = Callable[[int, random.Random], Any]

quietly = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def question(instance: Instance, asked: str = "x") -> CanonicalQuestion:
    return answer_question(instance, asked)


def same(one: Instance, two: Instance) -> bool:
    """Whether one is recognised as the other; checks their keys, too."""
    mine, theirs = question(one), question(two)
    way = mine.renumbers(theirs.text)
    if way is not None:
        assert mine.alike == theirs.alike is not None
    if mine.key == theirs.key:
        assert way is not None
    return way is not None


@quietly
@given(st.randoms(use_true_random=False))
def test_a_renumbered_question_is_recognised(renumbering: Renumber, rng: random.Random) -> None:
    instance = random_instance(rng, most_nodes=6, most_chunks=6)
    turned = renumbering(instance.topology.num_nodes, rng).instance(instance)
    assert same(instance, turned)


@quietly
@given(st.randoms(use_true_random=False))
def test_order_and_names_are_no_part_of_the_exact_question(
    renumbering: Renumber, rng: random.Random
) -> None:
    instance = random_instance(rng, most_nodes=6, most_chunks=6)
    other = renumbering(instance.topology.num_nodes, rng)
    other.nodes = list(range(instance.topology.num_nodes))
    assert question(instance).key == question(other.instance(instance)).key


@quietly
@given(st.randoms(use_true_random=False))
def test_an_algorithm_is_mapped_to_a_valid_one(renumbering: Renumber, rng: random.Random) -> None:
    instance, algorithm = random_case(rng)
    turned = renumbering(instance.topology.num_nodes, rng).instance(instance)
    mine, theirs = question(instance), question(turned)
    kept = mine.numbering.inverse().algorithm(algorithm)
    assert mine.numbering.algorithm(kept) == algorithm
    way = theirs.renumbers(mine.text)
    assert way is not None
    require_valid(turned, way.algorithm(kept))


@pytest.mark.parametrize(
    "topology",
    [
        classics.dgx1(),
        classics.ring(9),
        classics.hub(7),
        classics.bus(5),
        classics.line(6),
        classics.one_way_ring(8),
    ],
    ids=lambda t: t.name,
)
@pytest.mark.parametrize(
    "collective",
    [classics.allgather(), classics.alltoall(), classics.broadcast(2), classics.scatter(1)],
    ids=lambda c: c.name,
)
def test_machines_with_symmetries(
    renumbering: Renumber, topology: Topology, collective: Any
) -> None:
    rng = random.Random(1)
    nodes = topology.num_nodes
    instance = collective.instantiate(topology, chunks=nodes, steps=5, rounds=7)
    for _ in range(5):
        assert same(renumbering(nodes, rng).instance(instance), instance)


def test_roots_that_a_symmetry_exchanges_are_one_question() -> None:
    def kinds(topology: Topology) -> int:
        found: list[Instance] = []
        for root in range(topology.num_nodes):
            new = classics.broadcast(root).instantiate(topology, chunks=2, steps=4, rounds=6)
            if not any(same(new, old) for old in found):
                found.append(new)
        return len(found)

    assert kinds(classics.ring(6)) == 1
    assert kinds(classics.line(6)) == 3
    assert kinds(classics.dgx1()) < 8


def by_brute_force(one: Instance, two: Instance) -> bool:
    """Whether some renumbering turns one into the other, by trying all of them."""

    def form(instance: Instance, nodes: tuple[int, ...]) -> object:
        bounds = sorted(
            (sorted((nodes[a], nodes[b]) for a, b in bound.links), bound.chunks_per_round)
            for bound in instance.topology.bounds
        )
        rows = sorted(
            tuple(
                tuple(sorted(nodes[n] for n in np.flatnonzero(row)))
                for row in (instance.pre[c], instance.post[c])
            )
            for c in range(instance.num_chunks)
        )
        numbers = instance.chunks, instance.steps, instance.rounds, instance.combining
        return bounds, rows, numbers

    if one.topology.num_nodes != two.topology.num_nodes:
        return False
    plain = tuple(range(one.topology.num_nodes))
    target = form(two, plain)
    return any(form(one, nodes) == target for nodes in permutations(plain))


def test_exactly_equal_questions_are_recognised() -> None:
    """Against brute force, among instances that are small enough for many to be equal."""
    rng = random.Random(7)
    instances = []
    for _ in range(70):
        topology = Topology.from_links(
            "t",
            3,
            {(a, b): rng.choice((1, 2)) for a, b in ((0, 1), (1, 2), (2, 0))},
            [(rng.sample([(0, 1), (1, 2), (2, 0)], 2), 1)] if rng.random() < 0.4 else (),
        )
        rows = [rng.choice(((0, 1), (1, 2), (2, 0), (0, 2))) for _ in range(2)]
        pre, post = (np.array([[n == row[e] for n in range(3)] for row in rows]) for e in (0, 1))
        instances.append(Instance(topology, "c", 1, 3, 3, pre, post))
    equal = different = 0
    for i, one in enumerate(instances):
        for two in instances[:i]:
            expected = by_brute_force(one, two)
            assert same(one, two) == expected
            equal += expected
            different += not expected
    assert equal > 10
    assert different > 500


def _mutations(instance: Instance, rng: random.Random) -> list[Instance]:
    """The question with one change; each is another question under every numbering."""
    topology = instance.topology
    changed = rng.randrange(len(topology.bounds)) if topology.bounds else None
    result = [
        replace(instance, chunks=instance.chunks + 1),
        replace(instance, steps=instance.steps + 1),
        replace(instance, rounds=instance.rounds + 1),
    ]
    if instance.steps:
        given = (instance.rounds,) + (0,) * (instance.steps - 1)
        result.append(replace(instance, rounds_per_step=given))
    if changed is not None:
        bounds = list(topology.bounds)
        was = bounds[changed]
        bounds[changed] = replace(was, chunks_per_round=was.chunks_per_round + Fraction(1, 7))
        result.append(replace(instance, topology=replace(topology, bounds=tuple(bounds))))
        again = replace(topology, bounds=(*topology.bounds, topology.bounds[changed]))
        result.append(replace(instance, topology=again))
    unset = np.argwhere(~instance.pre)
    if len(unset):
        pre = instance.pre.copy()
        pre[tuple(unset[rng.randrange(len(unset))])] = True
        result.append(replace(instance, pre=pre))
    more = np.concatenate([instance.pre, instance.pre[:1]])
    result.append(
        replace(instance, pre=more, post=np.concatenate([instance.post, instance.post[:1]]))
    )
    return result


@quietly
@given(st.randoms(use_true_random=False))
def test_different_questions_differ(rng: random.Random) -> None:
    instance = random_instance(rng)
    questions = [question(each) for each in (instance, *_mutations(instance, rng))]
    assert len({each.key for each in questions}) == len(questions)
    assert not any(questions[0].renumbers(each.text) for each in questions[1:])
    somebody_else = question(instance, "y")
    assert somebody_else.key != questions[0].key
    assert somebody_else.renumbers(questions[0].text) is None


def test_combining_is_part_of_the_question() -> None:
    for seed in range(20):
        instance = random_instance(seed)
        if (instance.distance_from_pre < 100).all():
            break
    moving = replace(instance, pre=np.ones_like(instance.pre))
    assert not same(moving, replace(moving, combining=True))


def test_pre_and_post_do_not_stand_for_one_another() -> None:
    ring = classics.ring(4)
    one, two = np.eye(4, dtype=bool)[[0]], np.eye(4, dtype=bool)[[0]] | np.eye(4, dtype=bool)[[1]]
    assert not same(Instance(ring, "c", 1, 2, 2, one, two), Instance(ring, "c", 1, 2, 2, two, one))


def test_a_reversed_one_way_line_is_another_question() -> None:
    links = {(0, 1): 1, (1, 2): 2, (0, 2): 1}
    one = Topology.from_links("t", 3, links)
    pre = np.array([[True, False, False]])
    post = ~pre
    # The reversed topology with the roles of nodes 0 and 2 exchanged: bandwidths differ.
    back = Topology.from_links("t", 3, {(2 - b, 2 - a): w for (a, b), w in links.items()})
    assert not same(Instance(one, "c", 1, 2, 2, pre, post), Instance(back, "c", 1, 2, 2, pre, post))


def rook_and_shrikhande() -> list[Instance]:
    """Two graphs that colour refinement cannot distinguish: each node has 6 of 15 neighbours, any
    two neighbours share 2 of them, and so do any two others."""
    cells = [(a, b) for a in range(4) for b in range(4)]
    near = {(0, 1), (0, 3), (1, 0), (3, 0), (1, 1), (3, 3)}
    result = []
    for rook in (True, False):
        links = {
            (i, j): 1
            for i, (a, b) in enumerate(cells)
            for j, (c, d) in enumerate(cells)
            if i != j and ((a == c or b == d) if rook else ((c - a) % 4, (d - b) % 4) in near)
        }
        topology = Topology.from_links("t", 16, links)
        result.append(classics.allgather().instantiate(topology, chunks=1, steps=3, rounds=3))
    return result


def test_questions_with_equal_hashes_are_distinguished(renumbering: Renumber) -> None:
    rook, shrikhande = rook_and_shrikhande()
    assert question(rook).alike == question(shrikhande).alike
    rng = random.Random(2)
    for _ in range(3):
        assert not same(renumbering(16, rng).instance(rook), shrikhande)
        for each in (rook, shrikhande):
            assert same(renumbering(16, rng).instance(each), each)


def test_a_wrong_match_of_nodes_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """With any match of nodes, the texts decide."""
    rook, shrikhande = (question(each) for each in rook_and_shrikhande())
    monkeypatch.setattr("syncoll.store.question.matching", lambda *_: np.arange(16))
    assert rook.renumbers(shrikhande.text) is None
    assert rook.renumbers(rook.text) is not None


def test_a_question_too_large_for_a_hash_still_has_its_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    instance = classics.allgather().instantiate(classics.ring(11), chunks=1, steps=9, rounds=9)
    for limit, most in (("MOST_VERTICES", 32), ("MOST_EDGES", 43)):
        with monkeypatch.context() as patch:
            patch.setattr(canonical, limit, most)
            canonical._graph.cache_clear()
            large = question(instance)
            assert large.alike is None
            assert large.renumbers(large.text) is None
        canonical._graph.cache_clear()
        assert question(instance).alike is not None
        assert question(instance).key == large.key


def test_one_graph_serves_every_number_of_chunks() -> None:
    canonical._graph.cache_clear()
    for collective in (classics.allgather(), classics.alltoall()):
        for chunks in (7, 14, 21):
            instance = collective.instantiate(classics.ring(7), chunks=chunks, steps=9, rounds=200)
            assert question(instance).alike
    assert canonical._graph.cache_info().misses == 1


def test_a_topology_of_some_nodes_without_links() -> None:
    topology = Topology.from_links("alone", 3, {})
    here = np.array([[True, False, False]])
    there = np.array([[False, False, True]])
    one, two = (Instance(topology, "c", 1, 0, 0, m, m) for m in (here, there))
    assert same(one, two)
    nothing = bound_question(topology, (), None, "x")
    assert nothing.renumbers(nothing.text) is not None


def test_random_topologies_with_shared_bounds(renumbering: Renumber) -> None:
    shared = 0
    for seed in range(60):
        rng = random.Random(seed)
        topology = random_topology(rng, least_nodes=4, most_nodes=8)
        shared += any(len(b.links) > 1 for b in topology.bounds)
        instance = random_instance(rng, topology=topology)
        turned = renumbering(topology.num_nodes, rng).instance(instance)
        assert same(instance, turned), seed
    assert shared >= 20


@pytest.mark.parametrize("cut", [0, 5, 40, -1, -8])
def test_an_invalid_text_is_refused(cut: int) -> None:
    asked = question(random_instance(3))
    with pytest.raises(FileFormatError, match="question"):
        asked.renumbers(asked.text[:cut])
