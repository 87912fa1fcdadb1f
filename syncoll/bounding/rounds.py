"""Lower bounds on rounds: the best that the affordable relaxations prove."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from syncoll.bounding.cuts import around_nodes, find_cut
from syncoll.bounding.network import TimeExpandedNetwork
from syncoll.bounding.relaxation import Relaxation, RelaxationKind, most_variables
from syncoll.bounding.trees import find_tree_prices
from syncoll.certificates.certificate import RoundsBound
from syncoll.certificates.classes import Demand, DemandView
from syncoll.certificates.prices import PriceCertificate
from syncoll.deadline import Deadline, OutOfTimeError, interrupted_at
from syncoll.memory import budget, on_refusal
from syncoll.model import Topology

__all__ = ["least_cut", "rounds_bound", "with_cut", "with_trees"]

QUICK = (60_000, 3_000)
"""The larger relaxation takes tenths of a second with at most so many variables when it is built,
and so many left for the solver after the reduction."""

THOROUGH = (1_500_000, 40_000)
"""With more variables than this it takes minutes, and more than a GiB of memory."""

_LARGEST_BUILT = 4_000_000
"""Flows times links times steps of the largest program that is tried at all."""

_BUILT_PER_SECOND = 100_000
"""The number of variables that are built and reduced in a second."""


def rounds_bound(
    topology: Topology,
    demands: Sequence[Demand],
    steps: int | None = None,
    *,
    thorough: bool = True,
    seconds: float | None = 20.0,
    reading: DemandView = DemandView.MOVING,
    node: int | None = None,
) -> RoundsBound:
    """The best bound on R that the relaxations prove in the time, exact and certified.

    Args:
        demands: what must get where; every destination must be within reach.
        steps: S, or None for any number of steps.
        thorough: whether to solve the larger relaxation also where it may take many seconds.
        seconds: time limit of all of it; None for none.  What is proved by then counts.
        reading: what the demands are, for the record.
        node: what the demands are about, for the record.
    """
    deadline = Deadline.after(seconds)
    best = RoundsBound(Fraction(0), steps, None, reading, node)
    if not demands:
        return best
    network = TimeExpandedNetwork.of(topology, steps)
    kinds = [RelaxationKind.TOGETHER, RelaxationKind.COPIES]
    if all(len(demand.destinations) == 1 for demand in demands):
        kinds = [RelaxationKind.COPIES]  # the same flows, but sharing the capacities
    built, solved_columns = THOROUGH if thorough else QUICK
    first = THOROUGH[0]
    if seconds is not None:  # what would not even be built in the time is not begun
        built, first = (min(most, int(seconds * _BUILT_PER_SECOND)) for most in (built, first))
    if most_variables(topology, demands, steps, RelaxationKind.TOGETHER) > _LARGEST_BUILT:
        return best  # even the smaller relaxation would take minutes and GiBs to build
    of = "any number of steps" if steps is None else f"S = {steps}"
    try:
        with interrupted_at(deadline):
            for kind in kinds:
                relaxation = Relaxation(network, demands, kind)
                larger = kind is not kinds[0]
                if not relaxation.fits(built if larger else first, deadline):
                    continue
                if why := budget().lacks(relaxation.needed_bytes, f"the bound on R for {of}"):
                    on_refusal(f"{why}: skipped; weaker bounds take its place")
                    continue
                solved = relaxation.solve(deadline.seconds, solved_columns if larger else None)
                if solved is not None and solved.proved > best.rounds:
                    best = RoundsBound(solved.proved, steps, solved.certificate, reading, node)
    except OutOfTimeError:
        pass  # what is proved so far holds
    except MemoryError:
        on_refusal(f"no memory was left for the bound on R for {of}: a weaker one stands in")
    return best


def with_cut(
    topology: Topology,
    demands: Sequence[Demand],
    bound: RoundsBound,
    seconds: float | None = None,
) -> RoundsBound:
    """A bound for any number of steps as a cut, where one proves as much: it is easier to read."""
    if not isinstance(bound.certificate, PriceCertificate) or bound.steps is not None:
        return bound
    try:
        with interrupted_at(Deadline.after(seconds)):
            cut = find_cut(topology, demands, bound.rounds, bound.certificate)
            if cut is None:
                return bound
            return replace(bound, rounds=cut.check(topology, demands), certificate=cut)
    except OutOfTimeError:
        return bound


def least_cut(topology: Topology, demands: Sequence[Demand]) -> RoundsBound:
    """The bound of the best cut around a single node: no linear program, for any size."""
    cut = around_nodes(topology, demands)
    if cut is None:
        return RoundsBound(Fraction(0), None, None)
    return RoundsBound(cut.check(topology, demands), None, cut)


def with_trees(
    topology: Topology, demands: Sequence[Demand], bound: RoundsBound, seconds: float
) -> RoundsBound:
    """A bound for so many steps, or a better one that trees prove within the time."""
    if bound.steps is None:
        return bound
    try:
        with interrupted_at(Deadline.after(seconds)):
            found = find_tree_prices(
                topology, demands, bound.steps, seconds, more_than=bound.rounds
            )
    except OutOfTimeError:
        return bound
    return bound if found is None else replace(bound, rounds=found[0], certificate=found[1])
