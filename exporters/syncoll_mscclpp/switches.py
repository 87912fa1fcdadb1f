"""Plans by switch channels: NVSwitches add up (``glres``) and copy (``gstore``), in one operation.

A chunk of an allreduce whose contributions all come to one rank, and whose sum goes from there to
all, is one operation of that rank: it loads the sum of what lies at one place of all ranks, and
stores it at one of all of them.  So is a chunk that all ranks send to all others at once, by the
rank with the fewest: that takes less of every cable.  A chunk that a root sends to all is stored
so.  What a rank does depends on no other, so that the steps of the algorithm are those of the
hardware; before and behind there is a signal between all.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from syncoll.errors import ExportError
from syncoll.model import Algorithm, Instance, OrbitAlgorithm
from syncoll.plugins import ExportRequest
from syncoll.runtime import Kind, StandardCollective

__all__ = ["switch_gpus"]

_MOST_PEERS = 16
"""Channels of a thread block."""

_MOST_MOVES = 48
"""Operations of a thread block that move data: with all signals there is room for 64."""

Op = dict[str, Any]


def switch_gpus(
    request: ExportRequest, collective: StandardCollective
) -> tuple[list[dict[str, Any]], int]:
    """What each rank does, and how many chunks all ranks would send to all others.

    Raises:
        ExportError: when a chunk takes other ways than to one rank and from there to all, or the
            collective is none of which switches do that.
    """
    kind, nodes = collective.kind, collective.num_nodes
    if kind not in (Kind.ALLREDUCE, Kind.BROADCAST):
        raise ExportError(
            f"switch channels are written for allreduce and broadcast, not for {kind}; expected "
            "channel=memory"
        )
    if not 2 <= nodes <= _MOST_PEERS + 1:
        raise ExportError(
            f"{nodes} ranks; a thread block has channels to at most {_MOST_PEERS} others"
        )
    roots = _roots(request.instance, request.algorithm)
    exchanged = [chunk for chunk, root in enumerate(roots) if root is None]
    for chunk in exchanged:
        roots[chunk] = min(range(nodes), key=roots.count)
    runs: list[list[tuple[int, int]]] = [[] for _ in range(nodes)]
    for chunk, root in enumerate(roots):
        assert root is not None
        own = runs[root]
        if own and sum(own[-1]) == chunk:
            own[-1] = own[-1][0], own[-1][1] + 1
        else:
            own.append((chunk, 1))
    blocks = max(1, -(-max(map(len, runs)) // _MOST_MOVES))
    gpus = [_gpu(rank, runs[rank], blocks, collective) for rank in range(nodes)]
    return gpus, len(exchanged)


def _roots(instance: Instance, algorithm: Algorithm) -> list[int | None]:
    """The rank by which each chunk goes; None where all ranks send it to all others.

    Raises:
        ExportError: naming a chunk that does not go by one.
    """
    if isinstance(algorithm, OrbitAlgorithm):
        algorithm = algorithm.expanded()
    nodes, sends = instance.topology.num_nodes, algorithm.sends
    pairs = [(a, b) for a in range(nodes) for b in range(nodes) if a != b]
    found: list[int | None] = []
    for chunk in range(instance.num_chunks):
        own = np.flatnonzero(sends[:, 0] == chunk)
        source, destination = sends[own, 1], sends[own, 2]
        if (
            algorithm.contributions is not None
            and sorted(zip(source.tolist(), destination.tolist(), strict=True)) == pairs
            and (algorithm.contributions[own].sum(axis=1) == 1).all()
        ):
            found.append(None)
            continue
        if algorithm.contributions is None:
            gather, spread = own[:0], own
            root = int(instance.pre[chunk].argmax())
        else:
            whole = algorithm.contributions[own].all(axis=1)
            gather, spread = own[~whole], own[whole]
            root = int(sends[gather[0], 2]) if len(gather) else 0
        others = [node for node in range(nodes) if node != root]
        gathered, copied = np.isin(own, gather), np.isin(own, spread)
        right = sorted(destination[copied].tolist()) == others and set(source[copied]) == {root}
        if algorithm.contributions is not None:
            right &= sorted(source[gathered].tolist()) == others
            right &= set(destination[gathered].tolist()) == {root}
        if not right:
            raise ExportError(
                f"chunk {chunk} does not come to one rank and go from there to all others "
                "straight, as through a switch; expected channel=memory, or an algorithm such as "
                "those of seed inswitch in one box"
            )
        found.append(root)
    return found


def _gpu(
    rank: int, runs: list[tuple[int, int]], blocks: int, collective: StandardCollective
) -> dict[str, Any]:
    nodes, share = collective.num_nodes, collective.share
    peers = [node for node in range(nodes) if node != rank]
    sums = collective.kind is Kind.ALLREDUCE
    # Of sums the first group binds what is read, and the second one what is written.
    buffers = ["i", "o"] if sums else ["o"]
    everyone = list(range(nodes))
    return {
        "id": rank,
        "input_chunks": share,
        "output_chunks": share,
        "scratch_chunks": 0,
        "threadblocks": [
            {
                "id": number,
                "ops": _operations(runs[number::blocks], len(peers), sums=sums),
                "channels": [
                    {
                        "channel_type": "memory",
                        "channel_ids": list(range(number * len(peers), (number + 1) * len(peers))),
                    },
                    {"channel_type": "switch", "channel_ids": list(range(len(buffers)))},
                ],
                "remote_buffer_refs": [],
            }
            for number in range(blocks)
        ],
        "channels": [
            {"channel_type": "memory", "connected_to": peers * blocks},
            *(
                {
                    "channel_type": "switch",
                    "buffer_type": buffer,
                    "rank_groups": [{"size": share, "ranks": everyone}],
                }
                for buffer in buffers
            ),
        ],
        "remote_buffers": [],
        "semaphores": [],
    }


def _operations(runs: list[tuple[int, int]], peers: int, *, sums: bool) -> list[Op]:
    """Everybody is there, this rank's chunks, everybody is done."""

    def meet(signal: str, wait: str) -> list[Op]:
        ids = list(range(peers))
        return [
            {"name": name, "channel_type": "memory", "channel_ids": ids} for name in (signal, wait)
        ]

    moves: list[Op] = []
    for index, size in runs:
        place = {"index": index, "size": size}
        moves.append(
            {
                "name": "glres" if sums else "gstore",
                "src_buff": [{"switch_channel_id": 0} | place if sums else {"type": "i"} | place],
                "dst_buff": [{"switch_channel_id": int(sums)} | place],
                "channel_type": "switch",
            }
        )
    nop: Op = {"name": "nop"}
    return [*meet("rlxsignal", "rlxwait"), nop, *moves, nop, *meet("signal", "wait")]
