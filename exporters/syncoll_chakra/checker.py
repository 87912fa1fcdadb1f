"""Checks traces: reads all ranks' files, plays them together, and follows the data.

Traces of other tools do not state the contents of their messages.  Everything else of them is
checked, and the facts say that the data were not followed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from syncoll.errors import VerificationError
from syncoll.model import Instance
from syncoll.plugins import CheckedExport, OptionValue
from syncoll_chakra.expected import expected_of_traces
from syncoll_chakra.reading import Trace, read_trace
from syncoll_messages import play, require_achieved, require_same, summary

__all__ = ["ChakraChecker"]

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
        if instance is not None:
            require_same(traces, expected, instance)
        played = play(traces)
        if expected is not None:
            require_achieved(traces, played, expected)
        return summary("Chakra execution traces", traces, expected)


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
