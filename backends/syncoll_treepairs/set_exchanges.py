"""Exchanges between two sets of nodes: in few steps they need fewer sends than pairs of trees.

The first step gathers a chunk into one set, and the last step spreads it from the other.  Each
node, also of a set, is next to one of the set (total domination), so that sums meet at once.  The
steps between are an integer program over the sums of the first set alone, which is small.
"""

import numpy as np

from syncoll.arrays import Bools
from syncoll.deadline import Deadline
from syncoll.packing.column_generation import TINY
from syncoll.symmetry.candidates import automorphism_generators
from syncoll.symmetry.structure import Structure
from syncoll_treepairs.exchange_groups import Core
from syncoll_treepairs.pairs import Pair, PairPacking
from syncoll_treepairs.subgroups import MOST_IMAGES, image
from syncoll_treepairs.sum_programs import SumPrograms

_TRIES, _SECONDS = 16, 1.2
"""Most programs, and seconds for all.  Row torus(4,4) of benchmarks/results/deployable.md."""


def add_exchange(packing: PairPacking, until: Deadline) -> None:
    """Adds an exchange and its images under automorphisms, if it costs less than every known pair
    at prices in inverse proportion to bandwidth, alike in all steps."""
    network, steps, random = packing.network, packing.steps, np.random.default_rng(packing.steps)
    topology, even = network.topology, np.repeat(1 / network.rate[:, None], steps, axis=1)
    prices, near = network.on_links(even), topology.distances == 1
    sides, part = ((0, topology.ends), (steps - 1, topology.ends[:, ::-1])), until.sooner(_SECONDS)
    for _ in range(_TRIES if steps > 2 else 0):
        if part.passed:
            break
        into, out = _next_to_all(near.T, random), _next_to_all(near, random)
        core = SumPrograms(topology, steps - 2, into, out).cheap(prices[1:-1])
        if core is not None:
            sends = [(step + 1, link) for step, link in core.sends]
            for (step, ends), inside in zip(sides, (into, out), strict=True):
                ways = np.where(np.isin(ends[:, 1], inside), prices[0], np.inf)
                for v in {*range(topology.num_nodes)} - {*inside}:
                    sends.append((step, int(np.where(ends[:, 0] == v, ways, np.inf).argmin())))
            pair = Pair(tuple(sorted(sends)), core, steps - 1)
            if prices[0, pair.links].sum() < packing.master.cheapest(0, even) * (1 - TINY):
                _add_images(packing, pair)
                break


def _next_to_all(near: Bools, random: np.random.Generator) -> list[int]:
    """Few nodes i, one with ``near[i, j]`` for each node j (greedy set cover)."""
    left, found = np.ones(len(near), dtype=bool), []
    while left.any():
        found.append(int((near[:, left].sum(axis=1) + random.random(len(near))).argmax()))
        left &= ~near[found[-1]]
    return found


def _add_images(packing: PairPacking, pair: Pair) -> None:
    """Adds a pair as an exchange of all nodes, with its images."""
    topology, steps = packing.network.topology, packing.steps
    carried = np.packbits(pair.contributions(topology.ends)).tobytes()
    core = Core(tuple(range(topology.num_nodes)), pair.sends, steps, carried)
    queue, structure = [Pair(pair.sends, core, steps)], Structure(topology)
    moves = [(m, structure.link_map(m)) for m in automorphism_generators(structure)]
    most = len(packing.columns) + MOST_IMAGES
    for one in queue:
        if len(packing.columns) < most and packing.add(0, one):
            queue += [image(one, m, links) for m, links in moves if links is not None]
