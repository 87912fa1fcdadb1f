"""The results of all ranks: the plan's own sums, added chunk by chunk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from syncoll.model import Algorithm, Instance
from syncoll.plugins import ExportRequest
from syncoll.runtime import Action, Kind, Layout, Slot, lower

Data = dict[tuple[int, int], Any]
"""The data of each chunk at each rank, by (chunk, rank)."""


def results(
    instance: Instance, algorithm: Algorithm, inputs: Data, add: Callable[[Any, Any], Any]
) -> Data:
    """The final data of every chunk at every rank of its post."""
    lowered = lower(ExportRequest("x", "x", instance, algorithm))
    held: list[dict[Slot, Any]] = [{} for _ in lowered.ranks]
    for chunk, rank in np.argwhere(instance.pre).tolist():
        slot = lowered.layout.input_slot(chunk, rank)
        assert slot is not None
        held[rank][slot] = inputs[chunk, rank]
    for step in range(-1, lowered.steps):
        sent = {}
        for action in Action:
            for rank in lowered.ranks:
                mine = held[rank.rank]
                for one in rank.operations:
                    if one.step != step or one.action is not action:
                        continue
                    if action is Action.SEND:
                        sent[one.message] = mine[one.sources[0]]
                        continue
                    assert one.target is not None
                    if action is Action.RECEIVE:
                        mine[one.target] = sent[one.message]
                    else:
                        parts = [mine[source] for source in one.sources]
                        mine[one.target] = parts[0] if len(parts) == 1 else add(*parts)
    found: Data = {}
    for chunk, rank in np.argwhere(instance.post).tolist():
        slot = lowered.layout.output_slot(chunk, rank)
        assert slot is not None
        found[chunk, rank] = held[rank][slot]
    return found


def lengths(layout: Layout, total: int) -> list[int]:
    """The elements of each chunk: blocks of `total` elements, and their parts, as array_split."""

    def split(length: int, parts: int) -> list[int]:
        return [len(part) for part in np.array_split(np.empty(length), parts)]

    kind, share, nodes = (
        layout.collective.kind,
        layout.collective.share,
        layout.collective.num_nodes,
    )
    count = len(layout.inputs)
    if kind is Kind.CUSTOM:
        return split(total, count)
    if kind in (Kind.ALLREDUCE, Kind.BROADCAST, Kind.REDUCE):
        places = np.maximum(layout.inputs.max(axis=1), layout.outputs.max(axis=1))
        return [split(total, share)[i] for i in places]
    large = kind in (Kind.REDUCESCATTER, Kind.SCATTER, Kind.ALLTOALL)
    places = (layout.inputs if large else layout.outputs).max(axis=1)
    return [split(split(total, nodes)[i // share], share)[i % share] for i in places]


def joined(layout: Layout, rank: int, data: Data, buffer: Any) -> list[Any]:
    """The chunks of a rank's buffer in their order."""
    return [data[chunk, rank] for chunk in layout.chunks_in(buffer, rank)]
