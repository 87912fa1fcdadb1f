"""A sub-network with more symmetries than a machine: without the links that break them.

A ring with one more link has few automorphisms, and engines that use symmetries find less there
than on the ring.  Links are left out by orbits, or lose the bandwidth that they have more than
others, as long as that at least halves the number of orbits of nodes.  In the end all nodes must be
alike, so that the search of the sub-network is quick.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np

from syncoll.arrays import Ints
from syncoll.model import UNREACHABLE, BandwidthBound, Collective, Link, Topology
from syncoll.model.components import least_of_orbits
from syncoll.model.reach import Reach
from syncoll.symmetry.candidates import collective_generators
from syncoll.symmetry.structure import Structure

_MOST_LINKS, _MOST_ORBITS = 400, 24
"""Links of the largest machine, and orbits of the least symmetric one, for which candidates are
compared; each takes milliseconds."""

_LEAST_LEFT = Fraction(7, 8)
"""Share of all bandwidth that a sub-network keeps at least."""


def symmetric_subnetwork(topology: Topology, collective: Collective) -> Topology | None:
    """The sub-network whose nodes are all alike; None without one, or if they are alike already, or
    with switches.

    Its links have at most the machine's bandwidths, so that its algorithms need no more rounds on
    the machine.
    """
    nodes = topology.num_nodes
    least, fabric = collective.least_chunks(nodes), topology.fabric
    has_switches = fabric is not None and fabric.num_switches > 0
    if least is None or has_switches or len(topology.links) > _MOST_LINKS:
        return None
    table = collective.tabulate(nodes, least)

    def orbits(of: Topology) -> tuple[int, list[Ints]]:
        found = collective_generators(Structure(of, table))
        return len(np.unique(least_of_orbits(nodes, found))), found

    best, whole = topology, _bandwidth(topology)
    fewest, generators = orbits(best)
    while fewest > 1:
        tried = []
        for less in _smaller(best, generators):
            enough = _bandwidth(less) >= _LEAST_LEFT * whole
            if enough and Reach(less, table, collective.combining).least_steps < UNREACHABLE:
                tried.append((*orbits(less), less))
        found = min(tried, key=lambda one: one[0], default=None)
        if found is None or 2 * found[0] > fewest:
            break
        fewest, generators, best = found
    return best if fewest == 1 and best is not topology else None


def _bandwidth(topology: Topology) -> Fraction:
    """The sum of the bandwidths of all links, each on its own."""
    rates = [bound.chunks_per_round for bound in topology.bounds]
    own = (min((rates[i] for i in some), default=Fraction(0)) for some in topology.link_bounds)
    return sum(own, Fraction(0))


def _alone(bound: BandwidthBound) -> Iterable[Link]:
    """The link that a bound is about, if it is only one."""
    return bound.links if len(bound.links) == 1 else ()


def _smaller(topology: Topology, generators: list[Ints]) -> Iterator[Topology]:
    """The machine without an orbit of links, or with the usual bandwidth of an orbit's links."""
    ends, number = topology.ends.tolist(), topology.link_index
    back = np.array([number.get((b, a), i) for i, (a, b) in enumerate(ends)], dtype=np.int64)
    maps = [np.array([number[int(g[a]), int(g[b])] for a, b in ends]) for g in generators]
    both = np.where(back[back] == np.arange(len(ends)), back, np.arange(len(ends)))
    label = least_of_orbits(len(ends), [*maps, both])
    alone = {link: bound for bound in topology.bounds for link in _alone(bound)}
    tally = Counter(bound.chunks_per_round for bound in alone.values())
    usual = min(tally, key=lambda rate: (-tally[rate], rate), default=None)
    orbits = np.unique(label).tolist()
    for orbit in orbits if 1 < len(orbits) <= _MOST_ORBITS else ():
        links = {tuple(ends[i]) for i in np.flatnonzero(label == orbit).tolist()}
        kept = tuple(link for link in topology.links if link not in links)
        bounds = (
            replace(bound, links=own)
            for bound in topology.bounds
            if (own := tuple(link for link in bound.links if link not in links))
        )
        yield Topology(f"{topology.name}, some links", topology.num_nodes, kept, tuple(bounds))
        wide = {link for link in links if link in alone}
        if usual is not None and any(alone[link].chunks_per_round > usual for link in wide):
            narrow = (
                replace(bound, chunks_per_round=min(usual, bound.chunks_per_round))
                if any(link in wide for link in _alone(bound))
                else bound
                for bound in topology.bounds
            )
            name = f"{topology.name}, narrower"
            yield Topology(name, topology.num_nodes, topology.links, tuple(narrow))
