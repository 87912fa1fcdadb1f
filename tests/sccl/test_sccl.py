"""SCCL's algorithm JSON: read, verified, simulated, exported again; errors name their place."""

from __future__ import annotations

import json
import random
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

import syncoll
from syncoll.cli.main import main
from syncoll.errors import ExportError, SyncollError, UsageError, VerificationError
from syncoll.importing.fitting import fitted
from syncoll.plugins import ExportRequest
from syncoll.plugins.foreign import Meant
from syncoll.runtime import export_verified
from syncoll.testing.instances import random_case
from syncoll.trust import require_valid
from syncoll_sccl import RECORD


def broadcast() -> dict[str, Any]:
    """A broadcast from node 1 along a line of three nodes, in two chunks."""
    line = [[0, 2, 0], [2, 0, 2], [0, 2, 0]]
    return {
        "msccl_type": "algorithm",
        "name": "Broadcast(n=3,root=1)-Line",
        "instance": {"msccl_type": "instance", "steps": 1, "extra_rounds": 0, "chunks": 2},
        "input_map": {"1": [0, 1]},
        "output_map": {"0": [0, 1], "1": [0, 1], "2": [0, 1]},
        "steps": [{"rounds": 1, "sends": [[0, 1, 0], [1, 1, 0], [0, 1, 2], [1, 1, 2]]}],
        "collective": {"name": "Broadcast(n=3,root=1)", "nodes": 3, "chunks": []},
        "topology": {"msccl_type": "topology", "name": "Line(n=3)", "switches": [], "links": line},
    }


def allreduce() -> dict[str, Any]:
    """An allreduce of two nodes that exchange their contributions."""
    chunk = {"post": [0, 1], "addr": 0}
    return {
        "msccl_type": "algorithm",
        "name": "Allreduce(n=2)-Pair",
        "instance": {"msccl_type": "instance", "chunks": 1, "pipeline": None},
        "input_map": {"0": [0], "1": [0]},
        "output_map": {"0": [0], "1": [0]},
        "steps": [{"rounds": 1, "sends": [[0, 0, 1], [0, 1, 0]]}],
        "collective": {
            "name": "Allreduce(n=2)",
            "nodes": 2,
            "chunks": [{**chunk, "pre": [0]}, {**chunk, "pre": [1]}],
        },
        "topology": {"msccl_type": "topology", "name": "Pair", "links": [[0, 1], [1, 0]]},
    }


def saved(tmp_path: Path, data: dict[str, Any]) -> str:
    file = tmp_path / "algo.json"
    file.write_text(json.dumps(data))
    return str(file)


@pytest.mark.parametrize(
    ("data", "name", "costs"),
    [(broadcast(), "broadcast(root=1)", (2, 1, 1)), (allreduce(), "allreduce", (1, 1, 1))],
    ids=["broadcast", "allreduce"],
)
def test_every_verb_takes_a_file(
    data: dict[str, Any],
    name: str,
    costs: tuple[int, ...],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = saved(tmp_path, data)
    assert main(["verify", file, "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    (one,) = found["verified"]
    assert found["collective"] == name
    assert (one["chunks"], one["steps"], one["rounds"]) == costs
    times = syncoll.simulate(file, alpha="1us", beta="25GB/s", sizes="1MiB", classics=False)
    assert times.collective == name
    assert times.algorithms[0].algorithm.chunks == costs[0]
    assert "replayed send by send" in syncoll.report(file, classics=False).html
    (made,) = syncoll.export(file, "msccl-xml", tmp_path / "xml")
    assert made.export.checked.collective == name.partition("(")[0]
    loaded = syncoll.load(file)
    assert loaded.instance.collective == name  # type: ignore[union-attr]


def test_a_repair_starts_from_the_algorithm_of_a_file(tmp_path: Path) -> None:
    ring = syncoll.pareto("ring(4)", "allgather", max_steps=2, progress="none")
    ring[0].export("sccl", tmp_path / "ring.json")
    done = syncoll.repair(tmp_path / "ring.json", "link 0->1", work=0.3, progress="none")
    first = done.losses[0]
    assert (first.steps, first.whole) == (2, ring[0].bandwidth)
    assert done.frontier


def test_a_missing_send_is_an_error_with_node_and_chunk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = broadcast()
    data["steps"][0]["sends"].pop()
    assert main(["verify", saved(tmp_path, data)]) == 2
    assert "chunk 1 never reaches node 2" in capsys.readouterr().err


def test_a_file_is_compared_with_named_machines(tmp_path: Path) -> None:
    file = saved(tmp_path, broadcast())
    syncoll.verify(file, collective="broadcast(root=1)")
    with pytest.raises(UsageError, match="options of formats and C have no effect"):
        syncoll.verify(file, collective="broadcast(root=1)", chunks=2)
    with pytest.raises(VerificationError, match="for no C do the chunks of allgather"):
        syncoll.verify(file, collective="allgather")
    with pytest.raises(VerificationError, match="is not ring"):
        syncoll.verify(file, topology="ring(3)")
    with pytest.raises(VerificationError, match="is not ring"):
        syncoll.simulate(file, topology="ring(3)", alpha="1us", beta="1GB/s")


@pytest.mark.parametrize(
    ("place", "value", "reason"),
    [
        (("steps", 0, "sends", 1), [1, 1, 7], r"steps\[0\].sends\[1\] is \[1, 1, 7\]; .* below 3"),
        (("steps", 0, "sends", 1), [1, 1], r"steps\[0\].sends\[1\]"),
        (("steps", 0, "rounds"), 0, "step 0 of 0 rounds sends 2 chunks over 1->0, more than 2"),
        (("steps", 0, "rounds"), "1", r"steps\[0\].rounds"),
        (("instance", "pipeline"), 2, "its steps overlap"),
        (("input_map", "x"), [0], "input_map: 'x' is no rank"),
        (("topology", "links"), [[0, 1]], "row 0 of its links .* has 2 entries"),
        (("topology", "switches"), [[[1], [0, 2], 3, "out"]], "4 chunks over out, more than 3"),
        (("collective", "nodes"), 4, "for 4 nodes, its topology has 3"),
        (("collective", "name"), "Scan(n=3)", "a scan reduces to another result"),
        (("msccl_type",), "step", "msccl_type"),
    ],
)
def test_an_error_names_its_place(
    place: tuple[Any, ...], value: object, reason: str, tmp_path: Path
) -> None:
    data: Any = broadcast()
    inner = data
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    with pytest.raises(SyncollError, match=reason):
        syncoll.verify(saved(tmp_path, data), to="sccl")


def test_a_broken_line_is_named(tmp_path: Path) -> None:
    file = tmp_path / "algo.json"
    file.write_text(json.dumps(broadcast(), indent=1).replace('"nodes": 3,', '"nodes": 3'))
    line = file.read_text().split("\n").index('  "nodes": 3') + 2
    with pytest.raises(VerificationError, match=f"line {line}"):
        syncoll.verify(file)


def test_contributions_that_differ_from_the_chunks_are_refused(tmp_path: Path) -> None:
    data = allreduce()
    data["collective"]["chunks"][1]["post"] = [1]
    with pytest.raises(VerificationError, match="end at several places"):
        syncoll.verify(saved(tmp_path, data))
    data = allreduce()
    data["output_map"]["1"] = []
    with pytest.raises(VerificationError, match="its maps differ from the chunks"):
        syncoll.verify(saved(tmp_path, data))


def written(rng: random.Random) -> tuple[Any, Any, dict[str, Any]]:
    """An algorithm that the format can express, and its file."""
    while True:
        instance, algorithm = random_case(rng)
        request = ExportRequest("sample", instance.collective, instance, algorithm)
        try:
            (content,) = export_verified(RECORD, request, {}).exported.files.values()
        except ExportError:
            continue
        return instance, algorithm, json.loads(content)


def read(data: dict[str, Any]) -> tuple[Any, Any]:
    found = RECORD.load_checker().read({"a.json": json.dumps(data).encode()}, Meant())  # type: ignore[attr-defined]
    instance, algorithm = fitted(found, found.topology, None)
    require_valid(instance, algorithm)
    return instance, algorithm


def test_a_written_file_is_read_as_the_same_algorithm() -> None:
    rng = random.Random(5)
    for _ in range(40):
        instance, algorithm, data = written(rng)
        again, found = read(data)
        grains = again.rounds / algorithm.rounds
        assert again.combining is instance.combining
        assert found.rounds_per_step == algorithm.scaled(int(grains)).rounds_per_step
        assert sorted(found.sends[:, 1:].tolist()) == sorted(algorithm.sends[:, 1:].tolist())
        assert replayed(data)


def replayed(data: dict[str, Any]) -> bool:
    """Whether an algorithm is right, as `Algorithm.check_implements` of msccl-tools decides."""
    cut = data["instance"]["chunks"]
    chunks = [
        (set(one["pre"]), set(one["post"]), one["addr"] * cut + i)
        for one in data["collective"]["chunks"]
        for i in range(cut)
    ]
    held = {(k, node) for k, (pre, _, _) in enumerate(chunks) for node in pre}
    for step in data["steps"]:
        after = set(held)
        for address, source, destination in step["sends"]:
            of_address = [k for k, one in enumerate(chunks) if one[2] == address]
            after |= {(k, destination) for k in of_address if (k, source) in held}
        held = after
    return all((k, node) in held for k, (_, post, _) in enumerate(chunks) for node in post)


def test_a_mutant_is_refused_or_a_right_algorithm() -> None:
    rng = random.Random(9)
    refused = 0
    for _ in range(25):
        _, _, data = written(rng)
        for _ in range(6):
            mutant = deepcopy(data)
            _mutate(mutant, rng)
            try:
                read(mutant)
            except VerificationError:
                refused += 1
            else:
                assert replayed(mutant)
    assert 75 < refused < 150


def _mutate(data: dict[str, Any], rng: random.Random) -> None:
    steps = [one for one in data["steps"] if one["sends"]]
    step = rng.choice(steps)
    send = rng.randrange(len(step["sends"]))
    what = rng.randrange(6)
    if what == 0:
        del step["sends"][send]
    elif what == 1:
        step["sends"][send][rng.randrange(3)] += rng.choice([-1, 1])
    elif what == 2:
        step["rounds"] -= 1
    elif what == 3:
        step["sends"].append(step["sends"][send])
    elif what == 4:
        rng.choice(list(data["output_map"].values())).append(0)
    else:
        rng.shuffle(data["steps"])
