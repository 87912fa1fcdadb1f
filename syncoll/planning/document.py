"""A plan as the document ``syncoll/plan/1``: what is printed as JSON, and the index of exports."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import syncoll
from syncoll.documents import (
    StoredAlgorithm,
    StoredFile,
)
from syncoll.planning.exports import PlannedExport, PlannedExports
from syncoll.planning.plan import NeverBest, Plan, SizeRange

__all__ = ["SCHEMA", "ends", "exports_document", "plan_document"]

Json = dict[str, Any]

SCHEMA = "syncoll/plan/1"


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
    return {
        "schema": SCHEMA,
        "version": syncoll.__version__,
        "topology": stored.topology.name,
        "collective": stored.collective,
        "nodes": stored.topology.num_nodes,
        "model": {
            "alpha": str(plan.model.alpha),
            "bandwidth": str(plan.model.bandwidth),
            "bandwidth_from": "command" if bandwidth_given else "file",
            "overhead": str(plan.model.overhead),
        },
        "message": {
            "kind": str(message.kind),
            "measured": message.measured,
            "per_node": str(message.per_node),
            "words": message.words,
        },
        "sizes": None if sizes is None else list(sizes),
        "ranges": [_range(plan, one, sizes) for one in plan.ranges],
        "never_best": [_never_best(one) for one in plan.never_best],
    }


def exports_document(made: PlannedExports, to: str, in_place: bool) -> Json:
    """What a plan's document says of its exports, as entry ``exports``.

    Args:
        made: the exports.
        to: the format, as the exporter is called.
        in_place: whether they are for calls whose input and output are one buffer.
    """
    return {
        "to": to,
        "in_place": in_place,
        "algorithms": [_export(one) for one in made.exports],
        "refused": [{**_costs(one), "reason": reason} for one, reason in made.refused],
    }


def _costs(one: StoredAlgorithm) -> Json:
    return {
        "where": one.where,
        "steps": one.algorithm.steps,
        "rounds": one.algorithm.rounds,
        "chunks": one.instance.chunks,
        "bandwidth": str(Fraction(one.algorithm.rounds, one.instance.chunks)),
    }


def _range(plan: Plan, one: SizeRange, sizes: tuple[int, int] | None) -> Json:
    messages = one.message_range(plan.message) if plan.message.measured else None
    return {
        **_costs(one.algorithm),
        "from": str(one.low),
        "below": None if one.high is None else str(one.high),
        "message_bytes": None if messages is None else list(messages),
        "ends": [_end(plan, one, size) for size in ends(one, sizes)],
    }


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


def _end(plan: Plan, one: SizeRange, size: Fraction | None) -> Json:
    algbw = plan.algorithm_bandwidth(one.algorithm, size)
    return {
        "size": None if size is None else str(size),
        "seconds": None if size is None else float(plan.seconds(one.algorithm, size)),
        "algbw": None if algbw is None else float(algbw),
    }


def _never_best(one: NeverBest) -> Json:
    return {
        **_costs(one.algorithm),
        "below": None if one.below is None else one.below.where,
        "above": None if one.above is None else one.above.where,
        "nearest": None if one.size is None else str(one.size),
        "slower": None if one.slower is None else float(one.slower),
    }


def _export(one: PlannedExport) -> Json:
    return {
        **_costs(one.algorithm),
        "message_bytes": [one.min_bytes, one.max_bytes],
        "files": list(one.files),
        "format": one.handed_out.checked.format,
        "does": one.handed_out.checked.collective,
        "facts": dict(one.handed_out.checked.facts),
        "notes": list(one.handed_out.exported.notes),
    }
