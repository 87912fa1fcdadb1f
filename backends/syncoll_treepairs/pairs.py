"""Ways to sum one chunk: a forest into a core, the core's exchange, and a forest out of it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from syncoll.arrays import Bools, Floats, Ints
from syncoll.deadline import Deadline
from syncoll.packing.arrivals import MOST_CELLS, ArrivalSearch
from syncoll.packing.column_generation import TINY, Oracle, Packing, Tuning
from syncoll.packing.network import Links
from syncoll.packing.trees import TreeFinder
from syncoll_treepairs.exchange_groups import Core
from syncoll_treepairs.network import AllreduceNetwork
from syncoll_treepairs.sum_programs import SumPrograms, is_small

TIES = 1000 * TINY
"""Random prices relative to the mean, which break ties and make every send cost something."""

_CHOICES = 8
"""Cores and times solved in a turn; row a100(boxes=2) of benchmarks/results/allreduce.md."""

_MOST_EXCHANGE = 4
"""Most steps of a core's exchange; limits work."""

_MOST_FIXED = MOST_CELLS >> 4
"""Most sends of all pairs whose core is all nodes; at least one pair is made."""

_PROGRAMS, _FRUITLESS = 4, 4
"""Programs of sums in a turn, and turns without a gain after which they end; row
mi250(boxes=1) allreduce of benchmarks/results/deployable.md."""

_NOISE = 0.1
"""Mean random change of the estimated costs that rank cores; row a100(boxes=2) of
benchmarks/results/allreduce.md."""

_TUNING = Tuning(kept=0.6, gain=1e-3, patience=12, complete=False)
"""Chosen by rows torus(4,4) and mesh(4,4) of benchmarks/results/allreduce.md."""

_BEGUN_WITH = 600
"""Most pairs of a packing in fewer steps that a packing begins with; limits work."""

_Forest = tuple[float, Ints, Ints]
"""Its cost, its links, and the steps until each node has the chunk, ``[P]``."""


@dataclass(frozen=True)
class Pair:
    """The sends of one chunk.

    Args:
        sends: (step, position of the link), sorted.
        core: the nodes that have the whole sum first, and their exchange.
        after: the number of steps after which they have it.
    """

    sends: tuple[tuple[int, int], ...]
    core: Core
    after: int

    @cached_property
    def steps(self) -> Ints:
        """``[K]``."""
        return np.array([step for step, _ in self.sends], dtype=np.int64)

    @cached_property
    def links(self) -> Ints:
        """``[K]``."""
        return np.array([link for _, link in self.sends], dtype=np.int64)

    def later(self, steps: int) -> "Pair":
        """The pair shifted by this number of steps."""
        sends = tuple((step + steps, link) for step, link in self.sends)
        return Pair(sends, self.core, self.after + steps)

    def contributions(self, ends: Ints) -> Bools:
        """``[K, P]``: the contributions that each send carries; `ends` ``[L, 2]`` are of links."""
        nodes = int(ends.max()) + 1
        held = np.eye(nodes, dtype=bool)
        carried = np.zeros((len(self.sends), nodes), dtype=bool)
        steps, links = self.steps, self.links
        exchange = (steps >= self.after - self.core.steps) & (steps < self.after)
        packed = self.core.carried
        for step in np.unique(steps).tolist():
            now = np.flatnonzero(steps == step)
            if packed is None or not exchange[now[0]]:
                carried[now] = held[ends[links[now], 0]]
            elif not exchange[: now[0]].any():
                bits = np.unpackbits(np.frombuffer(packed, np.uint8), count=exchange.sum() * nodes)
                of = bits.reshape(-1, nodes).astype(np.float32)
                carried[exchange] = of @ held.astype(np.float32) > 0
            np.logical_or.at(held, ends[links[now], 1], carried[now])
        return carried


class PairFinder:
    """Finds cheap ways to sum a chunk in S steps.

    Args:
        random: breaks ties, and varies the choice of cores.

    Attributes:
        fixed: pairs whose core is all nodes; they need no trees.
        sums_wait: whether programs of sums are worth it and did not begin.
        sums_left: turns with programs of sums without another gain.
    """

    def __init__(self, network: AllreduceNetwork, steps: int, random: np.random.Generator) -> None:
        self.network, self.steps, self._random = network, steps, random
        far, guess = network.topology.distances, _guesses(network)
        self._choices: list[tuple[Core, int]] = []
        """Cores, and the steps in which their exchange begins."""
        costs: list[tuple[int, float]] = []
        every = [*network.cores(min(steps, _MOST_EXCHANGE)), *network.exchanges]
        whole = [c for c in every if len(c.nodes) == network.num_nodes and c.steps <= steps]
        for core in every:
            inside = list(core.nodes)
            last = steps - core.steps - int(far[inside].min(axis=0).max())
            begins = range(int(far[:, inside].min(axis=1).max()), last + 1)
            if begins and len(inside) < network.num_nodes:
                self._choices += [(core, begin) for begin in begins]
                costs += [guess(core)] * len(begins)
        self.fixed: list[Pair] = []
        for core in whole:
            times = max(1, _MOST_FIXED // (len(core.sends) * len(whole)))
            begun = np.linspace(0, steps - core.steps, min(times, steps - core.steps + 1))
            pair = Pair(core.sends, core, core.steps)
            self.fixed += [pair.later(t) for t in np.unique(begun.round().astype(int)).tolist()]
        guessed = np.array(costs).reshape(-1, 2)
        least = np.maximum(guessed.min(axis=0, initial=np.inf), 1e-12)
        self._costs = (guessed / least).min(axis=1)
        """The last cost of each choice, relative to the best of its turn; at first, its sends or
        their cost at prices in inverse proportion to bandwidth, whichever ratio is smaller."""
        self._into: dict[int, Ints] = {}
        self._out: dict[int, Ints] = {}
        self._turn = 0
        shallow = steps <= 2 * int(np.minimum(far.max(axis=0), far.max(axis=1)).min())
        self._sums: SumPrograms | None = None
        self.sums_wait = shallow and is_small(network.topology, steps)
        self.sums_left, self._paid = 0, np.inf

    @property
    def feasible(self) -> bool:
        """Whether a way to sum a chunk exists."""
        return bool(self._choices or self.fixed)

    def cheap(
        self, prices: Floats, pays: Floats, shared: Sequence[Sequence[Pair]], until: Deadline
    ) -> tuple[list[tuple[int, Pair]], Floats]:
        """See `syncoll.packing.column_generation.Oracle`."""
        on_links = self.network.on_links(prices)
        scale = float(on_links.mean()) or 1.0
        on_links = on_links + TIES * scale * (1 + self._random.random(on_links.shape))
        found, least = [], np.inf
        for which in self._looked_at(_CHOICES):
            if until.passed and np.isfinite(least):
                break
            for cost, pair in self._made(which, on_links, until):
                least = min(least, cost)
                if cost < pays[0] * (1 - TINY):
                    found.append((0, pair))
        self._turn += 1
        if self.sums_left and shared[0]:
            self.sums_left -= 1
            if pays[0] < self._paid * (1 - _TUNING.gain):
                self.sums_left, self._paid = _FRUITLESS, float(pays[0])
            found += self._summed(on_links, shared[0], pays[0], until)
        return found, np.array([least])

    def begin_sums(self) -> None:
        """Programs of sums begin."""
        self.sums_wait, self.sums_left = False, _FRUITLESS

    def _summed(
        self, prices: Floats, shared: Sequence[Pair], pays: float, until: Deadline
    ) -> Iterator[tuple[int, Pair]]:
        """Pairs of all nodes that cost less than a chunk pays, next to some that are in use."""
        self._sums = self._sums or SumPrograms(self.network.topology, self.steps)
        for i in self._random.integers(len(shared), size=_PROGRAMS).tolist():
            core = None if until.passed else self._sums.improved(shared[i], prices, self._random)
            if core and sum(prices[send] for send in core.sends) < pays * (1 - TINY):
                yield 0, Pair(core.sends, core, self.steps)

    def _looked_at(self, most: int) -> list[Ints]:
        """The most promising choices, grouped by the start and the duration of their exchange."""
        noise = self._random.exponential(_NOISE, len(self._choices))
        order = np.argsort(self._costs + noise)
        chosen = order[:most]
        groups: dict[tuple[int, int], list[int]] = {}
        for i in chosen.tolist():
            core, begin = self._choices[i]
            groups.setdefault((begin, core.steps), []).append(i)
        return [np.array(some) for some in groups.values()]

    def _made(self, which: Ints, prices: Floats, until: Deadline) -> list[tuple[float, Pair]]:
        network = self.network
        chosen = [self._choices[i] for i in which.tolist()]
        core, begin = chosen[0]
        end = begin + core.steps
        sources = [list(core.nodes) for core, _ in chosen]
        sides = (
            (network.back, prices[:begin][::-1], self._into),
            (network.forth, prices[end:], self._out),
        )
        both = []
        for links, part, memory in sides:
            known = [memory.get(i) if self._turn % 2 else None for i in which.tolist()]
            priced = np.ascontiguousarray(part[:, links.number])
            both.append(forests(links, priced, sources, known, self._random, until))
        found = []
        for i, (core, _), into, out in zip(which.tolist(), chosen, *both, strict=True):
            if into is None or out is None:
                self._costs[i] = np.inf
                continue
            sends = [(begin + t, link) for t, link in core.sends]
            cost = into[0] + out[0] + sum(prices[t, link] for t, link in sends)
            for (links, _, memory), forest, after, sign in zip(
                sides, (into, out), (begin, end - 1), (-1, 1), strict=True
            ):
                _, used, arrivals = forest
                steps = after + sign * arrivals[links.target[used]]
                sends += zip(steps.tolist(), links.number[used].tolist(), strict=True)
                memory[i] = arrivals
            found.append((float(cost), Pair(tuple(sorted(sends)), core, end)))
            self._costs[i] = cost
        least = min((cost for cost, _ in found), default=1.0)
        self._costs[which] /= max(least, 1e-12)
        return found


def _guesses(network: AllreduceNetwork) -> Callable[[Core], tuple[int, float]]:
    """Estimates the sends with a core, and their cost: its own sends, and for each other node the
    cheapest link to and from the core, or any link of that node if none joins them."""
    nodes = network.num_nodes
    on_links = network.on_links(1 / network.rate[:, None])[0]
    between = np.full((nodes, nodes), np.inf)
    between[*network.topology.ends.T] = on_links

    def guess(core: Core) -> tuple[int, float]:
        inside = list(core.nodes)
        cost = sum(float(on_links[link]) for _, link in core.sends)
        for there in (between, between.T):
            nearest = there[:, inside].min(axis=1)
            nearest = np.where(np.isinf(nearest), there.min(axis=1), nearest)
            nearest[inside] = 0.0
            cost += float(nearest.sum())
        return 2 * (nodes - len(inside)) + len(core.sends), cost

    return guess


def forests(
    links: Links,
    prices: Floats,
    sources: Sequence[Sequence[int]],
    known: Sequence[Ints | None],
    random: np.random.Generator,
    until: Deadline,
) -> list[_Forest | None]:
    """Cheap forests from sets of nodes to all others; None if the steps do not suffice.

    Args:
        links: sorted by target.
        prices: ``[T, L]`` in the order of the links, above 0.
        sources: the nodes of each forest that have the chunk.
        known: arrivals to begin with, or None.
    """
    nodes, steps = links.num_nodes, len(prices)
    search, finder = ArrivalSearch(links, steps), TreeFinder(links, steps, random)
    has = np.zeros((len(sources), nodes), dtype=bool)
    begun = []
    for row, some, arrivals in zip(has, sources, known, strict=True):
        row[some] = True
        if arrivals is None:
            arrivals = finder.arrivals(some, np.ones(nodes, dtype=bool), prices)
        begun.append(np.where(row, 0, np.minimum(arrivals, steps)))
    into = search.descended(np.stack(begun), has, ~has, prices, until)
    costs, at = search.timed(into, has, prices)
    found: list[_Forest | None] = []
    for cost, row, steps_of in zip(costs.tolist(), into, at, strict=True):
        done = cost, row[row >= 0], steps_of + 1
        found.append(done if np.isfinite(cost) else None)
    return found


class AllreducePacking(Packing[Pair]):
    """Fractional packings of ways to sum a chunk."""

    network: AllreduceNetwork

    def __init__(
        self,
        network: AllreduceNetwork,
        steps: int,
        oracle: Oracle[Pair],
        tuning: Tuning,
        *,
        timeless: bool = False,
    ) -> None:
        order = network.order
        super().__init__(network, [1.0], steps, oracle, tuning, chunks=order, timeless=timeless)
        self.estimate = network.least


class PairPacking(AllreducePacking):
    """Fractional packings of pairs of trees in S steps; `pairs` are the first columns."""

    def __init__(self, network: AllreduceNetwork, steps: int, pairs: Iterable[Pair] = ()) -> None:
        self._random = np.random.default_rng(steps)
        finder = PairFinder(network, steps, self._random)
        super().__init__(network, steps, finder, _TUNING)
        self._finder = finder
        for pair in (*finder.fixed, *pairs):
            if pair.sends[-1][0] < steps:
                self.add(0, pair)
        self.feasible = finder.feasible

    @property
    def sums_wait(self) -> bool:
        """See `PairFinder`."""
        return self._finder.sums_wait

    @property
    def has_sums(self) -> bool:
        """Whether it looks for sums and may find more."""
        return self._finder.sums_left > 0 and not self.rested

    def begin_sums(self) -> None:
        """Looks for sums that meet on the way, too; that takes long."""
        self._finder.begin_sums()
        self.rested, self._last_fall = False, (self._turn, self.value)

    def begin(self, steps: int) -> list[Pair]:
        """Pairs for a packing in more steps: pairs with a share, at several later times."""
        return _later([self.columns[i] for i, _ in self.shared()], steps - self.steps)


def whenever(pairs: Sequence[Pair], steps: int) -> list[Pair]:
    """Pairs shifted to every first step with which they end within the steps."""
    found = []
    for pair in pairs:
        left = steps - 1 - int(pair.steps[-1] - pair.steps[0])
        if left >= 0:
            found.append((left, pair.later(-int(pair.steps[0]))))
    return [one for left, pair in found for one in _later([pair], left, len(found))]


def _later(pairs: Sequence[Pair], most: int, of: int | None = None) -> list[Pair]:
    """Pairs at several shifts of up to `most` steps; `of` pairs share the limit `_BEGUN_WITH`."""
    times = max(2, min(most + 1, _BEGUN_WITH // max(1, of or len(pairs))))
    shifts = sorted({round(i * most / (times - 1)) for i in range(times)})
    return [pair.later(shift) for shift in shifts for pair in pairs]
