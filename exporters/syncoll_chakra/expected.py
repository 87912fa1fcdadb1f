"""What traces must bring about: which chunks start and must end where, and what that is called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from syncoll.errors import VerificationError
from syncoll.model import Instance
from syncoll_chakra.reading import Trace

__all__ = ["Expected", "expected_of_instance", "expected_of_traces"]

_MOST_CHUNKS = 1 << 31
CUSTOM = "custom"


@dataclass(frozen=True)
class Expected:
    """What must be done.

    Args:
        combining: whether what starts at several ranks is to be reduced.
        num_chunks: G.
        starts: of each rank, the chunks of which it has data at the start.
        ends: of each rank, those that it must have at the end.
    """

    combining: bool
    num_chunks: int
    starts: tuple[frozenset[int], ...]
    ends: tuple[frozenset[int], ...]

    def contributors(self) -> Counter[int]:
        """Of each chunk, the ranks that start with it, as bits."""
        return _masks(self.starts)

    def name(self) -> str:
        """What runtimes call it; ``custom`` where they have no word for it."""
        starts, ends = self.contributors(), _masks(self.ends)
        named = starts.keys() | ends.keys()
        demands = Counter((starts[chunk], ends[chunk]) for chunk in named)
        if len(named) < self.num_chunks:
            return CUSTOM
        ranks = range(len(self.starts))
        everyone = (1 << len(self.starts)) - 1
        each = [1 << rank for rank in ranks]
        if len(set(demands.values())) > 1:  # all of them treat chunks, or parts, alike
            return CUSTOM
        pairs = set(demands)
        if self.combining:
            if pairs == {(everyone, everyone)}:
                return "allreduce"
            if len(pairs) == 1 and pairs <= {(everyone, one) for one in each}:
                return "reduce"
            return "reducescatter" if pairs == {(everyone, one) for one in each} else CUSTOM
        for one in each:
            if pairs == {(one, everyone)}:
                return "broadcast"
            if pairs == {(one, other) for other in each}:
                return "scatter"
            if pairs == {(other, one) for other in each}:
                return "gather"
        if pairs == {(one, everyone) for one in each}:
            return "allgather"
        return "alltoall" if pairs == {(a, b) for a in each for b in each} else CUSTOM


def _masks(ranks: Sequence[frozenset[int]]) -> Counter[int]:
    masks: Counter[int] = Counter()
    for rank, chunks in enumerate(ranks):
        for chunk in chunks:
            masks[chunk] |= 1 << rank
    return masks


def expected_of_instance(instance: Instance) -> Expected:
    """What an instance asks for."""
    starts, ends = (
        tuple(frozenset(np.flatnonzero(column).tolist()) for column in array.T)
        for array in (instance.pre, instance.post)
    )
    return Expected(instance.combining, instance.num_chunks, starts, ends)


def expected_of_traces(traces: Sequence[Trace]) -> Expected | None:
    """What the files say of themselves; None where none of them says anything.

    Raises:
        VerificationError: when only some of them do, when they contradict one another, or when
            they call it by a wrong name.
    """
    telling = [trace for trace in traces if "syncoll_chunks" in trace.metadata]
    if not telling:
        return None
    if len(telling) < len(traces):
        silent = next(trace for trace in traces if trace not in telling)
        raise VerificationError(
            f"{silent.where}: it does not say what its rank starts and ends with, and "
            f"{telling[0].where} does"
        )
    claims, starts, ends = set(), [], []
    for trace in traces:
        metadata = trace.metadata
        chunks = metadata.integer("syncoll_chunks", low=1, high=_MOST_CHUNKS)
        claims.add(
            (metadata.text("syncoll_collective"), metadata.boolean("syncoll_combining"), chunks)
        )
        for name, value in (("syncoll_ranks", len(traces)), ("syncoll_rank", trace.rank)):
            if (told := metadata.integer(name, low=0, high=1 << 31)) != value:
                raise VerificationError(
                    f"{trace.where}: its metadata has {name} {told}; by the files it is {value}"
                )
        starts.append(frozenset(metadata.integers("syncoll_starts", below=chunks)))
        ends.append(frozenset(metadata.integers("syncoll_ends", below=chunks)))
    if len(claims) > 1:
        raise VerificationError(
            f"the files of one folder are for different collectives: {sorted(claims)}"
        )
    ((name, combining, chunks),) = claims
    expected = Expected(combining, chunks, tuple(starts), tuple(ends))
    if name != expected.name():
        raise VerificationError(
            f"{traces[0].where}: it says that it is {name}, but by what starts and ends where it "
            f"is {expected.name()}"
        )
    return expected
