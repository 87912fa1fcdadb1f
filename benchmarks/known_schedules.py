"""Programs of MSCCL on 8 MI300X: schedules that are known, and the costs that explain their times.

    time = call + hops · hop + bytes of a link / min(blocks · rate of a block, share of the link)

An allreduce has the costs of its sums in addition.  The blocks of a ring execute their operations
in order, and the next operation may begin after 0.65 of the time of the one before.  So not all
blocks of a ring on several channels are at work.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks.tables import Page
from syncoll.arrays import Floats
from syncoll.measuring import least_squares
from syncoll.planning import message_of_collective
from syncoll.session import Session
from syncoll.simulating import Semantics, SimulatedSeconds, given_network, runtime

__all__ = [
    "Program",
    "blocks_at_work",
    "errors",
    "fitted",
    "known_schedules",
    "programs",
    "seconds",
    "simulated",
]

HERE = Path(__file__).parent / "measured"
RANKS, LINK = 8, 64e9

COSTS = ("call", "hop", "rate", "share", "step with sums", "rate of sums")
START = {
    "LL": (6e-6, 1.2e-6, 1.5e9, 0.5, 2e-6, 100e9),
    "Simple": (6e-6, 3.4e-6, 10e9, 0.5, 2e-6, 100e9),
}
"""Hops of NCCL's own model, and round numbers."""
USUAL = 2.0
"""The usual logarithm of a cost over its start."""
NOISE = 0.03
EARLY = 0.65


@dataclass(frozen=True)
class Program:
    """A program with its times.

    Args:
        hops: of a chunk on its longest way.
        share: bytes over a link for each byte of the message.
        blocks: at work on a link.
        ring: whether it is a ring; otherwise all pairs send.
    """

    table: str
    collective: str
    protocol: str
    hops: int
    share: float
    blocks: float
    ring: bool
    sizes: Floats
    seconds: Floats


@cache
def blocks_at_work(channels: int, rounds: int = 200) -> float:
    """The blocks at work on a link of a ring allgather, whose chunks are dealt over channels."""
    work = {
        (rank, channel): sorted(
            range(channel, RANKS, channels),
            key=lambda chunk, rank=rank: (rank - chunk) % RANKS,  # type: ignore[misc]
        )
        for rank in range(RANKS)
        for channel in range(channels)
    }
    free, done = dict.fromkeys(work, 0.0), dict[tuple[int, int, int], float]()
    for turn in range(rounds):
        left = {block: list(chunks) for block, chunks in work.items()}
        while any(left.values()):
            for (rank, channel), chunks in left.items():
                while chunks:
                    chunk, before = chunks[0], ((rank - 1) % RANKS, chunks[0], turn)
                    if rank != chunk and before not in done:
                        break
                    came = 0.0 if rank == chunk else done[before] - (1 - EARLY)
                    last = (rank + 1) % RANKS == chunk
                    done[rank, chunk, turn] = max(free[rank, channel], came) + (not last)
                    free[rank, channel] = done[rank, chunk, turn]
                    del chunks[0]
    return (RANKS - 1) * rounds / max(free.values())


def programs() -> list[Program]:
    """The programs in LL and Simple, in place, for messages that they are applied to."""
    times: dict[str, list[tuple[int, float]]] = {}
    with (HERE / "times.csv").open() as file:
        for one in csv.DictReader(file):
            times.setdefault(one["table"], []).append(
                (int(one["bytes"]), float(one["microseconds"]))
            )
    found = []
    with (HERE / "tables.csv").open() as file:
        for one in csv.DictReader(file):
            if one["left_out"] != "known schedule":
                continue
            kind, protocol, *numbers = one["program"].split()
            channels, instances = map(int, numbers)
            phases = 2 if one["collective"] == "allreduce" else 1
            ring = kind == "ring"
            # Each instance cuts a message into whole elements for all its chunks, or RCCL runs.
            least = 4 * instances * RANKS**phases
            rows = [row for row in times[one["id"]] if ring or row[0] >= least]
            found.append(
                Program(
                    one["id"],
                    one["collective"],
                    protocol,
                    (RANKS - 1 if ring else 1) * phases,
                    ((RANKS - 1) / RANKS if ring else 1 / RANKS) * phases,
                    (blocks_at_work(channels) if ring else channels) * instances,
                    ring,
                    np.array([float(size) for size, _ in rows]),
                    np.array([us / 1e6 for _, us in rows]),
                )
            )
    return found


def seconds(one: Program, costs: Floats) -> Floats:
    """The times of a program with some costs."""
    call, hop, rate, share, step, sums = costs.tolist()
    found: Floats = (
        call + one.hops * hop + one.sizes * one.share / min(one.blocks * rate, share * LINK)
    )
    if one.collective == "allreduce":
        found += step + one.sizes * (RANKS - 1) / RANKS / (one.blocks * sums)
    return found


def errors(each: Sequence[Program], costs: Floats) -> Floats:
    """|time / measured time - 1| of all rows."""
    found: Floats = np.concatenate([np.abs(seconds(one, costs) / one.seconds - 1) for one in each])
    return found


def simulated(one: Program) -> Floats:
    """The times of a program by simulation, with the runtime `msccl` and the blocks at work."""
    session = Session()
    machine = f"{HERE / 'machines.syncoll'}:ring_of_mi300x" if one.ring else "mi300x"
    topology, collective = session.topology(machine), session.collective(one.collective)
    name = "nccl_ring" if one.ring else "all_pairs"
    made = session.classics(topology, collective, [name], 60.0)[0][name]
    (protocol,) = runtime(f"msccl:{one.protocol}").protocols
    rate = float(protocol.block_rate or 0) * one.blocks * (1 if one.ring else RANKS - 1)
    known = replace(protocol, block_rate=Fraction(int(rate)), blocks=1)
    message = message_of_collective(collective, RANKS)
    network, how = (
        given_network(topology, None, None),
        replace(runtime("msccl"), protocols=(known,)),
    )
    stored = made[-1]  # of an allreduce the one in two phases
    sizes = [message.node_bytes(int(size)) for size in one.sizes]
    found = SimulatedSeconds(network, Semantics(), runtime=how)(stored, sizes)
    return np.array([float(x) for x in found])


def fitted(each: Sequence[Program], protocol: str) -> Floats:
    """The costs that explain some programs best."""
    start = np.array(START[protocol])

    def distances(factors: Floats) -> Floats:
        costs = start * np.exp(factors)
        away = np.concatenate([np.log(seconds(one, costs) / one.seconds) for one in each]) / NOISE
        return np.concatenate([np.sqrt(2 * (np.sqrt(1 + away**2) - 1)), factors / USUAL])

    found: Floats = start * np.exp(least_squares(distances, np.zeros(len(start))))
    return found


def known_schedules(page: Page) -> dict[str, float]:
    """A section of the page; returns the median errors in-sample, and for a collective left out."""
    page.say(
        "",
        "## Known schedules",
        "",
        "Programs of MSCCL that RCCL 2.21.5 ran on 8 MI300X, in place, without rows in which RCCL "
        "ran its own algorithm. time = call + hops · hop + bytes of a link / min(blocks · rate, "
        "share · 64 GB/s), and for an allreduce the costs of its sums.",
        "",
        "| protocol | programs | "
        + " | ".join(COSTS)
        + " | error | allgather left out | allreduce left out |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    )
    every, inside, outside = programs(), [], []
    for protocol in START:
        own = [one for one in every if one.protocol == protocol]
        costs = fitted(own, protocol)
        inside.append(errors(own, costs))
        cells = [f"{costs[i] * 1e6:.2f} us" for i in (0, 1)] + [f"{costs[2] / 1e9:.2f} GB/s"]
        cells += [f"{costs[3]:.2f}", f"{costs[4] * 1e6:.2f} us", f"{costs[5] / 1e9:.0f} GB/s"]
        cells += [f"{100 * float(np.median(inside[-1])):.1f} %"]
        for out in ("allgather", "allreduce"):
            others = [one for one in own if one.collective != out]
            mine = [one for one in own if one.collective == out]
            outside.append(errors(mine, fitted(others, protocol)))
            cells.append(f"{100 * float(np.median(outside[-1])):.1f} %")
        page.say(f"| {protocol} | {len(own)} | " + " | ".join(cells) + " |")
    by_simulation = [np.abs(simulated(one) / one.seconds - 1) for one in every]
    both = [float(np.median(np.concatenate(one))) for one in (inside, outside)]
    both.append(float(np.median(np.concatenate(by_simulation))))
    page.say(
        "",
        f"In all {100 * both[0]:.1f} %, for a collective left out {100 * both[1]:.1f} %. By "
        f"simulation of the programs, with the runtime `msccl`, {100 * both[2]:.1f} %.",
    )
    return dict(zip(("in-sample", "collective left out", "simulated"), both, strict=True))
