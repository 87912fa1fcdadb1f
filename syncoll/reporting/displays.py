"""HTML and drawings of topologies and collectives, for notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from syncoll.errors import UsageError
from syncoll.model import Collective, Topology
from syncoll.pages.collective import collective_page, least_size
from syncoll.pages.topology import topology_page
from syncoll.planning import Picture, require_matplotlib
from syncoll.reporting.figures import draw_nodes, link_curves
from syncoll.reporting.layout import NetworkLayout, lay_out
from syncoll.wording import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["drawing_of", "html_of", "network_drawing"]

_NARROW, _WIDE = 0.6, 2.0
"""Widths of the slowest and the fastest link, in points."""
_MOST_DRAWN = 6000
"""Links of a topology that a notebook draws without being asked."""
_KINDS = ("neither", "pre", "post", "both")
_COLOURS = ("#eef0f2", "#a9cce8", "#06437d", "#009e73")


def html_of(value: Topology | Collective) -> str:
    """The page of a value, with its drawing if matplotlib is installed."""
    if isinstance(value, Collective):
        return collective_page(value, *least_size(value, None, None)).to_html()
    html = topology_page(value).to_html()
    if len(value.links) > _MOST_DRAWN:
        return html
    try:
        return f"{html}\n{drawing_of(value).svg}"
    except UsageError:
        return html


def drawing_of(
    value: Topology | Collective, nodes: int | None = None, chunks: int | None = None
) -> Picture:
    """The drawing of a topology, or of a collective on some nodes with some chunks per node.
    Raises `UsageError` if matplotlib is not installed, or the collective is not defined."""
    require_matplotlib(value.name)
    if isinstance(value, Topology):
        layout = lay_out(value)
        width, height = np.ptp(layout.places, axis=0) + 1.6
        high = min(12.0, 6.0 * height / width + 0.3)
        return Picture(lambda figure: _paint_topology(figure, value, layout), (6.0, high))
    size = least_size(value, nodes, chunks)
    height = min(12.0, 1.4 + 0.22 * len(value.tabulate(*size)))
    return Picture(lambda figure: _paint_collective(figure, value, *size), (6.0, height))


def network_drawing(topology: Topology) -> Picture:
    """The drawing of the physical network of a topology, with switches as squares."""
    fabric = topology.fabric
    if fabric is None or not fabric.num_switches:
        return drawing_of(topology)
    layout = lay_out(topology, switched=True)
    places = np.concatenate([layout.places, layout.switches])
    rates = {ends: float(rate) for ends, rate in fabric.bandwidths.items()}
    largest = max(rates.values())

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        for (a, b), rate in rates.items():
            wide = max(_NARROW, _WIDE * rate / largest)
            axes.plot(*places[[a, b]].T, color="#06437d", linewidth=wide, alpha=0.4)
        axes.scatter(
            layout.switches[:, 0], layout.switches[:, 1], s=30, marker="s", c="#a9cce8", zorder=3
        )
        draw_nodes(axes, layout.places)
        axes.update_datalim(places)
        axes.set_xlim(places[:, 0].min() - 0.8, places[:, 0].max() + 0.8)
        axes.set_ylim(places[:, 1].max() + 0.8, places[:, 1].min() - 0.8)
        about = f"{counted(fabric.num_nodes, 'node')}, {counted(fabric.num_switches, 'switch')}"
        axes.set_title(f"{topology.name}: {about}", fontsize=10)

    width, height = np.ptp(places, axis=0) + 1.6
    return Picture(paint, (6.0, min(12.0, 6.0 * height / width + 0.3)))


def _paint_topology(figure: Figure, topology: Topology, layout: NetworkLayout) -> None:
    from matplotlib.collections import LineCollection

    axes = figure.subplots()
    curves = link_curves(topology, layout)
    bounds = [float(bound.chunks_per_round) for bound in topology.bounds]
    rates = np.array([min(bounds[i] for i in each) for each in topology.link_bounds])
    widths = np.maximum(_NARROW, _WIDE * rates / rates.max(initial=1e-9))
    axes.add_collection(LineCollection(curves, colors="#06437d", linewidths=widths, alpha=0.6))
    draw_nodes(axes, layout.places)
    about = f"{counted(topology.num_nodes, 'node')}, {counted(len(topology.links), 'link')}"
    axes.set_title(f"{topology.name}: {about}", fontsize=10)


def _paint_collective(figure: Figure, collective: Collective, nodes: int, chunks: int) -> None:
    from matplotlib.colors import ListedColormap
    from matplotlib.ticker import MaxNLocator

    relation, axes = collective.tabulate(nodes, chunks), figure.subplots()
    kinds = (relation.pre + 2 * relation.post).astype(int)
    axes.imshow(kinds, ListedColormap(_COLOURS), aspect="auto", interpolation="nearest", vmax=3)
    axes.set_xlabel("node")
    axes.set_ylabel("chunk")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(visible=False)
    for kind, (colour, name) in enumerate(zip(_COLOURS, _KINDS, strict=True)):
        if (kinds == kind).any():
            axes.plot([], [], "s", color=colour, label=name)
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    axes.set_title(f"{collective.name} on {counted(nodes, 'node')}, C = {chunks}", fontsize=10)
