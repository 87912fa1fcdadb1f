"""Pages of lower bounds."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from syncoll.certificates import RoundsBound
from syncoll.model import Topology
from syncoll.pages.page import PageParts, paged, table
from syncoll.results import LowerBounds
from syncoll.wording import counted

__all__ = ["bounds_page", "price_records", "prices_of"]


@paged
def bounds_page(bounds: LowerBounds, *, with_prices: bool = False) -> PageParts:
    """Proved bounds on S and R/C, and where asked the prices that prove each."""
    yield f"{bounds.collective} on {bounds.topology.name}, C = {bounds.chunks}"
    yield f"steps: at least {bounds.steps} (distances)"
    yield f"bandwidth cost with any number of steps: at least {bounds.bandwidth}"
    rows = [
        {">steps S": s, ">R/C at least": one.rounds / bounds.chunks, ">R at least": one.rounds}
        for s, one in bounds.by_steps
    ]
    if rows:
        yield ""
        yield table(rows)
    else:
        yield f"no algorithm has S <= {bounds.max_steps}"
    if bounds.more:
        yield bounds.more
    if with_prices:
        for s, bound in (*bounds.by_steps, (None, bounds.any_steps)):
            steps = "any number of steps" if s is None else counted(s, "step")
            if bound.rounds == 0:
                yield f"no price is needed to prove R >= {bound.rounds} for {steps}"
                continue
            yield f"R >= {bound.rounds} for {steps}, by {bound.argument}"
            for price in price_records(bound, bounds.topology):
                when = "" if bound.steps is None else f", step {price['step']}"
                yield f"  {price['links']}{when}: {price['price']}"


def price_records(bound: RoundsBound, topology: Topology) -> list[dict[str, Any]]:
    """The total price of each link set and step; the split among destinations is left out."""
    return [
        {
            "links": topology.bounds[i].label
            or " ".join(f"{a}->{b}" for a, b in topology.bounds[i].links),
            "step": step or 0,
            "price": str(price),
        }
        for i, step, price in prices_of(bound, topology)
    ]


def prices_of(bound: RoundsBound, topology: Topology) -> list[tuple[int, int | None, Fraction]]:
    """Position of the link set, step (None where one price is for all steps) and total price.  A
    cut is a price for each link set that covers it, such that they cost 1 together."""
    prices = {} if bound.certificate is None else bound.certificate.prices
    if bound.method == "cut":
        room = sum((topology.bounds[i].chunks_per_round for i, _ in prices), Fraction(0))
        prices = {place: price / room for place, price in prices.items()}

    def in_time(step: int) -> int | None:
        if bound.steps is None:
            return None
        # A mirrored proof is about the algorithm run backwards.
        return bound.steps - 1 - step if bound.mirrored else step

    return [(i, in_time(step), price) for (i, step), price in sorted(prices.items())]
