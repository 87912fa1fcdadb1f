"""Timetables: filling and draining a pipeline, and no send before its chunk has come."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from syncoll.deadline import NEVER
from syncoll.model import Topology
from syncoll.scheduling.link_sets import LinkSets
from syncoll.scheduling.streams import Streams
from syncoll.scheduling.timetable import Timetable


def paths(topology: Topology, ways: list[tuple[list[int], int]]) -> Streams:
    """A stream for each way: its nodes, and the number of its chunks."""
    link, parent, stream, chunks = [], [], [], []
    for number, (nodes, amount) in enumerate(ways):
        for place, ends in enumerate(pairwise(nodes)):
            parent.append(len(link) - 1 if place else -1)
            link.append(topology.link_index[ends])
            stream.append(number)
        chunks.append(np.arange(amount))
    return Streams(
        np.array(link), np.array(parent), np.array(stream), tuple(chunks), tuple(range(len(ways)))
    )


@pytest.mark.parametrize("hops", [1, 2, 3])
@pytest.mark.parametrize("steps", [3, 4, 7])
def test_a_pipeline_is_as_good_as_it_can_be(hops: int, steps: int) -> None:
    # A chunk is on one of the links in all steps but hops - 1, so these have 60 rounds together.
    line = Topology.from_links("line", hops + 1, {(i, i + 1): 1 for i in range(hops)})
    streams = paths(line, [(list(range(hops + 1)), 60)])
    plan = Timetable(streams, LinkSets(line, streams.num_sends)).plan(steps, NEVER)
    assert plan is not None
    assert plan.total == 60 + (hops - 1) * 60 // (steps - hops + 1)


def test_streams_that_meet_share_the_steps() -> None:
    # Node 2 passes on data from 0 and 1; its own can go first, and then nothing is lost.
    links = {(0, 2): 1, (1, 2): 1, (2, 3): 2}
    star = Topology.from_links("star", 4, links)
    streams = paths(star, [([0, 2, 3], 20), ([1, 2, 3], 20), ([2, 3], 40)])
    table = Timetable(streams, LinkSets(star, streams.num_sends))
    plan = table.plan(2, NEVER)
    assert table.shares.least_rounds == 40
    assert plan is not None
    assert plan.total == 40


def test_no_send_goes_before_its_chunk_has_come() -> None:
    rng = np.random.default_rng(3)
    topology = Topology.from_links(
        "full", 6, {(a, b): 1 + (a + b) % 2 for a in range(6) for b in range(6) if a != b}
    )
    for _ in range(5):
        ways = [
            (rng.permutation(6)[: rng.integers(2, 5)].tolist(), int(rng.integers(1, 9)))
            for _ in range(40)
        ]
        streams = paths(topology, ways)
        table = Timetable(streams, LinkSets(topology, streams.num_sends))
        for steps in (streams.height, streams.height + 2):
            plan = table.plan(steps, NEVER)
            assert plan is not None
            assert plan.total >= table.shares.least_rounds
            sent = np.zeros((len(streams.link), steps), dtype=int)
            np.add.at(sent, (plan.entry, plan.step), plan.amount)
            assert (sent.sum(axis=1) == streams.count).all()
            done = sent.cumsum(axis=1)
            later = np.flatnonzero(streams.parent >= 0)
            assert (done[later, 1:] <= done[streams.parent[later], :-1]).all()
            assert not done[later, 0].any()


def test_a_tree_has_no_timetable() -> None:
    star = Topology.from_links("star", 4, {(0, 1): 1, (1, 2): 1, (1, 3): 1})
    tree = Streams(
        np.arange(3), np.array([-1, 0, 0]), np.zeros(3, dtype=np.int64), (np.arange(2),), (0,)
    )
    with pytest.raises(ValueError, match="no path"):
        Timetable(tree, LinkSets(star, 6))


def test_streams_of_too_many_kinds_find_times_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    # Ways of two links one behind the other: the ones from 0 must go first, the ones from 3 last.
    line = Topology.from_links("line", 6, {(i, i + 1): 1 for i in range(5)})
    ways = [([i, i + 1, i + 2], 30) for i in (0, 1, 2, 3)] + [([0, 1], 30), ([4, 5], 30)]
    streams = paths(line, ways)
    table = LinkSets(line, streams.num_sends)
    alike = Timetable(streams, table).plan(4, NEVER)
    monkeypatch.setattr("syncoll.scheduling.timetable._MOST_KINDS", 0)
    alone = Timetable(streams, table).plan(4, NEVER)
    assert alike is not None
    assert alone is not None
    assert alike.total > 66
    assert alone.total <= 66
    assert alone.total >= 60
