"""HTML and drawings of topologies and collectives, for notebooks."""

from typing import TYPE_CHECKING

import numpy as np

from syncoll.errors import UsageError
from syncoll.model import Collective, Fabric, Topology
from syncoll.pages.collective import collective_page, least_size
from syncoll.pages.topology import topology_page
from syncoll.planning import Picture, require_matplotlib
from syncoll.reporting.figures import draw_nodes, link_curves
from syncoll.reporting.layout import lay_out
from syncoll.wording import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
    value: Topology | Collective,
    nodes: int | None = None,
    chunks: int | None = None,
    *,
    switched: bool = False,
) -> Picture:
    """The drawing of a topology, where `switched` with the switches of its physical network, or of
    a collective on some nodes with some chunks per node.  Raises `UsageError` if matplotlib is not
    installed, or the collective is not defined."""
    require_matplotlib(value.name)
    if isinstance(value, Topology):
        fabric = value.fabric
        has_switches = switched and fabric is not None and fabric.num_switches > 0
        return _network_drawing(value, fabric if has_switches else None)
    size = least_size(value, nodes, chunks)
    height = min(12.0, 1.4 + 0.22 * len(value.tabulate(*size)))
    return Picture(lambda figure: _paint_collective(figure, value, *size), (6.0, height))


def _network_drawing(topology: Topology, fabric: Fabric | None) -> Picture:
    layout = lay_out(topology, switched=fabric is not None)
    places = np.concatenate([layout.places, layout.switches])
    if fabric is None:
        bounds = [float(bound.chunks_per_round) for bound in topology.bounds]
        rates = np.array([min(bounds[i] for i in each) for each in topology.link_bounds])
        curves = link_curves(topology, layout)
        others = counted(len(topology.links), "link")
    else:
        rates = np.array([float(rate) for rate in fabric.bandwidths.values()])
        curves = [places[[a, b]] for a, b in fabric.bandwidths]
        others = counted(fabric.num_switches, "switch")
    widths = np.maximum(_NARROW, _WIDE * rates / rates.max(initial=1e-9))

    def paint(figure: "Figure") -> None:
        from matplotlib.collections import LineCollection

        axes = figure.subplots()
        axes.add_collection(LineCollection(curves, colors="#06437d", linewidths=widths, alpha=0.6))
        draw_nodes(axes, layout)
        about = f"{counted(topology.num_nodes, 'node')}, {others}"
        axes.set_title(f"{topology.name}: {about}", fontsize=10)

    width, height = np.ptp(places, axis=0) + 1.6
    return Picture(paint, (6.0, min(12.0, 6.0 * height / width + 0.3)))


def _paint_collective(figure: "Figure", collective: Collective, nodes: int, chunks: int) -> None:
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
