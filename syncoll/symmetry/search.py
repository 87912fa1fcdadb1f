"""The search for a large free group of automorphisms."""

from __future__ import annotations

import numpy as np

from syncoll.arrays import IntArray
from syncoll.deadline import NEVER, Deadline
from syncoll.model import RelationTable, Topology
from syncoll.symmetry.candidates import (
    collective_generators,
    digit_shifts,
    free_power,
    products,
)
from syncoll.symmetry.free_group import FreeGroup
from syncoll.symmetry.structure import Structure

__all__ = ["free_symmetry"]

_SECONDS = 5.0
"""Time limit of the search with igraph's generators."""

_SMALL = 1_200
"""Links times nodes up to which importing igraph takes longer than symmetry saves."""

_GROUPS = "free_groups"
"""Where a topology keeps the groups that were found, by whether the search was thorough: seeds and
bounds for every S ask for the same.  Not in a table of weak references: their callbacks swallow the
end of the time when it comes in one of them."""

_MOST_CANDIDATES = 60
_TRIES = 200


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
    """The known groups of a topology."""
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


def _free(
    generators: list[IntArray], random: np.random.Generator, until: Deadline
) -> list[IntArray]:
    """Elements of a group that generate free groups."""
    found: dict[bytes, IntArray] = {}
    for images in products(generators, random, until) if generators else ():
        power = free_power(images)
        if power is not None:
            found.setdefault(power.tobytes(), power)
        if len(found) >= _MOST_CANDIDATES:
            break
    return list(found.values())
