"""Bounds of plugins: better ones count and are saved; wrong ones are left out and reported."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import syncoll
import syncoll_check
from syncoll.certificates import Parts, Priced, Share, Ways
from syncoll.clock import counting
from syncoll.deadline import NEVER, Deadline
from syncoll.documents import frontier_document
from syncoll.errors import PluginError
from syncoll.ledger import BoundsTable, SearchRequest
from syncoll.ledger.lower_bounds import lower_bounds
from syncoll.model import BandwidthBound, Topology
from syncoll.plugins import Answer, BoundRecord, PluginManager
from syncoll.plugins.plugin_bounds import PluginBounds, proved_by
from syncoll.plugins.priced_bound import PricedBound
from syncoll.searching import AnswerSource, search
from syncoll.spec import SpecLibrary
from syncoll.testing import BOUND_CHECKS, ConformanceError
from tests.oracles.classics import ring

F = Fraction
LIBRARIES = PluginManager.discover().spec_libraries.values()
LIBRARY = SpecLibrary([record.folder for record in LIBRARIES])


def both_ways(rates: dict[tuple[int, int], int]) -> Topology:
    every = {**rates, **{(b, a): rate for (a, b), rate in rates.items()}}
    links = tuple(sorted(every))
    bounds = tuple(BandwidthBound((link,), F(every[link])) for link in links)
    return Topology("weak", 6, links, bounds)


WEAK = both_ways({(0, 1): 1, (1, 2): 3, (2, 3): 3, (3, 4): 3, (4, 5): 3, (0, 5): 3, (2, 4): 2})
PARTS = (0, 1, 2, 2, 2, 3)


class PartsBound:
    """One partition, which the search over partitions misses."""

    def find(self, topology: Topology, asked: Any, steps: int | None, until: Deadline) -> Any:
        ends = [next(iter(bound.links)) for bound in topology.bounds]
        between = [i for i, (a, b) in enumerate(ends) if PARTS[a] != PARTS[b]]
        return Parts.priced(PARTS, dict.fromkeys(between, F(1)))


def on_weak(topology: Topology, _: object) -> Answer:
    return Answer(topology == WEAK, "another machine")


PARTITION = BoundRecord("parts", "a partition", PartsBound, fits=on_weak, of_sums=True)


class WayBound(PricedBound):
    """A chunk goes along some path to the last of its destinations."""

    timed = True

    def column(self, topology: Topology, demand: Any, prices: Any) -> Counter[tuple[int, int]]:
        ways: dict[int, tuple[float, tuple[tuple[int, int], ...]]]
        ways = dict.fromkeys(demand.sources, (0.0, ()))
        for step, own in enumerate(prices):
            before = dict(ways)
            for link, (a, b) in enumerate(topology.links):
                if a in before:
                    there = before[a][0] + own[link], (*before[a][1], (link, step))
                    ways[b] = min(ways.get(b, there), there)
        return Counter(ways[demand.destinations[-1]][1])

    def argument(self, topology: Topology, demands: Any, prices: Any) -> Ways:
        whole = prices.by_place()
        goals = enumerate(demand.destinations[-1] for demand in demands)
        return Ways(tuple(Share(goal, (k,), whole) for k, goal in goals))


WAYS = BoundRecord("ways", "single ways", WayBound)


class Lying(Ways):
    """Claims that chunks pay more than they do."""

    def pays(self, prices: Any, asked: Any) -> Fraction:
        return F(100)


def finding(name: str, find: Callable[..., Any]) -> BoundRecord:
    finder = type("Finder", (), {"find": lambda _, *question: find(*question)})
    return BoundRecord(name, "a bound", finder)


def bounds(collective: str, where: Topology, *records: BoundRecord) -> tuple[Any, list[str]]:
    messages: list[str] = []
    with counting():
        further = PluginBounds(records, messages.append) if records else None
        found = lower_bounds(
            where,
            LIBRARY.collective(collective),
            num_steps=0 if collective == "allreduce" else 2,
            until=Deadline.after(60),
            further=further,
        )
    return found, messages


def test_a_better_bound_counts_and_passes_both_checkers(tmp_path: Path) -> None:
    alone, _ = bounds("allreduce", WEAK)
    found, messages = bounds("allreduce", WEAK, WAYS, PARTITION)
    assert (alone.bandwidth, found.bandwidth, messages) == (F(5, 18), F(3, 10), [])
    assert found.any_steps.certificate.argument == Parts(PARTS)
    content = json.dumps(frontier_document(found.frontier())).encode()
    file = tmp_path / "bounds.json"
    file.write_bytes(content)
    assert syncoll.check(file, "allreduce").frontier.evidence is not None
    syncoll_check.check(content)


def test_a_search_relies_on_it() -> None:
    source = AnswerSource(None, further=PluginBounds([PARTITION], pytest.fail))
    request = SearchRequest(WEAK, LIBRARY.collective("allreduce"), work=0.5)
    evidence = search(request, source).evidence
    assert evidence is not None
    assert max(one.bandwidth for one in evidence.certificates) >= F(3, 10)


def test_an_oracle_and_an_argument_make_a_bound() -> None:
    shape = BoundsTable(ring(6), LIBRARY.collective("alltoall")).shape
    question = ring(6), LIBRARY.collective("alltoall"), shape
    (bound,) = proved_by(WAYS, *question, 3, NEVER)
    assert (bound.rounds, bound.steps, bound.method) == (F(9, 2), 3, "prices")
    assert list(proved_by(WAYS, *question, None, NEVER)) == []


@pytest.mark.parametrize(
    ("find", "why"),
    [
        (lambda *_: 1 / 0, "failed in `find`: ZeroDivisionError"),
        (lambda *_: "text", "it returned a str, not a Priced or None"),
        (lambda *_: Priced(None, {}, Lying(())), "proves R >= 0 for C = 1, not R >= 100"),
        (lambda *_: Priced(1, {}, Ways(())), "a proof about S = 1, asked for S = any"),
        (lambda *_: Priced(None, {(0, 0): F(2)}, Ways(())), "its proof is wrong: a round"),
        (lambda *_: Priced(None, {(0, 0): 0.5}, Ways(())), "failed in `find`: AttributeError"),  # type: ignore[dict-item]
    ],
)
def test_wrong_bounds_are_left_out_and_reported_once(find: Callable[..., Any], why: str) -> None:
    alone, _ = bounds("broadcast", ring(4))
    found, messages = bounds("broadcast", ring(4), finding("bad", find))
    assert [(s, one.rounds) for s, one in found.by_steps] == [
        (s, one.rounds) for s, one in alone.by_steps
    ]
    (text,) = messages
    assert text.startswith("going on without bound bad: ")
    assert why in text


def test_a_slow_bound_is_stopped_and_the_others_are_asked() -> None:
    def forever(*question: Any) -> None:
        while True:
            question[-1].check()

    found, messages = bounds("allreduce", WEAK, finding("slow", forever), PARTITION)
    assert (found.bandwidth, messages) == (F(3, 10), [])


class TestKit:
    @pytest.mark.parametrize("check", [name for name in BOUND_CHECKS if name != "light"])
    def test_a_good_one_passes(self, check: str) -> None:
        BOUND_CHECKS[check](WAYS)

    def test_planted_bugs_are_found(self) -> None:
        changing = iter(range(1, 1000))

        def drawn(topology: Topology, *_: object) -> Priced:
            return Priced(None, {(0, 0): F(1, 99 * next(changing))}, Ways(()))

        nothing = finding("nothing", lambda *_: None)
        with pytest.raises(ConformanceError, match="it proved nothing"):
            BOUND_CHECKS["proofs"](nothing)
        with pytest.raises(PluginError, match="its proof is wrong"):
            BOUND_CHECKS["proofs"](finding("x", lambda *_: Priced(None, {(0, 0): F(99)}, Ways(()))))
        with pytest.raises(ConformanceError, match="two runs prove different bounds"):
            BOUND_CHECKS["repeatable"](finding("drawn", drawn))
