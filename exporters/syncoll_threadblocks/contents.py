"""Contents: what every slot holds when a program has run, as sets of contributions.

The value of a slot is the reduction of what some ranks put into one chunk: `(chunk, ranks)`, with
the ranks as a bit mask.  A copy of a chunk is the reduction of one rank's contribution.  Adding
something twice, adding different chunks, and reading a slot that nobody filled are errors.  In a
program without races each read sees the same write in every execution, so one execution tells.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from syncoll_threadblocks.program import Instruction, Program
from syncoll_threadblocks.schedule import Schedule

__all__ = ["Contents", "Value", "contents", "describe_value", "rank_names"]

Value = tuple[int, int]
"""A chunk, and the bit mask of the ranks whose contributions are in it."""


@dataclass(frozen=True)
class Contents:
    """What slots hold: those that were written, and before anything runs; None for garbage."""

    initial: Callable[[int], Value | None]
    written: dict[int, Value]

    def __getitem__(self, slot: int) -> Value | None:
        """What a slot holds; None for garbage."""
        value = self.written.get(slot)
        return self.initial(slot) if value is None else value


def describe_value(value: Value | None) -> str:
    """A value in words: ``chunk 3 of ranks 0, 2``."""
    if value is None:
        return "nothing that was ever written"
    chunk, mask = value
    return f"chunk {chunk} of {rank_names(mask)}"


def contents(
    program: Program, schedule: Schedule, initial: Callable[[int], Value | None]
) -> Contents:
    """Executes a program without races on symbolic values.

    Args:
        program: what `schedule` is an execution of.
        initial: what each slot holds before; None for garbage.

    Raises:
        VerificationError: when an instruction reads garbage, adds a contribution twice, or adds
            different chunks.
    """
    held = Contents(initial, {})
    queues: list[deque[Value]] = [deque() for _ in program.connections]
    for t, position in schedule.order:
        instruction = program.threads[t].instructions[position]
        value: Value | None = None
        if instruction.receive >= 0:
            value = queues[instruction.receive].popleft()
        for slot in instruction.reads:
            read = held[slot]
            if read is None:
                raise program.fail(
                    t,
                    position,
                    f"reads {program.memory.describe(slot)}, where nothing is stored yet",
                )
            value = read if value is None else _add(program, t, position, value, read)
        if value is None:
            if instruction.writes or instruction.send >= 0:
                raise program.fail(t, position, "writes or sends, but has nothing to write")
            continue
        for slot in instruction.writes:
            held.written[slot] = value
        if instruction.send >= 0:
            queues[instruction.send].append(value)
    return held


def _add(program: Program, t: int, position: int, one: Value, other: Value) -> Value:
    instruction: Instruction = program.threads[t].instructions[position]
    if one[0] != other[0]:
        raise program.fail(
            t, position, f"adds {describe_value(other)} to {describe_value(one)}, another chunk"
        )
    if twice := one[1] & other[1]:
        slots = ", ".join(program.memory.describe(slot) for slot in instruction.reads)
        raise program.fail(
            t,
            position,
            f"adds the contribution of {rank_names(twice)} to chunk {one[0]} twice (it reads "
            f"{slots})",
        )
    return one[0], one[1] | other[1]


def rank_names(mask: int) -> str:
    """The ranks of a bit mask in words: ``ranks 0, 2``."""
    ranks = [rank for rank in range(mask.bit_length()) if mask >> rank & 1]
    shown = ", ".join(map(str, ranks[:8])) + (", …" if len(ranks) > 8 else "")
    return f"rank{'s' if len(ranks) != 1 else ''} {shown}" if ranks else "no rank"
