"""The search and the simulations of a recommendation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import syncoll
from syncoll import values
from syncoll.deadline import Deadline, interrupted_at
from syncoll.documents.recommendation import RecommendedRecord, VariantRecord
from syncoll.errors import SyncollError, UsageError
from syncoll.model import Collective, Topology
from syncoll.pages.recommend import fits
from syncoll.planning import message_of_collective
from syncoll.results import Frontier
from syncoll.simulating import PhysicalNetwork, floors, given_network
from syncoll.verbs.asking import What, Where, session_of
from syncoll.verbs.frontier import FrontierResult, Source, frontier_of
from syncoll.verbs.recommend.result import RecommendationResult, style_after
from syncoll.verbs.simulate.result import SimulationResult

__all__ = ["frontier_for", "recommendation_for"]

_SECONDS, _SHARE_OF_SEARCH = 60.0, 0.8
"""The usual limit of time, and the part that the search gets; the rest is for simulations, which
have no limit of their own."""

_SAME = 1.001
"""Times that differ by at most this factor count as equal."""

_EXACT = 1 + 1e-8
"""The factor for the rounding of times and of lower bounds."""

_NEARLY = 1.02
"""The factor by which an algorithm of fewer chunks may be slower than the fastest.  Runtimes need
thread blocks and messages for chunks, and simulated times do not count them."""

_VARIANT_SECONDS, _BETTER = 2.0, 0.99
"""The time for the bounds of a machine's variants, and the ratio of bounds that is reported."""


def frontier_for(
    source: Where | Source,
    collective: What | None,
    sizes: int | str | Sequence[int | str],
    *,
    time_limit: float | str | None,
    work: float | None,
    **how: Any,
) -> FrontierResult:
    """The frontier of a search for messages, or the one that is given; see `recommend`.

    Args:
        how: further keywords of `pareto`.
    """
    chosen = values.sizes_of("sizes", sizes)
    file = Path(source) if isinstance(source, str | Path) else None
    if collective is None:
        if file is not None and not file.is_file():
            hint = (
                "; give the file of a frontier, or a collective after the machine, such as "
                f'"{source}" allreduce'
            )
            raise UsageError(f"file {source} does not exist{hint * (not file.suffix)}")
        return frontier_of(source, "recommend")  # type: ignore[arg-type]
    if isinstance(source, Frontier):
        raise UsageError(f"{collective} with a frontier, which has its collective; leave it out")
    if work is None:
        seconds = values.seconds_of(time_limit)
        time_limit = _SHARE_OF_SEARCH * (_SECONDS if seconds is None else seconds)
    aim = f"{min(chosen)}:{max(chosen)}"
    limits = {"time_limit": time_limit, "work": work}
    return syncoll.pareto(source, collective, optimise_for=aim, **limits, **how)  # type: ignore[arg-type]


def recommendation_for(
    frontier: FrontierResult,
    source: object,
    sizes: int | str | Sequence[int | str],
    *,
    progress: str,
    **model: Any,
) -> RecommendationResult:
    """The fastest algorithm for each message, of a frontier that was found or given.

    Args:
        source: the machine, if it is a text, for its variants; see `recommend`.
        model: alpha and beta.
    """
    compared = syncoll.simulate(frontier, sizes=sizes, progress=style_after(progress), **model)
    best = tuple(_recommended(compared))
    name = frontier.topology.name
    if isinstance(source, str) and not Path(source).is_file():
        name = source
    variants = tuple(_variants(name, frontier, compared, model))
    optimal = _optimal_classic(compared)
    return RecommendationResult(frontier, compared, best, optimal, variants, model)


def _recommended(compared: SimulationResult) -> Iterator[RecommendedRecord]:
    """The fastest algorithm for each message.

    It cuts the message into equal chunks of whole elements, if any algorithm does: runtimes refuse
    other messages.  Of the algorithms that are nearly as fast it has the fewest chunks.
    """
    for number, size in enumerate(compared.sizes):
        every = [*compared.algorithms, *compared.classics]
        every = [x for x in every if fits(compared, size, x.algorithm.chunks)] or every
        least = min(one.seconds[number] for one in every)
        fastest = [x for x in every if x.seconds[number] <= least * Fraction(_SAME)]
        is_classic = all(one.classic for one in fastest)
        near = [x for x in every if x.seconds[number] <= least * Fraction(_NEARLY)]
        best = min(
            (one for one in near if bool(one.classic) == is_classic),
            key=lambda one: (one.algorithm.chunks, one.seconds[number]),
        )
        classics = [one for one in every if one.classic]
        classic = min(classics, key=lambda one: one.seconds[number], default=None)
        one, seconds, floor = best.algorithm, float(best.seconds[number]), compared.floor(number)
        yield RecommendedRecord(
            *(best.name, one.steps, one.rounds, one.chunks, one.bandwidth, size),
            bool(best.classic),
            seconds,
            size / seconds if seconds else None,
            None if classic is None else classic.name,
            float(classic.seconds[number]) / seconds if classic and seconds else None,
            floor,
            seconds / floor if floor else None,
        )


def _optimal_classic(compared: SimulationResult) -> str | None:
    """A classic that meets the lower bounds on the times of all algorithms."""
    for one in compared.classics if compared.floors else ():
        pairs = zip(map(float, one.seconds), compared.floors, strict=True)
        if all(seconds <= floor * _EXACT for seconds, floor in pairs):
            return one.classic
    return None


def _variants(
    name: str,
    frontier: FrontierResult,
    compared: SimulationResult,
    model: Mapping[str, Any],
) -> Iterator[VariantRecord]:
    """The variants of a machine with a better bound, as far as there is time for their bounds.

    A machine or collective with an unknown name has none.
    """
    session, sizes, until = session_of(frontier), compared.sizes, Deadline.after(_VARIANT_SECONDS)
    with suppress(SyncollError), interrupted_at(until):
        variants = session.specs.variants(name)
        if not variants or session.topology(name) != frontier.topology:
            return
        collective = frontier.source or session.collective(frontier.collective)
        here = _quick_floors(frontier.topology, collective, compared.network, sizes)
        for added, reference in variants.items():
            topology = session.topology(reference)
            network = given_network(topology, **model)
            there = _quick_floors(topology, collective, network, sizes)
            ratios = [a / b if b else 1.0 for a, b in zip(there, here, strict=True)]
            at = ratios.index(min(ratios))
            if ratios[at] < _BETTER:
                yield VariantRecord(added, reference, sizes[at], here[at], there[at])


def _quick_floors(
    topology: Topology, collective: Collective, network: PhysicalNetwork, sizes: Sequence[int]
) -> tuple[float, ...]:
    """Lower bounds on the seconds for messages by latencies and cuts, without a search."""
    nodes = topology.num_nodes
    chunks = collective.least_chunks(nodes) or 1
    instance = collective.instantiate(topology, chunks=chunks, steps=nodes, rounds=nodes)
    message = message_of_collective(collective, nodes)
    return floors(instance, network, [message.node_bytes(size) for size in sizes])
