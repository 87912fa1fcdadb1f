"""The data of a page equals the algorithms and the certificates, number by number."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import syncoll
from syncoll.model import invert
from syncoll.reporting.packing import ByteRoom, pack
from syncoll.reporting.traffic import arrived, traffic
from tests.oracles.orbits import random_orbit

from .conftest import data_of, unpacked


@pytest.mark.parametrize("bits", [1, 8, 9, 16, 17, 32])
@pytest.mark.parametrize("count", [0, 1, 1000])
def test_arrays_come_back(bits: int, count: int) -> None:
    values = np.random.default_rng(bits).integers(0, 1 << bits, count)
    assert np.array_equal(unpacked(pack(values)), values)  # type: ignore[arg-type]


def test_arrays_beyond_the_room_are_left_out() -> None:
    long, short = pack(np.arange(5000)), pack([1])
    room = ByteRoom(100)
    assert room.take(long) is None
    assert room.take(short) is short
    assert room.left == 100 - len(str(short["data"]))


def whole(instance: Any, algorithm: Any) -> dict[str, Any]:
    return traffic(instance, algorithm, ByteRoom(1 << 30))


@pytest.mark.parametrize("combining", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_loads_and_moves_equal_the_algorithm(seed: int, combining: bool) -> None:
    instance, algorithm = random_orbit(seed)
    if combining:
        instance, algorithm = invert(instance, algorithm, "reducescatter")
    found, topology = whole(instance, algorithm), instance.topology
    loads = unpacked(found["loads"]).reshape(len(topology.links), -1)
    assert np.array_equal(loads, algorithm.link_loads(topology))
    link, chunk = unpacked(found["moves"]).reshape(2, -1)
    step = np.repeat(np.arange(algorithm.steps), found["moves_per_step"])
    moves = [(c, *topology.links[i], s) for i, c, s in zip(link, chunk, step, strict=True)]
    assert sorted(moves) == sorted(map(tuple, algorithm.sends.tolist()))


@pytest.mark.parametrize("combining", [False, True])
def test_arrivals_are_counted_as_one_would_by_hand(combining: bool) -> None:
    instance, algorithm = random_orbit(2)
    if combining:
        instance, algorithm = invert(instance, algorithm, "reducescatter")
    listed = algorithm.expanded()
    found = arrived(instance, listed)
    assert found is not None
    nodes = range(instance.topology.num_nodes)
    # The knowledge of each node: pairs of a chunk and a contributor, or chunks alone.
    knows: list[set[Any]] = [set() for _ in nodes]
    needs: list[set[Any]] = [set() for _ in nodes]
    for c, n in zip(*np.nonzero(instance.pre), strict=True):
        knows[n].add((c, n) if combining else c)
    for c, n in zip(*np.nonzero(instance.post), strict=True):
        needs[n] |= {(c, k) for k in np.flatnonzero(instance.pre[c])} if combining else {c}
    for step in range(listed.steps + 1):
        for n in nodes:
            share = 100 * len(knows[n] & needs[n]) // len(needs[n]) if needs[n] else 255
            assert found[step, n] == share
        for i, (c, _, to, at) in enumerate(listed.sends.tolist()):
            if at == step:
                carried = listed.contributions
                whose = [] if carried is None else np.flatnonzero(carried[i])
                knows[to] |= {(c, k) for k in whose} if combining else {c}
    assert (found[-1][found[-1] < 255] == 100).all(), "in the end everyone has everything"


def test_many_sends_are_shown_by_loads_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    instance, algorithm = random_orbit(1)
    monkeypatch.setattr("syncoll.reporting.traffic.MOST_MOVES", algorithm.num_sends - 1)
    monkeypatch.setattr(type(algorithm), "expanded", None)
    found = whole(instance, algorithm)
    assert found["moves"] is None
    assert found["loads"] is not None


def test_proofs_equal_the_frontier(dgx1: Path) -> None:
    frontier = syncoll.load(dgx1)
    data = data_of(syncoll.report(dgx1).html)
    evidence = frontier.evidence  # type: ignore[union-attr]
    assert evidence is not None
    assert [one["steps"] for one in data["proofs"]] == [*(p.steps for p in evidence.proofs), None]
    for written, one in zip(data["certificates"], evidence.certificates, strict=True):
        assert Fraction(written["bandwidth"]) == one.bandwidth
        limits, steps, values = unpacked(written["prices"]).reshape(3, -1).tolist()
        prices = [Fraction(written["values"][i]) for i in values]
        expected = [(i, s or 0, p) for i, s, p in one.bound.link_prices(frontier.topology)]
        assert list(zip(limits, steps, prices, strict=True)) == expected
        # No round costs more than 1, in whichever step.
        rooms = [Fraction(data["network"]["limits"]["room"][i]) for i in limits]
        for step in set(steps):
            spent = [p * room for p, room, s in zip(prices, rooms, steps, strict=True) if s == step]
            assert sum(spent) <= 1


def test_mirrored_proofs_are_shown_forwards() -> None:
    found = syncoll.pareto("ring(4)", "reduce", max_steps=2, max_chunks=2, progress="none")
    assert found.evidence is not None
    certificates = found.evidence.certificates
    written = data_of(found.report().html)["certificates"]
    assert all(one.bound.mirrored for one in certificates)
    for one, drawn in zip(certificates, written, strict=True):
        assert drawn["inwards"] == one.bound.mirrored
        if drawn["by_step"] and one.bound.mirrored:
            _, steps, _ = unpacked(drawn["prices"]).reshape(3, -1)
            known = sorted(t for _, t in one.bound.certificate.prices)  # type: ignore[union-attr]
            assert sorted(one.steps - 1 - steps) == known
