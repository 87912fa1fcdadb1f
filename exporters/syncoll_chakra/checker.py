"""Checks traces: reads all ranks' files, plays them together, and follows the data.

Traces of other tools do not state the contents of their messages.  Everything else of them is
checked, and the facts say that the data were not followed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from syncoll.errors import VerificationError
from syncoll.model import Instance
from syncoll.plugins import CheckedExport, OptionValue
from syncoll_chakra.reading import Trace, read_trace
from syncoll_messages import Expected, checked, require_told

__all__ = ["ChakraChecker", "expected_of_traces"]

_NAME = re.compile(r"(?P<prefix>.+)\.(?P<rank>0|[1-9][0-9]{0,8})\.et")


class ChakraChecker:
    """Reads traces as ASTRA-sim's custom collectives would, and plays them."""

    def check(
        self,
        files: Mapping[str, bytes],
        options: Mapping[str, OptionValue],
        instance: Instance | None = None,
    ) -> CheckedExport:
        """See `syncoll.plugins.ExportChecker`; only files that end in ``.et`` count.  Of traces
        without a stated purpose, only the end of all ranks and the receipt of all messages are
        checked.
        """
        traces = _read(files)
        expected = expected_of_traces(traces)
        return checked("Chakra execution traces", traces, expected, instance)


def _read(files: Mapping[str, bytes]) -> list[Trace]:
    """The traces in order of ranks."""
    found: dict[str, dict[int, str]] = {}
    for name in files:
        if not name.endswith(".et"):
            continue
        match = _NAME.fullmatch(name)
        if match is None:
            raise VerificationError(f"{name}: no rank in its name; expected PREFIX.RANK.et")
        found.setdefault(match["prefix"], {})[int(match["rank"])] = name
    if not found:
        raise VerificationError("there are no traces; expected files PREFIX.RANK.et")
    if len(found) > 1:
        raise VerificationError(
            "the folder has traces of several algorithms or workloads: "
            + ", ".join(f"{prefix}.*.et" for prefix in sorted(found))
            + "; expected one"
        )
    ((prefix, names),) = found.items()
    for rank in range(max(names)):
        if rank not in names:
            raise VerificationError(
                f"{prefix}.{rank}.et is missing; there are traces up to rank {max(names)}"
            )
    return [
        read_trace(files[names[rank]], names[rank], rank, len(names)) for rank in range(len(names))
    ]


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
