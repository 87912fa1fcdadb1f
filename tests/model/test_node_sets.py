"""Sets of nodes agree with the tables from which they are made."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

from syncoll.arrays import Bools
from syncoll.errors import ModelError
from syncoll.model import Collective, Instance, RelationTable, Topology, node_sets
from syncoll.model.node_sets import NodeSets, paired
from syncoll.model.reach import Reach
from syncoll.model.topology import UNREACHABLE
from syncoll.testing.instances import random_topology


def tables(chunks: int | None = None, nodes: int | None = None) -> st.SearchStrategy[Bools]:
    """Few chunks on few nodes, so that sets are often equal."""
    rows = st.just(chunks) if chunks is not None else st.integers(0, 6)
    columns = st.just(nodes) if nodes is not None else st.integers(1, 70)
    return st.tuples(rows, columns).flatmap(lambda shape: arrays(bool, shape))


@given(tables(), st.data())
def test_sets_are_the_rows(table: Bools, data: st.DataObject) -> None:
    sets = NodeSets.of(table)
    assert np.array_equal(sets.dense, table)
    assert len({row.tobytes() for row in sets.sets}) == len(sets.sets) <= len(table)
    assert np.array_equal(sets.sizes, table.sum(axis=1))
    assert np.array_equal(sets.per_node, table.sum(axis=0))
    assert np.array_equal(sets.tile(3).dense, np.tile(table, (3, 1)))
    if len(table):
        some = np.array(data.draw(st.lists(st.integers(0, len(table) - 1))), dtype=np.int64)
        assert np.array_equal(sets.take(some).dense, table[some])


@given(tables(nodes=3), st.data())
def test_chunks_are_paired_in_order(table: Bools, data: st.DataObject) -> None:
    other = table[data.draw(st.permutations(range(len(table))))]
    number = paired((NodeSets.of(table),), (NodeSets.of(other),))
    assert number is not None
    assert sorted(number.tolist()) == list(range(len(table)))
    assert np.array_equal(other[number], table)
    for row in table:  # of equal chunks the first goes to the first
        places = number[(table == row).all(axis=1)]
        assert np.array_equal(places, np.sort(places))


@given(st.data(), st.integers(0, 5))
def test_pairing_fails_where_chunks_differ(data: st.DataObject, chunks: int) -> None:
    one, other = (data.draw(tables(chunks, 2)) for _ in range(2))
    same = Counter(row.tobytes() for row in one) == Counter(row.tobytes() for row in other)
    assert (paired((NodeSets.of(one),), (NodeSets.of(other),)) is not None) == same


@given(st.integers(0, 10_000), st.data(), st.booleans())
def test_reach_agrees_with_distances(seed: int, data: st.DataObject, combining: bool) -> None:
    topology = random_topology(seed)
    pre, post = (data.draw(tables(4, topology.num_nodes)) for _ in range(2))
    worst, lost = 0, []
    for chunk, node in np.argwhere(post).tolist():
        ways = topology.distances[pre[chunk], node]
        far = UNREACHABLE
        if len(ways):
            far = ways.max() if combining else ways.min()
        worst = max(worst, int(far))
        if far >= UNREACHABLE:
            lost.append((chunk, node))
    reach = Reach(topology, RelationTable(pre, post), combining)
    assert reach.least_steps == worst
    if not lost:
        reach.require("any", None)
        return
    with pytest.raises(ModelError, match=r"chunk {} must reach node {},".format(*lost[0])):
        reach.require("any", None)


def test_too_large_a_dense_table_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_sets, "MOST_DENSE_CELLS", 1000)
    chunks = 501
    everywhere = NodeSets(np.ones((1, 2), dtype=bool), np.zeros(chunks, dtype=np.int64))
    with pytest.raises(ModelError, match=f"{chunks} chunks on 2 nodes") as error:
        _ = everywhere.dense
    assert "at most 1000 pairs" in str(error.value)
    pair = Topology.from_matrix("pair", [[0, 1], [1, 0]])
    large = Collective("large", lambda _nodes, _chunks: RelationTable(everywhere, everywhere))
    assert len(large.table_on(pair, 1)) == chunks
    with pytest.raises(ModelError, match="too many for an algorithm"):
        large.instantiate(pair, chunks=1, steps=1, rounds=1)


def test_an_instance_shares_read_only_arrays() -> None:
    pair = Topology.from_matrix("pair", [[0, 1], [1, 0]])
    pre = np.array([[True, False]])
    instance = Instance(pair, "one", 1, 1, 1, pre, ~pre)
    pre[0, 1] = True
    assert instance.pre.tolist() == [[True, False]]
    assert Instance(pair, "one", 1, 1, 1, instance.pre, instance.post).pre is instance.pre
