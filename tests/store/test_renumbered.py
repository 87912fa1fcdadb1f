"""Rows that were kept under another numbering: found with a little work, then at once."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from syncoll.formula import Limits, Verdict
from syncoll.model import Algorithm, Instance, Topology
from syncoll.store import Store, StoredAnswer
from syncoll.store.packing import pack_question
from syncoll.store.question import answer_question
from syncoll.testing.instances import random_case, random_instance
from syncoll.trust import require_valid

Answer = Callable[..., StoredAnswer]
Renumber = Callable[[int, random.Random], Any]


def numberings(renumbering: Renumber, count: int) -> tuple[Instance, Algorithm, list[Instance]]:
    """A question with an algorithm, and `count` renumberings that are no symmetries of it."""
    for seed in range(100):
        rng = random.Random(seed)
        instance, algorithm = random_case(rng)
        if instance.topology.num_nodes < 4:
            continue
        found = {answer_question(instance, "x").key: instance}
        for _ in range(20):
            turned = renumbering(instance.topology.num_nodes, rng).instance(instance)
            found.setdefault(answer_question(turned, "x").key, turned)
            if len(found) == count + 1:
                return instance, algorithm, list(found.values())[1:]
    raise AssertionError("all is symmetrical")


def test_a_mapped_question_is_found_without_graphs(
    store: Store, answer: Answer, renumbering: Renumber, monkeypatch: pytest.MonkeyPatch
) -> None:
    instance, algorithm, (turned,) = numberings(renumbering, 1)
    store.keep_answer(instance, "x", answer(algorithm))
    first = store.answer(turned, "x")
    assert first is not None

    def never(*_: object) -> None:
        raise AssertionError("a graph was asked for")

    monkeypatch.setattr("syncoll.store.question.refinement_hash", never)
    again = store.answer(turned, "x")
    assert again is not None
    assert again.algorithm == first.algorithm
    assert store.answer(instance, "x") is not None
    with pytest.raises(AssertionError, match="a graph"):
        store.answer(turned, "y")


def test_the_best_answer_under_any_numbering_serves(
    store: Store, answer: Answer, renumbering: Renumber
) -> None:
    instance, algorithm, (one, two, three) = numberings(renumbering, 3)
    store.keep_answer(instance, "x", answer(verdict=Verdict.UNKNOWN, seconds=5.0))
    for turned in (one, two):
        found = store.answer(turned, "x", Limits(seconds=5.0))
        assert found is not None
        assert found.verdict is Verdict.UNKNOWN
        assert store.answer(turned, "x", Limits(seconds=6.0)) is None
    # A search with more time finds an algorithm under another numbering.
    given = answer_question(instance, "x")
    way = answer_question(one, "x").renumbers(given.text)
    assert way is not None
    better = way.algorithm(given.numbering.inverse().algorithm(algorithm))
    require_valid(one, better)
    store.keep_answer(one, "x", answer(better))
    for turned in (instance, two, three):
        found = store.answer(turned, "x", Limits(seconds=6.0))
        assert found is not None
        assert found.algorithm is not None
        require_valid(turned, found.algorithm)
    assert store.dropped == 0


def test_a_changed_question_is_no_longer_recognised(
    store: Store, path: Path, answer: Answer, renumbering: Renumber
) -> None:
    instance, algorithm, (turned,) = numberings(renumbering, 1)
    text = answer_question(instance, "x").text
    other = answer_question(random_instance(1), "x").text
    for data in (pack_question(text.replace(b'"R"', b'"T"')), pack_question(other), b"", None):
        store.keep_answer(instance, "x", answer(algorithm))
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("UPDATE answers SET question = ?", (data,))
        assert store.answer(instance, "x") is not None  # that needs no text
        assert store.answer(turned, "x") is None
        assert store.answer(instance, "x") is None
    assert store.dropped == 4


def on_cycles(order: list[int], lengths: tuple[int, ...]) -> Instance:
    """One-way rings of these lengths over the nodes, without any data left to move."""
    links, at = {}, 0
    for length in lengths:
        ring = order[at : at + length]
        links.update({(ring[i - 1], ring[i]): 1 for i in range(length)})
        at += length
    everywhere = np.ones((1, len(order)), dtype=bool)
    topology = Topology.from_links("t", len(order), links)
    return Instance(topology, "c", 1, 1, 1, everywhere, everywhere)


def test_questions_with_equal_hashes_do_not_answer(store: Store, answer: Answer) -> None:
    """Each node has one link in and one out, so all of these have one hash."""
    rng = random.Random(5)
    kinds = [(9,), (6, 3), (5, 4), (3, 3, 3), (7, 2), (5, 2, 2)]
    alike = {answer_question(on_cycles(list(range(9)), kind), "x").alike for kind in kinds}
    assert len(alike) == 1
    for i, kind in enumerate(kinds):
        for other in kinds[i:]:
            for _ in range(3):
                assert store.answer(on_cycles(rng.sample(range(9), 9), other), "x") is None
        store.keep_answer(on_cycles(rng.sample(range(9), 9), kind), "x", answer())
        for earlier in kinds[: i + 1]:
            for _ in range(3):
                assert store.answer(on_cycles(rng.sample(range(9), 9), earlier), "x") is not None
