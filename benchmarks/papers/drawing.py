"""Figures as pictures, in the style of the other pictures: ours as lines, the paper's as marks."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.papers.figure import Figure, Panel
from syncoll.planning import Picture
from syncoll.units import format_size

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["picture"]

_COLOURS = (
    *("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#8c6bb1", "#b2a600", "#555555"),
    *("#1b4f72", "#7b3f00"),
)
_MOST_COLUMNS = 4
_MOST_LABELS = 7


def picture(figure: Figure) -> Picture:
    """Its panels side by side, at most four in a line."""
    columns = min(len(figure.panels), _MOST_COLUMNS)
    if len(figure.panels) > _MOST_COLUMNS:
        columns = -(-len(figure.panels) // -(-len(figure.panels) // _MOST_COLUMNS))
    lines = -(-len(figure.panels) // columns)

    def paint(canvas: Any) -> None:
        grid = canvas.subplots(lines, columns, squeeze=False).ravel()
        for axes in grid[len(figure.panels) :]:
            axes.set_axis_off()
        for axes, panel in zip(grid, figure.panels, strict=False):
            _bars(axes, panel) if panel.categories else _lines(axes, panel)
            axes.set_title(panel.title, fontsize=9)
            axes.set_xlabel(panel.x, fontsize=8)
            axes.set_ylabel(panel.y, fontsize=8)
            axes.tick_params(labelsize=7)
            axes.set_yscale(panel.y_scale)
            if panel.y_scale == "linear":
                axes.set_ylim(bottom=0)
            else:
                axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
            axes.legend(fontsize=6, frameon=False)
        canvas.suptitle(f"{figure.source}: {figure.title}", fontsize=9)

    width = 7.0 if columns == 1 else min(4.2 * columns, 13.5)
    return Picture(paint, (width, 3.6 * lines + 0.4))


def _colours(panel: Panel) -> dict[str, str]:
    labels = dict.fromkeys(line.label for line in panel.lines)
    return {label: _COLOURS[i % len(_COLOURS)] for i, label in enumerate(labels)}


def _lines(axes: Axes, panel: Panel) -> None:
    from matplotlib.ticker import NullLocator

    colours = _colours(panel)
    for line in panel.lines:
        ys = [np.nan if y is None else y for y in line.ys]
        style: dict[str, Any] = {"linewidth": 1.4}
        if line.paper:
            style = {"linestyle": (0, (1, 2)), "linewidth": 0.8, "marker": "o", "markersize": 4}
        words = f"{line.label}, the paper's" if line.paper else line.label
        axes.plot(line.xs, ys, color=colours[line.label], label=words, **style)
    if panel.x_scale != "linear":
        axes.set_xscale("log", base=2 if panel.x_scale == "bytes" else 10)
        values = sorted({x for line in panel.lines for x in line.xs})
        axes.set_xticks(values[:: -(-len(values) // _MOST_LABELS)])
        axes.xaxis.set_minor_locator(NullLocator())
        sizes = panel.x_scale == "bytes"
        axes.xaxis.set_major_formatter(
            lambda value, _: format_size(Fraction(value)) if sizes else f"{value:g}"
        )


def _bars(axes: Axes, panel: Panel) -> None:
    colours = _colours(panel)
    width = 0.8 / max(1, len(panel.lines))
    for i, line in enumerate(panel.lines):
        places = np.array(line.xs) + (i - (len(panel.lines) - 1) / 2) * width
        heights = [0.0 if y is None else y for y in line.ys]
        words = f"{line.label}, the paper's" if line.paper else line.label
        alpha = 0.45 if line.paper else 1.0
        axes.bar(places, heights, width, color=colours[line.label], alpha=alpha, label=words)
    axes.set_xticks(range(len(panel.categories)), panel.categories, rotation=30, ha="right")
