"""The shares of the time that the engines of a search have, as one table."""

from __future__ import annotations

from dataclasses import dataclass

from syncoll.ledger.sizes import Size, size_of
from syncoll.model import Topology

__all__ = ["LARGE", "SMALL", "Shares", "shares_of"]


@dataclass(frozen=True)
class Shares:
    """Parts of the time that is left when an engine begins.

    Args:
        seed_seconds: work of seeds before a solver is asked, without a limit of time.
        seeds: the least and the most of the time for that where there is a limit: searches that
            have one are long.
        seeds_combining: the same where data is combined, where a solver is slow.
        before_solver: when seeds are stopped, however little a busy machine let them work.
        alone: the same where no solver is asked; the rest is for proofs about their points.
        unproved: and where nothing is to be proved either.
        again: one turn of seeds when the solver finds its questions hard.
        symmetric, symmetric_combining: symmetric algorithms, before all algorithms are asked for;
            where data is combined whole formulas are many times larger.
        neighbourhoods: large neighbourhoods of the incumbents, before the symmetric search and
            after it.
        first_bound: a composition's bound for any number of steps; most claims rest on it.
        whole: seeds of a composition's whole, before its parts.
        bounds: bounds of their points before the parts; in the end there is seldom time for them.
        parts: the parts of the first way to compose.
        parts_far: the same where seeds of the whole are far from the bound, or work in the
            background of a wide network.
        other_ways: the parts of any other way, and `other_ways_near` where seeds of the whole are
            near the bound.
        terms: the terms of a sum, soon for a first point and then as long as it is worth.
    """

    seed_seconds: float
    seeds: tuple[float, float]
    whole: float
    parts: float
    parts_far: float
    other_ways_near: float
    symmetric_combining: float
    bounds: float
    seeds_combining: tuple[float, float] = (0.75, 0.75)
    before_solver: float = 0.8
    alone: float = 0.7
    unproved: float = 0.95
    again: float = 0.5
    symmetric: float = 0.25
    neighbourhoods: float = 0.1
    first_bound: float = 0.15
    other_ways: float = 0.25
    terms: tuple[float, float] = (0.15, 0.5)


SMALL = Shares(
    seed_seconds=1.0,
    seeds=(0.05, 0.3),
    whole=0.35,
    parts=0.4,
    parts_far=0.4,
    other_ways_near=0.25,
    symmetric_combining=0.6,
    bounds=0.0,
)
"""Networks on which a solver is often as fast as a seed."""

LARGE = Shares(
    seed_seconds=20.0,
    seeds=(0.75, 0.75),
    whole=0.4,
    parts=0.25,
    parts_far=0.8,
    other_ways_near=0.1,
    symmetric_combining=0.25,
    bounds=0.12,
)
"""All others: chosen by the rows of `benchmarks/scale.py` (seeds), `allreduce.py` (whole, parts,
bounds) and `exchanges.py` (other ways)."""


def shares_of(topology: Topology) -> Shares:
    """The shares for a search on a network."""
    return SMALL if size_of(topology) <= Size.SMALL else LARGE
