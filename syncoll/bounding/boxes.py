"""Finds prices under which the exchange of a chunk between boxes costs most (`certificates.boxes`).

The columns of the master program are exchanges: the sends within boxes and between them in each
step.  Four boxes take about a second.
"""

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from syncoll.arrays import Bools, Floats
from syncoll.bounding.orbit_model import OrbitModel
from syncoll.bounding.trees import Sends, TreeOracle, find_prices
from syncoll.certificates.boxes import (
    MOST_BOXES,
    MOST_STEPS,
    Boxes,
    cheapest_exchange,
    fewest,
    inside_boxes,
    moves_of,
)
from syncoll.certificates.chunk_classes import ChunkClasses, Demand
from syncoll.certificates.priced import Priced
from syncoll.clock import took
from syncoll.deadline import NEVER, Deadline
from syncoll.model import Topology
from syncoll.model.width_clusters import boxes_by_width
from syncoll.packing.master import Master

_UNITS_PER_MOVE = 6e-7
"""Work units for a move between states of an exchange, in each step; of 4 boxes and 6 steps."""


def find_boxes(
    topology: Topology,
    shape: ChunkClasses,
    steps: int,
    deadline: Deadline = NEVER,
    more_than: Fraction = Fraction(0),
) -> tuple[Fraction, Priced] | None:
    """The best bound of this kind for at most S steps, with its certificate; None without boxes of
    several nodes, with too many steps, or if it is at most `more_than`."""
    numbered = (np.unique(label, return_inverse=True)[1] for label in boxes_by_width(topology))
    every = [Boxes(tuple(parts.tolist())) for parts in numbered if parts.max() < MOST_BOXES]
    if not every or steps > MOST_STEPS:
        return None  # before symmetry is looked for, which takes long
    best: tuple[Fraction, Priced] | None = None
    model = OrbitModel.of(topology, shape, steps)
    for boxes in every:
        found = _priced(model, boxes, deadline, more_than)
        best, more_than = (found, found[0]) if found else (best, more_than)
    return best


@dataclass(frozen=True, eq=False)
class _Exchanges(TreeOracle):
    """The oracle of one class of chunks.

    Args:
        inside: ``[L]``, whether links are within a box.
        ends: contributors of a box and nodes that need the sum, at least.
    """

    inside: Bools = field(kw_only=True)
    boxes: int = field(kw_only=True)
    ends: tuple[int, int] = field(kw_only=True)

    def cheapest(self, prices: Floats, below: float) -> tuple[float, Floats | None]:
        """See `TreeOracle`."""
        on_links = (self.members @ prices).T
        links = [
            np.flatnonzero(some)[on_links[:, some].argmin(axis=1)]
            for some in (self.inside, ~self.inside)
        ]
        inner, outer = (
            np.take_along_axis(on_links, one[:, None], 1)[:, 0].tolist() for one in links
        )
        took(self.units_of_check(len(on_links)))
        cost, uses = cheapest_exchange(self.boxes, inner, outer, *self.ends)
        sends = Sends({(int(links[kind][t]), t): times for (kind, t), times in uses.items()})
        return (below, None) if cost >= below else (cost, self.load(sends, len(on_links)))

    def units_of_check(self, steps: int) -> float:
        """See `TreeOracle`."""
        return _UNITS_PER_MOVE * steps * len(moves_of(self.boxes).before)


def _priced(
    model: OrbitModel, boxes: Boxes, deadline: Deadline, more_than: Fraction
) -> tuple[Fraction, Priced] | None:
    inside = inside_boxes(boxes.parts, model.topology.ends)
    oracles = [
        _Exchanges(
            model.topology,
            Demand(one.pre, one.post, one.count),
            one.count,
            model.members,
            first=0,
            inside=inside,
            boxes=max(boxes.parts) + 1,
            ends=ends,
        )
        for one in model.classes
        if min(ends := fewest(boxes.parts, one))
    ]
    if not oracles:
        return None
    rates, counts = [float(rate) for rate in model.rates], [one.weight for one in oracles]
    return find_prices(
        Master(rates, counts, model.steps),
        oracles,
        model.even_prices(),
        lambda how, prices: Priced(model.steps, model.priced(prices, how), boxes),
        lambda proof: proof.check(model.topology, model.classes),
        deadline,
        more_than,
        more_than,
    )
