"""Pictures of a frontier and of a plan.

Of a frontier: bandwidth cost over steps, and the proved bounds.  Of a plan: time and algorithm
bandwidth over the message, and the crossovers.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from syncoll.documents import StoredAlgorithm, write_atomically
from syncoll.errors import UsageError
from syncoll.planning.plan import Plan
from syncoll.results import Frontier
from syncoll.units import format_size, format_time
from syncoll.wording import argument

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PictureFormat = Literal["png", "svg"]

_SETTINGS: dict[Any, Any] = {
    "font.size": 9,
    "axes.grid": True,
    "axes.grid.which": "major",
    "grid.alpha": 0.3,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.hashsalt": "syncoll",
    "text.parse_math": False,  # names may contain a dollar sign
}


@dataclass(frozen=True)
class Picture:
    """A picture for notebooks: the function that paints it, and its size in inches.

    It is drawn with matplotlib's own canvases and without the user's settings: the same values give
    the same SVG, byte for byte.
    """

    paint: Callable[[Figure], None]
    size: tuple[float, float] = (8, 7.5)

    def content(self, style: PictureFormat) -> bytes:
        """The picture as a file's content."""
        import matplotlib as mpl
        from matplotlib.figure import Figure

        with mpl.rc_context():
            mpl.rcdefaults()
            mpl.rcParams.update(_SETTINGS)
            figure = Figure(figsize=self.size, layout="constrained")
            self.paint(figure)
            file = io.BytesIO()
            # Without a date and the version of the library.
            empty: dict[str, Any] = {"Date": None, "Creator": None} if style == "svg" else {}
            figure.savefig(file, format=style, dpi=144, metadata=empty or {"Software": None})
        return file.getvalue()

    @property
    def svg(self) -> str:
        """The picture as the text of an SVG file."""
        return self.content("svg").decode()

    def save(self, path: str | Path) -> None:
        """Writes it to a file; UsageError if its name does not end in ``.png`` or ``.svg``."""
        style = picture_format(Path(path))
        write_atomically(Path(path), self.content(style))

    def _repr_svg_(self) -> str:
        return self.svg


def picture_format(path: Path) -> PictureFormat:
    """The format of a file, by its name.  Raises `UsageError` if its name ends neither in ``.png``
    nor in ``.svg``, or matplotlib is not installed."""
    suffix = path.suffix.lower()
    if suffix not in (".png", ".svg"):
        raise UsageError(f"cannot draw {path}: expected a name that ends in .png or .svg")
    require_matplotlib(str(path))
    return "png" if suffix == ".png" else "svg"


def require_matplotlib(what: str) -> None:
    """Raises `UsageError` if matplotlib is not installed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise UsageError(
            f"cannot draw {what}: matplotlib is not installed; `pip install 'syncoll[plot]'`"
        ) from None


def show_sizes(axes: Axes, low: float, high: float) -> None:
    """Scales the x-axis in powers of two, with sizes in bytes from `low` to `high`."""
    axes.set_xscale("log", base=2)
    axes.set_xlim(low, high)
    axes.xaxis.set_major_formatter(lambda size, _: format_size(Fraction(size)))


def show_times(axes: Axes) -> None:
    """Scales the y-axis in powers of ten, with times in seconds."""
    axes.set_yscale("log")
    axes.set_ylabel("time")
    # The float of a power of ten may be too small: 1 us would be 1000 ns.
    axes.yaxis.set_major_formatter(
        lambda seconds, _: format_time(Fraction(seconds).limit_denominator(10**15))
    )


def label(
    axes: Axes, text: str, at: tuple[float, float], away: tuple[float, float], **how: Any
) -> None:
    """Writes a text at a place of the axes, moved by some points to the right and up."""
    axes.annotate(text, at, xytext=away, textcoords="offset points", **how)


_USUAL_SIZES = (1 << 10, 1 << 30)
_AROUND_A_CROSSOVER = 16
_SAMPLES = 200
_MOST_TICKS = 9
_MOST_NAMED = 12


def draw_frontier(frontier: Frontier) -> Picture:
    """Points, bounds and their gap; UsageError without points, or if matplotlib is missing."""
    if not frontier.points:
        raise UsageError(
            f"the frontier of {frontier.collective} on {frontier.topology.name} has no points "
            "to draw"
        )
    require_matplotlib("a frontier")
    return Picture(lambda figure: _paint_frontier(figure, frontier), (7.0, 4.2))


def _paint_frontier(figure: Figure, frontier: Frontier) -> None:
    axes = figure.subplots()
    simple = [point for point in frontier.points if frontier.is_simple(point)]
    steps = [point.steps for point in frontier.best]
    costs = [float(point.bandwidth) for point in frontier.best]
    last = frontier.points[-1].steps + 1
    axes.set_title(f"{frontier.collective} on {frontier.topology.name}", fontsize=10)
    if frontier.bounds:
        known, least = zip(*frontier.bounds, strict=True)
        axes.step(
            [*known, last],
            [*map(float, least), float(frontier.least_bandwidth)],
            where="post",
            color="tab:red",
            linewidth=1,
            label="proved lower bound",
        )
    axes.step([*steps, last], [*costs, costs[-1]], where="post", color="tab:blue", linewidth=1)
    axes.plot(steps, costs, "o", color="tab:blue", label="found and verified")
    for point in frontier.best:
        label(axes, str(point.bandwidth), (point.steps, float(point.bandwidth)), (5, 5))
    if simple:
        places = zip(*((p.steps, float(p.bandwidth)) for p in simple), strict=True)
        axes.plot(*places, "o", fillstyle="none", color="tab:blue", label="simpler")
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
    """The picture of a plan.  Messages are shown from 1 KiB to 1 GiB and around all crossovers,
    unless sizes are given.  Raises `UsageError` if matplotlib is not installed, or the two sizes
    are equal."""
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
    import matplotlib as mpl

    low, high = sizes
    shown = [size for size in plan.crossovers if low < size < high]
    grid = sorted({*map(Fraction, np.geomspace(low, high, _SAMPLES).tolist()), *shown})
    # Colour-blind safe, and ordered by brightness.
    colours = list(mpl.colormaps["viridis"](np.linspace(0, 0.85, len(plan.ranges))))
    time, rate = figure.subplots(2, 1, sharex=True)
    figure.suptitle(title, fontsize=10)
    _curves(time, plan, grid, colours, lambda size, seconds: _float(seconds))
    _curves(
        rate, plan, grid, colours, lambda size, seconds: _float(seconds and size / seconds / 10**9)
    )
    show_times(time)
    rate.set_ylabel("algorithm bandwidth, GB/s")
    rate.set_ylim(bottom=0)
    show_sizes(rate, low, high)
    rate.set_xticks(_ticks(low, high))
    rate.minorticks_off()
    rate.set_xlabel(f"message: {plan.message.words}")
    for size in shown:
        for axes in (time, rate):
            axes.axvline(float(size), color="black", linestyle=":", linewidth=1)
        how: dict[str, Any] = {"xycoords": ("data", "axes fraction"), "rotation": 90, "va": "top"}
        label(time, format_size(size), (float(size), 1), (2, -2), fontsize=8, **how)
    time.legend(loc="lower right", fontsize=8)


def _curves(
    axes: Axes,
    plan: Plan,
    grid: list[Fraction],
    colours: list[Any],
    value: Callable[[Fraction, Fraction], float],
) -> None:
    """Draws a value of size and time: thin lines for all algorithms, a thick one for the best."""
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
