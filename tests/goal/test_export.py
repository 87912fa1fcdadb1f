"""Schedules compute the algorithm's result, also by a second reader."""

from __future__ import annotations

import random
from collections import Counter, deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from syncoll.errors import ExportError, OptionError
from syncoll.model import Algorithm, Instance
from syncoll.plugins import Exported, ExportRequest
from syncoll.runtime import MessageRuns, export_verified, lower
from syncoll.testing.instances import random_case
from syncoll_goal import RECORD
from tests.oracles.classics import ring


def request(instance: Instance, algorithm: Algorithm, **more: Any) -> ExportRequest:
    return ExportRequest("sample", instance.collective, instance, algorithm, **more)


def write(instance: Instance, algorithm: Algorithm, **options: object) -> Exported:
    return export_verified(RECORD, request(instance, algorithm), options).exported


def text_of(instance: Instance, algorithm: Algorithm, **options: object) -> str:
    return write(instance, algorithm, **options).files["sample.goal"].decode()


@dataclass
class Operation:
    """A line of a schedule, and the notes above it."""

    words: list[str]
    reads: list[str]
    chunks: list[int]
    waits: list[str] = field(default_factory=list)


def parse(text: str) -> list[dict[str, Operation]]:
    """The operations of each rank by label: words between spaces, with no grammar at all."""
    ranks: list[dict[str, Operation]] = []
    reads: list[str] = []
    chunks: list[int] = []
    for line in text.splitlines():
        words = line.split()
        if words[:1] == ["rank"]:
            ranks.append({})
        elif words[:2] == ["//@", "reads"]:
            reads = words[2:]
        elif words[:2] == ["//@", "chunks"]:
            chunks = [number for word in words[2:] for number in numbers(word)]
        elif "irequires" in words:
            assert words[2] in ranks[-1]  # it has started: no more is needed for the data
        elif "requires" in words:
            ranks[-1][words[0]].waits.append(words[2])
        elif words[:1] == ["calc"]:
            ranks[-1]["nothing"] = Operation(words, [], [])
        elif words and words[0].endswith(":"):
            ranks[-1][words[0][:-1]] = Operation(words[1:], reads, chunks)
            reads, chunks = [], []
    return ranks


def numbers(word: str) -> range:
    """The numbers of ``3`` or ``3-7``."""
    first, _, last = word.partition("-")
    return range(int(first), int(last or first) + 1)


def execute(text: str, instance: Instance, rng: random.Random) -> list[dict[int, set[Any]]]:
    """Executes the schedule in random order; returns every value of each rank, by chunk.

    A value is the sum of numbers of its contributions: one for each rank that starts with a reduced
    chunk, and one for a chunk that is only moved.
    """
    ranks = parse(text)
    own = np.array(
        [
            [1 << (n + 1) if instance.combining else 1 for n in range(len(ranks))]
            for _ in instance.pre
        ],
        dtype=object,
    )
    made: list[dict[str, dict[int, Any]]] = [{} for _ in ranks]
    on_the_way: dict[tuple[int, int, int], deque[dict[int, Any]]] = {}
    left = [(rank, label) for rank, operations in enumerate(ranks) for label in operations]
    done: set[tuple[int, str]] = set()
    while left:
        rng.shuffle(left)
        waiting = []
        for rank, label in left:
            operation = ranks[rank][label]
            verb, size = operation.words[:2]
            if any((rank, other) not in done for other in operation.waits):
                waiting.append((rank, label))
                continue
            parts, words = list[dict[int, Any]](), iter(operation.reads)
            for word in words:
                if word == "chunk":
                    mine = numbers(next(words))
                    assert instance.pre[mine, rank].all()
                    parts.append({chunk: own[chunk, rank] for chunk in mine})
                else:
                    assert word in operation.waits
                    parts.append(made[rank][word])
            chunks = operation.chunks or [chunk for part in parts for chunk in part]
            assert operation.chunks or len(set(chunks)) < 2
            values = {chunk: [part[chunk] for part in parts if chunk in part] for chunk in chunks}
            if verb == "recv":
                key = (int(operation.words[3]), rank, int(operation.words[5]))
                if not on_the_way.get(key):
                    waiting.append((rank, label))
                    continue
                made[rank][label] = on_the_way[key].popleft()
                assert size == f"{SIZE * len(made[rank][label])}b"
            elif verb == "send":
                assert all(len(some) == 1 for some in values.values())
                key = (rank, int(operation.words[3]), int(operation.words[5]))
                sent = {chunk: value for chunk, (value,) in values.items()}
                on_the_way.setdefault(key, deque()).append(sent)
                assert size == f"{SIZE * len(sent)}b"
            elif values:
                made[rank][label] = {chunk: sum(some) for chunk, some in values.items()}
            done.add((rank, label))
        assert len(waiting) < len(left), "deadlock"
        left = waiting
    assert not any(on_the_way.values())
    held: list[dict[int, set[Any]]] = []
    for rank, results in enumerate(made):
        held.append({chunk: {own[chunk, rank]} for chunk in np.flatnonzero(instance.pre[:, rank])})
        for chunk, value in (pair for result in results.values() for pair in result.items()):
            held[-1].setdefault(chunk, set()).add(value)
    return held


SIZE = 8


@pytest.mark.parametrize("steps", ["strict", "relaxed"])
def test_another_reader_gets_the_post_condition(steps: str) -> None:
    rng = random.Random(12)
    kinds = Counter[bool]()
    for _ in range(40):
        instance, algorithm = random_case(rng)
        count = lower(request(instance, algorithm)).layout.collective.loop_chunks
        options: dict[str, object] = {"size": SIZE * (count or instance.num_chunks)}
        held = execute(text_of(instance, algorithm, steps=steps, **options), instance, rng)
        for chunk, node in np.argwhere(instance.post).tolist():
            whole: Any = 1
            if instance.combining:
                whole = sum(1 << (int(n) + 1) for n in np.flatnonzero(instance.pre[chunk]))
            assert whole in held[node][chunk]
        kinds[instance.combining] += 1
    assert len(kinds) == 2


@pytest.mark.parametrize("steps", ["strict", "relaxed"])
def test_random_algorithms_pass_with_and_without_their_instance(steps: str) -> None:
    rng = random.Random(11)
    found: Counter[str] = Counter()
    for _ in range(60):
        instance, algorithm = random_case(rng)
        handed = export_verified(RECORD, request(instance, algorithm), {"steps": steps})
        assert RECORD.load_checker().check(handed.exported.files, {}) == handed.checked
        assert handed.checked.facts["data"] == "followed"
        rendezvous = str(handed.checked.facts["rendezvous"])
        assert rendezvous.startswith("ends whether")
        needed = MessageRuns.in_(lower(request(instance, algorithm))).members
        assert handed.checked.facts["messages"] == len(needed)
        found[handed.checked.collective] += 1
    assert len(found) == 6, found


def ring_allgather(nodes: int) -> tuple[Instance, Algorithm]:
    """Each chunk goes around."""
    sends = [
        (c, (c + s) % nodes, (c + s + 1) % nodes, s) for c in range(nodes) for s in range(nodes - 1)
    ]
    eye, last = np.eye(nodes, dtype=bool), nodes - 1
    instance = Instance(ring(nodes), "allgather", 1, last, last, eye, np.ones_like(eye))
    return instance, Algorithm((1,) * last, np.array(sends))


def test_the_lines_of_a_ring() -> None:
    """Rank 1 of three sends its chunk at once, and the chunk of rank 0 after its arrival."""
    text = text_of(*ring_allgather(3), size=300, steps="relaxed")
    assert text.splitlines()[2:4] == ["//@ sizes 0-2 100", "num_ranks 3"]
    assert text.split("rank 1 {\n")[1].split("}")[0].splitlines() == [
        "//@ starts 1",
        "//@ ends 0-2",
        "// step 0",
        "//@ reads chunk 1",
        "l1: send 100b to 2 tag 0",
        "l2: recv 100b from 0 tag 0",
        "// step 1",
        "//@ reads l2",
        "l3: send 100b to 2 tag 1",
        "l3 requires l2",
        "l3 irequires l1",
        "l4: recv 100b from 0 tag 1",
    ]


def test_strict_sends_wait_for_all_earlier_steps() -> None:
    rng = random.Random(7)
    more = 0
    for _ in range(20):
        case = random_case(rng)
        for operations in parse(text_of(*case, steps="strict")):
            before: dict[str, set[str]] = {}
            sends_before: set[str] = set()
            for label, operation in operations.items():
                before[label] = set(operation.waits).union(*(before[o] for o in operation.waits))
                if label.startswith("s"):
                    sends_before = {other for other in before if other.startswith("l")} - {label}
                elif operation.words[0] == "send":
                    assert before[label] >= sends_before
                    more += len(sends_before)
                else:
                    assert set(operation.waits) <= set(operation.reads)
    assert more


def test_a_reduction_takes_the_requested_time() -> None:
    rng = random.Random(3)
    while True:
        instance, algorithm = random_case(rng)
        if instance.combining and "calc" in text_of(instance, algorithm, steps="relaxed"):
            break
    for rate, time in ((0, 0), (50, 20972), (0.5, 2097152)):
        text = text_of(instance, algorithm, steps="relaxed", reduction=rate)
        times = {line.split()[2] for line in text.splitlines() if ": calc" in line}
        assert times == {str(time)}


def test_each_peer_may_have_a_network_interface() -> None:
    instance, algorithm = ring_allgather(4)
    for operations in parse(text_of(instance, algorithm, nics="peer")):
        pairs = {(o.words[3], o.words[-1]) for o in operations.values() if len(o.words) > 6}
        assert len(pairs) == len({nic for _, nic in pairs}) == 2
    assert " nic " not in text_of(instance, algorithm)


def test_sizes() -> None:
    instance, algorithm = ring_allgather(3)
    exported = write(instance, algorithm, size=101)
    assert "does not divide evenly" in " ".join(exported.notes)
    text = exported.files["sample.goal"].decode()
    assert {word for word in text.split() if word.endswith("b")} == {"34b", "33b"}
    with pytest.raises(ExportError, match="at least 3 bytes"):
        write(instance, algorithm, size=2)
    with pytest.raises(OptionError, match="reduction"):
        write(instance, algorithm, reduction=-1)


def test_a_rank_without_work_has_a_line() -> None:
    pre = np.zeros((1, 4), dtype=bool)
    pre[0, 0] = True
    post = pre.copy()
    post[0, 1] = True
    instance = Instance(ring(4), "one", 1, 1, 1, pre, post)
    text = text_of(instance, Algorithm((1,), np.array([(0, 0, 1, 0)])))
    assert text.split("rank 3 {\n")[1].splitlines()[-2:] == ["calc 0", "}"]


def test_the_record_recognises_its_files_alone(tmp_path: Path) -> None:
    content = write(*ring_allgather(3)).files["sample.goal"]
    assert RECORD.recognises(tmp_path / "a.goal", content[:4096])
    assert not RECORD.recognises(tmp_path / "a.txt", content[:4096])
    assert not RECORD.recognises(tmp_path / "a.goal", b"goals of this year")


def test_options_and_notes_are_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "goal.md").read_text()
    assert all(f"`{option.name}" in page for option in RECORD.options)
    for word in ("//@ collective", "//@ starts", "//@ ends", "//@ reads"):
        assert word in page
