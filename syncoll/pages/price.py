"""The price of reproducible sums: costs and times next to the frontier without that demand."""

from collections.abc import Sequence
from fractions import Fraction

from syncoll.pages.page import PageParts, paged, table
from syncoll.results import Frontier
from syncoll.results.frontier import known_cost
from syncoll.units import format_size, microseconds


@paged
def price_page(found: Frontier, plain: Frontier) -> PageParts:
    """Two tables: R/C of at most S steps, and times of the fastest points where they are known."""
    from syncoll.simulating.message_times import SHOWN_SIZES, times_of  # checks load no simulation

    if not found.points or not plain.points:
        return
    yield f"Price of reproducible sums, next to {plain.collective}:"
    every = sorted({one.steps for frontier in (found, plain) for one in frontier.points})
    rows = []
    for steps in every:
        ours, theirs = (known_cost(steps, x.points, x.families) for x in (found, plain))
        rows.append(
            {
                ">steps S": steps,
                ">R/C": "" if ours is None else ours,
                ">R/C without": "" if theirs is None else theirs,
                ">price": _price(ours, theirs),
                "proved price": "" if ours is None else _proved(ours, (found, plain), steps),
            }
        )
    yield table(rows, ("proved price",))
    times = times_of(found)
    if times is not None:
        every_time = [times.of_points(one.points) for one in (found, plain)]
        both = [map(min, zip(*seconds, strict=True)) for seconds in every_time]
        yield table(
            [
                {
                    ">message": format_size(size),
                    ">us": microseconds(one),
                    ">us without": microseconds(other),
                    ">price": _price(one, other),
                }
                for size, one, other in zip(SHOWN_SIZES, *both, strict=True)
            ]
        )


def _price(ours: Fraction | None, theirs: Fraction | None) -> str:
    if ours is None or theirs is None:
        return ""
    return f"{max(0.0, float(ours / theirs - 1)) * 100:.3g} %" if theirs else ""


def _proved(ours: Fraction, frontiers: Sequence[Frontier], steps: int) -> str:
    """The largest price that the proved bounds leave open."""
    known = [(s, bound) for one in frontiers for s, bound in one.bounds if s >= steps]
    bound = max([frontiers[0].least_bandwidth, *(bound for _, bound in known)])
    return f"at most {_price(ours, bound)}" if ours > bound else "none"
