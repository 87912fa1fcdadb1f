"""Expected: which chunks start and must end at which ranks, and the name of that collective."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from syncoll.errors import UncheckedError, VerificationError
from syncoll.model import Instance
from syncoll.plugins import CheckedExport
from syncoll_messages.graph import NodeKind, RankGraph
from syncoll_threadblocks import STANDARD, Specification, masks_of

__all__ = ["Expected", "expected_of_instance", "require_same", "require_told", "summary"]

CUSTOM = "custom"


@dataclass(frozen=True)
class Expected:
    """The demands on all ranks.

    Args:
        combining: whether a chunk that starts at several ranks is to be reduced.
        starts: of each rank, the chunks of which it has data at the start.
        ends: of each rank, the chunks that it must have at the end.
    """

    combining: bool
    num_chunks: int
    starts: tuple[frozenset[int], ...]
    ends: tuple[frozenset[int], ...]

    def name(self) -> str:
        """The runtimes' name of the collective; ``custom`` if they have none."""
        starts, ends = masks_of(self.starts), masks_of(self.ends)
        named, ranks = starts.keys() | ends.keys(), len(self.starts)
        demands = Counter((starts[chunk], ends[chunk]) for chunk in named)
        if len(named) < self.num_chunks or ranks == 1 or not demands:
            return CUSTOM
        ((start, end), share), *_ = demands.items()
        for name in STANDARD:
            for root in {max(0, mask.bit_length() - 1) for mask in (start, end)}:
                spec = Specification(name, ranks, share, root)
                if spec.combining == self.combining and demands == spec.demands():
                    return name
        return CUSTOM


def expected_of_instance(instance: Instance) -> Expected:
    """The demands of an instance."""
    starts, ends = (
        tuple(frozenset(np.flatnonzero(column).tolist()) for column in array.T)
        for array in (instance.pre, instance.post)
    )
    return Expected(instance.combining, instance.num_chunks, starts, ends)


def require_told(expected: Expected, name: str, where: str) -> None:
    """Passes if the collective has the name that files give it.

    Raises:
        VerificationError: with its name.
    """
    if name != expected.name():
        raise VerificationError(
            f"{where}: it says that it is {name}, but by what starts and ends where it is "
            f"{expected.name()}"
        )


def require_same(
    graphs: Sequence[RankGraph], expected: Expected | None, instance: Instance
) -> None:
    """Passes if files are about an instance, and use only its links.

    Args:
        expected: the demands that the files state; None without such a statement.

    Raises:
        VerificationError: if they are about something else.
        UncheckedError: if they do not state their demands.
    """
    topology = instance.topology
    if len(graphs) != topology.num_nodes:
        raise VerificationError(
            f"there are {len(graphs)} ranks; {topology.name} has {topology.num_nodes} nodes"
        )
    if expected is None:
        raise UncheckedError(
            f"{graphs[0].where}: it is not said what messages carry, so that nobody can tell "
            f"whether they do {instance.collective}"
        )
    if expected != expected_of_instance(instance):
        raise VerificationError(
            f"{graphs[0].where}: by its own words it is about other chunks, which start or end "
            f"elsewhere than in {instance.collective}"
        )
    links = set(topology.links)
    for graph in graphs:
        for node in graph.nodes.values():
            if node.kind is NodeKind.SEND and (graph.rank, node.peer) not in links:
                missing = f"from node {graph.rank} to node {node.peer}"
                raise graph.wrong(node.number, f"{topology.name} has no link {missing}")


def summary(
    kind: str,
    graphs: Sequence[RankGraph],
    expected: Expected | None,
    more: Mapping[str, int | str] | None = None,
) -> CheckedExport:
    """The facts about ranks that were played, and followed if the files state their demands."""
    nodes = [node for graph in graphs for node in graph.nodes.values()]
    sends = [
        (graph.rank, node)
        for graph in graphs
        for node in graph.nodes.values()
        if node.kind is NodeKind.SEND
    ]
    followed = expected is not None
    facts: dict[str, int | str] = {
        "messages": len(sends),
        "bytes": sum(node.size for _, node in sends),
        "computations": sum(len(node.reads) + len(node.inputs) > 1 for node in nodes)
        if followed
        else sum(node.kind is NodeKind.COMPUTE for node in nodes),
        "data": "followed"
        if followed
        else "not followed, as the files do not say what their messages carry; only that all of "
        "them arrive",
        **(more or {}),
    }
    return CheckedExport(
        kind,
        "not stated" if expected is None else expected.name(),
        len(graphs),
        None,
        facts,
        followed,
        links=frozenset((rank, node.peer) for rank, node in sends),
        num_chunks=None if expected is None else expected.num_chunks,
    )
