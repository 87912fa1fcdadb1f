"""The page of a recommendation."""

from __future__ import annotations

from syncoll.documents.recommendation import RecommendedRecord, VariantRecord
from syncoll.pages.page import PageParts, paged, table
from syncoll.pages.times import gigabytes, microseconds
from syncoll.results import Frontier
from syncoll.simulating import Comparison
from syncoll.units import format_size
from syncoll.wording import counted, gap

__all__ = ["fits", "recommendation_page"]

_ELEMENT_BYTES = 4

_FASTER = 0.95
"""An algorithm that the message does not fit is named if it takes at most this part of the time."""


def fits(compared: Comparison, size: int, chunks: int) -> bool:
    """Whether a message is cut into equal chunks of whole elements; runtimes refuse others."""
    return not compared.message.node_bytes(size) / chunks % _ELEMENT_BYTES


@paged
def recommendation_page(
    frontier: Frontier,
    compared: Comparison,
    recommended: tuple[RecommendedRecord, ...],
    optimal: str | None,
    variants: tuple[VariantRecord, ...],
) -> PageParts:
    """The fastest algorithm for each message, and remarks."""
    topology = compared.network.topology
    nodes = counted(topology.num_nodes, "node")
    yield f"{frontier.collective} on {topology.name}, {nodes}; simulated times"
    over = bool(compared.classics)
    yield table([_row(one, over) for one in recommended], ("over", "GB/s"))
    yield (
        "GB/s: message over time (algbw); gap: from a proved lower bound on the time of every "
        f"algorithm (2x: twice the bound){'; speed-up: over the fastest classic' if over else ''}"
    )
    yield compared.message.sentence
    for name in dict.fromkeys(one.where for one in recommended):
        stored = compared.timed(name).algorithm
        found = [point.backend for point in frontier.points if point.algorithm is stored.algorithm]
        by = f", by {found[0]}" if found and found[0] else ""
        yield f"{name}: S = {stored.steps}, R/C = {stored.bandwidth}, C = {stored.chunks}{by}"
    for number, one in enumerate(recommended):
        size, least = format_size(one.message_bytes), compared.best(number)
        if not fits(compared, one.message_bytes, one.chunks):
            yield (
                f"{one.where} does not cut {size} into {one.chunks} equal chunks of whole "
                "elements; a runtime may refuse this size."
            )
        elif float(least.seconds[number]) < one.seconds * _FASTER:
            yield (
                f"{least.name} (C = {least.algorithm.chunks}) would take "
                f"{microseconds(least.seconds[number])} us for {size}, but does not cut it into "
                "equal chunks of whole elements."
            )
    yield ""
    if optimal is not None:
        yield f"Nothing can be gained: {optimal} is proved optimal here."
    elif over and all(one.is_classic for one in recommended):
        yield "No algorithm that was found and fits these messages is faster than the classics."
    elif not frontier.complete:
        why = "The search was interrupted" if frontier.interrupted else "Not all gaps are closed"
        yield f"{why}; a longer search may find faster algorithms."
    for variant in variants:
        here, there = map(microseconds, (variant.floor_here, variant.floor))
        yield (
            f"The variant {variant.argument} of this machine may be faster: at "
            f"{format_size(variant.message_bytes)} its lower bound is {there} us, not {here} us."
        )


def _row(one: RecommendedRecord, compared: bool) -> dict[str, str]:
    row = {
        ">message": format_size(one.message_bytes),
        "algorithm": one.where,
        ">time (us)": microseconds(one.seconds),
        ">GB/s": gigabytes(one.algbw),
        ">gap": gap(one.seconds, one.floor) if one.floor else "-",
    }
    if compared:
        row[">speed-up"] = "-" if one.speedup is None else f"{one.speedup:.3g}x"
        row["over"] = (one.classic or "-").partition("[")[0]
    return row
