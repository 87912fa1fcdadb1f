"""The sends of an algorithm in the order of exports (`syncoll.runtime.in_turn`), with dependencies.

A send waits for its data: a copy for the first arrival of the chunk, a partial result for all of
its parts that arrive at the sender in earlier steps.  If the images of each lane of an
`OrbitAlgorithm` are distinct and alike, all images of a send leave and arrive together.  So one
lane and one send stand for all their images.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from syncoll.arrays import Bools, Ints
from syncoll.model import Algorithm, Counting, Instance, OrbitAlgorithm, ranges
from syncoll.model.components import least_of_orbits
from syncoll.model.counting import CountedSends
from syncoll.model.messages import starts_of_messages
from syncoll.model.node_sets import by_first
from syncoll.model.rows import ranks_among
from syncoll.runtime import in_turn
from syncoll.simulating.network import PhysicalNetwork

_CELLS_AT_ONCE = 1 << 24

_KINDS = (Counting.SENDS, Counting.SOURCES, Counting.DESTINATIONS)
"""Kinds of lanes, as the rows of `Workload.together`."""


@dataclass(frozen=True, eq=False)
class Workload:
    """Sends in the order of `in_turn`.

    Args:
        network: with its degraded lanes.
        sends: ``[M, 4]``: chunk, source, destination, step.
        links: ``[M]``: the link of each send.
        connections: ``[M]``: the link, or the representative of its images.
        first_step: ``[S + 1]``: the first send of each step.
        first_need: ``[M + 1]``: the first need of each send.
        needs: earlier sends that must have arrived.
        adds: ``[M]``: whether the receiver reduces it.
        lane_of: ``[lanes]``: the representative of each lane.
        copies: number of images of each send, itself included.
        together: ``[3, M]``, for each kind of lane equal numbers for sends that pass as one; None
            if every send counts on every lane.
        begins: ``[M]``: whether a send is the first of a message that costs something.
    """

    network: PhysicalNetwork
    sends: Ints
    links: Ints
    connections: Ints
    first_step: Ints
    first_need: Ints
    needs: Ints
    adds: Bools
    lane_of: Ints
    copies: int
    together: Ints | None
    begins: Bools

    def passing(self, sends: Ints, lanes: Ints, kinds: Ints) -> tuple[Ints, Ints] | None:
        """Groups passages over lanes that count as one: a value that is copied later, or a sum.

        Args:
            sends: ``[n]``, positions of sends.
            lanes: ``[n]``, the lane of each.
            kinds: ``[n]``, equal for equal parts of sends.

        Returns:
            The positions of the representatives, ascending, and for each passage the number of its
            representative; None if each represents itself.
        """
        if self.together is None:
            return None
        group = self.together[self._lane_kind[lanes], sends]
        keys = np.column_stack([lanes, kinds, group])
        _, first, place = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        if len(first) == len(keys):
            return None
        return by_first(first, place.reshape(-1))

    def __len__(self) -> int:
        return len(self.sends)

    @cached_property
    def _lane_kind(self) -> Ints:
        return np.array([_KINDS.index(lane.counts) for lane in self.network.lanes])

    @cached_property
    def concurrent(self) -> Ints:
        """``[M]``: number of cables that the sends of a node take first in one step."""
        owner, strand = self.network.strands_of(self.links)
        taken = np.column_stack([self.sends[owner, 3], self.sends[owner, 1]])
        keys, place = np.unique(taken, axis=0, return_inverse=True)
        place, lanes = place.reshape(-1), self.network.strand_lanes[strand, 0]
        once = np.unique(np.column_stack([place, lanes]), axis=0)
        cables = np.bincount(once[:, 0], self.network.cables[once[:, 1]], minlength=len(keys))
        found = np.empty(len(self), dtype=np.int64)
        found[owner] = cables[place]
        return found

    @cached_property
    def by_connection(self) -> Ints:
        """``[M]``: all sends, sorted by connection."""
        return np.argsort(self.connections, kind="stable")

    @cached_property
    def place_on_connection(self) -> Ints:
        """``[M]``: the position of each send in `by_connection`."""
        return np.argsort(self.by_connection)

    @cached_property
    def rank_on_connection(self) -> Ints:
        """``[M]``: number of earlier sends on the same connection."""
        return ranks_among(self.connections)


def workload_of(
    instance: Instance,
    algorithm: Algorithm,
    network: PhysicalNetwork,
    *,
    symmetric: bool,
    messages: bool = False,
) -> Workload:
    """The sends of a verified algorithm, or `UsageError` if they are too many to list; if images of
    lanes are alike (`symmetric`), one may represent all.  With `messages`, their first sends."""
    lane_of, copies = np.arange(len(network.lanes)), 1
    copied = instance.topology.counts_copies
    if isinstance(algorithm, OrbitAlgorithm):
        standing = _standing(algorithm, network) if symmetric and not copied else None
        if standing is None:
            algorithm = algorithm.expanded()
        else:
            algorithm, lane_of, copies = standing
    nodes = instance.topology.num_nodes
    order = in_turn(algorithm.sends, nodes)
    sends = algorithm.sends[order]
    links = instance.topology.links_of(sends[:, 1], sends[:, 2])
    first_step = np.searchsorted(sends[:, 3], np.arange(algorithm.steps + 1))
    adds = np.zeros(len(sends), dtype=bool)
    if algorithm.contributions is None:
        first_need, needs = _first_arrivals(instance, sends)
    else:
        carried = algorithm.contributions[order]
        first_need, needs = _parts(sends, carried, nodes)
        adds = (carried != instance.pre[sends[:, 0]]).any(axis=1)
    connections = links
    if copies > 1:
        connections = lane_of[network.strand_lanes[network.first_strand[links], 0]]
    together = None
    if copied:
        counted = CountedSends(instance.topology, algorithm)
        # Sends of different steps or chunks never count as one.
        alone = np.arange(len(sends))
        sums = alone if instance.reproducible else counted.sums[order]  # switches keep no order
        together = np.stack([alone, counted.values[order], sums])
    steps, needed = (first_step, first_need, needs), (adds, lane_of, copies)
    begins = np.zeros(len(sends), dtype=bool)
    if messages:
        begins = starts_of_messages(algorithm, instance.table)[order]
    return Workload(network, sends, links, connections, *steps, *needed, together, begins)


def _first_arrivals(instance: Instance, sends: Ints) -> tuple[Ints, Ints]:
    """For each send the first one that brought its chunk to its source, if any."""
    nodes = instance.topology.num_nodes
    chunks, compact = np.unique(sends[:, 0], return_inverse=True)
    brought = compact * nodes + sends[:, 2]
    first = np.full(len(chunks) * nodes, -1, dtype=np.int64)
    first[brought[::-1]] = np.arange(len(sends))[::-1]  # the first send is written last
    need = first[compact * nodes + sends[:, 1]]
    need[instance.pre[sends[:, 0], sends[:, 1]]] = -1
    has = need >= 0
    return np.concatenate([[0], np.cumsum(has)]), need[has]


def _parts(sends: Ints, carried: Bools, nodes: int) -> tuple[Ints, Ints]:
    """For each send the earlier sends to its source whose contributions it carries."""
    places = np.unique(sends[:, 0], return_inverse=True)[1] * nodes
    when = sends[:, 3]
    steps = int(when.max(initial=0)) + 1
    brought, taken = (places + sends[:, 2]) * steps + when, (places + sends[:, 1]) * steps
    order = np.argsort(brought, kind="stable")
    ordered = brought[order]
    low, high = np.searchsorted(ordered, taken), np.searchsorted(ordered, taken + when)
    counts = high - low
    owner = np.repeat(np.arange(len(sends)), counts)
    part = order[ranges(low, counts)]
    inside = np.empty(len(owner), dtype=bool)
    block = max(1, _CELLS_AT_ONCE // max(1, nodes))
    for i in range(0, len(owner), block):
        some = slice(i, i + block)
        inside[some] = ~(carried[part[some]] & ~carried[owner[some]]).any(axis=1)
    owner, part = owner[inside], part[inside]
    return np.searchsorted(owner, np.arange(len(sends) + 1)), part


def _standing(
    algorithm: OrbitAlgorithm, network: PhysicalNetwork
) -> tuple[Algorithm, Ints, int] | None:
    """Representative sends, the representative of each lane, and the number of images.  Carriers
    that fix all nodes, as between waves of a pipeline, are expanded; no other carrier may fix a
    lane.  None if one does, or lanes are not alike."""
    carriers, own = algorithm.carriers, algorithm.representative
    maps, which = np.unique(carriers.elements, axis=0, return_inverse=True)
    which = which.ravel()
    staying = np.flatnonzero(which == which[0])
    order = np.lexsort((carriers.later, which))
    if len(order) != len(maps) * len(staying):
        return None
    later = carriers.later[order].reshape(len(maps), -1)
    if (later != later[which[0]]).any():
        return None
    classes = _lane_classes(carriers.nodes, maps, network)
    if classes is None:
        return None
    if len(staying) > 1:
        chunks, place = np.unique(own.sends[:, 0], return_inverse=True)
        images = carriers.images(chunks)[staying][:, place]
        sends = np.repeat(own.sends[None], len(staying), axis=0)
        sends[..., 0] = images
        sends[..., 3] += carriers.later[staying, None]
        carried = own.contributions
        whose = None if carried is None else np.tile(carried, (len(staying), 1))
        own = Algorithm(own.rounds_per_step, sends.reshape(-1, 4), whose)
    return own, classes, len(maps)


def _lane_classes(
    generators: Ints, maps: npt.NDArray[np.int32], network: PhysicalNetwork
) -> Ints | None:
    """For each lane the least of its images; None if images are not alike, or not distinct.  Each
    link must be a lane of its own, so that permutations of the nodes act on lanes."""
    if any(lane.ends is None for lane in network.lanes) or network.strand_lanes.shape[1] > 1:
        return None
    nodes = network.topology.num_nodes
    source, destination = np.array([lane.ends for lane in network.lanes], dtype=np.int64).T
    number = np.full(nodes * nodes, -1, dtype=np.int64)
    number[source * nodes + destination] = np.arange(len(source))
    images = [number[one[source] * nodes + one[destination]] for one in generators]
    added = np.zeros(len(source))
    added[network.strand_lanes[network.first_strand[:-1], 0]] = network.added
    figures = (network.latencies, network.cable_bandwidths, network.cables, added)
    for image in images:
        if (image < 0).any() or any((one[image] != one).any() for one in figures):
            return None
    classes = least_of_orbits(len(source), images)

    def to(lane: int) -> Ints:
        """The image of a lane by each permutation."""
        found: Ints = number[
            maps[:, source[lane]].astype(np.int64) * nodes + maps[:, destination[lane]]
        ]
        return found

    # The group must have as many permutations as each class has lanes, and fix no lane.
    for lane in np.unique(classes).tolist():
        went = to(lane)
        if not len(np.unique(went)) == np.count_nonzero(classes == lane) == len(maps):
            return None
    element = np.full(len(source), -1, dtype=np.int64)
    element[went] = np.arange(len(maps))
    for one, image in zip(generators, images, strict=True):
        after = element[to(int(image[lane]))]
        if (after < 0).any() or not np.array_equal(maps[after], maps[:, one]):
            return None
    return classes
