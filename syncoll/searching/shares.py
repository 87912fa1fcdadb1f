"""The shares of time of the engines of a search, as one table."""

from dataclasses import dataclass
from fractions import Fraction

from syncoll.deadline import Deadline
from syncoll.ledger.request import SearchRequest, is_small
from syncoll.model import RelationTable, Topology
from syncoll.symmetry import FreeGroup, free_symmetry

SHORT_SECONDS, LONG_SECONDS = 2.0, 10.0
"""A short time on a busy machine: for a quick seed, for taking in proposals of millions of sends,
for a solver to decide an easy candidate (torus(16,16) in `benchmarks/exchanges.py`). And a long
one: a turn of seeds once a solver is stuck, and all bounds without a solver."""

NEAR, FAR = Fraction(1005, 1000), Fraction(2)
"""Costs within the first factor of others are near them: no time is spent on the difference.  Costs
beyond the second are far, as of broadcasts in the fewest steps."""


WORTH = Fraction(1001, 1000)
"""Solvers are asked for a gain in R/C below this factor only where formulas are small
(dgx_h100(boxes=2) allgather)."""


@dataclass(frozen=True)
class Shares:
    """Shares of the time that is left when an engine begins, on a large network.

    Chosen by the rows of `benchmarks/scale.py` (seeds to symmetric), `allreduce.py` (compositions;
    dgx1 and torus(4,4) for small ones) and `exchanges.py` (other ways).
    """

    # Seeds, before a solver is asked: seconds of work without a time limit.
    seed_seconds: float = 20.0
    # The least and most share of a time limit; for combining collectives a solver is slow.
    seeds: tuple[float, float] = (0.75, 0.75)
    seeds_combining: tuple[float, float] = (0.75, 0.75)
    # The end of their turn on the wall, even on a busy machine: before a solver, without a solver
    # (the rest is for proofs), and without proofs.
    before_solver: float = 0.8
    alone: float = 0.7
    unproved: float = 0.95
    # A seed's work until its first algorithm; the first wait for proposals from the background; one
    # turn when the solver is stuck; time reserved for proofs at the end.
    patience: float = 0.15
    waiting: float = 0.3
    again: float = 0.5
    claims: float = 0.1
    # Of an engine's time, for finding a group of symmetries.
    group: float = 0.1
    # Large neighbourhoods of incumbents, before and after symmetric algorithms; symmetric
    # algorithms; and these for combining collectives, whose whole formulas are many times larger.
    neighbourhoods: float = 0.1
    symmetric: float = 0.25
    symmetric_combining: float = 0.25
    # Of a composition: the bound for any number of steps, on which most claims rest; a short first
    # turn of seeds of the whole on a wide network; all their time before the parts; bounds of their
    # points, which seldom have time in the end.
    first_bound: float = 0.15
    first_look: float = 0.12
    whole: float = 0.4
    bounds: float = 0.12
    # The parts of the first way; the same if seeds of the whole are far from the bound or work in
    # the background; another way; and another way if seeds of the whole are near the bound.
    parts: float = 0.25
    parts_far: float = 0.8
    other_ways: float = 0.25
    other_ways_near: float = 0.1
    # The claims about compositions, before the solver is asked for better algorithms.
    claims_of_parts: float = 0.3
    # The same machine in whole rounds, or without some links.
    other_machine: float = 0.2
    # Whether seeds of a composition go on before a solver is asked for the whole.
    seeds_go_on: bool = True
    # The terms of a sum: a short turn for a first point, and a long one.
    terms: tuple[float, float] = (0.15, 0.5)


_SMALL = Shares(
    seed_seconds=1.0,
    seeds=(0.05, 0.3),
    symmetric_combining=0.6,
    whole=0.35,
    parts=0.4,
    parts_far=0.4,
    other_ways_near=0.25,
    seeds_go_on=False,
)
"""On a small network a solver is often as fast as a seed."""

_SMALL_IN_GRAINS = Shares(
    whole=0.75, first_bound=0.05, parts=0.5, parts_far=0.5, claims_of_parts=0.1, other_machine=0.1
)
"""Compositions of few chunks in parts of rounds: a solver has many R to decide, and seeds
seldom end early.  Row mi250(boxes=1) allreduce of benchmarks/results/deployable.md."""


def shares_of(request: SearchRequest) -> Shares:
    """The shares for a search."""
    if not is_small(request.topology):
        return Shares()
    composes = request.collective.combining or request.is_part
    return _SMALL_IN_GRAINS if composes and request.grains > 1 and request.max_chunks else _SMALL


def found_group(topology: Topology, table: RelationTable, until: Deadline) -> FreeGroup:
    """The largest free group that is found in an engine's share of its time for groups."""
    own = until.share(Shares.group)
    return free_symmetry(topology, table, own, thorough=True)
