"""Searches for some message sizes: algorithms that are fastest for none of them are left out."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

import syncoll
from syncoll.errors import UsageError
from syncoll.ledger import Aim, SearchRequest
from syncoll.model import inverse_of
from syncoll.searching.parts import Dual
from tests.oracles.classics import allgather, ring

ALPHA, RATE = Fraction(1, 10**6), Fraction(25 * 10**9)


@dataclass(frozen=True)
class Costs:
    steps: int
    bandwidth: Fraction


COSTS = st.builds(Costs, st.integers(1, 6), st.fractions(0, 3, max_denominator=4))


def seconds(aim: Aim, one: Costs, size: Fraction) -> Fraction:
    return one.steps * aim.alpha + one.bandwidth * size / aim.cut / aim.bandwidth


@given(
    COSTS,
    st.lists(COSTS, max_size=4),
    st.integers(0, 40),
    st.integers(0, 20),
    st.integers(0, 2),
    st.integers(1, 3),
)
def test_an_algorithm_is_useful_if_it_is_fastest_somewhere(
    one: Costs, others: list[Costs], low: int, more: int, alpha: int, cut: int
) -> None:
    aim = Aim(Fraction(alpha), Fraction(2), Fraction(low), Fraction(low + more), cut)
    ends = {aim.low, aim.high}
    for a in others:  # between two sizes where lines meet, nothing changes
        if a.bandwidth != one.bandwidth:
            meets = (a.steps - one.steps) * aim.alpha * aim.bandwidth * cut
            ends.add(min(max(meets / (one.bandwidth - a.bandwidth), aim.low), aim.high))
    places = sorted(ends)
    places += [(a + b) / 2 for a, b in pairwise(places)]
    faster = any(
        all(seconds(aim, one, size) < seconds(aim, other, size) for other in others)
        for size in places
    )
    assert aim.is_useful(one.steps, one.bandwidth, others) == faster  # type: ignore[arg-type]


@given(
    COSTS,
    st.lists(COSTS, min_size=1, max_size=4),
    st.integers(0, 40),
    st.integers(0, 20),
    st.lists(st.fractions(0, 3, max_denominator=4), min_size=6, max_size=6),
)
def test_a_possibly_fastest_algorithm_is_useful(
    one: Costs, others: list[Costs], low: int, more: int, latencies: list[Fraction]
) -> None:
    """Steps take different times; only the least and the greatest are known."""
    aim = Aim(max(latencies), Fraction(2), Fraction(low), Fraction(low + more), 1, min(latencies))

    def takes(costs: Costs, size: Fraction) -> Fraction:
        return sum(latencies[: costs.steps], costs.bandwidth * size / aim.bandwidth)

    for place in range(9):
        size = aim.low + (aim.high - aim.low) * place / 8
        if all(takes(one, size) < takes(other, size) for other in others):
            assert aim.is_useful(one.steps, one.bandwidth, others)  # type: ignore[arg-type]


@functools.cache
def whole_frontier(topology: str, collective: str) -> syncoll.FrontierResult:
    return syncoll.pareto(topology, collective, seeds="none", progress="none")


@pytest.mark.parametrize(
    ("topology", "collective", "sizes"),
    [
        ("ring(4)", "allgather", "1KiB:96KiB"),
        ("ring(4)", "reducescatter", "64KiB"),
        ("ring(4)", "reducescatter", "1KiB:96KiB"),
        ("line(3)", "allreduce", "64KiB"),
    ],
)
def test_the_fastest_is_found(topology: str, collective: str, sizes: str) -> None:
    how = {"seeds": "none", "progress": "none"}
    everything = whole_frontier(topology, collective)
    found = syncoll.pareto(
        topology,
        collective,
        optimise_for=sizes,
        alpha="1us",
        beta="25GB/s",
        **how,  # type: ignore[arg-type]
    )
    low, _, high = sizes.partition(":")
    per_node = 4 if collective == "allgather" else 1  # of a message, the output of four nodes
    ends = (Fraction(syncoll.units.parse_size(x), per_node) for x in (low, high or low))
    aim = Aim(ALPHA, RATE, *ends)
    for place in range(9):
        size = aim.low + (aim.high - aim.low) * place / 8
        best = min(seconds(aim, point, size) for point in everything.points)  # type: ignore[arg-type]
        assert best == min(seconds(aim, point, size) for point in found.points)  # type: ignore[arg-type]
    assert f"fastest for messages of {syncoll.units.format_size(aim.low * per_node)}" in found.scope
    assert len(found.points) <= len(everything.points)


def test_the_scope_and_open_claims_name_the_sizes() -> None:
    found = syncoll.pareto(
        "dgx1", "allgather", optimise_for="1KiB", alpha="1us", beta="25GB/s", seeds="none",
        progress="none",
    )  # fmt: skip
    assert [point.steps for point in found.points] == [2]
    assert {one.reason for one in found.open if one.most_steps} == {
        "not the fastest for any of the sizes"
    }


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ({"optimise_for": "1KiB", "alpha": "1us"}, "beta is missing: ring"),
        ({"optimise_for": "1KiB", "beta": "1GB/s"}, "alpha is missing: ring"),
        ({"optimise_for": "4KiB:1KiB"}, "is empty"),
        ({"optimise_for": "much"}, "much"),
        ({"alpha": "1us"}, "need the sizes of optimise_for"),
    ],
)
def test_wrong_aims(given: dict[str, str], wrong: str) -> None:
    with pytest.raises(UsageError, match=wrong):
        syncoll.pareto("ring(4)", "allgather", **given)  # type: ignore[arg-type]


def test_a_dual_is_searched_for_its_part_of_the_sizes() -> None:
    """A node of an allgather has a fourth of its data of the reducescatter of four nodes."""
    topology, gather = ring(4), allgather()
    aim = Aim(ALPHA, RATE, Fraction(4096), Fraction(8192))
    inverse = inverse_of(gather, "reducescatter")
    asked = Dual(SearchRequest(topology, inverse, max_chunks=8, aim=aim)).asked
    assert asked.collective == gather
    assert asked.max_chunks == 2
    assert asked.aim == replace(aim, cut=Fraction(4))
