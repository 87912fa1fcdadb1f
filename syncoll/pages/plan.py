"""The page of a plan."""

from __future__ import annotations

from collections.abc import Sequence

from syncoll.pages.page import PageParts, paged, table
from syncoll.pages.times import gigabytes, microseconds
from syncoll.planning import NeverBest, Plan, SizeRange, ends
from syncoll.results import Frontier
from syncoll.units import format_bandwidth, format_size, format_time
from syncoll.wording import counted

__all__ = ["plan_page", "plan_title"]


@paged
def plan_page(
    plan: Plan,
    frontier: Frontier,
    *,
    given: bool,
    alpha_given: bool = True,
    sizes: tuple[int, int] | None = None,
    wanted: Sequence[int] = (),
) -> PageParts:
    """The fastest algorithm for each range of messages.

    Args:
        given: whether the user stated the bandwidth; else the topology does.
        alpha_given: the same for alpha.
        sizes: of messages, the limits of the ranges that are shown; None for all.
        wanted: messages for which the fastest algorithm is named.
    """
    yield f"{plan_title(plan, frontier, given=given, alpha_given=alpha_given)}\n"
    rows = [row for one in plan.ranges if (row := _row(plan, one, sizes))]
    yield table(rows, ("bytes", "R", "C", "to (GB/s)", "to (us)"))
    yield plan.message.sentence
    if sizes is not None:
        low, high = map(format_size, sizes)
        text = f"from {low} to {high}" if low != high else f"of {low}"
        hidden = counted(len(plan.ranges) - len(rows), "range")
        yield f"Shown: messages {text}; {hidden} outside."
    for size in wanted:
        best = plan.best(size)
        time = format_time(plan.seconds(best.algorithm, size))
        yield (
            f"The fastest for {format_size(size)}: {best.algorithm.where}, S = {best.steps}, "
            f"R/C = {best.bandwidth}, {time}."
        )
    yield from (f"Never the best: {_never_best(one)}." for one in plan.never_best)
    if frontier.open:
        yield (
            f"The frontier leaves {counted(len(frontier.open), 'region')} of costs "
            "open, in which better algorithms may exist; `syncoll show` lists them."
        )


def plan_title(plan: Plan, frontier: Frontier, *, given: bool, alpha_given: bool = True) -> str:
    """The model in a line."""
    model = plan.model
    latency = format_time(model.alpha)
    ranging = plan.timing == "asynchronous" and not alpha_given
    alpha = f"latencies up to {latency}" if ranging else f"alpha {latency}"
    source = "" if given and alpha_given else f", as {frontier.topology.name} is described"
    overhead = f", {format_time(model.overhead)} a call" if model.overhead else ""
    return (
        f"{frontier.collective} on {frontier.topology.name}: {plan.timing}, {alpha}, "
        f"a chunk per round at {format_bandwidth(model.bandwidth)}{source}{overhead}"
    )


def _row(plan: Plan, one: SizeRange, sizes: tuple[int, int] | None) -> dict[str, object]:
    """A row of the table; empty for a range that is not shown."""
    limits = ends(one, sizes)
    if not limits:
        return {}
    messages = "-"
    if plan.message.measured:
        found = one.message_bytes
        messages = "none"
        if found is not None:
            messages = f"{found[0]}-{found[1]}" if found[1] is not None else f"{found[0]} up"
    times, rates = [], []
    for size in limits:
        times.append("no end" if size is None else microseconds(plan.seconds(one.algorithm, size)))
        rate = plan.algorithm_bandwidth(one.algorithm, size)
        text = gigabytes(rate)
        rates.append(f"< {text}" if size is None and rate is not None else text)
    return {
        ">message from": format_size(one.low),
        ">below": "no end" if one.high is None else format_size(one.high),
        ">bytes": messages,
        ">S": one.steps,
        ">R": one.algorithm.rounds,
        ">C": one.algorithm.chunks,
        ">R/C": one.bandwidth,
        ">time (us)": times[0],
        ">to (us)": times[-1],
        ">algbw (GB/s)": rates[0],
        ">to (GB/s)": rates[-1],
    }


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
