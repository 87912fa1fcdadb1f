"""The symmetry of a topology, alone or with a collective: a large free group of automorphisms.

Also a small group with few orbits of links, which may fix nodes.  It is for chunks without a home,
as in an allreduce: every chunk starts everywhere, so its images under any automorphisms are chunks
of their own.  The group begins with one that acts freely on the nodes.  It grows while elements
merge orbits of links and it stays small, since C is a multiple of its order.
"""

from dataclasses import dataclass

import numpy as np

from syncoll.arrays import Ints
from syncoll.deadline import NEVER, Deadline
from syncoll.model import RelationTable, Topology
from syncoll.symmetry.candidates import (
    automorphism_generators,
    automorphism_graph,
    collective_generators,
    collective_graph,
    digit_shifts,
    free_power,
    products,
)
from syncoll.symmetry.group import FreeGroup, Group
from syncoll.symmetry.orbits import bound_labels, link_orbits
from syncoll.symmetry.structure import Structure

_SECONDS = 5.0
"""Time limit of the search with igraph's generators."""

_SMALL = 1_200
"""Links times nodes up to which importing igraph takes longer than symmetry saves."""

_GROUPS = "free_groups"
"""Where a topology keeps the groups that were found, by whether the search was thorough: seeds and
bounds for every S need the same.  Not in a table of weak references: their callbacks may swallow a
timeout."""

_MOST_CANDIDATES = 60
_TRIES = 200


@dataclass(frozen=True, eq=False)
class Symmetry:
    """The largest free group of automorphisms found, and igraph's figures for all automorphisms.

    Args:
        collective: the name of the one that is preserved too; None for the topology alone.
        group: every element of it but the identity moves every node.
        link_orbit: ``[L]``, the orbit of each link.
        bound_orbit: ``[B]``, the orbit of each bound.
        generators: of all automorphisms of the topology, without mere exchanges of switches; None
            if the graph is too large for igraph.
        kept: number of these generators that preserve the collective.
        automorphisms: number of all, including exchanges of switches; None as above.
        keeping: number of these that preserve the collective; None without one, or if the graph of
            both is too large.
    """

    topology: Topology
    collective: str | None
    group: FreeGroup
    link_orbit: Ints
    bound_orbit: Ints
    generators: Ints | None
    kept: int
    automorphisms: int | None
    keeping: int | None

    @property
    def link_orbits(self) -> int:
        """Number of orbits of links."""
        return len(np.unique(self.link_orbit))

    @property
    def bound_orbits(self) -> int:
        """Number of orbits of bounds."""
        return len(np.unique(self.bound_orbit))


def find_symmetry(
    topology: Topology,
    collective: str | None = None,
    table: RelationTable | None = None,
    until: Deadline = NEVER,
) -> Symmetry:
    """Finds the symmetry of a topology.

    Args:
        table: its pre and post for some C, if they are to be preserved too.
        until: ends the search for a larger group.
    """
    structure = Structure(topology, table)
    group = free_symmetry(topology, table, until, thorough=True)
    graph = automorphism_graph(structure)
    generators = automorphisms = keeping = None
    kept = 0
    if graph is not None:
        found = automorphism_generators(structure)
        generators = np.array(found, dtype=np.int64).reshape(-1, topology.num_nodes)
        automorphisms = graph.order
        kept = sum(map(structure.keeps, found))
        if table is not None:
            own = graph if kept == len(found) else collective_graph(structure)
            keeping = None if own is None else own.order
    return Symmetry(
        topology,
        collective,
        group,
        link_orbits(structure, list(group.generators)),
        bound_labels(structure, group),
        generators,
        kept,
        automorphisms,
        keeping,
    )


def free_symmetry(
    topology: Topology,
    table: RelationTable | None = None,
    until: Deadline = NEVER,
    *,
    thorough: bool = False,
) -> FreeGroup:
    """A large group of automorphisms that acts freely on the nodes.

    Args:
        table: pre and post that it preserves, for some C; None for any permutation of the chunks.
        until: ends the search for a larger group.
        thorough: whether to use igraph on a small machine, too, if the numbers of its nodes do not
            show a transitive group.
    """
    structure = Structure(topology, table)
    known = _groups(topology)
    for group in (known[kind] for kind in (True, thorough) if kind in known):
        if table is None or all(structure.keeps(images) for images in group.generators):
            return group
    until = until.sooner(_SECONDS)
    best = _search(structure, until, thorough=thorough)
    largest = best.order == topology.num_nodes
    if largest or (table is None and not until.passed):
        known[thorough or largest] = best
    return best


def _groups(topology: Topology) -> dict[bool, FreeGroup]:
    found: dict[bool, FreeGroup] = topology.__dict__.setdefault(_GROUPS, {})
    return found


def _search(structure: Structure, until: Deadline, *, thorough: bool) -> FreeGroup:
    topology = structure.topology
    best = FreeGroup.trivial(topology.num_nodes)
    for images in digit_shifts(structure):
        best = best.with_generator(images) or best
        if best.order == topology.num_nodes:
            return best
    if not thorough and len(topology.links) * topology.num_nodes <= _SMALL:
        return best
    random = np.random.default_rng(0)
    found = _free(collective_generators(structure), random, until.share(0.5))
    for _ in range(_TRIES):
        if best.order == topology.num_nodes or until.passed or not found:
            break
        group = FreeGroup.trivial(topology.num_nodes)
        for i in random.permutation(len(found)).tolist():
            group = group.with_generator(found[i]) or group
        if group.order > best.order:
            best = group
    return best


def _free(generators: list[Ints], random: np.random.Generator, until: Deadline) -> list[Ints]:
    """Elements of a group that generate free groups."""
    found: dict[bytes, Ints] = {}
    for images in products(generators, random, until) if generators else ():
        power = free_power(images)
        if power is not None:
            found.setdefault(power.tobytes(), power)
        if len(found) >= _MOST_CANDIDATES:
            break
    return list(found.values())


_LARGEST, _GROWTH = 4096, 16
"""Limits on the order, absolute and as a multiple of the nodes: they limit C and memory."""

_TRIED = 24
"""Number of random products of generators that are tried as further generators."""


def small_symmetry(topology: Topology, until: Deadline, most_elements: int | None = None) -> Group:
    """A small group with about as few orbits of links as all automorphisms have.

    Args:
        most_elements: limits its elements, but not to fewer than P.
    """
    structure, nodes = Structure(topology), topology.num_nodes
    found = find_symmetry(topology, until=until)
    begun = Group.of_order(nodes, list(found.group.generators), max(nodes, 1))
    assert begun is not None  # a free group has at most as many elements as nodes
    group = begun
    # An automorphism of the cables may not keep the bandwidths that were dealt out to pairs.
    every = [] if found.generators is None else list(filter(structure.keeps, found.generators))
    if not every:
        return group
    fewest = _orbits(structure, every)
    random = np.random.default_rng(nodes)
    most = min(_LARGEST, _GROWTH * nodes, max(nodes, most_elements or _LARGEST))
    while (orbits := _orbits(structure, list(group.generators))) > fewest and not until.passed:
        best: tuple[int, int, Group] | None = None
        for images in _elements(every, random):
            limit = most if best is None else best[2].order
            larger = Group.of_order(nodes, [*group.generators, images], limit)
            if larger is None or larger.order == group.order:
                continue
            rank = _orbits(structure, list(larger.generators)), larger.order
            if best is None or rank < best[:2]:
                best = *rank, larger
        if best is None or best[0] >= orbits:
            break
        group = best[2]
    return group


def _elements(generators: list[Ints], random: np.random.Generator) -> list[Ints]:
    """Generators and some products of them."""
    found = {images.tobytes(): images for images in generators}
    current = np.arange(len(generators[0]))
    for _ in range(_TRIED):
        current = generators[int(random.integers(len(generators)))][current]
        found.setdefault(current.tobytes(), current)
    return list(found.values())


def _orbits(structure: Structure, generators: list[Ints]) -> int:
    return int(link_orbits(structure, generators).max(initial=-1)) + 1
