"""Finding tree prices (`syncoll.certificates.trees`), the strongest bound for S steps.

Of a single demand they are the same on all bounds that symmetry exchanges, which leaves few of
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from syncoll.arrays import IntArray
from syncoll.bounding.orbit_model import OrbitModel
from syncoll.bounding.rationals import rationalise
from syncoll.bounding.tree_pricing import SHARE, TreeOracle, best_prices, orbits_of_sets
from syncoll.certificates.chunk_classes import Demand
from syncoll.certificates.priced import Priced
from syncoll.certificates.steiner import affordable
from syncoll.certificates.trees import Trees
from syncoll.deadline import NEVER, Deadline
from syncoll.model import Topology
from syncoll.packing.master import Master
from syncoll.symmetry.fixing import automorphisms_fixing

__all__ = ["find_tree_prices"]


def find_tree_prices(
    topology: Topology,
    demands: Sequence[Demand],
    steps: int,
    until: Deadline = NEVER,
    more_than: Fraction | None = None,
) -> tuple[Fraction, Priced] | None:
    """The best bound of this kind found in the time, with its certificate.

    Args:
        demands: what must get where, within reach in so many steps.
        until: what is proved by then counts.
        more_than: only a bound above this is of use, above what flows prove for instance; end
            early when no prices can prove so much.

    Returns:
        None when a chunk starts nowhere or has too many destinations, or nothing above `more_than`
        is proved.
    """
    if not demands or not all(affordable(topology, demand) for demand in demands):
        return None
    images: list[IntArray] = []
    if len(demands) == 1:
        images = automorphisms_fixing(topology, (demands[0].sources, demands[0].destinations))
    model = OrbitModel(topology, steps, images)
    oracles = [
        TreeOracle(
            topology,
            demand,
            demand.count,
            model.members,
            sets=orbits_of_sets(topology, demand, images),
        )
        for demand in demands
    ]
    rates = [float(rate) for rate in model.rates]
    master = Master(rates, [demand.count for demand in demands], steps)
    generated = until if until.is_never else until.share(SHARE)
    best = best_prices(master, oracles, model.even_prices(), generated, more_than)
    if best is None:
        return None
    value, prices = best
    found = rationalise(
        prices,
        value,
        lambda rounding: Priced(steps, model.priced(prices, rounding), Trees()),
        lambda proof: proof.check(topology, demands),
        until,
    )
    return found if found is not None and found[0] > (more_than or 0) else None
