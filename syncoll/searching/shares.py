"""The shares of the time that the engines of a search have, as one table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from syncoll.ledger.sizes import Size, size_of
from syncoll.model import Topology

__all__ = [
    "FAR",
    "LARGE",
    "LONG_SECONDS",
    "NEAR",
    "SHORT_SECONDS",
    "SMALL",
    "Shares",
    "shares_of",
]

SHORT_SECONDS, LONG_SECONDS = 2.0, 10.0
"""A short while on a busy machine: for a quick seed, for proposals of millions of sends to be taken
in, for a solver to decide an easy candidate (torus(16,16) in `benchmarks/exchanges.py`).  And a
long one: a turn of seeds once a solver is stuck, and all bounds where no solver is asked.
"""

NEAR, FAR = Fraction(1005, 1000), Fraction(2)
"""Costs of at most so many times others are near them: no time is spent on the difference.  Those
of so many times are far, as of broadcasts in the fewest steps."""


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
        patience: a seed's work until its first algorithm.
        waiting: in the beginning, for proposals from the background.
        claims: kept free in the end for proofs.
        group: of an engine's time, for finding a group of symmetries.
        symmetric, symmetric_combining: symmetric algorithms, before all algorithms are asked for;
            where data is combined whole formulas are many times larger.
        neighbourhoods: large neighbourhoods of the incumbents, before the symmetric search and
            after it.
        first_bound: a composition's bound for any number of steps; most claims rest on it.
        first_look: seeds of the whole on a wide network, which go on only if their points are near
            the bound.
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
    seeds_combining: tuple[float, float]
    before_solver: float
    alone: float
    unproved: float
    patience: float
    waiting: float
    again: float
    claims: float
    group: float
    neighbourhoods: float
    symmetric: float
    symmetric_combining: float
    first_bound: float
    first_look: float
    whole: float
    bounds: float
    parts: float
    parts_far: float
    other_ways: float
    other_ways_near: float
    terms: tuple[float, float]


LARGE = Shares(
    seed_seconds=20.0,
    seeds=(0.75, 0.75),
    seeds_combining=(0.75, 0.75),
    before_solver=0.8,
    alone=0.7,
    unproved=0.95,
    patience=0.15,
    waiting=0.3,
    again=0.5,
    claims=0.1,
    group=0.1,
    neighbourhoods=0.1,
    symmetric=0.25,
    symmetric_combining=0.25,
    first_bound=0.15,
    first_look=0.12,
    whole=0.4,
    bounds=0.12,
    parts=0.25,
    parts_far=0.8,
    other_ways=0.25,
    other_ways_near=0.1,
    terms=(0.15, 0.5),
)
"""Chosen by the rows of `benchmarks/scale.py` (seeds to symmetric), `allreduce.py` (first_bound to
parts_far) and `exchanges.py` (other ways)."""

SMALL = replace(
    LARGE,
    seed_seconds=1.0,
    seeds=(0.05, 0.3),
    symmetric_combining=0.6,
    whole=0.35,
    parts=0.4,
    parts_far=0.4,
    other_ways_near=0.25,
)
"""For networks on which a solver is often as fast as a seed (dgx1 and torus(4,4) in
`benchmarks/allreduce.py`)."""


def shares_of(topology: Topology) -> Shares:
    """The shares for a search on a network."""
    return SMALL if size_of(topology) <= Size.SMALL else LARGE
