"""Single failures of a machine, one of each orbit of its symmetries.

Links that an automorphism of the machine and the collective maps to each other fail alike.  In a
network with switches it is an automorphism of the cables; the routes around a cable may still
depend on the numbers of nodes there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from syncoll.damage.damage import Damage, Vertex
from syncoll.damage.damaged import cables_of
from syncoll.model import Collective, Link, RelationTable, Topology
from syncoll.symmetry.orbits import least_of_orbits, vertex_automorphisms_fixing
from syncoll.symmetry.structure import Structure

__all__ = ["FailureKind", "SingleFailure", "single_failures"]


class FailureKind(StrEnum):
    """What fails: a direction of a link, both directions, a node or a switch."""

    LINKS = "links"
    CABLES = "cables"
    NODES = "nodes"
    SWITCHES = "switches"


@dataclass(frozen=True)
class SingleFailure:
    """A possible failure; `images` is the size of its orbit."""

    damage: Damage
    images: int


def single_failures(
    topology: Topology, collective: Collective, kind: FailureKind
) -> list[SingleFailure]:
    """One failure of each orbit, in the order of their numbers; for a regular collective."""
    collective.require_regular()
    fabric, _ = cables_of(topology)
    nodes = topology.num_nodes
    vertices = nodes if fabric is None else fabric.num_vertices
    links: list[Link] = sorted(topology.links if fabric is None else fabric.bandwidths)
    if kind is FailureKind.LINKS:
        things: list[tuple[int, ...]] = list(links)
    elif kind is FailureKind.CABLES:
        things = sorted({(min(link), max(link)) for link in links})
    elif kind is FailureKind.NODES:
        things = [(node,) for node in range(nodes)]
    else:
        things = [(switch,) for switch in range(nodes, vertices)]
    position = {thing: i for i, thing in enumerate(things)}
    maps = []
    rates = {} if fabric is None else fabric.bandwidths
    for images in _automorphisms(topology, collective):
        if any(rates.get((images[a], images[b])) != rate for (a, b), rate in rates.items()):
            continue  # it keeps what routes make of the cables, but not these
        moved = [tuple(images[vertex] for vertex in thing) for thing in things]
        if kind is FailureKind.CABLES:
            moved = [(min(ends), max(ends)) for ends in moved]
        maps.append(np.array([position[thing] for thing in moved], dtype=np.int64))
    label = least_of_orbits(len(things), maps)
    firsts, counts = np.unique(label, return_counts=True)
    return [
        SingleFailure(_damage(things[i], nodes, {*links}, kind), count)
        for i, count in zip(firsts.tolist(), counts.tolist(), strict=True)
    ]


def _damage(
    thing: Sequence[int], nodes: int, links: set[tuple[int, int]], kind: FailureKind
) -> Damage:
    vertices = [_vertex(one, nodes) for one in thing]
    if len(vertices) == 1:
        damage = Damage("", vertex=vertices[0])
    else:
        a, b = thing
        if (a, b) not in links:  # it has one direction
            a, b = b, a
        both = kind is FailureKind.CABLES and (b, a) in links
        damage = Damage("", (_vertex(a, nodes), _vertex(b, nodes)), both)
    return Damage(damage.words, damage.ends, damage.both_ways, damage.vertex)


def _vertex(number: int, nodes: int) -> Vertex:
    return number >= nodes, number - nodes if number >= nodes else number


def _automorphisms(topology: Topology, collective: Collective) -> Iterator[list[int]]:
    """Generators of the automorphisms that preserve B and the collective, with switches."""
    least = collective.least_chunks(topology.num_nodes)
    if least is None:
        return
    table = collective.table_on(topology, least)
    asked = Structure(topology, table)
    # Those that keep roots where they are, not just those among generators of all that do.
    for images in vertex_automorphisms_fixing(topology, _roles(table)):
        if asked.keeps(images[: topology.num_nodes]):
            yield images.tolist()


def _roles(table: RelationTable) -> list[list[int]]:
    """Classes of nodes with the same numbers of chunks of each kind that start and end there."""
    starts, ends, counts = table.kinds
    pre, post = table.starts.sets[starts], table.ends.sets[ends]
    sizes = np.stack([pre.sum(axis=1), post.sum(axis=1), counts], axis=1)
    roles: dict[tuple[tuple[object, ...], ...], list[int]] = {}
    for node in range(table.num_nodes):
        own = np.concatenate([sizes, pre[:, [node]], post[:, [node]]], axis=1)
        roles.setdefault(tuple(sorted(map(tuple, own.tolist()))), []).append(node)
    return list(roles.values())
