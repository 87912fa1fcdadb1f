"""Algorithms for some sizes by simulated time: faster than points, no slower than classics."""

from __future__ import annotations

import functools
import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import syncoll
import syncoll_check
from syncoll.deadline import NEVER, Deadline
from syncoll.documents import StoredAlgorithm
from syncoll.errors import UsageError, VerificationError
from syncoll.model import refine
from syncoll.searching.arrival_trees import all_by_arrival, by_arrival
from syncoll.searching.box_trees import box_algorithms
from syncoll.searching.by_time import TimeGoal, timed
from syncoll.session import Session, Settings
from syncoll.simulating import (
    WIRE,
    Semantics,
    SimulatedSeconds,
    dispatched,
    given_network,
    runtime,
    simulate_algorithm,
)
from syncoll.simulating.boxes import between_boxes
from syncoll.values import doubled_sizes
from syncoll.verbs.frontier import algorithms_of
from tests.bounds.test_flows_over_time import BYTES, tiny
from tests.oracles.timed_schedules import least_time

MODEL = {"alpha": "1us", "beta": "25GB/s"}


@functools.cache
def frontier(topology: str, collective: str) -> syncoll.FrontierResult:
    return syncoll.pareto(topology, collective, seeds="none", progress="none", work=3)


def goal(found: syncoll.FrontierResult, *sizes: int, name: str = "wire") -> TimeGoal:
    network = given_network(found.topology, **MODEL)
    collective = Session().collective(found.collective)
    return TimeGoal(collective, network, runtime(name), tuple(map(Fraction, sizes)))


@pytest.mark.parametrize("name", ["wire", "mscclpp"])
def test_order_and_smaller_chunks_save_time(name: str) -> None:
    found = frontier("ring(4)", "allgather")
    asked = goal(found, 1 << 14, 1 << 20, name=name)
    better = timed(found, asked, [], NEVER)
    assert better.points == found.points
    assert better.timed
    seconds = SimulatedSeconds(asked.network, Semantics(), 0, asked.runtime)

    def least(one: syncoll.FrontierResult) -> list[Fraction]:
        return [min(seconds(x, [s])[0] for x in algorithms_of(one, "")) for s in asked.sizes]

    pairs = zip(least(replace(found, timed=better.timed)), least(found), strict=True)
    gains = [float(new / old) for new, old in pairs]
    assert gains[0] < 0.98
    assert gains[1] <= 1


@pytest.mark.usefixtures("counted_work")
def test_points_are_cut_before_a_large_member_is_timed() -> None:
    found = syncoll.pareto("ring(4)", "broadcast", backend="pipelines", progress="none", work=1)
    assert found.families
    better = timed(found, goal(found, 1 << 18, 1 << 30), [], Deadline.after(0.004))
    assert better.timed


def test_no_time_leaves_the_frontier_as_it_is() -> None:
    found = frontier("ring(4)", "allgather")
    assert timed(found, goal(found, 1 << 14), [], Deadline.after(0)).timed == ()


@pytest.mark.parametrize("collective", ["allgather", "reducescatter", "allreduce", "alltoall"])
def test_dispatched_sends_never_share_a_lane(collective: str) -> None:
    """Lanes take the sends in the planned order, so the simulation confirms the plan."""
    found = frontier("ring(4)", collective)
    asked = goal(found, 1 << 14)
    for point in algorithms_of(found, ""):
        form = StoredAlgorithm(*refine(point.instance, point.algorithm, 4), "")
        seconds = SimulatedSeconds(asked.network, Semantics())
        ((before, setting),) = seconds.chosen(form, asked.sizes)
        made = dispatched(form, setting, asked.sizes[0])
        assert made is not None
        after = simulate_algorithm(made, asked.network, Semantics(), asked.sizes[0])
        assert after.seconds <= before * (1 + Fraction(1, 10**9))
        assert sorted(made.algorithm.sends[:, :3].tolist()) == sorted(
            form.algorithm.sends[:, :3].tolist()
        )


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("timed") / "frontier.json"
    sizes = "4KiB,256KiB"
    syncoll.pareto(
        "ring(4)", "allgather", optimise_for=sizes, work=8, progress="none", output=path, **MODEL
    )
    return path


def test_both_checkers_replay_timed_algorithms(saved: Path) -> None:
    document = json.loads(saved.read_text())
    assert document["schema"] == "syncoll/frontier/8"
    found = syncoll.load(saved)
    assert isinstance(found, syncoll.FrontierResult)
    assert len(found.timed) == len(document["timed"]) > 0
    found.check()
    accepted = syncoll_check.check(saved.read_bytes()).accepted
    assert sum(one.startswith("timed") for one in accepted) == len(found.timed)
    plan = found.plan(**MODEL, progress="none")
    assert any(one.algorithm.where.startswith("timed") for one in plan.ranges)


@pytest.mark.parametrize("wrong", ["sends", "chunks", "bandwidth"])
def test_wrong_timed_algorithms_are_refused(saved: Path, tmp_path: Path, wrong: str) -> None:
    document = json.loads(saved.read_text())
    del document["digest"]
    (one, *_) = document["timed"]
    if wrong == "sends":
        del one["algorithm"]["sends"][0]
    elif wrong == "bandwidth":
        one["bandwidth"] = "1/2"
    else:
        one["chunk_classes"][0]["post"] = [0, 1]
    changed = tmp_path / "changed.json"
    changed.write_text(json.dumps(document))
    with pytest.raises((VerificationError, syncoll.errors.FileFormatError)):
        syncoll.load(changed).check()  # type: ignore[union-attr]
    with pytest.raises((syncoll_check.WrongError, syncoll_check.FileError)):
        syncoll_check.check(changed.read_bytes())


@pytest.mark.parametrize(
    ("topology", "collective"),
    [("ring(4)", "allreduce"), ("hypercube(3)", "broadcast"), ("torus(2,4)", "allgather")],
)
def test_no_classic_is_faster(topology: str, collective: str) -> None:
    sizes = "1KiB,32KiB,1MiB,32MiB"
    how = {"seeds": "none", "progress": "none", **MODEL}
    found = syncoll.pareto(topology, collective, optimise_for=sizes, work=1, **how)  # type: ignore[arg-type]
    compared = syncoll.simulate(found, sizes=sizes, progress="none", **MODEL)
    for number, floor in enumerate(compared.floors):
        best, classic = compared.best(number), compared.best_classic(number)
        assert classic is not None
        assert best.seconds[number] <= classic.seconds[number] * (1 + Fraction(1, 10**8))
        assert floor <= float(best.seconds[number]) * (1 + 1e-9)


@pytest.mark.parametrize(
    ("collective", "steps"),
    [("allgather", 2), ("reducescatter", 2), ("allreduce", 3), ("alltoall", 2), ("broadcast", 2)],
)
def test_chunks_cross_the_network_of_boxes_once(collective: str, steps: int) -> None:
    session = Session(Settings())
    network = given_network(session.topology("a100(boxes=2)"), None, None)
    made = list(box_algorithms(session.collective(collective), network))
    assert min(one.steps for one in made) == steps
    far = {frozenset(link) for link, apart in zip(
        network.topology.links, between_boxes(network), strict=True) if apart}  # fmt: skip
    for one in made:
        crossing = [s for s in one.algorithm.sends.tolist() if frozenset(s[1:3]) in far]
        assert len({(s[0], s[2]) for s in crossing}) == len(crossing)
    seconds = [SimulatedSeconds(network, Semantics())(one, [Fraction(64)])[0] for one in made]
    # One hop of 2.7 us between boxes, and at most two of 0.47 us within boxes.
    assert float(min(seconds)) <= 2.7e-6 + 2 * 0.47e-6 + 0.1e-6


@pytest.mark.parametrize("nvls", ["", ", nvls=true"])
def test_a_chunk_leaves_the_first_box_once(nvls: str) -> None:
    """Each of 4 boxes then passes on a part of the data, and a port of the source sends all once:
    64 KiB on each of 8 cards, 4 MiB in pieces of 21 KiB."""
    session = Session(Settings())
    network = given_network(session.topology(f"dgx_h100(boxes=4{nvls})"), None, None)
    *_, one = box_algorithms(session.collective("broadcast"), network)
    sends = np.array(one.algorithm.sends)
    assert one.chunks == 8 * 3
    assert len(np.unique(sends[(sends[:, 1] < 8) & (sends[:, 2] >= 8), 0])) == one.chunks
    assert ((sends[:, 1] < 8) & (sends[:, 2] >= 8)).sum() == one.chunks
    assert ((sends[:, 1] == 0) & (sends[:, 2] < 8)).sum() == one.chunks
    stored = StoredAlgorithm(*refine(one.instance, one.algorithm, 8), "")
    ordered = dispatched(stored, WIRE.settings(network)[0], 4 << 20)
    assert ordered is not None
    (seconds,) = SimulatedSeconds(network, Semantics())(ordered, [4 << 20])
    assert 15.8e-6 < seconds < 18.4e-6  # the bound by flows over time, and 17 % above


def test_boxes_without_switches_have_trees() -> None:
    """Sums and copies take 3 hops of 0.8 us over xGMI at the nearest nodes, at most 5 at all nodes,
    one or two at several nodes at once, and one of 9.5 us."""
    session = Session(Settings())
    network = given_network(session.topology("mi250(boxes=2)"), None, None)
    made = list(box_algorithms(session.collective("allreduce"), network))
    times = [SimulatedSeconds(network, Semantics())(one, [1024])[0] for one in made]
    seconds = dict(zip(((one.where, one.chunks) for one in made), times, strict=True))
    assert 14.3e-6 < seconds["boxes[0]", 4] < 14.4e-6
    assert 17.5e-6 < seconds["boxes[1]", 16] < 17.6e-6
    assert 9.5e-6 + 2 * 0.8e-6 < min(times) == seconds["boxes[2]", 4] < 11.5e-6
    assert 9.5e-6 + 4 * 0.8e-6 < seconds["boxes[3]", 4] < 12.9e-6


@pytest.mark.parametrize(("collective", "size"), [("allgather", 2048), ("reducescatter", 65536)])
def test_trees_by_arrival_of_many_nodes(collective: str, size: int) -> None:
    """9.5 us between boxes and 0.13 us for the bytes; in a box up to five hops of 0.8 us."""
    session = Session(Settings())
    setting = WIRE.settings(given_network(session.topology("mi250(boxes=2)"), None, None))[0]
    (one,) = all_by_arrival(session.collective(collective), 1, setting, Fraction(size))
    ordered = dispatched(one, setting, size)
    assert ordered is not None
    (seconds,) = SimulatedSeconds(setting.network, Semantics())(ordered, [size])
    assert 10.3e-6 < seconds < 11.8e-6


def test_trees_in_boxes_grow_by_arrival_time() -> None:
    """Trees of the fewest hops leave wide links idle, which doubles the time of the bytes."""
    session = syncoll.Session()
    network = given_network(session.topology("mi250(boxes=2)"), None, None)
    setting, size = WIRE.settings(network)[0], Fraction(1 << 30)
    times = SimulatedSeconds(network, Semantics())
    collective = session.collective("allreduce")
    few, many = (
        next(one for one in box_algorithms(collective, network, *how) if one.where == "boxes[1]")
        for how in (((setting, Fraction(1)), 1), ((setting, size), 4))
    )
    assert (few.chunks, many.chunks) == (16, 64)
    assert times(many, [size])[0] < 0.6 * times(few, [size])[0]


def test_one_box_has_no_stages() -> None:
    session = Session(Settings())
    network = given_network(session.topology("dgx1"), "1us", "25GB/s")
    assert not list(box_algorithms(session.collective("allreduce"), network))


def test_sizes_of_a_goal() -> None:
    assert doubled_sizes("sizes", "1KiB:5KiB") == [1024, 2048, 4096, 5120]
    assert doubled_sizes("sizes", "4KiB,1KiB") == [1024, 4096]
    assert doubled_sizes("sizes", 7) == [7]
    assert WIRE.name == "wire"
    with pytest.raises(UsageError, match="runtime"):
        syncoll.pareto("ring(4)", "allgather", runtime="mscclpp", progress="none")


@pytest.mark.parametrize("seed", range(0, 150, 10))
def test_tiny_networks_have_the_least_time_of_all_schedules(seed: int) -> None:
    for number in range(seed, seed + 10):
        random = Random(number)
        network = tiny(random)
        known = [("allgather", 1), ("broadcast(root=0)", 2), ("broadcast(root=0)", 3)]
        name, times = random.choice([*known, ("scatter(root=0)", 1), ("gather(root=0)", 1)])
        collective, links = Session(Settings()).collective(name), network.topology.links
        chunks = (collective.least_chunks(3) or 1) * times
        made = collective.instantiate(network.topology, chunks=chunks, steps=4, rounds=4)
        pairs = list(zip(links, network.lanes, strict=True))
        takes = {link: int(BYTES / lane.bandwidth) for link, lane in pairs}
        least = least_time(made, {link: int(lane.latency) for link, lane in pairs}, takes)
        size = Fraction(BYTES * chunks)
        found = by_arrival(made, WIRE.settings(network)[0], size)
        assert found is not None
        (seconds,) = SimulatedSeconds(network, Semantics())(found, [size])
        assert float(seconds) == pytest.approx(least, rel=1e-9), (number, name)


def test_only_defined_numbers_of_chunks_are_timed(tmp_path: Path) -> None:
    file = tmp_path / "once.syncoll"
    file.write_text(
        'collective once { require C <= 2 "at most 2" chunks P * C '
        "pre { (c, n) : n == c mod P } post All }"
    )
    how: dict[str, Any] = {"alpha": "1us", "beta": "25GB/s", "work": 0.2, "progress": "none"}
    found = syncoll.pareto("ring(4)", f"{file}:once", optimise_for="1KiB:4MiB", **how)
    assert found.points
    assert all(point.chunks <= 2 for point in found)
