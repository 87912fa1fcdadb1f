from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from syncoll.formula import FormulaSize, Limits, StopReason, Verdict
from syncoll.model import Algorithm
from syncoll.store import Store, StoredAnswer

SIZE = FormulaSize(1, 2, 3, 4, 5, 6, 7, frozenset())


def _answer(
    algorithm: Algorithm | None = None,
    verdict: Verdict | None = None,
    reason: StopReason | None = None,
    **limits: object,
) -> StoredAnswer:
    if verdict is None:
        verdict = Verdict.UNSAT if algorithm is None else Verdict.SAT
    if reason is None:
        reason = StopReason.TIME_LIMIT if verdict is Verdict.UNKNOWN else StopReason.DECIDED
    return StoredAnswer(
        verdict,
        algorithm,
        "an encoding",
        "a backend",
        SIZE,
        SIZE,
        {"solve": 1.5, "load": 0.1},
        "details — for people",
        reason,
        Limits(**limits),  # type: ignore[arg-type]
    )


@pytest.fixture(scope="session")
def answer() -> Callable[..., StoredAnswer]:
    return _answer


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.sqlite"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    def fail(text: str) -> None:
        raise AssertionError(text)

    with Store.open(path, on_trouble=fail) as store:
        yield store
