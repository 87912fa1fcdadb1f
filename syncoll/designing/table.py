"""A design as a table for other programs: a row for each machine and collective."""

from __future__ import annotations

from typing import Any

from syncoll.designing.design import Design

__all__ = ["COLUMNS", "rows"]

COLUMNS: dict[str, type] = {
    "topology": str,
    "same": str,
    "images": int,
    "nodes": int,
    "ports": int,
    "links": int,
    "link_bandwidth": float,
    "collective": str,
    "least_steps": int,
    "least_bandwidth": float,
    "exact_least_bandwidth": str,
    "bounds_by_steps": str,
    "points": str,
    "behind": str,
    "no_better_than": str,
    "refused": str,
}
"""The columns and the types of their entries, which may be None."""


def rows(design: Design) -> list[dict[str, Any]]:
    """The rows, with None for unknown entries.

    Points, and bounds by the number of steps, are texts such as ``2: 3/2, 3: 7/6``.
    """
    found = []
    for one, ahead in zip(design.assessed, design.behind(), strict=True):
        costs = one.candidate.costs
        for name in design.collectives:
            proved = one.bounds.get(name)
            points = () if proved is None or proved.frontier is None else proved.frontier.points
            by_steps = () if proved is None else proved.by_steps
            cells = (
                one.candidate.name,
                ", ".join(one.candidate.same) or None,
                one.candidate.images,
                costs.nodes,
                costs.ports,
                costs.links,
                float(costs.bandwidth),
                name,
                None if proved is None else proved.steps,
                None if proved is None else float(proved.bandwidth),
                None if proved is None else str(proved.bandwidth),
                ", ".join(f"{s}: {low}" for s, low in by_steps) or None,
                ", ".join(f"{point.steps}: {point.bandwidth}" for point in points) or None,
                None if ahead is None else ahead.candidate.name,
                one.no_better_than,
                one.refused.get(name),
            )
            found.append(dict(zip(COLUMNS, cells, strict=True)))
    return found
