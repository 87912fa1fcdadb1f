"""Rounds as multiples of a grain: topologies, instances, algorithms, the verifier and files."""

from __future__ import annotations

import json
import pickle
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from syncoll.api import Algorithm, Instance, Topology, require_valid
from syncoll.documents import algorithm_document, read_file, write_document
from syncoll.errors import FileFormatError, ModelError, VerificationError

SEVENTHS = Topology.from_links(
    "sevenths", 2, {(0, 1): Fraction(7, 2), (1, 0): Fraction(7, 4)}, grains=7
)
BOTH_WAYS = [[0, 0, 1, 0], [1, 1, 0, 0]]


def exchange(rounds: Fraction | int, topology: Topology = SEVENTHS) -> Instance:
    return Instance(topology, "exchange", 1, 1, rounds, [[1, 0], [0, 1]], [[0, 1], [1, 0]])


def test_a_step_lasts_as_long_as_its_fullest_link() -> None:
    algorithm = Algorithm((1,), BOTH_WAYS).tightened(SEVENTHS)
    assert algorithm.rounds_per_step == (Fraction(4, 7),)
    assert Algorithm((1,), BOTH_WAYS[:1]).tightened(SEVENTHS).rounds == Fraction(2, 7)
    require_valid(exchange(Fraction(4, 7)), algorithm)


def test_an_algorithm_with_a_grain_too_few_is_refused() -> None:
    short = Algorithm((Fraction(3, 7),), BOTH_WAYS)
    with pytest.raises(VerificationError, match="step 0 of 3/7 rounds sends 1 chunk over 1->0"):
        require_valid(exchange(Fraction(3, 7)), short)


def test_rounds_between_grains_are_refused() -> None:
    with pytest.raises(ModelError, match=r"2/3 rounds on sevenths(?s:.*)a multiple of 1/7"):
        exchange(Fraction(2, 3))
    with pytest.raises(ModelError, match="a whole number"):
        exchange(Fraction(1, 7), Topology.from_links("pair", 2, [(0, 1), (1, 0)]))
    odd = Algorithm((Fraction(1, 2), Fraction(1, 2)), BOTH_WAYS)
    two_steps = Instance(SEVENTHS, "exchange", 1, 2, 1, [[1, 0], [0, 1]], [[0, 1], [1, 0]])
    with pytest.raises(VerificationError, match="1/2 rounds of a step, no multiple of 1/7"):
        require_valid(two_steps, odd)


@pytest.mark.parametrize("grains", [0, -3, 1_000_001, Fraction(1, 2), True])
def test_grains_are_a_whole_number_in_range(grains: Any) -> None:
    with pytest.raises(ModelError, match=r"grains in a round(?s:.*)1 to 1,000,000"):
        Topology.from_links("pair", 2, [(0, 1), (1, 0)], grains=grains)


def test_spare_rounds_go_to_idle_steps_and_then_to_the_last() -> None:
    algorithm = Algorithm((1, 1, 1), BOTH_WAYS)
    assert algorithm.with_rounds(SEVENTHS, Fraction(5, 7)).rounds_per_step == (
        *(Fraction(4, 7), Fraction(1, 7), 0),
    )
    assert algorithm.with_rounds(SEVENTHS, 3).rounds_per_step == (
        *(Fraction(4, 7), 1, Fraction(10, 7)),
    )
    assert algorithm.with_least_rounds(SEVENTHS).rounds == Fraction(6, 7)


def test_whole_rounds_stay_ints() -> None:
    twice = Algorithm((Fraction(4, 2), 1), BOTH_WAYS)
    assert [type(rounds) for rounds in twice.rounds_per_step] == [int, int]
    assert twice == Algorithm((2, 1), BOTH_WAYS)
    assert twice.scaled(Fraction(1, 3)).rounds_per_step == (Fraction(2, 3), Fraction(1, 3))


def test_the_problem_in_grains_has_whole_rounds() -> None:
    instance = exchange(Fraction(4, 7)).in_grains
    assert (instance.rounds, instance.topology.grains) == (4, 1)
    assert [b.chunks_per_round for b in instance.topology.bounds] == [
        Fraction(1, 2),
        Fraction(1, 4),
    ]
    require_valid(instance, Algorithm((4,), BOTH_WAYS))
    whole = Topology.from_links("pair", 2, [(0, 1), (1, 0)])
    assert whole.in_grains is whole
    assert instance.topology.in_grains is instance.topology


def test_derived_topologies_keep_their_grains() -> None:
    assert SEVENTHS.reversed().grains == 7
    assert not SEVENTHS.same_as(Topology.from_networkx(SEVENTHS.in_grains.to_networkx()))
    assert SEVENTHS.same_as(Topology.from_networkx(SEVENTHS.to_networkx()))
    assert pickle.loads(pickle.dumps(SEVENTHS)) == SEVENTHS


def test_files_keep_rounds_as_ratios(tmp_path: Path) -> None:
    instance, algorithm = exchange(Fraction(4, 7)), Algorithm((Fraction(4, 7),), BOTH_WAYS)
    document = algorithm_document(instance, algorithm)
    assert document["schema"] == "syncoll/algorithm/6"
    assert document["rounds"] == "4/7"
    assert document["interconnect"]["grains"] == 7
    write_document(tmp_path / "one.json", document)
    [stored] = read_file(tmp_path / "one.json").algorithms
    assert stored.algorithm == algorithm
    assert stored.instance.topology == SEVENTHS


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": "syncoll/algorithm/5"}, "interconnect has grains, which files of version 5"),
        ({"rounds": "4/0"}, "4/0 rounds, but rounds on this machine are multiples of 1/7"),
        ({"rounds": "1/2"}, "1/2 rounds, but rounds on this machine are multiples of 1/7"),
        ({"rounds": 0.5}, "rounds is 0.5; expected"),
        ({"rounds": "-4/7"}, 'rounds is "-4/7"; expected'),
        ({"grains": 1}, "grains is 1; expected"),
        ({"grains": None}, "4/7 rounds, but rounds on this machine are whole"),
    ],
)
def test_wrong_rounds_of_a_file_are_refused(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    document = algorithm_document(exchange(Fraction(4, 7)), Algorithm((Fraction(4, 7),), BOTH_WAYS))
    grains = change.pop("grains", 7)
    document = json.loads(json.dumps({**document, **change}))
    document["interconnect"]["grains"] = grains
    if grains is None:
        del document["interconnect"]["grains"]
    write_document(tmp_path / "one.json", document)
    with pytest.raises(FileFormatError) as error:
        read_file(tmp_path / "one.json")
    assert message in str(error.value)
