"""Tables 2 and 3 of the ForestColl paper: allgather, reducescatter and allreduce on two machines.

Zhao et al., ForestColl, sections 5.2 and 5.3: algorithm bandwidths measured on two boxes of MI250
and two of A100. Two of the measured points, of the library's ring, determine alpha and the usable
share of the bandwidths (`benchmarks.papers.fitting`); all others are predicted by simulation.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path

from benchmarks.papers.figure import Claim, Figure, Holds, Make, Table, Tell, judged, table
from benchmarks.papers.fitting import fit, lockstep
from benchmarks.papers.platforms import (
    BLINK_SEGMENTS,
    SHOWN,
    SIZES,
    Measured,
    Network,
    Values,
    assemble,
)
from syncoll.model import Instance
from tests.oracles.forests import allgather

__all__ = ["FIGURES", "PAPER"]

PAPER = (
    "Zhao et al., ForestColl: Efficient Collective Communications on Heterogeneous Network Fabrics"
)
PRINTED = json.loads((Path(__file__).parents[1] / "forestcoll_tables.json").read_text("utf-8"))
NEAR = 0.1
"""A factor that a paper states holds where ours is this near; with the same sign only in part."""


def alone(printed: Mapping[str, Values]) -> Table:
    """The times between the ends of each row, from a latency and a bandwidth fitted to its ends."""
    model, rows = lockstep(1, Fraction(1)), []
    for machine, collectives in printed.items():
        for collective, names in collectives.items():
            for name, values in names.items():
                points = [
                    (SIZES[i], SIZES[i] / rate / 1e9)
                    for i, rate in zip(SHOWN.values(), values, strict=False)
                ]
                alpha, beta = fit(model, points[0], points[-1])
                off = [model(alpha, beta, size) / seconds - 1 for size, seconds in points[1:-1]]
                times = (f"{alpha * 1e6:.0f} us", f"{1 / beta / 1e9:.1f} GB/s")
                rows.append(
                    (machine, collective, name, *times, *(f"{100 * x:+.0f} %" for x in off))
                )
    return table(
        "The printed values alone: a + M / b through those at 1M and 1G, and how much less or more "
        "time it says the sizes between should have taken:",
        ("machine", "collective", "algorithm", "a", "b", "16M off by", "128M off by"),
        rows,
    )


def shares(all_of_it: Sequence[Measured]) -> Table:
    """The share of its own optimum, without latencies, that each allgather reaches at 1 GiB."""
    rows = []
    for one in all_of_it:
        fabric = one.platform.topology.fabric
        assert fabric is not None
        ring = one.platform.ring().algorithms[0].instance
        names = ("ForestColl", f"{one.platform.library} Ring")
        for name, best in zip(names, (allgather(fabric).algbw, _algbw(ring)), strict=True):
            paper = one.platform.printed["allgather"][name][3]
            ours = one.values("allgather", name)[3]
            rates = (f"{paper:g}", f"{ours:.1f}")
            parts = (f"{100 * rate / float(best):.0f} %" for rate in (paper, ours))
            rows.append((one.platform.name, name, f"{float(best):.2f}", *rates, *parts))
    return table(
        "Allgather at 1G against the limit of the algorithm without latency and at the full "
        "bandwidths, in GB/s:",
        ("machine", "algorithm", "limit", "paper", "ours", "paper of the limit", "ours of it"),
        rows,
    )


def _algbw(instance: Instance) -> Fraction:
    """Data over the time of all rounds, in GB/s."""
    fabric = instance.topology.fabric
    assert fabric is not None
    data = Fraction(instance.topology.num_nodes * instance.chunks * fabric.chunk_bandwidth)
    return Fraction(data / instance.rounds)


def gain_claim(says: str, where: str, paper: float, ours: float) -> Claim:
    """A factor between two algorithms."""
    near = abs(ours / paper - 1) <= NEAR
    holds = Holds.YES if near and ours > 1 else Holds.PARTLY if ours > 1 else Holds.NO
    return Claim(says, where, holds, f"{ours:.2f} times as much; the paper's factor is {paper:.2f}")


def taccl(where: str, percent: str) -> Claim:
    """TACCL's schedules need its program."""
    return Claim(
        f"ForestColl's allgather has {percent} more bandwidth than TACCL's",
        where,
        Holds.OPEN,
        "TACCL's schedules are not made here",
    )


def forest_reason(ours: float, paper: float) -> str:
    """Of ForestColl's rows."""
    if ours > paper:
        return (
            "our fastest schedule for the size, with the latency and bandwidth of the library's "
            "ring; the paper's is one set of trees for all sizes, with the costs of MSCCL"
        )
    return "each step costs the latency of the library's ring, which is more than MSCCL's"


def ring_reason(ours: float, paper: float) -> str:
    """Of the rows of a library's ring."""
    if ours > paper:
        return (
            "one bandwidth for all sizes; a library's grows more slowly with the size, as its own "
            "chunks fill its pipeline"
        )
    return "one latency for all collectives and sizes"


def blink_reason(ours: float, paper: float) -> str:
    """Of Blink's rows."""
    return (
        "the network as the library's ring shows it; Blink's segments are unknown, ours are the "
        f"best of {', '.join(map(str, BLINK_SEGMENTS))}"
    )


def tree_reason(ours: float, paper: float) -> str:
    """Of NCCL's trees."""
    return (
        "chains in boxes, joined at 16 roots, the halves after one another for small sizes; the "
        "model lacks the limit of NCCL's trees for large ones"
    )


def adapted_reason(ours: float, paper: float) -> str:
    """Of RCCL's rings on a half of the GPUs."""
    return "our rings are made for these GPUs; RCCL's are made for 16 in each box"


RULE = (
    "A factor that the paper states holds where ours is within 10 %, and in part where it is on "
    "the same side of 1."
)


def table_2(tell: Tell) -> Figure:
    """Two boxes of MI250."""
    printed: Mapping[str, Values] = PRINTED["table-2"]
    make = partial(assemble, tell)
    whole = make("16+16", "mi250(boxes=2)", "RCCL", printed["16+16"], "Blink+Switch")
    half = make("8+8", "mi250(boxes=2,gpus=8)", "RCCL", printed["8+8"], "Blink+Switch")
    network = Network.of(whole)
    big, small = (Measured.of(platform, network, tell) for platform in (whole, half))
    reasons = {"ForestColl": forest_reason, "RCCL Ring": ring_reason, "Blink+Switch": blink_reason}
    rows = (*big.rows(reasons, True), *small.rows({**reasons, "RCCL Ring": adapted_reason}, False))
    twice = big.values("allgather", "ForestColl")[3] / big.values("allreduce", "ForestColl")[3]
    every = [float((big.ours[c]["ForestColl"] / big.ours[c]["RCCL Ring"]).min()) for c in big.ours]
    where = "section 5.2"
    claims = [
        judged(
            "with 16+16 ForestColl is at no size slower than RCCL's ring, in no collective",
            where,
            min(every) >= 1,
            f"least factor {min(every):.2f}",
        ),
        judged(
            "allgather and reducescatter are about twice as fast as allreduce",
            where,
            abs(twice - 2) < 0.2,
            f"{twice:.2f} times at 1G",
        ),
        gain_claim("16+16, allreduce at 1G: 16 % more than Blink+Switch", where, 1.16,
                   big.gain("allreduce", 3, "Blink+Switch")),
        gain_claim("16+16, allreduce on average: 24 % more than Blink+Switch", where, 1.24,
                   big.gain("allreduce", 4, "Blink+Switch")),
        gain_claim("8+8, allreduce at 1G: 36 % more than Blink+Switch", where, 1.36,
                   small.gain("allreduce", 3, "Blink+Switch")),
        gain_claim("8+8, allreduce on average: 35 % more than Blink+Switch", where, 1.35,
                   small.gain("allreduce", 4, "Blink+Switch")),
    ]  # fmt: skip
    for collective, most, least in (("allgather", 1.37, 2.52), ("reducescatter", 1.32, 2.29)):
        claims += [
            gain_claim(f"16+16, {collective} on average: {most:g} times RCCL's ring", where, most,
                       big.gain(collective, 4, "RCCL Ring")),
            gain_claim(f"8+8, {collective} on average: {least:g} times RCCL's ring, which has no "
                       "rings for 8 GPUs (ours have)", where, least,
                       small.gain(collective, 4, "RCCL Ring")),
        ]  # fmt: skip
    claims.append(taccl(where, "61 % (16+16) and 43 % (8+8)"))
    return Figure(
        "two boxes of MI250",
        f"{PAPER}, Table 2",
        "GB/s",
        rows,
        (shares((big, small)), alone(printed)),
        (*big.panels(), *small.panels()),
        tuple(claims),
        (
            f"Two measured values, of RCCL's ring allgather on 16+16 at 1M and 1G, say: "
            f"{network.words}. Everything else is predicted with these, 8+8 too. Asynchronous, "
            "cut-through; of several schedules the fastest counts at each size.",
            f"TACCL's schedules and RCCL's trees are not made here, and left out. {RULE}",
        ),
    )


def table_3(tell: Tell) -> Figure:
    """Two boxes of A100."""
    printed: Mapping[str, Values] = PRINTED["table-3"]
    platform = assemble(tell, "2 boxes", "a100(boxes=2)", "NCCL", printed["2 boxes"], "NCCL Tree")
    network = Network.of(platform)
    one = Measured.of(platform, network, tell)
    reasons = {"ForestColl": forest_reason, "NCCL Ring": ring_reason, "NCCL Tree": tree_reason}
    where, fabric = "section 5.3", platform.topology.fabric
    assert fabric is not None
    limits = allgather(fabric).algbw, _algbw(platform.ring().algorithms[0].instance)
    ratio = float(limits[0] / limits[1])
    rivals = {
        "allgather": ("NCCL Ring",),
        "reducescatter": ("NCCL Ring",),
        "allreduce": ("NCCL Ring", "NCCL Tree"),
    }
    claims = [
        judged(
            "the ring's allgather takes 62.5 % longer than the optimum, M / 346.67 GB/s",
            where,
            abs(ratio - 1.625) < 1e-9,
            f"{float(limits[1]):.2f} against {float(limits[0]):.2f} GB/s: {ratio:.3f} times",
        )
    ]
    for collective, at_large, mean in (
        ("allgather", 1.32, 1.52),
        ("reducescatter", 1.30, 1.38),
        ("allreduce", 1.26, 1.30),
    ):
        for column, words, paper in ((3, "at 1G", at_large), (4, "on average", mean)):
            says = f"{collective} {words}: {round(100 * (paper - 1))} % more than NCCL's best"
            ours = one.gain(collective, column, *rivals[collective])
            claims.append(gain_claim(says, where, paper, ours))
    claims.append(taccl(where, "16 % at 1G and 34 % on average"))
    return Figure(
        "two boxes of A100",
        f"{PAPER}, Table 3",
        "GB/s",
        tuple(one.rows(reasons, True)),
        (shares((one,)), alone(printed)),
        tuple(one.panels()),
        tuple(claims),
        (
            f"Two measured values, of NCCL's ring allgather at 1M and 1G, say: {network.words}. "
            "Everything else is predicted with these. Asynchronous, cut-through; of several "
            "schedules the fastest counts at each size.",
            f"TACCL's schedules are not made here, and left out. {RULE}",
        ),
    )


FIGURES: dict[str, Make] = {"forestcoll-table-2": table_2, "forestcoll-table-3": table_3}
"""The function that makes each, by name."""
