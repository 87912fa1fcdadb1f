"""A plan as the document ``syncoll/plan/1``: what is printed as JSON, and the index of exports."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import syncoll
from syncoll.documents import StoredAlgorithm, StoredFile
from syncoll.documents.plan import (
    EndRecord,
    ExportRecord,
    ExportsRecord,
    MessageRecord,
    ModelRecord,
    NeverBestRecord,
    PlanRecord,
    RangeRecord,
    RefusedRecord,
)
from syncoll.documents.record import written
from syncoll.planning.exports import PlannedExport, PlannedExports
from syncoll.planning.plan import NeverBest, Plan, SizeRange

__all__ = ["ends", "exports_document", "plan_document"]

Json = dict[str, Any]


def plan_document(
    plan: Plan,
    stored: StoredFile,
    *,
    bandwidth_given: bool,
    sizes: tuple[int, int] | None = None,
) -> Json:
    """A plan; what is chosen for which size is exact, times and bandwidths are rounded.

    Args:
        plan: the plan.
        stored: the file with the frontier that was planned.
        bandwidth_given: whether the bandwidth was given by a person, not by the file.
        sizes: the sizes of one node's data between which times are told; None for all.
    """
    message = plan.message
    return written(
        PlanRecord(
            "syncoll/plan/1",
            syncoll.__version__,
            stored.topology.name,
            stored.collective,
            stored.topology.num_nodes,
            ModelRecord(
                plan.model.alpha,
                plan.model.bandwidth,
                "command" if bandwidth_given else "file",
                plan.model.overhead,
            ),
            MessageRecord(str(message.kind), message.measured, message.per_node, message.words),
            sizes,
            tuple(_range(plan, one, sizes) for one in plan.ranges),
            tuple(_never_best(one) for one in plan.never_best),
        )
    )


def exports_document(made: PlannedExports, to: str, in_place: bool) -> Json:
    """What a plan's document says of its exports, as entry ``exports``.

    Args:
        made: the exports.
        to: the format, as the exporter is called.
        in_place: whether they are for calls whose input and output are one buffer.
    """
    return written(
        ExportsRecord(
            to,
            in_place,
            tuple(_export(one) for one in made.exports),
            tuple(RefusedRecord(*_chosen(one), reason) for one, reason in made.refused),
        )
    )


def _chosen(one: StoredAlgorithm) -> tuple[str, int, int, int, Fraction]:
    algorithm, chunks = one.algorithm, one.instance.chunks
    bandwidth = Fraction(algorithm.rounds, chunks)
    return one.where, algorithm.steps, algorithm.rounds, chunks, bandwidth


def _range(plan: Plan, one: SizeRange, sizes: tuple[int, int] | None) -> RangeRecord:
    return RangeRecord(
        *_chosen(one.algorithm),
        one.low,
        one.high,
        one.message_range(plan.message) if plan.message.measured else None,
        tuple(_end(plan, one, size) for size in ends(one, sizes)),
    )


def ends(one: SizeRange, sizes: tuple[int, int] | None) -> tuple[Fraction | None, ...]:
    """The least and the largest size of a range that are to be shown; none if it is not.

    Args:
        one: the range.
        sizes: what is to be shown; None for everything, to a largest size of None.
    """
    if sizes is None:
        return one.low, one.high
    low = max(one.low, Fraction(sizes[0]))
    high = Fraction(sizes[1]) if one.high is None else min(one.high, Fraction(sizes[1]))
    return (low, high) if low < high else ()


def _end(plan: Plan, one: SizeRange, size: Fraction | None) -> EndRecord:
    algbw = plan.algorithm_bandwidth(one.algorithm, size)
    return EndRecord(
        size,
        None if size is None else float(plan.seconds(one.algorithm, size)),
        None if algbw is None else float(algbw),
    )


def _never_best(one: NeverBest) -> NeverBestRecord:
    return NeverBestRecord(
        *_chosen(one.algorithm),
        None if one.below is None else one.below.where,
        None if one.above is None else one.above.where,
        one.size,
        None if one.slower is None else float(one.slower),
    )


def _export(one: PlannedExport) -> ExportRecord:
    checked = one.handed_out.checked
    return ExportRecord(
        *_chosen(one.algorithm),
        (one.min_bytes, one.max_bytes),
        tuple(one.files),
        checked.format,
        checked.collective,
        dict(checked.facts),
        tuple(one.handed_out.exported.notes),
    )
