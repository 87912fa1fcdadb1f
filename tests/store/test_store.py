"""Kept rows are found again; changed rows are dropped; errors end no search."""

from __future__ import annotations

import os
import random
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from syncoll.errors import UsageError
from syncoll.formula import Limits, StopReason, Verdict
from syncoll.model import Algorithm
from syncoll.store import Store, StoredAnswer, default_path
from syncoll.store.packing import pack_algorithm, unpack_algorithm
from syncoll.testing.instances import random_case, random_instance

Answer = Callable[..., StoredAnswer]


def change(path: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement, values)


def test_answers_come_back(store: Store, answer: Answer) -> None:
    combining = 0
    for seed in range(80):
        instance, algorithm = random_case(random.Random(seed))
        combining += instance.combining
        kept = answer(algorithm)
        assert store.answer(instance, f"{seed}") is None
        assert store.keep_answer(instance, f"{seed}", kept)
        back = store.answer(instance, f"{seed}")
        assert back is not None
        assert back.algorithm == algorithm
        for name in ("verdict", "encoding", "backend", "seconds", "size", "message", "reason"):
            assert getattr(back, name) == getattr(kept, name)
        assert store.answer(instance, "somebody else") is None
    assert combining >= 20
    assert store.dropped == 0


def test_unsat_comes_back(store: Store, answer: Answer) -> None:
    instance = random_instance(0)
    store.keep_answer(instance, "x", answer())
    found = store.answer(instance, "x")
    assert found is not None
    assert found.verdict is Verdict.UNSAT
    assert found.algorithm is None


@pytest.mark.parametrize(
    ("then", "now", "serves"),
    [
        ({"seconds": 10.0}, {"seconds": 10.0}, True),
        ({"seconds": 10.0}, {"seconds": 3.0}, True),
        ({"seconds": 10.0}, {"seconds": 10.5}, False),
        ({"seconds": 10.0}, {}, False),
        ({"seconds": 10.0, "threads": 4}, {"seconds": 10.0, "threads": 2}, True),
        ({"seconds": 10.0, "threads": 2}, {"seconds": 10.0, "threads": 4}, False),
        ({"seconds": 10.0}, {"seconds": 9.0, "memory_bytes": 1 << 30}, True),
        ({"seconds": 10.0, "memory_bytes": 1 << 30}, {"seconds": 9.0}, False),
        (
            {"seconds": 10.0, "memory_bytes": 1 << 30},
            {"seconds": 9.0, "memory_bytes": 1 << 31},
            False,
        ),
        ({"seconds": 10.0, "seed": 1}, {"seconds": 9.0, "seed": 2}, False),
        ({"seconds": 10.0}, {"seconds": 9.0, "proof": Path("p")}, False),
    ],
)
def test_an_unknown_serves_within_its_limits(
    store: Store, answer: Answer, then: Any, now: Any, serves: bool
) -> None:
    instance = random_instance(0)
    assert store.keep_answer(instance, "x", answer(verdict=Verdict.UNKNOWN, **then))
    found = store.answer(instance, "x", Limits(**now))
    assert (found is not None) == serves
    assert store.answer(instance, "x") is None  # without a limit nothing is out of time
    assert store.describe().unknown == 1  # it stays for searches with less time


def test_unsat_is_no_answer_if_a_proof_is_requested(store: Store, answer: Answer) -> None:
    instance, algorithm = random_case(random.Random(2))
    proof = Limits(proof=Path("p"))
    store.keep_answer(instance, "x", answer())
    assert store.answer(instance, "x", proof) is None
    assert store.answer(instance, "x") is not None
    store.keep_answer(instance, "x", answer(algorithm))
    assert store.answer(instance, "x", proof) is not None
    unknown = answer(verdict=Verdict.UNKNOWN, seconds=5.0, proof=Path("p"))
    assert not store.keep_answer(instance, "y", unknown)


@pytest.mark.parametrize(
    "reason", [r for r in StopReason if r not in (StopReason.DECIDED, StopReason.TIME_LIMIT)]
)
def test_no_other_unknown_is_kept(store: Store, answer: Answer, reason: StopReason) -> None:
    instance = random_instance(0)
    kept = answer(verdict=Verdict.UNKNOWN, reason=reason, seconds=5.0)
    assert not store.keep_answer(instance, "x", kept)
    assert not store.keep_answer(instance, "x", answer(verdict=Verdict.UNKNOWN))  # no time given
    assert store.describe().answers == 0


def test_a_better_answer_takes_the_place_of_a_worse_one(store: Store, answer: Answer) -> None:
    instance, algorithm = random_case(random.Random(2))
    unknown = [answer(verdict=Verdict.UNKNOWN, seconds=s) for s in (5.0, 9.0, 2.0)]

    def now() -> Verdict:
        found = store.answer(instance, "x", Limits(seconds=9.0))
        assert found is not None
        return found.verdict

    for each in unknown:
        store.keep_answer(instance, "x", each)
    assert now() is Verdict.UNKNOWN  # that after 9 seconds
    store.keep_answer(instance, "x", answer())
    assert now() is Verdict.UNSAT
    store.keep_answer(instance, "x", unknown[1])
    assert now() is Verdict.UNSAT
    store.keep_answer(instance, "x", answer(algorithm))
    assert now() is Verdict.SAT
    store.keep_answer(instance, "x", answer())
    store.keep_answer(instance, "x", unknown[1])
    assert now() is Verdict.SAT
    assert store.describe().answers == 1


TAMPERED = {
    "verdict": ("UPDATE answers SET verdict = 'unsat'", ()),
    "an algorithm removed": ("UPDATE answers SET verdict = 'unsat', algorithm = NULL", ()),
    "details": ("UPDATE answers SET details = replace(details, 'a backend', 'mine')", ()),
    "no details": ("UPDATE answers SET details = '{'", ()),
    "algorithm": ("UPDATE answers SET algorithm = ?", (b"\x01nonsense",)),
    "digest": ("UPDATE answers SET digest = ?", (b"0" * 32,)),
    "types": ("UPDATE answers SET verdict = 3, algorithm = 4, details = 5, digest = 6", ()),
}


@pytest.mark.parametrize("how", TAMPERED)
def test_a_changed_row_is_dropped(store: Store, path: Path, answer: Answer, how: str) -> None:
    instance, algorithm = random_case(random.Random(4))
    store.keep_answer(instance, "x", answer(algorithm))
    statement, values = TAMPERED[how]
    change(path, statement, *values)
    assert store.answer(instance, "x") is None
    assert store.dropped == 1
    assert store.describe().answers == 0
    assert store.keep_answer(instance, "x", answer(algorithm))
    assert store.answer(instance, "x") is not None


def test_a_wrong_algorithm_is_dropped_though_its_row_is_whole(store: Store, answer: Answer) -> None:
    dropped = 0
    for seed in range(30):
        instance, algorithm = random_case(random.Random(seed))
        if not len(algorithm.sends):
            continue
        rows = algorithm.contributions
        without = Algorithm(
            algorithm.rounds_per_step, algorithm.sends[1:], None if rows is None else rows[1:]
        )
        store.keep_answer(instance, f"{seed}", answer(without))
        assert store.answer(instance, f"{seed}") is None
        dropped += 1
        assert store.dropped == dropped
        assert store.describe().answers == 0
    assert dropped >= 20


def test_algorithms_of_another_question_are_dropped(store: Store, answer: Answer) -> None:
    """A forged row, digest included, whose numbers do not fit the question."""
    instance, _ = random_case(random.Random(4))
    question = "x"
    for sends in ([[99, 0, 1, 0]], [[0, 99, 1, 0]], [[0, -1, 1, 0]], [[0, 0, 1, 99]]):
        algorithm = Algorithm((1,) * instance.steps, sends)  # type: ignore[arg-type]
        store.keep_answer(instance, question, answer(algorithm))
        assert store.describe().answers == 1
        assert store.answer(instance, question) is None
        assert store.describe().answers == 0


def test_packing_is_exact_and_small() -> None:
    for seed in range(60):
        _, algorithm = random_case(random.Random(seed))
        data = pack_algorithm(algorithm)
        assert unpack_algorithm(data) == algorithm
    rng = random.Random(0)
    rows = [[rng.randrange(100_000), n % 300, (n + 1) % 300, n % 7] for n in range(20_000)]
    large = Algorithm((5,) * 7, rows)  # type: ignore[arg-type]
    data = pack_algorithm(large)
    assert unpack_algorithm(data) == large
    assert len(data) < 20_000 * 6
    wide = Algorithm((2**70,), [[2**40, 0, 1, 0]])  # type: ignore[arg-type]
    assert unpack_algorithm(pack_algorithm(wide)) == wide


def test_describe_and_clear(store: Store, path: Path, answer: Answer) -> None:
    for seed in range(40):
        instance, algorithm = random_case(random.Random(seed))
        store.keep_answer(instance, "sat", answer(algorithm))
        store.keep_answer(instance, f"unsat {seed}", answer())
        store.keep_answer(instance, f"{seed}", answer(verdict=Verdict.UNKNOWN, seconds=1.0))
    full = store.describe()
    assert full.path == path
    assert (full.unsat, full.unknown, full.certificates) == (40, 40, 0)
    assert 20 <= full.sat <= 40
    assert full.answers == full.sat + 80
    store.clear()
    empty = store.describe()
    assert empty.answers == 0
    assert empty.bytes < full.bytes
    assert store.answer(instance, "sat") is None
    assert store.keep_answer(instance, "sat", answer(algorithm))


def test_threads_may_share_a_store(store: Store, answer: Answer) -> None:
    cases = [random_case(random.Random(seed)) for seed in range(40)]
    wrong: list[object] = []

    def work(start: int) -> None:
        for i, (instance, algorithm) in enumerate(cases[start:] + cases[:start]):
            if not store.keep_answer(instance, f"{i % 3}", answer(algorithm)):
                wrong.append(i)
            if store.answer(instance, f"{i % 3}") is None:
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(10 * k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_the_default_place_is_the_users_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: Answer
) -> None:
    monkeypatch.setattr(
        "platformdirs.user_cache_path", lambda name: tmp_path / "not" / "yet" / name
    )
    assert default_path() == tmp_path / "not" / "yet" / "syncoll" / "store.sqlite"
    with Store.open() as store:
        store.keep_answer(random_instance(0), "x", answer())
    assert default_path().is_file()
    assert {p.name for p in default_path().parent.iterdir()} == {"store.sqlite"}


def test_a_closed_store_knows_nothing(path: Path, answer: Answer) -> None:
    store = Store.open(path)
    store.close()
    store.close()
    assert store.answer(random_instance(0), "x") is None
    assert not store.keep_answer(random_instance(0), "x", answer())
    with pytest.raises(UsageError, match="closed"):
        store.describe()


def test_a_store_that_stays_locked_is_reported_once(path: Path, answer: Answer) -> None:
    messages: list[str] = []
    instance = random_instance(0)
    with (
        Store.open(path, on_trouble=messages.append, patience=0.05) as store,
        closing(sqlite3.connect(path, isolation_level=None)) as other,
    ):
        assert store.keep_answer(instance, "x", answer())
        other.execute("BEGIN IMMEDIATE")
        assert store.answer(instance, "x") is not None  # readers do not wait for a writer
        for _ in range(3):
            assert not store.keep_answer(instance, "y", answer())
            assert store.answer(instance, "x") is None
        other.execute("ROLLBACK")
        assert not store.keep_answer(instance, "y", answer())
        with pytest.raises(UsageError, match="going on without"):
            store.describe()
    assert len(messages) == 1
    assert str(path) in messages[0]
    assert "locked by another process" in messages[0]
    assert store.trouble == messages[0]


def test_a_full_disk_is_reported_once(path: Path, answer: Answer) -> None:
    messages: list[str] = []
    with Store.open(path, on_trouble=messages.append) as store:
        connection = store.connection
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")  # as good as a full disk
        kept = [store.keep_answer(random_instance(0), f"{i}" * 500, answer()) for i in range(200)]
    assert not all(kept)
    assert kept == sorted(kept, reverse=True)  # after the first failure nothing is tried
    assert len(messages) == 1
    assert "disk is full" in messages[0]
    with Store.open(path) as store:  # and the kept rows are there
        assert store.describe().unsat == sum(kept)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_device_is_no_store() -> None:
    with pytest.raises(UsageError, match="/dev/full"):
        Store.open(Path("/dev/full"))


def test_without_a_callback_trouble_is_a_warning(path: Path, answer: Answer) -> None:
    with Store.open(path) as store:
        change(path, "DROP TABLE answers")
        with pytest.warns(RuntimeWarning, match="going on without the store"):
            assert store.answer(random_instance(0), "x") is None


def test_damage_while_open_ends_no_search(
    path: Path, answer: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("syncoll.store.schema._CHECKED_BYTES", -1)  # else all of it is in memory
    messages: list[str] = []
    instance, algorithm = random_case(random.Random(1))
    with Store.open(path) as store:
        for i in range(200):
            store.keep_answer(instance, f"{i}", answer(algorithm))
    with Store.open(path, on_trouble=messages.append) as store:
        size = path.stat().st_size
        with path.open("r+b") as file:
            file.seek(4096)
            file.write(os.urandom(size - 4096))
        found = [store.answer(instance, f"{i}") for i in range(200)]
        assert None in found
        for each in found:
            assert each is None or each.algorithm is not None
    assert len(messages) <= 1
    assert messages or store.dropped
