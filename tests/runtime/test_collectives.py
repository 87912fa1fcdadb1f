"""Standard collectives are recognised by pre and post, for any numbering of chunks."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import syncoll_specs
from syncoll.errors import ExportError
from syncoll.model import Instance
from syncoll.runtime import Buffer, Kind, Slot, kind_of, layout_of
from syncoll.spec import SpecLibrary
from tests.oracles.classics import hub

LIBRARY = SpecLibrary([Path(syncoll_specs.__file__).parent])
NAMES = {
    "allgather": (Kind.ALLGATHER, None, 2, 2),
    "broadcast(root=1)": (Kind.BROADCAST, 1, 2, 2),
    "gather(root=2)": (Kind.GATHER, 2, 2, 2),
    "scatter(root=3)": (Kind.SCATTER, 3, 8, 2),
    "alltoall": (Kind.ALLTOALL, None, 8, 2),
    "reduce(root=1)": (Kind.REDUCE, 1, 2, 2),
    "reducescatter": (Kind.REDUCESCATTER, None, 8, 2),
    "allreduce": (Kind.ALLREDUCE, None, 6, 6),
    "multi_broadcast(0, 1, 2, 3)": (Kind.ALLGATHER, None, 2, 2),
    "multi_gather(2)": (Kind.GATHER, 2, 2, 2),
}


def instance_of(name: str, chunks: int) -> Instance:
    return LIBRARY.collective(name).instantiate(hub(4), chunks=chunks, steps=3, rounds=3)


def renumbered(instance: Instance, order: Sequence[int]) -> Instance:
    return Instance(
        instance.topology,
        "another name",
        instance.chunks,
        instance.steps,
        instance.rounds,
        instance.pre[list(order)],
        instance.post[list(order)],
        instance.combining,
    )


@pytest.mark.parametrize("name", NAMES)
def test_of_the_library(name: str) -> None:
    kind, root, chunks, share = NAMES[name]
    instance = instance_of(name, chunks)
    found = kind_of(instance)
    assert (found.kind, found.root, found.share, found.reason) == (kind, root, share, "")
    rng = random.Random(name)
    order = rng.sample(range(instance.num_chunks), instance.num_chunks)
    assert kind_of(renumbered(instance, order)) == found


@pytest.mark.parametrize(
    ("name", "chunks", "reason"),
    [
        ("multi_broadcast(0, 2)", 1, "0 to 1 chunks"),
        ("multi_gather(0, 2)", 1, "neither at every node nor at one"),
        ("multi_scatter(0, 2)", 4, "0 to 1 chunks"),
    ],
)
def test_others_are_custom(name: str, chunks: int, reason: str) -> None:
    found = kind_of(instance_of(name, chunks))
    assert found.kind is Kind.CUSTOM
    assert reason in found.reason
    with pytest.raises(ExportError, match="in place is defined"):
        layout_of(instance_of(name, chunks), in_place=True)


@pytest.mark.parametrize(
    ("pre", "post", "combining", "reason"),
    [
        ([[1, 1, 1]], [[0, 0, 1]], False, "starts at 3 nodes"),
        ([[1, 1, 0]], [[1, 1, 1]], True, "only 2 of 3"),
        ([[1, 1, 1], [1, 1, 1]], [[1, 0, 0], [0, 1, 0]], True, "0 to 1 results"),
        ([[1, 1, 1]], [[1, 1, 0]], True, "neither"),
        ([[1, 0, 0], [1, 0, 0]], [[1, 1, 1], [0, 0, 0]], False, "ends nowhere"),
        ([[1, 0, 0], [1, 0, 0], [0, 1, 0]], [[1, 1, 1]] * 3, False, "0 to 2 chunks"),
    ],
)
def test_reasons_for_custom_collectives(
    pre: list[list[int]], post: list[list[int]], combining: bool, reason: str
) -> None:
    starts, ends = np.array(pre, dtype=bool), np.array(post, dtype=bool)
    found = kind_of(Instance(hub(3), "allgather", 1, 2, 2, starts, ends, combining))
    assert found.kind is Kind.CUSTOM
    assert reason in found.reason


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("in_place", [False, True])
def test_layout(name: str, in_place: bool) -> None:
    """Properties of the runtimes' order, without the layout's own formulas."""
    kind, root, chunks, share = NAMES[name]
    rng = random.Random(name)
    instance = instance_of(name, chunks)
    order = rng.sample(range(instance.num_chunks), instance.num_chunks)
    instance = renumbered(instance, order)
    layout = layout_of(instance, in_place=in_place)
    for node in range(4):
        for indices, held in ((layout.inputs, instance.pre), (layout.outputs, instance.post)):
            used = sorted(indices[held[:, node], node].tolist())
            assert used == list(range(len(used)))
            assert (indices[~held[:, node], node] == -1).all()
    for chunk in range(instance.num_chunks):
        (sources,) = np.nonzero(instance.pre[chunk])
        (ends,) = np.nonzero(instance.post[chunk])
        for node in ends.tolist():
            at = int(layout.outputs[chunk, node])
            if kind in (Kind.ALLGATHER, Kind.GATHER, Kind.ALLTOALL):
                assert at // share == sources[0]
            if kind is Kind.ALLTOALL:  # in both buffers by the other end, then in one order
                assert int(layout.inputs[chunk, sources[0]]) == node * share + at % share
        if kind in (Kind.REDUCESCATTER, Kind.SCATTER):
            assert all(int(layout.inputs[chunk, n]) // share == ends[0] for n in sources)
        if len(sources) > 1 or kind is Kind.BROADCAST:  # one order at all nodes
            assert len({int(layout.inputs[chunk, n]) for n in sources}) == 1
        if len(ends) > 1:
            assert len({int(layout.outputs[chunk, n]) for n in ends}) == 1
    for node in range(4):
        slots = [layout.input_slot(c, node) for c in range(instance.num_chunks)]
        goals = [layout.output_slot(c, node) for c in range(instance.num_chunks)]
        both = {slot for slot in slots if slot} & {slot for slot in goals if slot}
        rooted = kind in (Kind.BROADCAST, Kind.REDUCE, Kind.GATHER, Kind.SCATTER)
        if in_place and (not rooted or node == root):
            assert both, "input and output overlap"
            if kind is not Kind.ALLTOALL:  # its chunks change places
                for slot, goal in zip(slots, goals, strict=True):
                    assert None in (slot, goal) or slot == goal
        else:
            assert not both


def test_in_place_slots_have_one_name() -> None:
    allgather = layout_of(instance_of("allgather", 2), in_place=True)
    assert allgather.shift == (0, 2, 4, 6)
    assert allgather.input_slot(7, 3) == Slot(Buffer.OUTPUT, 7)
    scattered = layout_of(instance_of("reducescatter", 8), in_place=True)
    assert scattered.shift == (0, -2, -4, -6)
    assert scattered.output_slot(7, 3) == Slot(Buffer.INPUT, 7)
    assert scattered.output_slot(7, 2) is None
