"""The storage of every value of a rank.

The final result of a chunk goes to its output slot if that is free from the moment of computation;
otherwise to scratch, with a copy as soon as the slot is free.  Any other value first tries the
chunk's output slot too, then, if it is a reduction, the slot of a part that is no longer used, then
scratch.  The input is only written if it is output as well, in place.

Times are ``(step, phase, number)``; a value occupies a slot from its write to its last read.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from syncoll.runtime.layout import Buffer, Layout, Slot
from syncoll.runtime.values import Value

__all__ = ["COPY", "RECEIVE", "REDUCE", "SEND", "Lifetime", "Moment", "Storage", "store"]

SEND, RECEIVE, REDUCE, COPY = range(4)
"""The phases of a step."""

Moment = tuple[float, int, int]
"""Step, phase, and a number within the phase."""

START: Moment = (-1, 0, 0)
END: Moment = (math.inf, 0, 0)


@dataclass
class Lifetime:
    """A value of a rank: the times of its write and reads, and its final output slot."""

    value: Value
    made: Moment
    reads: list[Moment] = field(default_factory=list)
    final: Slot | None = None

    @property
    def last(self) -> Moment:
        """The time of its last read."""
        return max(self.reads, default=self.made)


@dataclass
class Storage:
    """The places of a rank's values: slots by number of value, copies, and the slots of scratch."""

    slots: dict[int, Slot] = field(default_factory=dict)
    copies: list[tuple[Moment, Value, Slot, Slot]] = field(default_factory=list)
    scratch: int = 0


class _Occupancy:
    """The times at which slots are occupied."""

    def __init__(self, zero_copy: bool) -> None:
        self._zero_copy = zero_copy
        self._taken: dict[Slot, list[tuple[Moment, Moment]]] = {}

    def take(self, slot: Slot, start: Moment, end: Moment) -> None:
        self._taken.setdefault(slot, []).append((start, end))

    def is_free(self, slot: Slot, start: Moment, end: Moment) -> bool:
        return all(
            self._follows(end, other_start) or self._follows(start, other_end, later=True)
            for other_start, other_end in self._taken.get(slot, [])
        )

    def _follows(self, one: Moment, other: Moment, *, later: bool = False) -> bool:
        """Whether one of two uses is over when the other begins with a write."""
        last, write = (other, one) if later else (one, other)
        if self._zero_copy and write[1] == RECEIVE:
            return last[0] < write[0]
        return last <= write

    def last_use(self, slot: Slot) -> Moment:
        return max((end for _, end in self._taken.get(slot, [])), default=START)


def store(rank: int, lifetimes: Sequence[Lifetime], layout: Layout, *, zero_copy: bool) -> Storage:
    """Assigns slots to the values of a rank, given in order of their creation.

    With zero copy the sender writes received data: its slot must be free before the step.
    """
    storage, occupancy = Storage(), _Occupancy(zero_copy)
    for life in lifetimes:
        value = life.value
        if value.parts or value.sent is not None:
            continue
        slot = layout.input_slot(value.chunk, rank)
        assert slot is not None
        storage.slots[value.number] = slot
        # It stays there, where no other value may be written.
        written = layout.output_slot(value.chunk, rank) == slot and life.final is not None
        occupancy.take(slot, START, END if written else life.last)
    late: list[Lifetime] = []
    for life in lifetimes:
        if life.final is None or storage.slots.get(life.value.number) == life.final:
            continue
        if life.value.number in storage.slots:  # out of place: from the input
            moment: Moment = (0, COPY, life.value.number)
            _copy(storage, life, moment)
            occupancy.take(life.final, moment, END)
        elif occupancy.is_free(life.final, life.made, END):
            storage.slots[life.value.number] = life.final
            occupancy.take(life.final, life.made, END)
        else:
            late.append(life)
    for life in late:
        assert life.final is not None
        step = max(life.made[0], occupancy.last_use(life.final)[0])
        late_moment: Moment = (step, COPY, life.value.number)
        life.reads.append(late_moment)
        occupancy.take(life.final, late_moment, END)
    for life in lifetimes:
        if life.value.number not in storage.slots:
            slot = _choose(life, rank, layout, storage, occupancy)
            storage.slots[life.value.number] = slot
            occupancy.take(slot, life.made, life.last)
    for life in late:
        _copy(storage, life, life.reads[-1])
    return storage


def _copy(storage: Storage, life: Lifetime, moment: Moment) -> None:
    assert life.final is not None
    source = storage.slots[life.value.number]
    storage.copies.append((moment, life.value, source, life.final))


def _choose(
    life: Lifetime, rank: int, layout: Layout, storage: Storage, occupancy: _Occupancy
) -> Slot:
    value = life.value
    home = layout.output_slot(value.chunk, rank)
    if home is not None and occupancy.is_free(home, life.made, life.last):
        return home
    for part in value.parts:
        slot = storage.slots[part.number]
        if slot.buffer is Buffer.SCRATCH and occupancy.is_free(slot, life.made, life.last):
            return slot
    storage.scratch += 1
    return Slot(Buffer.SCRATCH, storage.scratch - 1)
