"""A command keeps to its share of memory, names the work it left out, and continues."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from syncoll import memory
from syncoll.errors import UsageError
from syncoll.memory import MemoryBudget
from syncoll.routing import as_topology

Run = Callable[..., Any]

MIB = 1 << 20

LIMITED = """
import resource, sys
import psutil, syncoll.bounding, syncoll.searching
from syncoll.cli.main import main

taken = psutil.Process().memory_info().vms
resource.setrlimit(resource.RLIMIT_AS, (taken + int(sys.argv[1]) * 2**20,) * 2)
sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs a limit that the system keeps")
def test_work_beyond_the_systems_limit_is_left_out(tmp_path: Path) -> None:
    limits = ("--strategy", "paper", "--k", "60", "--max-steps", "8", "--max-chunks", "4")
    arguments = ("pareto", "torus(8,8)", "allgather", *limits, "--seeds", "all_pairs")
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, "700", *arguments, "-o", "kept.json"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "SYNCOLL_STORE": "none", "OPENBLAS_NUM_THREADS": "1"},
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert "verified point" in done.stdout
    assert "memory" in done.stdout.partition("Not settled:")[2], done.stdout
    assert "a formula did not fit in memory: the formula for C = " in done.stderr, done.stderr
    assert done.stderr.count("a formula did not fit") == 1
    assert (tmp_path / "kept.json").exists()


def test_a_worker_over_the_commands_limit_ends_undecided(process: Run) -> None:
    hard = ("dgx1", "alltoall", "-C", "24", "-S", "8", "-R", "7", "--backend", "cpsat")
    result = process("solve", *hard, "--memory-limit", "200MB", "--time-limit", "60")
    assert result.code == 3, result
    assert "memory limit" in result.out
    # Its own limit is the command's; the first check ends it.
    assert "191 MiB" in result.out


def test_a_limit_below_the_least_is_refused(run: Run) -> None:
    result = run("solve", "ring(4)", "allgather", "-C1", "-S2", "-R2", "--memory-limit", "20MB")
    assert result.code == 2
    assert "--memory-limit 19 MiB" in result.err
    assert "give it more" in result.err


class TestBudget:
    def test_the_default_is_half_of_free_memory(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(memory, "free_bytes", lambda: 4000 * MIB)
        budget = MemoryBudget.of_this_process()
        assert abs(budget.limit - budget.used() - 2000 * MIB) < 100 * MIB
        assert not budget.lacks(1000 * MIB, "it")
        assert "it would need about 2.9 GiB of memory" in budget.lacks(3000 * MIB, "it")

    def test_memory_of_other_processes_counts(self, monkeypatch: pytest.MonkeyPatch) -> None:
        budget = MemoryBudget.of_this_process(64 << 30)
        monkeypatch.setattr(memory, "free_bytes", lambda: 100 * MIB)
        assert budget.room() == 90 * MIB

    def test_the_largest_worker_goes(self, monkeypatch: pytest.MonkeyPatch) -> None:
        me = os.getpid()
        sizes = {me: 300 * MIB, -1: 500 * MIB, -2: 600 * MIB}
        monkeypatch.setattr(memory, "_look", lambda _: memory._Sample(time.monotonic(), sizes, -2))
        memory._forget_samples()
        budget = MemoryBudget.of_this_process(1000 * MIB)
        assert not budget.must_go(-1)
        assert "killed at 600 MiB" in budget.must_go(-2)
        assert not budget.exhausted()  # the end of a worker suffices
        assert budget.may_not_rest(-1)
        sizes[me], sizes[-1], sizes[-2] = 900 * MIB, 20 * MIB, 90 * MIB
        memory._forget_samples()  # all are of middle size, and the end of one helps
        assert "killed at 90 MiB" in budget.must_go(-2)
        assert not budget.exhausted()
        assert "this command has 1010 MiB" in budget.exceeded()
        sizes[me], sizes[-1], sizes[-2] = 2000 * MIB, 500 * MIB, 10 * MIB
        memory._forget_samples()
        assert not budget.must_go(-2)
        assert not budget.may_not_rest(-2)
        assert "this command has 2.5 GiB" in budget.exhausted()
        memory._forget_samples()

    def test_control_groups(self, tmp_path: Path) -> None:
        for name, text in {
            "memory.max": "1000\n",
            "memory.current": "700\n",
            "memory.stat": "anon 500\ninactive_file 150\n",
        }.items():
            (tmp_path / name).write_text(text)
        names = ("memory.max", "memory.current", "inactive_file")
        assert memory._left_in_group(tmp_path, *names) == 450
        (tmp_path / "memory.max").write_text("max\n")
        assert memory._left_in_group(tmp_path, *names) is None

    def test_a_refusal_is_reported_once(self) -> None:
        messages: list[str] = []
        with memory.command(None, messages.append):
            memory.on_refusal("too large")
            memory.on_refusal("too large")
            assert memory.budget().pid == os.getpid()
        assert messages == ["too large"]
        with pytest.raises(UsageError, match="give it more"), memory.command(MIB):
            pass


class TestGuard:
    def test_the_main_thread_is_interrupted(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(memory, "_GUARD_SECONDS", 0.02)
        monkeypatch.setattr(MemoryBudget, "exhausted", lambda _: "too much")
        waiting = threading.Event()
        with pytest.raises(MemoryError, match="too much"), memory.command():
            waiting.wait(60)  # a lock that is never released

    def test_where_the_end_of_workers_does_not_help(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(memory, "_GUARD_SECONDS", 0.02)
        monkeypatch.setattr(memory, "_RELIEF_SECONDS", 0.1)
        monkeypatch.setattr(MemoryBudget, "exhausted", lambda _: "")
        monkeypatch.setattr(MemoryBudget, "exceeded", lambda _: "still too much")
        waiting = threading.Event()
        with pytest.raises(MemoryError, match="still too much"), memory.command():
            waiting.wait(60)

    @pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="the system has no such signal")
    def test_a_late_signal_is_its_own(self) -> None:
        """A signal that arrives late, even after the end, is not passed to other handlers."""
        others: list[int] = []
        before = signal.signal(signal.SIGUSR1, lambda number, _: others.append(number))
        try:
            guard = memory._Guard()
            guard._ended.set()
            guard._sent = 1  # a signal at the last moment
            late = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGUSR1))
            late.start()
            guard.end()
            late.join()
            assert guard._received == 1
            assert not others
            os.kill(os.getpid(), signal.SIGUSR1)
            assert others == [signal.SIGUSR1]
            guard._tell("too late")
            assert guard._sent == 1
        finally:
            signal.signal(signal.SIGUSR1, before)

    def test_the_guard_ends_before_saving(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(memory, "_GUARD_SECONDS", 0.02)
        monkeypatch.setattr(MemoryBudget, "exhausted", lambda _: "too much")
        with memory.command():
            memory.end_guard()
            time.sleep(0.1)

    def test_a_search_keeps_its_points(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        def exhausted(*_: object, **__: object) -> None:
            raise MemoryError("this command has 9.0 GiB, and its limit is 8.0 GiB")

        monkeypatch.setattr("syncoll.solving.Solver.solve", exhausted)
        seed = ("--seeds", "all_pairs", "-o", "kept.json")
        result = run("pareto", "hypercube(3)", "allgather", *seed)
        assert result.code == 0
        assert "out of memory" in result.out.partition("Not settled:")[2]
        assert result.err.count("out of memory: this command has 9.0 GiB") == 1
        assert Path("kept.json").exists()


def test_estimates_of_formulas_are_near_their_sizes() -> None:
    from syncoll.plugins import EstimatesSize, resolve_options
    from syncoll.session import Session

    session = Session()
    plugins, specs = session.plugins, session.specs
    for topology, collective, numbers, name in (
        ("torus(4,4)", "allgather", (2, 5, 9), "step"),
        ("dgx1", "alltoall", (8, 3, 8), "step"),
        ("ring(6)", "broadcast", (3, 6, 18), "path"),
        ("ring(5)", "reducescatter", (5, 4, 6), "partial"),
    ):
        chunks, steps, rounds = numbers
        instance = specs.collective(collective).instantiate(
            as_topology(specs.topology(topology)), chunks=chunks, steps=steps, rounds=rounds
        )
        record = plugins.encodings[name]
        encoding, options = record.load(), resolve_options(record.options, {}, name)
        assert isinstance(encoding, EstimatesSize)
        real = encoding.encode(instance, options).formula.size().literals
        assert 0.95 * real <= encoding.literals(instance, options) <= 2 * real


def test_relaxations_are_counted_before_they_are_built() -> None:
    from syncoll.bounding.network import TimeExpandedNetwork
    from syncoll.model import Topology

    links = dict.fromkeys([(0, 1), (1, 2), (2, 0), (2, 3), (3, 1), (0, 4)], 1)
    topology = Topology.from_links("odd", 5, links)
    for steps in (None, 1, 2, 4):
        network = TimeExpandedNetwork.of(topology, steps)
        for sources in ((0,), (1, 3), (4,)):
            counts = [len(network.useful(sources, d)) for d in range(5)]
            assert np.array_equal(network.useful_counts(sources), counts)
