"""The checker of traces finds errors, and reports them without a crash."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from syncoll.errors import VerificationError
from syncoll.model import Algorithm, BandwidthBound, Instance, Topology
from syncoll.plugins import CheckedExport, ExportRequest
from syncoll.runtime import export_verified
from syncoll.testing.instances import random_case
from syncoll_chakra import RECORD
from syncoll_chakra.writer import delimited, new_metadata, new_node, set_attribute
from tests.oracles.classics import ring

TakeApart = Callable[[Mapping[str, bytes]], Any]
AttributeOf = Callable[[Any, str], Any]

COMPUTE, SEND, RECEIVE = 4, 5, 6


def check(files: Mapping[str, bytes], instance: Instance | None = None) -> CheckedExport:
    return RECORD.load_checker().check(files, {}, instance)


def refused(files: Mapping[str, bytes], reason: str, instance: Instance | None = None) -> None:
    with pytest.raises(VerificationError, match=reason):
        check(files, instance)


def cases(count: int, seed: int) -> Iterator[tuple[Instance, dict[str, bytes]]]:
    rng = random.Random(seed)
    for _ in range(count):
        instance, algorithm = random_case(rng)
        request = ExportRequest("sample", instance.collective, instance, algorithm)
        exported = export_verified(RECORD, request, {"steps": "relaxed"}).exported
        yield instance, dict(exported.files)


def mutants(traces: Any, rank: int, i: int, attribute: AttributeOf) -> Iterator[tuple[str, Any]]:
    """Replacements of one node, which all make the traces wrong."""
    ranks, node = len(traces.nodes), traces.nodes[rank][i]

    def changed(change: Callable[[Any], None]) -> list[Any]:
        other = new_node()
        other.CopyFrom(node)
        change(other)
        return [other]

    def set_id(other: Any, number: int) -> None:
        other.id = number

    yield "dropped", []
    yield "twice", [node, node]
    yield "of another type", changed(lambda n: setattr(n, "type", 7))
    yield "of type 0", changed(lambda n: n.ClearField("type"))
    yield "waits for itself", changed(lambda n: n.data_deps.append(n.id))
    yield "waits for nobody", changed(lambda n: n.data_deps.append(1 << 40))
    if node.data_deps:
        yield "does not wait", changed(lambda n: n.ClearField("data_deps"))
    for name in ("syncoll_reads", "syncoll_inputs"):
        if attribute(node, name) is not None:
            yield f"without {name}", changed(lambda n, name=name: n.attr.remove(attribute(n, name)))
    if node.type == COMPUTE:
        yield (
            "a sum twice over",
            changed(
                lambda n: (
                    set_attribute(n, "syncoll_inputs", "uint64_list", [0])
                    if attribute(n, "syncoll_inputs") is None
                    else attribute(n, "syncoll_inputs").uint64_list.values.append(0)
                )
            ),
        )
        return
    yield "once more", [node, *changed(lambda n: set_id(n, 1 << 30))]
    yield "of another size", changed(lambda n: setattr(attribute(n, "comm_size"), "int64_val", 123))
    yield "of another tag", changed(lambda n: setattr(attribute(n, "comm_tag"), "int32_val", 999))
    peer = "comm_dst" if node.type == SEND else "comm_src"
    for other in range(ranks + 1):
        if other != attribute(node, peer).int32_val:
            yield (
                "of another rank",
                changed(lambda n, other=other: setattr(attribute(n, peer), "int32_val", other)),
            )
    for name in ("comm_size", "comm_tag", peer):
        yield f"without {name}", changed(lambda n, name=name: n.attr.remove(attribute(n, name)))
    yield "the other way round", changed(lambda n: setattr(n, "type", SEND + RECEIVE - n.type))


KINDS_OF_MUTANTS = 19


def test_no_mutant_survives(take_apart: TakeApart, attribute_of: AttributeOf) -> None:
    tried: Counter[str] = Counter()
    rng = random.Random(2)
    for instance, files in cases(10, 8):
        traces = take_apart(files)
        assert traces.files() == files
        places = [(rank, i) for rank, nodes in enumerate(traces.nodes) for i in range(len(nodes))]
        for rank, i in rng.sample(places, min(4, len(places))):
            for name, instead in mutants(traces, rank, i, attribute_of):
                tried[name] += 1
                mutant = {**files, **traces.replaced(rank, i, instead)}
                for known in (instance, None):
                    try:
                        check(mutant, known)
                    except VerificationError:
                        continue
                    pytest.fail(f"{name}: {traces.nodes[rank][i]} survived")
    assert sum(tried.values()) > 450
    assert len(tried) == KINDS_OF_MUTANTS, tried


def test_other_contents_do_not_pass(take_apart: TakeApart, attribute_of: AttributeOf) -> None:
    """A node that reads another chunk computes another result."""
    rng = random.Random(1)
    tried = 0
    for instance, files in cases(16, 9):
        traces = take_apart(files)
        for rank, nodes in enumerate(traces.nodes):
            chunks = np.flatnonzero(instance.pre[:, rank]).tolist()
            for i, node in enumerate(nodes):
                inputs = attribute_of(node, "syncoll_inputs")
                others = (
                    [] if inputs is None else sorted(set(chunks) - set(inputs.uint64_list.values))
                )
                if not others:
                    continue
                mutant = new_node()
                mutant.CopyFrom(node)
                attribute_of(mutant, "syncoll_inputs").uint64_list.values[0] = rng.choice(others)
                tried += 1
                with pytest.raises(VerificationError):
                    check({**files, **traces.replaced(rank, i, [mutant])}, instance)
    assert tried > 50


def test_both_ends_of_another_size(take_apart: TakeApart, attribute_of: AttributeOf) -> None:
    instance, files = ring_case(3)
    traces = take_apart(files)
    for rank, kind in ((0, SEND), (1, RECEIVE)):
        node = next(node for node in traces.nodes[rank] if node.type == kind)
        attribute_of(node, "comm_size").int64_val = 77
    refused(traces.files(), "chunk 0 has .* bytes", instance)


def ring_case(nodes: int) -> tuple[Instance, dict[str, bytes]]:
    sends = [
        (c, (c + s) % nodes, (c + s + 1) % nodes, s) for c in range(nodes) for s in range(nodes - 1)
    ]
    eye = np.eye(nodes, dtype=bool)
    steps = nodes - 1
    instance = Instance(ring(nodes), "Allgather", 1, steps, steps, eye, np.ones_like(eye))
    algorithm = Algorithm((1,) * steps, np.array(sends))
    request = ExportRequest("sample", "Allgather", instance, algorithm)
    return instance, dict(export_verified(RECORD, request, {}).exported.files)


def test_files_of_other_ranks_or_machines() -> None:
    instance, files = ring_case(4)
    names = list(files)
    refused({}, "no traces")
    refused({**files, "sample.x.et": b""}, "no rank in its name")
    refused({**files, "sample.04.et": b""}, "no rank in its name")
    refused({**files, "other.0.et": b""}, "several algorithms")
    refused({name: files[name] for name in names[1:]}, r"sample\.0\.et is missing")
    refused({name: files[name] for name in names[:3]}, "expected 0 to 2|no rank|syncoll_ranks")
    refused({**files, names[0]: files[names[1]], names[1]: files[names[0]]}, "rank")
    assert check({**files, "README.md": b"text"}).num_nodes == 4
    wider, _ = ring_case(5)
    refused(files, "4 ranks; .* 5 nodes", wider)
    pre, post = instance.pre, instance.post
    other = Instance(instance.topology, "Other", 1, 3, 3, pre[::-1], post)
    refused(files, "needs other chunks", other)
    links = tuple(sorted((i, (i - 1) % 4) for i in range(4)))
    bounds = tuple(BandwidthBound((link,), Fraction(1)) for link in links)
    backwards = Topology("backwards", 4, links, bounds)
    refused(files, "no link", Instance(backwards, "Allgather", 1, 3, 3, pre, post))


def test_a_wrong_name_and_missing_claims(take_apart: TakeApart, attribute_of: AttributeOf) -> None:
    _, files = ring_case(3)
    traces = take_apart(files)
    for metadata in traces.metadata:
        attribute_of(metadata, "syncoll_collective").string_val = "allreduce"
    refused(traces.files(), "is named allreduce, .* make it allgather")
    traces = take_apart(files)
    traces.metadata[1].ClearField("attr")
    refused(traces.files(), r"sample\.1\.et: the chunks that its rank")
    traces = take_apart(files)
    attribute_of(traces.metadata[2], "syncoll_rank").int64_val = 1
    refused(traces.files(), "syncoll_rank 1; the files have 2")
    traces = take_apart(files)
    for metadata in traces.metadata:
        attribute_of(metadata, "syncoll_chunks").int64_val = 1 << 31
    refused(traces.files(), "make it custom")
    traces = take_apart(files)
    attribute_of(traces.metadata[1], "syncoll_sizes").uint64_list.values[0] += 1
    refused(traces.files(), "syncoll_sizes differs")
    traces = take_apart(files)
    for metadata in traces.metadata:
        attribute_of(metadata, "syncoll_sizes").uint64_list.values[0] += 1
    refused(traces.files(), "chunk 0 has .* bytes here")


Message = tuple[int, int, int, list[int]]
"""Type, peer, tag and the ids waited for."""


def foreign(*ranks: list[Message], size: int = 8) -> dict[str, bytes]:
    """Traces as of another tool, which do not state the contents of messages."""
    files = {}
    for rank, messages in enumerate(ranks):
        parts = [delimited(new_metadata())]
        for number, (kind, peer, tag, waits) in enumerate(messages):
            node = new_node()
            node.id, node.type = number, kind
            node.data_deps.extend(waits)
            if kind != COMPUTE:
                name = "comm_dst" if kind == SEND else "comm_src"
                set_attribute(node, name, "int32_val", peer)
                set_attribute(node, "comm_tag", "int32_val", tag)
                set_attribute(node, "comm_size", "int64_val", size)
            parts.append(delimited(node))
        files[f"their.{rank}.et"] = b"".join(parts)
    return files


def test_traces_of_other_tools_are_played_without_their_data() -> None:
    instance, _ = ring_case(3)
    files = foreign(
        [(SEND, 1, 5, []), (RECEIVE, 2, 5, []), (COMPUTE, 0, 0, [1])],
        [(SEND, 2, 5, []), (RECEIVE, 0, 5, [])],
        [(SEND, 0, 5, []), (RECEIVE, 1, 5, [0])],
    )
    checked = check(files)
    assert checked.collective == "not stated"
    assert checked.facts["messages"] == 3
    assert checked.facts["computations"] == 1
    assert "not followed" in str(checked.facts["data"])
    refused(files, "cannot be compared", instance)


def test_deadlocks() -> None:
    both_wait = foreign(
        [(RECEIVE, 1, 0, []), (SEND, 1, 0, [0])], [(RECEIVE, 0, 0, []), (SEND, 0, 0, [0])]
    )
    refused(both_wait, "deadlock: .*rank 0, node 0.* waits for .*rank 1, node 1")
    within = foreign([(COMPUTE, 0, 0, []), (COMPUTE, 0, 0, [2]), (COMPUTE, 0, 0, [1])])
    refused(within, "deadlock: .*node 1 waits for .*node 2 waits for the first")


def test_messages_without_another_end() -> None:
    refused(foreign([(SEND, 1, 0, [])], [(COMPUTE, 0, 0, [])]), "receives nothing from rank 0")
    refused(
        foreign([(COMPUTE, 0, 0, [])], [(RECEIVE, 0, 3, [])]), "never ends; rank 0 sends nothing"
    )
    tags = foreign([(SEND, 1, 4, [])], [(RECEIVE, 0, 3, [])])
    refused(tags, "rank 0 sends nothing with tag 3 to rank 1")
    sizes = foreign([(SEND, 1, 3, [])], [(RECEIVE, 0, 3, [])], size=9)
    other = foreign([(SEND, 1, 3, [])], [(RECEIVE, 0, 3, [])], size=8)
    refused({**sizes, "their.1.et": other["their.1.et"]}, "9 bytes with tag 3 .*, not 8")
    fewer = foreign([(SEND, 1, 3, [])], [(RECEIVE, 0, 3, []), (RECEIVE, 0, 3, [])])
    refused(fewer, "fewer messages")


def test_files_that_the_simulator_would_misread() -> None:
    good = foreign([(SEND, 1, 0, [])], [(RECEIVE, 0, 0, [])])
    node = good["their.0.et"][1:]
    refused({**good, "their.0.et": node}, "not metadata, and would be lost")
    refused({**good, "their.0.et": b""}, "empty")
    refused({**good, "their.0.et": b"\x00"}, "has no nodes")
    refused({**good, "their.0.et": good["their.0.et"][:-1]}, "the file ends after")
    assert check(good).facts["messages"] == 1


def test_indistinguishable_messages(take_apart: TakeApart, attribute_of: AttributeOf) -> None:
    """Two chunks with one tag are right in order; otherwise the result depends on timing."""
    topology = ring(2)
    pre = np.array([[True, False], [True, False]])
    instance = Instance(topology, "Broadcast", 2, 2, 2, pre, np.ones_like(pre))
    algorithm = Algorithm((1, 1), np.array([(0, 0, 1, 0), (1, 0, 1, 1)]))
    request = ExportRequest("sample", "Broadcast", instance, algorithm)
    traces = take_apart(export_verified(RECORD, request, {}).exported.files)
    for nodes in traces.nodes:
        for node in nodes:
            attribute_of(node, "comm_tag").int32_val = 0
    refused(traces.files(), "depends on timing", instance)
    for nodes in traces.nodes:
        nodes[1].data_deps.append(nodes[0].id)
    assert check(traces.files(), instance).collective == "broadcast"


def test_control_dependencies_delay_nodes(take_apart: TakeApart) -> None:
    files = foreign([(SEND, 1, 0, [])], [(RECEIVE, 0, 0, []), (COMPUTE, 0, 0, [])])
    node = new_node()
    node.id, node.type = 2, COMPUTE
    waiting = node.SerializeToString() + b"\x22\x01\x02"  # field 4, packed: the node itself
    content = files["their.1.et"] + bytes([len(waiting)]) + waiting
    refused({**files, "their.1.et": content}, "depends on itself")


def test_damaged_bytes_never_crash_it() -> None:
    rng = random.Random(1)
    outcomes: Counter[bool] = Counter()
    for instance, files in cases(6, 3):
        names = list(files)
        for _ in range(120):
            name = rng.choice(names)
            content = bytearray(files[name])
            for _ in range(rng.randint(1, 3)):
                content[rng.randrange(len(content))] = rng.randrange(256)
            if rng.random() < 0.2:
                del content[rng.randrange(len(content)) :]
            try:
                check({**files, name: bytes(content)}, rng.choice((instance, None)))
            except VerificationError:
                outcomes[False] += 1
            else:  # a letter of a name, say
                outcomes[True] += 1
    assert outcomes[False] > 300


def test_every_truncation_is_found() -> None:
    _, files = ring_case(3)
    content = files["sample.1.et"]
    for end in range(len(content)):
        with pytest.raises(VerificationError):
            check({**files, "sample.1.et": content[:end]})
