"""The shares of the time that the engines of a search have, as one table."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from syncoll.deadline import Deadline
from syncoll.ledger.request import is_small
from syncoll.model import Topology
from syncoll.model.rows import RelationTable
from syncoll.symmetry import FreeGroup, free_symmetry

__all__ = ["FAR", "LONG_SECONDS", "NEAR", "SHORT_SECONDS", "Shares", "found_group", "shares_of"]

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
    """Parts of the time that is left when an engine begins."""

    # Seeds, before a solver is asked: seconds of work without a limit of time.
    seed_seconds: float
    # Least and most of the time where there is a limit; where data is combined a solver is slow.
    seeds: tuple[float, float]
    seeds_combining: tuple[float, float]
    # When they are stopped, however little a busy machine let them work; the same where no solver
    # is asked, the rest being for proofs, and where nothing is to be proved either.
    before_solver: float
    alone: float
    unproved: float
    # A seed's work until its first algorithm; waiting for proposals from the background in the
    # beginning; one turn when the solver finds its questions hard; kept free for proofs in the end.
    patience: float
    waiting: float
    again: float
    claims: float
    # Of an engine's time, for finding a group of symmetries.
    group: float
    # Large neighbourhoods of incumbents, before and after symmetric algorithms; these, and where
    # data is combined, whose whole formulas are many times larger.
    neighbourhoods: float
    symmetric: float
    symmetric_combining: float
    # Of a composition: the bound for any number of steps, on which most claims rest; a first look
    # of seeds of the whole on a wide network; all their time before the parts; bounds of their
    # points, for which there is seldom time in the end.
    first_bound: float
    first_look: float
    whole: float
    bounds: float
    # The parts of the first way; the same where seeds of the whole are far from the bound or work
    # in the background; those of another way, and where seeds of the whole are near the bound.
    parts: float
    parts_far: float
    other_ways: float
    other_ways_near: float
    # The terms of a sum, soon for a first point and then as long as it is worth.
    terms: tuple[float, float]


def shares_of(topology: Topology) -> Shares:
    """The shares for a search on a network; on a small one a solver is often as fast as a seed.

    Chosen by the rows of `benchmarks/scale.py` (seeds to symmetric), `allreduce.py` (those of
    compositions; dgx1 and torus(4,4) for small ones) and `exchanges.py` (other ways).
    """
    small = is_small(topology)
    return Shares(
        seed_seconds=1.0 if small else 20.0,
        seeds=(0.05, 0.3) if small else (0.75, 0.75),
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
        symmetric_combining=0.6 if small else 0.25,
        first_bound=0.15,
        first_look=0.12,
        whole=0.35 if small else 0.4,
        bounds=0.12,
        parts=0.4 if small else 0.25,
        parts_far=0.4 if small else 0.8,
        other_ways=0.25,
        other_ways_near=0.25 if small else 0.1,
        terms=(0.15, 0.5),
    )


def found_group(topology: Topology, table: RelationTable, until: Deadline) -> FreeGroup:
    """The largest free group that is found in an engine's share of the time for that."""
    own = until.share(shares_of(topology).group)
    return free_symmetry(topology, table, own, thorough=True)
