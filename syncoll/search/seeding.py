"""Points that seeds construct before any solver is asked.

A seed is a heuristic: fast, and known only to be right once the verifier has passed what it made.
Its points are shown at once, bound what the solver is asked for from above, and where they meet a
proved bound nothing is left to ask.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

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
        named: whether a user asked for it by name, and wants to know why it has no idea.
    """

    record: SeedRecord
    options: Mapping[str, OptionValue]
    named: bool = False


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
        self._said: set[str] = set()
        self._refusals: dict[str, str] = {}
        self._heard: set[str] = set()

    @property
    def name(self) -> str:
        """The names of the seeds."""
        return "+".join(seed.record.name for seed in self.seeds)

    @property
    def refusals(self) -> Mapping[str, str]:
        """Why seeds that a user named proposed nothing so far, neither for a collective nor for
        any part of it."""
        return {name: why for name, why in self._refusals.items() if name not in self._heard}

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
            began = time.perf_counter()
            try:
                fits = seed.record.fits(topology, collective)
                if not fits.ok:
                    if seed.named:
                        self._refusals.setdefault(seed.record.name, fits.reason)
                    continue
                left = None if ends is None else max(0.0, ends - time.perf_counter())
                for proposal in seed.record.load().propose(
                    topology, collective, replace(limits, seconds=left), seed.options
                ):
                    spent = time.perf_counter() - began
                    point = _point(seed, proposal, topology, collective, spent)
                    self._heard.add(seed.record.name)
                    if _within(point, limits):
                        yield point
                    if ends is not None and time.perf_counter() >= ends:
                        return
                    began = time.perf_counter()
            except VerificationError as error:
                self._tell(f"seed {seed.record.name} proposed what is no algorithm: {error}")
            except SyncollError as error:
                self._tell(f"seed {seed.record.name}: {error}")
            except Exception as error:  # a broken plugin must not end the search
                self._tell(f"seed {seed.record.name} failed: {type(error).__name__}: {error}")

    def _tell(self, text: str) -> None:
        """Tells something once: the parts of a composition ask for much the same."""
        if text not in self._said:
            self._said.add(text)
            self._told(text)


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
