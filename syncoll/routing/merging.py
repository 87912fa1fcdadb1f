"""Parallel switches become one, without changing the capacity of the network.

Two switches with links to the same neighbours, in the same proportions, may share their traffic in
those proportions: then neither is full before the other, so together they carry exactly as much as
one switch with the sum of their bandwidths.  The roots of a fat tree become a single root.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from math import prod

from syncoll.model.fabric import Fabric, FabricLink

Share = tuple[int, Fraction]


@dataclass(frozen=True, eq=False)
class Merged:
    """A fabric whose parallel switches were merged.

    Args:
        fabric: with the original vertices; a switch that was merged into another one has no links.
        members: for each merged switch its originals, each with its share of the traffic.
    """

    fabric: Fabric
    members: Mapping[int, tuple[Share, ...]]

    def expand(self, path: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], Fraction]]:
        """The paths of the original fabric that a path stands for, with shares that add up to 1."""
        every = (self.members.get(vertex, ((vertex, Fraction(1)),)) for vertex in path)
        for chosen in product(*every):
            yield (
                tuple(member for member, _ in chosen),
                prod((x for _, x in chosen), start=Fraction(1)),
            )


def merge_switches(fabric: Fabric) -> Merged:
    """Merges parallel switches until no two are parallel any more."""
    bandwidths = dict(fabric.bandwidths)
    labels = {(x.source, x.destination): x.label for x in fabric.links}
    members: dict[int, tuple[Share, ...]] = {}
    while alike := _parallel(fabric, bandwidths):
        for group in alike:
            first = group[0][0]
            total = sum((weight for _, weight in group), Fraction(0))
            members[first] = tuple(
                (member, part * weight / total)
                for switch, weight in group
                for member, part in members.pop(switch, ((switch, Fraction(1)),))
            )
            stands = {switch: first for switch, _ in group}
            summed: dict[tuple[int, int], Fraction] = defaultdict(Fraction)
            for (u, v), bandwidth in bandwidths.items():
                summed[stands.get(u, u), stands.get(v, v)] += bandwidth
            bandwidths = dict(summed)
    if not members:
        return Merged(fabric, {})
    links = tuple(
        FabricLink(u, v, b, "" if u in members or v in members else labels[u, v])
        for (u, v), b in sorted(bandwidths.items())
    )
    return Merged(replace(fabric, links=links), members)


def _parallel(
    fabric: Fabric, bandwidths: Mapping[tuple[int, int], Fraction]
) -> list[list[tuple[int, Fraction]]]:
    """Groups of two parallel switches or more, each with all bandwidth at it."""
    ports: dict[int, dict[tuple[int, bool], Fraction]] = defaultdict(dict)
    for (u, v), bandwidth in bandwidths.items():
        ports[u][v, True] = bandwidth
        ports[v][u, False] = bandwidth
    groups: dict[object, list[tuple[int, Fraction]]] = defaultdict(list)
    for switch in range(fabric.num_nodes, fabric.num_vertices):
        mine = ports.get(switch)
        if mine:
            total = sum(mine.values(), Fraction(0))
            does = switch in fabric.multicast, switch in fabric.reduce
            key = does, frozenset((port, bandwidth / total) for port, bandwidth in mine.items())
            groups[key].append((switch, total))
    return [group for group in groups.values() if len(group) > 1]
