"""`bounds` proves as much as a search for the same S, for every C."""

from __future__ import annotations

from fractions import Fraction

import pytest

import syncoll

COLLECTIVES = ("allgather", "broadcast", "gather", "alltoall", "reduce", "allreduce")

QUICK = ("ring(2)", "ring(3)", "ring(4)", "line(2)", "fully_connected(3)", "hub(3)", "hub(4)")

OTHERS = (
    *("ring(5)", "ring(6)", "line(3)", "line(4)", "line(5)", "star(3)", "star(4)", "star(5)"),
    *("fully_connected(4)", "fully_connected(5)", "hub(5)", "mesh(2,3)", "hub(6)"),
    *("torus(3,3)", "hypercube(3)", "generalised_kautz(5,2)", "generalised_de_bruijn(6,2)"),
    "dgx1",
)

# A larger machine has two collectives of six; the turns reach every collective.
ROWS = [
    pytest.param(machine, collective, marks=() if machine in QUICK else pytest.mark.slow)
    for number, machine in enumerate((*QUICK, *OTHERS))
    for turn, collective in enumerate(COLLECTIVES)
    if machine in QUICK or (turn % 2 == number % 2 and turn // 2 != number % 3)
]


@pytest.mark.parametrize(("machine", "collective"), ROWS)
def test_bounds_and_searches_prove_the_same(machine: str, collective: str) -> None:
    bounds = syncoll.bounds(machine, collective, work=3)
    # Until solvers leave the time for trees.
    work = {"hypercube(3)": 4, "dgx1": 2}.get(machine, 1)
    found = syncoll.pareto(machine, collective, work=work, progress="none")
    assert bounds.steps == found.least_steps
    assert bounds.bandwidth == found.least_bandwidth
    assert found.evidence is not None
    proofs = found.evidence.proofs
    compared = [s for s, _ in bounds.by_steps if s in {proof.steps for proof in proofs}]
    assert compared
    known = dict(bounds.by_steps)
    for steps in compared:
        proved = max(proof.bound for proof in proofs if proof.steps >= steps)
        own = known[steps].rounds / bounds.chunks
        assert own == max(proved, found.least_bandwidth), steps


@pytest.mark.parametrize("collective", ["broadcast", "reduce"])
def test_trees_count_without_a_search(collective: str) -> None:
    bounds = syncoll.bounds("hypercube(3)", collective)
    known = {steps: bound.rounds / bounds.chunks for steps, bound in bounds.by_steps}
    assert known[3] == 1
    assert known[5] == Fraction(5, 9)
    assert bounds.check().compared == collective
