"""The algorithm that an executed program performs: its messages between ranks, and their waves.

A message leaves in the first wave in which its data is at its source and its thread block has
reached it.  A thread block sends over each link in the order of its instructions, one operation a
wave, and waits for messages and for the waves in which counters are raised.  Copies within a rank
take no time.  A value that passes through a rank which only reduces it for others, as in
multicast through a switch, is received and sent on.
"""

from collections import defaultdict, deque

import numpy as np

from syncoll.errors import UncheckedError
from syncoll.model import Algorithm
from syncoll.plugins.foreign import ForeignAlgorithm
from syncoll_threadblocks.contents import Value
from syncoll_threadblocks.program import Program
from syncoll_threadblocks.schedule import Schedule, meeting
from syncoll_threadblocks.specification import OwnSpecification

_MOST_CELLS = 1 << 26

DERIVED = (
    "The file has thread blocks and no steps.  Its sends are in the order in which each has its "
    "data, and in the order of its thread block on each link; a step ends before the first send "
    "that waits for one of its sends."
)

Held = tuple[Value, int]
"""A value, and the first wave in which it can be sent."""

Operation = tuple[int, int]
"""A thread block, and its step."""

Message = tuple[int, int, int, int, int, Operation]
"""Chunk, source, destination, wave, the mask of contributions, and the operation."""


def algorithm_in(
    program: Program,
    run: Schedule,
    spec: OwnSpecification,
    inputs: tuple[int, ...] | list[int],
    collective: str,
) -> ForeignAlgorithm:
    """The algorithm of a program that `execute` passed with these arguments.

    Args:
        collective: the name for the file's collective; a root is added.
    """
    ranks, chunks = spec.num_ranks, spec.num_chunks * spec.pieces
    if chunks * ranks > _MOST_CELLS:
        raise UncheckedError(f"{chunks} chunks on {ranks} ranks are too many to follow")
    pre, post = np.zeros((chunks, ranks), dtype=bool), np.zeros((chunks, ranks), dtype=bool)
    held: dict[int, Held] = {}
    for rank in range(ranks):
        for place in range(spec.inputs_of(rank)):
            if (value := spec.initial(rank, place)) is not None:
                pre[value[0], rank] = True
                held[inputs[rank] + place] = value, 0
        for place in range(spec.outputs_of(rank)):
            if (value := spec.wanted(rank, place)) is not None:
                post[value[0], rank] = True
    found = _messages(program, run, held)
    turns: defaultdict[tuple[int, int, int], dict[Operation, int]] = defaultdict(dict)
    for _, source, destination, wave, _, operation in sorted(found, key=lambda row: row[3:]):
        turn = turns[source, destination, wave]
        turn.setdefault(operation, len(turn))
    rows = list({(*row[:3], (row[3], turns[row[1:4]][row[5]]), row[4]) for row in found})
    waves = {wave: number for number, wave in enumerate(sorted({row[3] for row in rows}))}
    sends = np.array([(*row[:3], waves[row[3]]) for row in rows], dtype=np.int64).reshape(-1, 4)
    carried = None
    if spec.combining:
        carried = np.array([[row[4] >> rank & 1 for rank in range(ranks)] for row in rows], bool)
        carried = carried.reshape(-1, ranks)
    steps = int(sends[:, 3].max(initial=-1)) + 1
    algorithm = Algorithm((1,) * steps, sends, carried)
    name = collective if spec.root is None else f"{collective}(root={spec.root})"
    return ForeignAlgorithm(name, algorithm, pre, post, spec.combining, derived=DERIVED, waves=True)


def _messages(program: Program, run: Schedule, held: dict[int, Held]) -> set[Message]:
    """The messages of a run, in which slots hold some values at the start."""
    owner = program.memory.owner
    found: set[Message] = set()
    clock = [0] * len(program.threads)
    raised: list[list[int]] = [[] for _ in program.counters]
    queues: list[deque[Held]] = [deque() for _ in program.connections]
    last: defaultdict[tuple[int, int, int], tuple[int, int]] = defaultdict(lambda: (-1, -1))
    met = 0  # up to this place of the run all have met

    def sent(held: Held, source: int, destination: int, thread: int, step: int) -> Held:
        """A value after a message."""
        (chunk, mask), wave = held
        before, earlier = last[thread, source, destination]
        wave = max(wave, before + (earlier != step))
        last[thread, source, destination] = wave, step
        found.add((chunk, source, destination, wave, mask, (thread, step)))
        return (chunk, mask), wave + 1

    for at, place in enumerate(run):
        one, thread = program.at(place), place[0]
        rank, parts = program.threads[thread].rank, list[Held]()
        if one.barrier >= 0 and at >= met:
            together = [there for there, _ in meeting(program, run, at)]
            met, latest = at + len(together), max(clock[there] for there in together)
            for there in together:
                clock[there] = latest
        for counter, count in one.waits:
            clock[thread] = max([clock[thread], *raised[counter][:count]])
        if one.receive >= 0:
            parts.append(queues[one.receive].popleft())
            clock[thread] = max(clock[thread], parts[0][1])
        for slot in one.reads:
            value, wave = held[slot]
            source = owner(slot).rank
            read = value, max(wave, clock[thread])
            parts.append(read if source == rank else sent(read, source, rank, thread, one.step))
        if parts:
            chunk, mask = parts[0][0]
            for (_, more), _ in parts:
                mask |= more
            result = (chunk, mask), max(clock[thread], *(wave for _, wave in parts))
            for slot in one.writes:
                there = owner(slot).rank
                held[slot] = (
                    result if there == rank else sent(result, rank, there, thread, one.step)
                )
            if one.send >= 0:
                ends = program.connections[one.send]
                queues[one.send].append(
                    sent(result, ends.source, ends.destination, thread, one.step)
                )
        for counter in one.posts:
            raised[counter].append(clock[thread])
    return found
