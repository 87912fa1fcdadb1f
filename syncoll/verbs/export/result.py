"""Files for runtimes: written once they are executed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from syncoll.pages import Page
from syncoll.runtime import SavedExport
from syncoll.verbs.result import Result

__all__ = ["ExportResult"]


@dataclass(frozen=True, repr=False)
class ExportResult(Result, SavedExport):
    """Files of a runtime, executed by the checker of their format."""

    def page(self) -> Page:
        """The files, and the findings of the checker."""
        checked = self.export.checked
        facts = ", ".join(f"{name} {value}" for name, value in checked.facts.items())
        page = Page().text(f"{', '.join(str(path) for path in self.files)}")
        page.text(f"executed: {checked.format}, {checked.collective}; {facts}")
        for note in self.export.exported.notes:
            page.text(f"note: {note}")
        return page

    def document(self) -> dict[str, Any]:
        """The files, and the findings of the checker."""
        checked = self.export.checked
        return {
            "files": [str(path) for path in self.files],
            "format": checked.format,
            "does": checked.collective,
            "facts": dict(checked.facts),
            "notes": list(self.export.exported.notes),
        }
