"""Several backends on one instance: one may misbehave, and the others still count."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import psutil
import pytest

from syncoll.errors import BackendError, OptionError, PluginError, UsageError
from syncoll.formula import Limits, Outcome, StopReason, Verdict
from syncoll.model import Instance
from syncoll.plugins import Option, PluginManager, Rank
from syncoll.solving import Solver
from syncoll.solving.portfolio import Reply, _require_agreement

Make = Callable[..., PluginManager]

pytestmark = pytest.mark.usefixtures("no_children")

NEVER = 600.0
"""A head start that outlasts any test."""


def pids(solver: Solver) -> dict[str, int | None]:
    return {name: member.process.pid for name, member in solver._members.items()}


class TestWhoAnswers:
    def test_the_second_joins_in_after_the_head_start(
        self, manager: Make, racers: Any, allgather: Instance
    ) -> None:
        plugins = manager(racers.record("one", "sleep"), racers.record("two"))
        with Solver(plugins, backend="one+two", head_start=0.3) as solver:
            slow = pids(solver)["one"]
            assert slow is not None
            began = time.perf_counter()
            solution = solver.solve(allgather)
            assert time.perf_counter() - began < 10
            assert (solution.verdict, solution.backend) == (Verdict.SAT, "two")
            assert solution.algorithm is not None
            assert solution.seconds["wait"] >= 0.3
            assert not psutil.pid_exists(slow)
            # Its next worker is being started already.
            assert pids(solver)["one"] not in (None, slow)
            assert solver.backend_name == "one+two"

    def test_an_easy_instance_costs_one_worker(
        self, manager: Make, racers: Any, allgather: Instance
    ) -> None:
        plugins = manager(racers.record("one"), racers.record("two", "refute"))
        with Solver(plugins, backend="one+two", head_start=NEVER) as solver:
            for _ in range(3):
                solution = solver.solve(allgather)
                assert (solution.verdict, solution.backend) == (Verdict.SAT, "one")
                assert solution.seconds["wait"] < 0.1
            assert pids(solver)["two"] is None

    def test_three(self, manager: Make, racers: Any, impossible: Instance) -> None:
        plugins = manager(
            racers.record("one", "sleep"), racers.record("two", "hold"), racers.record("three")
        )
        with Solver(plugins, backend="one+two+three", head_start=0.2) as solver:
            for _ in range(2):
                solution = solver.solve(impossible)
                assert (solution.verdict, solution.backend) == (Verdict.UNSAT, "three")
                assert solution.seconds["wait"] >= 0.4

    @pytest.mark.parametrize(
        "act", ["segfault", "leave", "die", "fail", "run_out", "give_up", "return_text"]
    )
    def test_an_undecided_one_makes_room_at_once(
        self, manager: Make, racers: Any, allgather: Instance, act: str
    ) -> None:
        plugins = manager(racers.record("one", act), racers.record("two"))
        with Solver(plugins, backend="one+two", head_start=NEVER) as solver:
            solution = solver.solve(allgather)
        assert (solution.verdict, solution.backend) == (Verdict.SAT, "two")

    @pytest.mark.parametrize("how", ["load_never", "load_and_crash"])
    def test_one_that_cannot_be_loaded(
        self, manager: Make, racers: Any, allgather: Instance, how: str
    ) -> None:
        broken = racers.record("one", load=getattr(racers, how))
        plugins = manager(broken, racers.record("two"))
        with Solver(plugins, backend="one+two", head_start=NEVER) as solver:
            assert solver.solve(allgather).backend == "two"

    def test_one_that_has_no_licence(self, manager: Make, racers: Any, allgather: Instance) -> None:
        small = racers.record("one", too_large="only 3 variables")
        plugins = manager(small, racers.record("two"))
        with Solver(plugins, backend="one+two", head_start=NEVER) as solver:
            assert solver.solve(allgather).backend == "two"

    def test_one_whose_worker_does_not_start(
        self, manager: Make, racers: Any, allgather: Instance, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        plugins = manager(racers.record("one", "give_up"), racers.record("two"))
        with Solver(plugins, backend="one+two", head_start=NEVER) as solver:

            def fail() -> None:
                raise BackendError("cannot start a worker process: no memory")

            monkeypatch.setattr(solver._members["two"].process, "start", fail)
            solution = solver.solve(allgather)
        assert solution.verdict is Verdict.UNKNOWN
        assert "one: gave up (too hard for me); two: crashed (cannot start a worker" in (
            solution.outcome.message
        )


class TestLimits:
    def test_memory_is_limited_for_each(
        self, manager: Make, racers: Any, allgather: Instance
    ) -> None:
        plugins = manager(racers.record("one", "eat"), racers.record("two"))
        limits = Limits(seconds=60, memory_bytes=400 << 20)
        with Solver(plugins, backend="one+two", limits=limits, head_start=NEVER) as solver:
            assert solver.solve(allgather).backend == "two"

    def test_all_share_one_time_limit(
        self, manager: Make, racers: Any, allgather: Instance
    ) -> None:
        plugins = manager(racers.record("one", "sleep"), racers.record("two"))
        limits = Limits(seconds=30, threads=4)
        with Solver(plugins, backend="one+two", limits=limits, head_start=0.5) as solver:
            statistics = solver.solve(allgather, seconds=20).outcome.statistics
        assert 15 < statistics["seconds"] <= 19.5
        assert statistics["threads"] == 3

    def test_time_runs_out_for_all(self, manager: Make, racers: Any, allgather: Instance) -> None:
        plugins = manager(racers.record("one", "sleep"), racers.record("two", "hold"))
        with Solver(plugins, backend="one+two", head_start=0.1) as solver:
            began = time.perf_counter()
            solution = solver.solve(allgather, seconds=0.5)
            assert time.perf_counter() - began < 5
        assert (solution.verdict, solution.outcome.reason) == (
            Verdict.UNKNOWN,
            StopReason.TIME_LIMIT,
        )
        assert solution.backend == "one+two"
        assert solution.outcome.message.count("time limit") == 2

    def test_no_backend_joins_in_when_the_time_is_over(
        self, manager: Make, racers: Any, allgather: Instance
    ) -> None:
        plugins = manager(racers.record("one", "sleep"), racers.record("two"))
        with Solver(plugins, backend="one+two", head_start=NEVER) as solver:
            solution = solver.solve(allgather, seconds=0.2)
            assert pids(solver)["two"] is None
        assert solution.outcome.reason is StopReason.TIME_LIMIT
        assert "two: no time was left" in solution.outcome.message


class TestNobodyAnswers:
    def test_every_reason_is_reported(
        self, manager: Make, racers: Any, allgather: Instance
    ) -> None:
        plugins = manager(
            racers.record("one", "segfault"),
            racers.record("two", "give_up"),
            racers.record("three", too_large="only 3 variables"),
        )
        with Solver(plugins, backend="one+two+three", head_start=NEVER) as solver:
            solution = solver.solve(allgather)
        outcome = solution.outcome
        assert (outcome.verdict, outcome.reason) == (Verdict.UNKNOWN, StopReason.GAVE_UP)
        assert solution.algorithm is None
        first = outcome.message.splitlines()[0]
        assert first.startswith("one: crashed (the process of backend one was killed by")
        assert first.endswith("; two: gave up (too hard for me); three: licence (only 3 variables)")
        assert "about to crash" in outcome.message  # its last words

    def test_stopped_on_request(self, manager: Make, racers: Any, allgather: Instance) -> None:
        plugins = manager(racers.record("one", "sleep"), racers.record("two", "hold"))
        with Solver(plugins, backend="one+two", head_start=0.1) as solver:
            began = time.perf_counter()

            def should_stop() -> bool:
                return time.perf_counter() > began + 1.5

            solver.stop_when = should_stop
            solution = solver.solve(allgather)
            assert solver.solve(allgather).outcome.reason is StopReason.INTERRUPTED
            assert time.perf_counter() - began < 6
            assert solution.outcome.reason is StopReason.INTERRUPTED
            assert set(pids(solver).values()) == {None}

    def test_an_error_in_should_stop_ends_all(
        self, manager: Make, racers: Any, allgather: Instance
    ) -> None:
        plugins = manager(racers.record("one", "sleep"), racers.record("two", "hold"))
        with Solver(plugins, backend="one+two", head_start=0.1) as solver:
            began = time.perf_counter()

            def should_stop() -> bool:
                if time.perf_counter() > began + 1.0:
                    raise ZeroDivisionError
                return False

            solver.stop_when = should_stop
            with pytest.raises(ZeroDivisionError):
                solver.solve(allgather)
            assert set(pids(solver).values()) == {None}


class TestWrongAnswers:
    @pytest.mark.parametrize(
        ("one", "two", "liar"), [("lie", "sleep", "one"), ("hold", "lie", "two")]
    )
    def test_a_false_model_is_an_error_that_names_the_backend(
        self, manager: Make, racers: Any, allgather: Instance, one: str, two: str, liar: str
    ) -> None:
        plugins = manager(racers.record("one", one), racers.record("two", two))
        with Solver(plugins, backend="one+two", head_start=0.0) as solver:
            with pytest.raises(BackendError, match=f"backend {liar} answered sat"):
                solver.solve(allgather)
            assert set(pids(solver).values()) == {None}

    def test_two_that_contradict_each_other(self) -> None:
        class Named:
            def __init__(self, name: str) -> None:
                self.name = name

        def reply(name: str, verdict: Verdict) -> Any:
            assignment: Any = object() if verdict is Verdict.SAT else None
            reason = StopReason.GAVE_UP if verdict is Verdict.UNKNOWN else StopReason.DECIDED
            member: Any = Named(name)
            size: Any = None
            return Reply(member, Outcome(verdict, assignment, reason), None, size, {})

        sat, unsat = reply("one", Verdict.SAT), reply("two", Verdict.UNSAT)
        for pair in ((sat, unsat), (unsat, sat)):
            with pytest.raises(BackendError, match="backend two answered unsat, but backend one"):
                _require_agreement(*pair)
        for late in (sat, reply("three", Verdict.SAT), reply("three", Verdict.UNKNOWN)):
            _require_agreement(sat, late)


class TestWhoShouldRun:
    """`auto` runs two at once; backends that should run the formula come before others."""

    def test_one_that_should_not_leaves_it_to_the_next(
        self, manager: Make, racers: Any, allgather: Instance
    ) -> None:
        plugins = manager(
            racers.record("one", "refute", unwilling="too many", rank=Rank(30, 30)),
            racers.record("two", rank=Rank(20, 20)),
            racers.record("three", "refute", rank=Rank(10, 10)),
        )
        with Solver(plugins, head_start=NEVER) as solver:
            assert solver.solve(allgather).backend == "two"
            assert pids(solver)["three"] is None
            assert solver.prepare(allgather).backend.name == "two"

    def test_a_named_backend_runs_even_if_it_should_not(
        self, manager: Make, racers: Any, allgather: Instance
    ) -> None:
        plugins = manager(racers.record("one", unwilling="too many"), racers.record("two"))
        for name in ("one", "one+two"):
            with Solver(plugins, backend=name, head_start=NEVER) as solver:
                assert solver.solve(allgather).backend == "one"

    def test_two_at_once_and_no_more(
        self, manager: Make, racers: Any, allgather: Instance, impossible: Instance
    ) -> None:
        busy = [racers.record(name, "sleep", rank=Rank(30, 30)) for name in ("one", "two")]
        plugins = manager(*busy, racers.record("three", rank=Rank(20, 20)))
        with Solver(plugins, head_start=0.1) as solver:
            solution = solver.solve(allgather, seconds=1.0)
        assert solution.verdict is Verdict.UNKNOWN
        assert "three: no time was left" in solution.outcome.message
        # One that ends undecided makes room.
        plugins = manager(
            racers.record("one", "give_up", rank=Rank(40, 40)),
            busy[1],
            racers.record("three", rank=Rank(20, 20)),
        )
        with Solver(plugins, head_start=0.1) as solver:
            for instance, verdict in ((allgather, Verdict.SAT), (impossible, Verdict.UNSAT)):
                solution = solver.solve(instance)
                assert (solution.verdict, solution.backend) == (verdict, "three")

    def test_if_none_should_run_all_are_asked(
        self, manager: Make, racers: Any, allgather: Instance
    ) -> None:
        plugins = manager(
            racers.record("one", "give_up", unwilling="too many", rank=Rank(30, 30)),
            racers.record("two", unwilling="too long", rank=Rank(20, 20)),
        )
        with Solver(plugins, head_start=NEVER) as solver:
            assert solver.prepare(allgather).backend.name == "one"
            assert solver.solve(allgather).backend == "two"

    def test_the_reason_is_reported_if_none_decides(
        self, manager: Make, racers: Any, allgather: Instance
    ) -> None:
        plugins = manager(
            racers.record("one", unwilling="too many", rank=Rank(30, 30)),
            racers.record("two", "sleep", rank=Rank(20, 20)),
        )
        with Solver(plugins, head_start=NEVER) as solver:
            solution = solver.solve(allgather, seconds=0.5)
        assert solution.outcome.reason is StopReason.TIME_LIMIT
        assert "one: gave up (left to others: too many); two: " in solution.outcome.message

    def test_a_backend_that_cannot_answer_is_reported(
        self, manager: Make, racers: Any, allgather: Instance
    ) -> None:
        def boom(_: object) -> Any:
            raise ValueError("boom")

        broken = replace(racers.record("one", rank=Rank(30, 30)), should_run=boom)
        plugins = manager(broken, racers.record("two", "give_up", rank=Rank(20, 20)))
        with Solver(plugins, head_start=NEVER) as solver:
            solution = solver.solve(allgather)
        assert "one: crashed (backend one cannot judge this" in solution.outcome.message
        assert "ValueError: boom" in solution.outcome.message


class TestNames:
    def test_auto_is_the_best_installed(
        self, manager: Make, racers: Any, allgather: Instance, allreduce: Instance
    ) -> None:
        def order(*records: Any) -> list[tuple[str, ...]]:
            with Solver(manager(*records)) as solver:
                assert solver.backend_name == "auto"
                return [
                    tuple(record.name for record in solver.backends_for(instance))
                    for instance in (allgather, allreduce)
                ]

        from syncoll_cpsat import RECORD as CPSAT
        from syncoll_gurobi import RECORD as GUROBI
        from syncoll_highs import RECORD as HIGHS
        from syncoll_pysat import RECORD as PYSAT
        from syncoll_z3 import RECORD as Z3

        cpsat, pysat, z3, highs, gurobi = (
            racers.record(record.name, rank=record.rank)
            for record in (CPSAT, PYSAT, Z3, HIGHS, GUROBI)
        )
        missing = racers.record("cpsat", installed="no wheel", rank=CPSAT.rank)
        assert order(gurobi, highs, z3, pysat, cpsat) == [("cpsat", "pysat"), ("pysat", "cpsat")]
        assert order(missing, z3, pysat) == [("pysat",), ("pysat",)]
        assert order(missing, highs, z3) == [("z3",), ("z3",)]
        assert order(highs, gurobi) == [("highs",), ("highs",)]
        with pytest.raises(PluginError, match=r"auto finds no solver here: cpsat: no wheel$"):
            order(missing, gurobi)
        with pytest.raises(PluginError, match="no plugin has a backend with a rank"):
            order(gurobi)
        ours = racers.record("ours", rank=Rank(30, 15))
        assert order(cpsat, ours, pysat) == [("ours", "cpsat", "pysat"), ("pysat", "ours", "cpsat")]

    @pytest.mark.parametrize(
        ("text", "error", "words"),
        [
            ("one+one", UsageError, "names one twice"),
            ("one+", UsageError, "an empty name"),
            ("", UsageError, "an empty name"),
            ("auto+one", UsageError, "write only auto"),
            ("one+tow", PluginError, "did you mean two"),
            ("one+three", PluginError, "three cannot run here: no wheel"),
        ],
    )
    def test_bad_names(
        self, manager: Make, racers: Any, text: str, error: type[Exception], words: str
    ) -> None:
        missing = racers.record("three", installed="no wheel")
        plugins = manager(racers.record("one"), racers.record("two"), missing)
        with pytest.raises(error, match=words):
            Solver(plugins, backend=text)

    def test_options_of_one(self, manager: Make, racers: Any, allgather: Instance) -> None:
        extra = (Option("luck", 1, "good or bad", low=0, high=7),)
        plugins = manager(racers.record("one", options=extra), racers.record("two"))

        def values(given: dict[str, object], backend: str = "one+two") -> dict[str, Any]:
            with Solver(plugins, backend=backend, backend_options=given) as solver:
                return {name: member.options for name, member in solver._members.items()}

        assert values({"luck": "5"})["one"] == {"do": "decide", "luck": 5}
        assert values({"one.luck": 2, "two.do": "sleep"}) == {
            "one": {"do": "decide", "luck": 2},
            "two": {"do": "sleep"},
        }
        assert values({"one.luck": 2}, "one")["one"]["luck"] == 2
        cases: tuple[tuple[dict[str, object], str], ...] = (
            ({"do": "sleep"}, r"one and two have an option 'do'; write one.do or two.do"),
            ({"dance": 1}, r"backend one\+two has no option 'dance'; it has: one.do"),
            ({"two.luck": 1}, "backend two has no option 'luck'"),
            ({"three.luck": 1}, "backend three, which backend one"),
            ({"luck": 1, "one.luck": 2}, "option luck of backend one is set twice"),
            ({"luck": 8}, "luck of backend one is 8"),
        )
        for given, words in cases:
            with pytest.raises(OptionError, match=words):
                values(given)
        with pytest.raises(OptionError, match="backend one has no option 'dance'; it has: do"):
            values({"dance": 1}, "one")
