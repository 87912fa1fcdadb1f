"""Programs: the scripts of all ranks, divided so that they keep the limits of the runtime."""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial

from syncoll.errors import ExportError
from syncoll.runtime import Buffer, LoweredAlgorithm
from syncoll.runtime.places import Cut, Places
from syncoll.wording import counted
from syncoll_mscclpp.blocks import Division
from syncoll_mscclpp.draft import Draft
from syncoll_mscclpp.limits import MOST_FILE, MOST_OPERATIONS, MOST_TABLE
from syncoll_mscclpp.packets import Packets
from syncoll_mscclpp.script import Event, Group, Script

CLOSE = 1.5
"""A division that needs more operations than fit, by more than this ratio, is far from fitting."""

_DIVISIONS = ((1, False), (1, True), (2, True), (4, True))
"""The divisions that are tried: the divisor of the number of groups, and whether it is even."""

_MOST_MOVES = 4
"""Most streams that move from a thread block that is too large to another one."""

_WORTH = 0.9
"""The size of a file with fewer thread blocks, relative to the one before, that is worth them."""

_BLOCK_BYTES, _KIND_BYTES, _CHANNEL_BYTES = 45, 95, 28
"""About the bytes, in the file, of a thread block, of the tables of a kind of channels of a thread
block, and of a channel with its remote buffers."""


@dataclass(frozen=True)
class RankPlan:
    """Peers of a rank's channels by kind, semaphores, scripts, and groups with their buffers."""

    peers: Mapping[str, Sequence[int]]
    semaphores: int
    scripts: tuple[Script, ...]
    switches: tuple[tuple[Group, Buffer], ...] = ()


@dataclass(frozen=True, eq=False)
class PlanProgram:
    """The programs of all ranks, the places of their data, and notes for the user."""

    places: Places
    ranks: tuple[RankPlan, ...]
    packets: bool = False
    switches: bool = False
    notes: tuple[str, ...] = ()

    @property
    def thread_blocks(self) -> int:
        """Of the rank that has most."""
        return max(len(one.scripts) for one in self.ranks)

    @property
    def channels(self) -> int:
        """Of the rank that has most."""
        return max(sum(map(len, one.peers.values())) + len(one.switches) for one in self.ranks)

    @cached_property
    def size(self) -> int:
        """About the bytes of its file, for each rank."""
        operations = sum(
            len(json.dumps(one, separators=(",", ":"))) + 1
            for rank in self.ranks
            for script in rank.scripts
            for one in script.operations
        )
        kinds = max(sum(bool(t) for s in x.scripts for t in s.tables.values()) for x in self.ranks)
        tables = _BLOCK_BYTES * self.thread_blocks + _KIND_BYTES * kinds
        tables += _CHANNEL_BYTES * self.channels
        return operations // len(self.ranks) + tables


def program_of(
    lowered: LoweredAlgorithm,
    cut: Cut,
    kind: Callable[[int, int], str],
    most_blocks: int,
    packets: Packets | None = None,
    events: Sequence[Event] = (),
) -> PlanProgram:
    """The program of an algorithm, in packets or with signals, and with events through switches.

    It has as many thread blocks as allowed, or fewer, if the file is too large otherwise.

    Raises:
        ExportError: if a rank needs more than `most_blocks` thread blocks.
    """
    data: Sequence[Sequence[int]]
    data = packets.data if packets else _scratch(lowered, events)
    incoming = packets.incoming if packets else None
    places = Places(cut, lowered.layout, data, incoming, common=bool(events))
    others = [event.chunk for event in events]
    best: PlanProgram | None = None
    refused: _TooManyError | None = None
    for wanted, evenly in _DIVISIONS:
        if best is not None and best.size <= MOST_FILE:
            break
        if best is not None and wanted == 1:
            continue
        division = Division.of(lowered, cut, max(1, most_blocks // wanted), others, evenly=evenly)
        division.most = most_blocks
        try:
            moves = _MOST_MOVES if evenly and best is None else 0
            draft = partial(Draft, lowered, kind, division, places, packets, events)
            found = _divided(division, draft, moves)
        except _TooManyError as error:
            refused = error
            if evenly or not error.close:
                break
        else:
            if best is not None and found.size > _WORTH * best.size:
                break
            best = found
    if best is None:
        assert refused is not None
        raise refused
    return best


class _TooManyError(ExportError):
    """A rank needs too many thread blocks; `close` if fewer, larger ones might suffice."""

    close = False


def _divided(division: Division, drafted: Callable[[], Draft], moves: int) -> PlanProgram:
    """The program of the drafts for a division, which is split where a limit needs it, or from
    which at most `moves` streams move to other groups."""
    while True:
        draft, groups = drafted(), set[int]()
        blocks, script = sorted(draft.steps), cache(draft.script)  # most drafts end at an early one
        for block in blocks:
            excess = _excess(script(block))
            if excess is None or block[1] in groups:
                continue
            groups.add(block[1])
            if division.split(block, draft.steps_of(block)):
                continue
            moves -= 1
            if moves >= 0:
                most = Counter[int]()
                for one in blocks:
                    most |= Counter({one[1]: len(script(one).operations)})
                lightest = min(range(len(division.groups)), key=most.__getitem__)
                if division.move(block[1], lightest):
                    break
            error = _TooManyError(
                f"rank {block[0]} needs more than {counted(division.most, 'thread block')}: "
                f"one would have {excess}; take an algorithm with fewer chunks or steps, or allow "
                "more blocks"
            )
            needed = sum(len(script(at).operations) for at in blocks if at[0] == block[0])
            error.close = needed <= division.most * MOST_OPERATIONS
            raise error
        if not groups:
            break
    ranks = []
    for rank in range(len(draft.peers)):
        mine = [script(block) for block in blocks if block[0] == rank]
        if not mine:
            idle = Script(rank, draft.places, [])
            idle.nop()
            mine = [idle]
        ranks.append(
            RankPlan(draft.peers[rank], draft.semaphores[rank], tuple(mine), draft.switches[rank])
        )
    return PlanProgram(draft.places, tuple(ranks), draft.packets is not None)


def _scratch(lowered: LoweredAlgorithm, events: Sequence[Event]) -> list[list[int]]:
    """For each rank the stream in each slot of scratch; -1 for a slot that it does not use."""
    used: list[dict[int, int]] = [{} for _ in lowered.ranks]
    for rank in lowered.ranks:
        for operation in rank.operations:
            for slot in (*operation.sources, *([operation.target] if operation.target else [])):
                if slot.buffer is Buffer.SCRATCH:
                    used[rank.rank][slot.index] = operation.chunk
    for event in events:
        for member in event.group:
            for slot in (event.source, event.target):
                if slot.buffer is Buffer.SCRATCH:
                    used[member][slot.index] = event.chunk
    return [[one.get(i, -1) for i in range(max(one, default=-1) + 1)] for one in used]


def _excess(script: Script) -> str | None:
    """Describes an exceeded limit; None if a script keeps all."""
    channels = [len(script.switches), *map(len, script.tables.values())]
    for count, most, what in (
        (len(script.operations), MOST_OPERATIONS, "operations"),
        (max(channels), MOST_TABLE, "channels"),
        (max(map(len, script.remotes.values()), default=0), MOST_TABLE, "remote buffers"),
    ):
        if count > most:
            return f"{count} {what}, and MSCCL++ allows {most}"
    return None
