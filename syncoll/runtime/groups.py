"""The part of an algorithm within one group of nodes, as an export for these nodes alone.

Some runtimes choose a file by the name and size of an ordinary call.  They cannot express an
allreduce within groups: an allreduce of all ranks would silently give each group's result.  But
users have a communicator for each group, and call an allreduce there.  If no node outside the group
relays, the sends within the group are an algorithm for that call.
"""

from dataclasses import replace

import numpy as np

from syncoll.errors import ExportError, ModelError
from syncoll.model import Algorithm, Instance
from syncoll.model.groups import chunks_of, group_of, instance_within, listed
from syncoll.plugins import ExportRequest
from syncoll.plugins.exporters import UNLIMITED
from syncoll.runtime.layout import Kind, kind_of


def request_within(request: ExportRequest, number: int) -> ExportRequest:
    """The part of a request for one group; sizes become sizes of the group's messages.  Raises
    ExportError if there is no such group, or another node relays one of its chunks."""
    instance = request.instance
    try:
        nodes = group_of(instance, number)
    except ModelError as error:
        raise ExportError(str(error)) from error
    algorithm = request.algorithm
    own = np.zeros(instance.num_chunks, dtype=bool)
    own[chunks_of(instance, nodes)] = True
    mine = own[algorithm.sends[:, 0]]
    sends = algorithm.sends[mine]
    outside = ~np.isin(sends[:, 1:3], nodes)
    if outside.any():
        place = int(outside.any(axis=1).argmax())
        relay = int(sends[place, 1 + int(outside[place].argmax())])
        raise ExportError(
            f"node {relay} relays chunk {int(sends[place, 0])} of group {number} "
            f"({listed(nodes)}) and is not in it, so a communicator of the group cannot run "
            "it; take an algorithm in which no other node relays, or export the whole "
            "(--to mscclpp)"
        )
    numbers = np.full(instance.topology.num_nodes, -1)
    numbers[list(nodes)] = np.arange(len(nodes))
    sends = np.column_stack(
        [np.cumsum(own)[sends[:, 0]] - 1, numbers[sends[:, 1:3]], sends[:, 3]]
    ).astype(np.int64)
    carried = algorithm.contributions
    if carried is not None:
        carried = carried[mine][:, list(nodes)]
    part = instance_within(instance, number)
    ratio = _message_chunks(part), _message_chunks(instance)
    most = request.max_bytes
    return replace(
        request,
        name=f"group{number}-{request.name}",
        instance=part,
        algorithm=Algorithm(algorithm.rounds_per_step, sends, carried),
        min_bytes=-(-request.min_bytes * ratio[0] // ratio[1]),
        max_bytes=most if most >= UNLIMITED else most * ratio[0] // ratio[1],
    )


def _message_chunks(instance: Instance) -> int:
    """Chunks of the message that a request's sizes refer to."""
    collective = kind_of(instance)
    if collective.kind is Kind.CUSTOM:
        return int(instance.pre.sum(axis=0).max())
    return collective.loop_chunks
