"""Chunks that take the same way are one stream under any numbering."""

from __future__ import annotations

import numpy as np
import pytest

from syncoll.model import Algorithm, Instance, Topology
from syncoll.plugins import ExportRequest
from syncoll.runtime import lower, streams_of
from syncoll.runtime.places import by_slices, by_weight

PAIR = Topology.from_links("pair", 2, {(0, 1): 1, (1, 0): 1})


def spread(ways: list[int]) -> ExportRequest:
    """A broadcast of rank 0 in which each chunk has a step of its own choice."""
    pre = np.zeros((len(ways), 2), dtype=bool)
    pre[:, 0] = True
    sends = [(chunk, 0, 1, step) for chunk, step in enumerate(ways)]
    rounds = [ways.count(step) for step in range(max(ways) + 1)]
    instance = Instance(
        PAIR, "broadcast", len(ways), len(rounds), len(ways), pre, np.ones_like(pre)
    )
    return ExportRequest("x", "x", instance, Algorithm(tuple(rounds), sends))


@pytest.mark.parametrize("ways", [[0, 0, 1, 0], [1, 0, 0, 0]])
def test_equal_ways_are_merged(ways: list[int]) -> None:
    streams = streams_of(spread(ways))
    assert sorted(streams.sizes.tolist()) == [1, 3]
    assert streams.request.instance.num_chunks == 2
    assert len(lower(streams.request, layout=streams.layout).messages) == 2
    assert streams_of(spread(ways), apart=True).sizes.tolist() == [1] * 4


def test_streams_are_repeated_and_left_out() -> None:
    streams = streams_of(spread([0, 0, 1, 0]))
    several = streams.repeated([2, 0])
    assert several.sizes.tolist() == [streams.sizes[0]] * 2
    assert several.request.algorithm.num_sends == 2
    assert {step for *_, step in several.request.algorithm.sends.tolist()} == {0}


def test_blocks_are_cut_by_weight_or_in_slices() -> None:
    streams = streams_of(spread([0] * 13 + [1] * 3))
    weighted = by_weight(streams, 64, least=16)
    assert (weighted.share, weighted.weights.tolist()) == (16, [13, 3])
    one = by_weight(streams, 64)  # the link is full in any case, so one way is as good
    assert (one.share, one.weights.tolist(), one.longer) == (1, [1], 0)
    thirds = streams_of(spread([0, 1, 2]))
    sliced = by_slices(thirds)
    assert sliced.slices == ((0, 3), (1, 3), (2, 3))
    twice = by_slices(streams_of(spread([0, 0, 1, 1])))
    assert twice.slices == ((0, 2), (1, 2))
    uneven = by_slices(streams_of(spread([0, 0, 1])))
    assert uneven.slices == ((0, 3), (1, 3), (2, 3))
