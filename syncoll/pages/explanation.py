"""The page of a formula: its size after each lowering."""

from __future__ import annotations

from syncoll.pages.page import PageParts, paged, table
from syncoll.results.solution import Explanation
from syncoll.wording import counted

__all__ = ["explanation_page"]


@paged
def explanation_page(found: Explanation) -> PageParts:
    """The formula after each stage, and whether the backend takes it."""
    instance = found.instance
    yield (
        f"{instance.collective} on {instance.topology.name}, C = {instance.chunks}, "
        f"S = {instance.steps}, R = {instance.rounds}: {counted(instance.num_chunks, 'chunk')} "
        f"in all, at least {counted(instance.least_steps, 'step')}\n"
    )
    if found.note:
        yield f"{found.note}\n"
    rows = [
        {
            "after": stage.name,
            ">Booleans": stage.size.booleans,
            ">integers": stage.size.integers,
            ">clauses": stage.size.clauses,
            ">cardinality": stage.size.cardinalities,
            ">linear": stage.size.linears,
            ">difference": stage.size.differences,
            ">literals": stage.size.literals,
            ">seconds": f"{stage.seconds:.3f}",
        }
        for stage in found.stages
    ]
    yield table(rows, ("seconds", "literals", "difference", "cardinality", "linear"))
    yield from (f"{stage.name}: {stage.summary}" for stage in found.stages)
    takes = ", ".join(found.features)
    yield f"backend {found.backend}: {found.summary}; takes {takes}"
    for name, ok, why in found.answers:
        verdict = "yes" if ok else "no"
        yield f"{name.replace('_', ' ')} this: {verdict}" + (f": {why}" if why else "")
