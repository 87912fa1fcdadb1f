"""The seed: packs trees by the linear program, and turns them into steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from random import Random

from syncoll.deadline import Deadline
from syncoll.errors import ModelError
from syncoll.model import Collective, Topology
from syncoll.plugins import OptionValue, Proposal, SeedLimits
from syncoll.scheduling import SEGMENTS, schedule_trees
from syncoll_treepacking.aggregation import aggregations
from syncoll_treepacking.demand import Demand
from syncoll_treepacking.integral import IntegralPacking, integral_packings, low_packings, oriented
from syncoll_treepacking.links import LinkSystem
from syncoll_treepacking.low_height import low_trees
from syncoll_treepacking.oracle import ArborescenceOracle, Oracle, SpanningTreeOracle
from syncoll_treepacking.search import pack

__all__ = ["TreePackingSeed"]


class TreePackingSeed:
    """Spanning-tree packing as a seed; see `syncoll.plugins.Seed`."""

    def propose(
        self,
        topology: Topology,
        collective: Collective,
        limits: SeedLimits,
        options: Mapping[str, OptionValue],
    ) -> Iterator[Proposal]:
        """See `syncoll.plugins.Seed`.

        Raises:
            ModelError: where the collective or the network is not one that trees serve.
        """
        demand = Demand.of(collective, topology.num_nodes)
        if isinstance(demand, str):
            raise ModelError(f"tree packing for {collective.name}: {demand}")
        ends = limits.deadline()
        budget = min(float(options["seconds"]), ends.left() / 4)
        oracle: Oracle
        if demand.combines:
            oracle = SpanningTreeOracle(LinkSystem.undirected(topology))
        else:
            system = LinkSystem.rooted(topology, demand.sources)
            oracle = ArborescenceOracle(system, demand.shares)
        found: list[tuple[int, Fraction]] = []
        for whole, segments in _turns(oracle, ends, budget, limits.max_chunks):
            if ends.passed:
                return
            left = replace(limits, seconds=None, until=ends)
            for proposal in _schedules(topology, collective, oracle, whole, left, segments):
                algorithm = proposal.algorithm
                steps, cost = algorithm.steps, Fraction(algorithm.rounds, proposal.chunks)
                if not any(s <= steps and c <= cost for s, c in found):
                    found.append((steps, cost))
                    yield proposal


def _turns(
    oracle: Oracle, ends: Deadline, budget: float, most: int | None
) -> Iterator[tuple[IntegralPacking, tuple[int, ...]]]:
    """Packings with numbers of segments: what takes few steps first, then what takes few rounds.

    Args:
        oracle: what trees are, and what they are packed into.
        ends: when all must be over.
        budget: seconds for the program, and again for whole trees.
        most: C at most; None for no limit.
    """
    turns = low_trees(oracle, 64)
    wholes = []
    for whole in low_packings(oracle, turns):
        wholes.append(whole)
        yield whole, SEGMENTS[:1]
    packing = pack(oracle, ends.sooner(budget))
    pool = [tree for turn in (*turns, *low_trees(oracle, 256, Random(7))) for tree in turn]
    for whole in integral_packings(packing, [*pool, *packing.pool], ends.sooner(budget)):
        wholes.append(whole)
        yield whole, SEGMENTS[:1]
    # In segments only the cheapest of each height is worth it.
    cheapest: dict[int, IntegralPacking] = {}
    for whole in wholes:
        height = max(oriented(tree, oracle.roots[tree.group]).height for tree, _ in whole.trees)
        known = cheapest.get(height)
        if (known is None or whole.cost < known.cost) and (most is None or 2 * whole.parts <= most):
            cheapest[height] = whole
    for whole in sorted(cheapest.values(), key=lambda whole: whole.cost):
        yield whole, SEGMENTS[1:]


def _schedules(
    topology: Topology,
    collective: Collective,
    oracle: Oracle,
    whole: IntegralPacking,
    limits: SeedLimits,
    segments: Sequence[int],
) -> Iterator[Proposal]:
    """The algorithms of one packing."""
    if collective.combining:
        yield from aggregations(topology, collective, whole, limits, segments)
        return
    trees = [oriented(tree, oracle.roots[tree.group], count) for tree, count in whole.trees]
    for made in schedule_trees(topology, collective, trees, limits, segments):
        yield Proposal(made.chunks, made.algorithm, made.note)
