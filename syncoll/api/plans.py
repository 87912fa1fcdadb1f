"""Plans in the hands of a user: which algorithm for which size, drawn and exported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from syncoll.api import arguments
from syncoll.api.base import Tabular, as_result, session_of, shows_progress, verb
from syncoll.api.frontier import FrontierResult, Source, algorithms_of, frontier_of
from syncoll.documents import StoredAlgorithm, require_new_folder, to_text, write_new_folder
from syncoll.errors import UsageError
from syncoll.pages import Page
from syncoll.pages.plan import plan_page, plan_title
from syncoll.planning import (
    PLANNED_SIZES,
    CostModel,
    Picture,
    Plan,
    PlannedExports,
    draw,
    export_plan,
    members_for,
    plan_document,
    plan_sizes,
)
from syncoll.progress import report
from syncoll.simulating import Semantics, SimulatedSeconds, Timing
from syncoll.wording import argument

__all__ = ["PlanResult", "plan"]


@dataclass(frozen=True, eq=False, repr=False)
class PlanResult(Tabular, Plan):
    """The fastest algorithm of a frontier for each size.

    Args:
        frontier: that was planned with.
        given: whether a user said the bandwidth, or the topology did.
        alpha_given: the same of alpha.
        made: the exports, where some were asked for.
        wanted: messages for which the fastest was asked.
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
            row: dict[str, Any] = {
                name: getattr(one.algorithm, name) for name in list(self.columns)[:4]
            }
            row["bandwidth"] = float(one.bandwidth)
            for name, size in (("from", one.low), ("below", one.high)):
                seconds = None if size is None else float(self.seconds(one.algorithm, size))
                row[f"message_{name}"] = None if size is None else float(size)
                row[f"seconds_{name}"] = seconds
            found.append(row)
        return found

    def page(self, sizes: int | str | None = None) -> Page:
        """The ranges of messages: all, those in ``1KiB..1GiB``, or that of one size."""
        shown = arguments.size_range("sizes", sizes)
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
            UsageError: when matplotlib is not installed, or on sizes that make no sense.
        """
        title = plan_title(self, self.frontier, given=self.given, alpha_given=self.alpha_given)
        return draw(self, title, arguments.size_range("sizes", sizes))

    def document(self, sizes: int | str | None = None) -> dict[str, Any]:
        """The plan as JSON, with its exports; an end of a range that is not in `sizes` is cut."""
        shown = arguments.size_range("sizes", sizes)
        return plan_document(
            self, self.frontier, self.given, self.alpha_given, sizes=shown, made=self.made
        )

    def save(self, folder: str | Path, sizes: int | str | None = None) -> None:
        """Writes the exports into a new folder, with an index; all of them, or none.

        Raises:
            UsageError: when it cannot be written.
        """
        write_new_folder(Path(folder), self.files(sizes))

    def files(self, sizes: int | str | None = None) -> dict[str, bytes]:
        """The index and the exports, by their names in the folder that `save` writes."""
        made = {} if self.made is None else self.made.files
        return {"index.json": f"{to_text(self.document(sizes))}\n".encode(), **made}


@verb
@shows_progress
def plan(
    source: Source,
    *,
    alpha: float | str | None = None,
    beta: float | str | None = None,
    overhead: float | str = "0s",
    timing: Literal["asynchronous", "lockstep"] = "asynchronous",
    size: int | str | Sequence[int | str] = (),
    exports: str | Path | None = None,
    to: str | None = None,
    in_place: bool = False,
    skip_refused: bool = False,
    options: Mapping[str, object] | None = None,
    progress: str = "auto",
    also: Sequence[StoredAlgorithm] = (),
) -> PlanResult:
    """The fastest point of a frontier for each message size, with exports.

    Args:
        source: a frontier, or its file.
        alpha: latency of each send, such as ``0.7us``, in place of the topology's latencies; in
            lockstep the latency of a step, by default the greatest of the topology's.
        beta: what a link of one chunk per round carries, such as ``25GB/s``; None where the
            topology says bandwidths.
        overhead: of each call.
        timing: when a send leaves, as in `syncoll.simulate`.  Asynchronous: when its data is there
            and its lane is free; times are simulated.  Lockstep: with all sends of its step; the
            time is exactly overhead + S alpha + (R/C) L beta.
        size: of a message, or several, such as ``64MiB``, for which the fastest is named.  Of
            each pipeline the fastest member for it takes part, with those for 1 KiB to 1 GiB.
        exports: a new folder for an index and an export of each algorithm that is the best for
            some message.
        to: the format of the exports.
        in_place: for calls whose input and output are one buffer.
        skip_refused: plan without the algorithms that the format cannot express.
        options: of the exporter, by name.
        progress: ``auto``, ``live``, ``plain`` or ``none``.
        also: verified algorithms that take part with those of the frontier, such as classics.

    Raises:
        UsageError: on an invalid or missing number, without points, or with too many sends to
            simulate.
        ExportError: when the format cannot express what was chosen.
    """
    if exports is not None:
        if to is None:
            raise UsageError("exports need a format, such as to='msccl-xml'")
        require_new_folder(Path(exports))
    how = arguments.choice_of("timing", timing, Timing)
    frontier = frontier_of(source, "plan")
    session, algorithms = session_of(frontier), algorithms_of(frontier, "plan")
    network = arguments.network_of(frontier.topology, alpha, beta)
    call = arguments.time_of("overhead", overhead)
    model, made = CostModel(network.greatest_latency, network.unit, call), None
    asked = [size] if isinstance(size, int | str) else list(size)
    wanted = tuple(map(arguments.bytes_of, asked))
    algorithms = [*algorithms, *members_for(frontier, model, [*PLANNED_SIZES, *wanted]), *also]
    times = None
    if how is Timing.ASYNCHRONOUS:
        times = SimulatedSeconds(network, Semantics(overhead=call))
        times.told = lambda number, one: report(number, len(algorithms), f"simulating {one.where}")
        try:
            plan_sizes(algorithms, model, times)  # fills the cache of `times`
        except UsageError as error:
            hint = f"{argument('timing', 'lockstep')} plans without a simulation"
            raise UsageError(f"{error}; {hint}") from error
        times.told = None
    if to is not None:
        made = export_plan(
            algorithms,
            model,
            session.plugins.exporters[to],
            options or {},
            in_place=in_place,
            skip_refused=skip_refused,
            simulated=times,
        )
    chosen = plan_sizes(algorithms, model, times) if made is None else made.plan
    found = as_result(
        PlanResult,
        chosen,
        frontier=frontier,
        given=beta is not None,
        alpha_given=alpha is not None,
        made=made,
        wanted=wanted,
    )
    if exports is not None:
        found.save(exports)
    return found
