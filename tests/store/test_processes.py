"""Several processes at one store, and processes that are killed."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from syncoll.model import Instance
from syncoll.store import Store, StoredAnswer
from syncoll.testing.instances import random_case
from syncoll.trust import require_valid

Answer = Callable[..., StoredAnswer]

KEEPS = textwrap.dedent(
    """
    import random, sys
    from pathlib import Path
    from syncoll.formula import FormulaSize, Limits, Verdict
    from syncoll.store import Store, StoredAnswer
    from syncoll.testing.instances import random_case

    path, first, count, pause = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]
    size = FormulaSize(1, 2, 3, 4, 5, 6, 7, frozenset())
    if pause:
        print("ready", flush=True)
        sys.stdin.readline()
    with Store.open(path) as store:
        for seed in range(first, first + count):
            instance, algorithm = random_case(random.Random(seed))
            answer = StoredAnswer(Verdict.SAT, algorithm, "e", "b", size, size)
            assert store.keep_answer(instance, str(seed), answer)
            print(seed, flush=True)
    """
)


def started(path: Path, first: int, count: int, *pause: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", KEEPS, str(path), str(first), str(count), *pause],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def case(seed: int) -> Instance:
    return random_case(random.Random(seed))[0]


def require_all(path: Path, seeds: list[int]) -> None:
    with Store.open(path) as store:
        for seed in seeds:
            found = store.answer(case(seed), str(seed))
            assert found is not None, seed
            assert found.algorithm is not None
            require_valid(case(seed), found.algorithm)
        assert store.dropped == 0


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_acknowledged_answers_survive_a_kill(path: Path) -> None:
    acknowledged: list[int] = []
    for i, enough in enumerate((1, 17, 60)):
        process = started(path, 10_000 * i, 10_000)
        assert process.stdout is not None
        for line in process.stdout:
            acknowledged.append(int(line))
            if len(acknowledged) >= enough:
                break
        process.kill()
        rest, _ = process.communicate()
        # A line that was cut off may not have been read.
        acknowledged += [int(line) for line in rest.splitlines(keepends=True) if line[-1:] == "\n"]
        assert process.returncode == -signal.SIGKILL
        require_all(path, acknowledged)
    assert len(acknowledged) >= 60


def test_processes_write_at_once(path: Path) -> None:
    """All make the store, and write into it, at the same time."""
    processes = [started(path, 1_000 * k, 40, "pause") for k in range(4)]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    for process in processes:
        lines, _ = process.communicate(timeout=60)
        assert process.returncode == 0
        assert len(lines.splitlines()) == 40
    require_all(path, [1_000 * k + i for k in range(4) for i in range(40)])


def test_answers_of_another_process_are_seen(path: Path) -> None:
    with Store.open(path) as store:
        assert store.answer(case(3), "3") is None
        process = started(path, 3, 1)
        process.communicate(timeout=60)
        assert store.answer(case(3), "3") is not None


def test_a_writer_waits_for_another(path: Path, answer: Answer) -> None:
    instance, algorithm = random_case(random.Random(0))
    holds = textwrap.dedent(
        """
        import sqlite3, sys
        other = sqlite3.connect(sys.argv[1], isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        print("locked", flush=True)
        sys.stdin.readline()
        other.execute("COMMIT")
        """
    )
    with Store.open(path, patience=120) as store:
        process = subprocess.Popen(
            [sys.executable, "-c", holds, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "locked\n"
        released = threading.Event()

        def release() -> None:
            released.set()
            process.communicate("\n")

        timer = threading.Timer(0.3, release)
        timer.start()
        assert store.keep_answer(instance, "x", answer(algorithm))
        assert released.is_set()
        timer.join()
