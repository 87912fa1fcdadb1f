"""Mended algorithms around damages, replayed by the verifier."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

import syncoll
from syncoll.damage.damage import Damage
from syncoll.damage.damaged import Damaged, damaged
from syncoll.deadline import NEVER, Deadline
from syncoll.errors import ModelError
from syncoll.model import Algorithm, Collective, Instance, Topology, invert
from syncoll.plugins import SeedLimits, resolve_options
from syncoll.plugins.turns import Turn
from syncoll.repairing.fewer_nodes import collective_of_the_rest
from syncoll.repairing.rip_up_reroute import BrokenAlgorithm, mended
from syncoll.repairing.warm_start_seeds import KEPT, MENDED, carried_over, warm_start_seeds
from syncoll.results.frontier import Costs, Point
from syncoll.searching import ChosenSeed, constructed
from syncoll.searching.heuristics import Heuristics
from syncoll.session import Session
from syncoll.trust import require_valid, violations

SESSION = Session()


class Solved(Costs):
    def __init__(self, instance: Instance, algorithm: Algorithm) -> None:
        self.instance, self.algorithm = instance, algorithm


def made(seed: str, topology: Topology, collective: Collective) -> list[Solved]:
    """The algorithms of a seed on the whole machine."""
    record = SESSION.plugins.seeds[seed]
    chosen = ChosenSeed(record, resolve_options(record.options, {}, seed), named=True)
    found, why = constructed(chosen, topology, collective, NEVER.sooner(20), lambda _: None)
    assert found, why
    return [Solved(*one) for one in found]


def break_link(topology: Topology, a: int, b: int) -> Damaged:
    return damaged(topology, [Damage(f"{a}->{b}", ((False, a), (False, b)))])


def lose_node(topology: Topology, node: int) -> Damaged:
    return damaged(topology, [Damage(f"node {node}", vertex=(False, node))])


def verified(machine: Damaged, rest: Collective, broken: BrokenAlgorithm) -> Iterator[Algorithm]:
    for _, one in mended([broken], Turn(SeedLimits(until=Deadline.after(20)))):
        algorithm = one.tightened(machine.topology)
        instance = rest.instantiate(
            machine.topology,
            chunks=broken.instance.chunks,
            steps=algorithm.steps,
            rounds=algorithm.rounds,
        )
        require_valid(instance, algorithm)
        yield algorithm


@pytest.mark.parametrize(
    ("topology", "collective", "seed"),
    [
        ("dgx1", "allgather", "bfb"),
        ("torus(3,3)", "allgather", "multitree"),
        ("hypercube(3)", "broadcast(root=3)", "treepacking"),
        ("torus(3,3)", "alltoall", "all_pairs"),
        ("dgx1", "allreduce", "multitree"),
    ],
)
def test_every_link_and_node(topology: str, collective: str, seed: str) -> None:
    """Each is broken in turn; there are mended algorithms, and all pass the verifier."""
    whole, asked = syncoll.topology(topology), SESSION.collective(collective)
    known = made(seed, whole, asked)[:2]
    every = 3 if asked.combining is False else 12  # combining algorithms take several times as long
    machines = [break_link(whole, a, b) for a, b in whole.links[::every]]
    machines += [lose_node(whole, node) for node in range(0, whole.num_nodes, 3)]
    for machine in machines:
        if collective == "broadcast(root=3)" and machine.lost_nodes == (3,):
            continue
        rest = collective_of_the_rest(machine, asked, SESSION.collective)
        found = 0
        for one in known:
            broken = carried_over(one, machine, rest)
            assert broken is not None
            found += sum(1 for _ in verified(machine, rest, broken))
        assert found, machine.words


def random_topology(seed: int) -> Topology:
    """Strongly connected, with links of several bandwidths and some that share one."""
    draw = random.Random(seed)
    nodes = draw.randint(4, 7)
    order = draw.sample(range(nodes), nodes)
    wires = dict.fromkeys(zip(order, order[1:] + order[:1], strict=True), 1)
    for _ in range(2 * nodes):
        a, b = draw.sample(range(nodes), 2)
        wires[a, b] = draw.randint(1, 3)
    shared = [(draw.sample(sorted(wires), 3), 2) for _ in range(draw.randint(0, 2))]
    return Topology.from_links(f"random {seed}", nodes, wires, shared)


@pytest.mark.parametrize("seed", range(12))
def test_random_machines(seed: int) -> None:
    topology, asked = random_topology(seed), SESSION.collective("allgather")
    known = made("bfb", topology, asked)[:1]
    for a, b in random.Random(seed).sample(topology.links, 4):
        machine = break_link(topology, a, b)
        try:
            rest = collective_of_the_rest(machine, asked, SESSION.collective)
        except ModelError:  # that was the only way
            assert (machine.topology.distances > topology.num_nodes).any()
            continue
        for one in known:
            broken = carried_over(one, machine, rest)
            assert broken is not None
            assert broken.uses_what_is_gone == (
                (one.algorithm.sends[:, 1:3] == (a, b)).all(1).any()
            )
            list(verified(machine, rest, broken))


def test_rounds_are_saved_down_to_the_bound() -> None:
    """Node 1 of the torus has three links in where it had four: 15 chunks of each take 5 C."""
    whole, asked = syncoll.topology("torus(4,4)"), SESSION.collective("allgather")
    machine = break_link(whole, 0, 1)
    (one,) = (p for p in made("multitree", whole, asked) if p.steps == 4)
    broken = carried_over(one, machine, asked)
    assert broken is not None
    best = min(a.rounds for a in verified(machine, asked, broken))
    least = 5 * broken.instance.chunks
    assert least <= best <= least * 1.25


def test_an_algorithm_that_uses_the_broken_link_is_refused() -> None:
    """The verifier of the damaged machine finds the link in kept and mended algorithms."""
    whole, asked = syncoll.topology("torus(3,3)"), SESSION.collective("allgather")
    known = made("multitree", whole, asked)[0]
    machine = break_link(whole, 0, 1)
    broken = carried_over(known, machine, asked)
    assert broken is not None
    assert broken.uses_what_is_gone
    (mend, *_) = verified(machine, asked, broken)
    instance = asked.instantiate(
        machine.topology, chunks=broken.instance.chunks, steps=mend.steps, rounds=mend.rounds
    )
    assert not violations(instance, mend)
    sends = mend.sends.copy()
    into = np.flatnonzero(sends[:, 2] == 1)
    for i in into[:5].tolist():
        changed = sends.copy()
        changed[i, 1] = 0
        assert violations(instance, replace(mend, sends=changed))
    whole_steps = replace(instance, steps=known.steps, rounds=known.rounds)
    assert violations(whole_steps, known.algorithm)


def proposals(
    machine: Damaged, whole: Collective, points: list[Solved], asked: Collective, where: Topology
) -> list[tuple[str, int, int]]:
    rest = collective_of_the_rest(machine, whole, SESSION.collective)
    seeds = warm_start_seeds(machine, whole, rest, points)
    messages: list[str] = []
    run = Heuristics(seeds, where, asked, messages.append)
    points = [p for p in run.turn(SeedLimits(seconds=5.0)) if isinstance(p, Point)]
    found = [(p.backend, p.steps, p.rounds) for p in points]
    assert not messages
    return found


def test_only_working_algorithms_are_kept() -> None:
    whole, asked = syncoll.topology("line(4)"), SESSION.collective("broadcast")
    (one, *_) = made("binomial", whole, asked)
    used = {tuple(link) for link in one.algorithm.sends[:, 1:3].tolist()}
    for a, b in whole.links:
        machine = break_link(whole, a, b)
        if (a, b) in used:
            with pytest.raises(ModelError):
                collective_of_the_rest(machine, asked, SESSION.collective)
            continue
        found = proposals(machine, asked, [one], asked, machine.topology)
        assert found == [(KEPT, one.steps, one.rounds)]


def test_slower_links_take_more_rounds_or_less_data() -> None:
    whole, asked = syncoll.topology("dgx1"), SESSION.collective("allgather")
    known = made("bfb", whole, asked)[:1]
    slow = damaged(whole, [Damage("0->1 by 4", ((False, 0), (False, 1)), factor=4)])
    found = proposals(slow, asked, known, asked, slow.topology)
    assert {name for name, *_ in found} == {MENDED}


def test_inverses_are_mended_as_their_duals() -> None:
    """A reducescatter is searched as an allgather on reversed links."""
    whole, asked = syncoll.topology("dgx1"), SESSION.collective("reducescatter")
    dual = SESSION.collective("allgather")
    points = []
    for one in made("bfb", whole.reversed(), dual)[:1]:
        instance, algorithm = invert(one.instance, one.algorithm, asked.name)
        points.append(Solved(replace(instance, topology=whole), algorithm))
    machine = break_link(whole, 0, 1)
    found = proposals(machine, asked, points, dual, machine.topology.reversed())
    assert {name for name, *_ in found} == {MENDED}
    assert proposals(machine, asked, points, dual, machine.topology) == []
