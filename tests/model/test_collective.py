from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from syncoll.errors import ModelError
from syncoll.model import Collective, Instance
from tests.oracles.classics import alltoall, broadcast, gather, line, ring, scatter

Relation = Callable[..., Any]

RELATIONS: dict[str, tuple[Relation, Relation]] = {
    "arithmetic": (lambda c, n, p, _: n == c % p, lambda c, n, p, _: n == c % p),
    "and": (lambda c, n, p, _: (n == c % p) & (c > 2), lambda c, n, p, _: n == c % p and c > 2),
    "or, not": (
        lambda c, n, *_: (n == 0) | ~((c == 1) & (n == 1)),
        lambda c, n, *_: n == 0 or not (c == 1 and n == 1),
    ),
    "conditional": (
        lambda c, n, *_: np.where(c > 1, n == 0, n == 1),
        lambda c, n, *_: n == 0 if c > 1 else n == 1,
    ),
    "a chain": (lambda c, n, *_: (n < c) & (c < 4), lambda c, n, *_: n < c < 4),
    "a set": (lambda _c, n, *_: (n == 0) | (n == 2), lambda _c, n, *_: n in {0, 2}),
    "a tuple": (lambda _c, n, *_: (n == 0) | (n == 2), lambda _c, n, *_: n in (0, 2)),
    "a range": (lambda _c, n, *_: (n >= 1) & (n < 3), lambda _c, n, *_: n in range(1, 3)),
    "an array": (lambda _c, n, *_: (n == 0) | (n == 2), lambda _c, n, *_: n in np.array([0, 2])),
    "a list of roots": (
        lambda c, n, *_: n == np.array([2, 0, 1, 1, 0, 2, 2, 2])[c],
        lambda c, n, *_: n == [2, 0, 1, 1, 0, 2, 2, 2][c],
    ),
    "a library function": (
        lambda c, n, *_: np.gcd(c, 4) == n,
        lambda c, n, *_: math.gcd(c, 4) == n,
    ),
    "min": (lambda c, n, *_: n == np.minimum(c, 2), lambda c, n, *_: n == min(c, 2)),
    "a constant": (lambda c, n, *_: (c >= 0) & (n >= 0), lambda *_: True),
    "numbers instead of Booleans": (lambda c, n, *_: (c + n) % 3, lambda c, n, *_: (c + n) % 3),
    "only the node": (lambda c, n, *_: (n == 1) & (c >= 0), lambda _c, n, *_: n == 1),
    "only the chunk": (lambda c, n, *_: (c == 1) & (n >= 0), lambda c, *_: c == 1),
}


@pytest.mark.parametrize("name", RELATIONS)
@pytest.mark.parametrize(("nodes", "count"), [(3, 6), (1, 1), (3, 1), (1, 4), (3, 3)])
def test_from_relations_by_arrays_and_by_numbers(name: str, nodes: int, count: int) -> None:
    """A relation that works on arrays and one that only works on numbers mean the same."""
    for relation in RELATIONS[name]:
        collective = Collective.from_relations(
            "r", lambda *_: count, relation, lambda *_: True, irregular=True
        )
        table = collective.tabulate(nodes, 1)
        expected = [
            [bool(RELATIONS[name][1](c, n, nodes, 1)) for n in range(nodes)] for c in range(count)
        ]
        assert table.pre.tolist() == expected
        assert table.pre.dtype == bool
        assert table.post.all()


def test_a_relation_on_arrays_is_called_once() -> None:
    calls: list[Any] = []

    def pre(c: npt.NDArray[np.int64], n: npt.NDArray[np.int64], *_: int) -> Any:
        calls.append((c, n))
        return n == c

    collective = Collective.from_relations(
        "r", lambda p, c: p * c, pre, lambda *_: True, irregular=True
    )
    collective.tabulate(50, 2)
    assert len(calls) == 1


def test_a_faulty_relation_shows_its_own_error() -> None:
    collective = Collective.from_relations(
        "r", lambda p, c: p * c, lambda c, n, *_: n.nonsense, lambda *_: True
    )
    with pytest.raises(AttributeError, match="nonsense"):
        collective.tabulate(2, 1)
    broken = Collective.from_relations(
        "r", lambda p, c: p * c, lambda c, n, *_: c + "x", lambda *_: True
    )
    with pytest.raises(TypeError):
        broken.tabulate(2, 1)


def test_relations_see_nodes_and_chunks() -> None:
    collective = Collective.from_relations(
        "r",
        lambda p, c: p + c,
        lambda c, n, p, k: (c + n) % p == k % p,
        lambda *_: True,
        irregular=True,
    )
    table = collective.tabulate(3, 2)
    assert table.pre.shape == (5, 3)
    for c, n in product(range(5), range(3)):
        assert table.pre[c, n] == ((c + n) % 3 == 2)


class TestFromArrays:
    PRE = ((True, False), (False, True))
    POST = ((True, True), (False, True))

    def test_chunks_are_cut(self) -> None:
        table = Collective.from_arrays("a", self.PRE, self.POST).tabulate(2, 3)
        assert table.pre.tolist() == [list(row) for row in self.PRE] * 3
        assert table.post.tolist() == [list(row) for row in self.POST] * 3

    @pytest.mark.parametrize(
        ("pre", "post"), [([True], [True]), ([[True]], [[True, True]]), ([[[True]]], [[[True]]])]
    )
    def test_shapes(self, pre: Any, post: Any) -> None:
        with pytest.raises(ModelError, match=r"two arrays of one shape \[chunk, node\]"):
            Collective.from_arrays("a", pre, post)

    def test_another_number_of_nodes(self) -> None:
        collective = Collective.from_arrays("a", self.PRE, self.POST)
        with pytest.raises(ModelError, match="for 2 nodes only, this topology has 3"):
            collective.instantiate(line(3), chunks=1, steps=1, rounds=1)

    def test_the_callers_arrays_are_copied(self) -> None:
        pre, post = np.array(self.PRE), np.array(self.POST)
        collective = Collective.from_arrays("a", pre, post)
        pre[:], post[:] = False, False
        table = collective.tabulate(2, 1)
        assert table.pre.tolist() == [list(row) for row in self.PRE]
        assert table.post.tolist() == [list(row) for row in self.POST]


class TestInstantiate:
    def test_not_admitted(self) -> None:
        with pytest.raises(ModelError) as caught:
            alltoall().instantiate(ring(4), chunks=6, steps=1, rounds=1)
        assert "alltoall is not defined for C = 6 on 4 nodes" in str(caught.value)
        assert "a multiple of the number of nodes" in str(caught.value)

    @pytest.mark.parametrize("chunks", [0, -1])
    def test_no_chunks(self, chunks: int) -> None:
        with pytest.raises(ModelError, match=f"C = {chunks}"):
            broadcast().instantiate(ring(4), chunks=chunks, steps=1, rounds=1)

    def test_numbers_arrive(self) -> None:
        instance = gather(2).instantiate(ring(4), chunks=3, steps=5, rounds=7)
        assert isinstance(instance, Instance)
        assert (instance.chunks, instance.steps, instance.rounds) == (3, 5, 7)
        assert (instance.num_chunks, instance.collective) == (12, "gather")

    def test_a_root_that_does_not_exist_leaves_an_empty_post(self) -> None:
        with pytest.raises(ModelError, match="the post of collective gather is empty"):
            gather(9).instantiate(ring(4), chunks=1, steps=1, rounds=1)

    def test_a_missing_root_leaves_chunks_that_start_nowhere(self) -> None:
        with pytest.raises(ModelError, match="it starts nowhere"):
            scatter(9).instantiate(ring(4), chunks=1, steps=1, rounds=1)
