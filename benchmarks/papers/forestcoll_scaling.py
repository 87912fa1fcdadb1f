"""Figure 11 of the ForestColl paper: making allgathers for up to 1024 GPUs, and how good they are.

Zhao et al., ForestColl, section 5.4. The figure is a plot without numbers; its text states some
results and their times. Compared are the bound, which a cut proves, the verified forest, the rings
of a library, and for smaller machines a schedule of the forest, simulated.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.classics import box_rings, ring_algbw
from benchmarks.papers.figure import (
    Claim,
    Compared,
    Figure,
    Line,
    Make,
    Panel,
    Table,
    Tell,
    judged,
    table,
)
from benchmarks.papers.forestcoll import PAPER
from benchmarks.papers.schedules import Raced, from_trees, step_trees
from syncoll.model.fabric import Fabric
from syncoll.session import Session
from tests.oracles.fabrics import a100, mi250
from tests.oracles.forests import allgather

__all__ = ["FIGURES"]

ALPHA = 10e-6
"""Latencies are tens of microseconds at most, as the paper has it (section 3)."""
SIZE = 1 << 30
MOST_SCHEDULED = {"A100": 128, "MI250": 64}
MOST_RINGS = 128
SEGMENTS = (1, 4)

MACHINES: Mapping[str, tuple[Callable[[int], Fabric], Sequence[int]]] = {
    "A100": (a100, (2, 4, 8, 16, 32, 64, 128)),
    "MI250": (mi250, (2, 4, 8, 16, 32, 64)),
}
"""The function that builds a number of boxes, and the numbers."""


@dataclass(frozen=True)
class Grown:
    """One size of a machine.

    Args:
        machine: A100 or MI250.
        gpus: how many.
        bound: GB/s that no allgather exceeds.
        forest: GB/s of the verified forest.
        k: its trees for each GPU.
        height: edges of its longest way.
        seconds: CPU seconds of bound, forest and verification.
        ring: GB/s of the library's rings; None where they were not made.
        simulated: GB/s of a schedule at `SIZE`; None likewise.
    """

    machine: str
    gpus: int
    bound: float
    forest: float
    k: int
    height: int
    seconds: float
    ring: float | None
    simulated: float | None


def grow(tell: Tell, machine: str, build: Callable[[int], Fabric], boxes: int) -> Grown:
    """Makes one."""
    fabric = build(boxes)
    began = time.process_time()
    plan = allgather(fabric)
    seconds = time.process_time() - began
    gpus, ring = fabric.num_nodes, None
    if machine == "A100" and gpus <= MOST_RINGS:
        ring = float(ring_algbw(fabric, box_rings(boxes)))
    simulated = scheduled(fabric) if gpus <= MOST_SCHEDULED[machine] else None
    tell(f"{gpus} GPUs of {machine}: {float(plan.algbw):.2f} GB/s in {seconds:.2f} s of CPU")
    return Grown(
        machine,
        gpus,
        float(plan.bottleneck.algbw),
        float(plan.algbw),
        plan.forest.k,
        plan.forest.height,
        seconds,
        ring,
        simulated,
    )


def scheduled(fabric: Fabric) -> float:
    """GB/s of the forest of one tree a GPU, for the fastest of some schedules."""
    session = Session()
    topology = session.topology(fabric.name)
    assert topology.fabric is not None
    trees = step_trees(allgather(topology.fabric, fixed_k=1).forest)
    made = from_trees(session, topology, "allgather", [trees], SEGMENTS, "forest")
    return float(Raced(made).algbw(ALPHA, 1.0, [SIZE])[0])


def figure_11(tell: Tell) -> Figure:
    """Both machines."""
    grown = [
        grow(tell, machine, build, boxes)
        for machine, (build, counts) in MACHINES.items()
        for boxes in counts
    ]
    return Figure(
        "making allgathers for up to 1024 GPUs",
        f"{PAPER}, Figure 11",
        "GB/s or s",
        rows(grown),
        (sizes(grown),),
        panels(grown),
        claims(grown),
        (
            "The figure is a plot without numbers; its text is compared. Seconds are of "
            "CPU, on one core, and include the bound and the verification of every tree. Rings are "
            "NCCL's, as many as GPUs in a box, by the paper's own model of their loads (section "
            "5.3).",
            "Simulated is the fastest of some schedules of one tree for each GPU, whole or cut in "
            f"{SEGMENTS[-1]}, at 1 GiB with {ALPHA * 1e6:g} us a send. It stays below the forest "
            "since pipelines fill and drain, and one tree a GPU may fit the links less well.",
        ),
    )


def at(grown: Sequence[Grown], machine: str, gpus: int) -> Grown:
    """One of them."""
    return next(one for one in grown if (one.machine, one.gpus) == (machine, gpus))


def rows(grown: Sequence[Grown]) -> tuple[Compared, ...]:
    """The claims of the text with a number."""
    least, four, most = (at(grown, "A100", gpus) for gpus in (16, 32, 1024))
    largest = at(grown, "MI250", 1024)
    return (
        Compared("A100, 16 GPUs, GB/s of the allgather", 346.67, least.forest, "rounded there"),
        Compared("A100, 16 GPUs, GB/s of the ring", 213.33, least.ring, "rounded there"),
        Compared("A100, 32 GPUs, s", 1.0, four.seconds, "below a second there; another machine"),
        Compared("A100, 1024 GPUs, s", 1e4, most.seconds, "the time limit there"),
        Compared("MI250, 1024 GPUs, s", 3e4, largest.seconds, "the time limit there"),
    )


def claims(grown: Sequence[Grown]) -> tuple[Claim, ...]:
    """Of section 5.4."""
    four, eight = at(grown, "A100", 32), at(grown, "MI250", 64)
    large = [at(grown, machine, 1024) for machine in MACHINES]
    where = "section 5.4"
    return (
        judged(
            "schedules are optimal at every size",
            where,
            all(one.forest == one.bound for one in grown),
            f"all {len(grown)} forests attain the bound of a cut, each tree verified",
        ),
        judged(
            "four boxes of A100, 32 GPUs, take less than a second",
            where,
            four.seconds < 1,
            f"{four.seconds:.2f} s",
        ),
        judged(
            "more than 1000 GPUs take less than 10,000 s (A100) and 30,000 s (MI250)",
            where,
            large[0].seconds < 1e4 and large[1].seconds < 3e4,
            ", ".join(f"{one.machine}: {one.seconds:.1f} s for {one.gpus}" for one in large),
        ),
        judged(
            "that is orders of magnitude faster than TACCL, which used up 10,000 s for 32 GPUs of "
            "A100 and 30,000 s for 64 of MI250",
            where,
            four.seconds < 100 and eight.seconds < 300,
            f"{four.seconds:.2f} s and {eight.seconds:.2f} s here; TACCL's times are the paper's",
        ),
    )


def sizes(grown: Sequence[Grown]) -> Table:
    """Everything, size by size."""

    def rate(value: float | None) -> str:
        return "" if value is None else f"{value:.2f}"

    lines = [
        (
            *(one.machine, one.gpus, f"{one.bound:.2f}", f"{one.forest:.2f}", one.k, one.height),
            *(f"{one.seconds:.2f}", rate(one.ring), rate(one.simulated)),
            "" if one.ring is None else f"{one.forest / one.ring:.2f}",
        )
        for one in grown
    ]
    heads = (
        "machine",
        "GPUs",
        "bound, GB/s",
        "forest",
        "k",
        "height",
        "CPU s",
        "ring",
        "simulated",
    )
    title = (
        "Size by size; the gain of the forest over rings becomes less with every box, as cards "
        "between the boxes bound both:"
    )
    return table(title, (*heads, "forest / ring"), lines)


def panels(grown: Sequence[Grown]) -> tuple[Panel, ...]:
    """Seconds, and bandwidths of both machines."""

    def line(name: str, machine: str, value: Callable[[Grown], float | None]) -> Line:
        some = [one for one in grown if one.machine == machine and value(one) is not None]
        return Line(name, tuple(float(one.gpus) for one in some), tuple(map(value, some)))

    seconds = Panel(
        "generation",
        "GPUs",
        "CPU seconds",
        tuple(line(machine, machine, lambda one: one.seconds) for machine in MACHINES),
        x_scale="log",
        y_scale="log",
    )
    rates: list[Panel] = []
    for machine in MACHINES:
        lines = [
            line("forest = bound", machine, lambda one: one.forest),
            line("ring", machine, lambda one: one.ring),
            line("schedule, simulated", machine, lambda one: one.simulated),
        ]
        shown = tuple(one for one in lines if one.xs)
        rates.append(Panel(machine, "GPUs", "algbw, GB/s", shown, x_scale="log"))
    return (seconds, *rates)


FIGURES: dict[str, Make] = {"forestcoll-11": figure_11}
"""The function that makes each, by name."""
