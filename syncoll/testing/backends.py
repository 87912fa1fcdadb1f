"""The conformance checks of solver backends.

Each check is a function of a `BackendUnderTest`; its docstring states its demand.  It only uses
formulas whose features the record claims, so that no lowering is involved, and enumeration gives
the right answers.  The backend runs in a worker process, as in use: a crash or hang fails its check
and harms nothing else.
"""

import pickle
import random
import tempfile
from contextlib import closing
from pathlib import Path
from typing import ClassVar

from syncoll.formula import Assignment, Feature, Formula, FormulaBuilder
from syncoll.formula.outcome import Limits, StopReason, Verdict
from syncoll.plugins import Answer, BackendRecord
from syncoll.plugins.code import NamedCode
from syncoll.testing import kit
from syncoll.testing.candidate import SECONDS, BackendUnderTest
from syncoll.testing.formulas import (
    brute_force_models,
    market_split,
    pigeonhole,
    planted,
    random_formula,
)
from syncoll.testing.small_formulas import row_cases, tiny_formulas
from syncoll.trust.drat import check_rup

__all__ = ["BACKEND_CHECKS", "BackendConformance", "check_backend"]

_RANDOM_FORMULAS = 200


def check_record(candidate: BackendUnderTest) -> None:
    """The record has a name without spaces, a one-line summary, and a sound option table."""
    record = candidate.record
    kit.demand(record.name.isidentifier(), f"{record.name!r} cannot be written after --backend")
    kit.demand(bool(record.features), "it claims no feature, so it can decide nothing")
    unknown = [feature for feature in record.features if not isinstance(feature, Feature)]
    kit.demand(not unknown, f"these are not features: {unknown}")
    kit.check_options(record)


def check_answers(candidate: BackendUnderTest) -> None:
    """Whether it is installed and licensed here, and can run a formula, is answered by an `Answer`.

    A no comes with a reason.  It can run a tiny formula.
    """
    record = candidate.record
    tiny = FormulaBuilder().build().size()
    answers = {
        "installed": record.installed(),
        "licensed": record.licensed(),
        "can_run": record.can_run(tiny),
        "should_run": record.should_run(tiny),
    }
    for question, answer in answers.items():
        kit.demand(isinstance(answer, Answer), f"{question}: {answer!r} is not an Answer")
        kit.demand(answer.ok or bool(answer.reason), f"{question}: a no without a reason")
    for question in ("installed", "licensed", "can_run"):
        kit.demand(answers[question].ok, f"{question}: {answers[question].reason}")


def check_loader(candidate: BackendUnderTest) -> None:
    """`load` is named, or a function that a worker can import."""
    load = candidate.record.load
    try:
        again = pickle.loads(pickle.dumps(load))
    except Exception as error:
        raise kit.ConformanceError(f"its loader cannot be pickled: {error}") from error
    kit.demand(again == load, "its loader comes back from pickling as another object")
    module = load.module if isinstance(load, NamedCode) else getattr(load, "__module__", "")
    kit.demand(module != "__main__", "its loader lives in __main__, which a worker cannot import")


def check_trivial(candidate: BackendUnderTest) -> None:
    """The empty formula is sat, and so are variables without rows; each variable gets a value."""
    for number in (0, 1, 2, 3, 7):
        builder = FormulaBuilder()
        builder.booleans(number)
        candidate.expect(builder.build(), f"{number} Booleans alone", satisfiable=True)
    for low, high in ((0, 0), (-1, 1), (5, 9)):
        builder = FormulaBuilder()
        builder.integer(low, high)
        if candidate.takes(alone := builder.build()):
            candidate.expect(alone, f"an integer from {low} to {high} alone", satisfiable=True)


def check_tiny_formulas(candidate: BackendUnderTest) -> None:
    """Formulas of one, two or three variables, and one or two rows, get the right verdict.

    All formulas in a small range of coefficients and bounds; random formulas are seldom this small.
    """
    for formula in tiny_formulas(candidate.record.features):
        candidate.expect(formula, "a tiny formula")


def check_rows(candidate: BackendUnderTest) -> None:
    """Formulas with rows of every kind that it claims get the right verdict, in every odd shape.

    Empty, trivially true, trivially false; negated and repeated literals; negative coefficients,
    bounds and ranges; with and without an enforcer.
    """
    for case in row_cases():
        if candidate.takes(case.formula):
            candidate.expect(case.formula, case.name)


def check_models(candidate: BackendUnderTest) -> None:
    """With all variables fixed, rows of every kind hold exactly if they should.

    Some assignments that satisfy the rows and some that do not, mainly at the ends of integers'
    ranges: a backend that reads a row too strictly or too loosely in one corner fails here.
    """
    features = candidate.record.features
    for case in row_cases():
        if not candidate.takes(case.formula):
            continue
        rng = random.Random(case.name)
        everything = brute_force_models(FormulaBuilder(case.formula).build())
        chosen = {0, len(everything) - 1}
        chosen.update(rng.sample(range(len(everything)), min(4, len(everything))))
        truth = brute_force_models(case.formula)
        some = sorted(rng.sample(range(len(truth)), min(2, len(truth))))
        assignments = [everything.assignment(i) for i in sorted(chosen)]
        for assignment in [*assignments, *(truth.assignment(i) for i in some)]:
            pinned = _pinned(case.formula, assignment, features)
            candidate.expect(pinned, f"{case.name}, with its variables fixed")


def _pinned(formula: Formula, assignment: Assignment, features: frozenset[Feature]) -> Formula:
    """The formula with its variables fixed, as far as rows of these features allow."""
    builder = FormulaBuilder(formula)
    for rows, write in (
        (formula.clauses(), builder.clause),
        (formula.cardinalities(), builder.cardinality),
        (formula.linears(), builder.linear),
        (formula.differences(), builder.difference),
    ):
        for row in rows:
            write(*row)
    for variable, value in enumerate(assignment.booleans.tolist()[1:], start=1):
        literal = variable if value else -variable
        if Feature.CLAUSE in features:
            builder.clause([literal])
        elif Feature.CARDINALITY in features:
            builder.exactly([literal], 1)
        elif Feature.PSEUDO_BOOLEAN in features:
            builder.linear([1], [literal], low=1)
    if Feature.LINEAR in features:
        for integer, value in enumerate(assignment.integers.tolist()):
            builder.linear([], [], [1], [integer], low=value, high=value)
    return builder.build()


def check_random_formulas(candidate: BackendUnderTest) -> None:
    """200 random formulas of the features that it claims get the verdict of an enumeration."""
    for seed in range(_RANDOM_FORMULAS):
        formula = random_formula(seed, candidate.record.features)
        candidate.expect(formula, f"random formula {seed}")


def check_integer_bounds(candidate: BackendUnderTest) -> None:
    """Bounds of integers are kept, and can make a formula unsat by themselves."""
    features = candidate.record.features
    if Feature.INTEGER not in features:
        return
    for end, satisfiable in ((4, True), (3, False)):
        upper, lower = FormulaBuilder(), FormulaBuilder()
        highs = [upper.integer(-9, end) for _ in range(3)]
        lows = [lower.integer(-end, 9) for _ in range(3)]
        if Feature.LINEAR in features:
            upper.linear([], [], [1, 1, 1], highs, low=12)
            lower.linear([], [], [1, 1, 1], lows, high=-12)
        elif Feature.DIFFERENCE in features:
            upper.difference(upper.integer(4, 4), 0, highs[0])
            lower.difference(lows[0], 0, lower.integer(-4, -4))
        else:
            return
        candidate.expect(upper.build(), f"integers up to {end}", satisfiable=satisfiable)
        candidate.expect(lower.build(), f"integers from {-end}", satisfiable=satisfiable)


def check_time_limit(candidate: BackendUnderTest) -> None:
    """Hard formulas within a tiny time limit get the right verdict or unknown, and in time.

    The answer is never unsat for a formula that only takes longer.  Unknown comes with the reason,
    and the backend works as before afterwards.
    """
    features = candidate.record.features
    formulas = ((pigeonhole(13, features), Verdict.UNSAT), (planted(450, features), Verdict.SAT))
    candidate.solve(pigeonhole(2, features))  # the worker is started
    for formula, right in formulas:
        for seconds in (0.3, 0.001):
            _expect_in_time(candidate, formula, right, Limits(seconds=seconds))
    candidate.expect(pigeonhole(2, features), "after a limit", satisfiable=False)


def check_time_limit_by_itself(candidate: BackendUnderTest) -> None:
    """On formulas that take any solver long it stops by itself, with threads and a seed, too.

    Otherwise its process would be ended later and loaded again, and its statistics would be lost.
    """
    features = candidate.record.features
    for formula in (market_split(features), planted(470, features)):
        for limits in (Limits(seconds=0.5), Limits(seconds=0.1, threads=2, seed=7)):
            _expect_in_time(candidate, formula, Verdict.SAT, limits)


def _expect_in_time(
    candidate: BackendUnderTest, formula: Formula, right: Verdict, limits: Limits
) -> None:
    """Demands the right verdict, or unknown for lack of time; `solve` checks the clock."""
    outcome = candidate.solve(formula, limits)
    kit.demand(
        outcome.verdict in (right, Verdict.UNKNOWN),
        f"it answered {outcome.verdict} under a limit of {limits.seconds} s, but the right "
        f"answer is {right}",
    )
    kit.demand(
        outcome.verdict is right or outcome.reason is StopReason.TIME_LIMIT,
        f"its time was over, but its reason is {outcome.reason} ({outcome.message})",
    )


def check_limits(candidate: BackendUnderTest) -> None:
    """Any seed, several threads, no time limit and a generous memory limit change no verdict."""
    features = candidate.record.features
    limits = [Limits(seconds=SECONDS, seed=seed) for seed in (1, 12345, (1 << 31) - 1, 1 << 40)]
    limits += [Limits(seconds=SECONDS, threads=threads) for threads in (1, 2, 1)]
    limits += [Limits(), Limits(memory_bytes=8 << 30)]
    for limit in limits:
        candidate.expect(pigeonhole(3, features), f"{limit}", limit, satisfiable=False)
        candidate.expect(_satisfiable(features), f"{limit}", limit, satisfiable=True)


def _satisfiable(features: frozenset[Feature]) -> Formula:
    """A fixed formula, large enough that threads have work."""
    seeds = range(1000)
    formulas = (random_formula(seed, features, most_rows=6) for seed in seeds)
    return next(f for f in formulas if f.size().constraints >= 3 and len(brute_force_models(f)) > 0)


def check_options(candidate: BackendUnderTest) -> None:
    """Every default, choice and end of a range works."""
    record = candidate.record
    for option in record.options:
        for value in kit.values(option):
            settings = {option.name: value}
            name = f"option {option.name} = {value}"
            unsat = pigeonhole(3, record.features)
            candidate.expect(unsat, name, options=settings, satisfiable=False)
            sat = _satisfiable(record.features)
            candidate.expect(sat, name, options=settings, satisfiable=True)


def check_seconds(candidate: BackendUnderTest) -> None:
    """An outcome states the time of loading and solving, and statistics are numbers."""
    features = candidate.record.features
    for formula in (pigeonhole(3, features), _satisfiable(features)):
        outcome = candidate.solve(formula)
        for phase in ("load", "solve"):
            seconds = outcome.seconds.get(phase)
            kit.demand(seconds is not None, f"its seconds lack {phase!r}: {dict(outcome.seconds)}")
            kit.demand(seconds is None or 0 <= seconds < SECONDS, f"{phase} took {seconds} s")
        for name, value in outcome.statistics.items():
            kit.demand(
                isinstance(value, int | float), f"statistic {name} is {value!r}, not a number"
            )


def check_proofs(candidate: BackendUnderTest) -> None:
    """A backend that claims to write proofs does so for unsat clauses, and they are right."""
    if not candidate.record.writes_proofs:
        return
    builder = FormulaBuilder()
    one = builder.boolean()
    builder.clause([one])
    builder.clause([-one])
    for formula in (pigeonhole(4, frozenset({Feature.CLAUSE})), builder.build()):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder).resolve() / "proof"
            outcome = candidate.solve(formula, Limits(seconds=SECONDS, proof=file))
            kit.demand(
                outcome.verdict is Verdict.UNSAT, f"clauses that are unsat: {outcome.verdict}"
            )
            kit.demand(outcome.proof == file and file.is_file(), "it wrote no proof into the file")
            lines = file.read_text(encoding="latin-1").splitlines()
        clauses = [list(clause.literals) for clause in formula.clauses()]
        checked = check_rup(formula.num_booleans, clauses, lines)
        kit.demand(checked.proved, f"its proof fails in line {checked.line}: {checked.message}")


BACKEND_CHECKS = kit.checks_of(__name__, light_record=kit.check_light)
"""Every check by its name."""


def check_backend(record: BackendRecord) -> list[kit.Failure]:
    """Runs every check and returns the failures; an empty list is a pass."""
    with closing(BackendUnderTest(record)) as candidate:
        return kit.failures(BACKEND_CHECKS, candidate)


class BackendConformance(kit.Conformance, checks=BACKEND_CHECKS):
    """The checks as tests: subclass it and set `record`."""

    record: ClassVar[BackendRecord]

    _candidate: ClassVar[BackendUnderTest]

    @classmethod
    def setup_class(cls) -> None:
        """Starts the worker."""
        cls._candidate = BackendUnderTest(cls.record)

    @classmethod
    def teardown_class(cls) -> None:
        """Ends the worker."""
        cls._candidate.close()

    def subject(self) -> BackendUnderTest:
        """The backend, with its worker."""
        return self._candidate
