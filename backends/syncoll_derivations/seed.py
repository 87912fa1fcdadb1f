"""The seed: for each S the best association that is found, and its packing in whole chunks.

Local searches improve associations for the fewest steps, for a few more, and for any number of
steps, in turn.  Every better one is packed for each S at which it may be the best.
"""

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from math import ceil

import numpy as np

from syncoll.arrays import Ints
from syncoll.model import Algorithm, Collective, Topology
from syncoll.model.associations import bit_masks
from syncoll.packing.local_search import ChunkMoves
from syncoll.packing.remainders import largest_remainders
from syncoll.packing.whole_chunks import NEAR_PROMISE, WHOLE, ColumnChoice, DealtChunks
from syncoll.plugins import Answer, Proposal
from syncoll.plugins.turns import Proposals, Question, ResumingSeed, Turn
from syncoll.scheduling import MOST_SENDS
from syncoll_derivations.derivations import Added, Demand, Derivation, SumNetwork, SumPacking
from syncoll_derivations.local_search import LocalSearch, beginnings

_MOST_CELLS = 1 << 27
"""Links times nodes times twice the nodes: partial sums and steps; limits memory."""

_SEARCHED = 3
"""Number of S, from the fewest, with an association search of their own."""

_SLICE, _LEAST_SECONDS, _DEAL_SECONDS = 0.1, 0.5, 0.5
"""Part of the remaining time of a local search until the next one, and at least; and seconds for an
integer program over columns."""

_GAIN, _STRIDES = 0.995, (Fraction(2, 3), Fraction(1, 4))
"""More steps are worthwhile if they lower R/C to this share.  The next S is larger by a part: first
by the larger one, up to `_FAR` times the first S."""

_FAR = 4

_FEW = 64
"""Most C, in multiples of the least, of other counts that meet the packing's value; they are also
tried twice and four times as large."""

_MOST_IN_GROUP = 16
"""Nodes of a group of a collective whose contributors are counted."""

_AT_ONCE = 3
"""Number of S that are packed even if the first turn is over: they are cheap, and useful."""

_UNUSED = 300
"""Columns without a share among which whole chunks choose; limits work."""


class DerivationSeed(ResumingSeed):
    """Proposes algorithms that add up every chunk in one association."""

    turn_seconds = "seconds"

    @staticmethod
    def fits(topology: Topology, collective: Collective) -> Answer:
        """Whether the collective is reproducible or adds up pairs, and the tables are small."""
        if collective.plain is None and not _adds_pairs(collective, topology.num_nodes):
            return Answer(False, "the collective is not reproducible, and adds up more than pairs")
        if len(topology.links) * topology.num_nodes**2 > _MOST_CELLS:
            return Answer(False, "the tables of links, partial sums and steps would be too large")
        return Answer(True)

    def proposals(self, asked: Question) -> Proposals:
        """See `ResumingSeed`."""
        topology, collective, turn = asked.topology, asked.collective, asked.turn
        least = collective.least_chunks(topology.num_nodes)
        if least is None or topology.num_nodes < 2:
            return
        run = _Run(topology, collective, least, turn, int(asked.options["chunks"]))
        if run.demands:
            yield from run.proposals()


class _Run:
    """One run of the seed."""

    def __init__(
        self, topology: Topology, collective: Collective, least: int, turn: Turn, most: int
    ) -> None:
        self._topology, self._collective, self._least = topology, collective, least
        self._turn, self._network = turn, SumNetwork(topology)
        self.demands = _demands(collective, topology.num_nodes, least)
        self._wholes = list(dict.fromkeys(demand.whole for demand in self.demands))
        # Associations are improved for destinations one by one, whose derivations are exact.
        alone = Counter[tuple[int, int]]()
        for demand in self.demands:
            for destination in demand.destinations:
                alone[demand.whole, destination] += demand.count
        self._alone = [Demand(whole, (n,), count) for (whole, n), count in alone.items()]
        instance = collective.instantiate(topology, chunks=least, steps=0, rounds=0)
        self._first = max(1, instance.least_steps)
        self._last = turn.limits.max_steps or 2 * topology.num_nodes
        each = sum(d.count * (d.whole.bit_count() + len(d.destinations)) for d in self.demands)
        self._most = least * max(1, min(most // least, MOST_SENDS // each))
        self._packed: dict[int, SumPacking] = {}
        self._found: list[tuple[int, int, Fraction]] = []

    def proposals(self) -> Proposals:
        """Algorithms; None at the end of a turn."""
        begun = {str(one): one for one in beginnings(self._topology, self._wholes)}
        for one in begun.values():
            yield from self._considered(one)
        if not self._packed:
            return
        last = max(self._packed)
        first = min(self._packed)
        depths = [last, *range(first, min(last, first + _SEARCHED))]
        searches = [LocalSearch(self._best(s).added, partial(self._loose, s)) for s in depths]
        while any(not search.ended for search in searches):
            for search in searches:
                until, gained = self._turn.part(_SLICE, _LEAST_SECONDS), False
                while search.run(until):
                    gained = True
                if gained:
                    yield from self._considered(search.best.added)
                if self._turn.is_over:
                    yield None

    def _best(self, steps: int) -> SumPacking:
        """The best packing of at most some steps."""
        return min(
            (one for s, one in self._packed.items() if s <= steps), key=lambda one: one.value
        )

    def _loose(self, steps: int, added: Added) -> SumPacking:
        """The packing for single destinations in derivations of some steps, which may overlap."""
        how = self._network, self._alone, added, steps, self._least
        return SumPacking(*how, timeless=True)

    def _considered(self, added: Added) -> Proposals:
        """The algorithms of an association, for each S at which it is the best so far."""
        for packing in self._pack(added):
            yield from self._dealt(packing)
            if self._turn.is_over and len(self._packed) >= _AT_ONCE:
                yield None

    def _pack(self, added: Added) -> Iterator[SumPacking]:
        """Packs an association for each S; the packings that are the best so far."""
        values, useless = dict[int, float](), self._last + 1
        for steps in self._order():
            if steps >= useless:
                continue
            until = self._turn.part(_SLICE, _LEAST_SECONDS)
            packing = SumPacking(self._network, self.demands, added, steps, self._least)
            values[steps] = value = packing.run(until)
            known = min((p.value for s, p in self._packed.items() if s <= steps), default=np.inf)
            if value < known * _GAIN:
                self._packed[steps] = packing
                yield packing
            fewer = min((v for s, v in values.items() if s < steps), default=np.inf)
            if self._turn.is_over and len(self._packed) > _AT_ONCE:
                return
            if value > fewer * _GAIN and steps == max(values):
                useless = steps

    def _order(self) -> list[int]:
        """The S in the order of their turns.  The fewest steps come second: other seeds find
        algorithms for them, and a seed without an algorithm has the most patience."""
        begun = self._first + 1
        found = [begun, self._first]
        for part, last in zip(_STRIDES, (_FAR * begun, self._last), strict=True):
            steps = begun
            while (steps := steps + max(1, int(part * steps))) <= last:
                found.append(steps)
        return [s for s in dict.fromkeys(found) if s <= self._last]

    def _dealt(self, packing: SumPacking) -> Iterator[Proposal]:
        """The whole chunks of a packing, for some C."""
        if not np.isfinite(packing.value):
            return
        for chunks in self._choices(packing):
            known = (cost for s, c, cost in self._found if s <= packing.steps and c <= chunks)
            if min(known, default=np.inf) <= packing.value * NEAR_PROMISE:
                continue
            dealt = self._whole(packing, chunks)
            algorithm = self._algorithm(dealt)
            steps, cost = algorithm.steps, Fraction(algorithm.rounds, dealt.chunks)
            beaten = (s <= steps and c <= dealt.chunks and x <= cost for s, c, x in self._found)
            if not any(beaten):
                self._found.append((steps, dealt.chunks, cost))
                sums = ", ".join(str(one) for one in packing.added.values())
                yield Proposal(dealt.chunks, algorithm, f"association {sums}"[:200])

    def _choices(self, packing: SumPacking) -> list[int]:
        """Values of C: powers of two times the least, which cut messages of a power of two evenly,
        a small one near the best promise and the best; and a few that meet the packing's value."""
        limits = self._turn.limits
        most = min(self._most, limits.max_chunks or self._most)
        promise = {
            c: Fraction(max(packing.steps, ceil(packing.value * c - WHOLE)), c)
            for c in range(self._least, most + 1, self._least)
        }
        if not promise:
            return []
        even = [self._least << k for k in range((most // self._least).bit_length())]
        chosen = {self._least}
        for budget in (*limits.budgets, most):
            inside = [c for c in even if c <= budget]
            if inside:
                best = min(promise[c] for c in inside)
                chosen.update(c for c in inside if promise[c] <= best)
                chosen.add(next(c for c in inside if promise[c] <= best * NEAR_PROMISE))
        few = range(self._least, min(most, _FEW * self._least) + 1, self._least)
        met = (c for c in few if promise[c] <= packing.value + WHOLE)
        if exact := next(met, None):
            chosen.update(c for c in (exact, 2 * exact, 4 * exact) if c <= most)
        return sorted(chosen, key=lambda chunks: (promise[chunks], chunks))

    def _whole(self, packing: SumPacking, chunks: int) -> DealtChunks[Derivation]:
        """Whole chunks on the columns of a packing."""
        until, units = self._turn.until.sooner(4 * _DEAL_SECONDS), chunks // self._least
        shares = dict(packing.shared())
        used = [*shares, *[i for i in range(len(packing.columns)) if i not in shares][-_UNUSED:]]
        network, counts = self._network, [demand.count for demand in self.demands]
        choice = ColumnChoice.of(packing, network.exact_rate, counts, used)
        numbers = choice.rounded(units)
        rounds = max(packing.steps, ceil(packing.value * chunks - WHOLE))
        targets = largest_remainders(packing.rounds * chunks, rounds)
        moves = ChunkMoves(choice.loads, network.rate, choice.sizes)
        fitted = moves.fitted(numbers, targets, until)
        numbers = min(fitted, numbers, key=choice.rounds)
        if choice.rounds(numbers) > rounds:
            numbers = choice.solved(numbers, min(_DEAL_SECONDS, until.left()))
        numbers, units = choice.coarsened(numbers, units)
        return choice.dealt(numbers, units * self._least)

    def _algorithm(self, dealt: DealtChunks[Derivation]) -> Algorithm:
        """The sends of every chunk."""
        nodes, links = self._topology.num_nodes, self._network.links
        members: dict[tuple[int, tuple[int, ...]], list[int]] = {}
        for chunk, key in enumerate(_kinds(self._collective, nodes, dealt.chunks)):
            members.setdefault(key, []).append(chunk)
        rows, sums = list[Ints](), list[int]()
        for demand, columns in zip(self.demands, dealt.columns, strict=True):
            own = iter(members[demand.whole, demand.destinations])
            for column, number in columns:
                sends = links.source[column.links], links.target[column.links], column.steps
                for _ in range(number):
                    rows.append(np.column_stack([np.full(len(column.links), next(own)), *sends]))
                    sums += column.sums
        carried = np.array([[mask >> n & 1 for n in range(nodes)] for mask in sums], dtype=bool)
        listed = np.concatenate(rows)
        steps = int(listed[:, 3].max()) + 1
        return Algorithm((0,) * steps, listed, carried).tightened(self._topology)


def _adds_pairs(collective: Collective, nodes: int) -> bool:
    """Whether chunks have two contributors at most: they have only one association."""
    shares = collective.shares(nodes) if collective.combining and collective.shares else ()
    if not shares or max(len(share.nodes) for share in shares) > _MOST_IN_GROUP:
        return False
    least = collective.least_chunks(nodes)
    return least is not None and bool(
        (collective.tabulate(nodes, least).starts.sets.sum(axis=1) <= 2).all()
    )


def _kinds(collective: Collective, nodes: int, chunks: int) -> list[tuple[int, tuple[int, ...]]]:
    """The contributors of each chunk, and its destinations without a single contributor."""
    table = collective.tabulate(nodes, chunks)
    ends = table.post & ~(table.pre & (table.pre.sum(axis=1) == 1)[:, None])
    places = [tuple(np.flatnonzero(row).tolist()) for row in ends]
    return list(zip(bit_masks(table.pre), places, strict=True))


def _demands(collective: Collective, nodes: int, least: int) -> list[Demand]:
    kinds = Counter(_kinds(collective, nodes, least))
    return [Demand(*kind, count) for kind, count in kinds.items() if kind[1]]
