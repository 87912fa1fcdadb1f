"""Sums whose terms have nothing in common: overlaid frontiers of their terms."""

from __future__ import annotations

import random
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import syncoll
import syncoll_specs
from syncoll.model import RelationTable
from syncoll.model.derivation import overlay, refine
from syncoll.spec import SpecLibrary
from syncoll.trust import violations
from tests.oracles.demands import MOVING, REDUCING, random_demand

LIBRARY = SpecLibrary([Path(syncoll_specs.__file__).parent])


def test_a_sum_has_the_chunks_of_its_terms_in_order() -> None:
    rng, seen = random.Random(5), 0
    while seen < 20:
        nodes = rng.randint(2, 5)
        demand = random_demand(rng, nodes, (*MOVING, *REDUCING, "allreduce"))
        whole = LIBRARY.collective(demand.text)
        chunks = whole.least_chunks(nodes)
        if not whole.terms or chunks is None:
            continue
        seen += 1
        everywhere = np.arange(nodes)
        tables = [(term.tabulate(nodes, chunks), everywhere) for term in whole.terms]
        joined, table = RelationTable.joined(tables, nodes), whole.tabulate(nodes, chunks)
        assert np.array_equal(joined.pre, table.pre), demand.text
        assert np.array_equal(joined.post, table.post), demand.text


def best(topology: str, collective: str, steps: int) -> Fraction:
    found = syncoll.pareto(topology, collective, backend="all_pairs")
    return min(point.bandwidth for point in found.points if point.steps <= steps)


@pytest.mark.parametrize(
    ("topology", "terms"),
    [
        ("mesh(2,2)", ("allreduce", "allgather")),
        ("ring(5)", ("allgather", "2 * allreduce")),
        ("line(3)", ("allreduce", "scatter(root=1)", "allreduce within [[0,1],[2]]")),
    ],
)
def test_a_sum_costs_no_more_than_its_terms_together(topology: str, terms: tuple[str, ...]) -> None:
    found = syncoll.pareto(topology, " + ".join(terms), backend="all_pairs")
    assert found.points
    for point in found.points:
        assert not violations(point.instance, point.algorithm)
    least = found.points[0]
    assert least.bandwidth <= sum(best(topology, term, least.steps) for term in terms)


def test_no_overlay_is_beyond_the_limits() -> None:
    """Terms that keep a limit on R may exceed it together."""
    question = "ring(5)", "allreduce + allgather"
    found = syncoll.pareto(*question, backend="all_pairs").points
    assert any(point.rounds > point.steps for point in found)
    for point in syncoll.pareto(*question, k=0, work=0.3).points:
        assert point.rounds <= point.steps
    most = min(point.rounds for point in found) - 1
    assert not syncoll.pareto(*question, backend="all_pairs", max_rounds=most).points


def test_parts_of_unequal_length_are_overlaid() -> None:
    allreduce, allgather = (
        syncoll.pareto("ring(4)", name, backend="all_pairs").points[-1]
        for name in ("allreduce", "allgather")
    )
    assert allreduce.steps > allgather.steps
    parts = [(point.instance, point.algorithm) for point in (allgather, allreduce)]
    unit = max(point.chunks for point in (allgather, allreduce))
    parts = [refine(*part, unit // part[0].chunks) for part in parts]
    instance, algorithm = overlay(parts, "both")
    assert not violations(instance, algorithm)
    assert instance.steps == max(allreduce.steps, allgather.steps)
    assert instance.rounds <= sum(one.rounds for one, _ in parts)
