"""Files of bounds on times: both checkers accept them, and refuse them when they are changed."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import syncoll
from syncoll.bounding.flows_over_time import flows_over_time
from syncoll.certificates import ChunkClasses
from syncoll.cli.main import main
from syncoll.documents import schema
from syncoll.documents.floors import floors_document, read_floors
from syncoll.errors import SyncollError
from syncoll.model import Topology
from syncoll.simulating import physical_network
from syncoll.simulating.floors import timed_network
from syncoll_check import FileError, WrongError, check
from tests.docs.mutations import mutated

Json = dict[str, Any]


def made(machine: str | Topology, collective: str, size: int) -> Json:
    """A file of a bound on a machine without units, at 1 s a send and 1 byte/s."""
    topology = syncoll.topology(machine) if isinstance(machine, str) else machine
    asked = syncoll.Session().collective(collective)
    chunks = asked.least_chunks(topology.num_nodes) or 1
    instance = asked.instantiate(topology, chunks=chunks, steps=4, rounds=4)
    shape = ChunkClasses.of(instance, chunks, combining=instance.combining)
    network = physical_network(topology, Fraction(1), Fraction(1))
    # Of an exchange every byte has one destination, and no price is divided.
    apart = [] if collective == "alltoall" else [0] if shape.combining and shape.ends_alone else [1]
    timed = timed_network(network, apart=[0, 1] if collective == "allreduce" else apart)
    (proof,) = flows_over_time(timed, shape, [Fraction(size)], [Fraction(0)], divided=bool(apart))
    assert proof is not None
    named = topology.name, collective, shape
    return floors_document(*named, [("wire", timed, Fraction(size), proof)])


def accepted(document: Json, file: Path) -> bool:
    """Whether the checkers accept a file, about which they agree."""
    file.write_text(json.dumps(document))
    answers = []
    for checker in (lambda: read_floors(file), lambda: check(file.read_bytes())):
        try:
            checker()
        except (SyncollError, FileError, WrongError) as error:
            answers.append(str(error))
        else:
            answers.append("")
    assert bool(answers[0]) is bool(answers[1]), answers
    return not answers[0]


MACHINES: dict[str, tuple[str, str, int]] = {
    "moving": ("ring(4)", "allgather", 1),
    "alltoall": ("hub(3)", "alltoall", 6),
    "inverse": ("ring(4)", "reducescatter", 4),
    "spread": ("ring(4)", "allreduce", 4),
    "switches": ("nvl72(3,true)", "broadcast", 3),
    "divided": ("hub(3)", "broadcast", 3),
}


@pytest.mark.parametrize("name", MACHINES)
def test_both_checkers_accept_a_file(name: str, tmp_path: Path) -> None:
    document = made(*MACHINES[name])
    assert accepted(document, tmp_path / "floors.json")
    jsonschema.Draft202012Validator(schema("floors")).validate(document)
    (floor,) = document["floors"]
    moving = dict.fromkeys(("alltoall", "switches", "divided"), "moving")
    assert floor["reading"] == moving.get(name, name)
    assert bool(floor["shares"]) is (name != "alltoall")


def _first(document: Json) -> Json:
    floor: Json = document["floors"][0]
    return floor


@pytest.mark.parametrize(
    "change",
    [
        lambda x: _first(x).update(bytes="1/2"),
        lambda x: _first(x)["times"].__setitem__(-1, "99"),
        lambda x: _first(x)["times"].__setitem__(0, "1/9"),
        lambda x: _first(x)["prices"].append(_first(x)["prices"][0]),
        lambda x: _first(x)["prices"][0].__setitem__(0, 99),
        lambda x: _first(x)["prices"][0].__setitem__(1, 99),
        lambda x: _first(x)["payments"].append(_first(x)["payments"][0]),
        lambda x: _first(x)["payments"][0].__setitem__(0, 9),
        lambda x: _first(x)["payments"].clear(),
        lambda x: _first(x).update(reading="spread", node=0),
        lambda x: _first(x).update(lanes=1),
        lambda x: x["lanes"][0].update(places=3),
        lambda x: x["lanes"][0]["rates"].pop(),
        lambda x: x["lanes"][0].update(rates=["9"] * len(x["lanes"][0]["rates"])),
        lambda x: [row.__setitem__(3, "1/9") for row in x["lanes"][0]["passages"]],
        lambda x: x["shape"]["classes"].pop(1),
        lambda x: x["shape"].update(chunks=9),
    ],
)
def test_a_changed_file_is_refused(change: Callable[[Json], object], tmp_path: Path) -> None:
    document = made(*MACHINES["alltoall"])
    change(document)
    assert not accepted(document, tmp_path / "floors.json")


@pytest.mark.parametrize(
    "change",
    [
        lambda x: _first(x)["shares"].append(_first(x)["shares"][0]),
        lambda x: _first(x)["shares"].clear(),
        lambda x: _first(x)["shares"][0].__setitem__(0, 99),
        lambda x: _first(x)["shares"][0].__setitem__(1, 99),
        lambda x: _first(x)["shares"][0].__setitem__(2, 99),
        lambda x: [row.__setitem__(3, 10**9) for row in _first(x)["shares"]],
        lambda x: [row.__setitem__(0, 0) for row in _first(x)["shares"]],
    ],
)
def test_a_changed_share_is_refused(change: Callable[[Json], object], tmp_path: Path) -> None:
    document = made(*MACHINES["divided"])
    change(document)
    assert not accepted(document, tmp_path / "floors.json")


@pytest.mark.parametrize("name", MACHINES)
def test_both_checkers_agree_about_random_changes(name: str, tmp_path: Path) -> None:
    document, choose = made(*MACHINES[name]), random.Random(1)
    known = copy.deepcopy(document)
    refused = sum(
        not accepted(mutated(document, choose), tmp_path / "floors.json") for _ in range(60)
    )
    assert refused > 30
    assert document == known


def test_the_commands_write_and_check_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frontier, file = tmp_path / "ring.json", tmp_path / "floors.json"
    assert main(["pareto", "ring(4)", "allgather", "-o", str(frontier)]) == 0
    simulate = ["simulate", str(frontier), "--alpha", "1us", "--beta", "1GB/s", "--sizes", "8KiB"]
    assert main([*simulate, "--classics", "none", "--floors", str(file)]) == 0
    capsys.readouterr()
    assert main(["check", str(file)]) == 4
    assert "wire             2048" in capsys.readouterr().out
    assert main(["check", str(file), "--format", "json"]) == 4
    found = json.loads(capsys.readouterr().out)
    assert found["not_checked"][0]["kind"] == "lanes"
    assert 4e-6 < float(Fraction(found["floors"][0]["seconds"])) < 5e-6
    assert [kind for kind, _ in check(file.read_bytes()).unchecked()] == ["lanes"]
