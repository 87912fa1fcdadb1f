"""Plans: the fastest algorithm for each size, shown, drawn and exported."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar, Literal

from syncoll import values
from syncoll.documents import StoredAlgorithm, to_text, write_new_folder
from syncoll.pages.page import PageParts, paged, table
from syncoll.planning import NeverBest, Picture, Plan, SizeRange, draw
from syncoll.planning.exports import PlannedExports, ends, plan_document
from syncoll.simulating import WIRE, Runtime, SimulatedSeconds, runtime_record
from syncoll.units import format_bandwidth, format_size, format_time, gigabytes, microseconds
from syncoll.values import picked
from syncoll.verbs.frontier import FrontierResult
from syncoll.verbs.result import Tabular, columns_of
from syncoll.wording import counted


@dataclass(frozen=True, eq=False, repr=False)
class PlanResult(Tabular, Plan):
    """The fastest algorithm of a frontier for each size.

    Args:
        frontier: of the algorithms.
        given: whether the bandwidth was given, and not taken from the topology.
        alpha_given: the same for alpha.
        made: the exports, if any.
        wanted: messages whose fastest algorithm is named.
        runtime: that runs the algorithms.
    """

    frontier: FrontierResult
    given: bool
    alpha_given: bool = True
    made: PlannedExports | None = None
    wanted: tuple[int, ...] = ()
    runtime: Runtime = WIRE

    columns: ClassVar = columns_of(
        "str where, int steps rounds chunks, "
        "float bandwidth message_from seconds_from message_below seconds_below"
    )

    def records(self) -> Iterator[dict[str, Any]]:
        """A row for each range of messages in bytes; None at the end of the last range."""
        for one in self.ranges:
            record = picked(one.algorithm, "where steps rounds chunks bandwidth")
            for name, size in (("from", one.low), ("below", one.high)):
                seconds = None if size is None else self.seconds(one.algorithm, size)
                record |= {f"message_{name}": size, f"seconds_{name}": seconds}
            yield record

    @paged
    def page(self, sizes: int | str | None = None) -> PageParts:
        """The ranges of messages: all, a part (``1KiB..1GiB``), or that of one size."""
        limits = values.size_range("sizes", sizes)
        yield f"{self._title()}\n"
        rows = [row for one in self.ranges if (row := self._row(one, limits))]
        yield table(rows, ("bytes", "R", "C", "to (GB/s)", "to (us)"))
        yield self.message.sentence
        if limits is not None:
            low, high = map(format_size, limits)
            text = f"from {low} to {high}" if low != high else f"of {low}"
            hidden = counted(len(self.ranges) - len(rows), "range")
            yield f"Shown: messages {text}; {hidden} outside."
        for size in self.wanted:
            best = self.best(size)
            time = self.runtime.time(self.seconds(best.algorithm, size))
            yield (
                f"The fastest for {format_size(size)}: {best.algorithm.where}, S = {best.steps}, "
                f"R/C = {best.bandwidth}, {time}."
            )
        if self.association:
            yield f"Sums are reproducible for all sizes: {self.association}."
        yield from (f"Never the best: {_never_best(one)}." for one in self.never_best)
        if self.left_out:
            names = ", ".join(one.where for one in self.left_out)
            yield f"Left out, as messages take nearly as long without them: {names}."
        if self.frontier.open:
            yield (
                f"The frontier leaves {counted(len(self.frontier.open), 'region')} of costs "
                "open, in which better algorithms may exist; `syncoll show` lists them."
            )

    @property
    def timing(self) -> Literal["asynchronous", "lockstep"]:
        """When a send leaves."""
        lockstep = isinstance(self.simulated, SimulatedSeconds) and self.simulated.lockstep
        return "lockstep" if lockstep else super().timing

    def protocols(self, algorithm: StoredAlgorithm, size: Fraction | int) -> str:
        """The protocol of the runtime that is the fastest for a message; empty without one."""
        if not isinstance(self.simulated, SimulatedSeconds) or not self.runtime.accuracy:
            return ""
        chosen = self.simulated.chosen(algorithm, [self.message.node_bytes(size)])
        return chosen[0][1].protocol.name

    def _title(self) -> str:
        model, name = self.model, self.frontier.topology.name
        latency = format_time(model.alpha)
        ranging = self.timing == "asynchronous" and not self.alpha_given
        alpha = f"latencies up to {latency}" if ranging else f"alpha {latency}"
        source = "" if self.given and self.alpha_given else f", as {name} is described"
        overhead = f", {format_time(model.overhead)} a call" if model.overhead else ""
        runtime = f"{self.runtime.words}, " if self.runtime.words else ""
        return (
            f"{self.frontier.collective} on {name}: {runtime}{self.timing}, {alpha}, "
            f"a chunk per round at {format_bandwidth(model.bandwidth)}{source}{overhead}"
        )

    def _row(self, one: SizeRange, sizes: tuple[int, int] | None) -> dict[str, object]:
        """A row of the page; empty for a range that is not shown."""
        limits = ends(one, sizes)
        if not limits:
            return {}
        messages = "-"
        if self.message.measured:
            found = one.message_bytes
            messages = "none"
            if found is not None:
                messages = f"{found[0]}-{found[1]}" if found[1] is not None else f"{found[0]} up"
        times, rates = [], []
        for size in limits:
            seconds = None if size is None else self.seconds(one.algorithm, size)
            times.append("no end" if seconds is None else microseconds(seconds))
            rate = self.algorithm_bandwidth(one.algorithm, size)
            text = gigabytes(rate)
            rates.append(f"< {text}" if size is None and rate is not None else text)
        protocols = [self.protocols(one.algorithm, x) for x in limits if x is not None]
        return {
            ">message from": format_size(one.low),
            ">below": "no end" if one.high is None else format_size(one.high),
            ">bytes": messages,
            "algorithm": one.algorithm.where,
            ">S": one.steps,
            ">R": one.algorithm.rounds,
            ">C": one.algorithm.chunks,
            ">R/C": one.bandwidth,
            ">time (us)": times[0],
            ">to (us)": times[-1],
            **({"protocol": " to ".join(dict.fromkeys(protocols))} if any(protocols) else {}),
            ">algbw (GB/s)": rates[0],
            ">to (GB/s)": rates[-1],
        }

    def plot(self, sizes: int | str | None = None) -> Picture:
        """Time and algorithm bandwidth over sizes of messages, such as ``1KiB..1GiB``.

        Raises `UsageError` if matplotlib is not installed, or on invalid sizes.
        """
        return draw(self, self._title(), values.size_range("sizes", sizes))

    def document(self, sizes: int | str | None = None) -> dict[str, Any]:
        """The plan as JSON, with its exports; ranges are cut to `sizes`."""
        limits, given = values.size_range("sizes", sizes), (self.given, self.alpha_given)
        runtime = runtime_record(self.runtime)
        how: dict[str, Any] = {"sizes": limits, "made": self.made, "runtime": runtime}
        return plan_document(self, self.frontier, *given, **how)

    def save(self, folder: str | Path, sizes: int | str | None = None) -> None:
        """Writes the exports into a new folder, with an index; all of them, or no file.

        Raises `UsageError` if it cannot be written.
        """
        write_new_folder(Path(folder), self.files(sizes))

    def files(self, sizes: int | str | None = None) -> dict[str, bytes]:
        """The index and the exports, by their names in the folder that `save` writes."""
        made = {} if self.made is None else self.made.files
        return {"index.json": f"{to_text(self.document(sizes))}\n".encode(), **made}


def _never_best(one: NeverBest) -> str:
    """An algorithm that is never the best, with the size at which its time is nearest to it."""
    stored = one.algorithm
    text = f"{stored.where}, S = {stored.steps}, R/C = {stored.bandwidth}"
    if one.slower is None:
        return text
    where = "as messages grow" if one.size is None else f"at {format_size(one.size)}"
    if one.slower == 1:
        return f"{text}; as fast as the best {where}"
    return f"{text}; nearest {where}, where it takes {float(one.slower):.4g} times the best's time"
