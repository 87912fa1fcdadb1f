"""Plans: the fastest algorithm for each size, drawn and exported."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from syncoll import values
from syncoll.documents import to_text, write_new_folder
from syncoll.pages import Page
from syncoll.pages.plan import plan_page, plan_title
from syncoll.planning import Picture, Plan, PlannedExports, draw, plan_document
from syncoll.verbs.frontier import FrontierResult
from syncoll.verbs.result import Tabular, picked

__all__ = ["PlanResult"]


@dataclass(frozen=True, eq=False, repr=False)
class PlanResult(Tabular, Plan):
    """The fastest algorithm of a frontier for each size.

    Args:
        frontier: of the algorithms.
        given: whether the bandwidth was given, and not taken from the topology.
        alpha_given: the same for alpha.
        made: the exports, if any.
        wanted: messages whose fastest algorithm is named.
    """

    frontier: FrontierResult
    given: bool
    alpha_given: bool = True
    made: PlannedExports | None = None
    wanted: tuple[int, ...] = ()

    columns: ClassVar = {
        "where": str,
        **dict.fromkeys(("steps", "rounds", "chunks"), int),
        **dict.fromkeys(("bandwidth", "message_from", "seconds_from"), float),
        **dict.fromkeys(("message_below", "seconds_below"), float),
    }

    def rows(self) -> list[dict[str, Any]]:
        """A row for each range of messages in bytes; None at the end of the last range."""
        found = []
        for one in self.ranges:
            row = picked(one.algorithm, "where steps rounds chunks")
            row["bandwidth"] = float(one.bandwidth)
            for name, size in (("from", one.low), ("below", one.high)):
                seconds = None if size is None else float(self.seconds(one.algorithm, size))
                row[f"message_{name}"] = None if size is None else float(size)
                row[f"seconds_{name}"] = seconds
            found.append(row)
        return found

    def page(self, sizes: int | str | None = None) -> Page:
        """The ranges of messages: all, a part (``1KiB..1GiB``), or that of one size."""
        shown = values.size_range("sizes", sizes)
        return plan_page(
            self,
            self.frontier,
            given=self.given,
            alpha_given=self.alpha_given,
            sizes=shown,
            wanted=self.wanted,
        )

    def plot(self, sizes: int | str | None = None) -> Picture:
        """Time and algorithm bandwidth over the message.

        Args:
            sizes: of messages, such as ``1KiB..1GiB``.

        Raises:
            UsageError: if matplotlib is not installed, or on invalid sizes.
        """
        title = plan_title(self, self.frontier, given=self.given, alpha_given=self.alpha_given)
        return draw(self, title, values.size_range("sizes", sizes))

    def document(self, sizes: int | str | None = None) -> dict[str, Any]:
        """The plan as JSON, with its exports; ranges are cut to `sizes`."""
        shown = values.size_range("sizes", sizes)
        return plan_document(
            self, self.frontier, self.given, self.alpha_given, sizes=shown, made=self.made
        )

    def save(self, folder: str | Path, sizes: int | str | None = None) -> None:
        """Writes the exports into a new folder, with an index; all of them, or no file.

        Raises `UsageError` if it cannot be written.
        """
        write_new_folder(Path(folder), self.files(sizes))

    def files(self, sizes: int | str | None = None) -> dict[str, bytes]:
        """The index and the exports, by their names in the folder that `save` writes."""
        made = {} if self.made is None else self.made.files
        return {"index.json": f"{to_text(self.document(sizes))}\n".encode(), **made}
