"""Both checkers on files with rational rounds and random errors, against exhaustive trial."""

from __future__ import annotations

import copy
import json
import os
import random
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from math import ceil
from pathlib import Path
from typing import Any

import pytest

from syncoll import check as check_file, pareto, verify
from syncoll.api import Topology
from syncoll.documents import frontier_document, load_text
from syncoll.documents.document import digest
from syncoll.errors import SyncollError, VerificationError
from syncoll.trust.claims import check_claims
from syncoll_check import FileError, WrongError, check

Json = dict[str, Any]

MACHINES = {
    "fast and slow": Topology.from_links(
        "fast and slow",
        3,
        {(0, 1): Fraction(5, 2), (1, 2): 1, (2, 0): Fraction(3, 4), (1, 0): 2},
        grains=15,
    ),
    "shared": Topology.from_links(
        "shared", 2, {(0, 1): Fraction(7, 3), (1, 0): 1}, [([(0, 1), (1, 0)], 3)], grains=7
    ),
}


@pytest.fixture(scope="module")
def documents() -> list[Json]:
    """Frontiers of the machines, two of them with refutations."""
    return [
        json.loads(json.dumps(frontier_document(pareto(machine, name, progress="none", **limits))))
        for machine in MACHINES.values()
        for name in ("allgather", "broadcast")
        for limits in ({"max_chunks": 2, "max_steps": 3, "work": 1, "backend": "pysat"},)
    ]


def _ratio(value: Any, choose: random.Random) -> Any:
    """Another number of the same kind, whole or a ratio as text."""
    near = Fraction(value) + Fraction(choose.choice([-2, -1, 1, 2]), choose.choice([1, 2, 7, 15]))
    near = abs(near)
    if isinstance(value, int) or choose.random() < 0.7:
        return near.numerator if near.denominator == 1 and isinstance(value, int) else str(near)
    return int(near)


def _number(where: Any, key: Any) -> Callable[[random.Random], None]:
    def change(choose: random.Random) -> None:
        where[key] = _ratio(where[key], choose)

    return change


def mutant(document: Json, choose: random.Random) -> Json:
    """A copy with one or two wrong rounds, loads, bandwidths, bounds or proofs."""
    content = copy.deepcopy(document)
    content.pop("digest", None)
    point = choose.choice(content["points"])
    network, algorithm = content["interconnect"], point["algorithm"]
    bound, send = choose.choice(network["bounds"]), choose.choice(algorithm["sends"])
    proof, certificate = point["proof"], choose.choice(content["evidence"]["certificates"])
    step = choose.randrange(point["steps"])

    def moved(choose: random.Random) -> None:
        send[3] = choose.randrange(point["steps"])

    def again(choose: random.Random) -> None:
        algorithm["sends"].append([send[0], *choose.choice(network["links"]), send[3]])

    def shifted(choose: random.Random) -> None:
        """Other rounds of two steps with the same sum."""
        rounds = algorithm["rounds_per_step"]
        other, by = choose.randrange(point["steps"]), Fraction(1, choose.choice([2, 7, 15]))
        for at, sign in ((step, 1), (other, -1)):
            value = Fraction(rounds[at]) + sign * by
            rounds[at] = value.numerator if value.denominator == 1 else str(value)

    def grains(choose: random.Random) -> None:
        network["grains"] = choose.choice([2, 3, 5, 7, 14, 15, 30, 60])

    def costs(choose: random.Random) -> None:
        """R of the point with R/C, its steps left as they are."""
        point["rounds"] = _ratio(point["rounds"], choose)
        point["bandwidth"] = str(Fraction(point["rounds"]) / point["chunks"])

    def less(choose: random.Random) -> None:
        """Rounds of a step, R and R/C, all in agreement."""
        rounds = algorithm["rounds_per_step"]
        rounds[step] = _ratio(rounds[step], choose)
        total = sum(map(Fraction, rounds))
        point["rounds"] = total.numerator if total.denominator == 1 else str(total)
        point["bandwidth"] = str(total / point["chunks"])

    changes = [
        *(moved, again, shifted, grains, costs, less),
        _number(algorithm["rounds_per_step"], step),
        _number(bound, "chunks_per_round"),
        _number(point, "bound"),
        _number(proof, "bound"),
        _number(proof, "low") if proof["low"] else moved,
        _number(certificate, "rounds"),
        _number(content["bounds"], "bandwidth"),
    ]
    changes += [_number(one, "rounds") for one in proof["refuted"]]
    changes += [_number(one, "price") for one in certificate.get("prices", ())]
    for change in choose.sample(changes, choose.choice([1, 1, 2])):
        change(choose)
    content["digest"] = digest(content)
    return content


def is_true(content: Json) -> bool:
    """Whether the points are algorithms, and the bounds hold for C = 1, by trial of all sends."""
    network, nodes = content["interconnect"], content["nodes"]
    grains = network["grains"]
    bounds = [
        ({tuple(link) for link in one["links"]}, Fraction(one["chunks_per_round"]))
        for one in network["bounds"]
    ]
    for point in content["points"]:
        rounds = [Fraction(one) for one in point["algorithm"]["rounds_per_step"]]
        held = {
            (chunk, node)
            for one in point["chunk_classes"]
            for chunk in one["chunks"]
            for node in one["pre"]
        }
        wanted = {
            (chunk, node)
            for one in point["chunk_classes"]
            for chunk in one["chunks"]
            for node in one["post"]
        }
        if any(one < 0 or one * grains % 1 for one in rounds) or sum(rounds) != Fraction(
            point["rounds"]
        ):
            return False
        for step, length in enumerate(rounds):
            now = [row for row in point["algorithm"]["sends"] if row[3] == step]
            if any((chunk, a) not in held for chunk, a, _, _ in now):
                return False
            for links, rate in bounds:
                if sum((a, b) in links for _, a, b, _ in now) > rate * length:
                    return False
            held |= {(chunk, b) for chunk, _, b, _ in now}
        if not wanted <= held:
            return False
    links = [tuple(link) for link in network["links"]]
    one = next(one for one in content["evidence"]["shapes"])
    chunks = [
        (pre, post)
        for own in one["classes"]
        for pre, post in [(own["pre"], own["post"])] * own["count"]
    ]
    start = frozenset((i, n) for i, (pre, _) in enumerate(chunks) for n in pre)
    goal = {(i, n) for i, (_, post) in enumerate(chunks) for n in post}
    costs: dict[frozenset[tuple[int, int]], Fraction] = {start: Fraction(0)}
    stated = [(p["steps"], p["proof"]["bound"]) for p in content["points"]]
    stated += [(b["steps"], b["proof"]["bound"]) for b in content["between"]]
    for steps in range(1, nodes + 1):
        after = dict(costs)
        for held_now, cost in costs.items():
            sends = [
                (chunk, a, b)
                for chunk in range(len(chunks))
                for a, b in links
                if (chunk, a) in held_now and (chunk, b) not in held_now
            ]
            for size in range(1, len(sends) + 1):
                for some in combinations(sends, size):
                    longest = max(
                        Fraction(ceil(sum(s[1:] in own for s in some) * grains / rate), grains)
                        for own, rate in bounds
                    )
                    state, total = held_now | {(c, b) for c, _, b in some}, cost + longest
                    after[state] = min(total, after.get(state, total))
        costs = after
        least = min((cost for state, cost in costs.items() if goal <= state), default=None)
        for most, bound in stated:
            if most == steps and least is not None and Fraction(bound) > least / one["chunks"]:
                return False
    assert nodes <= 3
    return (
        Fraction(content["bounds"]["bandwidth"])
        <= min(cost for state, cost in costs.items() if goal <= state) / one["chunks"]
    )


def test_the_files_hold(documents: list[Json]) -> None:
    points = [point for document in documents for point in document["points"]]
    assert len([point for point in points if isinstance(point["rounds"], str)]) > 2
    for document in documents:
        check(json.dumps(document).encode())
        assert is_true(document)


def test_no_mutant_is_accepted_wrongly(documents: list[Json]) -> None:
    count, accepted = int(os.environ.get("SYNCOLL_MUTATIONS", "200")), 0
    for seed in range(count):
        choose = random.Random(seed)
        content = mutant(choose.choice(documents), choose)
        text = json.dumps(content)
        ours = theirs = True
        try:
            frontier = load_text(text, "a mutant").frontier
            assert frontier is not None
            check_claims(frontier)
        except SyncollError:
            ours = False
        try:
            check(text.encode())
        except (FileError, WrongError):
            theirs = False
        assert ours is theirs, seed
        if ours:
            accepted += 1
            assert is_true(content), seed
    assert 0 < accepted < count // 2


def test_claims_about_whole_rounds_are_not_about_finer_ones(tmp_path: Path) -> None:
    fine = Topology.from_links("fine", 2, {(0, 1): Fraction(5, 2), (1, 0): 5}, grains=5)
    whole = replace(fine, grains=1)
    file = tmp_path / "whole.json"
    pareto(whole, "allgather", output=file, max_chunks=2, work=2, progress="none")
    verify(file, topology=fine)
    with pytest.raises(VerificationError) as error:
        check_file(file, topology=fine)
    assert "multiples of 1/1, and on fine multiples of 1/5" in str(error.value)
    pareto(fine, "allgather", output=file, max_chunks=2, work=2, progress="none")
    with pytest.raises(VerificationError):
        verify(file, topology=whole)
