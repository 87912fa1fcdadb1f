"""The shipped relations and collectives against their definitions in the SCCL paper."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

from syncoll.errors import ModelError, SpecError
from syncoll.spec import SpecLibrary

Holds = Callable[[int, int, int], bool]
ALL: Holds = lambda c, n, p: True  # noqa: E731
SCATTERED: Holds = lambda c, n, p: n == c % p  # noqa: E731
TRANSPOSE: Holds = lambda c, n, p: n == (c // p) % p  # noqa: E731


def root(r: int) -> Holds:
    return lambda c, n, p: n == r


TABLE_2 = {
    "gather": (True, SCATTERED, root(0)),
    "gather(root=2)": (True, SCATTERED, root(2)),
    "allgather": (True, SCATTERED, ALL),
    "alltoall": (True, SCATTERED, TRANSPOSE),
    "broadcast": (False, root(0), ALL),
    "broadcast(1)": (False, root(1), ALL),
    "scatter": (False, root(0), SCATTERED),
    "scatter(root=2)": (False, root(2), SCATTERED),
}
NEEDS_MULTIPLE = {"alltoall", "scatter", "scatter(root=2)"}


def cells(holds: Holds, total: int, nodes: int) -> np.ndarray:
    return np.array([[holds(c, n, nodes) for n in range(nodes)] for c in range(total)])


@pytest.mark.parametrize("reference", TABLE_2)
@pytest.mark.parametrize("nodes", [3, 4, 8])
@pytest.mark.parametrize("chunks", [1, 3, 8, 16, 24])
def test_table_2(reference: str, nodes: int, chunks: int, library: SpecLibrary) -> None:
    every_node_has_input, pre, post = TABLE_2[reference]
    collective = library.collective(reference)
    admitted = reference not in NEEDS_MULTIPLE or chunks % nodes == 0
    assert collective.admits(nodes, chunks) == admitted
    if not admitted:
        with pytest.raises(SpecError, match=r"a multiple of P"):
            collective.tabulate(nodes, chunks)
        return
    table = collective.tabulate(nodes, chunks)
    total = nodes * chunks if every_node_has_input else chunks
    assert np.array_equal(table.pre, cells(pre, total, nodes))
    assert np.array_equal(table.post, cells(post, total, nodes))


def test_alltoall_delivers_every_pair_of_nodes_equally_often(library: SpecLibrary) -> None:
    """C = 24 on 8 nodes is three chunks from every node to every node (Table 4)."""
    table = library.collective("alltoall").tabulate(8, 24)
    counts = np.zeros((8, 8), dtype=int)
    for before, after in zip(table.pre, table.post, strict=True):
        counts[np.flatnonzero(before)[0], np.flatnonzero(after)[0]] += 1
    assert (counts == 3).all()


@pytest.mark.parametrize("chunks", [1, 2, 5])
def test_several_roots(chunks: int, library: SpecLibrary) -> None:
    roots = [3, 0]
    broadcast = library.collective("multi_broadcast(3, 0)").tabulate(5, chunks)
    assert broadcast.pre.shape == (2 * chunks, 5)
    assert broadcast.post.all()
    assert [np.flatnonzero(row).tolist() for row in broadcast.pre] == [[3], [0]] * chunks
    gather = library.collective("multi_gather(3, 0)").tabulate(5, chunks)
    assert np.array_equal(gather.pre, cells(SCATTERED, 5 * chunks, 5))
    assert np.array_equal(gather.post, np.tile(np.isin(np.arange(5), roots), (5 * chunks, 1)))
    scatter = library.collective("multi_scatter(3, 0)").tabulate(5, 5 * chunks)
    counts = np.zeros((5, 5), dtype=int)
    for before, after in zip(scatter.pre, scatter.post, strict=True):
        counts[np.flatnonzero(before)[0], np.flatnonzero(after)[0]] += 1
    assert np.array_equal(counts, chunks * np.isin(np.arange(5), roots)[:, None] * np.ones((1, 5)))


@pytest.mark.parametrize(
    ("several", "one"),
    [
        ("multi_broadcast(2)", "broadcast(2)"),
        ("multi_gather(2)", "gather(2)"),
        ("multi_scatter(2)", "scatter(2)"),
        ("multi_broadcast(0, 1, 2, 3)", "allgather"),
        ("multi_gather(0, 1, 2, 3)", "allgather"),
        ("multi_scatter(0, 1, 2, 3)", "alltoall"),
    ],
)
def test_several_roots_generalise_one_and_all(several: str, one: str, library: SpecLibrary) -> None:
    left, right = (library.collective(name).tabulate(4, 8) for name in (several, one))
    assert np.array_equal(left.pre, right.pre)
    assert np.array_equal(left.post, right.post)


@pytest.mark.parametrize(
    "reference",
    ["broadcast(8)", "broadcast(1/2)", "gather(-1)", "scatter(9)", "multi_gather(8)",
     "multi_broadcast(1,1)", "multi_scatter", "multi_broadcast"],
)  # fmt: skip
def test_roots_must_be_nodes(reference: str, library: SpecLibrary) -> None:
    collective = library.collective(reference)
    for attempt in (collective.admits, collective.tabulate):
        with pytest.raises(SpecError) as caught:
            attempt(8, 8)
        assert caught.value.origin is not None
        assert caught.value.origin.text == reference
        assert caught.value.expected
        assert "root" in caught.value.expected
        words = "does not exist: the nodes are 0 to 7|is not defined on 8 nodes"
        assert re.search(words, caught.value.message)


def test_a_refused_chunk_count_names_the_requirement(library: SpecLibrary) -> None:
    collective = library.collective("alltoall")
    with pytest.raises(ModelError) as caught:
        collective.instantiate(library.topology("dgx1"), chunks=12, steps=2, rounds=2)
    assert caught.value.origin is not None
    assert caught.value.origin.text == "alltoall"
    assert "multiple of P" in caught.value.expected


@pytest.mark.parametrize(
    ("reference", "name"),
    [
        ("broadcast", "broadcast"),
        ("broadcast(0)", "broadcast"),
        ("broadcast( 3 )", "broadcast(root=3)"),
        ("BROADCAST(root=1+2)", "broadcast(root=3)"),
        ("multi_gather(1,2)", "multi_gather(1,2)"),
        ("AllGather", "allgather"),
    ],
)
def test_names_are_canonical_calls(reference: str, name: str, library: SpecLibrary) -> None:
    assert library.collective(reference).name == name
    assert library.collective(name).name == name


def test_relations_of_table_1_are_shipped(library: SpecLibrary) -> None:
    assert [summary.signature for summary in library.names("relation")] == [
        "All",
        "Root(root)",
        "Scattered",
        "Transpose",
    ]
