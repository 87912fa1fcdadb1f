"""The seed: packs trees by the linear program, and schedules them in steps."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from random import Random

from syncoll.deadline import Deadline
from syncoll.model import Collective, Topology
from syncoll.plugins import OptionValue, Proposal
from syncoll.plugins.turns import Proposals, ResumingSeed, Turn
from syncoll.scheduling import SEGMENTS, Scheduled, schedule_trees
from syncoll_treepacking.aggregation import aggregations
from syncoll_treepacking.demand import Demand, fits
from syncoll_treepacking.integral import IntegralPacking, integral_packings, low_packings, oriented
from syncoll_treepacking.oracle import Oracle, low_trees
from syncoll_treepacking.search import pack


class TreePackingSeed(ResumingSeed):
    """Spanning-tree packing as a seed; see `syncoll.plugins.Seed`."""

    fits = staticmethod(fits)

    def proposals(
        self,
        topology: Topology,
        collective: Collective,
        turn: Turn,
        options: Mapping[str, OptionValue],
    ) -> Proposals:
        """See `ResumingSeed`."""
        demand = Demand.of(collective, topology.num_nodes)
        assert isinstance(demand, Demand)  # it fits
        oracle, ends = demand.oracle(topology), turn.until
        limits = replace(turn.limits, seconds=None, until=ends)
        budget = min(float(options["seconds"]), ends.left() / 4)
        found: list[tuple[int, Fraction]] = []
        for whole, segments in _packings(oracle, ends, budget, limits.max_chunks):
            if ends.passed:
                return
            trees = [oriented(tree, oracle.roots[tree.group], n) for tree, n in whole.trees]
            made: Iterator[Proposal | Scheduled]
            if demand.combines:
                made = aggregations(topology, collective, whole.parts, trees, limits, segments)
            else:
                made = schedule_trees(topology, collective, trees, limits, segments, found)
            for one in made:
                steps, cost = one.algorithm.steps, Fraction(one.algorithm.rounds, one.chunks)
                if not any(s <= steps and c <= cost for s, c in found):
                    found.append((steps, cost))
                    yield Proposal(one.chunks, one.algorithm, one.note)


def _packings(
    oracle: Oracle, ends: Deadline, budget: float, most: int | None
) -> Iterator[tuple[IntegralPacking, tuple[int, ...]]]:
    """Packings with numbers of segments: first with few steps, then with few rounds."""
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
    # Only the cheapest of each height is cut into segments.
    cheapest: dict[int, IntegralPacking] = {}
    for whole in wholes:
        height = max(oriented(tree, oracle.roots[tree.group]).height for tree, _ in whole.trees)
        known = cheapest.get(height)
        if (known is None or whole.cost < known.cost) and (most is None or 2 * whole.parts <= most):
            cheapest[height] = whole
    for whole in sorted(cheapest.values(), key=lambda whole: whole.cost):
        yield whole, SEGMENTS[1:]
