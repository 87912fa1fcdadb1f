"""Uneven sizes, groups and sums: their demands and possibility, compared with brute force."""

from __future__ import annotations

import os
import pickle
import random
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from operator import add, mul
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import syncoll
import syncoll_specs
from syncoll.errors import ModelError
from syncoll.ledger.bounds_table import BoundsTable
from syncoll.model import Collective, Instance, RelationTable, Term, Topology, sum_of, within
from syncoll.model.derived import dual_of
from syncoll.model.topology import UNREACHABLE
from syncoll.plugins import PluginManager
from syncoll.searching.decompose import composed
from syncoll.searching.point import solve_one
from syncoll.solving import Solver
from syncoll.spec import SpecLibrary
from syncoll.testing.brute_force import TooLargeError, has_algorithm
from syncoll.testing.instances import random_topology
from syncoll.trust import violations
from tests.oracles import demands
from tests.oracles.classics import dgx1, ring
from tests.oracles.demands import MOVING, REDUCING, random_demand

LIBRARY = SpecLibrary([Path(syncoll_specs.__file__).parent])
CASES = int(os.environ.get("SYNCOLL_DEMAND_CASES", "24"))
"""Random demands compared with brute force; a thousand take a minute or two."""

KINDS = {"moving": MOVING, "reducing": REDUCING, "allreduce": ("allreduce",),
         "mixed": (*MOVING, *REDUCING)}  # fmt: skip


def counted(table: RelationTable) -> Counter[demands.Chunk]:
    rows = zip(table.pre, table.post, strict=True)
    return Counter(
        (frozenset(np.flatnonzero(a).tolist()), frozenset(np.flatnonzero(b).tolist()))
        for a, b in rows
    )


@pytest.mark.parametrize("kinds", KINDS)
def test_tables_are_as_their_text_defines(kinds: str) -> None:
    rng = random.Random(kinds)
    for _ in range(25):
        nodes = rng.randint(2, 6)
        demand = random_demand(rng, nodes, KINDS[kinds])
        collective = LIBRARY.collective(demand.text)
        assert collective.combining == demand.combining, demand.text
        for chunks in (1, 2, 3, 4, 6, 12):
            meant = demand.chunks(chunks)
            assert collective.admits(nodes, chunks) == (meant is not None), (demand.text, chunks)
            if meant is not None:
                assert counted(collective.tabulate(nodes, chunks)) == meant, (demand.text, chunks)
        least = collective.least_chunks(nodes)
        assert least is not None
        admitted = [c for c in range(1, 4 * least) if collective.admits(nodes, c)]
        assert admitted == [least, 2 * least, 3 * least]
        if collective.dual is not None:
            assert not collective.dual.combining
            theirs = dual_of(collective, collective.dual, nodes, least)
            swapped = collective.dual.tabulate(nodes, theirs)
            assert counted(RelationTable(swapped.post, swapped.pre)) == demand.chunks(least)
            if collective.per_dual is not None:
                factor = collective.per_dual(nodes)
                assert factor == Fraction(least, theirs)
                for chunks in range(1, 7):  # each C of the dual is that of an inverse
                    if collective.dual.admits(nodes, chunks):
                        assert (chunks * factor).denominator == 1, demand.text
                        assert collective.admits(nodes, int(chunks * factor)), demand.text


def _tiny_case(rng: random.Random, kinds: tuple[str, ...]) -> tuple[Topology, str, Instance] | None:
    """A demand of few chunks on a random machine, as an instance made by hand."""
    topology = random_topology(rng, most_nodes=3 if kinds != MOVING else 4)
    nodes = topology.num_nodes
    if (topology.distances == UNREACHABLE).any():
        return None
    demand = random_demand(rng, nodes, kinds)
    chunks = rng.choice((1, 1, 2, 3))
    meant = demand.chunks(chunks)
    limit = 2 if demand.combining else 8
    if meant is None or not 1 <= sum(meant.values()) <= limit:
        return None
    rows = sorted(meant.elements(), key=lambda row: (sorted(row[0]), sorted(row[1])))
    pre = np.array([[n in row[0] for n in range(nodes)] for row in rows])
    post = np.array([[n in row[1] for n in range(nodes)] for row in rows])
    steps = rng.randint(1, 3 if not demand.combining else 2)
    rounds = rng.randint(1, 3 if demand.combining else 2 * steps + 2)
    return (
        topology,
        demand.text,
        Instance(topology, "x", chunks, steps, rounds, pre, post, combining=demand.combining),
    )


def check_against_brute_force(solver: Solver, seed: int, cases: int) -> dict[str, int]:
    """Decides random demands by the solver and by exhaustive search; counts the verdicts."""
    rng, seen = random.Random(seed), Counter[str]()
    while seen.total() < cases:
        name = rng.choice([*KINDS])
        case = _tiny_case(rng, KINDS[name])
        if case is None:
            continue
        topology, text, meant = case
        try:
            truth = has_algorithm(meant, most_work=20_000)
        except TooLargeError:
            continue
        collective = LIBRARY.collective(text)
        found = solve_one(
            solver, topology, collective,
            chunks=meant.chunks, steps=meant.steps, rounds=meant.rounds,
        )  # fmt: skip
        assert str(found.verdict) == ("sat" if truth else "unsat"), (
            text,
            meant.steps,
            meant.rounds,
        )
        if truth:
            assert not violations(found.instance, found.algorithm)
            low = BoundsTable(topology, collective).bandwidth(meant.steps)
            assert low * meant.chunks <= meant.rounds, (text, meant.steps)
            assert counted(found.instance.table) == counted(meant.table)
        seen[str(found.verdict)] += 1
    return dict(seen)


@pytest.fixture(scope="module")
def solver() -> Iterator[Solver]:
    with Solver(PluginManager.discover(), backend="pysat") as one:
        yield one


def test_verdicts_agree_with_exhaustive_search(solver: Solver) -> None:
    assert check_against_brute_force(solver, 7, CASES).keys() >= {"sat", "unsat"}


def test_parts_meet_term_by_term() -> None:
    """With several groups that share a node, each sum continues to its own group."""
    collective = within(LIBRARY.collective("allreduce"), [[0, 1], [2, 3], [0, 2], [1, 3]])
    for way in collective.ways:
        found = [syncoll.pareto(ring(4), part, max_chunks=4, max_steps=3)[0] for part in way]
        instance, algorithm = composed([(f.instance, f.algorithm) for f in found], collective)
        assert not violations(instance, algorithm)
        groups = [frozenset(np.flatnonzero(row).tolist()) for row in instance.pre]
        assert {len(group) for group in groups} == {2}
        assert np.array_equal(instance.pre, instance.post)


def test_from_python() -> None:
    sizes = np.array([[0, 2, 1], [0, 0, 1], [3, 0, 0]])
    named = syncoll.collective("alltoallv", sizes)
    assert named.name == "alltoallv([[0,2,1],[0,0,1],[3,0,0]])"
    assert len(named.tabulate(3, 2)) == 14
    large = syncoll.collective("alltoallv", np.ones((40, 40), dtype=int))
    assert large.name.startswith('alltoallv("40 rows, ')
    gather = syncoll.collective("allgather")
    both = gather.within([[0, 1], [2, 3]]) + 2 * syncoll.collective("broadcast", 1)
    assert both.name == "allgather within [[0,1],[2,3]] + 2 * broadcast(root=1)"
    text = LIBRARY.collective(both.name)
    assert text.name == both.name
    assert both.tabulate(4, 3).same_as(text.tabulate(4, 3))
    rows = Collective.from_arrays("mine", np.eye(3), np.ones((3, 3)), sizes=[2, 0, 1])
    assert rows.tabulate(3, 2).starts.per_node.tolist() == [4, 0, 2]
    assert rows.in_units


def test_terms_are_named_as_written() -> None:
    text = "2 * reduce(1) within [[0,1]] + alltoall + 3 * (allgather + alltoall)"
    written = LIBRARY.collective(text)
    made = LIBRARY.collective("reduce(1)").within([[0, 1]])
    assert [term.name for term in written.terms] == [
        "2 * reduce(root=1) within [[0,1]]", "alltoall", "3 * (allgather + alltoall)"
    ]  # fmt: skip
    assert " + ".join(term.name for term in written.terms) == written.name
    assert (2 * made + LIBRARY.collective("alltoall")).terms[0].name == f"2 * {made.name}"


def test_pieces_of_a_chunk_stand_together() -> None:
    table = LIBRARY.collective("allgather within [[2, 0]]").tabulate(3, 2)
    assert table.pre.argmax(axis=1).tolist() == [2, 2, 0, 0]
    table = LIBRARY.collective("alltoallv([[0, 1], [2, 0]])").tabulate(2, 2)
    assert table.pre.argmax(axis=1).tolist() == [0, 0, 1, 1, 1, 1]


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([], "no groups"), ([[]], "group 0 is empty"), ([[0, 1], [1, 1]], "names node 1 twice"),
        ([[0, -1]], "names node -1"), ([[0, 9]], "names node 9; there are the nodes 0 to 3"),
        ([0, 1], "group 0 is 0"), ([[0, 1.5]], "names 1.5"), ("ab", "the groups are"),
        ([[True, False]], "names True"),
    ],
)  # fmt: skip
def test_invalid_groups_are_errors(groups: object, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        within(LIBRARY.collective("allgather"), groups).tabulate(4, 1)


def test_invalid_terms_are_errors() -> None:
    gather = LIBRARY.collective("allgather")
    for weight in (0, -1, True, 1.5):
        with pytest.raises(ModelError, match="has the weight"):
            sum_of([Term(gather, weight)])  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="without terms"):
        sum_of([])
    odd = Collective.from_relations(
        "odd",
        lambda _nodes, chunks: chunks,
        lambda _c, n, _nodes, _chunks: n == 0,
        lambda c, n, _nodes, _chunks: n <= c,
        irregular=True,
    )
    assert within(odd, [[1, 0]]).irregular
    with pytest.raises(ModelError, match="is irregular"):
        within(syncoll.inverse_of(odd, "back"), [[1, 0]])
    spread = Collective.from_arrays("spread", np.ones((1, 2)), np.ones((1, 2)))
    with pytest.raises(ModelError, match="starts at 2 nodes"):
        (spread + LIBRARY.collective("reduce")).tabulate(2, 1)


def test_they_can_go_to_a_worker_process() -> None:
    text = "allreduce within [[i, i + 2] for i in range(P div 2)] + 2 * reducescatter"
    collective = LIBRARY.collective(text)
    again = pickle.loads(pickle.dumps(collective))
    assert again.tabulate(4, 4).same_as(collective.tabulate(4, 4))


def test_frontiers_of_groups() -> None:
    """On a dgx1 both halves do the allgather of four at once, as fast as their links allow."""
    groups = [[0, 1, 2, 3], [4, 5, 6, 7]]
    found = syncoll.pareto(dgx1(), syncoll.collective("allgather").within(groups), max_steps=2)
    assert [(p.steps, p.bandwidth) for p in found] == [(1, 1), (2, Fraction(3, 4))]
    turned = syncoll.pareto(dgx1(), syncoll.collective("reducescatter").within(groups), max_steps=2)
    assert [(p.steps, p.bandwidth * 4) for p in turned] == [(1, 1), (2, Fraction(3, 4))]


@pytest.mark.parametrize(
    ("machine", "once", "weight"),
    [("line(2)", "reduce", 2), ("ring(3)", "reducescatter", 2), ("line(3)", "reduce(1)", 3),
     ("line(2)", "reducescatterv([2, 1])", 2), ("ring(3)", "reduce within [[2, 0]]", 3)],
)  # fmt: skip
def test_a_weight_costs_as_much_as_the_sum_written_out(
    machine: str, once: str, weight: int
) -> None:
    ways = f"{weight} * {once}", " + ".join([once] * weight)
    weighted, written = (syncoll.pareto(machine, way, max_chunks=4) for way in ways)
    costs = [(point.steps, point.bandwidth) for point in weighted]
    assert costs == [(point.steps, point.bandwidth) for point in written]
    assert weighted.least_bandwidth == written.least_bandwidth
    for point in weighted:
        assert not violations(point.instance, point.algorithm)


@pytest.mark.parametrize(
    ("machine", "text"),
    [("line(1)", "allreduce"), ("line(2)", "allreduce within [[0], [1]]"),
     ("line(3)", "reduce within [[1]] + 2 * reducescatter within [[0], [2]]")],
)  # fmt: skip
def test_without_moves_there_are_no_steps(machine: str, text: str) -> None:
    found = syncoll.pareto(machine, text)
    assert [(point.steps, point.rounds, point.bandwidth) for point in found] == [(0, 0, 0)]
    assert found.least_bandwidth == 0


def test_a_sum_of_no_contributions_is_refused() -> None:
    rows = Collective.from_arrays("one_row", np.eye(2), [[1, 1], [0, 0]])
    inverse = syncoll.inverse_of(rows, "back")
    for asked in (inverse, inverse + LIBRARY.collective("reduce")):
        with pytest.raises(ModelError, match="chunk 1 must reach node 1, but no node contributes"):
            syncoll.bounds("line(2)", asked)


def test_python_s_own_operators() -> None:
    own = syncoll.collective("allgather")
    assert counted((own * 2).tabulate(3, 1)) == counted((2 * own).tabulate(3, 1))
    both: Any = sum([own, own])
    assert counted(both.tabulate(3, 1)) == counted((2 * own).tabulate(3, 1))
    for act, other in ((add, "alltoall"), (mul, 1.5)):
        for pair in ((own, other), (other, own)):
            with pytest.raises(ModelError, match="allgather"):
                act(*pair)


def test_arguments_from_python(tmp_path: Path) -> None:
    file = tmp_path / "m.csv"
    file.write_text("0,3\n2,0\n", encoding="utf-8")
    given = [file, str(file), np.array([[0, 3], [2, 0]])]
    made = [syncoll.collective("alltoallv", one, unit=2, round_up=True) for one in given]
    assert [one.tabulate(2, 1).pre.sum(axis=0).tolist() for one in made] == [[2, 1]] * 3
    with pytest.raises(syncoll.SyncollError, match=r"shape \(2, 2, 2\)"):
        syncoll.collective("alltoallv", np.ones((2, 2, 2)))
    with pytest.raises(syncoll.SyncollError, match="no parameter `uni`"):
        syncoll.collective("alltoallv", given[2], uni=2)
