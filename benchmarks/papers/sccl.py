"""Figures 4 to 6 of the SCCL paper: speed-ups over NCCL and RCCL on a DGX-1 and a Gigabyte Z52.

Cai et al., Synthesizing Optimal Collective Algorithms (PPoPP 2021), section 5.5. The figures are
plots without numbers; the text about them is compared. It gives no latency either, so one is
assumed. Another one moves every curve along the axis of sizes and changes no speed-up, since all
times are proportional to alpha and beta together.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.papers.figure import (
    Claim,
    Compared,
    Figure,
    Holds,
    Make,
    Table,
    Tell,
    judged,
    table,
)
from benchmarks.papers.sccl_race import (
    ALPHA,
    DMA_GAIN,
    SIZES,
    Floats,
    Overheads,
    Race,
    costs,
    label,
    overheads,
    panels,
    race,
)
from syncoll.simulating import Timing
from syncoll.units import format_size

__all__ = ["FIGURES"]

PAPER = "Cai et al., Synthesizing Optimal Collective Algorithms (PPoPP 2021)"


def predictions(race: Race, rows: Sequence[tuple[str, ...]]) -> Table:
    """The error of times that are predicted from two sizes."""
    return table(
        "Alpha and beta with which S alpha + (R/C) L beta equals the asynchronous simulation (with "
        f"{float(ALPHA) * 1e6:g} us and {float(race.bandwidth) / 1e9:g} GB/s) at "
        f"{format_size(SIZES[0])} and {format_size(SIZES[-1])}; its largest error at the sizes "
        "between:",
        ("algorithm", "alpha", "1 / beta", "off by", "at"),
        rows,
    )


def switching(race: Race) -> Claim:
    """That the best for each size is never slower than the library."""
    least = {
        timing: min(np.max(list(race.speedups(timing=timing).values()), axis=0))
        for timing in Timing
    }
    worst = min(least.values())
    words = ", ".join(f"{value:.3f} {timing}" for timing, value in least.items())
    return judged(
        f"switched by size, SCCL is never slower than {race.library}",
        "section 5.5",
        worst >= 1 - 1e-9,
        f"least speed-up of the best: {words}",
    )


NO_NUMBERS = (
    "The figure is a plot without numbers and the text states neither times nor sizes nor a "
    "latency, so alpha and beta cannot be fitted to it. Compared are the costs that the paper "
    "gives each algorithm, and the measurements in its text. Alpha is taken for "
    f"{float(ALPHA) * 1e6:g} us; another one moves all curves along the axis of sizes and changes "
    "no speed-up."
)


def figure_4(tell: Tell) -> Figure:
    """Allgather on a DGX-1."""
    low = [(1, 2, 2), (2, 2, 3), (2, 3, 3), (3, 4, 4), (4, 5, 5), (5, 6, 6), (6, 7, 7), (6, 3, 7)]
    raced = race(tell, "dgx1", "allgather", "NCCL", 25, low)
    rows, predicted = costs(raced)
    plain = raced.speedups()
    dma = raced.speedups(gain=DMA_GAIN, slower=4.0)["(6, 7, 7)"]
    rows.append(
        Compared(
            "(6, 7, 7) by cudaMemcpy over NCCL, large sizes",
            DMA_GAIN,
            float(dma[-1]),
            "the paper's is the bandwidth alone (section 4); alpha is taken for 4 times as long",
        )
    )
    faster = {name: float(ys.max()) for name, ys in plain.items()}
    slow = [name for name, best in faster.items() if best <= 1 + 1e-9]
    breaks = []
    for slower in (2.0, 4.0, 8.0, 16.0):
        ys = raced.speedups(gain=DMA_GAIN, slower=slower)["(6, 7, 7)"]
        first = next((size for size, y in zip(SIZES, ys, strict=True) if y > 1), None)
        breaks.append((f"{slower:g}", "never" if first is None else format_size(first)))
    claims = (
        judged(
            "an algorithm of 2 steps is faster than NCCL for small sizes",
            "section 5.4.1",
            bool(plain["(2, 2, 3)"][0] > 1),
            f"{plain['(2, 2, 3)'][0]:.2f} at {format_size(SIZES[0])}; no more than 7/2 is possible",
        ),
        judged(
            "(6, 3, 7) needs less time than NCCL's ring and is as good for large sizes",
            "section 5.4.1",
            bool((plain["(6, 3, 7)"] > 1).all()),
            f"{plain['(6, 3, 7)'][0]:.2f} at {format_size(SIZES[0])}, "
            f"{plain['(6, 3, 7)'][-1]:.4f} at {format_size(SIZES[-1])}",
        ),
        Claim(
            "every line of the figure is faster than NCCL at some size, (6, 7, 7) among them",
            "section 5.5",
            Holds.PARTLY if slow else Holds.YES,
            f"with one alpha and one beta for both, {' and '.join(slow)} has NCCL's cost and so "
            "its time; all others are faster"
            if slow
            else "all are",
        ),
        switching(raced),
        judged(
            "how data is copied makes a great difference for one and the same (6, 7, 7)",
            "section 5.5",
            bool(dma[-1] > 1.05 and dma[0] < 0.95),
            f"with 10 % more bandwidth and 4 times the alpha {dma[0]:.2f} at "
            f"{format_size(SIZES[0])} and {dma[-1]:.2f} at {format_size(SIZES[-1])}",
        ),
    )
    return Figure(
        "allgather on a DGX-1, speed-up over NCCL",
        f"{PAPER}, Figure 4",
        "alpha or L beta",
        tuple(rows),
        (
            predictions(raced, predicted),
            table(
                "From which size on (6, 7, 7) by DMA engines, with 10 % more bandwidth, is faster "
                "than NCCL, by how much greater its latency is:",
                ("latency", "faster from"),
                breaks,
            ),
        ),
        panels(raced, {"": {"(6, 7, 7) cudaMemcpy": dma}}),
        claims,
        (
            NO_NUMBERS,
            "NCCL is its six rings (Table 3), each chunk once round; a link carries 25 GB/s "
            "(section 5.1.1). SCCL's algorithms are found anew with the C, S and R of Table 4; "
            "where they are asynchronous, others with the same may take another time.",
        ),
    )


def figure_5(tell: Tell) -> Figure:
    """Allreduce on a DGX-1."""
    zero = [(8, 4, 4), (16, 6, 6), (24, 8, 8), (32, 10, 10), (40, 12, 12), (48, 14, 14)]
    raced = race(tell, "dgx1", "allreduce", "NCCL", 25, [*zero, (16, 4, 6), (48, 6, 14)])
    rows, predicted = costs(raced)
    plain = raced.speedups()
    best = np.max(list(plain.values()), axis=0)

    def right(best: Floats, last: Floats) -> bool:
        return bool(best[0] > 1 and best.min() < 0.99 and last[-1] > 1)

    some = overheads(raced, [*map(label, zero)], right, "the ones with R = C in each half")
    every = [*map(label, [(16, 4, 6), (48, 6, 14), *zero])]
    whole = overheads(raced, every, right, "all of Table 4")
    large = float(plain["(48, 14, 14)"][-1])
    claims = (
        judged(
            "the one-chunk algorithm (8, 4, 4) is faster than NCCL for small sizes",
            "section 5.5",
            bool(plain["(8, 4, 4)"][0] > 1),
            f"{plain['(8, 4, 4)'][0]:.2f} at {format_size(SIZES[0])}; 14/4 is the limit",
        ),
        judged(
            "for middle sizes NCCL beats SCCL, whose kernels synchronise at a high cost",
            "section 5.5",
            bool(best.min() < 0.99),
            f"with NCCL's alpha the best is never below {best.min():.3f}; {some.words} it is as "
            f"measured for the ones with R = C; for all of Table 4, {whole.words}",
        ),
        judged(
            "the (6, 7, 7) halves, (48, 14, 14), are faster than NCCL for large sizes",
            "section 5.5",
            large > 1 + 1e-9,
            f"{large:.4f} at {format_size(SIZES[-1])}: the costs are the same, so that a gain "
            f"must come from how data is copied (up to {DMA_GAIN:g}, section 4)",
        ),
    )
    return _with_overheads(
        raced,
        some,
        rows,
        (predictions(raced, predicted), some.table, whole.table),
        claims,
        "allreduce on a DGX-1, speed-up over NCCL",
        f"{PAPER}, Figure 5",
        "NCCL is its rings (Table 3): reducescatter, then allgather, 14 steps. SCCL's are the "
        "allgathers of Table 4 found anew, after their inverses (section 3.5).",
    )


def figure_6(tell: Tell) -> Figure:
    """Allgather on a Gigabyte Z52."""
    raced = race(tell, "amd_z52", "allgather", "RCCL", 27, [(1, 4, 4), (2, 7, 7), (2, 4, 7)])
    rows, predicted = costs(raced)
    plain = raced.speedups()
    small, large = plain["(1, 4, 4)"], plain["(2, 7, 7)"]
    crossing = next(
        (size for size, a, b in zip(SIZES, small, large, strict=True) if b > a), SIZES[-1]
    )
    best = np.maximum(small, large)

    def right(best: Floats, last: Floats) -> bool:
        return bool(best[0] < 1 and last[-1] > 1)

    some = overheads(raced, ["(1, 4, 4)", "(2, 7, 7)"], right, "(1, 4, 4) and (2, 7, 7)")
    claims = (
        judged(
            "(1, 4, 4) is the better one for small sizes, (2, 7, 7) for large ones",
            "section 5.5",
            bool(small[0] > large[0] and small[-1] < large[-1]),
            f"{small[0] / large[0]:.2f} times as fast at {format_size(SIZES[0])}, "
            f"{small[-1] / large[-1]:.2f} at {format_size(SIZES[-1])}; they cross below "
            f"{format_size(crossing)}",
        ),
        judged(
            "SCCL is slower than RCCL for small and medium sizes",
            "section 5.5",
            bool(best[0] < 1),
            f"with RCCL's alpha it is {best[0]:.2f} times as fast at {format_size(SIZES[0])}; as "
            f"measured {some.words}",
        ),
        judged(
            "SCCL is faster than RCCL for large sizes",
            "section 5.5",
            bool(large[-1] > 1 + 1e-9),
            f"{large[-1]:.4f} at {format_size(SIZES[-1])}: (2, 7, 7) has the cost of RCCL's rings",
        ),
    )
    return _with_overheads(
        raced,
        some,
        rows,
        (predictions(raced, predicted), some.table),
        claims,
        "allgather on a Gigabyte Z52, speed-up over RCCL",
        f"{PAPER}, Figure 6",
        "RCCL is two rings, once round either way, on the ring that the paper models (section "
        "5.2.2) with the 27 GB/s that it measured over PCIe. (2, 4, 7) is in Table 5, but not in "
        "the figure.",
    )


def _with_overheads(
    race: Race,
    some: Overheads,
    rows: Sequence[Compared],
    tables: tuple[Table, ...],
    claims: tuple[Claim, ...],
    title: str,
    source: str,
    note: str,
) -> Figure:
    more = {}
    if some.fitting:
        slower = some.fitting[0]
        more[f"lockstep, alpha x {slower:g}, bandwidth x {DMA_GAIN:g}"] = race.speedups(
            slower=slower, gain=DMA_GAIN
        )
    return Figure(
        title,
        source,
        "alpha or L beta",
        tuple(rows),
        tables,
        panels(race, more),
        claims,
        (NO_NUMBERS, note),
    )


FIGURES: dict[str, Make] = {"sccl-4": figure_4, "sccl-5": figure_5, "sccl-6": figure_6}
"""The function that makes each, by name."""
