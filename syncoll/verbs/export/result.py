"""Files for runtimes: written once they are executed."""

from dataclasses import dataclass
from typing import Any

from syncoll.pages.page import PageParts, paged
from syncoll.runtime import SavedExport
from syncoll.verbs.result import Result


@dataclass(frozen=True, repr=False)
class ExportResult(Result, SavedExport):
    """Files of a runtime, executed by the checker of their format."""

    @property
    def executed(self) -> str:
        """The findings of the checker in a line."""
        checked = self.export.checked
        facts = ", ".join(f"{name} {value}" for name, value in checked.facts.items())
        return f"executed: {checked.format}, {checked.collective}" + (f"; {facts}" if facts else "")

    @paged
    def page(self) -> PageParts:
        """The files, and the findings of the checker."""
        yield ", ".join(map(str, self.files))
        yield self.executed
        yield from (f"note: {note}" for note in self.export.exported.notes)

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
