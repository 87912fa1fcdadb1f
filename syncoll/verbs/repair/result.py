"""Repairs and surveys: losses as tables and documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from syncoll.pages.repair import repair_page, survey_page
from syncoll.repairing.cost_delta import Repair
from syncoll.repairing.document import loss_entry, repair_document, survey_document
from syncoll.repairing.survey import COLUMNS, Survey, rows
from syncoll.verbs.frontier import FrontierResult
from syncoll.verbs.result import Result, Tabular, data_frame

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["RepairResult", "SurveyResult"]


@dataclass(frozen=True, eq=False, repr=False)
class RepairResult(Result, Repair):
    """The frontier of a machine, and that of the same machine after the damage.

    Args:
        frontier: of the damaged machine.
    """

    frontier: FrontierResult

    page = repair_page
    document = repair_document

    def to_pandas(self) -> DataFrame:
        """A row for each number of steps, and a last one (steps None) for any number.

        Raises `UsageError` if pandas is not installed.
        """
        rows = [loss_entry(one) for one in self.losses]
        return data_frame({name: [row[name] for row in rows] for name in rows[0]})


@dataclass(frozen=True, eq=False, repr=False)
class SurveyResult(Tabular, Survey):
    """Every single failure of a machine, and its cost."""

    page = survey_page
    document = survey_document
    columns = COLUMNS
    rows = rows
