"""Files of algorithms given by one node's chunks, and of many nodes: small, and read as written."""

from __future__ import annotations

import copy
import json
from typing import Any

import numpy as np
import pytest
from msgspec import UNSET
from msgspec.structs import replace

from syncoll.certificates import ChunkClasses
from syncoll.certificates.chunk_classes import ClassList
from syncoll.documents import algorithm_document
from syncoll.documents.evidence import evidence_of, evidence_record
from syncoll.documents.node_set import nodes_of, set_entries
from syncoll.documents.stored import load_text
from syncoll.errors import FileFormatError, SyncollError, VerificationError
from syncoll.model import Algorithm, Instance, OrbitAlgorithm, Topology, invert
from syncoll.results.evidence import Evidence, ScaledShape
from tests.oracles.orbits import random_orbit

Json = dict[str, Any]


def document(seed: int = 1) -> Json:
    written: Json = json.loads(json.dumps(algorithm_document(*random_orbit(seed))))
    return written


def read(document: Json) -> Algorithm:
    (stored,) = load_text(json.dumps(document), "some.json").algorithms
    return stored.algorithm


@pytest.mark.parametrize("seed", range(6))
def test_round_trip(seed: int) -> None:
    instance, algorithm = random_orbit(seed)
    for solved in ((instance, algorithm), invert(instance, algorithm, "reducescatter")):
        written = algorithm_document(*solved)
        assert written["schema"] == "syncoll/algorithm/2"
        found = read(written)
        assert isinstance(found, OrbitAlgorithm)
        assert found == solved[1]


def test_files_without_new_entries_are_of_version_1() -> None:
    instance, algorithm = random_orbit(1)
    written = algorithm_document(instance, algorithm.expanded())
    assert written["schema"] == "syncoll/algorithm/1"
    assert "carriers" not in written["algorithm"]


def test_version_1_has_no_carriers() -> None:
    written = document()
    written["schema"] = "syncoll/algorithm/1"
    with pytest.raises(FileFormatError, match="algorithm has carriers, which files of version 1"):
        read(written)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"nodes": [[0] * 5]}, "no permutation of the nodes"),
        ({"nodes": [[0, 1], [0]]}, "rows of several lengths"),
        ({"nodes": []}, "carriers without nodes\nexpected at least one generator"),
        ({"chunks": []}, "carriers without chunks\nexpected at least one generator"),
        ({"products": [[0, 7]]}, "generator 0 after element 7"),
        ({"products": [[0]]}, "expected"),
        ({"products": []}, "never reaches"),
        ({"delays": [9]}, "carries sends of steps 0 to"),
        ({"delays": []}, "0 delays of the carriers, expected one for each generator"),
        ({"more": 1}, "'more'"),
    ],
)
def test_refused(change: Json, message: str) -> None:
    broken = document()
    broken["algorithm"]["carriers"].update(change)
    with pytest.raises((FileFormatError, VerificationError), match=message):
        read(broken)


def test_mutated() -> None:
    """After a change of any number the file is rejected in words, or its algorithm is still valid.

    All sends of accepted files are listed, and verified as such.
    """
    whole, refused = document(5), 0
    whole["algorithm"]["carriers"]["delays"] = [whole["algorithm"]["carriers"]["delays"]]
    for place in ("sends", "nodes", "chunks", "products", "delays"):
        rows = whole["algorithm"] if place == "sends" else whole["algorithm"]["carriers"]
        for i, row in enumerate(rows[place]):
            for j in range(len(row)):
                for value in (0, row[j] + 1, 10**6):
                    broken = copy.deepcopy(whole)
                    into = broken["algorithm"]
                    (into if place == "sends" else into["carriers"])[place][i][j] = value
                    into["carriers"]["delays"] = into["carriers"]["delays"][0]
                    try:
                        found = read(broken)
                    except SyncollError:
                        refused += 1
                        continue
                    assert isinstance(found, OrbitAlgorithm)
                    broken["algorithm"]["sends"] = found.sends.tolist()
                    del broken["algorithm"]["carriers"]
                    read(broken)
    assert refused > 50


def test_many_nodes() -> None:
    """Sets of nodes are runs."""
    nodes = 600
    links = {(v, v + 1): 1 for v in range(nodes - 1)}
    line = Topology.from_links("line", nodes, links)
    pre, post = [[False] * nodes], [[n != 7 for n in range(nodes)]]
    pre[0][0] = True
    instance = Instance(line, "most", 1, nodes - 1, nodes - 1, pre, post)  # type: ignore[arg-type]
    sends = [[0, v, v + 1, v] for v in range(nodes - 1)]
    written = algorithm_document(instance, Algorithm((1,) * (nodes - 1), sends))  # type: ignore[arg-type]
    assert written["schema"] == "syncoll/algorithm/2"
    assert written["chunk_classes"][0]["post"] == [[0, 6], [8, 599]]
    (found,) = load_text(json.dumps(written), "line.json").algorithms
    assert found.instance.post.tolist() == post
    with pytest.raises(FileFormatError, match=r"has runs of nodes, which files of version 1"):
        load_text(json.dumps({**written, "schema": "syncoll/algorithm/1"}), "line.json")
    written["chunk_classes"][0]["post"] = [[0, 600]]
    with pytest.raises(FileFormatError, match="names node 600; the nodes are 0 to 599"):
        load_text(json.dumps(written), "line.json")
    written["chunk_classes"][0]["post"] = [[6, 0]]
    with pytest.raises(FileFormatError, match="a run of nodes from 6 to 0"):
        load_text(json.dumps(written), "line.json")
    written["chunk_classes"][0]["post"] = [[0, 6, 8]]
    with pytest.raises(FileFormatError, match="post"):
        load_text(json.dumps(written), "line.json")


@pytest.mark.parametrize("nodes", [[], [5], [3, 4], [0, 1, 2, 7, 9, 10], list(range(1000))])
def test_entries(nodes: list[int]) -> None:
    entries = set_entries(nodes, 1000)
    assert list(nodes_of(entries, 1000, "a set", {})) == nodes
    assert list(set_entries(nodes, 256)) == nodes


def test_classes_that_differ_in_the_node_of_their_post() -> None:
    """An alltoall among many nodes has a class for each pair: one entry for each node."""
    nodes = 300
    sets = tuple((v,) for v in range(nodes))
    first = np.repeat(np.arange(2), nodes)
    second = np.tile(np.arange(nodes), 2)
    counts = np.ones(2 * nodes, dtype=np.int64)
    counts[5] = 7
    shape = ChunkClasses(1, ClassList(sets, first, second, counts))
    evidence = Evidence((ScaledShape(shape, (1,), None),), 1, (), None, (), ())
    record = evidence_record(evidence, nodes)
    (written,) = record.shapes
    assert [len(one.post) for one in written.classes] == [1, 1, 1, 1]
    assert [one.each for one in written.classes] == [True, UNSET, True, True]
    assert evidence_of(record, [], nodes).shapes[0].shape == shape
    twice = replace(written, classes=(*written.classes, written.classes[-1]))
    with pytest.raises(FileFormatError, match="not in ascending order, each once"):
        evidence_of(replace(record, shapes=(twice,)), [], nodes)
