"""The demands that the metadata of traces state."""

from __future__ import annotations

from collections.abc import Sequence

from syncoll.errors import VerificationError
from syncoll_chakra.reading import Trace
from syncoll_messages import Expected, require_told

__all__ = ["expected_of_traces"]

_MOST_CHUNKS = 1 << 31


def expected_of_traces(traces: Sequence[Trace]) -> Expected | None:
    """The demands that the files state; None if no file states any.

    Raises:
        VerificationError: if only some of them do, they contradict one another, or they give the
            collective a wrong name.
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
        name = metadata.typed("syncoll_collective", str, "text")
        claims.add((name, metadata.typed("syncoll_combining", bool, "boolean"), chunks))
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
    require_told(expected, name, traces[0].where)
    return expected
