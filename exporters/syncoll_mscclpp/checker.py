"""The checker of MSCCL++ execution plans: reads a plan as the runtime would, and executes it."""

from __future__ import annotations

from collections.abc import Mapping

from syncoll.errors import UncheckedError
from syncoll.model import Instance
from syncoll.plugins import CheckedExport, OptionValue
from syncoll_mscclpp.reading import (
    Plan,
    Threads,
    links_of,
    read_plan,
    require_loadable,
    require_ordered,
    specification_of,
    threads_of,
    units_of,
)
from syncoll_threadblocks import Specification, execute, schedule
from syncoll_threadblocks.matching import require_matched

__all__ = ["MscclppChecker"]

_MOST_INSTRUCTIONS = 5_000_000


class MscclppChecker:
    """Checks one file."""

    def check(
        self,
        files: Mapping[str, bytes],
        options: Mapping[str, OptionValue],
        instance: Instance | None = None,
    ) -> CheckedExport:
        """See `syncoll.plugins.ExportChecker`; a plan says everything itself, without options."""
        (content,) = files.values()
        plan = read_plan(content)
        require_loadable(plan)
        spec = specification_of(plan)
        if instance is not None and spec is None:
            raise UncheckedError(
                f"collective {plan.collective!r} does not say which chunk lies where, so it cannot "
                f"be compared with {instance.collective}"
            )
        found, doubt = spec, None
        for units in units_of(plan):
            _require_followable(plan, units)
            threads = threads_of(plan, spec, units)
            scaled = None if spec is None else _cut(spec, units)
            found, doubted = _follow(plan, threads, scaled, spec)
            doubt = doubt or doubted
        if instance is not None and found is not None:
            found.require_same(instance)
        if doubt is not None:
            raise UncheckedError(doubt)
        return CheckedExport(
            "MSCCL++ execution plan",
            plan.collective,
            len(plan.gpus),
            plan.inplace,
            _facts(plan, found),
            found is not None,
            links=links_of(plan),
        )


def _require_followable(plan: Plan, units: int) -> None:
    pieces = sum(
        (1 + sum(one.size for one in (*inner.sources, *inner.targets))) * max(1, op.loop_chunks)
        for gpu in plan.gpus
        for block in gpu.blocks
        for op in block.operations
        for inner in (op, *op.inner)
    )
    chunks = sum(g.input_chunks + g.output_chunks + g.scratch_chunks for g in plan.gpus)
    if (pieces + chunks) * units > _MOST_INSTRUCTIONS:
        raise UncheckedError(f"it has and moves about {pieces + chunks} chunks, too many to follow")


def _cut(spec: Specification, units: int) -> Specification:
    """The same collective with each chunk in pieces."""
    return Specification(spec.collective, spec.num_ranks, spec.share * units, spec.root)


def _follow(
    plan: Plan, threads: Threads, scaled: Specification | None, spec: Specification | None
) -> tuple[Specification | None, str | None]:
    """Executes a plan; returns its collective, with its root, and what cannot be judged."""
    require_matched(threads.program)
    run = schedule(threads.program)
    doubt = require_ordered(threads, run, double_scratch=plan.double_scratch)
    _, found = execute(threads.program, scaled, threads.inputs, threads.outputs)
    if spec is None or found is None:
        return None, doubt
    return Specification(spec.collective, spec.num_ranks, spec.share, found.root), doubt


def _facts(plan: Plan, found: Specification | None) -> dict[str, int | str]:
    blocks = [block for gpu in plan.gpus for block in gpu.blocks]
    facts: dict[str, int | str] = {
        "protocol": plan.protocol,
        "thread blocks": len(blocks),
        "operations": sum(len(block.operations) for block in blocks),
        "channels": sum(len(ids) for gpu in plan.gpus for ids in gpu.channels.values()),
        "chunks": max(max(gpu.input_chunks, gpu.output_chunks) for gpu in plan.gpus),
        "scratch chunks": max(gpu.scratch_chunks for gpu in plan.gpus),
    }
    if found is None:
        facts["result"] = f"not checked: {plan.collective} does not say what it should be"
    elif found.root is not None:
        facts["root"] = found.root
    return facts
