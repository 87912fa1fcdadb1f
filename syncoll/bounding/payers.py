"""One node for each demand: what bounds speak of where switches copy or add up.

There the sends of a chunk to several nodes may count as one, so that a bound may count those on its
way to one of them only (`certificates.prices`).  Different chunks count apart: each demand may have
another node that it pays for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from syncoll.certificates.classes import DemandList
from syncoll.certificates.prices import PriceCertificate, Share
from syncoll.model import Topology

__all__ = ["Payers", "payers"]


@dataclass(frozen=True)
class Payers:
    """Demands of one node each.

    Args:
        demands: with the node that is paid for as the only destination.
        numbers: for each of them those of the demands that it stands for.
    """

    demands: DemandList
    numbers: tuple[tuple[int, ...], ...]

    def of_all(self, found: PriceCertificate) -> PriceCertificate:
        """A certificate about these demands as one about those that they stand for."""
        return replace(
            found,
            shares=tuple(
                Share(
                    share.destination,
                    tuple(sorted(k for one in share.demands for k in self.numbers[one])),
                    share.prices,
                )
                for share in found.shares
            ),
        )


def payers(topology: Topology, demands: DemandList) -> Iterator[Payers]:
    """For each destination the demands of it, beside each other one at the node that is farthest
    from where it starts; what comes to the same only once."""
    triples = list(demands.triples())
    farthest = [
        max(ends, key=lambda node: (topology.distances[list(starts), node].min(), -node))
        for starts, ends, _ in triples
    ]
    seen = set()
    for node in sorted({node for _, ends, _ in triples for node in ends}):
        paid = tuple(
            node if node in ends else far
            for (_, ends, _), far in zip(triples, farthest, strict=True)
        )
        if paid not in seen:
            seen.add(paid)
            yield _paying(demands, paid)


def _paying(demands: DemandList, paid: tuple[int, ...]) -> Payers:
    triples = list(demands.triples())
    one = DemandList.of_parts(
        (starts, (node,), count) for (starts, _, count), node in zip(triples, paid, strict=True)
    )
    place = {(starts, ends): k for k, (starts, ends, _) in enumerate(one.triples())}
    numbers: list[list[int]] = [[] for _ in range(len(one))]
    for k, ((starts, _, _), node) in enumerate(zip(triples, paid, strict=True)):
        numbers[place[starts, (node,)]].append(k)
    return Payers(one, tuple(map(tuple, numbers)))
