"""A picture of a frontier: bandwidth cost over steps, and the bounds that nothing goes below."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from syncoll.errors import UsageError
from syncoll.planning.picture import Picture, require_matplotlib
from syncoll.results import Frontier

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_frontier"]

_SIZE = (7.0, 4.2)


def draw_frontier(frontier: Frontier) -> Picture:
    """The picture: found points, proved bounds, and between them what is not settled.

    Raises:
        UsageError: when there are no points, or matplotlib is not installed.
    """
    if not frontier.points:
        raise UsageError(
            f"the frontier of {frontier.collective} on {frontier.topology.name} has no points; "
            "there is nothing to draw"
        )
    require_matplotlib("a frontier")
    return Picture(lambda figure: _paint(figure, frontier), _SIZE)


def _paint(figure: Figure, frontier: Frontier) -> None:
    axes = figure.subplots()
    steps = [point.steps for point in frontier.points]
    costs = [float(point.bandwidth) for point in frontier.points]
    last = steps[-1] + 1
    axes.set_title(f"{frontier.collective} on {frontier.topology.name}", fontsize=10)
    bounds = _bounds(frontier)
    if bounds:
        known, least = zip(*bounds, strict=True)
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


def _bounds(frontier: Frontier) -> list[tuple[int, Fraction]]:
    """For each S what is proved, ascending."""
    if frontier.evidence is not None:
        return [(proof.steps, proof.bound) for proof in frontier.evidence.proofs]
    return [(p.steps, p.bound) for p in frontier.points if p.bound is not None]
