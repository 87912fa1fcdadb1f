"""A picture of a design: for each collective R/C over links, bounds and algorithms."""

from typing import TYPE_CHECKING

from syncoll.designing.design import Design
from syncoll.errors import UsageError
from syncoll.planning.plot import Picture, label, require_matplotlib

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_NAMED = 12
"""Most machines with a label."""

_WIDE = 20
"""From this ratio of the largest to the least value on, a scale is logarithmic."""


def draw_design(design: Design) -> Picture:
    """The picture; machines that are not dominated are labelled.  Raises `UsageError` if no bounds
    are proved, or matplotlib is not installed."""
    if not any(one.bounds for one in design.assessed):
        raise UsageError("no bounds are proved, so the design cannot be drawn")
    require_matplotlib("a design")
    height = 0.6 + 3.6 * len(design.collectives)
    return Picture(lambda figure: _paint(figure, design), (8.0, height))


def _paint(figure: "Figure", design: Design) -> None:
    from matplotlib.ticker import MaxNLocator

    behind = design.behind()
    panels = figure.subplots(len(design.collectives), squeeze=False)
    for axes, name in zip(panels[:, 0], design.collectives, strict=True):
        shown = [
            (one, ahead, one.bounds[name])
            for one, ahead in zip(design.assessed, behind, strict=True)
            if name in one.bounds
        ]
        axes.set_title(name, fontsize=10)
        axes.set_xlabel("links")
        axes.set_ylabel("R/C (bandwidth cost)")
        if not shown:
            continue
        links = [one.candidate.costs.links for one, _, _ in shown]
        least = [float(proved.bandwidth) for _, _, proved in shown]
        steps = [proved.steps for _, _, proved in shown]
        marks = axes.scatter(
            links, least, c=steps, marker="_", s=160, cmap="viridis", label="proved: not below"
        )
        bar = figure.colorbar(marks, ax=axes, label="least steps S")
        bar.locator = MaxNLocator(integer=True)
        found = [
            (one.candidate.costs.links, float(min(point.bandwidth for point in points)))
            for one, _, proved in shown
            for points in (proved.frontier.points if proved.frontier is not None else (),)
            if points
        ]
        if found:
            axes.plot(*zip(*found, strict=True), "o", color="tab:blue", mfc="none", label="found")
        for values, scale in ((links, axes.set_xscale), (least, axes.set_yscale)):
            if min(values) > 0 and max(values) >= _WIDE * min(values):
                scale("log")
        front = [one.candidate.name for one, ahead, _ in shown if ahead is None]
        for (one, _, _), x, y in zip(shown, links, least, strict=True):
            if one.candidate.name in front[:_MOST_NAMED]:
                label(axes, one.candidate.name, (x, y), (6, 4), fontsize=7)
        axes.legend(fontsize=8)
