"""The specification of a collective, place by place of the ranks' buffers.

A collective is given by the chunks in each rank's input and output, one after the other.  Exports
of collectives without a standard name order chunks by their numbers; a rank without chunks passes a
buffer of one, which stays untouched.  MPI runs lay out their buffers the same way
(`syncoll.runtime.layout`).

The name of a standard collective implies the places.  Rank r's input and output are cut into
chunks; k, the *share*, counts the chunks of one rank's part.

| collective    | input of rank r  | output of rank r | final slot j of rank r's output  |
|---------------|------------------|------------------|----------------------------------|
| allreduce     | k                | k                | the sum of all ranks' i[j]       |
| allgather     | k                | P k              | i[j mod k] of rank j div k       |
| reducescatter | P k              | k                | the sum of all ranks' i[r k + j] |
| alltoall      | P k              | P k              | i[r k + j mod k] of rank j div k |
| broadcast     | k, at the root   | k                | the root's i[j]                  |
| reduce        | k                | k, at the root   | the sum of all ranks' i[j]       |
| gather        | k                | P k, at the root | i[j mod k] of rank j div k       |
| scatter       | P k, at the root | k                | the root's i[r k + j]            |

In place the smaller of the two buffers is rank r's part of the larger one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from syncoll.arrays import Bools
from syncoll.errors import VerificationError
from syncoll.model import Instance
from syncoll.wording import counted, few
from syncoll_threadblocks.contents import Value, rank_names

_ENDS = {
    "allreduce": ("all", "all"),
    "allgather": ("each", "all"),
    "reducescatter": ("all", "each"),
    "alltoall": ("each", "each"),
    "broadcast": ("root", "all"),
    "reduce": ("all", "root"),
    "gather": ("each", "root"),
    "scatter": ("root", "each"),
}
"""Starts and ends of chunks: at all ranks, reduced; each at one rank; or at the root."""

STANDARD = tuple(_ENDS)

Places = tuple[Sequence[int], ...]
"""The chunks in each rank's buffer, one after the other."""

Demands = Counter[tuple[int, int]]
"""The number of chunks by the ranks where they start and must end, as bit masks."""


def masks_of(ranks: Iterable[Iterable[int]]) -> Counter[int]:
    """The ranks that have each chunk, as bit masks."""
    masks: Counter[int] = Counter()
    for rank, chunks in enumerate(ranks):
        for chunk in chunks:
            masks[chunk] |= 1 << rank
    return masks


@dataclass(frozen=True)
class OwnSpecification:
    """A collective by its chunks.

    Args:
        combining: whether a chunk that starts at several ranks is reduced; otherwise all of them
            have the same data.
        pieces: the number of consecutive places of each chunk.
        root: the special rank of a rooted collective; None without one, or if it is unknown.
    """

    collective: str
    combining: bool
    inputs: Places
    outputs: Places
    pieces: int = 1
    root: int | None = None
    rooted: bool = False

    @staticmethod
    def of_instance(instance: Instance) -> OwnSpecification:
        """The demands of an instance, its chunks in the order of their numbers."""
        inputs, outputs = _in_order(instance.pre), _in_order(instance.post)
        return OwnSpecification(instance.collective, instance.combining, inputs, outputs)

    @property
    def num_ranks(self) -> int:
        """P."""
        return len(self.inputs)

    @property
    def num_chunks(self) -> int:
        """The number of chunks in the buffers."""
        every = (chunk for places in (self.inputs, self.outputs) for one in places for chunk in one)
        return max(every, default=-1) + 1

    def inputs_of(self, rank: int) -> int:
        """Places of a rank's input."""
        return max(1, len(self.inputs[rank])) * self.pieces

    def outputs_of(self, rank: int) -> int:
        """Places of a rank's output."""
        return max(1, len(self.outputs[rank])) * self.pieces

    def in_pieces(self, times: int) -> OwnSpecification:
        """The same with each chunk cut into several, numbered consecutively."""

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
        """The required value of a place of the output; None if it is free."""
        place, piece = divmod(index, self.pieces)
        if place >= len(self.outputs[rank]):
            return None
        chunk = self.outputs[rank][place]
        return chunk * self.pieces + piece, self._whole[chunk]

    @cached_property
    def _whole(self) -> Counter[int]:
        """All contributions of each chunk, as bits; one of them if all are the same data."""
        masks = masks_of(self.inputs)
        return masks if self.combining else Counter({c: m & -m for c, m in masks.items()})

    def demands(self) -> Demands:
        """The demands on its chunks."""
        starts, ends = masks_of(self.inputs), masks_of(self.outputs)
        found = Counter((starts[chunk], ends[chunk]) for chunk in {*starts, *ends})
        return Counter({key: number * self.pieces for key, number in found.items()})

    def require_same(self, instance: Instance, *, any_cut: bool = False) -> None:
        """Checks that an instance is the same, up to chunks that are cut into several.  Raises
        `VerificationError` if it differs."""
        self._require_alike(instance, "the file")
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
                        f"{instance.collective} needs {needs} there"
                    )

    def _require_alike(self, instance: Instance, name: str) -> None:
        """Passes if both have as many ranks, and both reduce or neither."""
        nodes = instance.topology.num_nodes
        if nodes != self.num_ranks:
            raise VerificationError(
                f"the file is for {self.num_ranks} ranks, the instance for {nodes} nodes"
            )
        if instance.combining != self.combining:
            does = ("does not reduce", "reduces")
            raise VerificationError(
                f"{name} {does[self.combining]}, and collective {instance.collective} "
                f"{does[instance.combining]}"
            )


class Specification(OwnSpecification):
    """A standard collective: a chunk for each part, of as many places as the share.

    Args:
        collective: one of `STANDARD`.
        num_ranks: P.
        share: k, see above.
        root: None if the collective has none, or the root is unknown: then every rank's input
            counts as the root's.
    """

    def __init__(self, collective: str, num_ranks: int, share: int, root: int | None = None):
        assert share >= 1
        start, end = _ENDS[collective]
        parts = num_ranks if end == "each" else 1  # of a rank's input
        sources = num_ranks if start == "each" else 1  # of a rank's output
        apart = start == "each" or (start == "root" and root is None)
        inputs, outputs = [], []
        for rank in range(num_ranks):
            special = root in (None, rank)
            first, own = rank * parts if apart else 0, rank if end == "each" else 0
            inputs.append(range(first, first + parts * (special or start != "root")))
            outputs.append(range(own, own + sources * parts * (special or end != "root"), parts))
        where = tuple(inputs), tuple(outputs)
        super().__init__(collective, start == "all", *where, share, root, "root" in (start, end))

    @property
    def input_size(self) -> int:
        """Places of a rank's input."""
        return self.pieces * (self.num_ranks if _ENDS[self.collective][1] == "each" else 1)

    @property
    def output_size(self) -> int:
        """Places of a rank's output."""
        return self.pieces * (self.num_ranks if _ENDS[self.collective][0] == "each" else 1)

    def inputs_of(self, _rank: int) -> int:
        """The same of one rank; all have as many, also those without a part in it."""
        return self.input_size

    def outputs_of(self, _rank: int) -> int:
        """The same of one rank; all have as many, also those without a part in it."""
        return self.output_size

    def cut(self, pieces: int) -> Specification:
        """The same with each place cut into several."""
        return self.of_root(self.root, pieces)

    def of_root(self, root: int | None, pieces: int = 1) -> Specification:
        """The same with another root, and each place cut into several."""
        return Specification(self.collective, self.num_ranks, self.pieces * pieces, root)

    def in_place(self, rank: int) -> tuple[int, int]:
        """Where input and output start in their common buffer, in chunks."""
        if self.input_size < self.output_size:
            return rank * self.pieces, 0
        return 0, rank * self.pieces if self.input_size > self.output_size else 0

    def require_same(self, instance: Instance, *, any_cut: bool = False) -> None:
        """Passes if the collective of an instance is this one.

        Chunks of an instance have no place in a buffer; hence the numbers of chunks that start, and
        must end, at the same nodes must agree.  A file may cut each chunk into several.

        Args:
            any_cut: whether the file cuts the data in its own way, so that only the shares of the
                data that start and end at the same nodes must agree.

        Raises:
            VerificationError: if it is another collective.
        """
        name = self.collective + (f" of root {self.root}" if self.rooted else "")
        self._require_alike(instance, name)
        asked, given = OwnSpecification.of_instance(instance).demands(), self.demands()
        if not self.combining:
            asked, given = _without_idle(asked), _without_idle(given)
        total, cut = (max(1, sum(one.values())) for one in (asked, given))
        needed = _times(asked, max(1, cut // total))
        alike = _times(given, total) == _times(asked, cut) if any_cut else given == needed
        if not alike:
            ends = min(key for key in given | needed if given[key] != needed[key])
            start, end = map(rank_names, ends)
            raise VerificationError(
                f"the file does {name}: {counted(given[ends], 'chunk')} from {start} to {end}; "
                f"collective {instance.collective} needs {needed[ends]}"
            )

    def find_root(self, output: Callable[[int, int], Value | None]) -> int:
        """The root of an executed program, for a rooted collective without root.

        Args:
            output: the value of each place of each rank's output at the end.

        Returns:
            Broadcast, scatter: the rank whose data arrived at most ranks.  Reduce, gather: the rank
                with the largest part of the result.  0 if undetermined.
        """
        ranks = range(self.num_ranks)
        votes: Counter[int] = Counter()
        for rank in ranks:
            if _ENDS[self.collective][1] == "root":
                places = range(self.output_size)
                votes[rank] = sum(output(rank, j) == self.wanted(rank, j) for j in places)
            elif (value := output(rank, 0)) is not None:
                votes[value[0] // self.input_size] += 1
        return max(ranks, key=lambda rank: (votes[rank], -rank))


def _times(demands: Demands, times: int) -> Demands:
    return Counter({key: count * times for key, count in demands.items()})


def _without_idle(demands: Demands) -> Demands:
    """The demands without ends that are starts too, and without chunks that then have no end."""
    found: Demands = Counter()
    for (start, end), count in demands.items():
        if end & ~start:
            found[start, end & ~start] += count
    return found


def _in_order(relation: Bools) -> Places:
    return tuple(tuple(np.flatnonzero(column).tolist()) for column in relation.T)


def _chunks(numbers: Sequence[int]) -> str:
    if not numbers:
        return "no chunk"
    return f"{counted(len(numbers), 'chunk')} ({few(numbers)})"
