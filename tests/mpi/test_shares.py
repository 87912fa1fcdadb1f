"""Lengths follow numpy.array_split, at all ranks alike."""

from __future__ import annotations

import random

import numpy as np
import pytest

from syncoll.model import Instance
from syncoll.mpi.program import shares_of, split
from syncoll.runtime import Kind, kind_of, layout_of
from syncoll.testing.instances import random_case
from tests.oracles.classics import allgather, alltoall, broadcast, gather, ring, scatter

TOTALS = (0, 1, 2, 7, 11, 12, 13, 100)


@pytest.mark.parametrize("total", TOTALS)
@pytest.mark.parametrize("parts", [1, 2, 5, 12])
def test_split_is_array_split(total: int, parts: int) -> None:
    assert split(total, parts).tolist() == [len(p) for p in np.array_split(np.empty(total), parts)]


@pytest.mark.parametrize("total", TOTALS)
@pytest.mark.parametrize(
    "collective",
    [allgather(), alltoall(), broadcast(2), gather(1), scatter(3)],
    ids=lambda c: c.name,
)
def test_buffers_are_shares_cut_into_chunks(collective: object, total: int) -> None:
    """The chunks of a buffer, one after the other, are its shares, and each share is cut evenly."""
    instance: Instance = collective.instantiate(ring(4), chunks=4, steps=3, rounds=9)  # type: ignore[attr-defined]
    layout = layout_of(instance, in_place=False)
    kind, shares = kind_of(instance), shares_of(layout, total)
    for rank in range(4):
        for places, length in (
            (layout.inputs, shares.inputs[rank]),
            (layout.outputs, shares.outputs[rank]),
        ):
            mine = np.flatnonzero(places[:, rank] >= 0)
            mine = mine[np.argsort(places[mine, rank])]
            lengths = shares.chunks[mine]
            assert lengths.sum() == length
            for group in np.split(lengths, range(kind.share, len(lengths), kind.share)):
                if not len(group):
                    continue
                assert group.tolist() == split(int(group.sum()), len(group)).tolist()
    if kind.kind in (Kind.ALLGATHER, Kind.GATHER):
        assert shares.inputs.tolist() == split(total, 4).tolist()
        assert shares.outputs.max() == total
    if kind.kind is Kind.SCATTER:
        assert shares.outputs.tolist() == split(total, 4).tolist()
        assert shares.inputs.tolist() == [0, 0, 0, total]
    if kind.kind is Kind.ALLTOALL:
        assert shares.inputs.tolist() == [total] * 4
        assert shares.outputs.tolist() == (4 * split(total, 4)).tolist()
    if kind.kind is Kind.BROADCAST:
        assert shares.inputs.tolist() == [0, 0, total, 0]
        assert shares.outputs.tolist() == [total] * 4


@pytest.mark.parametrize("seed", range(20))
def test_every_kind_adds_up(seed: int) -> None:
    rng = random.Random(seed)
    instance, _ = random_case(rng)
    layout = layout_of(instance, in_place=False)
    total = rng.randrange(60)
    shares = shares_of(layout, total)
    whole = layout.collective.kind in (Kind.ALLREDUCE, Kind.BROADCAST, Kind.REDUCE, Kind.CUSTOM)
    if whole or layout.collective.kind in (Kind.ALLGATHER, Kind.REDUCESCATTER):
        assert shares.chunks.sum() == total
    assert shares.chunks.min() >= 0
