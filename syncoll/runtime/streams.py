"""Streams: chunks that take the same way, as one.

Most algorithms move many chunks along few trees.  Chunks that start and end at the same nodes are
interchangeable; if their sends are equal too, an exporter may move all of them by one message.  The
chunks of one start and end are a *block*; a runtime that cuts a block's data in its own way needs
only the streams of the block and their shares.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from syncoll.arrays import Ints
from syncoll.model import Algorithm, Instance, ranges
from syncoll.plugins import ExportRequest
from syncoll.runtime.layout import Kind, Layout, StandardCollective, kind_of, layout_of


@dataclass(frozen=True, eq=False)
class Streams:
    """An algorithm with one chunk for each stream.

    Args:
        collective: of the algorithm with all its chunks.
        whole: the request for the algorithm with all its chunks.
        request: the algorithm of streams; its instance has one chunk for each.
        sizes: ``[T]``, chunks of each stream; of streams of one block only their ratios matter.
        blocks: ``[T]``, ascending, the block of each stream.  In a custom collective, where the
            place of each chunk matters, a stream is a run of chunks, and a block of its own.
    """

    collective: StandardCollective
    whole: ExportRequest
    request: ExportRequest
    sizes: Ints
    blocks: Ints

    @property
    def layout(self) -> Layout:
        """The places of streams, in the order of the collective's blocks."""
        request = self.request
        return layout_of(request.instance, in_place=request.in_place, collective=self.collective)

    def repeated(self, times: Sequence[int] | Ints) -> "Streams":
        """The same with each stream several times, or, with 0, left out."""
        counts = np.asarray(times, dtype=np.int64)
        first = np.cumsum(counts) - counts
        instance, algorithm = self.request.instance, self.request.algorithm
        sends = algorithm.sends
        rows = np.repeat(np.arange(len(sends)), counts[sends[:, 0]])
        copied = sends[rows]
        copied[:, 0] = ranges(first[sends[:, 0]], counts[sends[:, 0]])
        carried = algorithm.contributions
        kept = np.repeat(np.arange(len(counts)), counts)
        longest = max(1, int(counts.max()))  # links have room for all
        rounds = tuple(longest * one for one in algorithm.rounds_per_step)
        more = longest * instance.rounds
        asked = replace(instance, rounds=more, pre=instance.pre[kept], post=instance.post[kept])
        moved = Algorithm(rounds, copied, None if carried is None else carried[rows])
        request = replace(self.request, instance=asked, algorithm=moved)
        return replace(self, request=request, sizes=self.sizes[kept], blocks=self.blocks[kept])


def streams_of(request: ExportRequest, *, apart: bool = False) -> Streams:
    """The streams of an algorithm, sorted by block and way; `apart` makes each chunk a stream."""
    instance, algorithm = request.instance, request.algorithm
    collective = kind_of(instance)
    ends = [a.tobytes() + b.tobytes() for a, b in zip(instance.pre, instance.post, strict=True)]
    ways = _ways(instance, algorithm)
    numbers = range(instance.num_chunks)
    groups: list[list[int]] = []
    if collective.kind is Kind.CUSTOM:
        for chunk in numbers:
            before = groups[-1][-1] if groups else -1
            alike = before >= 0 and (ends[chunk], ways[chunk]) == (ends[before], ways[before])
            if alike and not apart:
                groups[-1].append(chunk)
            else:
                groups.append([chunk])
        blocks = list(range(len(groups)))
    else:
        order: dict[bytes, int] = {}
        for chunk in numbers:
            order.setdefault(ends[chunk], len(order))
        found: dict[tuple[int, bytes, int], list[int]] = {}
        for chunk in numbers:
            key = order[ends[chunk]], ways[chunk], chunk if apart else 0
            found.setdefault(key, []).append(chunk)
        keys = sorted(found)
        groups, blocks = [found[key] for key in keys], [key[0] for key in keys]
    chosen = [group[0] for group in groups]
    number = np.full(instance.num_chunks, -1)
    number[chosen] = np.arange(len(chosen))
    rows = number[algorithm.sends[:, 0]] >= 0
    sends = algorithm.sends[rows]
    sends[:, 0] = number[sends[:, 0]]
    carried = algorithm.contributions
    asked = replace(instance, pre=instance.pre[chosen], post=instance.post[chosen])
    carried = None if carried is None else carried[rows]
    moved = Algorithm(algorithm.rounds_per_step, sends, carried)
    sizes = np.array([len(group) for group in groups], dtype=np.int64)
    few = replace(request, instance=asked, algorithm=moved)
    return Streams(collective, request, few, sizes, np.array(blocks, dtype=np.int64))


def _ways(instance: Instance, algorithm: Algorithm) -> list[bytes]:
    """The sends of each chunk, as bytes that are equal if they are."""
    chunk, source, destination, step = algorithm.sends.T
    nodes = instance.topology.num_nodes
    carried = np.zeros(len(chunk), dtype=np.int64)
    if algorithm.contributions is not None:
        packed = np.packbits(algorithm.contributions, axis=1)
        carried = np.unique(packed, axis=0, return_inverse=True)[1].reshape(-1)
    sent = (step * nodes + source) * nodes + destination
    order = np.lexsort((carried, sent, chunk))
    rows = np.column_stack((sent, carried))[order].astype(">i8")
    starts = np.searchsorted(chunk[order], np.arange(instance.num_chunks + 1)).tolist()
    return [rows[a:b].tobytes() for a, b in pairwise(starts)]
