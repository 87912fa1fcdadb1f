"""A request to a classic, and the proposals made from its answers."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from syncoll.deadline import Deadline
from syncoll.model import Algorithm, Collective, Topology
from syncoll.plugins import Options, Proposal, SeedLimits
from syncoll_classics.demand import ClassicDemand, read_demand
from syncoll_classics.dissemination import Carrying, Dissemination, joined, logical_sends
from syncoll_classics.routing import Router

_MOST_CELLS = 1 << 24
"""Most pairs of chunk and node of a collective."""
_MOST_SENDS = 1 << 22
"""Most sends of an algorithm, and the numbers made in a second: on routes, and directly."""
_SENDS_PER_SECOND, _DIRECT_PER_SECOND = 1 << 18, 1 << 22
_MOST_CARRIED = 1 << 26
"""Most cells of an algorithm's table of contributions, and the number made in a second."""
_CARRIED_PER_SECOND = 1 << 23


@dataclass(frozen=True, eq=False)
class Ask:
    """A request to a classic; `too_large` collects the algorithms left out for their size."""

    topology: Topology
    collective: Collective
    limits: SeedLimits
    options: Options
    deadline: Deadline
    too_large: list[str] = field(default_factory=list)

    @property
    def nodes(self) -> int:
        """P."""
        return self.topology.num_nodes

    @cached_property
    def router(self) -> Router:
        """The router of this topology."""
        return Router(self.topology, self.deadline)

    @cached_property
    def least(self) -> ClassicDemand:
        """The demand for the least C."""
        chunks = self.collective.least_chunks(self.nodes, 4 * self.nodes)
        assert chunks is not None  # checked by `refusal`
        return read_demand(self.collective, self.nodes, chunks)

    @property
    def _most_chunks(self) -> int:
        """The largest C whose table has at most `_MOST_CELLS` cells."""
        each = -(-self.least.num_chunks * self.nodes // self.least.chunks)
        return _MOST_CELLS // each

    def _most(self, ever: int, a_second: int) -> int:
        """The largest size that can be made in the remaining time."""
        return int(min(ever, max(0.0, self.deadline.left()) * a_second))

    def _leave_out(self, what: str) -> None:
        self.too_large.append(
            f"{self.collective.name} on {self.topology.name} would take {what}, too many "
            + ("to construct" if self.deadline.is_never else "for the remaining time")
        )

    def segments(self) -> list[int]:
        """Numbers of segments of a pipeline: powers of two up to the option; 1 if busy anyway."""
        if not self.least.destinations.all():
            return [1]
        most = int(self.options["segments"])
        powers = [1 << i for i in range(most.bit_length()) if 1 << i <= most]
        return powers if powers[-1] == most else [*powers, most]

    def spread(
        self,
        ways: Sequence[Dissemination],
        note: str | Callable[[int], str],
        *,
        segments: int = 1,
        late: bool = False,
    ) -> Iterator[Proposal]:
        """Proposes algorithms for a collective without sums, by disseminations at once.

        Args:
            ways: each takes the same share; fewer are used if C would be too large.
            note: describes the construction; or a function of the number of ways in use.
            segments: pieces of each share, started one after the other.
            late: see `logical_sends`.
        """
        base = self.least.chunks * segments
        used = min(len(ways), self._most_chunks // base)
        if self.limits.max_chunks is not None:
            used = min(used, self.limits.max_chunks // base)
        if not used:
            return
        # A chunk takes at most a send for each step on the way to each of its destinations.
        steps = max(way.num_steps for way in ways)
        needed = self.least.destinations.sum(axis=1)
        needed -= self.least.destinations[np.arange(len(needed)), self.least.sources]
        sends = int(np.minimum(needed * steps, self.nodes - 1).sum()) * segments
        a_second = _DIRECT_PER_SECOND if self._are_direct(ways) else _SENDS_PER_SECOND
        used = min(used, self._most(_MOST_SENDS, a_second) // max(1, sends))
        if not used:
            self._leave_out(f"up to {sends} sends")
            return
        longest = max(way.num_steps for way in ways[:used])
        if not self._admits(base * used, longest if segments == 1 else segments):
            return
        demand = read_demand(self.collective, self.nodes, base * used)
        logical = logical_sends(
            demand, ways[:used], interval=int(segments > 1), late=late, check=self.deadline.check
        )
        words = note if isinstance(note, str) else note(used)
        yield from self._within(demand, self.router.algorithm(demand, logical), words)

    def _are_direct(self, ways: Sequence[Dissemination]) -> bool:
        """Whether all sends of these ways are over links."""
        far, ends = self.topology.distances, np.arange(self.nodes)
        return all((far[way.parents, ends][way.parents >= 0] == 1).all() for way in ways)

    def combine(
        self, chunks: int, make: Callable[[int], Carrying], sends: int, steps: int, note: str
    ) -> Iterator[Proposal]:
        """Proposes algorithms for an allreduce.

        Args:
            chunks: the multiple of the least C that the construction needs.
            make: the logical sends of a chunk.
        """
        total = self.least.chunks * chunks
        if total > self._most_chunks or not self._admits(total, steps):
            return
        cells = self.least.num_chunks * chunks * sends * self.nodes
        if cells > self._most(_MOST_CARRIED, _CARRIED_PER_SECOND):
            self._leave_out(f"a table of contributions of {cells} cells")
            return
        demand = read_demand(self.collective, self.nodes, total)
        parts = []
        for chunk in range(demand.num_chunks):
            self.deadline.check()
            parts.append(make(chunk))
        logical, carried = joined(parts)
        yield from self._within(demand, self.router.algorithm(demand, logical, carried), note)

    def _admits(self, chunks: int, steps: int) -> bool:
        within = self.limits.allow(steps=steps, chunks=chunks)
        return within and self.collective.admits(self.nodes, chunks)

    def _within(self, demand: ClassicDemand, algorithm: Algorithm, note: str) -> Iterator[Proposal]:
        if self.limits.allow(steps=algorithm.steps, rounds=algorithm.rounds):
            yield Proposal(demand.chunks, algorithm, note)
