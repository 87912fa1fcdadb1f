"""Few chunks under smaller groups of automorphisms.

C is a multiple of the order of the group, so a limit on C may leave room for a few pairs only.
Under a subgroup the images of these pairs are pairs of their own, with numbers of chunks of their
own.  They make a packing of the same cost, so no column is generated again.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from syncoll.arrays import Ints
from syncoll.deadline import Deadline
from syncoll.symmetry import FreeGroup, Group, find_symmetry
from syncoll.symmetry.structure import Structure
from syncoll_treepairs.exchange_groups import Core
from syncoll_treepairs.network import AllreduceNetwork
from syncoll_treepairs.pairs import AllreducePacking, Pair, PairPacking

_RATIO = 4
"""Least ratio of the orders of a group and of the next smaller one; limits work."""

MOST_IMAGES = 640
"""Most images of pairs that are added to a packing, the ones of large shares first; limits work."""


def smaller_networks(network: AllreduceNetwork, until: Deadline) -> Iterator[AllreduceNetwork]:
    """The network modulo subgroups of its group: large ones first, the trivial one last."""
    order, nodes = network.order, network.num_nodes
    chain = find_symmetry(network.topology, until=until).group.chain()
    for free in (*chain, FreeGroup.trivial(nodes)):
        if free.order * _RATIO <= order or free.order == 1 < order:
            group = Group(free.elements, free.generators)
            yield network.modulo(group)
            order = group.order


def under_subgroup(
    packing: AllreducePacking, network: AllreduceNetwork, until: Deadline
) -> AllreducePacking:
    """The packing of the pairs with a share and of their images, modulo a subgroup."""
    fine = PairPacking(network, packing.steps)
    structure, moves = Structure(network.topology), []
    for images in _leaders(packing.network.group, network.group):
        links = structure.link_map(images)
        assert links is not None  # an automorphism
        moves.append((images, links))
    shares = [0.0] * len(fine.columns)
    for i, share in packing.shared()[: max(1, MOST_IMAGES // len(moves))]:
        added = [fine.add(0, image(packing.columns[i], *one)) for one in moves]
        shares += [share] * sum(added)
    # Equal shares of images are optimal; a vertex has fewer pairs.
    fine.master.shares = np.array(shares)
    fine.master.value = packing.value * network.order
    fine.master.solve(until.left())
    return fine


def _leaders(group: Group, subgroup: Group) -> Iterator[Ints]:
    """One element ``[P]`` of each coset of a subgroup, the identity first."""
    seen: set[bytes] = set()
    for images in group.elements:
        if images.tobytes() not in seen:
            seen.update(one.tobytes() for one in subgroup.elements[:, images])
            yield images


def image(pair: Pair, images: Ints, links: Ints) -> Pair:
    """A pair under an automorphism.

    Args:
        images: ``[P]``, of the nodes.
        links: ``[L]``, of the links.
    """

    def moved(sends: tuple[tuple[int, int], ...]) -> list[tuple[int, int]]:
        return [(step, int(links[link])) for step, link in sends]

    core, own = pair.core, moved(pair.core.sends)
    carried = core.carried
    if carried is not None:
        nodes = len(images)
        bits = np.unpackbits(np.frombuffer(carried, np.uint8), count=len(own) * nodes)
        rows = np.empty((len(own), nodes), dtype=np.uint8)
        rows[:, images] = bits.reshape(-1, nodes)
        order = sorted(range(len(own)), key=own.__getitem__)
        carried = np.packbits(rows[order]).tobytes()
    inside = tuple(sorted(images[list(core.nodes)].tolist()))
    there = Core(inside, tuple(sorted(own)), core.steps, carried)
    return replace(pair, sends=tuple(sorted(moved(pair.sends))), core=there)
