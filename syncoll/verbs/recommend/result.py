"""Recommendations: the fastest algorithm for each message, with its files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from msgspec import structs

import syncoll
from syncoll.documents import frontier_document, to_text, write_new_folder
from syncoll.documents.plan import MessageRecord
from syncoll.documents.recommendation import (
    RecommendationRecord,
    RecommendedRecord,
    VariantRecord,
)
from syncoll.documents.record import written
from syncoll.pages import Page
from syncoll.pages.recommend import recommendation_page
from syncoll.plugins import resolve_options
from syncoll.runtime.plan_folder import FRONTIER
from syncoll.session import Session
from syncoll.verbs.asking import session_of
from syncoll.verbs.frontier import FrontierResult
from syncoll.verbs.plan.result import PlanResult
from syncoll.verbs.result import Tabular, columns_of
from syncoll.verbs.simulate.result import SimulationResult
from syncoll.version import __version__

__all__ = ["RecommendationResult", "require_exporter", "style_after"]


def style_after(progress: str) -> Any:
    """The style of progress after the search."""
    return "plain" if progress == "log" else progress


def require_exporter(
    session: Session, to: str | None, options: Mapping[str, object] | None
) -> None:
    """Raises `PluginError` or `OptionError` on a format or an option that does not exist."""
    if to is not None:
        resolve_options(session.plugins.exporters[to].options, options or {}, f"exporter {to}")


@dataclass(frozen=True, eq=False, repr=False)
class RecommendationResult(Tabular):
    """The fastest known algorithm for each message.

    Args:
        frontier: found by the search, or given.
        compared: the simulated times of its algorithms and of the classics.
        recommended: the fastest for each message.
        optimal: a classic whose times are proved optimal for all these messages, or None.
        variants: of the machine, with better bounds.
        model: the values of alpha and beta that were given.
    """

    frontier: FrontierResult
    compared: SimulationResult
    recommended: tuple[RecommendedRecord, ...]
    optimal: str | None
    variants: tuple[VariantRecord, ...]
    model: Mapping[str, Any]

    columns: ClassVar = columns_of(
        "str where classic, int message_bytes steps rounds chunks, "
        "float seconds algbw speedup floor gap"
    )

    def records(self) -> list[dict[str, Any]]:
        """A row for each message."""
        return [structs.asdict(one) for one in self.recommended]

    def page(self) -> Page:
        """The table of algorithms, and remarks."""
        about = self.recommended, self.optimal, self.variants
        return recommendation_page(self.frontier, self.compared, *about)

    def document(self) -> dict[str, Any]:
        """The recommendation as JSON."""
        frontier = self.frontier
        about = frontier.topology.name, frontier.collective, frontier.topology.num_nodes
        answer = self.recommended, self.optimal, self.variants
        record = RecommendationRecord(
            "syncoll/recommendation/1",
            __version__,
            *about,
            MessageRecord.of(self.compared.message),
            *answer,
            interrupted=frontier.interrupted,
        )
        return written(record)

    def export(
        self,
        folder: str | Path,
        to: str | None = None,
        *,
        in_place: bool = False,
        options: Mapping[str, object] | None = None,
        progress: str = "auto",
    ) -> PlanResult:
        """Writes a new folder: the frontier, a plan of the recommended algorithms, and its exports.

        If an export fails, the folder has the frontier.

        Args:
            to: the format of the exports; None for no exports.
            in_place: for calls whose input and output are one buffer.
            options: of the exporter, by name.
            progress: see `recommend`.

        Raises:
            ExportError: if the format can express none of the algorithms.
            UsageError: if the folder cannot be written.
        """
        require_exporter(session_of(self.frontier), to, options)
        files = {FRONTIER: f"{to_text(frontier_document(self.frontier))}\n".encode()}
        names = dict.fromkeys(one.where for one in self.recommended)
        try:
            found = syncoll.plan(
                self.frontier,
                size=self.compared.sizes,
                to=to,
                in_place=in_place,
                skip_refused=True,
                options=options,
                progress=style_after(progress),
                algorithms=[self.compared.timed(name).algorithm for name in names],
                **self.model,
            )
            files |= found.files()
        finally:
            write_new_folder(Path(folder), files)
        return found
