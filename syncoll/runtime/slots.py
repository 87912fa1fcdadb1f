"""The storage of every value of a rank.

The final result of a chunk goes to its output slot if that is free from the moment of computation;
otherwise to scratch, with a copy as soon as the slot is free.  Any other value first tries the
chunk's output slot too, then, if it is a reduction, the slot of a part that is no longer used, then
scratch.  The input is only written if it is output as well, in place.

Times are ``(step, phase, number)``; a value occupies a slot from its write to its last read.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from syncoll.runtime.layout import Buffer, Layout, Slot
from syncoll.runtime.values import Value

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


class Storage:
    """The places of a rank's values: slots by number of value, copies, and the slots of scratch.
    With zero copy the sender writes received data: its slot must be free before the step."""

    def __init__(self, rank: int, layout: Layout, *, zero_copy: bool) -> None:
        self.slots: dict[int, Slot] = {}
        self.copies: list[tuple[Moment, Value, Slot, Slot]] = []
        self.scratch = 0
        self._rank, self._layout, self._zero_copy = rank, layout, zero_copy
        self._taken: defaultdict[Slot, list[tuple[Moment, Moment]]] = defaultdict(list)

    def store(self, lifetimes: Sequence[Lifetime]) -> None:
        """Assigns slots to the values of the rank, given in order of their creation."""
        for life in lifetimes:
            value = life.value
            if value.parts or value.sent is not None:
                continue
            slot = self._layout.input_slot(value.chunk, self._rank)
            assert slot is not None
            self.slots[value.number] = slot
            # It stays there, where no other value may be written.
            there = self._layout.output_slot(value.chunk, self._rank) == slot
            written = there and life.final is not None
            self._taken[slot].append((START, END if written else life.last))
        late: list[Lifetime] = []
        for life in lifetimes:
            number, made = life.value.number, life.made
            if life.final is None or self.slots.get(number) == life.final:
                continue
            if number in self.slots:  # out of place: from the input
                made = (0, COPY, number)
                self._copy(life, made)
            elif self._is_free(life.final, made, END):
                self.slots[number] = life.final
            else:
                late.append(life)
                continue
            self._taken[life.final].append((made, END))
        for life in late:
            assert life.final is not None
            last_use = max((end for _, end in self._taken[life.final]), default=START)
            moment: Moment = (max(life.made[0], last_use[0]), COPY, life.value.number)
            life.reads.append(moment)
            self._taken[life.final].append((moment, END))
        for life in lifetimes:
            if life.value.number not in self.slots:
                slot = self.slots[life.value.number] = self._choose(life)
                self._taken[slot].append((life.made, life.last))
        for life in late:
            self._copy(life, life.reads[-1])

    def _copy(self, life: Lifetime, moment: Moment) -> None:
        assert life.final is not None
        self.copies.append((moment, life.value, self.slots[life.value.number], life.final))

    def _choose(self, life: Lifetime) -> Slot:
        home = self._layout.output_slot(life.value.chunk, self._rank)
        if home is not None and self._is_free(home, life.made, life.last):
            return home
        for part in life.value.parts:
            slot = self.slots[part.number]
            if slot.buffer is Buffer.SCRATCH and self._is_free(slot, life.made, life.last):
                return slot
        self.scratch += 1
        return Slot(Buffer.SCRATCH, self.scratch - 1)

    def _is_free(self, slot: Slot, start: Moment, end: Moment) -> bool:
        return all(
            self._follows(end, other_start) or self._follows(other_end, start)
            for other_start, other_end in self._taken[slot]
        )

    def _follows(self, last: Moment, write: Moment) -> bool:
        """Whether a use is over when another one begins with a write."""
        if self._zero_copy and write[1] == RECEIVE:
            return last[0] < write[0]
        return last <= write
