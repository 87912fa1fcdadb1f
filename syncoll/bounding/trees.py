"""Finding tree prices (`syncoll.certificates.trees`), the strongest bound for S steps.

Of a single demand they are the same on all bounds that symmetry exchanges, which leaves few of
them.  The trees of known algorithms are a warm start.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

import numpy as np

from syncoll.arrays import IntArray
from syncoll.bounding.orbit_model import OrbitModel
from syncoll.bounding.rationals import rationalise
from syncoll.bounding.tree_pricing import SHARE, Sends, TreeOracle, best_prices, orbits_of_sets
from syncoll.certificates.chunk_classes import Demand
from syncoll.certificates.priced import Priced
from syncoll.certificates.steiner import affordable
from syncoll.certificates.trees import Trees
from syncoll.deadline import NEVER, Deadline
from syncoll.model import Algorithm, RelationTable, Topology
from syncoll.packing.master import Master
from syncoll.symmetry.orbits import automorphisms_fixing

__all__ = ["find_tree_prices", "trees_of"]


def find_tree_prices(
    topology: Topology,
    demands: Sequence[Demand],
    steps: int,
    until: Deadline = NEVER,
    more_than: Fraction | None = None,
    known: Iterable[tuple[int, Sends]] = (),
) -> tuple[Fraction, Priced] | None:
    """The best bound of this kind found in the time, with its certificate.

    Args:
        demands: what must get where, within reach in S steps.
        until: what is proved by then counts.
        more_than: a bound up to this, which flows prove for instance, is not returned; end early
            when no prices can prove more.
        known: trees to begin with, each with the position of its demand.

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
            first=0,
            sets=orbits_of_sets(topology, demand, images),
        )
        for demand in demands
    ]
    rates = [float(rate) for rate in model.rates]
    master = Master(rates, [demand.count for demand in demands], steps)
    for k, sends in known:
        master.add(k, oracles[k].load(sends, steps))
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


def trees_of(
    algorithm: Algorithm, table: RelationTable, topology: Topology, demands: Sequence[Demand]
) -> Iterator[tuple[int, Sends]]:
    """The different trees that chunks of an algorithm take, each with the position of its demand.

    Args:
        table: where the chunks of the algorithm start and must end.
    """
    number = {(one.sources, one.destinations): k for k, one in enumerate(demands)}
    trees: dict[int, Sends] = {}
    for chunk, source, destination, step in algorithm.sends.tolist():
        trees.setdefault(chunk, Sends())[topology.link_index[source, destination], step] += 1
    seen = set()
    for chunk, sends in trees.items():
        pre, post = table.pre[chunk], table.post[chunk]
        ends = (tuple(np.flatnonzero(some).tolist()) for some in (pre, post & ~pre))
        k = number.get((next(ends), next(ends)))
        if k is not None and (k, *sorted(sends)) not in seen:
            seen.add((k, *sorted(sends)))
            yield k, sends
