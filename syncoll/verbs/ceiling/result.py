"""Measurements with their ceilings, as a table, a document and a file of settings."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from syncoll.deadline import Deadline
from syncoll.documents import write_atomically
from syncoll.ledger.lower_bounds import lower_bounds
from syncoll.measuring import GOOD, TUNER_COLUMNS, common_findings, findings, fit, tuner_rows
from syncoll.measuring.ceilings import Ceiling, Measurement, RunCeilings, ceiling_of
from syncoll.pages.page import PageParts, paged, table
from syncoll.session import Session
from syncoll.simulating import runtime
from syncoll.units import format_size, gigabytes, microseconds
from syncoll.values import picked
from syncoll.verbs.measured import STARTS
from syncoll.verbs.result import Result
from syncoll.wording import counted


@dataclass(frozen=True, eq=False, repr=False)
class CeilingResult(Result):
    """Measurements with their ceilings.

    Args:
        runs: of the log.
        log: its name.
        column: the measured calls.
        runtime: from which settings are fitted; None for the benchmark's.
        to: the format of `save`; None for the document.
    """

    runs: tuple[RunCeilings, ...]
    log: str
    column: str
    runtime: str | Path | None
    to: str | None

    @paged
    def page(self) -> PageParts:
        """A table for each run, its limits, and the findings."""
        for run in self.runs:
            ranks = counted(sum(run.boxes), "rank")
            yield f"{run.kind} on {run.machine}, {ranks}, {self.column}; rates in GB/s"
            yield table([_shown(row) for row in run.rows], ("algbw",))
            for one, words in ((run.plain, ""), (run.summed, " with sums in switches")):
                if one is not None:
                    each = [f"{kind} ({gigabytes(rate)})" for kind, rate in one.binding.items()]
                    lanes = " and ".join(each) + " together" * (len(each) > 1)
                    yield (
                        f"ceiling{words}: algbw {gigabytes(one.algbw)}, busbw "
                        f"{gigabytes(one.algbw * run.factor)}, as R/C >= {one.bandwidth}; "
                        f"{run.algbw / one.algbw:.1%} reached; bind: {lanes or 'latencies'}"
                        f"{one.more and '; '}{one.more}"
                    )
            for way in run.library:
                latency = microseconds(sum(load.latency for load in way.loads.values()))
                yield (
                    f"{way.name}: busbw at most {gigabytes(way.algbw * run.factor)} by its busiest "
                    f"lane, {run.algbw / way.algbw:.1%} reached; latencies of {latency} us"
                )
            yield f"from {format_size(run.settled)} on the rate is at least 90 % of the last"
            yield from findings(run)
            yield ""
        yield from common_findings(self.runs)
        run = min(self.runs, key=lambda run: run.algbw / run.plain.algbw)
        asked = f'"{run.machine}" {run.kind}'
        yield f"`syncoll bounds {asked} -o FILE` writes the proof of its ceiling."
        if run.algbw < GOOD * run.plain.algbw:
            yield (
                f"`syncoll recommend {asked} --to mscclpp -o FOLDER` writes plans of MSCCL++ for "
                "faster algorithms."
            )
        if self.to is not None:
            yield self.tuner()

    def document(self) -> dict[str, Any]:
        """The runs with their rows, limits and findings; rates are bytes per second."""
        runs = [
            {
                "machine": run.machine,
                "collective": str(run.kind),
                **picked(run, "boxes rows settled"),
                "ceiling": run.plain.document(run.factor),
                "with_sums": run.summed and run.summed.document(run.factor),
                "library": {way.name: way.algbw for way in run.library},
                "findings": list(findings(run)),
            }
            for run in self.runs
        ]
        head = {"schema": "syncoll/ceiling/1", "log": self.log, "column": self.column}
        return {**head, "runs": runs, "findings": list(common_findings(self.runs))}

    def tuner(self) -> str:
        """The settings of NCCL's example tuner plug-in, as CSV.

        Raises:
            UsageError: if a run has fewer than three rows.
        """
        lines = [TUNER_COLUMNS]
        for run in self.runs:
            start = runtime(self.runtime or STARTS[run.run.program])
            lines += tuner_rows(run.samples, fit(run.samples, start).runtime, run.boxes)
        return "\n".join(lines) + "\n"

    def save(self, path: str | Path) -> None:
        """Writes the document, or the settings."""
        if self.to is None:
            super().save(path)
        else:
            write_atomically(Path(path), self.tuner().encode())


def _shown(row: Mapping[str, Any]) -> dict[str, object]:
    shown: dict[str, object] = {">size": format_size(row["size"])}
    shown[">time (us)"] = microseconds(row["seconds"])
    shown |= {f">{name}": gigabytes(row[name]) for name in ("algbw", "busbw", "ceiling")}
    shown[">reached"] = f"{row['busbw'] / row['ceiling']:.1%}"
    if row["with_sums"] is not None:
        shown[">with sums"] = gigabytes(row["with_sums"])
        shown[">of it"] = f"{row['busbw'] / row['with_sums']:.1%}"
    return shown


def ceilings_of(session: Session, measured: Measurement, until: Deadline) -> RunCeilings:
    """The ceilings of a run, proved anew."""
    collective, further, found = measured.collective, session.further_bounds(), list[Ceiling]()
    sizes = [size for size, _ in measured.times]
    for one in measured.networks:
        bounds = lower_bounds(one.topology, collective, max_steps=0, until=until, further=further)
        if bounds.interrupted:
            raise KeyboardInterrupt
        found.append(ceiling_of(collective, one, bounds, sizes))
    above = found[-1] if found[-1].algbw > 1.001 * found[0].algbw else None
    given = {one.name: getattr(measured, one.name) for one in fields(measured)}
    return RunCeilings(**given, plain=found[0], summed=above)
