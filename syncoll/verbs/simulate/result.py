"""Times of algorithms on their physical networks, and of classics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

from syncoll import values
from syncoll.documents import StoredAlgorithm, write_atomically, write_document
from syncoll.documents.floors import floors_document
from syncoll.errors import SpecError, UsageError
from syncoll.model import Instance
from syncoll.pages.page import Page, PageParts, paged, table
from syncoll.runtime import kind_of
from syncoll.session import Session
from syncoll.simulating import Comparison, Timed, Timing, floor_proofs, trace_content
from syncoll.simulating.document import simulation_document
from syncoll.units import format_bandwidth, format_size, format_time, microseconds
from syncoll.verbs.asking import What
from syncoll.verbs.result import Tabular, columns_of
from syncoll.wording import argument, counted, gap


@dataclass(frozen=True, eq=False, repr=False)
class SimulationResult(Tabular, Comparison):
    """Times of algorithms for sizes, and of classics.

    Args:
        collective: its name.
    """

    collective: str = ""

    columns: ClassVar = columns_of(
        "str where classic, int steps rounds chunks size count, "
        "float bandwidth per_node seconds algbw busbw"
    )

    def records(self) -> list[dict[str, Any]]:
        """A row for each algorithm and size; sizes are bytes, rates bytes per second."""
        each = self.document()["algorithms"]
        return [{**one, **row} for one in each for row in one["measurements"]]

    def save_floors(self, path: str | Path) -> None:
        """Writes the proofs of lower bounds on the times, by flows over time, for ``syncoll
        check``.  Raises `UsageError` without proofs, or if the file cannot be written."""
        if not (proofs := list(floor_proofs(self))):
            raise UsageError(f"{path}: no flows over time bound these times")
        names = self.network.topology.name, self.collective
        write_document(Path(path), floors_document(*names, self.shape, proofs))

    @paged
    def page(self, *, all_classics: bool = False) -> PageParts:
        """Tables as nccl-tests prints them, and the fastest for each size; `all_classics`: a table
        for each form of a classic, in place of one with the fastest form at each size."""
        network, topology = self.network, self.network.topology
        latency = format_time(network.greatest_latency)
        alpha = f"latencies up to {latency}" if network.states_latency else f"alpha {latency}"
        unit = f"a chunk per round at {format_bandwidth(network.unit)}"
        stated = [network.states_latency, network.states_bandwidth]
        source = f", as {topology.name} is described" if any(stated) else ""
        how = ", ".join(filter(None, (self.runtime.words, self.semantics.words)))
        yield (
            f"{self.collective} on {topology.name}: {counted(len(network.lanes), 'lane')}, {alpha},"
            f" {unit}{source}; {how}"
        )
        yield self.message.sentence
        for one in (*self.algorithms, *(self.classics if all_classics else ())):
            stored = one.algorithm
            yield f"{one.name}: S = {stored.steps}, R/C = {stored.bandwidth}, C = {stored.chunks}"
            if stored.derived:
                yield stored.derived
            yield self._measured([one] * len(self.sizes))
        names = () if all_classics else dict.fromkeys(one.classic for one in self.classics)
        for name in names:
            own = [one for one in self.classics if one.classic == name]
            times = zip(*(one.seconds for one in own), strict=True)
            chosen = [own[each.index(min(each))] for each in times]
            which = sorted({one.algorithm.bandwidth for one in chosen}, reverse=True)
            costs = ", ".join(map(str, which))
            yield f"{name}, the best at each size of {counted(len(own), 'form')} (R/C = {costs})"
            yield self._measured(chosen)
        yield self.fastest_page()
        yield from (f"{name} is left out: {why}" for name, why in self.left_out.items())

    @paged
    def fastest_page(self) -> PageParts:
        """Only the table of the fastest algorithm for each size."""
        rows = [self._best_row(number) for number in range(len(self.sizes))]
        yield table(rows, ("at least (us)", "its time (us)", "gap"))
        how = "by latencies and the proved bound"
        if self.semantics.timing is Timing.LOCKSTEP:
            how = "by latencies and the proved bounds for each number of steps"
        yield (
            f"at least: a lower bound for every algorithm, {how}; gap: distance from it (2x: twice "
            "the bound)"
        )

    def _measured(self, each: list[Timed]) -> Page:
        """The table of an algorithm, or of the fastest of several at each size."""
        measured = [list(self.measured(one))[number] for number, one in enumerate(each)]
        return table(
            [
                {
                    ">message (B)": row.size,
                    ">count": row.count,
                    ">type": "float",
                    ">redop": self.redop,
                    ">time (us)": _digits(row.seconds, 10**6),
                    **self._protocol(one, number),
                    ">algbw (GB/s)": _digits(row.algbw, Fraction(1, 10**9)),
                    ">busbw (GB/s)": _digits(row.busbw, Fraction(1, 10**9)),
                }
                for number, (one, row) in enumerate(zip(each, measured, strict=True))
            ]
        )

    def _protocol(self, one: Timed, number: int) -> dict[str, str]:
        """The cell of the protocol for a size; empty if the runtime has only one."""
        return {"protocol": one.protocols[number]} if len(self.runtime.protocols) > 1 else {}

    def _best_row(self, number: int) -> dict[str, str]:
        """The fastest algorithm for a size and, if there are classics, the fastest of them."""
        best, classic = self.best(number), self.best_classic(number)
        speedup, floor = self.speedup(number), self.floor(number)
        row = {
            ">message": format_size(self.sizes[number]),
            "fastest": best.name,
            ">time (us)": microseconds(best.seconds[number]),
            **self._protocol(best, number),
            ">at least (us)": microseconds(floor) if floor else "-",
            ">gap": gap(float(best.seconds[number]), floor) if floor else "-",
        }
        if classic is not None:
            row["fastest classic"] = classic.name
            row[">its time (us)"] = microseconds(classic.seconds[number])
            row[">speed-up"] = "-" if speedup is None else f"{float(speedup):.2f}"
        return row

    def document(self) -> dict[str, Any]:
        """The times as JSON."""
        return simulation_document(self, self.collective)

    def trace(
        self, path: str | Path, size: int | str = "1MiB", names: Sequence[str] = ()
    ) -> tuple[str, ...]:
        """Writes the events of simulations as a file for ui.perfetto.dev.

        Args:
            path: the file, such as ``out.pftrace``.
            size: of the message.
            names: of algorithms, such as ``points[1]`` or ``ring[0]``; without names the fastest
                algorithm and the fastest classic at that size.

        Returns:
            The names of the algorithms in it.

        Raises:
            UsageError: on an unknown name, if there are too many sends to show, or the file cannot
                be written.
        """
        chosen, exact = tuple(names), values.bytes_of(size)
        if exact < 1:
            raise UsageError(f"{argument('trace_size')}: {size!r}; expected at least 1 byte")
        if not chosen:
            fastest = (self.fastest(group, exact) for group in (self.algorithms, self.classics))
            chosen = tuple(one.name for one in fastest if one is not None)
        write_atomically(
            Path(path), trace_content({one: self.simulation(one, exact) for one in chosen})
        )
        return chosen


def _digits(value: Fraction | None, scale: Fraction | int) -> str:
    """Two decimals as nccl-tests prints; three significant digits below 1; a dash for None."""
    if value is None:
        return "-"
    number = float(value * scale)
    return f"{number:.2f}" if number >= 1 or not number else f"{number:.3g}"


def classics_of(
    session: Session, instance: Instance, wanted: bool | Sequence[str], meant: What | None
) -> tuple[dict[str, list[StoredAlgorithm]], dict[str, str]]:
    """The classics for an instance's collective, by name, and the reasons without others."""
    if wanted is False or wanted == []:
        return {}, {}
    try:
        collective = session.collective(instance.collective if meant is None else meant)
        table = collective.tabulate(instance.topology.num_nodes, instance.chunks)
        same = table.matching(instance.table) is not None
        same &= instance.reproducible or collective.plain is None
    except SpecError as error:
        if meant is not None:
            raise
        return {}, {"every classic": f"{instance.collective} is unknown: {error}"}
    if not same:
        why = f"{collective.name} is another collective than {instance.collective} in the file"
        if meant is not None:
            raise UsageError(f"{argument('collective')}: {why}")
        return {}, {"every classic": why}
    names = None if wanted is True else list(wanted)
    stored, reasons = session.classics(instance.topology, collective, names)
    kinds = kind_of(instance).kind
    for name, each in stored.items():
        assert all(kind_of(one.instance).kind is kinds for one in each), name
    return stored, reasons
