"""Symmetric algorithms: one variable for each orbit, with every encoding and several backends."""

from __future__ import annotations

import itertools
import json
import pickle
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

import syncoll
from syncoll.cli.main import main
from syncoll.documents import outcome_document, schema
from syncoll.errors import UsageError
from syncoll.formula import Labels, Outcome, StopReason, Verdict
from syncoll.lowerings import merged
from syncoll.model import Instance, RelationTable
from syncoll.plugins import PluginManager, resolve_options
from syncoll.results.solution import Restriction, Solution
from syncoll.routing import as_topology
from syncoll.searching import solve_one
from syncoll.solving import Solver
from syncoll.spec import SpecLibrary
from syncoll.store import CachedSolutions, Store
from syncoll.symmetry import Action, FreeGroup
from syncoll.testing.formulas import brute_force_models, random_formula
from syncoll.trust import violations

MANAGER = PluginManager.discover()
SPECS = SpecLibrary([record.folder for record in MANAGER.spec_libraries.values()])
MOVING = [name for name, one in MANAGER.encodings.items() if not one.combining]

Numbers = tuple[str, str, int, int, int]

SYMMETRIC = [
    ("dgx1", "allgather", 1, 2, 2),
    ("ring(5)", "allgather", 1, 2, 2),
    ("ring(4)", "alltoall", 4, 3, 4),
    ("torus(3,3)", "allgather", 2, 2, 4),
    ("hub(3)", "alltoall", 3, 1, 2),
    ("a100(boxes=1)", "allgather", 1, 1, 7),
    ("ring(6)", "multi_broadcast(0, 3)", 2, 3, 5),
]
"""Machine, collective, C, S and R with an algorithm that a group maps to itself."""

COMBINING = [
    ("ring(4)", "allreduce", 4, 2, 4),
    ("ring(3)", "allreduce", 3, 2, 2),
    ("line(2)", "allreduce", 1, 1, 1),
    ("mesh(2,2)", "allreduce", 1, 2, 2),
]


def instance_of(numbers: Numbers) -> Instance:
    machine, name, chunks, steps, rounds = numbers
    return SPECS.collective(name).instantiate(
        as_topology(SPECS.topology(machine)), chunks=chunks, steps=steps, rounds=rounds
    )


def table_of(instance: Instance) -> RelationTable:
    return RelationTable(instance.pre, instance.post)


# The action on chunks -----------------------------------------------------------------------------


@pytest.mark.parametrize("numbers", [*SYMMETRIC, *COMBINING, ("torus(4,4)", "alltoall", 16, 4, 8)])
def test_chunks_go_where_their_nodes_go(numbers: Numbers) -> None:
    instance = instance_of(numbers)
    action = Action.of(instance)
    group = action.group
    assert group.order > 1
    for nodes, chunks in zip(group.generators, action.chunks, strict=True):
        assert sorted(chunks.tolist()) == list(range(instance.num_chunks))
        for relation in (instance.pre, instance.post):
            assert np.array_equal(relation[chunks][:, nodes], relation)
    # As many pairs of permutations as elements: it is the same group that acts on chunks.
    found = {(tuple(range(group.num_nodes)), tuple(range(instance.num_chunks)))}
    front = list(found)
    while front:
        nodes_of, chunks_of = front.pop()
        for nodes, chunks in zip(group.generators, action.chunks, strict=True):
            pair = tuple(nodes[list(nodes_of)].tolist()), tuple(chunks[list(chunks_of)].tolist())
            if pair not in found:
                found.add(pair)
                front.append(pair)
    assert len(found) == group.order


def test_chunks_of_a_node_keep_their_places() -> None:
    """Chunk i of node v goes to chunk i of the image of v."""
    instance = instance_of(("ring(4)", "allgather", 3, 2, 9))
    action = Action.of(instance)
    home = instance.pre.argmax(axis=1)
    place = [int((home[:c] == home[c]).sum()) for c in range(len(home))]
    for nodes, chunks in zip(action.group.generators, action.chunks, strict=True):
        for c, d in enumerate(chunks.tolist()):
            assert (home[d], place[d]) == (nodes[home[c]], place[c])


def test_chunks_that_all_nodes_share_are_permuted() -> None:
    ring = as_topology(SPECS.topology("ring(4)"))
    group = Action.of(instance_of(("ring(4)", "allreduce", 4, 2, 4))).group
    for chunks, moved in ((4, 4), (6, 4), (3, 0)):
        instance = SPECS.collective("allreduce").instantiate(ring, chunks=chunks, steps=2, rounds=9)
        action = Action.on(group, table_of(instance))
        assert (action.chunks != np.arange(chunks)).any(axis=0).sum() == moved


def test_a_group_that_does_not_keep_the_chunks_is_refused() -> None:
    group = Action.of(instance_of(("ring(4)", "allgather", 1, 2, 2))).group
    rooted = instance_of(("ring(4)", "broadcast", 1, 2, 2))
    with pytest.raises(ValueError, match="does not keep the chunks"):
        Action.on(group, table_of(rooted))


def test_subgroups_from_large_to_small() -> None:
    for machine, orders in (
        ("torus(4,4)", [16, 8, 4, 2]),
        ("torus(3,5)", [15, 5]),
        ("ring(6)", [6, 3]),
        ("dgx1", [4, 2]),
        ("line(3)", []),
    ):
        group = syncoll.symmetry_of(machine).group
        chain = list(group.chain())
        assert [one.order for one in chain] == orders
        for larger, smaller in itertools.pairwise(chain):
            assert {*map(tuple, smaller.elements)} < {*map(tuple, larger.elements)}
    assert FreeGroup.generated(4, [np.array([1, 0, 2, 3])]) is None


# Formulas -----------------------------------------------------------------------------------------


def test_models_of_a_merged_formula_have_equal_values() -> None:
    """Random formulas, merged at random, by trying every assignment."""
    with_models = 0
    for seed in range(400):
        formula = random_formula(seed, most_booleans=5, most_integers=3, most_rows=5)
        rng = random.Random(seed)
        booleans = np.array([rng.randrange(3) for _ in range(formula.num_booleans)], dtype=np.int64)
        integers = np.array([rng.randrange(2) for _ in range(formula.num_integers)], dtype=np.int64)
        booleans = np.unique(booleans, return_inverse=True)[1]
        integers = np.unique(integers, return_inverse=True)[1]
        applied = merged(formula, booleans, integers)
        models, truth = brute_force_models(applied.formula), set()
        found = set()
        for i in range(len(models)):
            raised = applied.inverse.raise_assignment(models.assignment(i))
            assert formula.violation(raised) is None
            found.add((*raised.booleans[1:].tolist(), *raised.integers.tolist()))
        everything = brute_force_models(formula)
        for row, values in zip(everything.booleans, everything.integers, strict=True):
            groups = [*zip(booleans, row[1:], strict=True)]
            numbers = [*zip(integers, values, strict=True)]
            if len(set(groups)) == len(set(booleans)) and len(set(numbers)) == len(set(integers)):
                truth.add((*row[1:].tolist(), *values.tolist()))
        assert found == truth
        with_models += bool(truth)
    assert 40 < with_models < 360


def test_merging_nothing_keeps_every_model() -> None:
    for seed in range(50):
        formula = random_formula(seed, most_booleans=5, most_integers=2, most_rows=5)
        numbers = np.arange(formula.num_booleans), np.arange(formula.num_integers)
        same = merged(formula, *numbers).formula
        sizes = formula.num_booleans, formula.num_integers
        assert brute_force_models(same).as_set(*sizes) == brute_force_models(formula).as_set(*sizes)


def test_hints_name_each_variable_once() -> None:
    formula = random_formula(3, most_booleans=6, most_integers=1, most_rows=3)
    some = min(4, formula.num_booleans)
    hinted = formula.with_hint(np.arange(1, some + 1) * np.array([1, -1, -1, -1])[:some])
    booleans = np.minimum(np.arange(formula.num_booleans), 1)
    hint = merged(hinted, booleans, np.arange(formula.num_integers)).formula.hint
    assert hint.tolist() == [-2, 1]


@pytest.mark.parametrize("name", MANAGER.encodings)
def test_formulas_shrink_by_the_order_of_the_group(name: str) -> None:
    """Every variable of a send has an image, and so has every constraint on sends."""
    record: Any = MANAGER.encodings[name]
    for numbers in COMBINING if record.combining else SYMMETRIC:
        instance = instance_of(numbers)
        action = Action.of(instance)
        options = resolve_options(record.options, {}, name)
        encoded: Any = record.load().encode(instance, options)
        formula, order = encoded.formula, action.group.order
        small = merged(formula, *action.orbits(encoded.labels())).formula
        own = instance.steps  # the rounds, which stay
        assert small.num_booleans * order == formula.num_booleans
        assert (small.num_integers - own) * order == formula.num_integers - own
        assert (small.size().constraints - 1) * order <= formula.size().constraints - 1
        assert small.size().features <= formula.size().features


def test_labels_are_distinct_and_one_for_each_variable() -> None:
    none = np.zeros((0, 2), dtype=np.int64)
    with pytest.raises(ValueError, match="labels of shape"):
        Labels("cns", np.zeros((3, 2), dtype=np.int64), none)
    action = Action.of(instance_of(("ring(4)", "allgather", 1, 2, 2)))
    twice = Labels("cn", np.array([[0, 1], [0, 1]]), none)
    with pytest.raises(ValueError, match="the same label"):
        action.orbits(twice)
    alone = Labels("cn", np.array([[0, 1], [1, -1]]), none)  # without their images
    assert action.orbits(alone)[0].tolist() == [0, 1]
    assert action.orbits(Labels("cn", none, none))[0].tolist() == []


# Algorithms ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["cpsat", "pysat"])
@pytest.mark.parametrize("encoding", MOVING)
def test_symmetric_algorithms_are_mapped_to_themselves(encoding: str, backend: str) -> None:
    with Solver(MANAGER, encoding=encoding, backend=backend) as solver:
        for numbers in SYMMETRIC:
            require_symmetric(solver, numbers)


@pytest.mark.parametrize("backend", ["cpsat", "pysat", "z3", "highs"])
def test_symmetric_reductions_are_mapped_to_themselves(backend: str) -> None:
    with Solver(MANAGER, backend=backend) as solver:
        for numbers in COMBINING:
            require_symmetric(solver, numbers)


def require_symmetric(solver: Solver, numbers: Numbers) -> None:
    instance = instance_of(numbers)
    action = Action.of(instance)
    solution = solver.solve(instance, symmetry=action)
    assert solution.verdict is Verdict.SAT, numbers
    assert solution.algorithm is not None
    assert not violations(instance, solution.algorithm)
    assert action.keeps(solution.algorithm.sends)
    assert solution.restriction is not None
    assert solution.restriction.order == action.group.order
    assert solution.size.variables < solution.restriction.whole.variables


def test_sends_that_are_not_kept() -> None:
    action = Action.of(instance_of(("ring(4)", "allgather", 1, 2, 2)))
    around = [(v, v, (v + 1) % 4, 0) for v in range(4)]
    assert action.keeps(np.array(around))
    assert not action.keeps(np.array(around[:3]))


@pytest.mark.parametrize("encoding", MOVING)
def test_no_symmetric_algorithm_refutes_nothing(encoding: str) -> None:
    """Every node sends a chunk to the node opposite, one way round or the other: with two rounds
    the four cannot all go the same way, and two may."""
    instance = instance_of(("ring(4)", "alltoall", 4, 2, 2))
    action = Action.of(instance)
    with Solver(MANAGER, encoding=encoding, backend="cpsat") as solver:
        assert solver.solve(instance).verdict is Verdict.SAT
        found = solver.solve(instance, symmetry=action)
    assert found.verdict is Verdict.UNKNOWN
    assert found.outcome.reason is StopReason.NOT_SYMMETRIC
    assert found.outcome.message.endswith("others may exist")
    assert found.algorithm is None
    assert found.restriction is not None
    again = pickle.loads(pickle.dumps(found))
    assert again.restriction == found.restriction
    assert outcome_document(found)["symmetry"] == 4
    # It cannot be made to say more.
    with pytest.raises(ValueError, match="refutes nothing"):
        replace(found, outcome=Outcome(Verdict.UNSAT))


def test_encodings_agree_on_symmetric_algorithms() -> None:
    verdicts = []
    numbers = [("ring(4)", "alltoall", 4, s, r) for s in (2, 3) for r in (2, 3)]
    numbers += [("dgx1", "allgather", c, 2, r) for c in (1, 2) for r in (2, 3)]
    numbers += [("torus(2,3)", "allgather", 2, 2, r) for r in (2, 3, 4)]
    solvers = [Solver(MANAGER, encoding=one, backend="cpsat") for one in MOVING]
    for one in numbers:
        instance = instance_of(one)
        action = Action.of(instance)
        found = {str(s.solve(instance, symmetry=action).outcome.reason) for s in solvers}
        assert len(found) == 1, one
        verdicts += found
    for solver in solvers:
        solver.close()
    assert set(verdicts) == {"decided", "no symmetric algorithm"}


def test_without_symmetry_the_whole_instance_is_solved() -> None:
    for numbers, verdict in (
        (("line(3)", "allgather", 1, 2, 2), Verdict.SAT),
        (("line(3)", "allgather", 1, 1, 2), Verdict.UNSAT),
        (("ring(4)", "broadcast", 1, 1, 1), Verdict.UNSAT),
    ):
        instance = instance_of(numbers)
        with Solver(MANAGER, backend="cpsat") as solver:
            whole = solver.solve(instance)
            same = solver.solve(instance, symmetry=Action.of(instance))
        assert same.verdict is whole.verdict is verdict
        assert same.restriction is None
        assert same.size == whole.size
        machine, name, chunks, steps, rounds = numbers
        asked = syncoll.solve(
            machine, name, chunks=chunks, steps=steps, rounds=rounds, symmetric=True
        )
        assert asked.verdict is verdict
        assert asked.restriction is None


def test_a_formula_in_an_order_has_no_symmetry() -> None:
    instance = instance_of(("ring(4)", "allgather", 2, 2, 3))
    for encoding in MOVING:
        options = {"symmetry": "arrival"}
        with (
            Solver(MANAGER, encoding=encoding, encoding_options=options) as solver,
            pytest.raises(UsageError, match="does not label its variables"),
        ):
            solver.solve(instance, symmetry=Action.of(instance))


def test_a_store_keeps_only_found_symmetric_algorithms(tmp_path: Path) -> None:
    found = instance_of(("ring(4)", "allgather", 1, 2, 2))
    none = instance_of(("ring(4)", "alltoall", 4, 2, 2))
    with Store.open(tmp_path / "store") as store, Solver(MANAGER, backend="cpsat") as solver:
        memory = CachedSolutions(store, solver.asked, solver.limits)
        for instance, kept in ((found, True), (none, False)):
            solution = solver.solve(instance, symmetry=Action.of(instance))
            assert memory.keep(solution) is kept
            assert (memory.look_up(instance) is not None) is kept
        restricted = solver.solve(none, symmetry=Action.of(none))
        late = replace(restricted, outcome=Outcome(Verdict.UNKNOWN, reason=StopReason.TIME_LIMIT))
        assert not memory.keep(late, seconds=5)


# The command --------------------------------------------------------------------------------------


def test_subgroups_are_tried_after_the_group() -> None:
    """No algorithm is kept by four rotations, but one is by two."""
    found = syncoll.solve("ring(4)", "alltoall", chunks=4, steps=2, rounds=2, symmetric=True)
    assert found.verdict is Verdict.SAT
    assert found.restriction is not None
    assert found.restriction.order == 2


def test_inverses_and_compositions() -> None:
    inverse = SPECS.collective("reducescatter")
    ring = as_topology(SPECS.topology("ring(4)"))
    with Solver(MANAGER, backend="cpsat") as solver:
        found = solve_one(solver, ring, inverse, chunks=4, steps=2, rounds=2, symmetric=True)
        assert found.restriction is not None
        assert found.verdict is Verdict.SAT
        whole = SPECS.collective("allreduce")
        found = solve_one(solver, ring, whole, chunks=4, steps=4, rounds=6, symmetric=True)
        assert found.verdict is Verdict.SAT
        assert found.algorithm is not None
        assert not violations(found.instance, found.algorithm)


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["solve", "ring(4)", "allgather", "-C", "1", "-S", "2", "-R", "2", "--symmetric"]
    assert main(asked) == 0
    text = capsys.readouterr().out
    assert "Found among the algorithms that a group of order 4 preserves." in text
    assert "8 variables, 10 constraints (without symmetry 26 and 37)" in text
    none = ["solve", "ring(4)", "allreduce", "-C", "2", "-S", "2", "-R", "2", "--symmetric"]
    assert main(none) == 3
    text = capsys.readouterr().out
    assert "has no symmetric algorithm; others may exist." in text
    assert main(none[:-1]) == 0
    capsys.readouterr()
    assert main([*none, "--format", "json"]) == 3
    content = json.loads(capsys.readouterr().out)
    jsonschema.validate(content, schema("outcome"))
    assert content["verdict"] == "unknown"
    assert content["reason"] == "no symmetric algorithm"
    assert content["symmetry"] == 2
    rooted = ["solve", "line(2)", "broadcast", "-C", "1", "-S", "1", "-R", "1", "--symmetric"]
    assert main(rooted) == 0
    assert "no symmetry was found" in capsys.readouterr().err


def test_solving_without_a_restriction() -> None:
    instance = instance_of(("ring(4)", "allgather", 1, 2, 2))
    with Solver(MANAGER, backend="cpsat") as solver:
        size = solver.prepare(instance).size
    with pytest.raises(ValueError, match="refutes nothing"):
        Solution(
            instance,
            Outcome(Verdict.UNSAT),
            None,
            "step",
            "cpsat",
            size,
            size,
            restriction=Restriction(4, size),
        )
