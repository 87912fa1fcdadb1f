"""Machines with their costs and bounds: a table, a picture and a page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from syncoll import documents
from syncoll.designing import Design
from syncoll.designing.design import COLUMNS, rows
from syncoll.designing.document import design_document
from syncoll.designing.picture import draw_design
from syncoll.pages.design import design_page
from syncoll.planning import Picture
from syncoll.reporting import design_report
from syncoll.verbs.result import Tabular

__all__ = ["DesignResult"]


@dataclass(frozen=True, eq=False, repr=False)
class DesignResult(Tabular, Design):
    """Candidates with their costs and proved bounds."""

    page = design_page
    document = design_document
    columns = COLUMNS
    rows = rows

    def plot(self) -> Picture:
        """R/C over links for each collective, with bounds and points.

        Raises `UsageError` if nothing is proved, or matplotlib is not installed.
        """
        return draw_design(self)

    def report(self, path: str | Path | None = None) -> str:
        """One page of HTML, which loads nothing: tables to sort, pictures, and dominance in words.

        Args:
            path: the file to write; None for no file.

        Raises:
            UsageError: if it cannot be written.
        """
        html = design_report(self)
        if path is not None:
            documents.write_atomically(Path(path), html)
        return html
