"""Points that seeds construct before any solver is asked.

A seed is a heuristic: fast, and known only to be right once the verifier has passed what it made.
Its points are shown at once, bound what the solver is asked for from above, and where they meet a
proved bound nothing is left to ask.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from syncoll.errors import SyncollError, VerificationError
from syncoll.model import Collective, Topology
from syncoll.plugins import OptionValue, Proposal, SeedLimits, SeedRecord
from syncoll.search.frontier import Point
from syncoll.verify import require_valid

__all__ = ["ChosenSeed", "Seeding"]


@dataclass(frozen=True, eq=False)
class ChosenSeed:
    """A seed that a search starts from.

    Args:
        record: its entry.
        options: a value for every option of its table.
    """

    record: SeedRecord
    options: Mapping[str, OptionValue]


class Seeding:
    """Asks seeds for points.

    Args:
        seeds: in the order in which they are asked.
        told: is told, in words, when a seed fails: it must not end the search.
    """

    def __init__(
        self, seeds: Sequence[ChosenSeed], told: Callable[[str], None] = lambda _: None
    ) -> None:
        self.seeds, self._told = tuple(seeds), told

    @property
    def name(self) -> str:
        """The names of the seeds."""
        return "+".join(seed.record.name for seed in self.seeds)

    def points(
        self, topology: Topology, collective: Collective, limits: SeedLimits
    ) -> Iterator[Point]:
        """Verified points, as they come.

        Args:
            topology: where.
            collective: what.
            limits: no point is beyond them.
        """
        ends = None if limits.seconds is None else time.perf_counter() + limits.seconds
        for seed in self.seeds:
            fits = seed.record.fits(topology, collective)
            if not fits.ok:
                continue
            began = time.perf_counter()
            try:
                for proposal in seed.record.load().propose(
                    topology, collective, limits, seed.options
                ):
                    spent = time.perf_counter() - began
                    point = _point(seed, proposal, topology, collective, spent)
                    if _within(point, limits):
                        yield point
                    if ends is not None and time.perf_counter() >= ends:
                        return
                    began = time.perf_counter()
            except VerificationError as error:
                self._told(f"seed {seed.record.name} proposed what is no algorithm: {error}")
            except SyncollError as error:
                self._told(f"seed {seed.record.name}: {error}")


def _point(
    seed: ChosenSeed,
    proposal: Proposal,
    topology: Topology,
    collective: Collective,
    seconds: float,
) -> Point:
    """A proposal as a point, at its tightest and verified."""
    algorithm = proposal.algorithm.tightened(topology)
    instance = collective.instantiate(
        topology, chunks=proposal.chunks, steps=algorithm.steps, rounds=algorithm.rounds
    )
    require_valid(instance, algorithm)
    return Point(instance, algorithm, "seed", seed.record.name, seconds)


def _within(point: Point, limits: SeedLimits) -> bool:
    return all(
        most is None or value <= most
        for value, most in (
            (point.steps, limits.max_steps),
            (point.rounds, limits.max_rounds),
            (point.chunks, limits.max_chunks),
        )
    )
