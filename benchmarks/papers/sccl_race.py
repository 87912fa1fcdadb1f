"""A race of the SCCL paper's algorithms against a library's rings, with costs of steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

import syncoll
from benchmarks.papers.figure import Compared, Line, Panel, Table, Tell, table
from benchmarks.papers.fitting import fit, lockstep
from benchmarks.papers.schedules import allreduce_of, library_ring
from syncoll.documents import StoredAlgorithm
from syncoll.errors import SyncollError
from syncoll.session import Session
from syncoll.simulating import Semantics, SimulatedSeconds, Timing, physical_network
from syncoll.units import format_size

__all__ = [
    *("ALPHA", "DMA_GAIN", "SIZES", "Floats", "Overheads", "Race", "costs", "label"),
    *("overheads", "panels", "race"),
]

Floats = npt.NDArray[np.float64]
Row = tuple[int, int, int]
"""C, S and R."""

ALPHA = Fraction(7, 10**7)
SIZES = tuple(1 << bits for bits in range(10, 31))
DMA_GAIN = 1.1
"""The bandwidth of DMA engines over that of copies by kernels (section 4)."""

EARLY = "a chunk that is early is sent on at once, so that some steps cost less than alpha"
SLOWER = (1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0)
"""How many times a library's latency one of SCCL's steps is taken to cost."""


@dataclass(frozen=True)
class Race:
    """Algorithms against a library's ring.

    Args:
        library: NCCL or RCCL.
        bandwidth: bytes per second of one chunk per round.
        ours: by label, (C, S, R).
        rival: the library's.
    """

    library: str
    bandwidth: Fraction
    ours: Mapping[str, StoredAlgorithm]
    rival: StoredAlgorithm

    def seconds(
        self,
        stored: StoredAlgorithm,
        *,
        timing: Timing = Timing.LOCKSTEP,
        slower: float = 1.0,
        gain: float = 1.0,
    ) -> Floats:
        """For each size, with given multiples of the usual latency and bandwidth."""
        network = physical_network(
            stored.instance.topology, ALPHA * Fraction(slower), self.bandwidth * Fraction(gain)
        )
        found = SimulatedSeconds(network, Semantics(timing=timing))(stored, SIZES)
        return np.array([float(one) for one in found])

    def speedups(
        self, *, timing: Timing = Timing.LOCKSTEP, slower: float = 1.0, gain: float = 1.0
    ) -> dict[str, Floats]:
        """By label for each size, over the library's ring with its own latency and bandwidth."""
        base = self.seconds(self.rival, timing=timing)
        return {
            label: base / self.seconds(one, timing=timing, slower=slower, gain=gain)
            for label, one in self.ours.items()
        }


def solved(session: Session, machine: str, collective: str, row: Row) -> StoredAlgorithm:
    """A verified algorithm of a table's row; an allreduce is an allgather after its inverse."""
    halves = 2 if collective == "allreduce" else 1
    nodes = session.topology(machine).num_nodes if halves == 2 else 1
    chunks, steps, rounds = row[0] // nodes, row[1] // halves, row[2] // halves
    found = syncoll.solve(machine, "allgather", chunks=chunks, steps=steps, rounds=rounds)
    if found.algorithm is None:
        raise SyncollError(f"allgather on {machine}, C, S, R = {chunks, steps, rounds}: not found")
    made = StoredAlgorithm(found.instance, found.algorithm, label(row))
    return allreduce_of(made) if halves == 2 else made


def label(row: Row) -> str:
    """As the paper's legends have it."""
    return f"({', '.join(map(str, row))})"


def race(
    tell: Tell, machine: str, collective: str, library: str, bandwidth: int, rows: Sequence[Row]
) -> Race:
    """The paper's algorithms, found anew, and the library's ring.

    Args:
        bandwidth: GB/s of one chunk per round.
    """
    session, ours = Session(), {}
    for row in rows:
        tell(f"{label(row)} for {collective} on {machine}")
        ours[label(row)] = solved(session, machine, collective, row)
    rival = library_ring(session, session.topology(machine))
    rival = allreduce_of(rival) if collective == "allreduce" else rival
    return Race(library, Fraction(bandwidth * 10**9), ours, rival)


def costs(race: Race) -> tuple[list[Compared], list[tuple[str, ...]]]:
    """Steps and bandwidth cost from two sizes of the asynchronous simulation, as rows.

    Returns:
        The fitted values next to the paper's S and R/C, and for each algorithm the error of the
        prediction at the sizes between.
    """
    rows: list[Compared] = []
    predicted: list[tuple[str, ...]] = []
    for name, one in ((f"{race.library} ring", race.rival), *race.ours.items()):
        seconds = race.seconds(one, timing=Timing.ASYNCHRONOUS)
        ends = [(SIZES[i], float(seconds[i])) for i in (0, -1)]
        model = lockstep(one.steps, one.bandwidth)
        alpha, beta = fit(model, *ends)
        latency = one.steps * alpha / float(ALPHA)
        cost = float(one.bandwidth * race.bandwidth) * beta
        same = abs(latency / one.steps - 1) < 0.005
        why = "as in lockstep" if same else EARLY
        rows.append(Compared(f"{name}, latency cost in alpha", float(one.steps), latency, why))
        rows.append(Compared(f"{name}, R/C", float(one.bandwidth), cost, "as in lockstep"))
        off = np.array([model(alpha, beta, size) for size in SIZES]) / seconds - 1
        worst = int(np.abs(off).argmax())
        size = format_size(SIZES[worst])
        fitted = (f"{alpha * 1e6:.3f} us", f"{1 / beta / 1e9:.2f} GB/s")
        predicted.append((name, *fitted, f"{100 * off[worst]:.1f} %", size))
    return rows, predicted


Judge = Callable[[Floats, Floats], bool]
"""Whether the best speed-ups, and the ones of the last line, agree with the text's measurements."""


@dataclass(frozen=True)
class Overheads:
    """The best of some lines when SCCL's steps cost more than the library's.

    Args:
        table: least, smallest-size and largest-size speed-ups by how much slower a step is.
        fitting: how many times slower it must be for the text to be right; empty for never.
    """

    table: Table
    fitting: tuple[float, ...]

    @property
    def words(self) -> str:
        if not self.fitting:
            return f"with no latency of a step from 1 to {SLOWER[-1]:g} times the library's"
        low, high = self.fitting[0], self.fitting[-1]
        span = f"{low:g}" if low == high else f"{low:g} to {high:g}"
        return f"with a step's latency {span} times the library's and 10 % more bandwidth"


def overheads(race: Race, lines: Sequence[str], right: Judge, what: str) -> Overheads:
    """Tries latencies of a step with DMA engines' bandwidth."""
    rows, fitting = [], []
    for slower in SLOWER:
        speedups = race.speedups(slower=slower, gain=DMA_GAIN)
        best = np.max([speedups[one] for one in lines], axis=0)
        if right(best, speedups[lines[-1]]):
            fitting.append(slower)
        at = int(best.argmin())
        rows.append(
            (f"{slower:g}", f"{best[0]:.2f}", f"{best[at]:.2f} at {format_size(SIZES[at])}",
             f"{best[-1]:.2f}", "yes" if slower in fitting else "no")
        )  # fmt: skip
    title = (
        f"The best of {what} over {race.library} in lockstep. A step has a multiple of "
        f"{race.library}'s latency, and links {DMA_GAIN:g} times the bandwidth (DMA engines, "
        "section 4). The last column compares with the measurements in the text:"
    )
    heads = ("latency", format_size(SIZES[0]), "least", format_size(SIZES[-1]), "as measured")
    return Overheads(table(title, heads, rows), tuple(fitting))


def panels(race: Race, more: Mapping[str, Mapping[str, Floats]]) -> tuple[Panel, ...]:
    """Speed-ups in lockstep and asynchronous, and others by title."""
    shown: dict[str, Mapping[str, Floats]] = {
        "lockstep, one alpha": race.speedups(),
        "asynchronous, one alpha": race.speedups(timing=Timing.ASYNCHRONOUS),
    }
    shown["lockstep, one alpha"] = {**shown["lockstep, one alpha"], **more.get("", {})}
    shown |= {title: lines for title, lines in more.items() if title}
    xs = tuple(map(float, SIZES))
    return tuple(
        Panel(
            title,
            "size of one node's data",
            f"speed-up over {race.library}'s ring",
            tuple(Line(name, xs, tuple(ys.tolist())) for name, ys in lines.items()),
        )
        for title, lines in shown.items()
    )
