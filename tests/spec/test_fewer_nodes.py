"""Collectives on fewer nodes, ranges of nodes, and damaged machines."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import syncoll
from syncoll.damage.damaged import damaged
from syncoll.errors import LocatedError, ModelError, SpecError
from syncoll.model import RelationTable, inverse_of
from syncoll.model.fewer_nodes import as_operand, without
from syncoll.spec.damages import parse_damage

from .conftest import SpecFile

NAMES = [
    "allgather",
    "allreduce",
    "alltoall",
    "reducescatter",
    "broadcast(root=3)",
    "gather(root=2)",
    "allgather within [[0,1],[2,4,3]]",
    "allreduce within [[i, i + P div 2] for i in range(P div 2)]",
    "2 * allgather + alltoall",
    "allreduce within [[0,1,2],[3,4,5]] + alltoall",
    "(allgather + alltoall) within [[0,1,2],[3,4,5]]",
    "scatter(root=3) then allgather",
    "gatherv([1,2,3,0,1,2],root=2)",
]


@pytest.mark.parametrize("gone", [[1], [4], [0, 5]])
@pytest.mark.parametrize("name", NAMES)
def test_the_rest_of_the_table(name: str, gone: list[int]) -> None:
    """The columns of the remaining nodes, and the rows that have data there."""
    whole = syncoll.collective(name)
    chunks = whole.least_chunks(6)
    assert chunks is not None
    table, left = whole.tabulate(6, chunks), [n for n in range(6) if n not in gone]
    words = " and ".join(f"node {node}" for node in gone)
    now = syncoll.collective(f"({name}) without {words}")
    assert now.least_chunks(len(left)) == chunks
    rest = now.tabulate(len(left), chunks)
    kept = table.pre[:, left].any(axis=1) & table.post[:, left].any(axis=1)
    assert (rest.pre == table.pre[kept][:, left]).all()
    assert (rest.post == table.post[kept][:, left]).all()
    assert now.combining == whole.combining
    again = syncoll.collective(now.name)
    assert again.name == now.name
    assert again.tabulate(len(left), 2 * chunks).same_as(now.tabulate(len(left), 2 * chunks))
    assert pickle.loads(pickle.dumps(without(syncoll.collective("allgather"), gone).tabulate))


def test_one_after_the_other() -> None:
    """Numbers after a second `without` are numbers of the nodes that the first one leaves."""
    sizes = "gatherv([1,2,3,0,1,2],root=2)"
    at_once = syncoll.collective(f"{sizes} without node 1 and node 4")
    in_turn = syncoll.collective(f"{sizes} without node 1 without node 3")
    assert at_once.tabulate(4, 2).same_as(in_turn.tabulate(4, 2))
    assert at_once.name == f"{sizes} without node 1 and node 4"


def test_it_binds_like_within() -> None:
    inside = syncoll.collective("alltoall without node 0 within [[0,1],[2,3]]")
    assert inside.tabulate(4, 3).same_as(
        syncoll.collective("(alltoall without node 0) within [[0,1],[2,3]]").tabulate(4, 3)
    )
    outside = syncoll.collective("alltoall within [[0,1],[2,3]] without node 0")
    assert outside.tabulate(3, 2).post.sum() == 2 + 4 - 1
    terms = syncoll.collective("allgather + 2 * alltoall without node 3")
    assert terms.name == "allgather + 2 * alltoall without node 3"
    expected = RelationTable.joined(
        [
            (syncoll.collective("allgather").tabulate(3, 4), np.arange(3)),
            (syncoll.collective("alltoall without node 3").tabulate(3, 8), np.arange(3)),
        ],
        3,
    )
    assert terms.tabulate(3, 4).matching(expected) is not None


def test_an_inverse_has_its_dual() -> None:
    now = syncoll.collective("inverse (allgatherv([1,2,0,3])) without node 1")
    assert now.combining
    assert now.dual is not None
    inverse = inverse_of(now.dual, "back")
    assert now.tabulate(3, 2).matching(inverse.tabulate(3, 2)) is not None


def test_its_inverse_differs_from_the_inverse_without_nodes() -> None:
    """It counts C on the remaining nodes, and the rest of an inverse on all nodes."""
    inside = syncoll.collective("inverse (allgather without node 1)")
    outside = syncoll.collective("inverse allgather without node 1")
    assert inside.name == "inverse (allgather without node 1)"
    assert (inside.least_chunks(3), outside.least_chunks(3)) == (3, 4)
    assert syncoll.collective(inside.name).tabulate(3, 3).same_as(inside.tabulate(3, 3))


def test_families_are_whole() -> None:
    with pytest.raises(SpecError, match="a family of damaged machines"):
        syncoll.design("torus(a,b) without node 1", "allgather", where="a * b == 9")
    found = syncoll.design("ring(5) without node 1", "allgather")
    assert "ring(5) without node 1" in str(found.page())


def test_brackets_only_around_sums() -> None:
    assert as_operand("a within [[0,1]]") == "a within [[0,1]]"
    assert as_operand("(a + b) within [[0,1]]") == "(a + b) within [[0,1]]"
    assert as_operand("a + b") == "(a + b)"
    assert as_operand('v("a + b.csv")') == 'v("a + b.csv")'


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("0->1", "link 0->1"),
        ("cable GPU 0 <-> rank 1", "link 0<->1"),
        ("gpu 3", "node 3"),
        ("Switch 0", "switch 0"),
        ("NODE 2->Switch 0", "link 2->switch 0"),
    ],
)
def test_damage_is_written_alike_in_the_language_and_outside(text: str, same: str) -> None:
    where = "a100(boxes=1)" if "switch" in same else "ring(4)"
    machine = syncoll.topology(f"{where} without {text}")
    assert machine.name.endswith(f" without {same}")
    assert machine.same_as(damaged(syncoll.topology(where), [parse_damage(text)]).topology)


def test_parameters_may_be_called_as_the_ends_of_links(spec_file: SpecFile) -> None:
    path = spec_file(
        "search s(gpu, rank) { topology ring(4) without link gpu->rank collective allgather }"
    )
    assert syncoll.Session().specs.search(f"{path}:s(0, 1)").topology.name == (
        "ring(4) without link 0->1"
    )


@pytest.mark.parametrize(
    ("name", "message", "column"),
    [
        ("alltoall without node 7", "no node 7", 23),
        ("broadcast without node 0", "broadcast without node 0 has no chunks", 24),
        ("alltoall without node 1 and node 1", "occurs twice", 34),
        ("alltoall without node 1/2", "unexpected", 24),
        ("alltoall without node -1", "unexpected", 23),
        ("alltoall without link 1", "unexpected `link`", 18),
        ("alltoall without 1", "unexpected `1`", 18),
        ("alltoall without node P", "no value here", 23),
    ],
)
def test_mistakes_are_shown_in_their_place(name: str, message: str, column: int) -> None:
    with pytest.raises(LocatedError, match=message) as caught:
        syncoll.collective(name).tabulate(4, 5)
    assert caught.value.origin is not None
    assert (caught.value.origin.line, caught.value.origin.column) == (1, column)


def test_nodes_of_python() -> None:
    whole = syncoll.collective("allgather")
    for nodes in ([], [1, 1], [-1], [True]):
        with pytest.raises(ModelError):
            without(whole, nodes)


# Ranges ------------------------------------------------------------------------------------------


def test_ranges_in_lists() -> None:
    boxes = syncoll.collective("allreduce within [[0..3], [4, 6..7, 5..5]]")
    assert boxes.name == "allreduce within [[0,1,2,3],[4,6,7,5]]"
    expected = syncoll.collective("allreduce within [[0,1,2,3],[4,6,7,5]]")
    assert boxes.tabulate(8, 1).same_as(expected.tabulate(8, 1))
    half = syncoll.collective("allgather within [[0..P div 2 - 1], [P div 2..P - 1]]")
    assert half.name == "allgather within [[0..P div 2 - 1], [P div 2..P - 1]]"
    assert half.tabulate(6, 1).post.sum() == 2 * 9
    long = syncoll.collective("allgather within [[0..99]]")
    assert long.name == "allgather within [[0..99]]"
    assert syncoll.collective(long.name).tabulate(100, 1).post.all()
    squares = syncoll.collective("allgatherv([i * i for i in [1..4]])")
    assert squares.name == "allgatherv([1,4,9,16])"


@pytest.mark.parametrize(
    ("groups", "message", "column"),
    [
        ("[[7..0]]", "runs down, from 7 to 0", 20),
        ("[[0..70000]]", "a range of 70001 numbers", 20),
        ("[[0..40000, 0..40000]]", "more than 65536 elements", 19),
        ("[[0..1/2]]", "this is 1/2", 23),
        ("[[0..true]]", "this is a Boolean", 23),
        ("[[0..2..4]]", "unexpected", 24),
        ("[0..3]", "group 0 is 0", 18),
        ("[[0.3]]", "names 3/10", 18),
    ],
)
def test_mistakes_in_ranges(groups: str, message: str, column: int) -> None:
    with pytest.raises(LocatedError, match=message) as caught:
        syncoll.collective(f"allgather within {groups}")
    assert caught.value.origin is not None
    assert caught.value.origin.column == column


# Machines ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "nodes", "links"),
    [
        ("torus(3,3) without node 4", 8, 28),
        ("torus(3,3) without node 4 without node 2", 7, 20),
        ("torus(3,3) without node 4 and node 2", 7, 20),
        ("torus(3,3) without link 0->1 and link 3<->4", 9, 33),
        ("torus(3,3) without link 0->1 and with link 3->4 by 3/2", 9, 35),
        ('a100(boxes=2) without "card 2"', 16, 168),
        ("routed torus(3,3) without link 0->1", 9, 72),
    ],
)
def test_a_damaged_machine(name: str, nodes: int, links: int) -> None:
    found = syncoll.topology(name)
    assert (found.num_nodes, len(found.links)) == (nodes, links)
    assert found.name == name
    assert syncoll.topology(found.name).same_as(found)


@pytest.mark.parametrize(
    ("name", "message", "column"),
    [
        ("ring(4) without node 4", "ring.4. has 4 nodes, 0 to 3", 17),
        ("ring(4) without node 3 without node 3", "has 3 nodes", 32),
        ("ring(4) without link 0->2", "has no link from 0 to 2", 17),
        ("ring(4) with link 0->1", "ends too early", 22),
        ("ring(4) with link 0->1 by 1", "slower by 1", 27),
        ("ring(4) without 0-1", "unexpected `-`", 18),
        ("ring(4) without 0->x", "`x`", 20),
        ('ring(4) without "card 3"', "ring.4. has no such part", 17),
        ("ring(4) without link 0->1 and with link 0->1 by 2", "is removed by", 9),
        ("ring(2) without node 0 and node 1", "no node of ring.2. remains", 9),
    ],
)
def test_missing_parts_are_shown_in_their_place(name: str, message: str, column: int) -> None:
    with pytest.raises(SpecError, match=message) as caught:
        syncoll.topology(name)
    assert caught.value.origin is not None
    assert caught.value.origin.column == column


def test_outside_the_language_a_number_may_follow_at_once() -> None:
    for text in ("gpu3", "NODE3", "node 3"):
        assert parse_damage(text).vertex == (False, 3)
    assert parse_damage("link gpu0->switch1").ends == ((False, 0), (True, 1))
    assert parse_damage("card 2").label == "card 2"
    assert parse_damage("node").label == "node"
