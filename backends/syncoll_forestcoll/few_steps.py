"""Trees for a given number of steps on machines whose switches copy, with the rounds of the steps.

With few steps the trees of a forest are not the best: a chunk that leaves the root late may go
directly to many nodes.  Such trees are packed by column generation (`syncoll.packing`), where the
sends of a node over several links of a bound count once if the bound counts copies.  The oracle
adds nodes one after the other, each by the cheapest way (Takahashi and Matsuyama, Math. Japonica
24, 1980); a copy costs only the links behind the switch.  Most trees begin with a part of a tree in
use.
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from syncoll.arrays import Bools, Floats, Ints
from syncoll.deadline import Deadline
from syncoll.model import Algorithm, Collective, Counting, Topology
from syncoll.packing.column_generation import TINY, Packing, Tuning
from syncoll.packing.expand_orbits import sends_on
from syncoll.packing.network import Links
from syncoll.packing.problem import TreeDemand
from syncoll.packing.trees import Send, TimedTree, TreeFinder
from syncoll.packing.whole_chunks import ColumnChoice, DealtChunks
from syncoll.plugins import Proposal
from syncoll.plugins.turns import Proposals, Turn
from syncoll.scheduling import StreamClass

_TUNING = Tuning(kept=0.0, gain=1e-4, patience=6, complete=False)
"""Chosen by row dgx_h100(boxes=4) allgather of benchmarks/results/scale.md."""

_MORE_STEPS = 2
"""Steps beyond the fewest that are tried; with more steps the trees of a forest suffice."""

PART = 0.25
"""The part of the remaining time for each number of steps, each forest and each schedule."""

_MOST_CELLS = 1 << 16
"""Most links times nodes of a machine for which such trees are constructed; limits work."""

_EACH = 24
"""Trees constructed with the same prices."""

_CHANGED = (0.0, 0.3, 0.6)
"""Relative random changes of prices, in turn; plus 0.1, also the parts of a tree in use that are
dropped."""

_MOST_CHUNKS = 512
_SLACK = Fraction(2, 1000)
"""A smaller gain in R/C is not worth twice as many chunks."""


def few_steps(topology: Topology, collective: Collective, turn: Turn) -> Proposals:
    """Algorithms of the fewest steps and of a few more, improved in turns.

    Each is better than all earlier ones with the same steps.  Proposes nothing if chunks differ in
    their pre and post, nor on large machines.
    """
    nodes, limits = topology.num_nodes, turn.limits
    unit = collective.least_chunks(nodes)
    if unit is None or len(topology.links) * nodes > _MOST_CELLS:
        return
    kinds = StreamClass.of(collective.tabulate(nodes, unit))
    most = min(_MOST_CHUNKS, limits.max_chunks or _MOST_CHUNKS)
    if len(kinds) != 1 or unit > most:
        return
    (kind,), each = kinds, len(kinds[0].chunks)
    fewest = int(topology.distances[kind.starts][:, kind.needed].min(axis=0).max())
    last = min(fewest + _MORE_STEPS, limits.max_steps or fewest + _MORE_STEPS)
    forests = [TimedForest(topology, kind, steps) for steps in range(fewest, last + 1)]
    best: dict[int, Fraction] = {}
    while forests:
        for forest in forests:
            if turn.is_over:
                break
            dealt = forest.packed(turn.part(PART), each, most // unit)
            chunks = 0 if dealt is None else unit * (dealt.chunks // each)
            if dealt is None or not collective.admits(nodes, chunks):
                continue
            (own,) = StreamClass.of(collective.tabulate(nodes, chunks))
            algorithm = forest.algorithm(dealt, own.chunks)
            cost = Fraction(algorithm.rounds, chunks)
            if not limits.allow(rounds=algorithm.rounds) or cost >= best.get(
                forest.steps, cost + 1
            ):
                continue
            best[forest.steps] = cost
            note = f"{len(dealt.columns[0])} trees for {algorithm.steps} steps"
            yield Proposal(chunks, algorithm, note)
        forests = [forest for forest in forests if not forest.settled]
        if forests:
            yield None


class _CopyingNetwork:
    """A topology whose bounds may count a copied send once.

    `rate` ``[B]`` is in chunks per round, `member` ``[B, L]`` is 1 if a bound limits a link.
    `once` ``[B]`` says whether a bound counts a node's sends of a chunk in a step once.
    """

    def __init__(self, topology: Topology) -> None:
        self.topology, self.links = topology, Links.into(topology)
        self.rate: Floats = np.array([float(b.chunks_per_round) for b in topology.bounds])
        member = np.zeros((len(topology.bounds), len(topology.links)))
        for row, links in zip(member, topology.bound_links, strict=True):
            row[links] = 1
        self.member: Floats = member[:, self.links.number]
        self.once: Bools = np.array([b.counts is Counting.SOURCES for b in topology.bounds])

    def load(self, links: Ints, steps: Ints, count: int) -> Ints:
        """``[B, count]``: the load of each bound in each step."""
        held = self.member[:, links].T > 0
        sent = np.zeros((count, self.links.num_nodes, len(self.rate)), dtype=np.int64)
        np.add.at(sent, (steps, self.links.source[links]), held)
        return np.asarray(np.where(self.once, np.minimum(sent, 1), sent).sum(axis=1).T)


class TimedForest:
    """The best trees of one class of chunks in S steps: an oracle and its fractional packing."""

    def __init__(self, topology: Topology, kind: StreamClass, steps: int) -> None:
        self._network, self.steps = _CopyingNetwork(topology), steps
        needed = kind.needed.tolist()
        self._demand = TreeDemand(tuple(kind.starts.tolist()), tuple(needed), len(kind.chunks))
        self._random = np.random.default_rng(steps)
        self._finder = TreeFinder(self._network.links, steps, self._random)
        source = self._network.links.source
        self._out = [np.flatnonzero(source == node) for node in range(topology.num_nodes)]
        self.packing: Packing[TimedTree] = Packing(self._network, [1.0], steps, self, _TUNING)

    @property
    def settled(self) -> bool:
        """Whether recent calls brought no gain."""
        return self.packing.rested or not self.packing.feasible

    def packed(self, until: Deadline, unit: int, most: int) -> DealtChunks[TimedTree] | None:
        """Up to `most` times `unit` chunks on trees, better with each call; None if none fit."""
        packing = self.packing
        while not self.settled and not (until.passed and packing.columns):
            packing.improve(until)
        if not packing.shared():
            return None
        rates = [bound.chunks_per_round for bound in self._network.topology.bounds]
        choice = ColumnChoice.of(packing, rates, [1])
        total = choice.least_lost(range(unit, unit * most + 1, unit), _SLACK)
        return None if total is None else choice.dealt(choice.rounded(total), total)

    def cheap(
        self, prices: Floats, pays: Floats, shared: Sequence[Sequence[TimedTree]], until: Deadline
    ) -> tuple[list[tuple[int, TimedTree]], Floats]:
        """See `syncoll.packing.column_generation.Oracle`."""
        found: list[tuple[int, TimedTree]] = []
        least = np.inf
        for turn in range(_EACH):
            if until.passed and np.isfinite(least):
                break
            begun: TimedTree | None = None
            if shared[0] and turn % 4:
                begun = shared[0][int(self._random.integers(len(shared[0])))]
            tree = self._cheap(prices, _CHANGED[turn % len(_CHANGED)], turn % 2 == 1, begun)
            if tree is None:
                break
            load = self._network.load(tree.links, tree.steps, self.steps)
            cost = float((load * prices).sum())
            least = min(least, cost)
            if cost < pays[0] - TINY:
                found.append((0, tree))
        return found, np.array([least])

    def _cheap(
        self, prices: Floats, changed: float, shuffled: bool, begun: TimedTree | None
    ) -> TimedTree | None:
        """A tree of at most S steps that is cheap under prices ``[B, S]``, or None.

        The prices change at random by the share `changed`.  A `shuffled` tree adds nodes in random
        order, not the nearest first.  It begins with a random part of the tree `begun`.
        """
        network, random = self._network, self._random
        noise = 1 + changed * random.random(prices.shape)
        prices = prices * noise + 1e-6 * (1 + random.random(prices.shape)) / network.rate.max()
        cost = (network.member.T @ prices).T  # [S, L]
        paid = np.zeros((self.steps, network.links.num_nodes, len(network.rate)), dtype=bool)

        def taken(send: Send) -> None:
            """Makes further sends of the node through these bounds in this step free."""
            link, step = send
            tail = int(network.links.source[link])
            fresh = network.once & (network.member[:, link] > 0) & ~paid[step, tail]
            if fresh.any():
                paid[step, tail] |= fresh
                own = self._out[tail]
                cost[step, own] -= network.member[np.ix_(fresh, own)].T @ prices[fresh, step]

        sends: list[Send] = []
        if begun is not None:
            dropped = random.random(network.links.num_nodes) < random.choice(_CHANGED) + 0.1
            target = network.links.target
            sends = sorted(
                (send for send in begun.sends if not dropped[target[send[0]]]), key=lambda s: s[1]
            )
        return self._finder.grown(self._demand, cost, sends, taken, shuffled=shuffled)

    def algorithm(self, dealt: DealtChunks[TimedTree], chunks: Ints) -> Algorithm:
        """The algorithm that sends each chunk down its tree."""
        ends, sends = self._network.topology.ends[self._network.links.number], []
        for tree, number in dealt.columns[0]:
            sends.append(sends_on(tree, ends, chunks[:number]))
            chunks = chunks[number:]
        algorithm = Algorithm((1,) * self.steps, np.concatenate(sends))
        return algorithm.with_least_rounds(self._network.topology)
