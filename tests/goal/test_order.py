"""Relaxed schedules keep the plan's order on each lane: an independent player takes the same time
as the simulator, and longer if sends start as soon as they are ready."""

from __future__ import annotations

import random
from collections import defaultdict
from fractions import Fraction

import pytest

from syncoll.model import Topology
from syncoll.model.messages import count_messages
from syncoll.plugins import ExportRequest
from syncoll.runtime import export_verified
from syncoll.simulating import Semantics, SimulatedSeconds, physical_network
from syncoll_goal import RECORD
from tests.oracles.algorithms import random_algorithm

RATE = 10**9


def played(text: str, *, ordered: bool) -> Fraction:
    """The time of a schedule if each lane takes one message at a time, the first to ask first.

    Args:
        ordered: whether `irequires` counts: a send asks for its lane after the other has asked.
    """
    waits, after = defaultdict(set), defaultdict(set)
    lines: dict[tuple[int, str], list[str]] = {}
    rank = -1
    for line in text.splitlines():
        words = line.split()
        if words[:1] == ["rank"]:
            rank += 1
        elif words[1:2] in (["requires"], ["irequires"]):
            (waits if words[1] == "requires" else after)[rank, words[0]].add((rank, words[2]))
        elif words[:1] and words[0].endswith(":"):
            lines[rank, words[0][:-1]] = words[1:]
    free: dict[tuple[int, int], Fraction] = defaultdict(Fraction)
    began, done = dict[object, Fraction](), dict[object, Fraction]()
    sent: dict[tuple[int, int, int], Fraction] = {}
    left = list(lines)
    while left:
        ready = []
        for place in left:
            words = lines[place]
            needs = [done.get(other) for other in waits[place]]
            if ordered:
                needs += [began.get(other) for other in after[place]]
            if words[0] == "recv":
                needs.append(sent.get((int(words[3]), place[0], int(words[5]))))
            if None not in needs:
                ready.append((max(needs, default=Fraction(0)), left.index(place), place))
        now, _, place = min(ready)
        left.remove(place)
        words = lines[place]
        if words[0] != "send":
            began[place] = done[place] = now
            continue
        lane = place[0], int(words[3])
        began[place] = max(now, free[lane])
        free[lane] = done[place] = began[place] + Fraction(int(words[1][:-1]), RATE)
        sent[place[0], lane[1], int(words[5])] = done[place]
    return max(done.values())


def ring_with_chords(nodes: int, rng: random.Random) -> Topology:
    matrix = [[0] * nodes for _ in range(nodes)]
    pairs = [(i, (i + 1) % nodes) for i in range(nodes)]
    pairs += [tuple(rng.sample(range(nodes), 2)) for _ in range(2)]
    for a, b in pairs:
        matrix[a][b] = matrix[b][a] = 1
    return Topology.from_matrix("ring", matrix)


def test_a_relaxed_schedule_takes_the_simulated_time() -> None:
    rng = random.Random(4)
    compared = slower = 0
    for _ in range(300):
        topology = ring_with_chords(rng.randint(4, 7), rng)
        stored = random_algorithm(rng, topology, 1)
        instance, algorithm = stored.instance, stored.algorithm
        if count_messages(instance, algorithm) != algorithm.num_sends:
            continue  # the simulator sends chunk by chunk
        request = ExportRequest("sample", instance.collective, instance, algorithm)
        options = {"steps": "relaxed", "size": 10**4 * instance.num_chunks}
        handed = export_verified(RECORD, request, options)
        if handed.checked.facts["messages"] != algorithm.num_sends:
            continue  # the simulator does all sends, needed or not
        text = handed.exported.files["sample.goal"].decode()
        chunk = int(text.split("//@ sizes ")[1].split()[1])
        network = physical_network(topology, Fraction(0), Fraction(RATE))
        (simulated,) = SimulatedSeconds(network, Semantics())(stored, [chunk * instance.chunks])
        assert float(played(text, ordered=True)) == pytest.approx(float(simulated), rel=1e-9)
        compared += 1
        slower += played(text, ordered=False) > played(text, ordered=True)
    assert compared > 10
    assert slower
