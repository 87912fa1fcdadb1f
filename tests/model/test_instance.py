from __future__ import annotations

import dataclasses
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given

from syncoll.errors import ModelError, Origin
from syncoll.model import UNREACHABLE, Instance
from tests.oracles.classics import allgather, broadcast, dgx1, gather, line, one_way_ring, ring
from tests.oracles.strategies import instance_strategy


def make(pre: Any, post: Any, nodes: int = 3, **numbers: int) -> Instance:
    given_numbers = {"chunks": 1, "steps": 2, "rounds": 2} | numbers
    return Instance(line(nodes), "test", pre=pre, post=post, **given_numbers)


class TestRefused:
    @pytest.mark.parametrize(
        ("pre", "post"),
        [
            ([True, False, False], [True, True, True]),
            ([[True, False]], [[True, True]]),
            ([[True, False, False]], [[True, True, True]] * 2),
            ([[[True, False, False]]], [[[True, True, True]]]),
        ],
    )
    def test_shapes(self, pre: Any, post: Any) -> None:
        with pytest.raises(ModelError, match=r"two arrays of one shape \[G, 3\]"):
            make(pre, post)

    @pytest.mark.parametrize(
        ("name", "letter", "value"), [("chunks", "C", 0), ("steps", "S", -1), ("rounds", "R", -2)]
    )
    def test_numbers(self, name: str, letter: str, value: int) -> None:
        with pytest.raises(ModelError, match=f"{letter} = {value}\nexpected {letter} of at least"):
            make([[True, False, False]], [[True, True, True]], **{name: value})

    @pytest.mark.parametrize("given", [(2,), (1, 1, 0), (1, 2), (3, -1), ()])
    def test_given_rounds(self, given: tuple[int, ...]) -> None:
        instance = make([[True, False, False]], [[True, True, True]], steps=2, rounds=2)
        with pytest.raises(ModelError, match="S numbers of at least 0 that add up to R"):
            dataclasses.replace(instance, rounds_per_step=given)
        for right in ((1, 1), (0, 2), (2, 0)):
            chosen = dataclasses.replace(instance, rounds_per_step=right)
            assert [chosen.rounds_range(s) for s in range(2)] == [(r, r) for r in right]
        assert instance.rounds_range(0) == (0, 2)

    def test_an_empty_post(self) -> None:
        with pytest.raises(ModelError, match="the post of collective test is empty"):
            make([[True, False, False]], [[False] * 3])
        with pytest.raises(ModelError, match="is empty"):
            make(np.zeros((0, 3)), np.zeros((0, 3)))

    def test_a_chunk_that_starts_nowhere(self) -> None:
        with pytest.raises(ModelError, match="chunk 1 must reach node 2, but it starts nowhere"):
            make([[True] * 3, [False] * 3], [[True] * 3, [False, False, True]])

    def test_a_post_that_no_path_reaches(self) -> None:
        topology = one_way_ring(3)
        lame = dataclasses.replace(
            topology, name="lame", links=topology.links[:-1], bounds=topology.bounds[:-1]
        )
        with pytest.raises(ModelError) as caught:
            gather(0).instantiate(lame, chunks=1, steps=9, rounds=9)
        assert (
            "gather on lame: chunk 1 must reach node 0, but no path leads there from node 1"
            in str(caught.value)
        )

    def test_the_place_in_the_spec_is_shown(self) -> None:
        origin = Origin("my.syncoll", 3, 7, "  post Nothing", 4)
        with pytest.raises(ModelError, match=r"my\.syncoll:3:7"):
            Instance(line(2), "x", 1, 1, 1, np.eye(2), np.zeros((2, 2)), origin=origin)


def test_an_unneeded_chunk_may_start_nowhere() -> None:
    instance = make([[True, False, False], [False] * 3], [[True] * 3, [False] * 3])
    assert instance.least_steps == 2
    assert (instance.distance_from_pre[1] == UNREACHABLE).all()
    assert (instance.distance_to_post[1] == UNREACHABLE).all()


@given(instance_strategy(most_chunks=5))
def test_distances(instance: Instance) -> None:
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from(range(instance.topology.num_nodes))
    graph.add_edges_from(instance.topology.links)
    hops = dict(nx.all_pairs_shortest_path_length(graph))
    nodes = range(instance.topology.num_nodes)
    furthest = 0
    for c in range(instance.num_chunks):
        starts = [n for n in nodes if instance.pre[c, n]]
        needs = [n for n in nodes if instance.post[c, n] and not instance.pre[c, n]]
        for n in nodes:
            here = min((hops[s].get(n, UNREACHABLE) for s in starts), default=UNREACHABLE)
            there = min((hops[n].get(d, UNREACHABLE) for d in needs), default=UNREACHABLE)
            assert instance.distance_from_pre[c, n] == here
            assert instance.distance_to_post[c, n] == there
            if instance.post[c, n]:
                furthest = max(furthest, here)
    assert instance.least_steps == furthest


@given(instance_strategy(most_chunks=6))
def test_chunk_classes(instance: Instance) -> None:
    members = np.concatenate(instance.chunk_classes)
    assert sorted(members.tolist()) == list(range(instance.num_chunks))
    rows = [
        {(tuple(instance.pre[c]), tuple(instance.post[c])) for c in group.tolist()}
        for group in instance.chunk_classes
    ]
    assert all(len(row) == 1 for row in rows)
    assert len(set.union(*rows)) == len(rows)


def test_known_distance_bounds() -> None:
    for collective, topology, steps in (
        (allgather(), dgx1(), 2),
        (allgather(), ring(8), 4),
        (broadcast(), one_way_ring(5), 4),
        (gather(1), line(4), 2),
    ):
        assert collective.instantiate(topology, chunks=1, steps=0, rounds=0).least_steps == steps


def test_arrays_are_read_only() -> None:
    pre, post = np.array([[True, False, False]]), np.array([[False, True, True]])
    instance = make(pre, post)
    pre[:], post[:] = False, False  # the caller's own arrays are another matter
    assert instance.pre.tolist() == [[True, False, False]]
    assert instance.post.tolist() == [[False, True, True]]
    arrays = [instance.pre, instance.post, instance.distance_from_pre, instance.distance_to_post]
    for array in (*arrays, *instance.chunk_classes):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    with pytest.raises(dataclasses.FrozenInstanceError):
        instance.steps = 3  # type: ignore[misc]
