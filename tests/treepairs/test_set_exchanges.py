"""Exchanges between sets: optimal algorithms that packings of pairs of trees miss."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from syncoll.bounding import combining_rounds_bound
from syncoll.certificates import ChunkClass, ChunkClasses
from syncoll.deadline import NEVER
from syncoll.model import Topology
from syncoll.plugins import PluginManager, Proposal
from syncoll.routing import as_topology
from syncoll.spec import SpecLibrary
from syncoll_treepairs.network import AllreduceNetwork
from syncoll_treepairs.pairs import PairPacking
from syncoll_treepairs.set_exchanges import add_exchange
from syncoll_treepairs.sum_programs import SumPrograms
from syncoll_treepairs.whole_pairs import algorithm_of, deal
from tests.oracles.proposals import verified

pytestmark = pytest.mark.usefixtures("counted_work")

F = Fraction

_LIBRARIES = PluginManager.discover().spec_libraries.values()
SPECS = SpecLibrary([record.folder for record in _LIBRARIES])

Messages = frozenset[frozenset[int]]


@pytest.mark.parametrize(
    ("name", "pairs", "bound", "cost"),
    [("ring(8)", F(2), F(5, 4), F(5, 4)), ("torus(4,4)", F(5, 8), F(35, 64), F(9, 16))],
)
def test_costs_below_pairs_of_trees(name: str, pairs: F, bound: F, cost: F) -> None:
    """In 5 steps; the bound of the torus is 9/16 after more time."""
    topology = as_topology(SPECS.topology(name))
    network = AllreduceNetwork(topology, NEVER.working(1), 1, 16, most=64)
    packing = PairPacking(network, 5)
    while not packing.rested:
        packing.improve(NEVER)
    assert packing.value == pytest.approx(pairs)
    add_exchange(packing, NEVER)
    packing.improve(NEVER)
    assert packing.value == pytest.approx(cost)
    dealt = deal(packing, 64, None, NEVER.working(1))
    assert dealt is not None
    assert dealt.bandwidth == cost
    proposal = Proposal(dealt.chunks, algorithm_of(network, dealt), "")
    verified([proposal], topology, SPECS.collective("allreduce"))
    nodes = tuple(range(topology.num_nodes))
    shape = ChunkClasses(1, [ChunkClass(nodes, nodes, 1)], combining=True)
    assert bound <= combining_rounds_bound(topology, shape, 5, seconds=3.0).rounds <= cost


def test_programs_between_sets_have_the_fewest_sends() -> None:
    """Against all sequences of sends of two steps, from two nodes of a ring to two others."""
    ring = [(a, (a + d) % 4) for a in range(4) for d in (1, 3)]
    topology = Topology.from_links("ring", 4, dict.fromkeys(ring, 1))
    for sources, needed in product(combinations(range(4), 2), repeat=2):
        core = SumPrograms(topology, 2, [*sources], [*needed]).cheap(np.ones((2, 8)))
        fewest = min(
            (sent for sent, held in _every(ring, set(sources)) if _have_all(held, needed)),
            default=None,
        )
        assert (None if core is None else len(core.sends)) == fewest


def _every(links: list[tuple[int, int]], sources: set[int]) -> Iterator[tuple[int, list[Messages]]]:
    """Each way of two steps: the number of sends, and the sums of each node in the end."""
    begun = [frozenset([frozenset[int](), frozenset({v} & sources)]) for v in range(4)]
    for first in _step(links, begun):
        for second in _step(links, first[1]):
            yield first[0] + second[0], second[1]


def _step(
    links: list[tuple[int, int]], held: list[Messages]
) -> Iterator[tuple[int, list[Messages]]]:
    for sums in product(*([frozenset[int](), *(held[a] - {frozenset()})] for a, _ in links)):
        after = [set(some) for some in held]
        for (_, b), one in zip(links, sums, strict=True):
            after[b] |= {one | other for other in after[b] if not one & other}
        yield sum(map(bool, sums)), [frozenset(some) for some in after]


def _have_all(held: list[Messages], needed: tuple[int, ...]) -> bool:
    whole = max((one for some in held for one in some), key=len)
    return len(whole) == 2 and all(whole in held[v] for v in needed)
