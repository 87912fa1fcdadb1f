"""Pages of a simulation: tables as nccl-tests prints them, and the fastest for each size."""

from __future__ import annotations

from fractions import Fraction

from syncoll.pages.page import Page, PageParts, paged, table
from syncoll.pages.times import microseconds
from syncoll.simulating import Comparison, Semantics, Sharing, Timed, Timing
from syncoll.units import format_bandwidth, format_size, format_time
from syncoll.wording import counted, gap

__all__ = ["fastest_page", "semantics_words", "simulation_page"]


@paged
def simulation_page(
    compared: Comparison, collective: str, *, all_classics: bool = False
) -> PageParts:
    """A table for each algorithm, and of classics for each algorithm (`all_classics`) or for the
    fastest at each size; then the fastest for each size."""
    network, topology = compared.network, compared.network.topology
    latency = format_time(network.greatest_latency)
    alpha = f"latencies up to {latency}" if network.states_latency else f"alpha {latency}"
    unit = f"a chunk per round at {format_bandwidth(network.unit)}"
    stated = [network.states_latency, network.states_bandwidth]
    source = f", as {topology.name} is described" if any(stated) else ""
    yield (
        f"{collective} on {topology.name}: {counted(len(network.lanes), 'lane')}, {alpha}, {unit}"
        f"{source}; {semantics_words(compared.semantics)}"
    )
    yield compared.message.sentence
    for one in (*compared.algorithms, *(compared.classics if all_classics else ())):
        stored = one.algorithm
        yield f"{one.name}: S = {stored.steps}, R/C = {stored.bandwidth}, C = {stored.chunks}"
        yield _measured(compared, [one] * len(compared.sizes))
    names = () if all_classics else dict.fromkeys(one.classic for one in compared.classics)
    for name in names:
        own = [one for one in compared.classics if one.classic == name]
        times = zip(*(one.seconds for one in own), strict=True)
        chosen = [own[each.index(min(each))] for each in times]
        which = sorted({one.algorithm.bandwidth for one in chosen}, reverse=True)
        costs = ", ".join(map(str, which))
        yield f"{name}, the best at each size of {counted(len(own), 'form')} (R/C = {costs})"
        yield _measured(compared, chosen)
    yield fastest_page(compared)
    yield from (f"{name} is left out: {why}" for name, why in compared.left_out.items())


@paged
def fastest_page(compared: Comparison) -> PageParts:
    """Only the table of the fastest algorithm for each size."""
    rows = [_best(compared, number) for number in range(len(compared.sizes))]
    yield table(rows, ("at least (us)", "its time (us)", "gap"))
    how = "by latencies and the proved bound"
    if compared.semantics.timing is Timing.LOCKSTEP:
        how = "by latencies and the proved bounds for each number of steps"
    yield (
        f"at least: a lower bound for every algorithm, {how}; gap: distance from it (2x: twice the "
        "bound)"
    )


def semantics_words(semantics: Semantics) -> str:
    """How the network is taken to behave, in a line."""
    words = [str(semantics.timing)]
    if semantics.timing is Timing.ASYNCHRONOUS:
        fair = semantics.sharing is Sharing.FAIR
        words.append("fair sharing" if fair else f"in turn, {semantics.switching}")
    if semantics.packet is not None:
        words.append(f"packets of {semantics.packet} + {semantics.header} bytes")
    elif semantics.header:
        words.append(f"{semantics.header} bytes of header for each send")
    if semantics.injection != "free":
        words.append("lockstep injection")
    if semantics.depth is not None:
        words.append(f"connections of depth {semantics.depth}")
    if semantics.reduction:
        words.append(f"reductions at {format_bandwidth(1 / semantics.reduction)}")
    if semantics.overhead:
        words.append(f"{format_time(semantics.overhead)} a call")
    words += [f"slow {one}" for one in semantics.slow]
    words += [f"late {one}" for one in semantics.late]
    return ", ".join(words)


def _measured(compared: Comparison, each: list[Timed]) -> Page:
    """The table of an algorithm, or of the fastest of several at each size."""
    measured = [list(compared.measured(one))[number] for number, one in enumerate(each)]
    return table(
        [
            {
                ">message (B)": row.size,
                ">count": row.count,
                ">type": "float",
                ">redop": compared.redop,
                ">time (us)": _digits(row.seconds, 10**6),
                ">algbw (GB/s)": _digits(row.algbw, Fraction(1, 10**9)),
                ">busbw (GB/s)": _digits(row.busbw, Fraction(1, 10**9)),
            }
            for row in measured
        ]
    )


def _best(compared: Comparison, number: int) -> dict[str, str]:
    """The fastest algorithm for a size and, if there are classics, the fastest of them."""
    best, classic = compared.best(number), compared.best_classic(number)
    speedup, floor = compared.speedup(number), compared.floor(number)
    row = {
        ">message": format_size(compared.sizes[number]),
        "fastest": best.name,
        ">time (us)": microseconds(best.seconds[number]),
        ">at least (us)": microseconds(floor) if floor else "-",
        ">gap": gap(float(best.seconds[number]), floor) if floor else "-",
    }
    if classic is not None:
        row["fastest classic"] = classic.name
        row[">its time (us)"] = microseconds(classic.seconds[number])
        row[">speed-up"] = "-" if speedup is None else f"{float(speedup):.2f}"
    return row


def _digits(value: Fraction | None, scale: Fraction | int) -> str:
    """Two decimals as nccl-tests prints; three significant digits below 1; a dash for None."""
    if value is None:
        return "-"
    number = float(value * scale)
    return f"{number:.2f}" if number >= 1 or not number else f"{number:.3g}"
