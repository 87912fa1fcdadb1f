"""A file with one change is rejected, or all its statements are still true.

Accepted files are checked again from the raw document by a checker that shares no code with
syncoll's own: sets, fractions and loops.
"""

from __future__ import annotations

import copy
import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import jsonschema
import pytest

from syncoll.documents import StoredFile, load_text, schema
from syncoll.documents.document import parse_document
from syncoll.errors import FileFormatError, SyncollError

Json = dict[str, Any]


# The naive checker --------------------------------------------------------------------------------


def assert_true(content: Json, stored: StoredFile) -> None:
    """All statements of a file about costs and algorithms are true."""
    entries = content["points"] if content["schema"] == "syncoll/frontier/1" else [content]
    solved = [entry for entry in entries if entry["algorithm"] is not None]
    for entry in entries:
        assert Fraction(entry["bandwidth"]) == Fraction(entry["rounds"], entry["chunks"])
    for entry in solved:
        replay(content, entry)
    assert len(stored.algorithms) == len(solved)
    for one, entry in zip(stored.algorithms, solved, strict=True):
        assert list(one.algorithm.rounds_per_step) == entry["algorithm"]["rounds_per_step"]
        assert sorted(one.algorithm.sends.tolist()) == sorted(entry["algorithm"]["sends"])
        costs = (one.instance.chunks, one.instance.steps, one.instance.rounds)
        assert costs == (entry["chunks"], entry["steps"], entry["rounds"])
    if "points" in content:
        assert_frontier(content)
    if "verdict" in content:
        assert (content["verdict"] == "sat") == bool(solved)


def assert_frontier(content: Json) -> None:
    costs = [(p["steps"], Fraction(p["bandwidth"])) for p in content["points"]]
    for i, (steps, bandwidth) in enumerate(costs):
        assert steps >= content["bounds"]["steps"]
        assert bandwidth >= Fraction(content["bounds"]["bandwidth"])
        if content["points"][i].get("bound") is not None:
            assert bandwidth >= Fraction(content["points"][i]["bound"])
        others = costs[:i] + costs[i + 1 :]
        assert not any(s <= steps and b <= bandwidth for s, b in others)


def replay(content: Json, entry: Json) -> None:
    nodes = set(range(content["nodes"]))
    links = {tuple(link) for link in content["interconnect"]["links"]}
    rounds, sends = entry["algorithm"]["rounds_per_step"], entry["algorithm"]["sends"]
    assert len(rounds) == entry["steps"]
    assert sum(rounds) == entry["rounds"]
    pre: dict[int, set[int]] = {}
    post: dict[int, set[int]] = {}
    for group in entry["chunk_classes"]:
        for chunk in group["chunks"]:
            assert chunk not in pre
            pre[chunk], post[chunk] = set(group["pre"]), set(group["post"])
    assert set(pre) == set(range(len(pre)))
    assert all(places <= nodes for places in (*pre.values(), *post.values()))
    holds = pre
    for step, count in enumerate(rounds):
        now = [tuple(row[:3]) for row in sends if row[3] == step]
        assert all((a, b) in links for _, a, b in now)
        assert all(a in holds[chunk] for chunk, a, _ in now)
        load = Counter((a, b) for _, a, b in now)
        for bound in content["interconnect"]["bounds"]:
            used = sum(load[tuple(link)] for link in {tuple(link) for link in bound["links"]})
            assert used <= Fraction(bound["chunks_per_round"]) * count
        for chunk, _, b in now:
            holds[chunk] = holds[chunk] | {b}
    assert all(0 <= row[3] < len(rounds) for row in sends)
    assert all(post[chunk] <= holds[chunk] for chunk in post)


# The mutations ------------------------------------------------------------------------------------

STRANGE = [
    *(None, True, False, 0, 1, -1, 7, 10**9, 10**9 + 1, 2**63, 10**30, 0.5, 1.0, -0.0, 1e308),
    *("", "0", "1", "7/6", "1/0", "-1", "x", "sat", "unsat", "unknown", "syncoll/frontier/1"),
    *([], {}, [[]], [0, 1], [0, 1, 1, 0], {"rounds_per_step": [], "sends": []}),
]


def places(value: Any, generator: random.Random) -> tuple[Any, Any]:
    """A container and a key in it, found by a random walk, so that long tables do not swallow
    all mutations."""
    while True:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        key = generator.choice(keys)
        child = value[key]
        if isinstance(child, (dict, list)) and child and generator.random() < 0.85:
            value = child
            continue
        return value, key


def mutate(content: Json, generator: random.Random) -> str:
    """Makes one change in place; describes it."""
    container, key = places(content, generator)
    old = container[key]
    kind = generator.choice(["change", "change", "strange", "delete", "duplicate", "swap"])
    if kind == "change" and type(old) is int:
        container[key] = old + generator.choice([-2, -1, 1, 1, 2, 100])
    elif kind == "change" and isinstance(old, str):
        other = generator.choice(["1", "2", "1/2", "3/2", "0", "", old + "0", old[:-1]])
        container[key] = other
    elif kind == "change" and isinstance(old, list):
        generator.shuffle(old)
    elif kind == "delete":
        del container[key]
    elif kind == "duplicate" and isinstance(container, list):
        container.insert(generator.randrange(len(container) + 1), copy.deepcopy(old))
    elif kind == "swap":
        other_container, other_key = places(content, generator)
        other = copy.deepcopy(other_container[other_key])
        other_container[other_key] = copy.deepcopy(old)
        container[key] = other
    else:
        container[key] = copy.deepcopy(generator.choice(STRANGE))
    return f"{kind} of {key!r}"


def mutants(content: Json, seed: int, count: int) -> Iterator[tuple[str, Json]]:
    generator = random.Random(seed)
    for _ in range(count):
        mutant = copy.deepcopy(content)
        what = mutate(mutant, generator)
        yield what, mutant


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("frontier", 150),
        ("shared", 150),
        ("dgx1", 60),
        ("sat", 80),
        ("unsat", 120),
        ("algorithm", 200),
    ],
)
def test_a_mutant_is_refused_or_true(
    name: str, count: int, document: Callable[[str], Json]
) -> None:
    accepted = 0
    for what, mutant in mutants(document(name), seed=len(name), count=count):
        try:
            stored = load_text(json.dumps(mutant), "some.json")
        except SyncollError as error:
            named = str(error).startswith("some.json")
            if not named:
                pytest.fail(f"{what}: {error}")
            continue
        accepted += 1
        assert_true(mutant, stored)
    # Both happen: names, times and order can change freely, costs and sends cannot.
    assert count // 50 <= accepted <= count * 2 // 3


# Rules that JSON Schema cannot express: 1.0 is no count, and no denominator is 0.
BEYOND_SCHEMA = re.compile(r"is -?[0-9]+\.0; expected a whole number|denominator other than 0")


@pytest.mark.parametrize("name", ["frontier", "sat", "unsat", "algorithm"])
def test_the_schema_accepts_all_files_that_the_reader_does(
    name: str, document: Callable[[str], Json]
) -> None:
    content = document(name)
    validator = jsonschema.Draft202012Validator(schema(content["schema"].split("/")[1]))
    verdicts = set()
    for what, mutant in mutants(content, seed=3, count=80):
        if mutant.get("schema") != content["schema"]:
            continue
        complaint = ""
        try:
            parse_document(json.dumps(mutant), "some.json")
        except FileFormatError as error:
            complaint = str(error)
        if not BEYOND_SCHEMA.search(complaint):
            assert validator.is_valid(mutant) == (not complaint), f"{what}: {complaint}"
        verdicts.add(not complaint)
    assert verdicts == {True, False}


@pytest.mark.parametrize("name", ["frontier", "shared", "dgx1", "sat", "algorithm"])
def test_no_single_number_of_a_send_can_change(name: str, document: Callable[[str], Json]) -> None:
    """Every change of one number in the table of sends is noticed or harmless."""
    content = document(name)
    entry = content["points"][0] if "points" in content else content
    generator = random.Random(1)
    sends = entry["algorithm"]["sends"]
    for _ in range(60):
        row = generator.choice(sends)
        column = generator.randrange(4)
        old = row[column]
        row[column] = generator.choice([old + 1, max(0, old - 1), 0])
        try:
            stored = load_text(json.dumps(content), "some.json")
        except SyncollError:
            pass
        else:
            assert_true(content, stored)
        row[column] = old


def test_the_naive_checker_finds_errors(document: Callable[[str], Json]) -> None:
    content = document("frontier")
    stored = load_text(json.dumps(content), "some.json")
    assert_true(content, stored)
    entry = content["points"][0]
    for change in (
        lambda: entry["algorithm"]["sends"].pop(),
        lambda: entry.update(bandwidth="9"),
        lambda: entry["algorithm"].update(rounds_per_step=[9] * entry["steps"]),
        lambda: entry["chunk_classes"][0].update(pre=[]),
    ):
        saved = copy.deepcopy(entry)
        change()
        with pytest.raises(AssertionError):
            assert_true(content, stored)
        entry.clear()
        entry.update(saved)
