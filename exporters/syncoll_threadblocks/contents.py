"""The contents of every slot after a program has run, as sets of contributions.

The value of a slot is the reduction of one chunk over some ranks:  `(chunk, ranks)`, with the ranks
as a bit mask.  A copy of a chunk is the contribution of one rank.  Adding a contribution twice,
adding different chunks, and reading an empty slot are errors.  In a program without races each read
sees the same write in every execution, so one execution suffices.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from syncoll.model.associations import PartialSum
from syncoll.wording import few
from syncoll_threadblocks.program import Place, Program
from syncoll_threadblocks.schedule import Schedule

Value = tuple[int, int]
"""A chunk, and the bit mask of the ranks whose contributions are in it."""


@dataclass(frozen=True)
class Contents:
    """The written slots, and the initial contents of all slots; None for garbage."""

    initial: Callable[[int], Value | None]
    written: dict[int, Value]

    def __getitem__(self, slot: int) -> Value | None:
        """The value of a slot; None for garbage."""
        value = self.written.get(slot)
        return self.initial(slot) if value is None else value


def describe_value(value: Value | None) -> str:
    """A value in errors: ``chunk 3 of ranks 0, 2``."""
    if value is None:
        return "no written value"
    chunk, mask = value
    return f"chunk {chunk} of {rank_names(mask)}"


def contents(
    program: Program, schedule: Schedule, initial: Callable[[int], Value | None]
) -> Contents:
    """Executes a program without races on symbolic values, beginning with `initial`.

    Raises VerificationError if an instruction reads garbage, adds a contribution twice, or adds
    different chunks.
    """
    held = Contents(initial, {})
    queues: list[deque[Value]] = [deque() for _ in program.connections]
    for place in schedule:
        instruction = program.at(place)
        value: Value | None = None
        if instruction.receive >= 0:
            value = queues[instruction.receive].popleft()
        for slot in instruction.reads:
            read = held[slot]
            if read is None:
                name = program.memory.describe(slot)
                raise program.fail(place, f"reads {name} before anything is stored there")
            value = read if value is None else _add(program, place, value, read)
        if value is None:
            if instruction.writes or instruction.send >= 0:
                raise program.fail(place, "writes or sends, but has nothing to write")
            continue
        for slot in instruction.writes:
            held.written[slot] = value
        if instruction.send >= 0:
            queues[instruction.send].append(value)
    return held


def _add(program: Program, place: Place, one: Value, other: Value) -> Value:
    if one[0] != other[0]:
        added = f"adds {describe_value(other)} to {describe_value(one)}, another chunk"
        raise program.fail(place, added)
    if twice := one[1] & other[1]:
        slots = ", ".join(map(program.memory.describe, program.at(place).reads))
        added = f"adds the contribution of {rank_names(twice)} to chunk {one[0]} twice"
        raise program.fail(place, f"{added} (it reads {slots})")
    return one[0], PartialSum(one[1]) | other[1]


def rank_names(mask: int) -> str:
    """The ranks of a bit mask in errors: ``ranks 0, 2``."""
    ranks = [rank for rank in range(mask.bit_length()) if mask >> rank & 1]
    return f"rank{'s' if len(ranks) != 1 else ''} {few(ranks)}" if ranks else "no rank"
