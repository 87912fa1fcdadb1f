"""Plans by switch channels: NVSwitches add up (``glres``) and copy (``gstore``), in one operation.

A chunk whose contributions all come to one rank of a group, and whose sum goes from there to all of
the group, is one operation of that rank: it loads the sum of what lies at one place of all of them,
and stores it at one of all of them.  So is a chunk that all of a group send to all others at once,
by the rank with the fewest: that takes less of every cable.  A chunk that goes from one rank to all
of a group is stored so.  What a rank does depends on no other, so that the steps of the algorithm
are those of the hardware; before and behind there is a signal between all that have a group in
common.

A group is what a chunk says: all ranks, those of one group of an allreduce within groups, or those
to which one rank's data go.  All its ranks bind the same buffer, so it has as many chunks at each,
and the chunk has one place there.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from syncoll.arrays import IntArray
from syncoll.errors import ExportError
from syncoll.model import Algorithm, Instance, OrbitAlgorithm, Topology
from syncoll.model.boxes import shared_memory_boxes
from syncoll.plugins import ExportRequest
from syncoll.runtime import Kind, Layout
from syncoll_mscclpp.ways import around_one_switch

__all__ = ["switch_gpus"]

_MOST_TABLE = 16
"""Channels of a type of a thread block."""

_MOST_PER_OPERATION = 8
"""Channels of one signal or wait."""

_MOST_OPERATIONS = 64
"""Of a thread block."""

Op = dict[str, Any]
Group = tuple[int, ...]


@dataclass(frozen=True)
class _Way:
    """How a chunk goes.

    Args:
        group: the ranks where it ends.
        root: the rank by which it goes; None where all of them send it to all others.
        sums: whether it is added up first.
    """

    group: Group
    root: int | None
    sums: bool


@dataclass(frozen=True)
class _Move:
    """An operation that moves data: from places of the input to places of the output."""

    name: str
    group: Group
    source: int
    target: int
    size: int = 1


@dataclass
class _Rank:
    """What one rank does.

    Args:
        moves: its operations that move data.
        channels: its multicast groups, each with the buffer that it binds; in the order in which
            all ranks make them.
        peers: the ranks with which it has a group in common.
    """

    moves: list[_Move] = field(default_factory=list)
    channels: list[tuple[Group, str]] = field(default_factory=list)
    peers: list[int] = field(default_factory=list)


def switch_gpus(request: ExportRequest, layout: Layout) -> tuple[list[dict[str, Any]], int]:
    """What each rank does, and how many chunks all ranks of a group would send to all others.

    Raises:
        ExportError: when a chunk takes other ways than to one rank of a group and from there to
            all of it, or does not lie at one place there.
    """
    nodes = layout.collective.num_nodes
    ways = _ways(request.instance, request.algorithm)
    exchanged = [chunk for chunk, way in enumerate(ways) if way.root is None]
    for chunk in exchanged:
        roots = [way.root for way in ways]
        ways[chunk] = replace(ways[chunk], root=min(ways[chunk].group, key=roots.count))
    ranks = [_Rank() for _ in range(nodes)]
    made: set[tuple[Group, str]] = set()
    for chunk, way in enumerate(ways):
        assert way.root is not None
        move = _move(request, layout, chunk, way)
        if move is None:
            continue
        _append(ranks[way.root].moves, move)
        if move.name != "copy":
            made |= {(way.group, buffer) for buffer in ("io" if way.sums else "o")}
    for group, buffer in sorted(made):
        _require_alike(layout, group, buffer)
        for member in group:
            ranks[member].channels.append((group, buffer))
    for number, rank in enumerate(ranks):
        rank.peers = sorted({peer for group, _ in rank.channels for peer in group} - {number})
        _require_room(number, rank)
    signals = max(-(-len(rank.peers) // _MOST_PER_OPERATION) for rank in ranks)
    room = _MOST_OPERATIONS - 4 * signals - 2
    blocks = max(1, -(-max(len(rank.moves) for rank in ranks) // room))
    return [_gpu(number, rank, blocks, layout) for number, rank in enumerate(ranks)], len(exchanged)


def _ways(instance: Instance, algorithm: Algorithm) -> list[_Way]:
    """How each chunk goes.

    Raises:
        ExportError: naming a chunk that does not go through switches.
    """
    if isinstance(algorithm, OrbitAlgorithm):
        algorithm = algorithm.expanded()
    found: list[_Way] = []
    around: set[_Way] = set()
    box = shared_memory_boxes(instance.topology)
    order = np.argsort(algorithm.sends[:, 0], kind="stable")
    ends = np.searchsorted(algorithm.sends[order, 0], np.arange(instance.num_chunks + 1))
    for chunk in range(instance.num_chunks):
        way = _way(instance, algorithm, chunk, order[ends[chunk] : ends[chunk + 1]])
        found.append(way)
        if way not in around:
            _require_switch(instance.topology, box, chunk, way)
            around.add(way)
    return found


def _way(instance: Instance, algorithm: Algorithm, chunk: int, own: IntArray) -> _Way:
    starts, goals = np.flatnonzero(instance.pre[chunk]), np.flatnonzero(instance.post[chunk])
    group = tuple(goals.tolist())
    pairs = sorted(zip(*algorithm.sends[own, 1:3].T.tolist(), strict=True))
    if not instance.combining or len(starts) == 1:
        root = int(starts[0])
        if root in group and pairs == [(root, node) for node in group if node != root]:
            return _Way(group, root, sums=False)
        raise ExportError(
            f"chunk {chunk} does not stay at one rank and go from there to all others of its group "
            "straight, as through a switch"
        )
    carried = algorithm.contributions
    assert carried is not None
    if tuple(starts.tolist()) != group:
        raise ExportError(
            f"chunk {chunk} does not end at just the ranks that contribute to it, to which a "
            "switch stores the sum"
        )
    alone = (carried[own].sum(axis=1) == 1).all()
    if alone and pairs == [(a, b) for a in group for b in group if a != b]:
        return _Way(group, None, sums=True)
    whole = carried[own].sum(axis=1) == len(group)
    gathered, copied = algorithm.sends[own[~whole], 1:3], algorithm.sends[own[whole], 1:3]
    root = int(gathered[0, 1]) if len(gathered) else group[0]
    others = [node for node in group if node != root]
    came = sorted(map(tuple, gathered.tolist())) == [(node, root) for node in others]
    went = sorted(map(tuple, copied.tolist())) == [(root, node) for node in others]
    if not (came and went):
        raise ExportError(
            f"chunk {chunk} does not come to one rank and go from there to all others of its group "
            "straight, as through a switch; those of seed inswitch do in one box"
        )
    return _Way(group, root, sums=True)


def _require_switch(topology: Topology, box: IntArray, chunk: int, way: _Way) -> None:
    """Passes a group in one box, around one switch where switches of the topology copy or add."""
    hub = way.group[0] if way.root is None else way.root
    together = len(set(box[list(way.group)].tolist())) == 1
    told = topology.counts_copies and len(way.group) > 1
    if not together or (told and not around_one_switch(topology, hub, way.group, way.sums)):
        what = "adds up and copies" if way.sums else "copies"
        raise ExportError(
            f"chunk {chunk} is of ranks {', '.join(map(str, way.group))}, between which no switch "
            f"of {topology.name} {what}"
        )


def _move(request: ExportRequest, layout: Layout, chunk: int, way: _Way) -> _Move | None:
    """The operation that moves a chunk; None where it is in its place."""
    assert way.root is not None
    group = list(way.group)
    source, target = int(layout.inputs[chunk, way.root]), int(layout.outputs[chunk, way.root])
    if len(group) == 1:
        return None if request.in_place else _Move("copy", way.group, source, target)
    for places, buffer in ((layout.inputs, "input"), (layout.outputs, "output")):
        if (way.sums or buffer == "output") and len(set(places[chunk, group].tolist())) > 1:
            raise ExportError(
                f"chunk {chunk} lies at different places of its ranks' {buffer}s, and a switch "
                "reads and writes one place of all of them"
            )
    return _Move("glres" if way.sums else "gstore", way.group, source, target)


def _append(moves: list[_Move], move: _Move) -> None:
    """Adds an operation, with the last one where both lie side by side."""
    if moves:
        last = moves[-1]
        after = (last.source + last.size, last.target + last.size)
        if (last.name, last.group, *after) == (move.name, move.group, move.source, move.target):
            moves[-1] = replace(last, size=last.size + move.size)
            return
    moves.append(move)


def _require_alike(layout: Layout, group: Group, buffer: str) -> None:
    sizes = layout.input_chunks if buffer == "i" else layout.output_chunks
    if len({sizes[rank] for rank in group}) > 1:
        name = "inputs" if buffer == "i" else "outputs"
        raise ExportError(
            f"ranks {', '.join(map(str, group))} have {name} of different sizes, which cannot be "
            "bound to one multicast group"
        )


def _require_room(number: int, rank: _Rank) -> None:
    for count, what in ((len(rank.peers), "other ranks"), (len(rank.channels), "switch channels")):
        if count > _MOST_TABLE:
            raise ExportError(
                f"rank {number} has groups with {count} {what}; a thread block has room for "
                f"{_MOST_TABLE}"
            )


def _gpu(number: int, rank: _Rank, blocks: int, layout: Layout) -> dict[str, Any]:
    peers, channels = rank.peers, rank.channels
    custom = layout.collective.kind is Kind.CUSTOM
    sizes = {"i": layout.input_chunks[number], "o": layout.output_chunks[number]}
    if not custom:  # of a broadcast the others pass a buffer, too
        sizes = {"i": max(layout.input_chunks), "o": max(layout.output_chunks)}
    memory = [{"channel_type": "memory", "connected_to": peers * blocks}] if peers else []
    return {
        "id": number,
        "input_chunks": max(1, sizes["i"]),
        "output_chunks": max(1, sizes["o"]),
        "scratch_chunks": 0,
        "threadblocks": [
            {
                "id": block,
                "ops": _operations(rank, rank.moves[block::blocks]),
                "channels": [
                    {"channel_type": kind, "channel_ids": ids}
                    for kind, ids in (
                        ("memory", list(range(block * len(peers), (block + 1) * len(peers)))),
                        ("switch", list(range(len(channels)))),
                    )
                    if ids
                ],
                "remote_buffer_refs": [],
            }
            for block in range(blocks)
        ],
        "channels": [
            *memory,
            *(
                {
                    "channel_type": "switch",
                    "buffer_type": buffer,
                    "rank_groups": [{"size": max(1, sizes[buffer]), "ranks": list(group)}],
                }
                for group, buffer in channels
            ),
        ],
        "remote_buffers": [],
        "semaphores": [],
    }


def _operations(rank: _Rank, moves: list[_Move]) -> list[Op]:
    """Everybody is there, this rank's chunks, everybody is done."""
    nop: Op = {"name": "nop"}
    peers = list(range(len(rank.peers)))

    def meet(signal: str, wait: str) -> list[Op]:
        return [
            {
                "name": name,
                "channel_type": "memory",
                "channel_ids": peers[start : start + _MOST_PER_OPERATION],
            }
            for name in (signal, wait)
            for start in range(0, len(peers), _MOST_PER_OPERATION)
        ]

    def place(move: _Move, buffer: str, index: int) -> Op:
        local = move.name == "copy" or (move.name == "gstore" and buffer == "i")
        which: Op = {"type": buffer}
        if not local:
            which = {"switch_channel_id": rank.channels.index((move.group, buffer))}
        return which | {"index": index, "size": move.size}

    done: list[Op] = []
    for move in moves:
        done.append(
            {
                "name": move.name,
                "src_buff": [place(move, "i", move.source)],
                "dst_buff": [place(move, "o", move.target)],
                **({} if move.name == "copy" else {"channel_type": "switch"}),
            }
        )
    return [*meet("rlxsignal", "rlxwait"), nop, *done, nop, *meet("signal", "wait")]
