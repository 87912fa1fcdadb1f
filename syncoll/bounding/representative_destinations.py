"""One destination for each demand, for bounds on machines whose switches copy or add up.

There the sends of a chunk to several nodes may count as one, so a bound may count only sends on the
way to one of them (`certificates.ways`). Different chunks count separately: each demand may pay for
a different node.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from syncoll.arrays import Ints
from syncoll.certificates.chunk_classes import DemandList
from syncoll.certificates.priced import Priced
from syncoll.certificates.ways import Share, Ways
from syncoll.model import Topology


@dataclass(frozen=True)
class Payers:
    """Demands of one node each.

    Args:
        demands: with the paid node as the only destination.
        numbers: for each of them the positions of the demands that it represents.
    """

    demands: DemandList
    numbers: tuple[tuple[int, ...], ...]

    def of_all(self, found: Priced) -> Priced:
        """A certificate by ways of these demands as one about the original demands."""
        assert isinstance(found.argument, Ways)
        shares = tuple(
            Share(
                share.destination,
                tuple(sorted(k for one in share.demands for k in self.numbers[one])),
                share.prices,
            )
            for share in found.argument.shares
        )
        return replace(found, argument=Ways(shares))


def payers(topology: Topology, demands: DemandList) -> Iterator[Payers]:
    """For each destination the demands of it, and all other demands at their farthest destination;
    without duplicates."""
    needs = np.zeros((len(demands.sets), topology.num_nodes), dtype=bool)
    for row, nodes in zip(needs, demands.sets, strict=True):
        row[list(nodes)] = True
    farthest = demands.second_node.copy()
    for k in np.flatnonzero(farthest < 0).tolist():
        sources = list(demands.sets[demands.first[k]])
        far = topology.distances[sources].min(axis=0)
        farthest[k] = np.where(needs[demands.second[k]], far, -1).argmax()
    seen = set()
    for node in np.flatnonzero(needs[np.unique(demands.second)].any(axis=0)).tolist():
        paid = np.where(needs[demands.second, node], node, farthest)
        if (key := paid.tobytes()) not in seen:
            seen.add(key)
            yield _paying(demands, paid)


def _paying(demands: DemandList, paid: Ints) -> Payers:
    """The demands with one destination each, ``[K]``."""
    nodes, second = np.unique(paid, return_inverse=True)
    sets = [*demands.sets, *((node,) for node in nodes.tolist())]
    one = DemandList.made(
        sets, demands.first, len(demands.sets) + second.reshape(-1), demands.counts
    )
    place = {(starts, ends): k for k, (starts, ends, _) in enumerate(one.triples())}
    numbers: list[list[int]] = [[] for _ in range(len(one))]
    for k, (first, node) in enumerate(zip(demands.first.tolist(), paid.tolist(), strict=True)):
        numbers[place[demands.sets[first], (node,)]].append(k)
    return Payers(one, tuple(map(tuple, numbers)))
