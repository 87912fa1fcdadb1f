"""The conformance kit passes right plugins and finds wrong ones."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from syncoll.formula import Feature, Formula, FormulaBuilder, Limits, Outcome
from syncoll.plugins import Answer, BackendRecord, resolve_options
from syncoll.solving import SolverProcess
from syncoll.testing import (
    BACKEND_CHECKS,
    BackendConformance,
    BackendUnderTest,
    ConformanceError,
    brute_force_models,
    candidate,
    check_backend,
    pigeonhole,
    planted,
    random_formula,
)
from syncoll.testing.candidate import ObservedLoader
from syncoll.testing.small_formulas import row_cases

FAKES = Path(__file__).parent / "fakes"


@pytest.fixture
def buggy(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(FAKES))
    import buggy  # type: ignore[import-not-found]

    return buggy


def fails(record: Any, check: str) -> str:
    """The check's message about the record; empty if it passes."""
    candidate = BackendUnderTest(record)
    try:
        BACKEND_CHECKS[check](candidate)
    except ConformanceError as error:
        return str(error)
    finally:
        candidate.close()
    return ""


class TestBackends:
    def test_a_right_one_passes(self, buggy: Any) -> None:
        # It imports the kit itself, which imports numpy and psutil: not light, and rightly so.
        failures = [failure.check for failure in check_backend(buggy.record())]
        assert failures == ["light_record"]

    @pytest.mark.parametrize(
        ("load", "check", "words"),
        [
            ("ignoring_enforcers", "rows", "the right answer is sat"),
            ("ignoring_signs", "models", "the right answer"),
            ("widening_integers", "integer_bounds", "out of its bounds"),
            ("forgetting_clauses", "rows", "not a model"),
            ("calling_it_unsat", "time_limit", "the right answer is sat"),
            ("without_a_reason", "time_limit", "its reason is gave up"),
            ("without_seconds", "seconds", "lack 'load'"),
            ("raising", "trivial", "cannot be loaded"),
            ("choosy", "options", "untested"),
            ("choosy", "limits", "seed"),
        ],
    )
    def test_a_wrong_one_fails(self, buggy: Any, load: str, check: str, words: str) -> None:
        """In words, from a process of its own; `TestPlantedBugs` has many more wrong answers."""
        assert words in fails(buggy.record(getattr(buggy, f"load_{load}")), check)

    @pytest.mark.parametrize(
        ("changes", "check", "words"),
        [
            ({"name": "two words"}, "record", "--backend"),
            ({"summary": "two\nlines"}, "record", "one line"),
            ({"features": frozenset()}, "record", "no feature"),
            ({"installed": lambda: Answer(False, "not here")}, "answers", "not here"),
            ({"can_run": lambda size: Answer(False)}, "answers", "without a reason"),
            ({"can_run": lambda size: True}, "answers", "not an Answer"),
            ({"load": lambda: None}, "loader", "cannot be pickled"),
        ],
    )
    def test_a_wrong_record_fails(
        self, buggy: Any, changes: Mapping[str, Any], check: str, words: str
    ) -> None:
        assert words in fails(buggy.record(**changes), check)

    @pytest.mark.parametrize(
        ("load", "words"),
        [
            (None, "it wrote no proof"),
            ("claiming_a_file", "it wrote no proof"),
            ("claiming_a_proof", "its proof fails in line 1"),
        ],
    )
    def test_a_promised_proof_is_checked(self, buggy: Any, load: str | None, words: str) -> None:
        loader = {} if load is None else {"load": getattr(buggy, f"load_{load}")}
        assert words in fails(buggy.record(**loader, writes_proofs=True), "proofs")
        assert fails(buggy.record(**loader), "proofs") == ""

    def test_a_check_is_skipped_only_with_a_reason(self) -> None:
        class Skipping(BackendConformance):
            skips: ClassVar[Mapping[str, tuple[str, ...]]] = {"too slow here": ("rows",)}

        test: Any = Skipping()
        with pytest.raises(pytest.skip.Exception, match="too slow here"):
            test.test_rows()


class Here:
    """Runs a backend in this process: the bugs below are many, and crash nothing."""

    def __init__(self, record: BackendRecord, backend: Any) -> None:
        self.record = record
        self.backend = ObservedLoader(lambda: backend)()

    def solve(self, formula: Formula, limits: Limits, options: Mapping[str, object]) -> Outcome:
        resolved = resolve_options(self.record.options, options, "the backend")
        outcome = self.backend.solve(formula, limits, resolved)
        SolverProcess(self.record)._check(formula, outcome)
        return outcome

    def close(self) -> None:
        pass


QUICK_CHECKS = [
    "trivial",
    "tiny_formulas",
    "integer_bounds",
    "seconds",
    "limits",
    "time_limit",
    "time_limit_by_itself",
    "rows",
    "random_formulas",
    "models",
]
"""The checks that run the backend; the slowest ones last."""


def failing_checks(record: BackendRecord, backend: Any, enough: int) -> list[str]:
    """The first checks, `enough` at most, that a backend fails."""
    failed: list[str] = []
    for name in QUICK_CHECKS:
        try:
            BACKEND_CHECKS[name](BackendUnderTest(record, Here(record, backend)))
        except ConformanceError:
            failed.append(name)
        if len(failed) == enough:
            break
    return failed


def bugs() -> list[str]:
    """Their names, for parameters."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FAKES))
        import buggy

        return list(buggy.BUGS)


class TestPlantedBugs:
    @pytest.fixture(autouse=True)
    def _strict(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(candidate, "LATE_SECONDS", 0.15)

    @pytest.mark.parametrize("bug", bugs())
    def test_a_bug_is_found_by_more_than_one_check(self, buggy: Any, bug: str) -> None:
        assert len(failing_checks(buggy.record(), buggy.BUGS[bug](), enough=2)) == 2

    def test_a_killed_process_is_not_its_own_stop(
        self, buggy: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(candidate, "PATIENCE", 0.2)
        words = fails(buggy.record(buggy.load_endless), "time_limit")
        assert "it did not stop by itself: killed" in words


class TestFormulas:
    def test_the_same_seed_gives_the_same_formula(self) -> None:
        def rows(seed: Any) -> list[Any]:
            formula = random_formula(seed)
            return [*formula.clauses(), *formula.linears(), *formula.differences()]

        assert rows(5) == rows(5) != rows(6)
        assert rows(np.random.default_rng(1)) == rows(np.random.default_rng(1))

    @pytest.mark.parametrize("feature", list(Feature))
    def test_only_the_features_asked_for(self, feature: Feature) -> None:
        features = {feature, Feature.INTEGER}
        used = [random_formula(seed, features).size().features for seed in range(60)]
        assert all(use <= features for use in used)
        assert feature is Feature.ENFORCEMENT or any(feature in use for use in used)

    def test_they_are_mixed(self) -> None:
        counts = [len(brute_force_models(random_formula(seed))) for seed in range(200)]
        assert 60 < sum(count == 0 for count in counts) < 140

    def test_models_are_models_and_all_of_them(self) -> None:
        builder = FormulaBuilder()
        x, y = builder.booleans(2)
        number = builder.integer(-1, 1)
        builder.clause([x, y])
        builder.linear([1], [x], [1], [number], low=1)
        models = brute_force_models(builder.build())
        assert models.as_set(2, 1) == {(1, 0, 0), (1, 1, 0), (1, 0, 1), (1, 1, 1), (0, 1, 1)}

    def test_it_agrees_with_violation(self) -> None:
        for seed in range(60):
            formula = random_formula(seed, most_booleans=4, most_integers=2)
            models = brute_force_models(formula).as_set(formula.num_booleans, formula.num_integers)
            everything = brute_force_models(FormulaBuilder(formula).build())
            for i in range(len(everything)):
                assignment = everything.assignment(i)
                values = assignment.booleans[1:].tolist() + assignment.integers.tolist()
                assert (formula.violation(assignment) is None) == (
                    tuple(map(int, values)) in models
                )

    def test_too_many_assignments_are_refused(self) -> None:
        builder = FormulaBuilder()
        builder.booleans(30)
        with pytest.raises(ValueError, match="1,073,741,824 assignments"):
            brute_force_models(builder.build())

    @pytest.mark.parametrize(
        "features", [{Feature.CLAUSE}, {Feature.CARDINALITY}, {Feature.PSEUDO_BOOLEAN}]
    )
    def test_pigeonhole_and_planted(self, features: set[Feature]) -> None:
        assert len(brute_force_models(pigeonhole(3, features))) == 0
        assert len(brute_force_models(planted(9, features))) > 0
        assert pigeonhole(3, features).size().features == features
        assert planted(9, features).size().features == features

    def test_every_row_case_is_small_and_both_answers_occur(self) -> None:
        truths = {case.name: len(brute_force_models(case.formula)) > 0 for case in row_cases()}
        assert len(truths) > 100
        assert 10 < sum(not truth for truth in truths.values()) < len(truths) - 10
