"""Searches on machines with several grains in a round, compared with exhaustive search."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from math import ceil
from pathlib import Path

import pytest

from syncoll import bounds, pareto, search, solve
from syncoll.api import Frontier, Observer, Topology
from syncoll.documents import frontier_document, load_text
from syncoll.errors import UsageError
from syncoll.ledger.events import Entry
from syncoll.ledger.request import Candidate
from syncoll.model import Instance
from syncoll.results import Scope
from syncoll.session import Session
from syncoll.trust.claims import check_claims
from syncoll_check import check as check_independently

Held = frozenset[tuple[int, int]]

RATES = [Fraction(1, 2), Fraction(2, 3), Fraction(1), Fraction(3, 2), Fraction(5, 2)]

PAIRS = Topology.from_links(
    "pairs",
    4,
    {
        (a, b): Fraction(11, 4) if (a + b) % 4 == 3 else 1
        for a in range(4)
        for b in range(4)
        if a != b
    },
    grains=11,
)
"""Links 0-3 and 1-2 are faster than the others."""


def checked(found: Frontier) -> None:
    """Both checkers accept the frontier's file."""
    text = json.dumps(frontier_document(found))
    frontier = load_text(text, "a frontier").frontier
    assert frontier is not None
    check_claims(frontier)
    check_independently(text.encode())


def tiny_machine(seed: int) -> Topology:
    """Three nodes, links of several bandwidths, and sometimes a shared bound."""
    choose = random.Random(seed)
    links = [(0, 1), (1, 2), (2, 0), *choose.sample([(1, 0), (2, 1), (0, 2)], seed % 3)]
    shared = [(sorted(links), 2 * choose.choice(RATES))]
    return Topology.from_links(
        f"tiny{seed}",
        3,
        {link: choose.choice(RATES) for link in links},
        shared if choose.random() < 0.4 else (),
        grains=choose.choice([2, 3, 5, 6]),
    )


def least_by_trial(instance: Instance) -> list[Fraction | None]:
    """The least R of any algorithm of at most 0, 1, … S steps: every set of deliveries of each step
    is tried, and a step lasts as long as its fullest bound, in whole grains."""
    topology, grains = instance.topology, instance.topology.grains
    start, goal = (
        frozenset(zip(*(axis.tolist() for axis in part.nonzero()), strict=True))
        for part in (instance.pre, instance.post)
    )
    costs: dict[Held, Fraction] = {start: Fraction(0)}
    least = []
    for _ in range(instance.steps + 1):
        least.append(min((cost for held, cost in costs.items() if goal <= held), default=None))
        if len(least) > instance.steps:
            break
        after = dict(costs)
        for held, cost in costs.items():
            sends = [
                (chunk, a, b)
                for chunk in range(instance.num_chunks)
                for a, b in topology.links
                if (chunk, a) in held and (chunk, b) not in held
            ]
            for size in range(1, len(sends) + 1):
                for some in combinations(sends, size):
                    arrived = {(chunk, b) for chunk, _, b in some}
                    if len(arrived) < size:
                        continue  # one of two deliveries is useless
                    grains_of_step = max(
                        ceil(
                            sum(one[1:] in bound.links for one in some)
                            * grains
                            / bound.chunks_per_round
                        )
                        for bound in topology.bounds
                    )
                    total = cost + Fraction(grains_of_step, grains)
                    state = held | arrived
                    after[state] = min(total, after.get(state, total))
        costs = after
    return least


@pytest.mark.parametrize("seed", range(1, 5))
@pytest.mark.parametrize("name", ["allgather", "broadcast(root=1)"])
def test_the_search_agrees_with_exhaustive_search(seed: int, name: str) -> None:
    collective = Session().collective(name)
    topology = tiny_machine(seed)
    found = pareto(topology, collective, max_chunks=2, max_steps=3, work=5, progress="none")
    checked(found)
    assert found.evidence is not None
    most = 1 if collective.name == "allgather" else 2  # more deliveries take too long to try
    tried = {
        chunks: least_by_trial(collective.instantiate(topology, chunks=chunks, steps=3, rounds=99))
        for chunks in range(1, most + 1)
    }
    for proof in found.evidence.proofs:
        costs = []
        for chunks, every in tried.items():
            least = every[proof.steps]
            assert least is not None
            costs.append(least / chunks)
        assert proof.bound <= min(costs)
        assert proof.best is not None
        if most == 2:
            assert proof.best == min(costs)
        elif proof.scope is not Scope.OPEN:
            assert proof.best <= min(costs)
    for point in found.points:
        if point.chunks <= most:
            assert tried[point.chunks][point.steps] == point.rounds


def test_two_bandwidths_need_one_chunk_to_meet_the_bound() -> None:
    found = pareto(PAIRS, "allreduce within [[0, 3], [1, 2]]", work=1, progress="none")
    first = found.points[0]
    assert (first.steps, first.rounds, first.chunks) == (1, Fraction(4, 11), 1)
    assert first.bound == Fraction(4, 11)
    assert first.instance.topology is found.topology is PAIRS
    checked(found)


def test_one_instance_is_decided_in_grains() -> None:
    def verdict(rounds: Fraction | int | str, chunks: int = 1) -> str:
        return str(solve(PAIRS, "allgather", chunks=chunks, steps=2, rounds=rounds).verdict)

    assert verdict("12/11") == "sat"
    assert verdict("11/11") == "sat"
    assert verdict(Fraction(10, 11)) == "unsat"
    with pytest.raises(UsageError, match="rounds is 'many'; expected a number of rounds such as"):
        verdict("many")


def test_a_limit_on_rounds_and_k_count_in_rounds() -> None:
    limited = pareto(PAIRS, "allgather", max_rounds="6/11", work=3, progress="none")
    assert not limited.points
    assert "fewer than 7/11 rounds" in limited.impossible
    slow = Topology.from_links("slow", 2, {(0, 1): Fraction(2, 5), (1, 0): 1}, grains=2)
    for k, found in ((0, []), (1, []), (2, [Fraction(5, 2)])):
        asked = pareto(slow, "allgather", k=k, max_steps=1, max_chunks=1, work=3, progress="none")
        assert [point.rounds for point in asked.points] == found, k
        checked(asked)
    assert (
        "R <= 5/2"
        in pareto(slow, "allgather", max_rounds=Fraction(5, 2), work=3, progress="none").scope
    )


def test_observers_get_rounds() -> None:
    class Seen(Observer):
        def __init__(self) -> None:
            self.costs: set[Fraction] = set()
            self.entries: list[Entry] = []
            self.tried: list[Candidate] = []

        def logged(self, entry: Entry) -> None:
            self.entries.append(entry)

        def found(self, points: tuple) -> None:  # type: ignore[type-arg]
            self.costs |= {point.bandwidth for point in points}
            assert {point.instance.topology.grains for point in points} == {11}

        def trying(self, candidate: Candidate) -> None:
            self.tried.append(candidate)

    seen = Seen()
    found = pareto(PAIRS, "allgather", max_chunks=1, work=1, progress=seen)
    assert found.points[-1].bandwidth in seen.costs
    assert min(entry.bandwidth for entry in seen.entries) >= bounds(PAIRS, "allgather").bandwidth
    assert all(one.rounds * 11 % 1 == 0 for one in seen.tried)
    assert [entry.bandwidth for entry in found.log] == [entry.bandwidth for entry in seen.entries]


def test_a_limit_between_grains_is_rounded_down(tmp_path: Path) -> None:
    whole = replace(PAIRS, grains=1)
    found = pareto(whole, "allgather", max_rounds="9/2", max_chunks=2, work=2, progress="none")
    assert found.settings["max_rounds"] == 4
    checked(found)
    file = tmp_path / "limited.syncoll"
    file.write_text(
        "topology t { nodes 2 rounds per 1/3 link (0, 1) both ways bandwidth 3 }\n"
        "search one { topology t collective allgather rounds <= 1/2 chunks <= 2 }\n",
        encoding="utf-8",
    )
    limited = search(f"{file}:one", work=2, progress="none")
    assert [(point.rounds, point.chunks) for point in limited.points] == [(Fraction(1, 3), 1)]
    assert limited.scope == "algorithms with C <= 2 and R <= 1/3"
