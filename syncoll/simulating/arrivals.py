"""The order in which data arrives, for nodes whose thread blocks do not wait for each other.

Exports have one order of all sends of a node.  Where a thread block serves each connection, a send
whose data comes late does not hold up those behind it: a lane takes sends in the order in which
their data would arrive if bytes took no time.
"""

from dataclasses import replace

import numpy as np

from syncoll.arrays import Floats
from syncoll.model import ranges
from syncoll.simulating.semantics import Semantics
from syncoll.simulating.workload import Workload

_FINEST = 1e15
"""Parts of a second: arrivals within one of them are simultaneous."""


def by_arrival(work: Workload, semantics: Semantics) -> Workload:
    """The same sends, ordered by the arrival of their data, then by their steps."""
    when = np.column_stack([np.round(_ready(work, semantics) * _FINEST), work.sends[:, 3]])
    order = np.lexsort((when[:, 1], when[:, 0]))
    place = np.argsort(order)
    new = (when[order[1:]] != when[order[:-1]]).any(axis=1)
    counts = np.diff(work.first_need)[order]
    needs = work.needs[ranges(work.first_need[order], counts)]
    return replace(
        work,
        sends=work.sends[order],
        links=work.links[order],
        connections=work.connections[order],
        first_step=np.concatenate([[0], np.flatnonzero(new) + 1, [len(work)]]),
        first_need=np.concatenate([[0], np.cumsum(counts)]),
        needs=place[needs],
        adds=work.adds[order],
        together=None if work.together is None else work.together[:, order],
        begins=work.begins[order],
    )


def _ready(work: Workload, semantics: Semantics) -> Floats:
    """``[M]``: seconds at which the data of each send is there, if bytes took no time."""
    latencies = np.array([float(one) for one in work.network.link_latencies])
    takes = latencies[work.links] + float(semantics.summing) * work.adds
    takes += float(semantics.message) * work.begins
    starts = semantics.starts(work.network.topology.num_nodes)
    ready = np.array([float(one) for one in starts])[work.sends[:, 1]]
    there = np.empty(len(work))
    for low, high in zip(work.first_step[:-1].tolist(), work.first_step[1:].tolist(), strict=True):
        first = work.first_need[low : high + 1]
        some = low + np.flatnonzero(np.diff(first))
        if len(some):
            came = there[work.needs[first[0] : first[-1]]]
            latest = np.maximum.reduceat(came, work.first_need[some] - first[0])
            ready[some] = np.maximum(ready[some], latest)
        for group in () if work.together is None else work.together[:, low:high]:
            # Sends that pass as one wait for each other.
            _, which = np.unique(group, return_inverse=True)
            last = np.zeros(high - low)
            np.maximum.at(last, which, ready[low:high])
            ready[low:high] = last[which]
        there[low:high] = ready[low:high] + takes[low:high]
    return ready
