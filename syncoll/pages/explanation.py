"""The page of a formula: its size after each lowering."""

from __future__ import annotations

from syncoll.pages.page import Page
from syncoll.results.solution import Explanation
from syncoll.wording import counted

__all__ = ["explanation_page"]

_COUNTS = (
    *("booleans", "integers", "clauses", "cardinalities", "linears", "differences", "literals"),
)


def explanation_page(found: Explanation) -> Page:
    """The formula after each stage, and whether the backend takes it."""
    instance, page = found.instance, Page()
    page.text(
        f"{instance.collective} on {instance.topology.name}, C = {instance.chunks}, "
        f"S = {instance.steps}, R = {instance.rounds}: {counted(instance.num_chunks, 'chunk')} "
        f"in all, at least {counted(instance.least_steps, 'step')}\n"
    )
    if found.note:
        page.text(f"{found.note}\n")
    rows = [
        (
            stage.name,
            *(getattr(stage.size, name) for name in _COUNTS),
            f"{stage.seconds:.3f}",
        )
        for stage in found.stages
    ]
    columns = (">Booleans", ">integers", ">clauses", ">cardinality", ">linear", ">difference")
    optional = ("seconds", "literals", "difference", "cardinality", "linear")
    page.table(("after", *columns, ">literals", ">seconds"), rows, optional)
    for stage in found.stages:
        page.text(f"{stage.name}: {stage.summary}")
    takes = ", ".join(found.features)
    page.text(f"backend {found.backend}: {found.summary}; takes {takes}")
    for name, ok, why in found.answers:
        verdict = "yes" if ok else "no"
        page.text(f"{name.replace('_', ' ')} this: {verdict}" + (f": {why}" if why else ""))
    return page
