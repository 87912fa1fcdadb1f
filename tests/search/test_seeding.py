"""Seeds in a search: what fails or refuses is told, and the others are asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from syncoll.model import Algorithm, Collective, Topology
from syncoll.plugins import Answer, OptionValue, Proposal, SeedLimits, SeedRecord
from syncoll.search import Asking, ChosenSeed, SearchRequest, Seeding, search
from syncoll.testing.classics import allgather, broadcast, ring

Propose = Callable[[Topology, Collective, SeedLimits], Iterator[Proposal]]

AROUND = [(0, 0, 1, 0), (0, 1, 2, 1), (0, 2, 3, 2)]


def around(topology: Topology, collective: Collective, limits: SeedLimits) -> Iterator[Proposal]:
    yield Proposal(1, Algorithm((1, 1, 1), np.array(AROUND)))


def chosen(name: str, propose: Propose, fits: Answer | None = None, **more: Any) -> ChosenSeed:
    class Made:
        def propose(
            self,
            topology: Topology,
            collective: Collective,
            limits: SeedLimits,
            options: Mapping[str, OptionValue],
        ) -> Iterator[Proposal]:
            return propose(topology, collective, limits)

    answer = fits or Answer(True)
    return ChosenSeed(SeedRecord(name, "", Made, fits=lambda *_: answer), {}, **more)


def points(*seeds: ChosenSeed, limits: SeedLimits | None = None) -> tuple[list[str], list[str]]:
    told: list[str] = []
    seeding = Seeding(seeds, told.append)
    found = seeding.points(ring(4), broadcast(), limits or SeedLimits())
    return [point.backend for point in found], told


def test_a_broken_seed_does_not_end_the_search() -> None:
    def broken(*_: object) -> Iterator[Proposal]:
        raise ZeroDivisionError("oh")

    found, told = points(chosen("broken", broken), chosen("around", around))
    assert found == ["around"]
    assert told == ["seed broken failed: ZeroDivisionError: oh"]


def test_a_wrong_proposal_is_no_point() -> None:
    def wrong(*_: object) -> Iterator[Proposal]:
        yield Proposal(1, Algorithm((1, 1, 1), np.array(AROUND[1:])))

    found, told = points(chosen("wrong", wrong), chosen("around", around))
    assert found == ["around"]
    assert len(told) == 1
    assert told[0].startswith("seed wrong proposed what is no algorithm: ")


def test_limits_hold_whatever_a_seed_does() -> None:
    for limits in (SeedLimits(max_steps=2), SeedLimits(max_rounds=2), SeedLimits(max_chunks=0)):
        assert points(chosen("around", around), limits=limits)[0] == []


def test_each_gets_the_time_that_is_left() -> None:
    seen: list[float | None] = []

    def looks(topology: Topology, _: Collective, limits: SeedLimits) -> Iterator[Proposal]:
        seen.append(limits.seconds)
        yield from around(topology, _, limits)

    points(chosen("one", looks), chosen("two", looks), limits=SeedLimits(seconds=100.0))
    first, second = seen
    assert first is not None
    assert second is not None
    assert 100.0 >= first > second


def test_only_the_named_are_told_apart() -> None:
    """Why a seed has no idea matters to who asked for it, unless a part of the collective does."""
    no = Answer(False, "no idea")
    silent = Seeding([chosen("auto", around, no)])
    named = Seeding([chosen("mine", around, no, named=True)])
    for seeding in (silent, named):
        assert list(seeding.points(ring(4), broadcast(), SeedLimits())) == []
    assert silent.refusals == {}
    assert named.refusals == {"mine": "no idea"}


def test_alone_they_leave_open_what_nobody_searched() -> None:
    def slow(*_: object) -> Iterator[Proposal]:
        sends = [(c, (c + s) % 4, (c + s + 1) % 4, s) for c in range(4) for s in range(3)]
        yield Proposal(1, Algorithm((1, 1, 1), np.array(sends)))

    frontier = search(
        SearchRequest(ring(4), allgather()), Asking(None, seeding=Seeding([chosen("slow", slow)]))
    )
    assert [(p.steps, str(p.bandwidth)) for p in frontier.points] == [(3, "3")]
    assert [(c.least_steps, c.most_steps, str(c.low), c.high) for c in frontier.open] == [
        (2, 2, "3/2", None),
        (3, 3, "3/2", 3),
        (4, None, "3/2", 3),
    ]
