"""Known algorithms to begin with: their trees are columns at once, and are completed."""

from __future__ import annotations

import numpy as np
import pytest

from syncoll.deadline import NEVER
from syncoll.model import Algorithm, Collective, Topology
from syncoll.packing.problem import PackingProblem
from syncoll.packing.timed_packing import TimedPacking
from syncoll.packing.trees import TimedTree
from syncoll.plugins import Proposal, SeedLimits
from syncoll.plugins.options import resolve_options
from syncoll.session import Session
from syncoll_timedtrees import RECORD
from syncoll_timedtrees.known import known_trees

pytestmark = pytest.mark.usefixtures("counted_work")

SESSION = Session()


def proposed(topology: Topology, collective: Collective) -> list[Proposal]:
    """The proposals of the seed in a second, the best last."""
    options = resolve_options(RECORD.options, {}, "timedtrees")
    asked = SeedLimits(seconds=0.1, max_steps=4, max_chunks=24)
    found = RECORD.load().propose(topology, collective, asked, options)
    return [one for one in found if one is not None]


def without(topology: Topology, *gone: tuple[int, int]) -> Topology:
    links = dict.fromkeys((link for link in topology.links if link not in gone), 1)
    return Topology.from_links("less", topology.num_nodes, links)


def require_tree(problem: PackingProblem, demand: int, tree: TimedTree) -> None:
    """Every node that needs the chunk gets it, once, from one that has it by then."""
    asked = problem.demands[demand]
    has = dict.fromkeys(asked.sources, 0)
    for link, step in sorted(tree.sends, key=lambda send: send[1]):
        source, target = int(problem.links.source[link]), int(problem.links.target[link])
        assert has[source] <= step
        assert target not in has
        has[target] = step + 1
    assert has.keys() >= {*asked.destinations}


@pytest.mark.parametrize(
    ("network", "collective"), [("dgx1", "allgather"), ("line(4)", "broadcast")]
)
def test_a_packing_begins_as_good_as_its_known_trees(network: str, collective: str) -> None:
    topology, asked = SESSION.topology(network), SESSION.collective(collective)
    known = proposed(topology, asked)
    problem = PackingProblem(topology, asked, NEVER)
    trees = known_trees(problem, known, NEVER)
    for one in known:
        packing = TimedPacking(problem, one.algorithm.steps, trees)
        packing.improve(NEVER.sooner(10.0))
        assert packing.value <= one.algorithm.rounds / one.chunks + 1e-6


def test_only_trees_that_lack_a_link_are_completed() -> None:
    topology, asked = SESSION.topology("hypercube(3)"), SESSION.collective("allgather")
    known = proposed(topology, asked)
    gone = [(0, 1), (6, 4)]
    problem = PackingProblem(without(topology, *gone), asked, NEVER)
    assert problem.group.order == 1
    trees = known_trees(problem, known, NEVER)
    stay = 0
    for demand, some in enumerate(trees):
        assert some
        for tree in some:
            require_tree(problem, demand, tree)
        # A chunk that none of the links carries goes as before.
        source = problem.demands[demand].sources[0]
        for one in known:
            table = asked.tabulate(topology.num_nodes, one.chunks)
            for chunk in np.flatnonzero(table.pre[:, source]).tolist():
                rows = one.algorithm.sends[one.algorithm.sends[:, 0] == chunk].tolist()
                if any((a, b) in gone for _, a, b, _ in rows):
                    continue
                links = [
                    *zip(problem.links.source.tolist(), problem.links.target.tolist(), strict=True)
                ]
                sends = sorted((links.index((a, b)), step) for _, a, b, step in rows)
                stay += TimedTree(tuple(sends)) in some
                assert TimedTree(tuple(sends)) in some
    assert stay


def test_removing_a_link_moves_or_reverses_its_subtree() -> None:
    """On a ring without a link only the other way round is left, against the known sends."""
    ring, asked = SESSION.topology("ring(5)"), SESSION.collective("broadcast")
    sends = np.array([(0, 0, 1, 0), (0, 1, 2, 1), (0, 2, 3, 2), (0, 3, 4, 3)])
    known = Proposal(1, Algorithm((1,) * 4, sends))
    problem = PackingProblem(without(ring, (0, 1)), asked, NEVER)
    ((tree,),) = known_trees(problem, [known], NEVER)
    require_tree(problem, 0, tree)
    ends = {(int(problem.links.source[i]), int(problem.links.target[i])) for i, _ in tree.sends}
    assert ends == {(0, 4), (4, 3), (3, 2), (2, 1)}
    cut = without(ring, (0, 1), (0, 4))
    assert known_trees(PackingProblem(cut, asked, NEVER), [known], NEVER) == [[]]
