"""Family: algorithms for every m that start m waves of chunks, in closed form (docs/pipelines.md).

This is software pipelining with the initiation interval II (Rau, Glaeser: Some Scheduling
Techniques and an Easily Schedulable Horizontal Architecture, MICRO 1981).  S, R and C are linear in
m, and R/C falls towards the rounds of a wave over its chunks.
"""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from syncoll.errors import ModelError, UsageError
from syncoll.model import Algorithm, Instance, RelationTable, Topology
from syncoll.model.grains import Rounds, exact
from syncoll.results.frontier import Costs, Point

MOST_FIRST = 4096  # of the least m: the first member is replayed


@dataclass(frozen=True)
class Growth:
    """A number that grows with m: ``base + each * m``; whole, unless it is one of rounds."""

    base: Rounds
    each: Rounds

    def at(self, m: int) -> Rounds:
        """The number for one m."""
        return exact(self.base + self.each * m)

    def __str__(self) -> str:
        grown = "m" if self.each == 1 else f"{self.each} m"
        if not self.base:
            return grown
        return f"{grown} {'-' if self.base < 0 else '+'} {abs(self.base)}"


@dataclass(frozen=True, eq=False)
class Part(Costs):
    """Some chunks of every member, and their sends with steps from the part's own beginning."""

    instance: Instance
    algorithm: Algorithm


@dataclass(frozen=True, eq=False)
class Family:
    """An algorithm for each m.

    Args:
        wave: starts every II steps.
        rounds: ``[II]``, of the steps with the remainders 0, 1, … modulo II.
        first: the least m.
        ramp_up: the rounds of the first steps, where they differ.
        ramp_down: the rounds of the last steps, where they differ.
        head: chunks whose steps count from the first one.
        tail: chunks that end with the last step.
        found_by: the name of the seed or solver.

    Raises:
        ModelError: if its parts do not fit together, or R/C does not fall as m grows.
    """

    wave: Part
    rounds: tuple[Rounds, ...]
    first: int
    ramp_up: tuple[Rounds, ...] = ()
    ramp_down: tuple[Rounds, ...] = ()
    head: Part | None = None
    tail: Part | None = None
    found_by: str = ""

    def __post_init__(self) -> None:
        grain = Fraction(1, self.topology.grains)
        if not self.rounds or min((*self.rounds, *self.ramp_up, *self.ramp_down)) < grain:
            what = f"at least {grain} in each step of a family"
            raise ModelError(f"rounds {self.rounds}", None, what)
        if not 0 <= self.first <= MOST_FIRST:
            raise ModelError(f"first = {self.first}", None, f"from 0 to {MOST_FIRST}")
        least = self.steps.at(self.first)
        ramps = len(self.ramp_up) + len(self.ramp_down)
        if least < max(ramps, *(part.steps for part in self.fixed), 0):
            raise ModelError(f"with m = {self.first} there are {least} steps", None, "room for all")
        if self.chunks.at(self.first) < 1 or self.wave.chunks < 1:
            raise ModelError(f"with m = {self.first} there are no chunks", None, "C of at least 1")
        if self.rounds_needed.base * self.chunks.each <= self.chunks.base * self.rounds_needed.each:
            raise ModelError("R/C does not fall as m grows", None, "a family whose R/C falls")

    def __repr__(self) -> str:
        """One line."""
        return f"<family: {self.words}>"

    @property
    def topology(self) -> Topology:
        """P and B."""
        return self.wave.instance.topology

    @property
    def fixed(self) -> tuple[Part, ...]:
        """Head and tail, if any."""
        return tuple(part for part in (self.head, self.tail) if part is not None)

    @property
    def interval(self) -> int:
        """The initiation interval II."""
        return len(self.rounds)

    @property
    def steps(self) -> Growth:
        """S for each m."""
        return Growth(self.wave.steps - self.interval, self.interval)

    @property
    def rounds_needed(self) -> Growth:
        """R for each m."""
        each = exact(sum(self.rounds))
        return Growth(exact(sum(self.rounds_of(self.first)) - each * self.first), each)

    @property
    def chunks(self) -> Growth:
        """C for each m."""
        return Growth(sum(part.chunks for part in self.fixed), self.wave.chunks)

    @property
    def limit(self) -> Fraction:
        """The limit of R/C as m grows."""
        return Fraction(sum(self.rounds), self.wave.chunks)

    def bandwidth(self, m: int) -> Fraction:
        """R/C of a member."""
        return Fraction(self.rounds_needed.at(m), self.chunks.at(m))

    @property
    def words(self) -> str:
        """The closed form."""
        steps, rounds, chunks = self.steps, self.rounds_needed, self.chunks
        of_rounds = "S" if rounds == steps else str(rounds)
        return (
            f"S = {steps}, R = {of_rounds}, C = {chunks} for m >= {self.first}, R/C -> {self.limit}"
        )

    def within(self, steps: int) -> int | None:
        """The m of the member with the lowest R/C in at most S steps; None without one."""
        m = (steps - self.steps.base) // self.interval
        return m if m >= self.first else None

    def cost_within(self, steps: int) -> Fraction | None:
        """The lowest R/C of a member in at most S steps; None without one."""
        m = self.within(steps)
        return None if m is None else self.bandwidth(m)

    def has(self, steps: int, bandwidth: Fraction, chunks: int | None = None) -> bool:
        """Whether a member has exactly these costs, and this C if one is given."""
        m = self.within(steps)
        if m is None or (self.steps.at(m), self.bandwidth(m)) != (steps, bandwidth):
            return False
        return chunks in (None, self.chunks.at(m))

    def beats(self, steps: int, bandwidth: Fraction, chunks: int) -> bool:
        """Whether a member is better in S, R/C or C, and no worse in the others."""
        last = self.within(steps)
        if last is None or self.bandwidth(last) > bandwidth:
            return False
        # R/C falls with m, and S and C rise: the least m is the best of all that cost no more.
        every = range(self.first, last + 1)
        m = every[bisect_left(every, True, key=lambda m: self.bandwidth(m) <= bandwidth)]
        costs, own = (self.steps.at(m), self.bandwidth(m), self.chunks.at(m)), (steps, bandwidth)
        return costs != (*own, chunks) and costs[2] <= chunks

    @cached_property
    def _is_by_kind(self) -> bool:
        """Whether a wave has equal chunks, and lists each kind of them together."""
        table = self.wave.instance.table
        several = 1 < len(table.kinds[2]) < len(table)
        return several and bool((np.diff(table.by_kind()) == 1).all())

    def scaled(self, topology: Topology, factor: Fraction) -> "Family":
        """The family with `factor` times the rounds, on a topology of as much less bandwidth."""

        def part(one: Part) -> Part:
            return Part(one.instance.scaled(topology, factor), one.algorithm.scaled(factor))

        rounds, up, down = (
            tuple(exact(one * factor) for one in some)
            for some in (self.rounds, self.ramp_up, self.ramp_down)
        )
        return replace(
            self,
            wave=part(self.wave),
            rounds=rounds,
            ramp_up=up,
            ramp_down=down,
            head=None if self.head is None else part(self.head),
            tail=None if self.tail is None else part(self.tail),
        )

    def rounds_of(self, m: int) -> tuple[Rounds, ...]:
        """The rounds of each step of a member."""
        steps = self.steps.at(m)
        usual = range(len(self.ramp_up), steps - len(self.ramp_down))
        middle = (self.rounds[step % self.interval] for step in usual)
        return (*self.ramp_up, *middle, *self.ramp_down)

    def member(self, m: int) -> Point:
        """The algorithm for one m.

        Chunks are numbered part by part: head, waves, tail; or kind by kind where a wave is.

        Raises:
            UsageError: if m is below the family's first.
        """
        if m < self.first:
            raise UsageError(f"m = {m} is too small: the family begins with m = {self.first}")
        steps, interval = self.steps.at(m), self.interval
        placed = [] if self.head is None else [(self.head, 0)]
        placed += [(self.wave, number * interval) for number in range(m)]
        if self.tail is not None:
            placed.append((self.tail, steps - self.tail.steps))
        sends, chunks = [], 0
        for part, start in placed:
            sends.append(part.algorithm.sends + np.array([chunks, 0, 0, start]))
            chunks += part.instance.num_chunks
        combining = self.wave.instance.combining
        pre, post = (
            np.concatenate([getattr(part.instance, side) for part, _ in placed])
            for side in ("pre", "post")
        )
        every = np.concatenate(sends)
        if self._is_by_kind:
            order = RelationTable(pre, post).by_kind()
            every[:, 0] = np.argsort(order)[every[:, 0]]
            pre, post = pre[order], post[order]
        algorithm = Algorithm(
            self.rounds_of(m),
            every,
            np.concatenate([part.algorithm.contributions for part, _ in placed])
            if combining
            else None,
        )
        instance = replace(
            self.wave.instance,
            chunks=self.chunks.at(m),
            steps=steps,
            rounds=algorithm.rounds,
            pre=pre,
            post=post,
        )
        return Point(instance, algorithm, "family", self.found_by, 0.0)


def backwards(family: Family, invert: Callable[[Part], Part]) -> Family:
    """The family of the inverse collective, each part inverted by `invert`; not yet verified."""
    last, interval = family.wave.steps - 1, family.interval
    return Family(
        invert(family.wave),
        tuple(family.rounds[(last - step) % interval] for step in range(interval)),
        family.first,
        family.ramp_down[::-1],
        family.ramp_up[::-1],
        None if family.tail is None else invert(family.tail),
        None if family.head is None else invert(family.head),
        family.found_by,
    )
