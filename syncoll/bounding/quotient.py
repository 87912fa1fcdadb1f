"""The quotient of a flow relaxation by symmetry.

A group that acts freely on the nodes and keeps the topology and the demands maps flows to flows.
The average of a solution over the group costs no more than the solution and is invariant, so one
flow of each orbit suffices, and one bound of each orbit: a send over one link, and all its images,
load a bound as often as it has links of that orbit.  The duals become prices of every bound, each
an equal part of its orbit's.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from syncoll.arrays import Ints
from syncoll.bounding.network import QUICK, SMALL
from syncoll.certificates.chunk_classes import ClassList, Demand, DemandList
from syncoll.deadline import NEVER, Deadline
from syncoll.linear import ProgramRows
from syncoll.model import UNREACHABLE, Topology, ranges
from syncoll.model.node_sets import NodeSets
from syncoll.symmetry import FreeGroup, LinkOrbits, free_symmetry
from syncoll.symmetry.structure import Structure


@dataclass(frozen=True, eq=False)
class Quotient:
    """A group of automorphisms of a topology and some demands, with the orbits of links and bounds.
    The group acts freely on the nodes, and is not the identity alone."""

    topology: Topology
    demands: DemandList
    group: FreeGroup
    orbits: LinkOrbits

    @classmethod
    def of(
        cls, topology: Topology, demands: Sequence[Demand], until: Deadline = NEVER
    ) -> "Quotient | None":
        """The quotient by the largest group found soon; None if only the identity is found."""
        if topology.num_nodes < SMALL or not topology.links or not demands:
            return None
        demands = DemandList.of(demands)
        if (demands.first_node < 0).any():
            return None
        if len(np.unique(demands.first)) == 1:
            return None  # its source would have to move
        group = free_symmetry(topology, until=until)
        kept = FreeGroup.trivial(topology.num_nodes)
        for images in group.generators:
            if keeps_records(images, demands):
                kept = kept.with_generator(images) or kept
        if kept.order == 1:
            return None
        return cls(topology, demands, kept, LinkOrbits.of(topology, kept))

    @cached_property
    def link_images(self) -> Ints:
        """``[H, L]``: for each element the image of each link."""
        structure = Structure(self.topology)
        maps = [structure.link_map(images) for images in self.group.elements]
        assert all(one is not None for one in maps)
        return np.array(maps, dtype=np.int64)

    @cached_property
    def positions(self) -> dict[tuple[tuple[int, ...], tuple[int, ...]], int]:
        """The position of each demand."""
        return {(one.sources, one.destinations): k for k, one in enumerate(self.demands)}

    def stands_for(self, node: int) -> bool:
        """Whether a node represents its orbit."""
        return node in self._representatives

    @cached_property
    def _representatives(self) -> frozenset[int]:
        return frozenset(self.group.representatives.tolist())

    def image(self, demand: Demand, element: int) -> int:
        """The position of a demand's image."""
        images = self.group.elements[element]
        where = tuple(images[list(demand.sources)].tolist())
        to = tuple(np.sort(images[list(demand.destinations)]).tolist())
        return self.positions[where, to]


class Capacities:
    """The loads of sends on bounds: all bounds, or one of each orbit.  `rates` ``[B]`` are their
    chunks per round."""

    def __init__(self, topology: Topology, quotient: Quotient | None = None) -> None:
        if quotient is None:
            members, bounds = topology.bound_links, topology.bounds
            links = np.concatenate([*members, np.zeros(0, dtype=np.int64)])
            bound = np.repeat(np.arange(len(members)), [len(one) for one in members])
            weight, self._orbit = np.ones(len(links)), np.arange(len(topology.links))
        else:
            orbits = quotient.orbits
            bounds = tuple(topology.bounds[j] for j in orbits.bounds.tolist())
            links, bound = np.nonzero(orbits.members)
            weight, self._orbit = orbits.members[links, bound].astype(np.float64), orbits.link
        self.rates: list[Fraction] = [one.chunks_per_round for one in bounds]
        order = np.argsort(links, kind="stable")
        self._bound, self._weight = bound[order], weight[order]
        self._start = np.searchsorted(links[order], np.arange(self._orbit.max(initial=-1) + 2))

    def rows(self, program: ProgramRows, rounds: Ints) -> Ints:
        """``[S, B]``: rows ``loads of a bound in a step - b * rounds of the step <= 0``."""
        rows = program.rows(len(rounds) * len(self.rates), -np.inf, 0.0)
        rows = rows.reshape(len(rounds), -1)
        program.add(rows, rounds[:, None], -np.array([float(rate) for rate in self.rates]))
        return rows

    def load(self, program: ProgramRows, rows: Ints, columns: Ints, link: Ints, step: Ints) -> None:
        """Counts columns, sends over these links in these steps, in rows ``[S, B]``."""
        first = self._start[self._orbit[link]]
        counts = self._start[self._orbit[link] + 1] - first
        pair = ranges(first, counts)
        at = rows[np.repeat(step, counts), self._bound[pair]]
        program.add(at, np.repeat(columns, counts), self._weight[pair])


def keeps_records(images: Ints, demands: DemandList | ClassList) -> bool:
    """Whether a permutation of the nodes maps demands, or classes, to ones with equal counts."""
    members, counts = demands.members(len(images)), demands.counts.astype(np.float64)
    for part in (demands.first, demands.second):  # amounts of nodes are compared first
        amounts = np.bincount(part, counts, len(members)) @ members
        if not np.array_equal(amounts, amounts[images]):
            return False
    width, moved = len(members), np.empty_like(members)
    moved[:, images] = members
    place = NodeSets.of(np.concatenate([members, moved])).number[width:]
    if place.max(initial=0) >= width:
        return False
    codes = demands.first * width + demands.second  # ascending
    goes = place[demands.first] * width + place[demands.second]
    order = np.argsort(goes)
    return np.array_equal(codes, goes[order]) and np.array_equal(
        demands.counts, demands.counts[order]
    )


def eager_rounds(
    topology: Topology,
    demands: Sequence[Demand],
    quotient: Quotient | None,
    seconds: float | None = None,
) -> tuple[int, float] | None:
    """The steps and rounds of the best eager schedule, which no bound needs to exceed; None without
    one.

    In a breadth-first broadcast (Zhao et al., NSDI 2025, arXiv 2202.03356) every node receives all
    data of node v in step dist(v, u), from in-neighbours that had it a step before.  It sends
    nothing twice, so its R, with fractional rounds, is at least the optimum of every flow
    relaxation, for every number of steps from the diameter on.  One linear program over the
    receivers' orbits; a large one takes as long as the relaxation that it would save.

    Args:
        demands: of one source each.
    """
    nodes, links = topology.num_nodes, topology.ends
    demands = DemandList.of(demands)
    if (demands.first_node < 0).any() or not len(links):
        return None
    amounts = demands.counts.astype(np.float64)
    counts = np.bincount(demands.first_node, amounts, minlength=nodes)
    distances = topology.distances
    receivers = np.arange(nodes) if quotient is None else quotient.group.representatives
    into = np.flatnonzero(np.isin(links[:, 1], receivers))
    tails, heads = links[into].T
    last = distances[:, tails] + 1 == distances[:, heads]
    source, which = np.nonzero(last & (counts > 0)[:, None])
    if not len(source) or len(source) > QUICK[0] // 2:
        return None
    link, receiver = into[which], heads[which]
    step = distances[source, receiver] - 1
    steps = int(step.max()) + 1
    assert steps < UNREACHABLE
    pairs, pair = np.unique(source * nodes + receiver, return_inverse=True)
    program, capacities = ProgramRows(), Capacities(topology, quotient)
    rounds, flow = program.columns(steps, 1.0), program.columns(len(source))
    capacities.load(program, capacities.rows(program, rounds), flow, link, step)
    needed = counts[pairs // nodes]
    program.add(program.rows(len(pairs), needed, needed)[pair], flow)
    optimum = program.program().minimise(seconds)
    return None if optimum is None else (steps, optimum.value)
