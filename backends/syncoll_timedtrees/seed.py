"""Algorithms from packings of timed trees: for one number of steps after the other, then again.

Every S has its own packing (`program`), which begins with the trees of fewer steps, and is dealt to
whole chunks (`rounding`) when it is at rest.  The fewest steps come first; with each further one a
part of the time goes to the next, until more steps are of no use.  Those that had to stop before
they were at rest get what is left.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from math import isinf

from syncoll.deadline import NEVER, Deadline
from syncoll.errors import ModelError
from syncoll.model import Collective, Topology
from syncoll.plugins import Answer, OptionValue, Proposal, SeedLimits
from syncoll_timedtrees.building import algorithm_of
from syncoll_timedtrees.problem import Problem
from syncoll_timedtrees.program import Packing
from syncoll_timedtrees.rounding import deal, promising

__all__ = ["TimedTreeSeed", "fits"]

_MOST_SENDS = 1 << 22
"""Algorithms of more sends are not made."""

_MOST_CELLS = 1 << 24
"""The largest tables that the search for trees makes: links times nodes, and steps times pairs of
nodes."""

_FIRST_SECONDS = 0.3
_SKETCH_SECONDS, _DEAL_SECONDS = 0.3, 4.0
_SHARE, _SHARE_OF_DEAL = 0.4, 0.2
"""The part of the time that is left which the next S may take, and of that for whole chunks."""

_TOLERANCE = 1e-6
_EXACT = 1.0005
"""Nearer to the value of a packing it is not tried to come."""

_WORTH = 0.998
"""One more step is of use when it lowers R/C to this part."""

_STEPS_OF_NO_USE = 2
"""With so many more steps of no use the last S is reached."""


def fits(topology: Topology, collective: Collective) -> Answer:
    """Whether chunks only move, and the tables are not too large."""
    if collective.combining:
        return Answer(False, "it combines; trees move data, and the search turns them round")
    if topology.num_nodes < 2:
        return Answer(False, "a single node has no other to send to")
    if len(topology.links) * topology.num_nodes > _MOST_CELLS:
        return Answer(False, "the network is too large for its tables of links and nodes")
    return Answer(True)


class TimedTreeSeed:
    """Proposes what timed trees can be packed into."""

    def propose(
        self,
        topology: Topology,
        collective: Collective,
        limits: SeedLimits,
        options: Mapping[str, OptionValue],
    ) -> Iterator[Proposal]:
        """See `syncoll.plugins.Seed`."""
        answer = fits(topology, collective)
        if not answer.ok:
            raise ModelError(f"{collective.name} on {topology.name}: {answer.reason}")
        until = limits.deadline()
        if until.is_never:
            until = NEVER.sooner(float(options["seconds"]))
        problem = Problem(topology, collective, until)
        if not problem.demands:
            return
        least = problem.least_chunks
        fewest = problem.group.order * sum(d.count * len(d.destinations) for d in problem.demands)
        most = least * min(int(options["chunks"]), max(1, _MOST_SENDS // fewest))
        most = min(most, limits.max_chunks or most)
        yield from _Run(problem, limits, until, most).proposals()


class _Run:
    """One run of the seed."""

    def __init__(
        self, problem: Problem, limits: SeedLimits, until: Deadline, most_chunks: int
    ) -> None:
        self.problem, self.limits, self.until = problem, limits, until
        self.most_chunks = most_chunks
        self.packings: dict[int, Packing] = {}
        self.best: dict[int, Fraction] = {}
        self.least = problem.into_nodes
        self.most_steps = limits.max_steps or problem.num_nodes * 2

    def proposals(self) -> Iterator[Proposal]:
        """Everything that comes out, until it is late or nothing becomes better."""
        of_no_use = 0
        for steps in range(max(1, self.problem.least_steps), self.most_steps + 1):
            if (steps + 1) * self.problem.num_nodes**2 > 2 * _MOST_CELLS:
                return
            before = self.packings.get(steps - 1)
            packing = Packing(self.problem, steps, before.trees if before else None)
            yield from self._pack(packing, self.until.share(_SHARE))
            if not packing.feasible or self.until.passed:
                return
            self.packings[steps] = packing
            gained = before is None or packing.value < before.value * _WORTH
            of_no_use = 0 if gained else of_no_use + 1
            if of_no_use >= _STEPS_OF_NO_USE or packing.value <= self.least * (1 + _TOLERANCE):
                break
        while waiting := [p for p in self.packings.values() if not p.rested]:
            for i, packing in enumerate(waiting):
                if self.until.passed:
                    return
                yield from self._pack(packing, self.until.share(1 / (len(waiting) - i)))

    def _pack(self, packing: Packing, until: Deadline) -> Iterator[Proposal]:
        """Improves a packing, and deals it: soon, and when it is at rest or its time is over."""
        self._improve(packing, until.working(_FIRST_SECONDS))
        if not packing.rested:
            yield from self._deal(packing, until.sooner(_SKETCH_SECONDS), last=False)
            self._improve(packing, until.share(1 - _SHARE_OF_DEAL))
        yield from self._deal(packing, self.until.sooner(_DEAL_SECONDS), last=True)

    def _improve(self, packing: Packing, until: Deadline) -> None:
        while not packing.rested and packing.feasible and not until.passed:
            packing.improve(max(0.1, until.left()))

    def _deal(self, packing: Packing, until: Deadline, *, last: bool) -> Iterator[Proposal]:
        """What a packing can be dealt to, if that is better than what is known."""
        steps = packing.steps
        known = min((b for s, b in self.best.items() if s <= steps), default=None)
        if isinf(packing.value) or not packing.feasible:
            return  # there was not even time for a first one
        if known is not None and packing.value >= known * (1 - _TOLERANCE):
            return
        for chunks in promising(packing, self.most_chunks, known)[: None if last else 1]:
            dealt = deal(packing, chunks, until.share(0.5), thorough=last)
            if known is not None and dealt.bandwidth >= known:
                continue
            known = dealt.bandwidth
            self.best[steps] = known
            trees = sum(len(trees) for trees in dealt.trees)
            note = f"{trees} timed trees"
            if self.problem.group.order > 1:
                note += f", carried round by {self.problem.group.order} automorphisms"
            yield Proposal(chunks, algorithm_of(self.problem, dealt), note)
            if known <= packing.value * _EXACT:
                return
