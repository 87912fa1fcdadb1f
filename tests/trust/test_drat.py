"""The checker of proofs: passed clauses are unsatisfiable, and failures name the right line."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import pytest

from syncoll.errors import VerificationError
from syncoll.formula import Feature, FormulaBuilder, Limits, Verdict
from syncoll.lowerings import lower
from syncoll.plugins import PluginManager, resolve_options
from syncoll.testing import pigeonhole
from syncoll.trust.drat import ProofVerdict, check_rup, lrat, trimmed

Clauses = list[list[int]]
PYSAT = PluginManager.discover().backends["pysat"]

EIGHT: Clauses = [[1, 2, -3], [-1, -2, 3], [2, 3, -4], [-2, -3, 4]]
EIGHT += [[-1, -3, -4], [1, 3, 4], [-1, 2, 4], [1, -2, -4]]
"""A formula of 4 variables that has no model."""


def satisfiable(variables: int, clauses: Clauses) -> bool:
    for bits in itertools.product((False, True), repeat=variables):
        if all(any(bits[abs(x) - 1] == (x > 0) for x in clause) for clause in clauses):
            return True
    return False


def solved(
    variables: int, clauses: Clauses, path: Path, solver: str = "cadical195"
) -> tuple[Verdict, list[str]]:
    """The backend's verdict, and the lines of its proof."""
    builder = FormulaBuilder()
    builder.booleans(variables)
    for clause in clauses:
        builder.clause(clause)
    options = resolve_options(PYSAT.options, {"solver": solver}, "pysat")
    outcome = PYSAT.load().solve(builder.build(), Limits(proof=path), options)
    if outcome.proof is None:
        return outcome.verdict, []
    return outcome.verdict, outcome.proof.read_text("ascii").splitlines()


def random_clauses(rng: random.Random, variables: int, count: int, least: int = 1) -> Clauses:
    """Up to three literals each."""
    names = range(1, variables + 1)
    widths = [min(variables, rng.randint(least, 3)) for _ in range(count)]
    return [[rng.choice((-1, 1)) * v for v in rng.sample(names, width)] for width in widths]


def holes(pigeons: int) -> tuple[int, Clauses]:
    """Pigeons into one hole fewer; as clauses."""
    formula = lower(pigeonhole(pigeons, frozenset({Feature.CLAUSE})), PYSAT.features).formula
    return formula.num_booleans, [
        [*row.literals, -row.enforcer] if row.enforcer else row.literals
        for row in formula.clauses()
    ]


# Agreement with brute force ----------------------------------------------------------------------


def test_proofs_of_random_formulas_pass(tmp_path: Path) -> None:
    rng = random.Random(1)
    refuted = with_lemmas = 0
    for _ in range(400):
        variables = rng.randint(2, 8)
        clauses = random_clauses(rng, variables, rng.randint(4, 7 * variables), rng.randint(1, 3))
        verdict, proof = solved(variables, clauses, tmp_path / "proof")
        assert (verdict is Verdict.SAT) == satisfiable(variables, clauses)
        if verdict is Verdict.SAT:
            continue
        refuted += 1
        for every_lemma in (False, True):
            check = check_rup(variables, clauses, proof, every_lemma=every_lemma)
            assert check.proved, check
            assert check.rat_lemmas == 0
        with_lemmas += check.lemmas > 1
    assert refuted > 100
    assert with_lemmas > 20


def test_no_lemmas_refute_a_formula_with_a_model() -> None:
    rng = random.Random(2)
    tried = 0
    for _ in range(3000):
        variables = rng.randint(1, 5)
        clauses = random_clauses(rng, variables, rng.randint(1, 4 * variables))
        if not satisfiable(variables, clauses):
            continue
        tried += 1
        proof = []
        for _ in range(rng.randint(0, 8)):
            lemma = random_clauses(rng, variables + 1, 1)[0]
            deleted = rng.choice(clauses)
            proof.append(rng.choice(["", "d "]) + " ".join(map(str, [*lemma, 0])))
            proof.append(f"d {' '.join(map(str, deleted))} 0" if rng.random() < 0.3 else "c")
        for every_lemma in (False, True):
            check = check_rup(variables, clauses, [*proof, "0"], every_lemma=every_lemma)
            assert check.verdict is ProofVerdict.NOT_PROVED
    assert tried > 1000


def test_a_lemma_that_does_not_follow_is_found_with_its_line() -> None:
    """Of clauses with a model, one that contradicts them."""
    rng = random.Random(3)
    found = 0
    while found < 200:
        variables = rng.randint(2, 5)
        clauses = random_clauses(rng, variables, 2 * variables)
        lemma = random_clauses(rng, variables, 1)[0]
        if not satisfiable(variables, clauses) or satisfiable(variables, [*clauses, lemma]):
            continue
        found += 1
        line = " ".join(map(str, [*lemma, 0]))
        check = check_rup(variables, clauses, ["c a remark", line, "0"], every_lemma=True)
        assert (check.verdict, check.line) == (ProofVerdict.NOT_PROVED, 2)
        assert f"({line[:-2]})" in check.message


def test_a_broken_proof_never_refutes_more_than_is_true(tmp_path: Path) -> None:
    """Lemmas dropped, literals changed, clauses taken from the formula."""
    rng = random.Random(4)
    variables, clauses = holes(4)
    _, proof = solved(variables, clauses, tmp_path / "proof")
    assert check_rup(variables, clauses, proof).proved
    refused = 0
    for _ in range(300):
        broken, fewer = list(proof), list(clauses)
        at = rng.randrange(len(broken))
        kind = rng.randrange(3)
        if kind == 0:
            del broken[at]
        elif kind == 1:
            words = broken[at].split()
            words[rng.randrange(len(words) - 1) if len(words) > 1 else 0] = str(
                rng.choice((-1, 1)) * rng.randint(1, variables)
            )
            broken[at] = " ".join(words)
        else:
            del fewer[rng.randrange(len(fewer))]
        check = check_rup(variables, fewer, broken)
        refused += not check.proved
        if check.proved and kind == 2:
            assert not satisfiable(variables, fewer)
    assert refused > 50


# Single proofs -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("clauses", "proof"),
    [
        ([[1], [-1]], []),
        ([[]], []),
        ([[1, 2], [1, -2], [-1, 2], [-1, -2]], ["1 0"]),
        ([[1, 2], [1, -2], [-1, 2], [-1, -2]], ["c why", "", "1 0", "0"]),
        (EIGHT, ["1 2 0", "1 0", "2 0", "0"]),
        # Deleting the reason of a literal, or an absent clause, is ignored.
        (EIGHT, ["1 2 0", "1 0", "d 1 0", "d 4 3 0", "2 0", "0"]),
        # Repeated literals and tautologies.
        ([[1, 1, 2], [1, -2, -2], [-1, 2], [-1, -2], [1, -1]], ["2 -2 0", "1 1 0", "0"]),
        # A repeated clause may be deleted once.
        ([[1, 2], [2, 1], [1, -2], [-1, 2], [-1, -2]], ["d 2 1 0", "1 0"]),
    ],
)
def test_proofs(clauses: Clauses, proof: list[str]) -> None:
    for every_lemma in (False, True):
        assert check_rup(4, clauses, proof, every_lemma=every_lemma).proved


@pytest.mark.parametrize(
    ("clauses", "proof", "line"),
    [
        ([[1, 2], [1, -2], [-1, 2], [-1, -2]], [], None),
        ([[1, 2], [1, -2], [-1, 2], [-1, -2]], ["0"], 1),
        ([[1, 2], [1, -2], [-1, 2], [-1, -2]], ["d 1 2 0", "1 0"], 2),
        ([[1, 2], [1, -2]], ["1 0", "-1 0", "0"], 2),
        ([[1, 2]], ["1 0", "x 0"], 2),
        ([[1, 2]], ["1"], 1),
        ([[1, 2]], ["1 0 2 0"], 1),
        ([[1, 2]], ["d"], 1),
        ([[1, 2]], ["a\x85\r\x00"], 1),  # a binary proof
        ([[1, 2]], ["999999999 0"], None),
    ],
)
def test_no_proofs(clauses: Clauses, proof: list[str], line: int | None) -> None:
    check = check_rup(2, clauses, proof)
    assert (check.verdict, check.line) == (ProofVerdict.NOT_PROVED, line)
    assert check.message


def test_lemmas_that_are_not_needed_are_not_checked() -> None:
    clauses = [[1, 2], [1, -2], [-1, 2], [-1, -2], [3, 4, 5]]
    proof = ["3 5 0", "1 0"]  # its first lemma is wrong: it is RAT on neither literal
    clauses += [[-3, 4], [-3, -4], [-5, 4], [-5, -4]]
    assert check_rup(5, clauses, proof).proved
    check = check_rup(5, clauses, proof, every_lemma=True)
    assert (check.verdict, check.line) == (ProofVerdict.NOT_PROVED, 1)


def test_a_clause_that_is_not_one() -> None:
    with pytest.raises(VerificationError, match="3 is not a literal of 2 variables"):
        check_rup(2, [[1, 3]], [])
    with pytest.raises(VerificationError, match="0 is not a literal"):
        check_rup(2, [[0]], [])


def test_stopping_gives_no_verdict() -> None:
    variables, clauses = holes(4)
    check = check_rup(variables, clauses, ["1 0", "0"], should_stop=lambda: True)
    assert check.verdict is ProofVerdict.STOPPED
    assert not check.proved


# RAT ---------------------------------------------------------------------------------------------


TWO: Clauses = [[1, 2], [1, -2], [-1, 2], [-1, -2]]
"""A formula of 2 variables that has no model, and leaves others to the lemmas."""


def test_a_lemma_with_a_new_variable_is_a_rat() -> None:
    """Extended resolution: 5 is defined as (3 and 4), which does not follow from anything."""
    proof = ["5 -3 -4 0", "-5 3 0", "-5 4 0", "1 0"]
    check = check_rup(4, [*TWO, [3, 4]], proof, every_lemma=True)
    assert check.proved
    assert check.rat_lemmas == 3
    # Without its first part, 5 is bound to be false where 3 is, and that is no definition.
    check = check_rup(4, [*TWO, [3, 4]], ["5 0", *proof[1:]], every_lemma=True)
    assert (check.verdict, check.line) == (ProofVerdict.NOT_PROVED, 2)


def test_a_rat_is_on_the_first_literal() -> None:
    clauses = [*TWO, [3, 4]]
    assert check_rup(4, clauses, ["5 -3 0", "1 0"], every_lemma=True).proved
    check = check_rup(4, clauses, ["3 0", "-3 5 0", "1 0"], every_lemma=True)
    assert (check.verdict, check.line) == (ProofVerdict.NOT_PROVED, 2)
    assert check_rup(4, clauses, ["3 0", "5 -3 0", "1 0"], every_lemma=True).proved


def test_a_conflict_may_depend_on_a_rat() -> None:
    """That 3 is true follows from nothing, but contradicts nothing either."""
    check = check_rup(2, TWO, ["3 0", "-3 1 0"])
    assert check.proved
    assert (check.lemmas_checked, check.rat_lemmas) == (2, 1)
    # With this clause it does: the resolvent (4) does not follow.
    check = check_rup(4, [*TWO, [-3, 4]], ["3 0", "-3 1 0"])
    assert (check.verdict, check.line) == (ProofVerdict.NOT_PROVED, 1)


def test_random_rats_keep_satisfiability() -> None:
    """A single lemma is accepted only when the formula with it has a model if it had one."""
    rng = random.Random(5)
    rats = refused = 0
    for _ in range(3000):
        variables = rng.randint(2, 4)
        clauses = random_clauses(rng, variables, rng.randint(1, 8))
        if not satisfiable(variables, clauses):
            continue
        lemma = random_clauses(rng, variables, 1)[0]
        # Two more variables make the whole unsatisfiable, so that there is something to prove.
        a, b = variables + 1, variables + 2
        never = [[a, b], [a, -b], [-a, b], [-a, -b]]
        proof = [" ".join(map(str, [*lemma, 0])), f"{a} 0", "0"]
        check = check_rup(b, [*clauses, *never], proof, every_lemma=True)
        if check.proved:
            assert satisfiable(variables, [*clauses, lemma])
            rats += check.rat_lemmas > 0
        else:
            assert check.line == 1
            refused += 1
    assert rats > 100
    assert refused > 100


# Trimming and solvers ----------------------------------------------------------------------------


def test_trimmed_proofs_prove_with_less(tmp_path: Path) -> None:
    variables, clauses = holes(6)
    _, proof = solved(variables, clauses, tmp_path / "proof")
    check = check_rup(variables, clauses, proof)
    assert check.proved
    assert 0 < check.lemmas_checked < check.lemmas
    shorter = trimmed(proof, check)
    assert len(shorter) < len(proof)
    assert shorter[-1] == "0"
    again = check_rup(variables, clauses, shorter, every_lemma=True)
    assert again.proved
    with pytest.raises(VerificationError, match="not proved"):
        trimmed(proof, check_rup(variables, clauses[1:], proof))


@pytest.mark.parametrize("solver", [str(c) for c in PYSAT.options[0].choices])
def test_every_solver_can_be_asked_for_a_proof(solver: str, tmp_path: Path) -> None:
    variables, clauses = holes(5)
    builder = FormulaBuilder()
    builder.booleans(variables)
    for clause in clauses:
        builder.clause(clause)
    path = tmp_path / "proof"
    outcome = PYSAT.load().solve(
        builder.build(), Limits(seconds=60, proof=path), {"solver": solver, "hints": True}
    )
    assert outcome.proof == path
    assert ("solved it, because" in outcome.message) == (not solver.startswith("cadical"))
    assert check_rup(variables, clauses, path.read_text("ascii").splitlines()).proved


def test_a_proof_continues_over_instalments(tmp_path: Path) -> None:
    """Under a time limit the solver runs in parts."""
    variables, clauses = holes(7)
    builder = FormulaBuilder()
    builder.booleans(variables)
    for clause in clauses:
        builder.clause(clause)
    options = {"solver": "cadical195", "hints": True}
    limits = Limits(seconds=60, proof=tmp_path / "proof")
    outcome = PYSAT.load().solve(builder.build(), limits, options)
    assert outcome.statistics["conflicts"] > 2000
    assert outcome.proof is not None
    assert check_rup(variables, clauses, outcome.proof.read_text("ascii").splitlines()).proved


def test_no_proof_unless_requested_and_needed(tmp_path: Path) -> None:
    variables, clauses = holes(4)
    verdict, proof = solved(variables, clauses[1:], tmp_path / "proof")
    assert (verdict, proof) == (Verdict.SAT, [])
    verdict, proof = solved(2, [[1], []], tmp_path / "proof")
    assert (verdict, proof) == (Verdict.UNSAT, ["0"])


def holds_by_hints(clauses: Clauses, text: str) -> bool:
    """Whether a proof in LRAT refutes clauses: each hint forces a literal, the last one none."""
    known = {number: set(clause) for number, clause in enumerate(clauses, 1)}
    for line in text.splitlines():
        number, *rest = map(int, line.split())
        end = rest.index(0)
        false = set(rest[:end])
        for hint in rest[end + 1 : -1]:
            free = known[hint] - false
            if not free:
                break
            (literal,) = free
            false.add(-literal)
        else:
            return False
        known[number] = set(rest[:end])
    return any(not clause for clause in known.values())


def test_hints_make_a_proof_in_lrat(tmp_path: Path) -> None:
    rng = random.Random(7)
    formulas = [(8, random_clauses(rng, 8, 50)) for _ in range(40)]
    for variables, clauses in [*formulas, holes(6)]:
        verdict, proof = solved(variables, clauses, tmp_path / "proof")
        if verdict is Verdict.UNSAT:
            check = check_rup(variables, clauses, proof, hints=True)
            assert holds_by_hints(clauses, lrat(check))
    assert verdict is Verdict.UNSAT
    with pytest.raises(VerificationError, match="not proved"):
        lrat(check_rup(variables, clauses[1:], proof, hints=True))
