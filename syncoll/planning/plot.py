"""Pictures of a frontier and of a plan.

Of a frontier: bandwidth cost over steps, and the proved bounds.  Of a plan: time and algorithm
bandwidth over the size, and the crossovers.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from syncoll.documents import StoredAlgorithm
from syncoll.errors import UsageError
from syncoll.planning.picture import Picture, require_matplotlib, show_sizes, show_times
from syncoll.planning.plan import Plan
from syncoll.results import Frontier
from syncoll.units import format_size
from syncoll.wording import argument

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["cost_label", "draw", "draw_frontier"]

_USUAL_SIZES = (1 << 10, 1 << 30)
_AROUND_A_CROSSOVER = 16
_SAMPLES = 200
_MOST_TICKS = 9
_MOST_NAMED = 12


def draw_frontier(frontier: Frontier) -> Picture:
    """The picture: found points, proved bounds, and the gap between them.

    Raises:
        UsageError: when there are no points, or matplotlib is not installed.
    """
    if not frontier.points:
        raise UsageError(
            f"the frontier of {frontier.collective} on {frontier.topology.name} has no points; "
            "there is nothing to draw"
        )
    require_matplotlib("a frontier")
    return Picture(lambda figure: _paint_frontier(figure, frontier), (7.0, 4.2))


def _paint_frontier(figure: Figure, frontier: Frontier) -> None:
    axes = figure.subplots()
    steps = [point.steps for point in frontier.points]
    costs = [float(point.bandwidth) for point in frontier.points]
    last = steps[-1] + 1
    axes.set_title(f"{frontier.collective} on {frontier.topology.name}", fontsize=10)
    if frontier.bounds:
        known, least = zip(*frontier.bounds, strict=True)
        axes.step(
            [*known, last],
            [*map(float, least), float(frontier.least_bandwidth)],
            where="post",
            color="tab:red",
            linewidth=1,
            label="proved: nothing is below",
        )
    axes.step([*steps, last], [*costs, costs[-1]], where="post", color="tab:blue", linewidth=1)
    axes.plot(steps, costs, "o", color="tab:blue", label="found and verified")
    for point in frontier.points:
        axes.annotate(
            str(point.bandwidth),
            (point.steps, float(point.bandwidth)),
            xytext=(5, 5),
            textcoords="offset points",
        )
    axes.axhline(float(frontier.least_bandwidth), color="grey", linestyle=":", linewidth=1)
    if frontier.least_steps:
        axes.axvline(frontier.least_steps, color="grey", linestyle=":", linewidth=1)
    axes.set_xlabel("steps S (latency cost)")
    axes.set_ylabel("R/C (bandwidth cost)")
    axes.set_xticks(range(min(frontier.least_steps, steps[0]), last + 1))
    axes.set_xlim(min(frontier.least_steps, steps[0]) - 0.5, last)
    axes.set_ylim(bottom=0, top=max(costs) * 1.15)
    axes.legend(frameon=False)


def draw(plan: Plan, title: str, sizes: tuple[int, int] | None = None) -> Picture:
    """The picture of a plan.

    Sizes of one node's data are shown from 1 KiB to 1 GiB and around all crossovers, unless given.

    Raises:
        UsageError: when matplotlib is not installed, or the two sizes are one.
    """
    require_matplotlib("a plan")
    if sizes is not None and sizes[0] == sizes[1]:
        raise UsageError(f"{argument('sizes')}: a plot needs a range, such as 1KiB..1GiB")
    return Picture(lambda figure: _paint(figure, plan, title, sizes or _sizes(plan)))


def _sizes(plan: Plan) -> tuple[int, int]:
    low, high = _USUAL_SIZES
    inner = [size for size in plan.crossovers if size > 0]
    if inner:
        low = max(1, min(low, int(inner[0]) // _AROUND_A_CROSSOVER))
        high = max(high, int(inner[-1]) * _AROUND_A_CROSSOVER)
    return low, high


def _paint(figure: Figure, plan: Plan, title: str, sizes: tuple[int, int]) -> None:
    low, high = sizes
    shown = [size for size in plan.crossovers if low < size < high]
    grid = sorted({*map(Fraction, np.geomspace(low, high, _SAMPLES).tolist()), *shown})
    colours = _colours(len(plan.ranges))
    time, rate = figure.subplots(2, 1, sharex=True)
    figure.suptitle(title, fontsize=10)
    _curves(time, plan, grid, colours, lambda size, seconds: _float(seconds))
    per_node = plan.message.per_node / 10**9
    _curves(
        rate,
        plan,
        grid,
        colours,
        lambda size, seconds: _float(seconds and per_node * size / seconds),
    )
    show_times(time)
    rate.set_ylabel("algorithm bandwidth, GB/s")
    rate.set_ylim(bottom=0)
    show_sizes(rate, low, high)
    rate.set_xticks(_ticks(low, high))
    rate.minorticks_off()
    words = (
        "" if plan.message.per_node == 1 else f"; a message has {plan.message.per_node} times it"
    )
    what = "one node's data" if plan.message.largest_input in (None, 1) else "one unit"
    rate.set_xlabel(f"size of {what}{words}")
    for axes in (time, rate):
        for size in shown:
            axes.axvline(float(size), color="black", linestyle=":", linewidth=1)
    for size in shown:
        time.annotate(
            format_size(size),
            (float(size), 1),
            xycoords=("data", "axes fraction"),
            xytext=(2, -2),
            textcoords="offset points",
            rotation=90,
            va="top",
            fontsize=8,
        )
    time.legend(loc="lower right", fontsize=8)


def _curves(
    axes: Axes,
    plan: Plan,
    grid: list[Fraction],
    colours: list[Any],
    value: Callable[[Fraction, Fraction], float],
) -> None:
    """A value of size and time, of every algorithm as a thin line, of the best as a thick one."""
    xs = [float(size) for size in grid]

    def curve(one: StoredAlgorithm) -> list[float]:
        return [value(*pair) for pair in zip(grid, plan.curve(one, grid), strict=True)]

    for number, one in enumerate(plan.never_best):
        ys = curve(one.algorithm)
        label = "never the best" if number == 0 else None
        axes.plot(xs, ys, color="0.6", linewidth=0.8, linestyle="--", label=label)
    for number, (best, colour) in enumerate(zip(plan.ranges, colours, strict=True)):
        ys = curve(best.algorithm)
        axes.plot(xs, ys, color=colour, linewidth=0.8)
        inside = [best.low <= size and (best.high is None or size <= best.high) for size in grid]
        thick = np.where(inside, np.array(ys), np.nan)
        label = cost_label(best.algorithm) if number < _MOST_NAMED else None
        axes.plot(xs, thick, color=colour, linewidth=2.4, label=label)


def cost_label(one: StoredAlgorithm) -> str:
    """The label of an algorithm in a picture."""
    return f"S = {one.steps}, R/C = {one.bandwidth}"


def _colours(count: int) -> list[Any]:
    """Colours that are distinguishable by all, and ordered by brightness."""
    import matplotlib as mpl

    return list(mpl.colormaps["viridis"](np.linspace(0, 0.85, count)))


def _ticks(low: int, high: int) -> list[float]:
    """Powers of two, few enough to be read."""
    first, last = (low - 1).bit_length(), high.bit_length() - 1
    if last < first:
        return [float(low), float(high)]
    stride = max(1, -(-(last - first + 1) // _MOST_TICKS))
    return [float(1 << power) for power in range(first, last + 1, stride)]


def _float(value: Fraction) -> float:
    """The value on a logarithmic axis; NaN for 0."""
    return float(value) if value else float("nan")
