"""Findings: the conclusions from a measurement on its machine, library and itself, as sentences."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from syncoll.measuring.ceilings import ABOVE, RunCeilings
from syncoll.runtime import Kind
from syncoll.units import format_size, gigabytes, microseconds

GOOD, _LITTLE = 0.9, 0.25
"""Parts of a limit: good from here on, and far below it."""

_LARGE = 1 << 24
"""Bytes of the least message whose rate is compared with limits."""

_LEAST_SECONDS = 3.0e-6
"""No runtime comes near: MSCCL++ takes 5.9 us for 2 KiB on 8 x H200."""

_JUMP = 4.0
"""Growth of a time over that of the size from which on a threshold is likely."""

_RING_GPUS = 4
"""Up to this number of GPUs NCCL runs a ring in a box, even if the switches add up."""

_WHY = {
    "nccl_tree": ": an inner box of a double tree sends twice the buffer through its cards",
    "nccl_ring": ": all of its busbw crosses each edge",
}


def findings(found: RunCeilings) -> Iterator[str]:
    """The findings of a run."""
    if found.run.remark:
        yield found.run.remark
    least, machine = (found.summed or found.plain).seconds, found.machine
    shown = [f"{format_size(x)} in {microseconds(y)} us" for x, y in found.times]
    soon = [y < _LEAST_SECONDS and found.run.program != "osu" for _, y in found.times]
    below = [y * ABOVE < limit for (_, y), limit in zip(found.times, least, strict=True)]
    if True in soon:
        yield (
            f"{shown[soon.index(True)]}: no runtime comes near (the best public one takes 5.9 us). "
            "The calls overlap, so the measurement is wrong."
        )
    if wrong := [row for row, x, y in zip(shown, below, soon, strict=True) if x and not y]:
        yield (
            f"{wrong[0]} is less than the proved least on {machine}: its links are faster than "
            "described, the log is of another machine or collective, or calls overlap."
        )
    if found.times[-1][0] >= _LARGE:
        yield from _rate(found)
    for (a, s), (b, t) in pairwise(found.times):
        if t / s > _JUMP * b / a:
            yield (
                f"From {format_size(a)} to {format_size(b)} the time grows to {t / s:.0f} times: "
                "a threshold of the library or its network plug-in."
            )
    if len(found.times) > 2 and found.times[0][1] > 1.5 * found.times[1][1]:
        yield f"The first row ({format_size(found.times[0][0])}) is cold: the next one is faster."


def _rate(found: RunCeilings) -> Iterator[str]:
    """The rate at the largest size, against the ceilings and the library's own algorithms."""
    rate, plain, summed, best = found.algbw, found.plain, found.summed, found.best
    reached, several, gpus = rate / plain.algbw, len(found.boxes) > 1, sum(found.boxes)
    without = " without sums in switches" if summed else ""
    if reached > ABOVE:
        if summed and rate <= summed.algbw * ABOVE:
            yield f"Above the ceiling{without}: the switches add up (NVLS)."
            if rate < 0.8 * summed.algbw and not several:
                yield (
                    "The links do not bind, the channels of NVLS do: NCCL's own model gives NVLS "
                    "0.85 * 15/16 of the links."
                )
        return
    name, share = "algorithm", 1.0
    if best:
        name, share = best.name.removeprefix("nccl_"), rate / best.algbw
    if reached >= GOOD:
        yield f"Good for any algorithm{without}: {reached:.0%} of the proved ceiling."
    elif best and share >= GOOD:
        why = _WHY.get(best.name, "") if several else ""
        yield (
            f"Nothing is broken: the library's {name} is at {share:.0%} of its own limit of "
            f"{gigabytes(best.algbw * found.factor)} GB/s busbw{why}. "
            f"Another algorithm may be up to {1 / reached:.3g} times as fast."
        )
    elif reached < _LITTLE:
        yield (
            f"Far below every algorithm's limit ({reached:.1%} of the ceiling): the transport of "
            "each GPU is slow (no direct access to the card, a single stream), not the algorithm."
        )
    else:
        pcie = any("PCIe" in one.label for one in found.networks[0].topology.bounds)
        why = "busbw counts one direction, and both are in use"
        if several:
            why = "look at the spine and the rails"
        elif pcie:
            why = "without peer access every pair of GPUs goes through the host"
        yield f"{share:.0%} of the limit of the library's {name}: {why}."
    if summed and found.kind is Kind.ALLREDUCE and not several:
        yield (
            f"NCCL runs a ring on {gpus} GPUs: it uses NVLS from 5 on."
            if gpus <= _RING_GPUS
            else "No sign of sums in switches (NVLS): with them the limit is higher."
        )


def common_findings(runs: Sequence[RunCeilings]) -> Iterator[str]:
    """The findings of several runs together."""
    shares = [one.algbw / one.plain.algbw for one in runs]
    ranks = dict.fromkeys(sum(one.boxes) for one in runs)
    if len(ranks) > 1 and max(shares) < min(0.5, 1.2 * min(shares)):
        yield (
            f"With {', '.join(map(str, ranks))} GPUs the runs reach the same share of their "
            f"ceilings ({min(shares):.1%} to {max(shares):.1%}): each GPU's own transport is the "
            "limit, not the algorithm."
        )
