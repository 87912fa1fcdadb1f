"""Searches by the answers of a solver: unknown, unsat, stopped, and the points found."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import count, cycle
from typing import Any, cast

import pytest

from syncoll.errors import BackendError
from syncoll.formula import Outcome, StopReason, Verdict
from syncoll.ledger import SearchRequest, Strategy
from syncoll.model import Collective, Instance, Topology
from syncoll.results import Frontier
from syncoll.searching import AnswerSource, search
from syncoll.searching.answers import PendingAnswer
from syncoll.solving import Solver
from tests.oracles.classics import allgather, broadcast, dgx1, one_way_ring, ring

from .scripted import DGX1, Diary, Planned, Scripted, costs, run, unknown

F = Fraction


def test_a_pool_that_shrinks_changes_nothing(solver: Solver) -> None:
    """A cluster that loses workers has more pending answers than solvers."""

    class Shrinking(AnswerSource):
        widths = cycle([4, 1])

        @property
        def width(self) -> int:
            return next(self.widths)

    request = SearchRequest(dgx1(), allgather(), Strategy.PAPER, k=3, max_chunks=4)
    assert costs(search(request, Shrinking(solver))) == costs(search(request, solver))


class TestUnknown:
    @pytest.mark.parametrize("strategy", Strategy)
    @pytest.mark.parametrize("reason", [StopReason.TIME_LIMIT, StopReason.CRASHED])
    def test_nothing_is_decided(
        self, strategy: Strategy, reason: StopReason, solver: Solver
    ) -> None:
        """The search ends, and every number of steps is open from its bound upwards."""
        request = SearchRequest(dgx1(), allgather(), strategy, max_steps=4, max_chunks=6)
        diary = Diary()

        def rule(asked: Instance) -> Outcome:
            return unknown(reason, f"C = {asked.chunks}, R = {asked.rounds} is too bad")

        frontier, _ = run(solver, rule, request, diary)
        assert frontier.points == ()
        assert frontier.complete
        lows = {
            claim.least_steps: claim.low for claim in frontier.open if claim.most_steps is not None
        }
        assert set(lows) == {2, 3, 4}
        for steps, low in lows.items():
            assert low == (diary.bounds[steps] if strategy is Strategy.CERTIFIED else F(7, 6))
        assert all(claim.high is None for claim in frontier.open)
        assert frontier.open[-1].least_steps == 5
        assert frontier.open[-1].most_steps is None
        assert all(str(reason) in claim.reason for claim in frontier.open[:-1])
        if reason is not StopReason.TIME_LIMIT:
            assert all(claim.reason.count("too bad") == 1 for claim in frontier.open[:-1])
            assert any("more with other numbers)" in claim.reason for claim in frontier.open)
        assert {v for verdicts in diary.verdicts.values() for v in verdicts} <= {
            Verdict.UNKNOWN,
            Verdict.UNSAT,  # by the larger relaxation, not by the solver
        }

    @pytest.mark.parametrize("strategy", Strategy)
    def test_one_candidate_is_undecided(self, strategy: Strategy, solver: Solver) -> None:
        """An undecided candidate is open up to the point that was found instead."""
        request = SearchRequest(dgx1(), allgather(), strategy, k=4)
        frontier, _ = run(
            solver, lambda i: unknown() if F(i.rounds, i.chunks) == F(7, 6) else None, request
        )
        assert costs(frontier)[0] == (2, F(3, 2))
        assert all(bandwidth > F(7, 6) for _, bandwidth in costs(frontier))
        for claim in frontier.open:
            assert claim.low == F(7, 6)
        for claim in frontier.open:
            reach = claim.most_steps if claim.most_steps is not None else 99
            assert claim.high == min(b for s, b in costs(frontier) if s <= reach)
        assert {c.least_steps for c in frontier.open} >= {3, 4, 5}

    def test_undecided_candidates_are_asked_again_with_more_time(self, solver: Solver) -> None:
        """Without a limit for each point the undecided get a second, longer look."""
        seen: set[tuple[int, int, int]] = set()

        def rule(instance: Instance) -> Outcome | None:
            key = instance.steps, instance.rounds, instance.chunks
            if key in seen:
                return None
            seen.add(key)
            return unknown() if F(instance.rounds, instance.chunks) < F(8, 5) else None

        frontier, scripted = run(solver, rule, replace(DGX1, max_chunks=6))
        assert costs(frontier) == [(2, F(3, 2)), (3, F(7, 6))]
        assert frontier.open == ()
        repeated = [i for i, key in enumerate(scripted.asked) if key in scripted.asked[:i]]
        assert repeated
        for i in repeated:
            first, again = (
                scripted.seconds[scripted.asked.index(scripted.asked[i])],
                scripted.seconds[i],
            )
            assert first is not None
            assert again is not None
            assert again > first

    @pytest.mark.parametrize("most", [4, 32])
    def test_few_chunks_have_their_time_for_any_limit(self, most: int, solver: Solver) -> None:
        """Many cheaper candidates with more chunks do not take it."""
        hard, asked = (2, 5, 3), list[tuple[int, int, int]]()

        def rule(instance: Instance) -> Outcome | None:
            asked.append((instance.steps, instance.rounds, instance.chunks))
            return None if asked.count(hard) == 2 and asked[-1] == hard else unknown()

        frontier, scripted = run(solver, rule, replace(DGX1, max_steps=2, max_chunks=most))
        assert (2, F(5, 3)) in costs(frontier)
        if most > 4:
            cheaper = {key for key in scripted.asked if F(key[1], key[2]) < F(5, 3) and key[2] > 4}
            assert len(cheaper) >= 16

    def test_a_limit_for_each_point_is_kept(self, solver: Solver) -> None:
        request = replace(DGX1, point_limit=1.25, max_steps=3, max_rounds=9)
        _, scripted = run(solver, lambda _: unknown(), request)
        assert set(scripted.seconds) == {1.25}
        assert len(set(scripted.asked)) == len(scripted.asked)


class TestUnsat:
    def test_all_candidates_are_refuted(self, solver: Solver) -> None:
        """All candidates refuted within the limits: nothing is open below them."""
        request = replace(DGX1, max_rounds=8, max_chunks=4, max_steps=4)
        no = Outcome(Verdict.UNSAT)
        frontier, scripted = run(solver, lambda _: no, request)
        assert frontier.points == ()
        assert [(c.least_steps, c.most_steps) for c in frontier.open] == [(5, None)]
        assert scripted.asked
        assert "R <= 8" in frontier.scope
        assert "C <= 4" in frontier.scope

    def test_candidates_come_in_order_of_their_costs(self, solver: Solver) -> None:
        request = replace(DGX1, max_rounds=12, max_steps=3)
        diary = Diary()
        run(solver, lambda _: Outcome(Verdict.UNSAT), request, diary)
        few = [c for c in diary.tried if c.chunks <= 4]
        for steps in (2, 3):
            tried = [c for c in diary.tried if c.steps == steps]
            cheapest, *others = tried
            first = [c.bandwidth for c in others if c in few]
            rest = [c.bandwidth for c in others if c not in few]
            assert [c.bandwidth for c in others] == first + rest
            assert first == sorted(first)
            assert rest == sorted(rest)
            assert first
            assert rest
            assert cheapest.bandwidth == min(c.bandwidth for c in tried) >= diary.bounds[steps]
            assert len(set(tried)) == len(tried)
        # One S does not wait for the many chunks of another.
        looks = [
            (c not in few and c.steps in {d.steps for d in diary.tried[:i]}, c.steps)
            for i, c in enumerate(diary.tried)
        ]
        assert looks == sorted(looks)


class TestStopped:
    @pytest.mark.parametrize("strategy", Strategy)
    @pytest.mark.parametrize("calls", [1, 2, 3])
    def test_an_interrupt_leaves_open_claims(
        self, strategy: Strategy, calls: int, solver: Solver
    ) -> None:
        counter = count(1)

        def rule(_: Instance) -> Outcome | None:
            if next(counter) == calls:
                raise KeyboardInterrupt
            return None

        request = SearchRequest(one_way_ring(3, F(2, 3)), broadcast(), strategy, k=20)
        frontier, scripted = run(solver, rule, request)
        assert len(scripted.asked) == calls
        assert frontier.interrupted
        assert not frontier.complete
        assert frontier.open
        assert all(claim.reason == "interrupted" for claim in frontier.open)
        steps, rounds, chunks = scripted.asked[-1]
        current = frontier.open[0]
        if current.most_steps is not None:  # the number of steps at which it was stopped
            assert (current.least_steps, current.most_steps) == (steps, steps)
            assert current.low <= F(rounds, chunks)
        assert frontier.open[-1].most_steps is None
        assert len(frontier.points) <= calls - 1

    def test_an_interrupt_keeps_earlier_points(self, solver: Solver) -> None:
        def rule(instance: Instance) -> Outcome | None:
            if instance.steps == 3:
                raise KeyboardInterrupt
            return None

        frontier, _ = run(solver, rule, DGX1)
        assert costs(frontier) == [(2, F(3, 2))]
        assert [(c.least_steps, c.most_steps, c.low, c.high) for c in frontier.open] == [
            (3, 3, F(7, 6), F(3, 2)),
            (4, None, F(7, 6), F(3, 2)),
        ]

    def test_an_interrupt_while_the_frontier_is_kept(self, solver: Solver) -> None:
        def keep(_: Frontier) -> None:
            raise KeyboardInterrupt

        frontier, _ = run(solver, lambda _: None, DGX1, on_points=keep)
        assert frontier.interrupted
        assert costs(frontier) == [(2, F(3, 2))]

    def test_an_interrupt_while_others_are_cancelled(self, solver: Solver) -> None:
        """The first of two has an algorithm, and Ctrl-C comes while the other is cancelled."""

        class Two(AnswerSource):
            @property
            def width(self) -> int:
                return 2

            def ask(self, *args: Any, **options: Any) -> PendingAnswer:
                def interrupt() -> None:
                    raise KeyboardInterrupt

                return PendingAnswer(super().ask(*args, **options).result, interrupt)

        scripted = Scripted(solver, lambda asked: unknown() if asked.chunks == 2 else None)
        request = SearchRequest(dgx1(), broadcast(), max_steps=2)
        frontier = search(request, Two(cast(Solver, scripted)))
        assert frontier.interrupted
        assert frontier.points

    def test_a_time_limit_of_zero(self, solver: Solver) -> None:
        frontier, scripted = run(solver, lambda _: None, replace(DGX1, time_limit=0))
        assert scripted.asked == []
        assert (frontier.complete, frontier.interrupted) == (False, False)
        assert frontier.points == ()
        assert [(c.least_steps, c.most_steps, c.low) for c in frontier.open] == [(2, None, F(7, 6))]
        assert "time limit" in frontier.open[0].reason
        assert "beyond cuts" in frontier.open[0].reason

    def test_the_time_that_is_left_limits_each_run(self, solver: Solver) -> None:
        frontier, scripted = run(
            solver, lambda _: None, replace(DGX1, time_limit=100, point_limit=500)
        )
        assert costs(frontier) == [(2, F(3, 2)), (3, F(7, 6))]
        assert scripted.seconds
        for seconds in scripted.seconds:
            assert seconds is not None
            assert 0 < seconds <= 100

    def test_time_runs_out_in_the_middle(
        self, solver: Solver, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        clock = [0.0]
        monkeypatch.setattr("syncoll.clock.time.perf_counter", lambda: clock[0])

        def rule(instance: Instance) -> Outcome | None:
            if instance.steps >= 3:
                clock[0] += 10.0
                return unknown()
            return None

        frontier, scripted = run(solver, rule, replace(DGX1, time_limit=35, point_limit=500))
        assert costs(frontier) == [(2, F(3, 2))]
        assert not frontier.complete
        assert not frontier.interrupted
        assert scripted.seconds[-4:] == [35, 25, 15, 5]
        low = min(F(r, c) for s, r, c in scripted.asked if s == 3)
        assert [(c.least_steps, c.most_steps, c.low, c.high) for c in frontier.open] == [
            (3, 3, low, F(3, 2)),
            (4, 4, F(7, 6), F(3, 2)),
            (5, None, F(7, 6), F(3, 2)),
        ]
        assert all("time limit" in c.reason for c in frontier.open)

    def test_a_wrong_answer_is_not_swallowed(self, solver: Solver) -> None:
        def rule(_: Instance) -> Outcome | None:
            raise BackendError("nonsense")

        with pytest.raises(BackendError, match="nonsense"):
            run(solver, rule, DGX1)


class TestPoints:
    def test_keep_sees_every_frontier(self, solver: Solver) -> None:
        kept: list[list[tuple[int, Fraction]]] = []
        diary = Diary()
        frontier, _ = run(
            solver, lambda _: None, DGX1, diary, on_points=lambda known: kept.append(costs(known))
        )
        assert kept == [[(2, F(3, 2))], [(2, F(3, 2)), (3, F(7, 6))]]
        assert [list(best) for best in diary.best] == kept
        assert costs(frontier) == kept[-1]

    def test_kept_frontiers_have_open_claims(self, solver: Solver) -> None:
        kept: list[Frontier] = []
        run(solver, lambda _: None, DGX1, on_points=kept.append)
        assert any(claim.least_steps == 3 for claim in kept[0].open)
        assert all(claim.high == F(3, 2) for claim in kept[0].open)

    def test_dominated_points_are_dropped(self, solver: Solver) -> None:
        """A cheaper algorithm of one step, found only when two were allowed, replaces a point."""
        topology = Topology.from_links("v", 3, {(0, 2): 1, (1, 2): 1})
        collective = Collective.from_relations(
            "four",
            lambda _, c: c,
            lambda _c, n, *_: n < 2,
            lambda _c, n, *_: n == 2,
            admits=lambda _, c: c == 4,
        )

        def one_sided_then_late(instance: Instance) -> list[tuple[int, ...]] | None:
            if (instance.steps, instance.rounds) == (1, 4):
                return [(c, 0, 2, 0) for c in range(4)]
            if (instance.steps, instance.rounds) == (2, 3):
                return [(c, c % 2, 2, 1) for c in range(4)]
            return None

        diary, scripted = Diary(), Planned(solver, one_sided_then_late)
        request = SearchRequest(topology, collective, max_chunks=4, max_steps=2, point_limit=1)
        frontier = search(request, cast("Solver", scripted), diary)
        assert diary.best == [((1, F(1)),), ((1, F(1, 2)),)]
        assert costs(frontier) == [(1, F(1, 2))]
        assert frontier.open == ()  # the undecided candidate is found now

    def test_points_dominate_by_both_costs(self, solver: Solver) -> None:
        frontier, _ = run(solver, lambda _: None, DGX1)
        one, two = frontier.points
        assert not one.dominates(two)
        assert not two.dominates(one)
        assert one.dominates(one)

    def test_a_point_says_where_it_came_from(self, solver: Solver) -> None:
        frontier, _ = run(solver, lambda _: None, DGX1)
        for point in frontier.points:
            assert (point.encoding, point.backend) == ("step", "cpsat")
            assert point.size is not None
            assert point.size.booleans > 0
            assert point.bound == point.bandwidth
        assert frontier.settings["encoding"] == "step"
        assert frontier.settings["strategy"] == "certified"


def test_candidates_with_too_many_chunks_stay_undecided(
    solver: Solver, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Tables of ring(4) with C = 2 have 32 cells: no larger C is asked about, and none is refuted.
    for module in ("model.node_sets", "ledger.bounds_table"):
        monkeypatch.setattr(f"syncoll.{module}.MOST_DENSE_CELLS", 32)
    request = SearchRequest(ring(4), allgather(), max_steps=2)
    found, scripted = run(solver, lambda _: unknown(), request)
    assert {chunks for _, _, chunks in scripted.asked} == {1, 2}
    assert not found.points
    assert any("too many chunks for an algorithm" in claim.reason for claim in found.open)
