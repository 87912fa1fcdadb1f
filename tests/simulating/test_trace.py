"""Traces, read back with Perfetto's own schema, agree with the simulator."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import syncoll
from syncoll.cli.main import main
from syncoll.documents import StoredAlgorithm
from syncoll.errors import UsageError
from syncoll.model import invert
from syncoll.simulating import Semantics, Simulation, physical_network, simulate_algorithm
from syncoll.simulating.trace import trace_content
from tests.oracles.orbits import random_orbit

ALPHA, BETA = Fraction(7, 10**7), Fraction(25 * 10**9)


def simulated(stored: StoredAlgorithm, size: int = 1 << 20) -> Simulation:
    network = physical_network(stored.instance.topology, ALPHA, BETA)
    return simulate_algorithm(stored, network, Semantics(), size)


def of_boxes() -> Simulation:
    """With switches: sends of several hops."""
    found = syncoll.pareto("a100(boxes=1)", "allgather", max_steps=1, progress="none")
    return simulated(StoredAlgorithm(found[0].instance, found[0].algorithm, "points[0]"))


def of_orbit(*, combining: bool) -> Simulation:
    instance, algorithm = random_orbit(3)
    if combining:
        instance, algorithm = invert(instance, algorithm, "reducescatter")
    return simulated(StoredAlgorithm(instance, algorithm, "algorithm"))


CASES = {
    "switches": of_boxes,
    "copies": lambda: of_orbit(combining=False),
    "sums": lambda: of_orbit(combining=True),
}


class Read:
    """A trace as Perfetto's schema reads it."""

    def __init__(self, content: bytes) -> None:
        schema = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
        found = schema.Trace()
        found.ParseFromString(content)
        kind = schema.TrackEvent.Type
        self.tracks = {
            packet.track_descriptor.uuid: packet.track_descriptor
            for packet in found.packet
            if packet.HasField("track_descriptor")
        }
        self.slices: dict[int, list[tuple[int, int, Any]]] = defaultdict(list)
        self.counters: dict[int, list[tuple[int, float]]] = defaultdict(list)
        opened: dict[int, tuple[int, Any]] = {}
        for packet in found.packet:
            event, at = packet.track_event, packet.timestamp
            if not packet.HasField("track_event"):
                continue
            assert event.track_uuid in self.tracks
            if event.type == kind.TYPE_SLICE_BEGIN:
                assert event.track_uuid not in opened, "slices of a track never overlap"
                opened[event.track_uuid] = at, event
            elif event.type == kind.TYPE_SLICE_END:
                began, what = opened.pop(event.track_uuid)
                self.slices[event.track_uuid].append((began, at, what))
            else:
                assert event.type == kind.TYPE_COUNTER
                self.counters[event.track_uuid].append((at, event.double_counter_value))
        assert not opened


def notes(event: Any) -> dict[str, float]:
    return {
        one.name: one.double_value if one.HasField("double_value") else one.int_value
        for one in event.debug_annotations
    }


@pytest.mark.parametrize("name", CASES)
def test_slices_are_the_passages(name: str) -> None:
    one = CASES[name]()
    read = Read(trace_content({"some": one}))
    assert sum(map(len, read.slices.values())) == len(one.passages)
    for slices in read.slices.values():
        assert all(start <= end for start, end, _ in slices)
        assert all(first[1] <= second[0] for first, second in pairwise(slices))
    # By the lane's name: bytes, busy time, and the chunks that it carries.
    sums: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    chunks: dict[str, list[int]] = defaultdict(list)
    for track, slices in read.slices.items():
        lane = read.tracks[track].name.partition(", cable")[0]
        for start, end, event in slices:
            said = notes(event)
            for i, value in enumerate((said["bytes"], said["duration, ns"], end - start)):
                sums[lane][i] += value
            chunks[lane].append(int(said["chunk"]))
            assert abs(said["start, ns"] - start) <= 0.5
    passages = one.passages
    for number, lane in enumerate(one.network.lanes):
        own = passages.lane == number
        if not own.any():
            assert lane.name not in sums
            continue
        size, exact, rounded = sums[lane.name]
        assert size == pytest.approx(passages.size[own].sum())
        assert exact == pytest.approx(1e9 * (passages.end - passages.start)[own].sum())
        assert abs(rounded - exact) <= own.sum()
        assert sorted(chunks[lane.name]) == sorted(one.sends[passages.send[own], 0].tolist())


@pytest.mark.parametrize("name", CASES)
def test_arrows_follow_chunks(name: str) -> None:
    one = CASES[name]()
    read = Read(trace_content({"some": one}))
    begun: dict[int, tuple[int, Any]] = {}
    ended: dict[int, tuple[int, Any]] = {}
    for slices in read.slices.values():
        for start, _, event in slices:
            begun.update(dict.fromkeys(event.flow_ids, (start, event)))
            ended.update(dict.fromkeys(event.terminating_flow_ids, (start, event)))
    assert set(begun) == set(ended)
    assert begun
    for flow, (start, event) in begun.items():
        later, other = ended[flow]
        assert start <= later
        assert notes(event)["chunk"] == notes(other)["chunk"]
        if event.name != other.name:
            assert event.name.rpartition(" ")[2] == other.name.split(": ")[1].partition(" ")[0]
    # Every send of a chunk that does not start at its source is pointed at.
    waiting = {
        (int(chunk), f"{source} → {destination}")
        for chunk, source, destination, _ in one.sends.tolist()
        if not one.algorithm.instance.pre[chunk, source]
    }
    pointed = {(notes(e)["chunk"], e.name.split(": ")[1]) for _, e in ended.values()}
    assert waiting <= pointed


@pytest.mark.parametrize("name", CASES)
def test_counters_add_up_to_the_bytes(name: str) -> None:
    one = CASES[name]()
    read = Read(trace_content({"some": one}))
    carried = np.bincount(one.passages.lane, one.passages.size, len(one.network.lanes))
    for number, lane in enumerate(one.network.lanes):
        tracks = [u for u, track in read.tracks.items() if track.name == f"{lane.name}, use"]
        assert len(tracks) == bool(carried[number])
        for track in tracks:
            values = read.counters[track]
            assert all(0 <= share <= 100 * (1 + 1e-9) for _, share in values)
            total = sum(share * (end - at) for (at, share), (end, _) in pairwise(values))
            expected = carried[number] / float(lane.bandwidth) * 1e11
            assert total == pytest.approx(expected, rel=0.01)


def test_several_simulations_and_the_size_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    one = of_orbit(combining=False)
    read = Read(trace_content({"first": one, "second": one}))
    tops = [track for track in read.tracks.values() if not track.HasField("parent_uuid")]
    assert [track.name.partition(":")[0] for track in tops] == ["first", "second"]
    few = len(one.passages) - 1
    monkeypatch.setattr("syncoll.simulating.trace.MOST_PASSAGES", few)
    with pytest.raises(UsageError, match=rf"limit {few}"):
        trace_content({"first": one})


def test_the_command_traces_the_fastest_and_its_rival(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frontier, target = tmp_path / "f.json", tmp_path / "out.pftrace"
    syncoll.pareto("ring(4)", "allgather", progress="none").save(frontier)
    words = ["simulate", str(frontier), "--alpha", "1us", "--beta", "25GB/s", "--classics", "ring"]
    assert main([*words, "--trace", str(target)]) == 0
    tops = [t.name for t in Read(target.read_bytes()).tracks.values() if not t.parent_uuid]
    assert [name.partition(":")[0].partition("[")[0] for name in tops] == ["points", "ring"]
    assert "traced in" in capsys.readouterr().out
    target.unlink()
    assert main([*words, "--trace", str(target), "--trace-of", "points[9]"]) == 2
    for wrong in ("0", "much"):  # refused before anything is simulated
        with pytest.raises(SystemExit) as refused:
            main([*words, "--trace", str(target), "--trace-size", wrong])
        assert refused.value.code == 2
    assert main([*words, "--trace-of", "points[0]"]) == 2
    assert not target.exists()
