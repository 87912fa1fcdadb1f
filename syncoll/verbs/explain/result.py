"""The formula of an instance and its lowerings."""

from dataclasses import dataclass
from typing import Any

from syncoll.lowerings.chain import Stage
from syncoll.model import Instance
from syncoll.pages.page import PageParts, paged, table
from syncoll.values import picked
from syncoll.verbs.result import Result
from syncoll.wording import counted

_SIZE = "variables constraints booleans integers clauses cardinalities linears differences literals"

_HEADS = "Booleans integers clauses cardinality linear difference literals"
"""Of the columns with all but the first two of these numbers."""


@dataclass(frozen=True, eq=False, repr=False)
class ExplanationResult(Result):
    """The input of a solver, stage by stage.

    Args:
        note: why another instance is decided instead; may be empty.
        encoding: its name.
        backend: the name of the first backend.
        summary: the backend's summary.
        features: the features that the backend takes.
        stages: the encoding, then each lowering.
        answers: whether the backend can and should run this: the question, yes or no, the reason.
    """

    instance: Instance
    note: str
    encoding: str
    backend: str
    summary: str
    features: tuple[str, ...]
    stages: tuple[Stage, ...]
    answers: tuple[tuple[str, bool, str], ...]

    @paged
    def page(self) -> PageParts:
        """The formula after each stage, and whether the backend takes it."""
        instance = self.instance
        yield (
            f"{instance.collective} on {instance.topology.name}, C = {instance.chunks}, "
            f"S = {instance.steps}, R = {instance.rounds}: {counted(instance.num_chunks, 'chunk')} "
            f"in all, at least {counted(instance.least_steps, 'step')}\n"
        )
        if self.note:
            yield f"{self.note}\n"
        heads = dict(zip(_HEADS.split(), _SIZE.split()[2:], strict=True))
        rows = [
            {
                "after": stage.name,
                **{f">{head}": getattr(stage.size, name) for head, name in heads.items()},
                ">seconds": f"{stage.seconds:.3f}",
            }
            for stage in self.stages
        ]
        yield table(rows, ("seconds", "literals", "difference", "cardinality", "linear"))
        yield from (f"{stage.name}: {stage.summary}" for stage in self.stages)
        takes = ", ".join(self.features)
        yield f"backend {self.backend}: {self.summary}; takes {takes}"
        for name, ok, why in self.answers:
            verdict = "yes" if ok else "no"
            yield f"{name.replace('_', ' ')} this: {verdict}" + (f": {why}" if why else "")

    def document(self) -> dict[str, Any]:
        """The stages with their sizes."""
        instance = self.instance
        return {
            "schema": "syncoll/explanation/1",
            "topology": instance.topology.name,
            **picked(instance, "collective chunks steps rounds"),
            "global_chunks": instance.num_chunks,
            "least_steps": instance.least_steps,
            **picked(self, "note encoding backend"),
            "backend_features": list(self.features),
            "stages": [
                {
                    **picked(stage, "name summary"),
                    "seconds": round(stage.seconds, 6),
                    **picked(stage.size, _SIZE),
                    "features": sorted(stage.size.features),
                }
                for stage in self.stages
            ],
            **{name: {"ok": ok, "reason": reason} for name, ok, reason in self.answers},
        }
