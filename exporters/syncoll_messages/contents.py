"""Follows the data through played ranks: the contributions in every node's result.

A result is a chunk with the set of ranks whose contributions are in it; plain data has none.  A
send and a computation state what they read; a receive gets what the message's sender read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from syncoll.errors import VerificationError
from syncoll_messages.expected import Expected
from syncoll_messages.graph import NodeKind, RankGraph
from syncoll_messages.play import Place, Played, waits_for
from syncoll_threadblocks import masks_of, rank_names

__all__ = ["require_achieved"]

Content = tuple[int, int]
"""A chunk, and as bits the ranks whose contributions were added up; 0 for plain data."""


def require_achieved(graphs: Sequence[RankGraph], played: Played, expected: Expected) -> None:
    """Passes if the ranks bring about the expected result, whatever the durations.

    Raises:
        VerificationError: on a node that reads missing data, messages that are exchanged by chance,
            contributions that count twice, chunks of two sizes, and missing results.
    """
    _require_told_apart(graphs, played)
    contents: dict[Place, Content | None] = {}
    sizes: dict[int, int] = {}
    for place in played.order:
        graph, number = graphs[place[0]], place[1]
        node = graph.nodes[number]
        if node.kind is NodeKind.RECEIVE:
            if node.reads or node.inputs:
                raise graph.wrong(number, "a receive reads nothing, and this one says it does")
            contents[place] = contents[played.senders[place]]
            continue
        content = contents[place] = _read(graph, number, expected, contents)
        if node.kind is NodeKind.SEND:
            if content is None or len(node.reads) + len(node.inputs) != 1:
                raise graph.wrong(number, "a send reads one thing; expected one")
            if (size := sizes.setdefault(content[0], node.size)) != node.size:
                differ = f"{node.size} bytes here, and {size} elsewhere"
                raise graph.wrong(number, f"chunk {content[0]} has {differ}")
    _require_ends(graphs, expected, contents)


def _require_told_apart(graphs: Sequence[RankGraph], played: Played) -> None:
    """Messages alike in everything are sent, and received, one after the other."""
    for places in played.together.values():
        for group in places:
            for (rank, earlier), (_, later) in pairwise(group):
                if not waits_for(graphs[rank], later, earlier):
                    raise graphs[rank].wrong(
                        later,
                        f"it has the same ranks, tag and size as node {earlier} and does not wait "
                        "for it, so that it is chance which message goes where",
                    )


def _read(
    graph: RankGraph, number: int, expected: Expected, contents: Mapping[Place, Content | None]
) -> Content | None:
    """The content of a send's message, or of a computation's result."""
    rank, node = graph.rank, graph.nodes[number]
    parts: list[Content] = []
    for other in node.reads:
        if other not in node.data_waits and not waits_for(graph, number, other):
            raise graph.wrong(number, f"it reads what node {other} makes without waiting for it")
        part = contents[rank, other]
        if part is None or graph.nodes[other].kind is NodeKind.SEND:
            raise graph.wrong(number, f"it reads what node {other} makes, which makes nothing")
        parts.append(part)
    for chunk in node.inputs:
        if chunk not in expected.starts[rank]:
            own = f"chunk {chunk} of its own data, with which it does not start"
            raise graph.wrong(number, f"it reads {own}")
        parts.append((chunk, 1 << rank if expected.combining else 0))
    if not parts:
        return None
    total, mask = parts[0]
    for chunk, more in parts[1:]:
        if not expected.combining:
            raise graph.wrong(number, "it puts data together, and the collective only moves them")
        if chunk != total:
            raise graph.wrong(number, f"it adds chunk {chunk} to chunk {total}")
        if mask & more:
            ranks = rank_names(mask & more)
            raise graph.wrong(number, f"it adds the contribution of {ranks} twice")
        mask |= more
    return total, mask


def _require_ends(
    graphs: Sequence[RankGraph], expected: Expected, contents: Mapping[Place, Content | None]
) -> None:
    contributors = masks_of(expected.starts)
    found: list[dict[int, int]] = [{} for _ in graphs]
    complete: set[tuple[int, Content]] = {
        (rank, content) for (rank, _), content in contents.items() if content is not None
    }
    for (rank, _), content in contents.items():
        if content is not None:
            best = found[rank].get(content[0], 0)
            found[rank][content[0]] = max(best, content[1], key=int.bit_count)
    for graph in graphs:
        rank = graph.rank
        for chunk in sorted(expected.ends[rank]):
            wanted = contributors[chunk] if expected.combining else 0
            own = (
                (1 << rank if expected.combining else 0) if chunk in expected.starts[rank] else None
            )
            if own == wanted or (rank, (chunk, wanted)) in complete:
                continue
            most = found[rank].get(chunk, own or 0)
            if expected.combining:
                raise VerificationError(
                    f"{graph.where}: rank {rank} never gets the whole result of chunk {chunk}: of "
                    f"what it makes, the most complete lacks the contribution of "
                    f"{rank_names(wanted & ~most)}"
                )
            raise VerificationError(f"{graph.where}: rank {rank} never gets chunk {chunk}")
