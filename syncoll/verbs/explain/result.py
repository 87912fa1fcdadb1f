"""The formula of an instance and its lowerings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from syncoll.pages.algorithm import explanation_page
from syncoll.results.solution import Explanation
from syncoll.verbs.result import Result, picked

__all__ = ["ExplanationResult"]

_SIZE = "variables constraints booleans integers clauses cardinalities linears differences literals"


@dataclass(frozen=True, eq=False, repr=False)
class ExplanationResult(Result, Explanation):
    """The input of a solver, stage by stage."""

    page = explanation_page

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
