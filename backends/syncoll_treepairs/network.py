"""A topology modulo a small group of automorphisms, and its groups of nodes that exchange."""

from functools import cached_property
from math import gcd, lcm

import numpy as np

from syncoll.bounding.covers import Covers
from syncoll.deadline import NEVER, Deadline
from syncoll.model import Topology
from syncoll.model.components import least_of_orbits
from syncoll.packing.network import Links, OrbitNetwork
from syncoll.symmetry import Group, find_symmetry, small_symmetry
from syncoll.symmetry.candidates import automorphism_generators
from syncoll.symmetry.orbits import link_orbits
from syncoll.symmetry.structure import Structure
from syncoll_treepairs.exchange_groups import Core, cores
from syncoll_treepairs.shortest_paths import exchanges


class AllreduceNetwork(OrbitNetwork):
    """A topology, and its orbits under a group of automorphisms that may fix nodes.

    Args:
        topology: strongly connected.
        multiple: chunks of the collective for its least C; the divisor of all numbers of chunks.
        most_elements: limits the group, see `small_symmetry`.
        most: limit on the chunks, a multiple of the order of the group; None for no limit.
        group: the group, where it is known.

    Attributes:
        roots: one node of each orbit.
        least: a lower bound on R/C: each chunk takes 2 P - 2 sends, and some bounds count them all.
    """

    def __init__(
        self,
        topology: Topology,
        until: Deadline,
        multiple: int = 1,
        most_elements: int | None = None,
        *,
        most: int | None = None,
        group: Group | None = None,
    ) -> None:
        if group is None:
            group = small_symmetry(topology, until, most_elements)
            if most is not None and lcm(group.order, multiple) > most:
                smaller = find_symmetry(topology, until=until).group.chain()
                group = next((one for one in smaller if lcm(one.order, multiple) <= most), group)
        super().__init__(topology, group)
        self._multiple = multiple
        self._cores: dict[int, list[Core]] = {}
        nodes, generators = topology.num_nodes, list(self.group.generators)
        self.roots: list[int] = np.unique(least_of_orbits(nodes, generators)).tolist()
        source, target = topology.ends.T
        self.forth, self.back = (
            Links.of(nodes, *ends) for ends in ((source, target), (target, source))
        )
        covers = Covers(topology)
        cover = covers.least(np.arange(len(source)))
        assert cover is not None
        self.least = float(2 * (nodes - 1) / covers.cost(cover))

    def modulo(self, group: Group) -> "AllreduceNetwork":
        """The same topology modulo another group."""
        return AllreduceNetwork(self.topology, NEVER, self._multiple, group=group)

    def cores(self, most_steps: int) -> list[Core]:
        """See `exchange_groups.cores`; computed once."""
        if most_steps not in self._cores:
            structure = Structure(self.topology)
            images = filter(structure.keeps, automorphism_generators(structure))
            kinds = link_orbits(structure, list(images))
            self._cores[most_steps] = cores(self.topology, self.roots, most_steps, kinds)
        return self._cores[most_steps]

    @cached_property
    def exchanges(self) -> list[Core]:
        """See `shortest_paths.exchanges`."""
        return list(exchanges(self.topology))

    @property
    def order(self) -> int:
        """The number of elements of the group."""
        return self.group.order

    @property
    def times(self) -> int:
        """The divisor of the number of chunks in each orbit's representative."""
        return self._multiple // gcd(self._multiple, self.order)

    @property
    def least_chunks(self) -> int:
        """The divisor of all numbers of chunks."""
        return self.order * self.times
