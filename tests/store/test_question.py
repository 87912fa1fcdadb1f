"""Another question is never mistaken for it; names and labels are no part of it."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
from hypothesis import given, settings, strategies as st

from syncoll.certificates import Demand
from syncoll.model import Instance
from syncoll.store.question import answer_key, bound_key
from syncoll.testing.instances import random_instance
from tests.oracles import classics

quietly = settings(max_examples=60, deadline=None)


@quietly
@given(st.randoms(use_true_random=False))
def test_names_are_no_part_of_the_question(rng: random.Random) -> None:
    instance = random_instance(rng, most_nodes=6, most_chunks=6)
    topology = instance.topology
    bounds = tuple(replace(b, label=f"label {i}") for i, b in enumerate(topology.bounds))
    renamed = replace(
        instance,
        topology=replace(topology, name="elsewhere", bounds=bounds),
        collective="another name",
    )
    assert answer_key(instance, "x") == answer_key(renamed, "x")


def _mutations(instance: Instance, rng: random.Random) -> list[Instance]:
    """The question with one change."""
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
    keys = [answer_key(each, "x") for each in (instance, *_mutations(instance, rng))]
    keys.append(answer_key(instance, "y"))
    assert len(set(keys)) == len(keys)


def test_combining_is_part_of_the_question() -> None:
    for seed in range(20):
        instance = random_instance(seed)
        if (instance.distance_from_pre < 100).all():
            break
    moving = replace(instance, pre=np.ones_like(instance.pre))
    assert answer_key(moving, "x") != answer_key(replace(moving, combining=True), "x")


def test_pre_and_post_do_not_stand_for_one_another() -> None:
    ring = classics.ring(4)
    one, two = np.eye(4, dtype=bool)[[0]], np.eye(4, dtype=bool)[[0]] | np.eye(4, dtype=bool)[[1]]
    assert answer_key(Instance(ring, "c", 1, 2, 2, one, two), "x") != answer_key(
        Instance(ring, "c", 1, 2, 2, two, one), "x"
    )


def test_bounds_for_multiples_are_one_question() -> None:
    ring = classics.ring(4)
    needs = (Demand((0,), (1, 2), 2), Demand((1,), (3,), 1))
    thrice = tuple(replace(demand, count=3 * demand.count) for demand in needs)
    key = bound_key(ring, needs, 3, "e")
    assert bound_key(ring, thrice, 3, "e") == key
    others = {
        bound_key(ring, needs, None, "e"),
        bound_key(ring, needs, 3, "f"),
        bound_key(ring, (replace(needs[0], count=1), needs[1]), 3, "e"),
        bound_key(ring, (), 3, "e"),
    }
    assert len(others) == 4
    assert key not in others
