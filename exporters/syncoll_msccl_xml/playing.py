"""Plays the thread blocks of all ranks, a message for every chunk of a step.

A connection holds few messages.  Programs have no branches, and a connection has one sender and one
receiver, so every timing ends or gets stuck alike (Kahn), and larger messages only need less space.
"""

from collections import defaultdict, deque
from collections.abc import Sequence

from syncoll_msccl_xml.blocks import ThreadBlock
from syncoll_msccl_xml.connections import DEPTH, Connection


def ends(blocks: Sequence[Sequence[ThreadBlock]], counts: Sequence[int]) -> bool:
    """Whether all thread blocks end, if each chunk of a step is a message of its own.

    Args:
        blocks: of each rank.
        counts: for each stream the chunks of a step.
    """
    every = [block for rank in blocks for block in rank]
    done = dict.fromkeys(every, 0)
    part = dict.fromkeys(every, 0)
    held: dict[Connection | None, int] = defaultdict(int)
    waiting: dict[object, list[ThreadBlock]] = defaultdict(list)
    ready = deque(every)

    def obstacle(block: ThreadBlock) -> object:
        step = block.steps[done[block]]
        if step.waits is not None and done[step.waits[0]] <= step.waits[1]:
            return step.waits[0]
        one = step.instruction
        if one is None:
            return None
        if one.incoming is not None and not held[block.incoming]:
            return "message", block.incoming
        if one.outgoing is not None and held[block.outgoing] >= DEPTH:
            return "space", block.outgoing
        return None

    while ready:
        block = ready.popleft()
        while done[block] < len(block.steps):
            if (reason := obstacle(block)) is not None:
                waiting[reason].append(block)
                break
            one = block.steps[done[block]].instruction
            if one is not None and one.incoming is not None:
                held[block.incoming] -= 1
                ready.extend(waiting.pop(("space", block.incoming), ()))
            if one is not None and one.outgoing is not None:
                held[block.outgoing] += 1
                ready.extend(waiting.pop(("message", block.outgoing), ()))
            part[block] += 1
            moved = one is not None and (one.incoming is not None or one.outgoing is not None)
            if not moved or one is None or part[block] == counts[one.stream]:
                done[block], part[block] = done[block] + 1, 0
                ready.extend(waiting.pop(block, ()))
    return all(done[block] == len(block.steps) for block in every)
