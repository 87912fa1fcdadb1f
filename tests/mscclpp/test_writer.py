"""Plans of the writer pass the checker and keep the limits."""

from __future__ import annotations

import itertools
import json
import random
from collections import Counter
from typing import Any

import numpy as np
import pytest

from syncoll.arrays import Bools
from syncoll.errors import ExportError, OptionError, VerificationError
from syncoll.model import Algorithm, Instance, Topology, compose, invert
from syncoll.plugins import ExportRequest
from syncoll.plugins.exporters import UNLIMITED
from syncoll.runtime import HandedOut, Kind, export_verified, kind_of, streams_of
from syncoll.testing.instances import random_case, random_trees
from syncoll_mscclpp import RECORD
from syncoll_mscclpp.blocks import Division
from tests.mscclpp.test_checker_mutations import simulate
from tests.oracles.classics import hub, one_way_ring

Plan = dict[str, Any]


def export(
    case: tuple[Instance, Algorithm],
    *,
    in_place: bool = False,
    sizes: tuple[int, int] = (0, UNLIMITED),
    **options: object,
) -> tuple[Plan, HandedOut]:
    request = ExportRequest("a name/1", "x", *case, in_place, *sizes)
    handed = export_verified(RECORD, request, options)
    ((name, content),) = handed.exported.files.items()
    assert name == "a_name_1.json"
    plan = json.loads(content)
    assert isinstance(plan, dict)
    return plan, handed


def one_step(pre: Bools, post: Bools, topology: Topology) -> tuple[Instance, Algorithm]:
    """Every chunk is sent directly to its destinations."""
    sends = [
        (chunk, int(pre[chunk].argmax()), node, 0)
        for chunk, node in np.argwhere(post & ~pre).tolist()
    ]
    free = Algorithm((0,), np.array(sends, dtype=np.int64))
    rounds = free.least_rounds(topology)
    chunks = int(pre.sum(axis=0).max())
    return (
        Instance(topology, "direct", chunks, 1, sum(rounds), pre, post),
        Algorithm(tuple(rounds), free.sends),
    )


def direct(kind: Kind, nodes: int, share: int = 1, root: int = 0) -> tuple[Instance, Algorithm]:
    """The obvious algorithm of a collective on a switch."""
    topology, every = hub(nodes), np.eye(nodes, dtype=bool)
    if kind is Kind.ALLTOALL:
        pre = np.repeat(every, nodes * share, axis=0)
        post = np.tile(np.repeat(every, share, axis=0), (nodes, 1))
        return one_step(pre, post, topology)
    if kind in (Kind.GATHER, Kind.SCATTER):
        spread = np.repeat(every, share, axis=0)
        at_root = np.zeros_like(spread)
        at_root[:, root] = True
        pair = (spread, at_root) if kind is Kind.GATHER else (at_root, spread)
        return one_step(*pair, topology)
    if kind in (Kind.BROADCAST, Kind.REDUCE):
        pre = np.zeros((share, nodes), dtype=bool)
        pre[:, root] = True
    else:
        pre = np.repeat(every, share, axis=0)
    plain = one_step(pre, np.ones_like(pre), topology)
    if kind in (Kind.BROADCAST, Kind.ALLGATHER):
        return plain
    inverse = invert(*plain, kind)
    return compose(inverse, plain, kind) if kind is Kind.ALLREDUCE else inverse


KINDS = [kind for kind in Kind if kind is not Kind.CUSTOM]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("channel", ["memory", "port", "packets"])
def test_every_collective(kind: Kind, channel: str) -> None:
    packets = "yes" if channel == "packets" else "no"
    channel = "memory" if channel == "packets" else channel
    for share, root in ((1, 0), (2, 3)):
        case = direct(kind, 4, share, root)
        for in_place in (False, True):
            refused = in_place and (
                kind is Kind.SCATTER or (kind is Kind.GATHER and channel == "port")
            )
            if refused:
                with pytest.raises(
                    ExportError, match=r"(offset of .* by|another offset at each) rank"
                ):
                    export(case, in_place=True, channel=channel, packets=packets)
                continue
            plan, handed = export(case, in_place=in_place, channel=channel, packets=packets)
            assert plan["protocol"] == ("LL" if packets == "yes" else "Simple")
            assert plan["collective"] == kind
            assert plan["inplace"] is in_place
            assert handed.checked.collective == kind
            if kind in (Kind.BROADCAST, Kind.REDUCE, Kind.GATHER, Kind.SCATTER):
                assert handed.checked.facts["root"] == root
            types = {c["channel_type"] for gpu in plan["gpus"] for c in gpu["channels"]}
            assert types == {channel}


@pytest.mark.parametrize("seed", range(30))
def test_random_algorithms(seed: int) -> None:
    rng = random.Random(seed)
    case = random_case(rng)
    for in_place in (False, True):
        for channel, packets in (("memory", "no"), ("memory", "yes"), ("port", "auto")):
            options: dict[str, Any] = {
                "channel": channel,
                "packets": packets,
                "blocks": rng.choice([1, 2, 3, 32]),
            }
            if in_place and kind_of(case[0]).kind is Kind.CUSTOM:
                with pytest.raises(ExportError, match="for which in place is defined"):
                    export(case, in_place=in_place, **options)
                continue
            plan, handed = export(case, in_place=in_place, **options)
            blocks = [gpu["threadblocks"] for gpu in plan["gpus"]]
            for block in itertools.chain.from_iterable(blocks):
                require_within_limits(block)
            every = [[op for block in rank for op in block["ops"]] for rank in blocks]
            sent = [
                sum("buffer_id" in to for op in rank for to in op.get("dst_buff", ()))
                for rank in every
            ]
            assert handed.exported.counts is not None
            assert handed.exported.counts.messages == max(sent)
            if packets == "no" and options["blocks"] == 1:
                streams = streams_of(ExportRequest("x", "x", *case, in_place))
                least = Division.before(streams, 1).least_operations(streams)
                assert all(least <= list(map(len, every)))


def require_within_limits(block: Plan) -> None:
    assert len(block["ops"]) <= 64
    for one in (*block["channels"], *block["remote_buffer_refs"]):
        (ids,) = (value for value in one.values() if isinstance(value, list))
        assert len(ids) <= 16
    for op in block["ops"]:
        assert len(op.get("channel_ids", ())) <= 8
        assert max(len(op.get("src_buff", ())), len(op.get("dst_buff", ()))) <= 10


def trees(chunks: int, nodes: int, seed: int = 1) -> tuple[Instance, Algorithm]:
    """An allgather along random trees of a one-way ring, with many chunks."""
    pre = np.repeat(np.eye(nodes, dtype=bool), chunks, axis=0)
    return random_trees(random.Random(seed), one_way_ring(nodes), "x", pre, np.ones_like(pre))


def test_blocks_are_at_most_as_many_as_allowed() -> None:
    case = trees(12, 8)
    with pytest.raises(
        ExportError, match=r"rank . needs more than 1 thread block: one would have .* 64"
    ):
        export(case, blocks=1)
    for blocks in (9, 32):
        plan, _ = export(case, blocks=blocks)
        assert 1 < max(len(gpu["threadblocks"]) for gpu in plan["gpus"]) <= blocks
        for gpu in plan["gpus"]:
            for block in gpu["threadblocks"]:
                require_within_limits(block)
            assert gpu["semaphores"] == []


def long_chain(nodes: int) -> tuple[Instance, Algorithm]:
    """A reduce whose root takes the others' contributions one by one, all of one chunk."""
    pre = np.zeros((1, nodes), dtype=bool)
    pre[0, 0] = True
    sends = [(0, 0, n, n - 1) for n in range(1, nodes)]
    links = {link: 1 for n in range(1, nodes) for link in ((0, n), (n, 0))}
    topology = Topology.from_links("star", nodes, links)
    plain = (
        Instance(topology, "x", 1, nodes - 1, nodes - 1, pre, np.ones_like(pre)),
        Algorithm((1,) * (nodes - 1), np.array(sends, dtype=np.int64)),
    )
    return invert(*plain, "x")


def test_small_messages_go_by_packets() -> None:
    case = direct(Kind.ALLGATHER, 4, share=3)
    for most, protocol in ((1 << 16, "LL"), ((1 << 16) + 1, "Simple"), (UNLIMITED, "Simple")):
        assert export(case, sizes=(0, most))[0]["protocol"] == protocol
    for packets, protocol in (("yes", "LL"), ("no", "Simple")):
        assert export(case, sizes=(0, 4096), packets=packets)[0]["protocol"] == protocol
    assert export(case, sizes=(0, 4096), channel="port")[0]["protocol"] == "LL"
    plan, _ = export(case, packets="yes")
    names = Counter(op["name"] for b in plan["gpus"][0]["threadblocks"] for op in b["ops"])
    assert names.keys() == {"rlxsignal", "rlxwait", "nop", "ppkt", "upkt", "copy"}
    assert plan["gpus"][0]["scratch_chunks"] == 3  # one for each message, doubled by the runtime


def test_packets_are_reduced_and_forwarded_on_arrival() -> None:
    """Down the chain each rank adds its part to the packet and sends it on; no sum is stored."""
    plan, _ = export(chain_reduce(4), packets="yes")
    ops = [[op for b in gpu["threadblocks"] for op in b["ops"]] for gpu in plan["gpus"]]
    assert [[op["name"] for op in one if "pkt" in op["name"]] for one in ops] == [
        ["repkt"],
        ["respkt"],
        ["respkt"],
        ["ppkt"],
    ]
    # Chunks that are only passed on are stored as packets only.
    spread = one_way_broadcast(4)
    plan, _ = export(spread, packets="yes")
    ops = [[op for b in gpu["threadblocks"] for op in b["ops"]] for gpu in plan["gpus"]]
    assert [op["name"] for op in ops[1] if "pkt" in op["name"]] == ["upkt", "rppkt"]
    # A proxy may still read an arrived packet, so its receiver answers; own packets need none.
    plan, _ = export(spread, packets="yes", channel="port")
    ops = [[op for b in gpu["threadblocks"] for op in b["ops"]] for gpu in plan["gpus"]]
    assert [one[-1]["name"] for one in ops] == ["copy", "wait", "wait", "signal"]
    assert set(simulate(plan, 0, 3, random.Random(2))) == {""}


def one_way_broadcast(nodes: int) -> tuple[Instance, Algorithm]:
    """One chunk from rank 0 along a ring."""
    pre = np.zeros((1, nodes), dtype=bool)
    pre[0, 0] = True
    sends = np.array([[0, n, n + 1, n] for n in range(nodes - 1)])
    instance = Instance(one_way_ring(nodes), "x", 1, nodes - 1, nodes - 1, pre, np.ones_like(pre))
    return instance, Algorithm((1,) * (nodes - 1), sends)


def chain_reduce(nodes: int) -> tuple[Instance, Algorithm]:
    """The reverse, with every rank's contribution."""
    return invert(*one_way_broadcast(nodes), "x")


@pytest.mark.parametrize("channel", ["memory", "port"])
def test_a_single_chunk_is_handed_on_by_semaphores(channel: str) -> None:
    plan, _ = export(long_chain(40), channel=channel)
    root = plan["gpus"][0]
    assert len(root["threadblocks"]) > 2
    names = Counter(op["name"] for block in root["threadblocks"] for op in block["ops"])
    assert names["sem_acquire"] == names["sem_release"] == len(root["semaphores"]) > 1
    for block in root["threadblocks"]:
        require_within_limits(block)


def test_exceeded_limits_are_refused_with_a_reason() -> None:
    with pytest.raises(ExportError, match=r"one would have 17 channels, and MSCCL.. allows 16"):
        export(direct(Kind.BROADCAST, 18))
    assert export(direct(Kind.BROADCAST, 17))[1].checked.num_nodes == 17


def test_a_rank_has_as_many_semaphores_as_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    """16 is the most of one operation."""
    monkeypatch.setattr("syncoll_mscclpp.program.MOST_OPERATIONS", 10)
    plan, _ = export(long_chain(48), blocks=64)
    assert len(plan["gpus"][0]["semaphores"]) > 16


def test_options() -> None:
    case = direct(Kind.ALLREDUCE, 3)
    with pytest.raises(OptionError, match="no option 'protocol'"):
        export(case, protocol="LL")
    with pytest.raises(ExportError, match="threads is 100; it must be a multiple of 32"):
        export(case, threads=100)
    with pytest.raises(ExportError, match=r"alignment is 100; .* must be a multiple"):
        export(case, alignment=100)
    with pytest.raises(OptionError, match="threads"):
        export(case, threads=2048)
    plan, _ = export(case, threads=256, alignment=128)
    assert (plan["num_threads_per_block"], plan["buffer_alignment"]) == (256, 128)


@pytest.mark.parametrize(
    ("kind", "measured"),
    [
        (Kind.ALLGATHER, 4),  # the output
        (Kind.REDUCESCATTER, 4),
        (Kind.ALLREDUCE, 4),  # four chunks
        (Kind.GATHER, 1),  # the input, though the request means the output
        (Kind.SCATTER, 4),
    ],
)
def test_sizes(kind: Kind, measured: int) -> None:
    case = direct(kind, 4)
    plan, handed = export(case, sizes=(1000, 4096))
    ratio = 4 if kind is Kind.GATHER else 1
    assert plan["min_message_size"] == 1000 // ratio
    assert plan["max_message_size"] == 4096 // ratio
    assert f"multiple of {16 * measured} bytes;" in handed.exported.notes[0]
    plan, _ = export(case, blocks=4)
    assert plan["min_message_size"] == 0
    largest = max(gpu["scratch_chunks"] for gpu in plan["gpus"])
    largest = max(largest, *(plan["gpus"][0][f"{x}_chunks"] for x in ("input", "output")))
    # No offset in any buffer needs more than 32 bits, and not much is given away.
    assert 0 <= (1 << 32) - plan["max_message_size"] * largest // measured <= 2 * largest
    with pytest.raises(ExportError, match="compares with at most"):
        export(case, sizes=(1 << 40, UNLIMITED))
    _, handed = export(case, sizes=(0, 1 << 40))
    assert any("32 bits" in note for note in handed.exported.notes)


def test_a_range_needs_a_size_that_fits() -> None:
    case, below = direct(Kind.ALLREDUCE, 4, share=43), 1 << 20
    unit = 16 * 4  # the chunks of each rank move together
    message = (
        f"no message of {below + 1} to {below + 63} bytes is a multiple of {unit} bytes, .*"
        f"the nearest are {below} and {below + unit} bytes"
    )
    with pytest.raises(ExportError, match=message):
        export(case, sizes=(below + 1, below + 63), blocks=4)
    with pytest.raises(ExportError, match=f"the least is {unit} bytes"):
        export(case, sizes=(0, unit - 1), blocks=4)
    plan, _ = export(case, sizes=(below, below + 1), blocks=4)
    assert plan["min_message_size"] == below
    plan["min_message_size"] += 1
    with pytest.raises(VerificationError, match=f"multiple of {unit} bytes.* never runs"):
        RECORD.load_checker().check({"x.json": json.dumps(plan).encode()}, {})


def test_chunks_of_one_way_move_together() -> None:
    plan, handed = export(direct(Kind.BROADCAST, 3, share=6), blocks=1)
    (block,) = plan["gpus"][0]["threadblocks"]
    puts = [op for op in block["ops"] if op["name"] == "put"]
    assert [piece["size"] for op in puts for piece in op["src_buff"]] == [1, 1]
    assert sum(op["name"] == "copy" for op in block["ops"]) == 1
    assert handed.exported.counts is not None
    assert (handed.exported.counts.multiple_of, handed.exported.counts.messages) == (16, 2)


def test_every_call_begins_with_a_relaxed_signal() -> None:
    plan, _ = export(direct(Kind.ALLREDUCE, 3))
    for gpu in plan["gpus"]:
        for block in gpu["threadblocks"]:
            assert [op["name"] for op in block["ops"][:2]] == ["rlxsignal", "rlxwait"]


def test_a_ring_sums_and_sends_in_one_operation() -> None:
    def around(topology: Topology, way: int) -> tuple[Instance, Algorithm]:
        sends = [
            (c, (c + way * s) % 4, (c + way * (s + 1)) % 4, s) for c in range(4) for s in range(3)
        ]
        tables = np.eye(4, dtype=bool), np.ones((4, 4), dtype=bool)
        return Instance(topology, "allgather", 1, 3, 3, *tables), Algorithm(
            (1,) * 3, np.array(sends)
        )

    topology = one_way_ring(4)
    backwards = invert(*around(topology.reversed(), -1), "reducescatter")
    forth = around(topology, 1)
    plan, _ = export(compose(backwards, forth, "allreduce"), blocks=1)
    for gpu in plan["gpus"]:
        (block,) = gpu["threadblocks"]
        names = Counter(op["name"] for op in block["ops"])
        assert (names["re"], names["res"], names["signal"]) == (0, 3, 6)
