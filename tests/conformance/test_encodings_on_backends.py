"""Every encoding, with every choice of its options, on every backend: one truth."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import NamedTuple

import pytest

from syncoll.formula import Limits, StopReason, Verdict
from syncoll.model import Instance
from syncoll.plugins import EncodingRecord, PluginManager
from syncoll.solving import Solver
from syncoll.testing.brute_force import TooLargeError, has_algorithm
from syncoll.testing.instances import random_instance
from syncoll.trust import violations

REQUIRED_BACKENDS = {"cpsat", "highs", "pysat", "z3"}
REQUIRED_ENCODINGS = {"path", "step"}

SMALL, LARGER, GIVEN = 40, 4, 8

MANAGER = PluginManager.discover()


class Case(NamedTuple):
    name: str
    instance: Instance
    truth: bool | None
    """None where it is too large for brute force."""


def truth_of(instance: Instance) -> bool | None:
    try:
        return has_algorithm(instance)
    except TooLargeError:
        return None


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    small = [(f"small {seed}", random_instance(seed)) for seed in range(SMALL)]
    larger = [
        (f"larger {seed}", random_instance(seed, least_nodes=4, most_nodes=6, most_chunks=8))
        for seed in range(LARGER)
    ]
    rng = random.Random(2)
    fixed = [
        (f"{name}, given rounds", replace(instance, rounds_per_step=distributed(rng, instance)))
        for name, instance in small[:GIVEN]
        if instance.steps
    ]
    return [Case(name, instance, truth_of(instance)) for name, instance in small + larger + fixed]


def distributed(rng: random.Random, instance: Instance) -> tuple[int, ...]:
    """R in S random parts."""
    steps = [rng.randrange(instance.steps) for _ in range(instance.rounds)]
    return tuple(steps.count(step) for step in range(instance.steps))


@pytest.fixture(scope="module")
def answers() -> dict[str, tuple[Verdict, str]]:
    """The first verdict on each case that brute force did not settle, with the name of its pair."""
    return {}


def choices(record: EncodingRecord) -> Iterator[dict[str, object]]:
    """Every combination of the options that have a list of values."""
    finite = {
        option.name: list(option.choices) or [False, True]
        for option in record.options
        if option.choices or isinstance(option.default, bool)
    }
    for values in product(*finite.values()):
        yield dict(zip(finite, values, strict=True))


PAIRS = [
    pytest.param(
        encoding.name,
        options,
        backend,
        id="-".join([encoding.name, *(str(value) for value in options.values()), backend]),
    )
    for backend in sorted(MANAGER.backends)
    for encoding in MANAGER.encodings.values()
    if not encoding.combining
    for options in choices(encoding)
]


def test_nothing_is_missing() -> None:
    assert set(MANAGER.encodings) >= REQUIRED_ENCODINGS
    assert set(MANAGER.backends) >= REQUIRED_BACKENDS
    for name in REQUIRED_BACKENDS:
        assert MANAGER.backends[name].installed().ok
        assert MANAGER.backends[name].licensed().ok
    for name in REQUIRED_ENCODINGS:
        symmetry = {options["symmetry"] for options in choices(MANAGER.encodings[name])}
        assert {"none", "arrival"} <= symmetry


def test_the_cases_are_not_trivial(cases: list[Case]) -> None:
    known = [case for case in cases if case.truth is not None]
    assert len(known) >= 40
    satisfiable = [case.instance for case in known if case.truth]
    assert 0.25 * len(known) <= len(satisfiable) <= 0.75 * len(known)
    # Nor are they trivial: without enough steps, or with nothing to do.
    hard = [
        case.truth
        for case in known
        if case.instance.least_steps <= case.instance.steps
        and case.instance.rounds > 0
        and (case.instance.post & ~case.instance.pre).any()
    ]
    assert hard.count(True) >= 8
    assert hard.count(False) >= 9


@pytest.mark.parametrize(("encoding", "options", "backend"), PAIRS)
def test_agrees_with_brute_force(
    encoding: str,
    options: dict[str, object],
    backend: str,
    cases: list[Case],
    answers: dict[str, tuple[Verdict, str]],
) -> None:
    record = MANAGER.backends[backend]
    for answer in (record.installed(), record.licensed()):
        if not answer.ok and backend not in REQUIRED_BACKENDS:
            pytest.skip(answer.reason)
    me, refused = f"{encoding} {options} on {backend}", 0
    with Solver(
        MANAGER,
        encoding=encoding,
        backend=backend,
        encoding_options=options,
        limits=Limits(seconds=60, threads=1),
    ) as solver:
        for case in cases:
            solution = solver.solve(case.instance)
            if solution.outcome.reason is StopReason.LICENCE and backend not in REQUIRED_BACKENDS:
                refused += 1
                continue
            assert solution.outcome.reason is StopReason.DECIDED, (case, solution.outcome)
            if case.truth is None:
                first, who = answers.setdefault(case.name, (solution.verdict, me))
                assert solution.verdict is first, f"{case}: {me} says otherwise than {who}"
            else:
                assert (solution.verdict is Verdict.SAT) == case.truth, case
            if solution.verdict is Verdict.SAT:
                assert solution.algorithm is not None
                assert violations(case.instance, solution.algorithm) == []
            else:
                assert solution.algorithm is None
    assert refused <= len(cases) // 4, "the licence leaves too few cases for a test"
