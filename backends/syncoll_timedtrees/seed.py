"""Algorithms from packings of timed trees: for one number of steps after the other, then again.

Every S has its own packing (`program`), which begins with the trees of fewer steps.  First each
gets a little time; then those that have not come to rest get more, in turn, and whenever a packing
has become better its trees are dealt to whole chunks (`rounding`).
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

_MOST_CELLS = 1 << 26
"""Links times steps times nodes: the largest table that the search for trees makes."""

_FIRST_SECONDS = 0.3
_SKETCH_SECONDS, _DEAL_SECONDS = 0.3, 2.0
_TOLERANCE = 1e-6
_SHARE = 0.8
"""The part of the time in which packings are improved; in the rest they are dealt once more."""

_EXACT = 1.0005
"""Nearer to the value of a packing it is not tried to come."""

_WORTH = 0.998
"""A packing is dealt again, or gets one more step, when that lowers R/C to this part."""

_STEPS_OF_NO_USE = 2
"""With so many more steps of no use the last S is reached."""


def fits(topology: Topology, collective: Collective) -> Answer:
    """Whether chunks only move, and the tables are not too large."""
    if collective.combining:
        return Answer(False, "it combines; trees move data, and the search turns them round")
    if topology.num_nodes < 2:
        return Answer(False, "a single node has nobody to send to")
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
        self.dealt: dict[int, float] = {}
        """The value with which the packing of each S was dealt."""
        self.ended: set[int] = set()
        """Those S whose packing, at rest or not, was dealt for the last time."""
        self.best: dict[int, Fraction] = {}
        self.most_steps = limits.max_steps or problem.num_nodes * 2

    def proposals(self) -> Iterator[Proposal]:
        """Everything that comes out, until it is late or nothing becomes better."""
        yield from self._pack(self.until.share(_SHARE))
        for packing in self.packings.values():
            if not self.until.passed:
                yield from self._deal(packing, last=True)

    def _pack(self, until: Deadline) -> Iterator[Proposal]:
        """What comes out while packings become better."""
        of_no_use = 0
        for steps in range(max(1, self.problem.least_steps), self.most_steps + 1):
            before = self.packings.get(steps - 1)
            packing = Packing(self.problem, steps, before.trees if before else None)
            self._improve(packing, until.working(_FIRST_SECONDS))
            if not packing.feasible:
                return
            self.packings[steps] = packing
            yield from self._deal(packing)
            gained = before is None or packing.value < before.value * _WORTH
            of_no_use = 0 if gained else of_no_use + 1
            if of_no_use >= _STEPS_OF_NO_USE or until.passed:
                break
        seconds = _FIRST_SECONDS
        while waiting := [p for p in self.packings.values() if not p.rested]:
            seconds *= 2
            for packing in waiting:
                if until.passed:
                    return
                self._improve(packing, until.working(seconds))
                yield from self._deal(packing)

    def _improve(self, packing: Packing, until: Deadline) -> None:
        while not packing.rested and packing.feasible and not until.passed:
            packing.improve(max(0.1, until.left()))

    def _deal(self, packing: Packing, *, last: bool = False) -> Iterator[Proposal]:
        """A proposal or two, if the packing has become better or does so no more."""
        steps = packing.steps
        last = last or packing.rested
        if steps in self.ended:
            return
        if last:
            self.ended.add(steps)
        known = min((b for s, b in self.best.items() if s <= steps), default=None)
        if isinf(packing.value):
            return  # there was not even time for a first one
        if not last and packing.value >= self.dealt.get(steps, float("inf")) * _WORTH:
            return
        if known is not None and packing.value >= known * (1 - _TOLERANCE):
            return
        self.dealt[steps] = packing.value
        for chunks in promising(packing, self.most_chunks, known)[: None if last else 1]:
            share = self.until.share(0.25).sooner(_DEAL_SECONDS if last else _SKETCH_SECONDS)
            dealt = deal(packing, chunks, share, thorough=last)
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
