"""Repairs and surveys: losses as tables and documents."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from syncoll.pages.repair import repair_page, survey_page
from syncoll.repairing.cost_delta import Loss, Repair
from syncoll.repairing.document import repair_document, survey_document
from syncoll.repairing.survey import Survey
from syncoll.verbs.frontier import FrontierResult
from syncoll.verbs.result import Tabular, columns_of, picked

__all__ = ["RepairResult", "SurveyResult"]


@dataclass(frozen=True, eq=False, repr=False)
class RepairResult(Tabular, Repair):
    """The frontier of a machine, and that of the same machine after the damage.

    Args:
        frontier: of the damaged machine.
    """

    frontier: FrontierResult

    page = repair_page
    document = repair_document
    columns: ClassVar = columns_of(
        "int steps, str whole now bound, float lost lost_for_good gap, str found_by"
    )

    def records(self) -> Iterator[dict[str, Any]]:
        """A row for each number of steps, and a last one (steps None) for any number."""
        return map(_record, self.losses)


@dataclass(frozen=True, eq=False, repr=False)
class SurveyResult(Tabular, Survey):
    """Every single failure of a machine, and its cost."""

    page = survey_page
    document = survey_document
    columns: ClassVar = columns_of(
        "str broken, int alike steps, float whole, str exact_whole, float now, str exact_now, "
        "float bound, str exact_bound, float lost lost_for_good gap, str found_by refused left_out"
    )

    def records(self) -> Iterator[dict[str, Any]]:
        """A row for each failure and number of steps, the worst failure first; steps is None in the
        row for any number of steps."""
        order = [*self.fatal, *self.worst, *self.left_out]
        for one in [*order, *(one for one in self.surveyed if one not in order)]:
            first = {"broken": one.words, "alike": one.failure.images}
            first |= picked(one, "refused left_out")
            losses = () if one.repair is None else one.repair.losses
            yield from ({**first, **_record(loss)} for loss in losses)
            if not losses:
                yield first


def _record(loss: Loss) -> dict[str, Any]:
    return picked(loss, "steps whole now bound lost lost_for_good gap found_by")
