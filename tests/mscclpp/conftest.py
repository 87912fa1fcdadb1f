"""Small execution plans, written here and not by the exporter."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

Op = dict[str, Any]
Plan = dict[str, Any]


def local(kind: str, index: int, size: int = 1) -> Op:
    return {"type": kind, "index": index, "size": size}


def remote(number: int, index: int, size: int = 1) -> Op:
    return {"buffer_id": number, "index": index, "size": size}


def sync(name: str, *channels: int, kind: str = "memory") -> Op:
    return {"name": name, "channel_type": kind, "channel_ids": list(channels)}


def nop() -> Op:
    return {"name": "nop"}


def move(name: str, sources: list[Op], targets: list[Op], **more: Any) -> Op:
    return {"name": name, "src_buff": sources, "dst_buff": targets, **more}


def put(sources: list[Op], targets: list[Op], *channels: int) -> Op:
    if channels:
        return move("put", sources, targets, channel_type="port", channel_ids=list(channels))
    return move("put", sources, targets, channel_type="memory")


class Gpu:
    """The part of a rank during writing."""

    def __init__(self, rank: int, chunks: tuple[int, int, int]) -> None:
        self.rank = rank
        self.chunks = chunks
        self.channels: dict[str, list[int]] = {"memory": [], "port": []}
        self.remote: list[tuple[int, str]] = []
        self.semaphores: list[int] = []
        self.blocks: list[list[Op]] = []
        self.tables: list[dict[str, tuple[list[int], list[int]]]] = []

    def block(
        self, peers: list[int], buffers: list[tuple[int, str]], ops: list[Op], kind: str = "memory"
    ) -> None:
        """Adds a thread block with a channel of its own to each peer."""
        first = len(self.channels[kind])
        self.channels[kind] += peers
        ids = []
        for buffer in buffers:
            if buffer not in self.remote:
                self.remote.append(buffer)
            ids.append(self.remote.index(buffer))
        self.tables.append({kind: (list(range(first, first + len(peers))), ids)})
        self.blocks.append(ops)

    def json(self) -> Plan:
        kinds = [kind for kind, peers in self.channels.items() if peers] or ["memory"]
        return {
            "id": self.rank,
            "input_chunks": self.chunks[0],
            "output_chunks": self.chunks[1],
            "scratch_chunks": self.chunks[2],
            "channels": [
                {"channel_type": kind, "connected_to": peers}
                for kind, peers in self.channels.items()
                if peers
            ],
            "remote_buffers": [
                {"rank": rank, "type": kind, "access_channel_types": kinds}
                for rank, kind in self.remote
            ],
            "semaphores": [{"init_value": value} for value in self.semaphores],
            "threadblocks": [
                {
                    "id": i,
                    "ops": ops,
                    "channels": [
                        {"channel_type": kind, "channel_ids": channels}
                        for kind, (channels, _) in table.items()
                        if channels
                    ],
                    "remote_buffer_refs": [
                        {"access_channel_type": kind, "remote_buffer_ids": ids}
                        for kind, (_, ids) in table.items()
                        if ids
                    ],
                }
                for i, (ops, table) in enumerate(zip(self.blocks, self.tables, strict=True))
            ],
        }


def write(collective: str, gpus: list[Gpu], *, inplace: bool = False, **more: Any) -> Plan:
    return {
        "name": "x",
        "collective": collective,
        "protocol": "Simple",
        "inplace": inplace,
        "gpus": [gpu.json() for gpu in gpus],
        **more,
    }


def full_allgather(ranks: int = 3, k: int = 1, *, groups: int = 1) -> Plan:
    """Out of place; every rank puts its input to all others, several blocks sharing the work."""
    gpus = []
    for r in range(ranks):
        gpu = Gpu(r, (k, ranks * k, 0))
        others = [p for p in range(ranks) if p != r]
        table = list(range(len(others)))
        for g in range(groups):
            share = {"tbg_info": {"tb_id": g, "tbg_size": groups}} if groups > 1 else {}
            gpu.block(
                others,
                [(p, "o") for p in others],
                [
                    sync("rlxsignal", *table),
                    sync("rlxwait", *table),
                    nop(),
                    {
                        **put(
                            [local("i", 0, k) for _ in others], [remote(b, r * k, k) for b in table]
                        ),
                        **share,
                    },
                    {**move("copy", [local("i", 0, k)], [local("o", r * k, k)]), **share},
                    nop(),
                    sync("signal", *table),
                    sync("wait", *table),
                ],
            )
        gpus.append(gpu)
    return write("allgather", gpus)


def ring_allgather(ranks: int = 4) -> Plan:
    """In place along a ring; each rank waits for one chunk and puts it on."""
    gpus = []
    for r in range(ranks):
        gpu = Gpu(r, (1, ranks, 0))
        ops = [sync("rlxsignal", 0), sync("rlxwait", 1), nop()]
        for step in range(ranks - 1):
            chunk = (r - step) % ranks
            ops += [
                put([local("o", chunk)], [remote(0, chunk)]),
                nop(),
                sync("signal", 1),
                sync("wait", 0),
                nop(),
            ]
        before, after = (r - 1) % ranks, (r + 1) % ranks
        gpu.block([before, after], [(after, "o")], ops)
        gpus.append(gpu)
    return write("allgather", gpus, inplace=True)


def reading_allreduce(ranks: int = 3) -> Plan:
    """In place: each rank reads its part from all, adds, and puts the sum to all."""
    gpus = []
    for r in range(ranks):
        gpu = Gpu(r, (ranks, ranks, 0))
        others = [p for p in range(ranks) if p != r]
        table = list(range(len(others)))
        far = [remote(b, r) for b in table]
        gpu.block(
            others,
            [(p, "i") for p in others],
            [
                sync("rlxsignal", *table),
                sync("rlxwait", *table),
                nop(),
                move("rres", [local("i", r), *far], [local("i", r), *far], channel_type="memory"),
                nop(),
                sync("signal", *table),
                sync("wait", *table),
            ],
        )
        gpus.append(gpu)
    return write("allreduce", gpus, inplace=True)


def port_reducescatter(ranks: int = 3) -> Plan:
    """Out of place over port channels, to scratch; adds in two blocks with a semaphore."""
    gpus = []
    for r in range(ranks):
        gpu = Gpu(r, (ranks, 1, ranks - 1))
        gpu.semaphores = [0]
        others = [(r + d) % ranks for d in range(1, ranks)]
        table = list(range(len(others)))
        gpu.block(
            others,
            [(p, "s") for p in others],
            [
                sync("signal", *table, kind="port"),
                sync("wait", *table, kind="port"),
                nop(),
                put([local("i", p) for p in others], [remote(b, b) for b in table], *table),
                sync("signal", *table, kind="port"),
                sync("wait", *table, kind="port"),
                nop(),
                {"name": "sem_release", "semaphore_ids": [0]},
                sync("signal", *table, kind="port"),
                sync("wait", *table, kind="port"),
            ],
            "port",
        )
        gpu.block(
            [],
            [],
            [
                {"name": "sem_acquire", "semaphore_ids": [0]},
                nop(),
                move("re", [local("i", r), *(local("s", b) for b in table)], [local("o", 0)]),
            ],
        )
        gpus.append(gpu)
    return write("reducescatter", gpus)


def barrier_broadcast(ranks: int = 3, root: int = 1) -> Plan:
    """The root copies to scratch; behind a barrier another block puts it to all from there."""
    gpus = []
    for r in range(ranks):
        gpu = Gpu(r, (2, 2, 2))
        others = [p for p in range(ranks) if p != root]
        meet = {"name": "barrier", "barrier_id": 3, "num_threadblocks": 2}
        if r == root:
            table = list(range(len(others)))
            gpu.block(
                [],
                [],
                [
                    move("copy", [local("i", 0, 2)], [local("s", 0, 2)]),
                    move("copy", [local("i", 0, 2)], [local("o", 0, 2)]),
                    meet,
                ],
            )
            gpu.block(
                others,
                [(p, "o") for p in others],
                [
                    sync("rlxwait", *table),
                    meet,
                    put([local("s", 0, 2) for _ in others], [remote(b, 0, 2) for b in table]),
                    nop(),
                    sync("signal", *table),
                ],
            )
        else:
            gpu.block([root], [], [sync("rlxsignal", 0), sync("wait", 0)])
        gpus.append(gpu)
    return write("broadcast", gpus)


def piped_alltoall(ranks: int = 2) -> Plan:
    """Through scratch, piece by piece; the rank itself empties scratch."""
    gpus = []
    for r in range(ranks):
        gpu = Gpu(r, (ranks, ranks, ranks))
        others = [p for p in range(ranks) if p != r]
        table = list(range(len(others)))
        inner = [
            put([local("i", p) for p in others], [remote(b, r) for b in table]),
            nop(),
            sync("signal", *table),
            sync("wait", *table),
            nop(),
            *(move("copy", [local("s", p)], [local("o", p)]) for p in others),
        ]
        gpu.block(
            others,
            [(p, "s") for p in others],
            [
                sync("rlxsignal", *table),
                sync("rlxwait", *table),
                nop(),
                move("copy", [local("i", r)], [local("o", r)]),
                {
                    "name": "pipeline",
                    "iter_context": {"unit_size": 1 << 20, "num_chunks": 1},
                    "ops": inner,
                },
            ],
        )
        gpus.append(gpu)
    return write("alltoall", gpus)


PLANS: dict[str, Callable[..., Plan]] = {
    "full_allgather": full_allgather,
    "ring_allgather": ring_allgather,
    "reading_allreduce": reading_allreduce,
    "port_reducescatter": port_reducescatter,
    "barrier_broadcast": barrier_broadcast,
    "piped_alltoall": piped_alltoall,
}


@pytest.fixture(scope="session")
def plans() -> dict[str, Callable[..., Plan]]:
    """Functions that write a small plan each, by name."""
    return PLANS


def by_memory(name: str, sources: list[Op], targets: list[Op]) -> Op:
    return {"name": name, "src_buff": sources, "dst_buff": targets, "channel_type": "memory"}


def gathered() -> Plan:
    """Allgather in place, 3 ranks: one block puts to each other one, others unpack."""
    gpus = []
    for r in range(3):
        gpu = Gpu(r, (1, 3, 3))
        for away in (1, 2):
            peer = (r + away) % 3
            ops = [by_memory("ppkt", [local("o", r)], [remote(0, r)])]
            gpu.block([peer], [(peer, "s")], ops)
        for away in (1, 2):
            peer = (r + away) % 3
            gpu.block([], [], [move("upkt", [local("s", peer)], [local("o", peer)])])
        gpus.append(gpu)
    plan = write("allgather", gpus, inplace=True, use_double_scratch_buffer=True)
    return {**plan, "protocol": "LL"}


def reduced() -> Plan:
    """Allreduce in place, 2 ranks, 2 chunks: packets are added, and the sum is put back."""
    gpus = []
    for r in range(2):
        gpu, other = Gpu(r, (2, 2, 2)), 1 - r
        gpu.block(
            [other],
            [(other, "s")],
            [
                by_memory("ppkt", [local("i", other)], [remote(0, 0)]),
                by_memory("respkt", [local("i", r), local("s", 0)], [local("i", r), remote(0, 1)]),
            ],
        )
        gpu.block([], [], [move("upkt", [local("s", 1)], [local("i", other)])])
        gpus.append(gpu)
    plan = write("allreduce", gpus, inplace=True, use_double_scratch_buffer=True)
    return {**plan, "protocol": "LL"}


def passed_on() -> Plan:
    """Broadcast along three ranks, packets passed on as they come; a call says when it begins."""
    gpus = []
    for r in range(3):
        gpu = Gpu(r, (1, 1, 2))
        before, after = [r - 1] * (r > 0), [r + 1] * (r < 2)
        last = len(before)
        ops = [sync("rlxsignal", 0)] if before else []
        ops += [sync("rlxwait", last), nop()] if after else []
        if r == 0:
            ops.append(by_memory("ppkt", [local("i", 0)], [remote(0, 0)]))
            ops.append(move("copy", [local("i", 0)], [local("o", 0)]))
        elif r == 1:
            ops.append(by_memory("rppkt", [local("s", 0)], [remote(0, 1)]))
        if r:
            ops.append(move("upkt", [local("s", r - 1)], [local("o", 0)]))
        gpu.block(before + after, [(r + 1, "s")] * (r < 2), ops)
        gpus.append(gpu)
    return {**write("broadcast", gpus), "protocol": "LL"}


def networked() -> Plan:
    """Allgather in place, 3 ranks: packets are made in scratch, and proxies pass them on."""
    gpus = []
    for r in range(3):
        gpu, others = Gpu(r, (1, 3, 3)), [(r + away) % 3 for away in (1, 2)]
        gpu.block(
            others,
            [(peer, "s") for peer in others],
            [
                move("cpkt", [local("o", r)], [local("s", r)]),
                move(
                    *("rppkt", [local("s", r)], [remote(0, r), remote(1, r)]),
                    channel_type="port",
                    channel_ids=[0, 1],
                ),
            ],
            "port",
        )
        for peer in others:
            gpu.block([], [], [move("upkt", [local("s", peer)], [local("o", peer)])])
        gpus.append(gpu)
    plan = write("allgather", gpus, inplace=True, use_double_scratch_buffer=True)
    return {**plan, "protocol": "LL"}


def multicast() -> Plan:
    """Allgather in place, 3 ranks: a switch copies the packets of each to all."""
    gpus = []
    for r in range(3):
        gpu = Gpu(r, (1, 3, 3))
        target = {"switch_channel_id": 0, "index": r, "size": 1}
        ops = [
            move("cpkt", [local("o", r)], [local("s", r)]),
            move("gstorepkt", [local("s", r)], [target], channel_type="switch"),
        ]
        gpu.block([], [], ops)
        for away in (1, 2):
            peer = (r + away) % 3
            gpu.block([], [], [move("upkt", [local("s", peer)], [local("o", peer)])])
        gpus.append(gpu)
    plan = write("allgather", gpus, inplace=True, use_double_scratch_buffer=True)
    groups = [{"size": 3, "ranks": [0, 1, 2]}]
    for gpu in plan["gpus"]:
        gpu["channels"] = [{"channel_type": "switch", "buffer_type": "s", "rank_groups": groups}]
        gpu["threadblocks"][0]["channels"] = [{"channel_type": "switch", "channel_ids": [0]}]
    return {**plan, "protocol": "LL"}


@pytest.fixture(scope="session")
def packet_plans() -> dict[str, Callable[[], Plan]]:
    """Functions that write a small plan of packets each, by name."""
    every = (gathered, reduced, passed_on, networked, multicast)
    return {one.__name__: one for one in every}


@pytest.fixture(scope="session")
def kit() -> SimpleNamespace:
    """Functions to write plans."""
    return SimpleNamespace(
        Gpu=Gpu, local=local, move=move, nop=nop, put=put, remote=remote, sync=sync, write=write
    )
