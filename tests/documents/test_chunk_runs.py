"""Files of many chunks with equal sends: they have runs, and are read as written."""

from __future__ import annotations

import copy
import json
from typing import Any

import numpy as np
import pytest

from syncoll.api import collective, topology
from syncoll.documents import algorithm_document, written_problem
from syncoll.documents.stored import load_text
from syncoll.errors import FileFormatError
from syncoll.model import Algorithm, Instance

Json = dict[str, Any]


def solved(size: int) -> tuple[Instance, Algorithm]:
    """Every node of three sends `size` chunks to each of the others."""
    rows = [[0 if a == b else size + a + b if size else 1 for b in range(3)] for a in range(3)]
    most = max(map(max, rows))
    instance = collective("alltoallv", rows).instantiate(
        topology("fully_connected(3)"), chunks=1, steps=1, rounds=most
    )
    pre, post = (np.argmax(table, axis=1) for table in (instance.pre, instance.post))
    sends = np.column_stack([np.arange(len(pre)), pre, post, np.zeros_like(pre)])
    return instance, Algorithm((most,), sends)


@pytest.fixture
def document(monkeypatch: pytest.MonkeyPatch) -> Json:
    monkeypatch.setattr(written_problem, "_MOST_LISTED", 10)
    written: Json = json.loads(json.dumps(algorithm_document(*solved(5))))
    return written


def read(document: Json) -> tuple[Instance, Algorithm]:
    (stored,) = load_text(json.dumps(document), "some.json").algorithms
    return stored.instance, stored.algorithm


def test_runs_are_read_as_written(document: Json) -> None:
    instance, algorithm = solved(5)
    assert document["schema"] == "syncoll/algorithm/5"
    assert len(document["algorithm"]["sends"]) == 6
    assert document["algorithm"]["sends"][0] == [[0, 5], 0, 1, 0]
    found = read(document)
    assert found[1] == algorithm
    assert (found[0].pre == instance.pre).all()
    assert (found[0].post == instance.post).all()


def test_few_chunks_and_unrelated_ones_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert algorithm_document(*solved(5))["schema"] == "syncoll/algorithm/1"
    monkeypatch.setattr(written_problem, "_MOST_LISTED", 0)
    assert algorithm_document(*solved(0))["schema"] == "syncoll/algorithm/1"


def test_many_chunks_take_little_space() -> None:
    instance, algorithm = solved(20_000)
    text = json.dumps(algorithm_document(instance, algorithm))
    assert len(text) < 4_000
    (stored,) = load_text(text, "some.json").algorithms
    assert stored.algorithm == algorithm


def test_nodes_of_many_contributions_are_in_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    sums = collective("reduce").instantiate(topology("line(6)"), chunks=1, steps=5, rounds=5)
    sends = np.array([[0, 5 - step, 4 - step, step] for step in range(5)])
    carried = np.array([np.arange(6) >= 5 - step for step in range(5)])
    algorithm = Algorithm((1,) * 5, sends, carried)
    listed = algorithm_document(sums, algorithm)["algorithm"]["contributions"]
    monkeypatch.setattr(written_problem, "_MOST_LISTED", 4)
    document = json.loads(json.dumps(algorithm_document(sums, algorithm)))
    assert listed[-1] == [1, 2, 3, 4, 5]
    assert document["algorithm"]["contributions"] == [[5], [4, 5], *([[a, 5]] for a in (3, 2, 1))]
    assert document["schema"] == "syncoll/algorithm/2"
    assert read(document)[1] == algorithm


@pytest.mark.parametrize(
    ("where", "entry", "message"),
    [
        ("sends", [5, 0], "a run of chunks from 5 to 0"),
        ("sends", [0, 900_000_000], "more than fit in memory"),
        ("classes", [3, 2], "a run of chunks from 3 to 2"),
        ("classes", [0, 900_000_000], "more than fit in memory"),
        ("classes", [0, 6], "exactly once"),
        ("classes", [0], "0"),
        ("classes", [0, 1, 2], "2"),
    ],
)
def test_runs_that_make_no_sense(
    document: Json, where: str, entry: list[int], message: str
) -> None:
    changed = copy.deepcopy(document)
    if where == "sends":
        changed["algorithm"]["sends"][0][0] = entry
    else:
        changed["chunk_classes"][0]["chunks"] = [entry]
    with pytest.raises(FileFormatError, match=message):
        read(changed)


@pytest.mark.parametrize("version", [1, 3])
def test_earlier_versions_have_none(document: Json, version: int) -> None:
    document["schema"] = f"syncoll/algorithm/{version}"
    with pytest.raises(FileFormatError, match=r"has runs of chunks, which files of version \d"):
        read(document)
    document["chunk_classes"] = algorithm_document(*solved(5))["chunk_classes"]
    for one in document["chunk_classes"]:
        first, last = one["chunks"][0]
        one["chunks"] = [*range(first, last + 1)]
    with pytest.raises(FileFormatError, match="algorithm has runs of chunks"):
        read(document)
