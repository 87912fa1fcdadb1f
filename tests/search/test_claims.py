"""The check accepts the claims of searches for random collectives, and brute force confirms them.

Brute force tries everything, for every small S and C.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from syncoll.bounding import rounds_bound
from syncoll.certificates import RoundsBound
from syncoll.documents import frontier_document, load_text
from syncoll.errors import LocatedError, UsageError
from syncoll.ledger import BoundsTable, SearchRequest
from syncoll.model import Collective, Instance, Topology, inverse_of, sequence_of
from syncoll.plugins import PluginManager, resolve_options
from syncoll.results import Frontier, Scope
from syncoll.searching import AnswerSource, ChosenSeed, Seeding, search, solve_one
from syncoll.solving import Solver
from syncoll.spec import SpecLibrary
from syncoll.testing.brute_force import TooLargeError, least_rounds
from syncoll.trust.claims import check_claims

F = Fraction

MANAGER = PluginManager.discover()
SPECS = SpecLibrary([record.folder for record in MANAGER.spec_libraries.values()])
TOPOLOGIES = ("ring(2)", "line(2)", "line(3)", "ring(3)", "star(3)", "bus(3)")

_MOST_CHUNKS, _MOST_ROUNDS, _MOST_WORK = 5, 8, 10_000
"""Limits of brute force."""


@pytest.fixture(scope="module")
def solver() -> Iterator[Solver]:
    with Solver(MANAGER, backend="pysat") as solver:
        yield solver


def seeding() -> Seeding:
    records = [r for r in MANAGER.seeds.values() if r.by_default and r.installed().ok]
    return Seeding([ChosenSeed(r, resolve_options(r.options, {}, r.name)) for r in records])


def random_request(seed: int) -> SearchRequest:
    """A collective of a few chunks, or one derived from it, with a machine and limits."""
    rng = random.Random(seed)
    topology, most = SPECS.topology(rng.choice(TOPOLOGIES)), rng.choice((1, 2, 3, 4, 5, None))
    nodes, count = topology.num_nodes, rng.randint(1, 3)
    kind = rng.choice(("plain", "inverse", "twice", "allreduce"))
    pre, post = np.zeros((2, count, nodes), dtype=bool)
    pre[range(count), [rng.randrange(nodes) for _ in range(count)]] = True
    if kind == "plain" and rng.random() < 0.3:
        pre[rng.randrange(count), rng.randrange(nodes)] = True
    for row in post:
        row[rng.sample(range(nodes), rng.randint(1, nodes))] = True
    it = Collective.from_arrays("one", pre, post)
    if kind != "plain":
        one, it = it, inverse_of(it, "back")
        if kind == "twice":
            it = inverse_of(it, "again")
        elif kind == "allreduce":
            it = sequence_of([[it, one]], "both")
    return SearchRequest(
        topology,
        it,
        max_chunks=most,
        max_steps=rng.choice((None, 1, 2, 3)),
        point_limit=2.0,
        time_limit=5.0,
    )


def moving(instance: Instance) -> Instance | None:
    """An equally hard instance that only moves copies; None without a simple one."""
    if not instance.combining:
        return instance
    if (instance.post.sum(axis=1) > 1).any():
        return None
    needed = instance.post.any(axis=1)
    return replace(
        instance,
        topology=instance.topology.reversed(),
        pre=instance.post,
        post=instance.pre & needed[:, None],
        combining=False,
    )


def costs(request: SearchRequest, most_steps: int) -> Iterator[tuple[int, int, int]]:
    """(S, R, C) with the least R for each S and C, by trying everything."""
    topology, collective = request.topology, request.collective
    for chunks in range(1, _MOST_CHUNKS + 1):
        try:
            asked = collective.instantiate(topology, chunks=chunks, steps=0, rounds=0)
        except LocatedError:
            continue
        instance = moving(asked)
        for steps in range(most_steps + 1) if instance is not None else ():
            assert instance is not None
            try:
                rounds = least_rounds(
                    replace(instance, steps=steps), _MOST_ROUNDS, most_work=_MOST_WORK
                )
            except TooLargeError:
                break
            if rounds is not None:
                yield steps, rounds, chunks


def refuted(frontier: Frontier, steps: int, rounds: int, chunks: int) -> str | None:
    """The claim of a frontier that an algorithm refutes, if there is one."""
    evidence, cost = frontier.evidence, F(rounds, chunks)
    assert evidence is not None
    if frontier.max_chunks is not None and chunks > frontier.max_chunks:
        return None
    if steps < frontier.least_steps or cost < frontier.least_bandwidth:
        return f"bounds {frontier.least_steps}, {frontier.least_bandwidth}"
    for proof in evidence.proofs:
        if steps > proof.steps:
            continue
        if cost < proof.bound:
            return f"the bound {proof.bound} for {proof.steps} steps"
        in_scope = (proof.max_chunks is None or chunks <= proof.max_chunks) and (
            proof.max_rounds is None or rounds <= proof.max_rounds
        )
        optimal = proof.scope is Scope.ALL or (proof.scope is Scope.CHUNKS and in_scope)
        if optimal and (proof.best is None or cost < proof.best):
            return proof.words
    known = [p.bandwidth for p in frontier.points if p.steps <= steps]
    known += [c for one in frontier.families if (c := one.cost_within(steps)) is not None]
    best = min(known, default=None)
    better = best is None or cost < best
    is_open = any(
        claim.least_steps <= steps
        and (claim.most_steps is None or steps <= claim.most_steps)
        and cost >= claim.low
        for claim in frontier.open
    )
    limits = [proof.max_rounds for proof in evidence.proofs if proof.max_rounds is not None]
    if better and chunks <= evidence.max_chunks and not limits and not is_open:
        return f"what is not settled: {[str(claim) for claim in frontier.open]}"
    return None


def examine(request: SearchRequest, asking: AnswerSource) -> bool:
    """Searches; every frontier on the way is accepted by the check, and no claim is false.

    Returns:
        Whether there was something to search.
    """
    kept: list[Frontier] = []
    try:
        frontier = search(request, asking, on_points=kept.append)
    except (LocatedError, UsageError):
        table = BoundsTable(request.topology, request.collective)
        chunks = range(1, (request.max_chunks or _MOST_CHUNKS) + 1)
        assert not any(table.admits(c) for c in chunks) or _needs_a_part(request, chunks)
        return False
    for one in (*kept, frontier):
        stored = load_text(json.dumps(frontier_document(one)), "frontier")
        check_claims(stored.claims(), topology=request.topology, collective=request.collective)
    for point in frontier.points:
        assert request.max_chunks is None or point.chunks <= request.max_chunks
        assert point.bound is not None
        assert point.bound <= point.bandwidth
    for steps, rounds, chunks in costs(request, frontier.least_steps + 2):
        claim = refuted(frontier, steps, rounds, chunks)
        assert claim is None, f"S = {steps}, R = {rounds}, C = {chunks} exists, against {claim}"
    return True


def _needs_a_part(request: SearchRequest, chunks: range) -> bool:
    """Whether a composition is defined, but one of its parts is impossible on the machine."""
    for way in request.collective.ways:
        for part in way:
            if part.dual is not None:
                continue
            table = BoundsTable(request.topology, part)
            if not any(table.admits(c) for c in chunks):
                return True
    return False


@pytest.mark.parametrize("seed", range(4))
def test_random_collectives(seed: int, solver: Solver) -> None:
    examine(random_request(seed), AnswerSource(solver, seeding=seeding() if seed % 2 else None))


@pytest.mark.slow
def test_many_random_collectives(solver: Solver) -> None:
    done = 0
    for seed in range(4, 24):
        asking = AnswerSource(solver, seeding=seeding() if seed % 2 else None)
        done += examine(random_request(seed), asking)
    assert done > 10


def test_the_inverse_of_a_broadcast_of_two_chunks(solver: Solver) -> None:
    two = Collective.from_arrays("two", [[1, 0, 0]] * 2, [[1, 1, 1]] * 2)
    ring = SPECS.topology("ring(3)")
    request = SearchRequest(ring, inverse_of(two, "itwo"), max_steps=2, point_limit=2.0)
    assert examine(request, AnswerSource(solver, seeding=seeding()))


IRREGULAR = """
collective sq {
    irregular  chunks C * C  pre Root(0)  post { (c, n) : n == 0 or (c == 0 and n == 1) }
}
collective isq = inverse sq
collective swap {
    irregular  chunks 2  pre { (c, n) : n == c mod P }  post { (c, n) : n == 1 - c }
}
collective iswap = inverse swap
collective iback { irregular  chunks 3 - C  pre Root(0)  post All }
collective back = inverse iback
"""


@pytest.mark.parametrize(("name", "admitted"), [("isq", (1, 4)), ("iswap", (1,)), ("back", (1, 2))])
def test_each_c_of_an_irregular_collective_is_solved(
    name: str, admitted: Sequence[int], solver: Solver, tmp_path: Path
) -> None:
    """Several C of the dual have as many chunks in all, or at a node, as the inverse needs."""
    file = tmp_path / "irregular.syncoll"
    file.write_text(IRREGULAR, encoding="utf-8")
    topology, collective = SPECS.topology("ring(2)"), SPECS.collective(f"{file}:{name}")
    for chunks in admitted:
        found = solve_one(solver, topology, collective, chunks=chunks, steps=2, rounds=9)
        assert found.algorithm is not None


def test_a_mistake_for_every_c_is_reported(solver: Solver) -> None:
    nobody = Collective.from_relations(
        "nobody", lambda _, c: c, lambda _c, n, *_: n == 0, lambda c, *_: c < 0
    )
    ring: Topology = SPECS.topology("ring(3)")
    with pytest.raises(LocatedError, match="is empty"):
        search(SearchRequest(ring, nobody), solver)


def test_a_bound_for_more_steps_serves_fewer_that_have_less() -> None:
    topology, collective = SPECS.topology("ring(4)"), SPECS.collective("broadcast")

    def prove(*asked: Any, **how: Any) -> RoundsBound:
        steps = asked[2]
        if steps == 2:  # as where time runs out
            return RoundsBound(F(0), steps, None)
        return rounds_bound(*asked, **how)

    table = BoundsTable(topology, collective, prove)
    assert table.bandwidth(2) == table.bandwidth()
    assert table.bandwidth(3) > table.bandwidth()
    assert table.bandwidth(2) == table.bandwidth(3)
