"""Lower bounds on rounds: the best that the affordable relaxations prove."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from syncoll.bounds.demand import Demand
from syncoll.bounds.network import FlowNetwork
from syncoll.bounds.prices import PriceCertificate
from syncoll.bounds.relaxation import Relaxation, RelaxationKind
from syncoll.model import Topology

__all__ = ["RoundsBound", "rounds_bound"]

QUICK_COLUMNS = 4_000
"""With no more variables than this the larger relaxation takes tenths of a second."""

THOROUGH_COLUMNS = 60_000
"""With more variables than this it takes many minutes."""


@dataclass(frozen=True)
class RoundsBound:
    """A proved lower bound on R.

    Args:
        rounds: every algorithm (of at most `steps` steps) needs at least so many.
        steps: S, or None when the bound holds for any number of steps.
        certificate: the proof; None for the bound 0, which needs none, and for bounds that rest
            on another argument.
        argument: why the bound holds, in words.
        mirrored: whether the certificate speaks of the reversed topology, backwards in time.
    """

    rounds: Fraction
    steps: int | None
    certificate: PriceCertificate | None
    argument: str = "prices on the links"
    mirrored: bool = False


def rounds_bound(
    topology: Topology,
    demands: Sequence[Demand],
    steps: int | None = None,
    *,
    thorough: bool = True,
    seconds: float | None = 20.0,
) -> RoundsBound:
    """The best bound on R that the relaxations prove in the time, exact and certified.

    Args:
        topology: P and B.
        demands: what must get where; every destination must be within reach.
        steps: S, or None for any number of steps.
        thorough: whether to solve the larger relaxation also where it may take many seconds.
        seconds: time limit of each linear program; None for none.
    """
    best = RoundsBound(Fraction(0), steps, None)
    if not demands:
        return best
    network = FlowNetwork.of(topology, steps)
    kinds = [RelaxationKind.TOGETHER, RelaxationKind.COPIES]
    if all(len(demand.destinations) == 1 for demand in demands):
        kinds = [RelaxationKind.COPIES]  # the same flows, but sharing the capacities
    for kind in kinds:
        relaxation = Relaxation(network, demands, kind)
        most = THOROUGH_COLUMNS if thorough else QUICK_COLUMNS
        if kind is not kinds[0] and relaxation.num_columns > most:
            continue
        if solved := relaxation.solve(seconds):
            _, certificate = solved
            # What counts is what the exact check proves, not the linear program's float.
            proved = certificate.check(topology, demands)
            if proved > best.rounds:
                best = RoundsBound(proved, steps, certificate)
    return best
