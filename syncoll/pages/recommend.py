"""The page of a recommendation."""

from __future__ import annotations

from syncoll.documents.recommendation import RecommendedRecord, VariantRecord
from syncoll.pages.page import Page
from syncoll.results import Frontier
from syncoll.simulating import Comparison
from syncoll.units import format_size
from syncoll.wording import counted, gap

__all__ = ["ELEMENT_BYTES", "recommendation_page"]

ELEMENT_BYTES = 4
"""Bytes of an element; a chunk should consist of whole elements."""


def recommendation_page(
    frontier: Frontier,
    compared: Comparison,
    recommended: tuple[RecommendedRecord, ...],
    optimal: str | None,
    variants: tuple[VariantRecord, ...],
) -> Page:
    """The fastest algorithm for each message, and remarks."""
    topology = compared.network.topology
    nodes = counted(topology.num_nodes, "node")
    page = Page().text(f"{frontier.collective} on {topology.name}, {nodes}; simulated times")
    over = (">speed-up", "over") if compared.classics else ()
    rows = [_row(one, bool(over)) for one in recommended]
    columns = (">message", "algorithm", ">time (us)", ">GB/s", ">gap", *over)
    page.table(columns, rows, ("over", "GB/s"))
    page.text(
        "GB/s: message over time (algbw); gap: from a proved lower bound on the time of every "
        f"algorithm{'; speed-up: over the fastest classic' if over else ''}"
    )
    page.text(compared.message.sentence)
    for name in dict.fromkeys(one.where for one in recommended):
        stored = compared.timed(name).algorithm
        found = [point.backend for point in frontier.points if point.algorithm is stored.algorithm]
        by = f", by {found[0]}" if found and found[0] else ""
        page.text(f"{name}: S = {stored.steps}, R/C = {stored.bandwidth}, C = {stored.chunks}{by}")
    for one in recommended:
        chunk = compared.message.node_bytes(one.message_bytes) / one.chunks
        if chunk % ELEMENT_BYTES:
            size = format_size(one.message_bytes)
            page.text(
                f"{one.where} does not cut {size} into {one.chunks} equal chunks of whole "
                "elements; a runtime may refuse this size."
            )
    page.text()
    if optimal is not None:
        page.text(f"Nothing can be gained: {optimal} is proved optimal here.")
    elif over and all(one.is_classic for one in recommended):
        page.text("The search found no algorithm that is faster than the classics.")
    elif not frontier.complete:
        end = "was interrupted" if frontier.interrupted else "ended at its limit"
        page.text(f"The search {end}; a longer one may find faster algorithms.")
    for variant in variants:
        here, there = (f"{x * 1e6:.4g} us" for x in (variant.floor_here, variant.floor))
        page.text(
            f"The variant {variant.argument} of this machine may be faster: at "
            f"{format_size(variant.message_bytes)} its lower bound is {there}, not {here}."
        )
    return page


def _row(one: RecommendedRecord, compared: bool) -> list[str]:
    rate = "-" if one.algbw is None else f"{one.algbw / 1e9:.4g}"
    above = gap(one.seconds, one.floor) if one.floor else "-"
    cells = [format_size(one.message_bytes), one.where, f"{one.seconds * 1e6:.4g}", rate, above]
    speedup = "-" if one.speedup is None else f"{one.speedup:.3g}x"
    return [*cells, speedup, (one.classic or "-").partition("[")[0]] if compared else cells
