"""Figures for papers and slides: the frontier, times over the size, and each step on the network.

Drawn with matplotlib (`pip install 'syncoll[plot]'`); the same values give the same file.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from syncoll.arrays import Floats
from syncoll.errors import UsageError
from syncoll.model import Topology
from syncoll.model.counting import bound_loads
from syncoll.planning import (
    Picture,
    cost_label,
    draw_frontier,
    require_matplotlib,
    show_sizes,
    show_times,
)
from syncoll.reporting.layout import NetworkLayout, lay_out
from syncoll.reporting.subject import ReportEntry, Subject
from syncoll.reporting.times import Times
from syncoll.wording import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_NETWORKS = 8
"""Algorithms that have a figure of their steps, the first and last among them."""
_MOST_STEPS = 12
_MOST_LINKS = 6000
_MOST_NAMED = 36
_STUB = 0.45
_LOW, _HIGH, _FULL, _IDLE = "#a9cce8", "#06437d", "#d4500b", "#dde1e5"
_COLOURS = ("#0072b2", "#009e73", "#cc79a7", "#56b4e9", "#8c6bb1", "#b2a600")
_CLASSIC = "#d55e00"


def figures(subject: Subject, times: Times) -> dict[str, Picture]:
    """The pictures, each by the name of its file without an ending.  Raises `UsageError` if
    matplotlib is not installed, or there is nothing to draw."""
    require_matplotlib("figures")
    found: dict[str, Picture] = {}
    if subject.frontier is not None and subject.frontier.points:
        found["frontier"] = draw_frontier(subject.frontier)
    if subject.entries:
        found["times"] = Picture(lambda figure: _times(figure, subject, times), (7.0, 4.4))
        if len(subject.topology.links) <= _MOST_LINKS:
            found |= _networks(subject)
    if not found:
        raise UsageError(f"there is no algorithm of {subject.title} to draw")
    return found


def _times(figure: "Figure", subject: Subject, times: Times) -> None:
    axes = figure.subplots()
    simulated = times.simulated
    sizes: Sequence[float] = np.geomspace(1 << 10, 1 << 30, 81).tolist()
    if simulated is not None:
        sizes = simulated.sizes
    classics = 0
    # Solid lines in the order of steps; classics are dashed, each in its own way.
    lengths = [times.message.node_bytes(Fraction(size)) for size in sizes]
    for i, one in enumerate([*times.algorithms, *times.rivals]):
        values = one.simulated or [one.seconds(times.model, length) for length in lengths]
        style: dict[str, Any] = {"color": _COLOURS[i % len(_COLOURS)], "linewidth": 1.6}
        if one.classic:
            dashes = (5 - classics % 4, 1.5 + classics // 4)
            style = {"color": _CLASSIC, "linewidth": 1.1, "linestyle": (0, dashes)}
            classics += 1
        axes.plot(sizes, values, label=one.name if i < 12 or one.classic else None, **style)
    how = "simulated" if simulated is not None else "by S alpha + (R/C) L beta"
    axes.set_title(f"{subject.title}, {how}", fontsize=10)
    show_sizes(axes, sizes[0], sizes[-1])
    axes.set_xlabel(f"message: {times.message.words}")
    show_times(axes)
    axes.legend(fontsize=7, frameon=False)


def _networks(subject: Subject) -> dict[str, Picture]:
    entries = [(i, one) for i, one in enumerate(subject.entries) if one.stored.steps]
    if len(entries) > _MOST_NETWORKS:
        chosen = np.linspace(0, len(entries) - 1, _MOST_NETWORKS).round().astype(int)
        entries = [entries[i] for i in dict.fromkeys(chosen.tolist())]
    return {f"network-{i}": _network(subject.topology, one) for i, one in entries}


def _network(topology: Topology, entry: ReportEntry) -> Picture:
    steps = list(range(entry.stored.steps))
    if len(steps) > _MOST_STEPS:
        steps = sorted({*np.linspace(0, len(steps) - 1, _MOST_STEPS).round().astype(int).tolist()})
    columns = min(4, len(steps))
    lines = -(-len(steps) // columns)
    size = (2.6 * columns, 2.7 * lines + 0.5)
    return Picture(lambda figure: _steps(figure, topology, entry, steps, columns), size)


def _steps(
    figure: "Figure", topology: Topology, entry: ReportEntry, steps: Sequence[int], columns: int
) -> None:
    """A small network for each step: how full the tightest limit of each link is."""
    from matplotlib.collections import LineCollection

    layout = lay_out(topology)
    loads = entry.stored.algorithm.link_loads(topology)
    limits = bound_loads(topology, entry.stored.algorithm)
    curves = link_curves(topology, layout)
    grid = figure.subplots(-(-len(steps) // columns), columns, squeeze=False).ravel()
    for axes in grid[len(steps) :]:
        axes.set_axis_off()
    figure.suptitle(
        f"{entry.stored.instance.collective} on {topology.name}: {cost_label(entry.stored)}\n"
        "darker: more of the tightest limit of a link is used; orange: all of it",
        fontsize=9,
    )
    for axes, step in zip(grid, steps, strict=False):
        rounds = entry.stored.algorithm.rounds_per_step[step]
        full = _fullness(topology, limits[:, step], rounds)
        order = np.argsort(full * (loads[:, step] > 0), kind="stable")
        colours = [_colour(full[i]) if loads[i, step] else _IDLE for i in order.tolist()]
        widths = np.where(loads[order, step] > 0, 1.5, 0.6)
        axes.add_collection(
            LineCollection([curves[i] for i in order], colors=colours, linewidths=widths)
        )
        draw_nodes(axes, layout)
        axes.set_title(f"step {step}, {counted(rounds, 'round')}", fontsize=8)


def draw_nodes(axes: "Axes", layout: NetworkLayout) -> None:
    """Draws nodes at their places, with numbers if there are few, and switches as squares."""
    places, switches = layout.places, layout.switches
    if len(switches):
        axes.scatter(switches[:, 0], switches[:, 1], s=30, marker="s", c="#a9cce8", zorder=3)
    axes.scatter(
        places[:, 0], places[:, 1], s=min(60, 900 / len(places)), c="white", edgecolors="0.3",
        linewidths=0.7, zorder=3,
    )  # fmt: skip
    if len(places) <= _MOST_NAMED:
        for number, (x, y) in enumerate(places.tolist()):
            axes.text(x, y, str(number), fontsize=4.5, ha="center", va="center", zorder=4)
    axes.set_aspect("equal")
    places = np.concatenate([places, switches])
    axes.set_xlim(places[:, 0].min() - 0.8, places[:, 0].max() + 0.8)
    axes.set_ylim(places[:, 1].max() + 0.8, places[:, 1].min() - 0.8)
    axes.set_axis_off()


def link_curves(topology: Topology, layout: NetworkLayout) -> list[Floats]:
    """A line for each link, bent to its right; of a broken link two stubs with a gap."""
    shares = np.linspace(0, 1, 9)[:, None]
    broken, found = set(layout.broken), []
    for number, (a, b) in enumerate(topology.links):
        start, end = layout.places[a], layout.places[b]
        way = (end - start) / (float(np.hypot(*(end - start))) or 1.0)
        right = np.array([-way[1], way[0]]) * layout.bends[number]
        if number in broken:
            stubs = [start, start - _STUB * way, (np.nan, np.nan), end + _STUB * way, end]
            found.append(np.stack(stubs) + right)
            continue
        middle = (start + end) / 2 + 2 * right
        found.append(
            (1 - shares) ** 2 * start + 2 * shares * (1 - shares) * middle + shares**2 * end
        )
    return found


def _fullness(topology: Topology, load: npt.NDArray[np.int64], rounds: int) -> Floats:
    """For each link the largest share that is used of its limits, by the load of each limit."""
    found = np.zeros(len(topology.links))
    for number, (bound, members) in enumerate(
        zip(topology.bounds, topology.bound_links, strict=True)
    ):
        room = float(bound.chunks_per_round * rounds)
        share = float(load[number]) / room if room else 0.0
        found[members] = np.maximum(found[members], share)
    return found


def _colour(share: float) -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    if share >= 0.99995:
        return _FULL
    return LinearSegmentedColormap.from_list("loads", [_LOW, _HIGH])(share)
