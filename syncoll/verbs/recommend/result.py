"""Recommendations: the fastest algorithm for each message, with its files."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from msgspec import UNSET, structs

import syncoll
from syncoll.documents import frontier_document, require_new_folder, to_text, write_new_folder
from syncoll.documents.plan import MessageRecord
from syncoll.documents.recommendation import RecommendationRecord, RecommendedRecord, VariantRecord
from syncoll.documents.record import written
from syncoll.errors import UsageError
from syncoll.pages.page import PageParts, paged, table
from syncoll.planning import carried
from syncoll.plugins import ExporterRecord, resolve_options
from syncoll.runtime.plan_folder import FRONTIER
from syncoll.session import Session
from syncoll.simulating import runtime_record
from syncoll.units import format_size, gigabytes, microseconds
from syncoll.verbs.asking import session_of
from syncoll.verbs.frontier import FrontierResult, algorithms_of
from syncoll.verbs.plan.result import PlanResult
from syncoll.verbs.result import Tabular, columns_of
from syncoll.verbs.simulate.result import SimulationResult
from syncoll.version import __version__
from syncoll.wording import argument, counted, gap

_FASTER = 0.95
"""An algorithm that the message does not fit is named if it takes at most this part of the time."""


def style_after(progress: str) -> Any:
    """The style of progress after the search."""
    return "plain" if progress == "log" else progress


def require_possible(
    session: Session,
    to: str | None,
    output: str | Path | None,
    options: Mapping[str, object] | None = None,
) -> ExporterRecord | None:
    """The exporter of a format, if any.  Raises `SyncollError` if it or an option of it does not
    exist, or the output is no new folder."""
    record = None if to is None else session.plugins.exporters[to]
    if record is not None:
        if output is None:
            raise UsageError(f"{argument('to', to)} needs {argument('output')}: name a new folder")
        resolve_options(record.options, options or {}, f"exporter {to}")
    if output is not None:
        require_new_folder(Path(output))
    return record


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
        association: of the recommended algorithms, in words; empty unless sums are reproducible.
        misfits: by bytes and place, why a message does not fit a recommended or faster algorithm.
    """

    frontier: FrontierResult
    compared: SimulationResult
    recommended: tuple[RecommendedRecord, ...]
    optimal: str | None
    variants: tuple[VariantRecord, ...]
    model: Mapping[str, Any]
    association: str
    misfits: Mapping[tuple[int, str], str]

    columns: ClassVar = columns_of(
        "str where classic, int message_bytes steps rounds chunks, "
        "float seconds algbw speedup floor gap"
    )

    def records(self) -> list[dict[str, Any]]:
        """A row for each message."""
        return [structs.asdict(one) for one in self.recommended]

    @paged
    def page(self) -> PageParts:
        """The fastest algorithm for each message, and remarks."""
        frontier, compared = self.frontier, self.compared
        topology = compared.network.topology
        nodes = counted(topology.num_nodes, "node")
        times = "simulated times", compared.runtime.words
        yield f"{frontier.collective} on {topology.name}, {nodes}; {', '.join(filter(None, times))}"
        over = bool(compared.classics)
        yield table([_row(one, over) for one in self.recommended], ("over", "GB/s"))
        yield (
            "GB/s: message over time (algbw); gap: from a proved lower bound on the time of every "
            "algorithm (2x: twice the bound)"
            f"{'; speed-up: over the fastest classic' if over else ''}"
        )
        yield compared.message.sentence
        for name in dict.fromkeys(one.where for one in self.recommended):
            stored = compared.timed(name).algorithm
            found = [one.backend for one in frontier.points if one.algorithm is stored.algorithm]
            by = f", by {found[0]}" if found and found[0] else ""
            yield f"{name}: S = {stored.steps}, R/C = {stored.bandwidth}, C = {stored.chunks}{by}"
        for number, one in enumerate(self.recommended):
            size, least = format_size(one.message_bytes), compared.best(number)
            if why := self.misfits.get((one.message_bytes, one.where)):
                yield f"For {size}, {one.where} {why}; the runtime may refuse it."
            elif float(least.seconds[number]) < one.seconds * _FASTER and (
                why := self.misfits.get((one.message_bytes, least.name))
            ):
                yield (
                    f"{least.name} (C = {least.algorithm.chunks}) would take "
                    f"{microseconds(least.seconds[number])} us for {size}, but {why}."
                )
        if self.association:
            yield f"Sums are reproducible for all these sizes: {self.association}."
        yield ""
        if self.optimal is not None:
            yield f"Nothing can be gained: {self.optimal} is proved optimal here."
        elif over and all(one.is_classic for one in self.recommended):
            yield "No algorithm that was found and fits these messages is faster than the classics."
        elif not frontier.complete:
            why = (
                "The search was interrupted" if frontier.interrupted else "Not all gaps are closed"
            )
            yield f"{why}; a longer search may find faster algorithms."
        for variant in self.variants:
            here, there = map(microseconds, (variant.floor_here, variant.floor))
            yield (
                f"The variant {variant.argument} of this machine may be faster: at "
                f"{format_size(variant.message_bytes)} its lower bound is {there} us, not {here} "
                "us."
            )

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
            runtime=runtime_record(self.compared.runtime),
            association=self.association or UNSET,
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

        If the runtime cannot carry a recommended algorithm, the plan also has the others of the
        frontier.  If an export fails, the folder has the frontier.  See `recommend`.

        Raises:
            ExportError: if the format can express none of the algorithms.
            UsageError: if the folder cannot be written.
        """
        require_possible(session_of(self.frontier), to, folder, options)
        files = {FRONTIER: f"{to_text(frontier_document(self.frontier))}\n".encode()}
        names = dict.fromkeys(one.where for one in self.recommended)
        chosen = [self.compared.timed(name).algorithm for name in names]
        if to is not None:
            record = session_of(self.frontier).plugins.exporters[to]
            if carried(chosen, record, options or {}, in_place=in_place)[1]:
                known = {one.where for one in chosen}
                others = algorithms_of(self.frontier, "recommend")
                chosen += [one for one in others if one.where not in known]
        try:
            found = syncoll.plan(
                self.frontier,
                size=self.compared.sizes,
                to=to,
                in_place=in_place,
                skip_refused=True,
                tolerance=0,
                options=options,
                progress=style_after(progress),
                algorithms=chosen,
                runtime=self.compared.runtime,
                **self.model,
            )
            files |= found.files()
        finally:
            write_new_folder(Path(folder), files)
        return found


def _row(one: RecommendedRecord, compared: bool) -> dict[str, str]:
    row = {
        ">message": format_size(one.message_bytes),
        "algorithm": one.where,
        ">time (us)": microseconds(one.seconds),
        ">GB/s": gigabytes(one.algbw),
        ">gap": gap(one.seconds, one.floor) if one.floor else "-",
    }
    if compared:
        row[">speed-up"] = "-" if one.speedup is None else f"{one.speedup:.3g}x"
        row["over"] = (one.classic or "-").partition("[")[0]
    return row
