"""Why a candidate is behind another one, in words."""

from __future__ import annotations

from collections.abc import Sequence

from syncoll.designing.design import Assessed

__all__ = ["reasons"]


def reasons(ahead: Assessed, behind: Assessed, collectives: Sequence[str]) -> list[str]:
    """The figures in which a candidate is better than one that it dominates.

    Of bounds by the number of steps one is named for each collective: that with the fewest.
    """
    found = []
    ours, theirs = ahead.candidate.costs, behind.candidate.costs
    for noun in ("ports", "links", "bandwidth"):
        few, many = getattr(ours, noun), getattr(theirs, noun)
        if few < many:
            found.append(f"{few} {noun} instead of {many}")
    for name in collectives:
        if name not in ahead.bounds or name not in behind.bounds:
            continue
        one, other = ahead.bounds[name], behind.bounds[name]
        if one.steps < other.steps:
            found.append(f"{name}: S >= {one.steps} instead of {other.steps}")
        if ahead.over_unit(name) < behind.over_unit(name):
            found.append(
                f"{name}: R/C >= {one.bandwidth}{_unit(ahead)} instead of "
                f"{other.bandwidth}{_unit(behind)}"
            )
        for steps in sorted({*one.turns, *other.turns}):
            low, high = one.at(steps), other.at(steps)
            if low is None or high is None or (low, high) == (one.bandwidth, other.bandwidth):
                continue
            if ahead.at(name, steps) < behind.at(name, steps):
                found.append(
                    f"{name} with {steps} steps: R/C >= {low}{_unit(ahead)} instead of "
                    f"{high}{_unit(behind)}"
                )
                break
    return found


def _unit(one: Assessed) -> str:
    """The unit of R/C, if the machine has one."""
    rate = one.candidate.rate
    return "" if rate is None else f" at {float(rate) / 1e9:g} GB/s"
