"""Algorithms from packings of pairs of trees: S from the least upwards, then the S with most gap.

Waves (`waves`) serve larger S, which are not worth a linear program of their own.
"""

from collections.abc import Generator, Iterator
from fractions import Fraction
from functools import partial
from itertools import islice, product
from math import inf

import numpy as np

from syncoll.deadline import NEVER, Deadline
from syncoll.model import Collective, Topology
from syncoll.packing.column_generation import Packing
from syncoll.packing.few_chunks import FewChunks
from syncoll.packing.small_budgets import SmallBudgets
from syncoll.packing.whole_chunks import ROUNDS_OF_STEP, DealtChunks
from syncoll.plugins import Proposal
from syncoll.plugins.turns import Proposals, Question, ResumingSeed, Turn, shared
from syncoll.results import Family
from syncoll_treepairs.fitting import MOST_CONTRIBUTIONS, MOST_ENDS, chunks_of, fits
from syncoll_treepairs.network import AllreduceNetwork
from syncoll_treepairs.pair_repair import PairRepair
from syncoll_treepairs.pairs import AllreducePacking, Pair, PairPacking, whenever
from syncoll_treepairs.set_exchanges import add_exchange
from syncoll_treepairs.shortest_paths import everywhere
from syncoll_treepairs.subgroups import smaller_networks, under_subgroup
from syncoll_treepairs.wave_packing import WavePacking
from syncoll_treepairs.waves import family_of, waves
from syncoll_treepairs.whole_pairs import algorithm_of, deal, few_chunks, own_sends, pair_choice

_SHARE, _LEAST_SECONDS = 0.2, 0.5
"""The part of the remaining time for a packing, and the least seconds; rounding takes three times
the least, and the search for symmetry four times, since all else profits from it."""

_FEW_SHARE, _ANY_SHARE = 0.3, 0.1
"""The part of the remaining time for small C: with a limit on C, as for sums; and without."""

_PAIRS = 4
"""Number of pairs in each orbit for which a limit on C should have room, at least."""

_ENRICHED, _LOWERED, _FITTED = 40, 8, 64
"""Turns that look for pairs near the last prices, with few pairs in each orbit; and most pairs in
each orbit that are replaced by programs when they are dealt, to lower or to fit the rounds; limits
work."""

_MANY = 16
"""Number of pairs in each orbit of a group beyond which no smaller group is tried; limits work."""

_DEALS, _WORTH = 4, 1e-4
"""Times that a converged packing is rounded, and the least gain for which it is.  A packing within
five times this gain of the least R/C counts as optimal; waves must gain ten times as much.  Rows
torus(4,4) and mesh(4,4) of benchmarks/results/allreduce.md."""

_NEAR_LEAST, _GAIN = 1 + 5 * _WORTH, 1 - 10 * _WORTH

_SOON = 8
"""A family is compared with the ones before at this multiple of the steps of a wave."""

_LONG = 4
"""Largest S without waves, in multiples of twice the radius; limits work."""

_LARGE = 24
"""From this many nodes on waves come first: the linear programs of many steps take long.  Row
mesh(6,6) of benchmarks/results/allreduce.md."""

_DEEP = (1.4, 2.0)
"""Depths of pairs in waves, in multiples of the least: shallow pairs take fewer steps.  Row
a100(boxes=2) of benchmarks/results/allreduce.md."""

_LOW = (2, 3, 4, 5, 6, 8, 10)
"""Heights of trees that need not follow shortest paths; row mi250(boxes=2,gpus=8) of
benchmarks/results/allreduce.md."""

_MOST_CHUNKS = 24
"""Largest C of an exchange, in multiples of the least C; limits work."""


class TreePairSeed(ResumingSeed):
    """Proposes packings of pairs of timed trees."""

    fits = staticmethod(fits)
    turn_seconds = "seconds"

    def proposals(self, asked: Question) -> Proposals:
        """See `ResumingSeed`."""
        turn, budgets = asked.turn, asked.turn.limits.budgets
        known = fewest_steps(asked.topology, asked.collective, turn)  # see `ExchangeSeed`
        if known is not None:
            yield known
        # A large group leaves few pairs to choose from: a small C needs a run of its own.
        most = () if turn.limits.max_chunks else budgets[-1:]
        yield from shared(turn, partial(_proposals, asked, known), (None, *most))


def _proposals(asked: Question, known: Proposal | None, turn: Turn) -> Proposals:
    """The proposals of a run; `turn` is its part of the seed's turn."""
    topology, collective, limits = asked.topology, asked.collective, turn.limits
    in_waves, nodes = int(asked.options["chunks"]), topology.num_nodes
    multiple, per = chunks_of(topology, collective)
    # With few chunks a smaller group leaves a choice of several pairs.
    own = int(limits.max_chunks * per) if limits.max_chunks else None
    elements = None if own is None else own // _PAIRS
    until = NEVER.working(4 * _LEAST_SECONDS)
    network = AllreduceNetwork(topology, until, multiple, elements, most=own)
    is_second = limits.max_chunks != asked.turn.limits.max_chunks
    if is_second and nodes >= _LARGE and 2 * network.order <= (elements or 0):
        return  # the first run has the same group, and large machines need the time
    sends = 2 * nodes + max((len(core.sends) for core in network.exchanges), default=0)
    most = min(
        int((limits.max_chunks or in_waves) * per),
        network.order * max(1, MOST_CONTRIBUTIONS // (sends * nodes)),
    )
    if most >= network.least_chunks:
        run = _Run(network, collective, per, turn, most, in_waves)
        if known is not None:
            run.best[run.least_steps] = Fraction(known.algorithm.rounds, known.chunks) / per
        yield from run.proposals()


class ExchangeSeed(ResumingSeed):
    """Proposes an allreduce of few chunks in as many steps as the diameter.

    It is separate from `TreePairSeed` because a search runs quick seeds first and waits for them.
    """

    fits = staticmethod(fits)

    def proposals(self, asked: Question) -> Proposals:
        """See `ResumingSeed`."""
        topology, collective, turn = asked.topology, asked.collective, asked.turn
        found = fewest_steps(topology, collective, turn)
        if found is not None:
            yield found


def fewest_steps(topology: Topology, collective: Collective, turn: Turn) -> Proposal | None:
    """Exchanges of all nodes; None if they have too many sends or exceed the limits."""
    multiple, per = chunks_of(topology, collective)
    limits, nodes = turn.limits, topology.num_nodes
    if not limits.allow(steps=int(topology.distances.max())):
        return None
    pairs = [Pair(core.sends, core, core.steps) for core in everywhere(topology)]
    if not pairs:
        return None
    room = MOST_CONTRIBUTIONS // max(len(pair.sends) * nodes for pair in pairs)
    most = min(room, int((limits.max_chunks or _MOST_CHUNKS) * per), _MOST_CHUNKS * multiple)
    dealt = few_chunks(topology, pairs, most, multiple, turn.until)
    if dealt is None:
        return None
    algorithm = own_sends(topology, dealt).tightened(topology)
    return Proposal(int(dealt.chunks / per), algorithm, "all nodes exchange along shortest paths")


class _Run:
    """One run of the seed.

    `per` is the chunks of the collective for each unit of C, 3 for three allreduces at once.
    `most` limits them, and `in_waves` is the largest C of waves if C has no limit.
    """

    def __init__(
        self,
        network: AllreduceNetwork,
        collective: Collective,
        per: Fraction,
        turn: Turn,
        most: int,
        in_waves: int,
    ) -> None:
        self.network, self.turn, self.most_chunks = network, turn, most
        self.limited = bool(turn.limits.max_chunks)
        self.many = self.limited and most // network.least_chunks >= _MANY
        self.collective, self.per, self.in_waves = collective, per, in_waves
        self.families: list[Family] = []
        self.any_tree: WavePacking | None = None
        far = network.topology.distances
        self.least_steps = int(far.max())
        radius = int(np.minimum(far.max(axis=0), far.max(axis=1)).min())
        self.most_steps = turn.limits.max_steps or _LONG * 2 * radius
        self.packings: dict[int, PairPacking] = {}
        self.best: dict[int, Fraction] = {}  # R per chunk of the collective
        self.small = dict(self._small_budgets(turn.until))
        self._dealt: dict[int, int] = {}
        self._all_dealt: set[int] = set()
        self.grid = WavePacking(network, None)
        self.grid.pack_combs(turn.until)

    def proposals(self) -> Proposals:
        """All algorithms, until none becomes better."""
        if self.network.num_nodes < _LARGE:  # quickly gives the best R/C of many steps
            nodes = self.network.num_nodes
            self.any_tree = self._packed(2 * nodes, nodes)
            yield from self._of_family(self.grid, "combs")
            yield from self._of_family(self.any_tree, "trees")
        for steps in self._order():
            if self.turn.is_over:
                yield None
            yield from self._turn(steps) if steps else self._waves()
            # On large machines, small C come last from twice the fewest steps on.
            small = self.network.num_nodes < _LARGE or steps < 2 * self.least_steps
            if small and steps in self.packings:
                yield from self._deal_few(self.packings[steps], largest=not self.limited)
        while any(
            small.open(packing, self._budgets(network))
            for packing, (network, small) in product(self.packings.values(), self.small.items())
        ):
            for packing in list(self.packings.values()):
                if self.turn.is_over:
                    yield None
                yield from self._deal_few(packing)

    def _budgets(self, network: AllreduceNetwork) -> list[int]:
        """The limits of the search on the chunks of the collective that suit a group: larger
        groups leave few pairs to choose, and a smaller one leaves more."""
        limits = self.turn.limits
        most = limits.budgets or ((limits.max_chunks,) if limits.max_chunks else ())
        larger = [one.order for one in self.small if one.order > network.order]
        end = _MANY * min(larger) if larger else inf
        low = _PAIRS * network.order if larger else 0
        return [c for c in (int(chunks * self.per) for chunks in most) if low <= c < end]

    def _small_budgets(
        self, until: Deadline
    ) -> Iterator[tuple[AllreduceNetwork, SmallBudgets[Pair]]]:
        """Few chunks modulo the network's group and modulo subgroups, with the same best costs."""
        costs: dict[tuple[int, int], Fraction] = {}
        for network in (self.network, *smaller_networks(self.network, until)):
            make = partial(self._few_chunks, network)
            yield network, SmallBudgets(make, network.least_chunks, network.times, costs)

    def _few_chunks(self, network: AllreduceNetwork, packing: Packing[Pair]) -> FewChunks[Pair]:
        own: AllreducePacking = self.packings[packing.steps]
        if network is not self.network:
            own = under_subgroup(own, network, self.turn.until.sooner(_LEAST_SECONDS))
        repair = PairRepair(network, packing.steps, [own.columns[i] for i, _ in own.shared()])
        return FewChunks(own, pair_choice(own), repair, network.least_chunks)

    def _deal_few(self, packing: PairPacking, *, largest: bool = False) -> Proposals:
        """Improves solutions with small C, each once, modulo all groups or the largest one."""
        if not packing.shared() or (self.many and self._sums):
            return
        share = _FEW_SHARE if self.limited else _ANY_SHARE
        until = self.turn.part(share, _LEAST_SECONDS)
        every = islice(self.small.items(), 1 if largest else None)
        asked = [(*one, some) for one in every if (some := self._budgets(one[0]))]
        for i, (network, small, budgets) in enumerate(asked):
            for dealt in small.improved(packing, budgets, until.share(1 / (len(asked) - i))):
                yield self._proposal(dealt, packing.steps, network)

    def _proposal(
        self, dealt: DealtChunks[Pair], steps: int, network: AllreduceNetwork | None = None
    ) -> Proposal:
        """The algorithm of dealt chunks, modulo the group of a network, which is noted."""
        network = network or self.network
        self.small[self.network].note(steps, dealt)
        self.best[steps] = min(dealt.bandwidth, self.best.get(steps, dealt.bandwidth))
        chunks, note = int(dealt.chunks / self.per), f"{len(dealt.columns[0])} pairs of trees"
        return Proposal(chunks, algorithm_of(network, dealt), note + _carried(network))

    def _order(self) -> Generator[int, None, None]:
        """The order of S: ascending, 0 for waves, then the S with the largest gap.

        Waves come early, since they are found quickly; waves of a grid take longer.
        """
        large = self.network.num_nodes >= _LARGE
        if large:
            yield 0
        steps, stride = self.least_steps, 1
        links = len(self.network.topology.links)
        while steps <= self.most_steps and links * steps**2 <= MOST_ENDS:
            if steps >= 2 * self.least_steps:
                yield from [s for s, p in self.packings.items() if p.feasible and p.sums_wait]
                while self.many and self._sums:
                    yield from self._sums
            yield steps
            if not large and steps == self.least_steps and not self.grid.columns:
                yield 0
            packing = self.packings.get(steps)
            if packing is not None and packing.value <= self.network.least * _NEAR_LEAST:
                break
            stride = max(1, (steps - self.least_steps) // 4)
            steps += stride
        far = min(self.best.values(), default=1) > self.network.least * _NEAR_LEAST
        if self.grid.columns and not large and far:
            yield 0
        while True:
            left = [s for s, p in self.packings.items() if p.feasible and self._is_open(s)]
            if not left:
                return
            yield max(left, key=self._left)

    @property
    def _sums(self) -> list[int]:
        """Each S whose packing has to look for sums, or finds more."""
        return [s for s, p in self.packings.items() if p.feasible and (p.sums_wait or p.has_sums)]

    def _is_open(self, steps: int) -> bool:
        """Whether more time may improve a packing or its rounding."""
        packing, known = self.packings[steps], self._known(steps)
        worth = known is None or packing.value < float(known) * (1 - _WORTH)
        more = packing.sums_wait or not packing.rested
        return more or (worth and self._dealt.get(steps, 0) < _DEALS)

    def _left(self, steps: int) -> float:
        if self.packings[steps].sums_wait:
            return np.inf
        known, value = self._known(steps), self.packings[steps].value
        gap = np.inf if known is None or np.isinf(value) else float(known) / value
        return gap / (1 + self._dealt.get(steps, 0))

    def _known(self, steps: int) -> Fraction | None:
        """The least known R per chunk of the collective in at most these steps."""
        return min((b for s, b in self.best.items() if s <= steps), default=None)

    def _turn(self, steps: int) -> Proposals:
        packing = self.packings.get(steps)
        if packing is None:
            fewer = max(
                (s for s, p in self.packings.items() if s < steps and p.columns), default=None
            )
            begun = [] if fewer is None else self.packings[fewer].begin(steps)
            begun += whenever(self.grid.columns, steps)
            packing = self.packings[steps] = PairPacking(self.network, steps, begun)
            if not packing.feasible:
                packing.rested = True
                return
        elif packing.sums_wait:
            packing.begin_sums()
            if not self.many and packing.value > self.network.least * _NEAR_LEAST:
                add_exchange(packing, self.turn.until)
        rested = packing.rested
        part = self.turn.part(_FEW_SHARE if packing.has_sums else _SHARE, _LEAST_SECONDS)
        while not packing.rested and not part.passed:
            packing.improve(self.turn.until)
        known = self._known(steps)
        if not packing.shared() or (known is not None and packing.value >= known):
            return
        if self.limited and not self.many and self.network.num_nodes >= _LARGE:
            packing.enrich(_ENRICHED, part)
        rounds = ROUNDS_OF_STEP // 2 * (4 + steps)
        most = min(self.most_chunks, max(self.network.least_chunks, int(rounds / packing.value)))
        self._dealt[steps] = self._dealt.get(steps, 0) + 1
        dealt = None
        if not (rested and steps in self._all_dealt):  # the same columns were dealt before
            thorough = self.many and not packing.sums_wait
            times = 3 if not thorough else 1 if packing.has_sums else 2  # sums are dealt again
            until = self.turn.until.sooner(times * _LEAST_SECONDS)
            dealt = deal(packing, most, known, until, thorough=thorough)
            if self.many and packing.rested and not self.turn.until.passed:
                self._all_dealt.add(steps)
        if dealt is not None:
            yield self._proposal(dealt, steps)
        units = (most if dealt is None else dealt.chunks) // self.network.least_chunks
        each, fits_whole = units * self.network.times, dealt and self.many and not packing.has_sums
        lowers = each <= _LOWERED
        if self.limited and (lowers or (fits_whole and each <= _FITTED)):
            few, known = self._few_chunks(self.network, packing), self._known(steps)
            if dealt is not None:
                few.know(units, dealt.columns)
            change, times = (few.lower, 4) if lowers else (few.fit, 5)
            change(units, self.turn.until.sooner(times * _LEAST_SECONDS))
            lowered = few.dealt(units)
            if known is None or lowered.bandwidth < known:
                yield self._proposal(lowered, steps)

    def _waves(self) -> Proposals:
        """Proposes waves of pairs of trees, with few steps first."""
        if self.grid.shared():
            yield from self._of_waves(self.grid, "combs")
            if self.grid.value <= self.network.least * _NEAR_LEAST:
                return
        far, nodes, end = self.network.topology.distances, self.network.num_nodes, 0.0
        if self.any_tree is not None:  # others have fewer steps
            end = self.any_tree.value
            yield from self._of_waves(self.any_tree, "trees")
        least = int((far.max(axis=0) + far.max(axis=1)).min())
        for times in _DEEP:
            packing = self._packed(int(least * times))
            yield from self._of_waves(packing, "shortest-path trees")
            if packing.value <= self.network.least * _NEAR_LEAST:
                return
        before = np.inf
        for links in (*_LOW, nodes):
            if links > nodes or before <= max(end, self.network.least) * _NEAR_LEAST:
                return
            packing = self._packed(2 * nodes, links)
            if packing.shared() and packing.value < before * _GAIN:
                before = packing.value
                yield from self._of_waves(packing, f"trees of height {links} at most")

    def _packed(self, depth: int, links: int | None = None) -> WavePacking:
        """A packing of pairs, see `WavePacking`."""
        packing = WavePacking(self.network, depth, most_links=links)
        packing.pack(self.turn.part(_SHARE, _LEAST_SECONDS))
        return packing

    def _of_waves(self, packing: WavePacking, trees: str) -> Proposals:
        yield from self._of_family(packing, trees)
        if not packing.shared():
            return
        part = self.turn.until.sooner(1.5 * _LEAST_SECONDS)
        most = int((self.turn.limits.max_chunks or self.in_waves) * self.per)
        for count, chunks, algorithm in waves(packing, most, self.turn.limits.max_steps, part):
            cost, steps = Fraction(algorithm.rounds, chunks), algorithm.steps
            costs = [b for s, b in self.best.items() if s <= steps]
            members = [one.cost_within(steps) for one in self.families]
            costs += [b / self.per for b in members if b is not None]
            known = min(costs, default=None)
            if known is None or cost < known * Fraction(_GAIN):
                self.best[steps] = cost
                note = f"{count} waves of pairs of {trees}{_carried(self.network)}"
                yield Proposal(int(chunks / self.per), algorithm, note)

    def _of_family(self, packing: WavePacking, trees: str) -> Proposals:
        """Proposes the family of a packing's waves, if its R/C is below all known R/C in the end,
        or with a moderate number of steps."""
        family = family_of(packing, self.collective, self.per) if packing.shared() else None
        if family is None:
            return
        known = min(self.best.values(), default=None)
        least = min((one.limit / self.per for one in self.families), default=known)
        soon = _SOON * family.wave.steps
        before = [cost for one in self.families if (cost := one.cost_within(soon)) is not None]
        before += [b * self.per for s, b in self.best.items() if s <= soon]
        gains = [
            (family.limit / self.per, least),
            (family.cost_within(soon), min(before, default=None)),
        ]
        if all(
            cost is None or (other is not None and cost >= other * Fraction(_GAIN))
            for cost, other in gains
        ):
            return
        m = family.first
        if not self.turn.limits.allow(
            steps=family.steps.at(m), rounds=family.rounds_needed.at(m), chunks=family.chunks.at(m)
        ):
            return
        self.families.append(family)
        note = f"{m} waves of pairs of {trees}"
        yield Proposal(family.chunks.at(m), family.member(m).algorithm, note, family)


def _carried(network: AllreduceNetwork) -> str:
    order = network.order
    return f", carried round by {order} automorphisms" if order > 1 else ""
