"""Checks traces: reads all ranks' files, plays them together, and follows the data.

Traces of other tools do not say what their messages carry.  Of these everything else is checked,
and the facts say that the data were not followed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from syncoll.errors import UncheckedError, VerificationError
from syncoll.model import Instance
from syncoll.plugins import CheckedExport, OptionValue
from syncoll_chakra.contents import require_achieved
from syncoll_chakra.expected import Expected, expected_of_instance, expected_of_traces
from syncoll_chakra.reading import NodeKind, Trace, read_trace
from syncoll_chakra.simulate import simulate

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
        """Plays the traces of all ranks.

        Args:
            files: ``PREFIX.RANK.et`` for every rank; what does not end in ``.et`` is left aside.
            options: concern only writing.
            instance: what they must do; None for what their metadata say, or, where these say
                nothing, for no more than that all ranks end and all messages are received.

        Raises:
            VerificationError: see `syncoll_chakra.reading`, `syncoll_chakra.simulate` and
                `syncoll_chakra.contents`.
        """
        traces = _read(files)
        expected = expected_of_traces(traces)
        if instance is not None:
            _require_same(traces, expected, instance)
        played = simulate(traces)
        if expected is not None:
            require_achieved(traces, played, expected)
        nodes = [node for trace in traces for node in trace.nodes.values()]
        sends = [node for node in nodes if node.kind is NodeKind.SEND]
        return CheckedExport(
            "Chakra execution traces",
            "not stated" if expected is None else expected.name(),
            len(traces),
            None,
            {
                "messages": len(sends),
                "bytes": sum(node.size for node in sends),
                "computations": sum(len(node.reads) + len(node.inputs) > 1 for node in nodes)
                if expected is not None
                else sum(node.kind is NodeKind.COMPUTE for node in nodes),
                "data": "followed"
                if expected is not None
                else "not followed, as the files do not say "
                "what their messages carry; only that all of them arrive",
            },
            expected is not None,
            links=frozenset(
                (trace.rank, node.peer)
                for trace in traces
                for node in trace.nodes.values()
                if node.kind is NodeKind.SEND and node.peer is not None
            ),
            num_chunks=None if expected is None else expected.num_chunks,
        )


def _read(files: Mapping[str, bytes]) -> list[Trace]:
    """The traces in order of ranks.

    Raises:
        VerificationError: when they are not those of all ranks of one algorithm.
    """
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


def _require_same(traces: Sequence[Trace], expected: Expected | None, instance: Instance) -> None:
    """Passes when the files are about an instance, and use only its links."""
    topology = instance.topology
    if len(traces) != topology.num_nodes:
        raise VerificationError(
            f"there are traces of {len(traces)} ranks; {topology.name} has {topology.num_nodes} "
            "nodes"
        )
    if expected is None:
        raise UncheckedError(
            f"{traces[0].where}: the traces do not say what their messages carry, so that nobody "
            f"can tell whether they do {instance.collective}"
        )
    if expected != expected_of_instance(instance):
        raise VerificationError(
            f"{traces[0].where}: by their metadata the traces are about other chunks, which start "
            f"or end elsewhere than in {instance.collective}"
        )
    links = set(topology.links)
    for trace in traces:
        for node in trace.nodes.values():
            if node.kind is NodeKind.SEND and (trace.rank, node.peer) not in links:
                raise VerificationError(
                    f"{trace.place(node.number)}: {topology.name} has no link from node "
                    f"{trace.rank} to node {node.peer}"
                )
