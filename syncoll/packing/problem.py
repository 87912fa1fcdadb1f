"""PackingProblem: the demands of a collective modulo a free group of automorphisms."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from syncoll.deadline import Deadline
from syncoll.errors import ModelError
from syncoll.model import Collective, RelationTable, Topology
from syncoll.packing.network import Links, OrbitNetwork
from syncoll.scheduling import StreamClass
from syncoll.symmetry import FreeGroup, Group, free_symmetry


@dataclass(frozen=True)
class TreeDemand:
    """Chunks with the same sources and the same destinations.

    Args:
        sources: each has the chunks at the start.
        destinations: the other nodes that need them.
        count: chunks, for the least C.
    """

    sources: tuple[int, ...]
    destinations: tuple[int, ...]
    count: int


class PackingProblem(OrbitNetwork):
    """A non-combining collective on a topology, up to a group of automorphisms of both.

    The group maps the algorithms to themselves: the demands of one orbit have the same trees, up to
    the group.  Columns number links as `links` does.

    Raises `ModelError` if no C is admitted.

    Attributes:
        into_nodes: R/C that the links into each node need for its demands.
        demands: one of each orbit.
    """

    def __init__(self, topology: Topology, collective: Collective, until: Deadline) -> None:
        self.collective = collective
        least = collective.least_chunks(topology.num_nodes)
        if least is None:
            raise ModelError(f"no tried C is valid for {collective.name}")
        self.least_chunks = least
        table = collective.tabulate(topology.num_nodes, self.least_chunks)
        group: Group = FreeGroup.trivial(topology.num_nodes)
        if (table.pre.sum(axis=1) == 1).all():  # then the images of a chunk start elsewhere
            every = bool(table.pre.any(axis=0).all())
            group = free_symmetry(topology, table, until, thorough=every)
        self.links = Links.into(topology)
        super().__init__(topology, group, self.links.number)
        self.demands = tuple(self._demands(table))
        self.into_nodes = self._into_nodes(table)

    @cached_property
    def least_steps(self) -> int:
        """The distance bound on S."""
        instance = self.collective.instantiate(
            self.topology, chunks=self.least_chunks, steps=0, rounds=0
        )
        return instance.least_steps

    def _into_nodes(self, table: RelationTable) -> float:
        needed = (table.post & ~table.pre).sum(axis=0) / self.least_chunks
        single = np.full(len(self.topology.links), np.inf)
        whole = np.full(self.num_nodes, np.inf)
        into = [set(links) for links in self.topology.in_links]
        for bound, members in zip(self.topology.bounds, self.topology.bound_links, strict=True):
            rate = float(bound.chunks_per_round)
            single[members] = np.minimum(single[members], rate)
            for node in {self.topology.links[link][1] for link in members.tolist()}:
                if into[node] <= set(members.tolist()):
                    whole[node] = min(whole[node], rate)
        room = np.array([single[list(links)].sum() for links in self.topology.in_links])
        return float((needed / np.maximum(np.minimum(room, whole), 1e-12)).max())

    def _demands(self, table: RelationTable) -> Iterator[TreeDemand]:
        """One demand of each orbit: the one whose chunks start at representatives of nodes."""
        standing = np.ones(self.num_nodes, dtype=bool)
        if self.group.order > 1:
            standing = np.isin(np.arange(self.num_nodes), self.group.representatives)
        for one in sorted(StreamClass.of(table), key=lambda one: int(one.chunks[0])):
            if standing[one.starts].any():
                sources, others = tuple(one.starts.tolist()), tuple(one.needed.tolist())
                yield TreeDemand(sources, others, len(one.chunks))
