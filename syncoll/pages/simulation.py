"""Pages of a simulation: tables as nccl-tests prints them, and the fastest for each size."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from syncoll.pages.page import Page
from syncoll.pages.times import microseconds
from syncoll.simulating import Comparison, Semantics, Sharing, Timed, Timing
from syncoll.units import format_bandwidth, format_size, format_time
from syncoll.wording import counted, gap

__all__ = ["fastest_page", "semantics_words", "simulation_page"]


def simulation_page(compared: Comparison, collective: str, *, all_classics: bool = False) -> Page:
    """A table for each algorithm, then the fastest for each size.

    Args:
        all_classics: whether every algorithm of a classic has a table; else one for each classic
            with its fastest at each size.
    """
    network, topology = compared.network, compared.network.topology
    page = Page()
    latency = format_time(network.greatest_latency)
    alpha = f"latencies up to {latency}" if network.states_latency else f"alpha {latency}"
    unit = f"a chunk per round at {format_bandwidth(network.unit)}"
    stated = [network.states_latency, network.states_bandwidth]
    source = f", as {topology.name} is described" if any(stated) else ""
    page.text(
        f"{collective} on {topology.name}: {counted(len(network.lanes), 'lane')}, {alpha}, {unit}"
        f"{source}; {semantics_words(compared.semantics)}"
    )
    page.text(compared.message.sentence)
    for one in (*compared.algorithms, *(compared.classics if all_classics else ())):
        stored = one.algorithm
        page.text(f"{one.name}: S = {stored.steps}, R/C = {stored.bandwidth}, C = {stored.chunks}")
        _add_rows(page, compared, [one] * len(compared.sizes))
    names = () if all_classics else dict.fromkeys(one.classic for one in compared.classics)
    for name in names:
        own = [one for one in compared.classics if one.classic == name]
        chosen = [
            min(own, key=lambda one, i=i: one.seconds[i])  # type: ignore[misc]
            for i in range(len(compared.sizes))
        ]
        which = sorted({one.algorithm.bandwidth for one in chosen}, reverse=True)
        costs = ", ".join(map(str, which))
        page.text(f"{name}, the best at each size of {counted(len(own), 'form')} (R/C = {costs})")
        _add_rows(page, compared, chosen)
    _add_fastest(page, compared)
    for name, why in compared.left_out.items():
        page.text(f"{name} is left out: {why}")
    return page


def fastest_page(compared: Comparison) -> Page:
    """Only the table of the fastest algorithm for each size."""
    page = Page()
    _add_fastest(page, compared)
    return page


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


def _add_rows(page: Page, compared: Comparison, each: list[Timed]) -> None:
    """The table of an algorithm, or of the fastest of several at each size."""
    rows = []
    for number, one in enumerate(each):
        row = list(compared.measured(one))[number]
        rows.append(
            (
                row.size,
                row.count,
                "float",
                compared.redop,
                _digits(row.seconds * 10**6),
                "-" if row.algbw is None else _digits(row.algbw / 10**9),
                "-" if row.busbw is None else _digits(row.busbw / 10**9),
            )
        )
    columns = (">message (B)", ">count", ">type", ">redop", ">time (us)")
    page.table((*columns, ">algbw (GB/s)", ">busbw (GB/s)"), rows)


def _add_fastest(page: Page, compared: Comparison) -> None:
    columns = (">message", "fastest", ">time (us)", ">at least (us)", ">gap")
    classic = ("fastest classic", ">its time (us)", ">speed-up") if compared.classics else ()
    used = len(columns) + len(classic)
    rows = [row[:used] for row in _best_rows(compared)]
    page.table((*columns, *classic), rows, ("at least (us)", "its time (us)", "gap"))
    how = "by latencies and the proved bound"
    if compared.semantics.timing is Timing.LOCKSTEP:
        how = "by latencies and the proved bounds for each number of steps"
    page.text(f"at least: a lower bound for every algorithm, {how}; gap: distance from it")


def _best_rows(compared: Comparison) -> Iterator[tuple[object, ...]]:
    for number, size in enumerate(compared.sizes):
        best, classic = compared.best(number), compared.best_classic(number)
        speedup, floor = compared.speedup(number), compared.floor(number)
        yield (
            format_size(size),
            best.name,
            microseconds(best.seconds[number]),
            "-" if not floor else microseconds(floor),
            "-" if not floor else gap(float(best.seconds[number]), floor),
            "-" if classic is None else classic.name,
            "-" if classic is None else microseconds(classic.seconds[number]),
            "-" if speedup is None else f"{float(speedup):.2f}",
        )


def _digits(value: Fraction) -> str:
    """Two decimals as nccl-tests prints; three significant digits below 1."""
    number = float(value)
    return f"{number:.2f}" if number >= 1 or not number else f"{number:.3g}"
