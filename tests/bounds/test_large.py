"""Bounds for machines on which a table of chunks and nodes would not fit; their certificates."""

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

import syncoll_check
from syncoll import bounds, check, collective, pareto, topology
from syncoll.bounding import bound_at_once
from syncoll.bounding.at_once import least_cut
from syncoll.certificates import Certificate, ChunkClass, ChunkClasses, Demand, DemandView, demands
from syncoll.certificates.chunk_classes import ClassList, DemandList
from syncoll.errors import ModelError, UsageError
from syncoll.model import Collective
from syncoll.testing.instances import random_instance
from syncoll_check.frontier import digest


@pytest.mark.parametrize(
    "sides", [(4, 4), (2, 4), (4, 4, 4), (6, 6), (8, 8), (4, 6), (16, 16)], ids=str
)
def test_alltoall_on_even_tori_has_the_bound_by_counting(sides: tuple[int, ...]) -> None:
    """With the longest side k each link carries k / 8 of a chunk for every node and pair."""
    name = f"torus({','.join(map(str, sides))})"
    found = bounds(name, "alltoall", max_steps=0)
    nodes = int(np.prod(sides))
    # A side of 2 has one link for both ways round, so that it carries as much as one of 4.
    longest = max(4 if side == 2 else side for side in sides)
    assert found.chunks == nodes
    assert found.any_steps.rounds == Fraction(nodes * longest, 8)


@pytest.mark.parametrize(
    ("topology", "collective", "chunks"),
    [
        ("torus(4,4)", "alltoall", None),
        ("dgx1", "allgather", 4),
        ("mesh(2,3)", "allreduce", None),
        ("ring(5)", "reducescatter", 10),
        ("line(3)", "scatter", None),
        ("ring(1)", "allgather", None),
    ],
)
def test_saved_bounds_are_checked(
    topology: str, collective: str, chunks: int | None, tmp_path: Path
) -> None:
    found = bounds(topology, collective, chunks=chunks, max_steps=4)
    found.save(tmp_path / "bounds.json")
    checked = check(tmp_path / "bounds.json", collective, topology=topology)
    assert not checked.unchecked
    assert not checked.frontier.points
    assert checked.frontier.least_bandwidth == found.bandwidth
    assert checked.frontier.least_steps == found.steps
    written = (tmp_path / "bounds.json").read_bytes()
    syncoll_check.check(written)
    document = json.loads(written)
    document["bounds"]["bandwidth"] = str(found.bandwidth + 1)
    document["digest"] = digest(document)
    with pytest.raises(syncoll_check.WrongError):
        syncoll_check.check(json.dumps(document).encode())


def test_bounds_of_an_irregular_collective_are_refused() -> None:
    here = Collective.from_relations(
        "shift",
        chunks=lambda nodes, per: nodes * per,
        pre=lambda c, n, nodes, _per: n == c % nodes,
        post=lambda c, n, nodes, per: n == (c + per) % nodes,
        irregular=True,
    )
    with pytest.raises(UsageError, match=r"shift is irregular: .*`syncoll solve"):
        bounds("ring(4)", here)


def test_alltoall_is_searched_only_where_there_is_room() -> None:
    with pytest.raises(ModelError, match="1048576 chunks on 1024 nodes: too many") as error:
        pareto("hypercube(10)", "alltoall", time_limit=60)
    assert "syncoll bounds" in str(error.value)


def test_alltoall_among_hundreds_of_nodes() -> None:
    found = bounds("hypercube(8)", "alltoall", max_steps=8)
    assert found.bandwidth == Fraction(1, 2)
    assert found.steps == 8
    (steps, bound) = found.by_steps[0]
    assert (steps, bound.rounds) == (8, 128)


@given(st.integers(0, 10_000))
def test_classes_and_demands_agree_with_the_chunks(seed: int) -> None:
    instance = random_instance(seed)
    shape = ChunkClasses.of(instance, instance.chunks, combining=instance.combining)
    counted: dict[tuple[tuple[int, ...], tuple[int, ...]], int] = {}
    for pre, post in zip(instance.pre, instance.post, strict=True):
        pair = tuple(np.flatnonzero(pre).tolist()), tuple(np.flatnonzero(post).tolist())
        counted[pair] = counted.get(pair, 0) + 1
    assert list(shape.classes) == [ChunkClass(*pair, n) for pair, n in sorted(counted.items())]
    assert shape == ChunkClasses(instance.chunks, list(shape.classes), instance.combining)
    assert hash(shape) == hash(ChunkClasses(instance.chunks, list(shape.classes), shape.combining))
    assert shape.proportional(shape.scaled(3 * shape.chunks))
    assert shape.inverse(5).inverse(shape.chunks) == shape
    assert ChunkClasses.of(shape.table(instance.topology.num_nodes), shape.chunks).classes == (
        shape.classes
    )
    wanted: dict[tuple[tuple[int, ...], tuple[int, ...]], int] = {}
    for (pre, post), n in counted.items():
        missing = tuple(node for node in post if node not in pre)
        if missing:
            wanted[pre, missing] = wanted.get((pre, missing), 0) + n
    own = [Demand(*pair, n) for pair, n in sorted(wanted.items())]
    assert list(demands(instance)) == own
    if not instance.combining:
        assert list(shape.demands(DemandView.MOVING)) == own


def test_counts_of_any_size() -> None:
    large = ChunkClasses(1, [ChunkClass((0,), (1,), 10**30), ChunkClass((0,), (2,), 1)])
    assert large.scaled(10**20).classes[0].count == 10**50
    assert large.proportional(large.scaled(7))
    assert large.demands(DemandView.MOVING)[0].count == 10**30


def test_a_part_of_the_records() -> None:
    some = ClassList.of([ChunkClass((0,), (n,), n) for n in range(4)])
    assert [one.count for one in some[1:3]] == [1, 2]
    assert some[1:3] == ClassList.of([ChunkClass((0,), (n,), n) for n in (1, 2)])
    assert some[3].post == (3,)
    assert some != some[:2]
    assert DemandList.of([Demand((0,), (1,), 2), Demand((0,), (1,), 3)])[0].count == 5


@given(st.integers(0, 10_000))
def test_quick_bounds_are_certified(seed: int) -> None:
    instance = random_instance(seed)
    for combining in {True, instance.combining}:
        shape = ChunkClasses.of(instance, instance.chunks, combining=combining)
        bound = bound_at_once(instance.topology, shape)
        Certificate(shape, bound).check(instance.topology)


def test_a_skewed_exchange_is_bounded_by_the_data_into_a_box() -> None:
    """64 GPUs in 8 boxes; almost all data is for the GPUs of the first."""
    boxes = topology("a100(boxes=8)")
    sizes = np.ones((64, 64), dtype=int)
    sizes[:, :8] = 10
    table = collective("alltoallv", sizes).tabulate(64, 1)
    asked = ChunkClasses.of(table, 1, combining=False).demands(DemandView.MOVING)
    bound = least_cut(boxes, asked)
    assert bound.certificate is not None
    assert bound.certificate.check(boxes, asked) == bound.rounds
    assert bound.rounds == 56 * 80 / 8  # eight network cards, a chunk each round
