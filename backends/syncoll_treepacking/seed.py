"""The seed: packs trees by the linear program of `syncoll.packing`, and schedules them in steps.

The program first has trees of least height, since every level of a tree costs steps, then trees of
any height, which may have a smaller R/C.  Few parts of the data mean few chunks and few steps; many
parts come nearer to the optimum of the program.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from math import gcd, lcm

import numpy as np

from syncoll.deadline import Deadline
from syncoll.errors import ModelError
from syncoll.model import Algorithm, Collective, Topology, tree_contributions
from syncoll.model.fabric import unreached
from syncoll.packing.arrivals import MOST_CELLS
from syncoll.packing.column_generation import TINY, Packing, Tuning
from syncoll.packing.expand_orbits import sends_on
from syncoll.packing.trees import TimedTree
from syncoll.packing.whole_chunks import ColumnChoice, DealtChunks
from syncoll.plugins import Answer, Proposal, SeedLimits
from syncoll.plugins.turns import Proposals, Question, ResumingSeed
from syncoll.scheduling import MOST_SENDS, SEGMENTS, Costs, Scheduled, schedule_trees
from syncoll.symmetry import FreeGroup, free_symmetry
from syncoll.wording import counted
from syncoll_treepacking.oracle import SpanningTrees, usable_links

_TUNING = Tuning(kept=0.0, gain=0.0, patience=40, near=TINY)

_MOST_TRIED = 4096
"""Largest C tried for the least admissible one; limits work."""

_MOST_ENTRIES = 2 * MOST_CELLS
"""Most roots times links of a program with a tree for each root; limits memory."""

_MOST_LOADS = 8 * MOST_CELLS
"""Most links times bounds; limits memory."""

_MOST_CONTRIBUTIONS = MOST_CELLS << 7
"""Most sends times nodes of an algorithm; a larger one would take GiBs of memory."""

_MOST_TREES = 600
"""Trees to choose from for whole parts; limits work."""

_FEW_PARTS, _PARTS = 8, (1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 48, 64)
"""Numbers of parts; up to the first number an integer program decides, otherwise shares of the
linear program are rounded.  Table "Allreduce" of benchmarks/results/treepacking.md."""

_SECONDS_EACH = 2.0
"""Seconds of an integer program; limits work."""

_GRAIN = 1 << 12
"""Largest integer for the cost of a unit: the integer program is faster with small numbers."""


def sources_of(collective: Collective, nodes: int) -> dict[int, int] | str:
    """The chunks that start at each node, over their common divisor, if all nodes need all chunks;
    empty if all nodes contribute to all chunks; otherwise the reason why trees do not fit."""
    chunks = collective.least_chunks(nodes, _MOST_TRIED)
    if chunks is None:
        return f"no C up to {_MOST_TRIED} is admitted"
    try:
        table = collective.tabulate(nodes, chunks)
    except ModelError as error:
        return error.message
    if not table.pre.size or not table.post.all():
        return "not every node needs every chunk"
    if collective.combining:
        return {} if table.pre.all() else "not every node contributes to every chunk"
    if (table.pre.sum(axis=1) != 1).any():
        return "not every chunk starts at exactly one node"
    counts = np.bincount(table.pre.argmax(axis=1), minlength=nodes).tolist()
    return {node: count // gcd(*counts) for node, count in enumerate(counts) if count}


class TreePackingSeed(ResumingSeed):
    """Spanning-tree packing as a seed; see `syncoll.plugins.Seed`."""

    @staticmethod
    def fits(topology: Topology, collective: Collective) -> Answer:
        """Whether spanning trees fit this collective on this topology, or why not."""
        sources = sources_of(collective, topology.num_nodes)
        if isinstance(sources, str):
            return Answer(False, sources)
        if topology.num_nodes < 2:
            return Answer(False, f"{topology.name} has one node")
        if len(sources) * len(topology.links) > _MOST_ENTRIES:
            return Answer(False, f"the linear program is too large for {len(sources)} roots")
        if len(topology.links) * len(topology.bounds) > _MOST_LOADS:
            return Answer(False, f"the linear program is too large for {len(topology.links)} links")
        links = topology.ends[usable_links(topology, not sources)].tolist()
        if lost := unreached(links, topology.num_nodes, [*sources] or [0]):
            over = "" if sources else " over links in both directions"
            return Answer(False, f"no path leads from node {lost[0]} to node {lost[1]}{over}")
        return Answer(True, "trees from each source" if sources else "spanning trees both ways")

    def proposals(self, asked: Question) -> Proposals:
        """See `ResumingSeed`."""
        topology, collective, turn = asked.topology, asked.collective, asked.turn
        nodes, ends = topology.num_nodes, turn.until
        limits = replace(turn.limits, seconds=None, until=ends)
        sources = sources_of(collective, nodes)
        assert isinstance(sources, dict)  # it fits
        group = FreeGroup.trivial(nodes)
        if sources:
            chunks = collective.least_chunks(nodes, _MOST_TRIED)
            assert chunks is not None  # it fits
            group = free_symmetry(topology, collective.tabulate(nodes, chunks), ends)
        oracle = SpanningTrees(topology, sources, group, low=True)
        budget = min(float(asked.options["seconds"]), ends.left() / 4)
        found = Costs()
        for dealt, segments in _packings(oracle, ends, budget, limits.max_chunks):
            if ends.passed:
                return
            made: Iterator[Proposal | Scheduled]
            if sources:
                trees = oracle.step_trees(dealt)
                made = schedule_trees(topology, collective, trees, limits, segments, found.known)
            else:
                made = _up_and_down(topology, collective, dealt, limits, segments)
            for one in made:
                if found.are_new(one.algorithm.steps, one.algorithm.rounds, one.chunks):
                    yield Proposal(one.chunks, one.algorithm, one.note)


def _packings(
    oracle: SpanningTrees, ends: Deadline, budget: float, most: int | None
) -> Iterator[tuple[DealtChunks[TimedTree], Sequence[int]]]:
    """Packings with numbers of segments: first with few steps, then with few rounds."""
    cheapest: dict[int, DealtChunks[TimedTree]] = {}
    known: list[tuple[int, TimedTree]] = []
    # At first every step counts; then the loads of pipelines, of all steps together.
    for steps, low in dict.fromkeys(((oracle.least_steps, True), (1, True), (1, False))):
        oracle.low = low
        packing = Packing(
            oracle.network, oracle.counts, steps, oracle, _TUNING, timeless=steps == 1
        )
        greedy = oracle.greedy(_PARTS[-1], steps, ends.sooner(budget))
        for demand, tree in [*chain(*map(enumerate, greedy)), *known]:
            packing.add(demand, tree)
        until = ends.sooner(budget)
        while not packing.rested and not until.passed:
            packing.improve(until)
        if not len(packing.master.shares):
            return
        known = list(zip(packing.master.demands, packing.columns, strict=True))
        for dealt in _whole(oracle, packing, greedy, ends.sooner(budget)):
            yield dealt, SEGMENTS[:1]
            height = _height(dealt)
            is_cheaper = height not in cheapest or dealt.bandwidth < cheapest[height].bandwidth
            if is_cheaper and (most is None or _FEW_PARTS * dealt.chunks <= most):
                cheapest[height] = dealt
    # Only the cheapest of each height is cut into segments.
    for dealt in sorted(cheapest.values(), key=lambda dealt: dealt.bandwidth):
        yield dealt, SEGMENTS[1:]


def _height(dealt: DealtChunks[TimedTree]) -> int:
    return max(tree.length for own in dealt.columns for tree, _ in own)


def _whole(
    oracle: SpanningTrees,
    packing: Packing[TimedTree],
    greedy: Sequence[Sequence[TimedTree]],
    until: Deadline,
) -> Iterator[DealtChunks[TimedTree]]:
    """Packings with whole parts, each cheaper than the ones before it."""
    grain = min(_GRAIN, lcm(*(rate.numerator for rate in oracle.network.exact_rate)))
    rates = [rate / grain for rate in oracle.network.exact_rate]
    best = None
    # Trees with a share, and the ones known first.
    shares = dict(packing.shared())
    others = [i for i in range(len(packing.columns)) if i not in shares]
    used = [*shares, *others[: max(0, _MOST_TREES - len(shares))]]
    load = partial(oracle.load, steps=packing.master.steps)
    choice = ColumnChoice.of(packing, rates, oracle.counts, used)
    # The highest tree decides the steps: two of height 5 are better than 4 and 6.
    costs = [len(t.sends) * t.length**3 + int(t.steps.sum()) for t in choice.columns]
    # Trees of equal loads are one column.
    of_demand = np.repeat(np.arange(len(choice.sizes)), choice.sizes).tolist()
    keys = zip(of_demand, (each.tobytes() for each in choice.loads), strict=True)
    place = {key: i for i, key in enumerate(keys)}
    turns = [[place.get((d, load(t).tobytes()), -1) for d, t in enumerate(g)] for g in greedy]
    for parts in _PARTS:
        if best is not None and best <= packing.value * grain * (1 + TINY):
            return
        numbers = choice.rounded(parts)
        first = list(chain(*turns[:parts]))
        if len(turns) >= parts and min(first) >= 0:
            other = np.bincount(first, np.tile(oracle.counts, parts), len(numbers))
            numbers = min(numbers, other.astype(np.int64), key=choice.rounds)
        if parts <= _FEW_PARTS and not until.passed:
            numbers = choice.solved(numbers, min(_SECONDS_EACH, until.left()), costs)
        dealt = choice.dealt(*choice.coarsened(numbers, parts))
        if best is None or dealt.bandwidth < best:
            best = dealt.bandwidth
            yield dealt


def _up_and_down(
    topology: Topology,
    collective: Collective,
    dealt: DealtChunks[TimedTree],
    limits: SeedLimits,
    segments: Sequence[int],
) -> Iterator[Proposal]:
    """Algorithms for an allreduce, one for each number of segments that the limits allow.

    Contributions are reduced on the way up a tree, and the result returns the same way.  Segments
    follow one another by one step: once the pipeline is full, each link of a tree carries a chunk
    up and one down in a step, as the packing assumes.

    On links with the same bandwidth in both directions, reducescatter followed by allgather is not
    better, and it is worse if nodes differ: on a line of three nodes a chunk takes one round on
    trees, and four thirds with two phases.
    """
    nodes, until, length = topology.num_nodes, limits.deadline(), _height(dealt)
    (columns,) = dealt.columns
    parts, each = [], 0
    for tree, number in columns:
        parts.append(sends_on(tree, topology.ends, np.arange(each, each + number)))
        parts[-1][:, 3] += (length - tree.length) // 2
        each += number
    one = np.concatenate(parts)
    one = one[np.argsort(one[:, 3], kind="stable")]
    carried = tree_contributions(np.ones((each, nodes), dtype=bool), one)
    for number in segments:
        chunks = each * number
        size = number * len(one)
        if until.passed or size > MOST_SENDS or size * nodes > _MOST_CONTRIBUTIONS:
            return
        within = limits.allow(chunks=chunks, steps=number - 1 + length)
        if not within or not collective.admits(nodes, chunks):
            continue
        if len(collective.tabulate(nodes, chunks).pre) != chunks:
            continue  # this C has other chunks
        later = np.arange(number)[:, None, None] * np.array([each, 0, 0, 1])
        algorithm = Algorithm(
            (1,) * (number - 1 + length),
            (one + later).reshape(-1, 4),
            np.tile(carried, (number, 1)),
        ).tightened(topology)
        if limits.allow(rounds=algorithm.rounds):
            note = f"{counted(len(columns), 'tree')} up and down, {counted(number, 'segment')}"
            yield Proposal(chunks, algorithm, note)
