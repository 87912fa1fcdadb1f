"""OwnSpecification: the promise of a collective for which runtimes have no name.

A name would imply the places of the data in the buffers.  Without one, the chunk at each place of
each rank's buffers is given.  Exports of syncoll all have the same order: the input of a rank holds
the chunks that start there, its output those that must end there, both in the order of their
numbers, and a rank without any passes room for one, which stays untouched.  MPI runs lay out their
buffers the same way (`syncoll.runtime.layout`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from syncoll.arrays import BoolArray
from syncoll.errors import VerificationError
from syncoll.model import Instance
from syncoll.wording import counted
from syncoll_threadblocks.contents import Value
from syncoll_threadblocks.specification import require_alike

__all__ = ["OwnSpecification"]

Places = tuple[tuple[int, ...], ...]
"""Of each rank, the chunks that lie in a buffer, one after the other."""


@dataclass(frozen=True)
class OwnSpecification:
    """A collective by its chunks.

    Args:
        collective: its name, for messages.
        combining: whether a chunk that starts at several ranks is to be reduced; otherwise all of
            them have the same data.
        inputs: the chunks in each rank's input.
        outputs: the chunks in each rank's output.
        pieces: the number of places, side by side, of each chunk.
    """

    collective: str
    combining: bool
    inputs: Places
    outputs: Places
    pieces: int = 1

    @staticmethod
    def of_instance(instance: Instance) -> OwnSpecification:
        """The demands of an instance, its chunks in the order of their numbers."""
        return OwnSpecification(
            instance.collective,
            instance.combining,
            _in_order(instance.pre),
            _in_order(instance.post),
        )

    @property
    def num_ranks(self) -> int:
        """P."""
        return len(self.inputs)

    @property
    def num_chunks(self) -> int:
        """Chunks in all, as far as buffers hold them."""
        every = (chunk for places in (self.inputs, self.outputs) for one in places for chunk in one)
        return max(every, default=-1) + 1

    def inputs_of(self, rank: int) -> int:
        """Places of a rank's input."""
        return max(1, len(self.inputs[rank])) * self.pieces

    def outputs_of(self, rank: int) -> int:
        """Places of a rank's output."""
        return max(1, len(self.outputs[rank])) * self.pieces

    def has_output(self, rank: int) -> bool:
        """Whether anything must end at a rank."""
        return bool(self.outputs[rank])

    def in_pieces(self, times: int) -> OwnSpecification:
        """The same with each chunk cut into several, numbered side by side."""

        def each(places: Places) -> Places:
            return tuple(tuple(c * times + i for c in one for i in range(times)) for one in places)

        return replace(self, inputs=each(self.inputs), outputs=each(self.outputs))

    def cut(self, pieces: int) -> OwnSpecification:
        """The same with each place cut into several."""
        return replace(self, pieces=self.pieces * pieces)

    def initial(self, rank: int, index: int) -> Value | None:
        """The value of a place of the input; None without an input."""
        place, piece = divmod(index, self.pieces)
        if place >= len(self.inputs[rank]):
            return None
        chunk = self.inputs[rank][place]
        mask = 1 << rank if self.combining else self._whole[chunk]
        return chunk * self.pieces + piece, mask

    def wanted(self, rank: int, index: int) -> Value | None:
        """The final value of a place of the output; None without a promise."""
        place, piece = divmod(index, self.pieces)
        if place >= len(self.outputs[rank]):
            return None
        chunk = self.outputs[rank][place]
        return chunk * self.pieces + piece, self._whole.get(chunk, 0)

    @cached_property
    def _whole(self) -> dict[int, int]:
        """Of each chunk all contributions, as bits; one of them if all are the same data."""
        found: dict[int, int] = {}
        for rank, chunks in enumerate(self.inputs):
            for chunk in chunks:
                mask = found.get(chunk, 0)
                found[chunk] = mask | 1 << rank if self.combining else mask or 1 << rank
        return found

    def require_same(self, instance: Instance) -> None:
        """Passes if an instance asks for this, each of its chunks perhaps cut into several.

        Raises:
            VerificationError: if it asks for something else.
        """
        require_alike(self, instance, "the file")
        asked = OwnSpecification.of_instance(instance)
        places = sum(map(len, asked.inputs))
        asked = asked.in_pieces(max(1, sum(map(len, self.inputs)) // max(1, places)))
        for buffer, given, wanted in (
            ("input", self.inputs, asked.inputs),
            ("output", self.outputs, asked.outputs),
        ):
            for rank in range(self.num_ranks):
                if given[rank] != wanted[rank]:
                    has, needs = _chunks(given[rank]), _chunks(wanted[rank])
                    raise VerificationError(
                        f"in the file the {buffer} of rank {rank} holds {has}, and collective "
                        f"{instance.collective} asks for {needs} there"
                    )


def _in_order(relation: BoolArray) -> Places:
    return tuple(tuple(np.flatnonzero(column).tolist()) for column in relation.T)


def _chunks(numbers: tuple[int, ...]) -> str:
    if not numbers:
        return "no chunk"
    shown = ", ".join(map(str, numbers[:8])) + (", …" if len(numbers) > 8 else "")
    return f"{counted(len(numbers), 'chunk')} ({shown})"
