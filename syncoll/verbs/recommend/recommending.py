"""The search and the simulations of a recommendation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import syncoll
from syncoll import values
from syncoll.deadline import Deadline, interrupted_at
from syncoll.documents import StoredAlgorithm
from syncoll.documents.recommendation import VariantRecord
from syncoll.errors import SyncollError, UsageError
from syncoll.planning import carried, in_one_association
from syncoll.plugins import ExportCounts
from syncoll.results import Frontier
from syncoll.simulating import WIRE, Runtime, floors_by_cuts, given_network, recommended
from syncoll.verbs.asking import What, Where, session_of
from syncoll.verbs.frontier import FrontierResult, Source, frontier_of
from syncoll.verbs.recommend.result import RecommendationResult, style_after
from syncoll.verbs.simulate.result import SimulationResult

_SECONDS, _SHARE_OF_SEARCH = 60.0, 0.8
"""The usual limit of time, and the part that the search gets; the rest is for simulations, which
have no limit of their own."""

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
    limits = {"time_limit": time_limit, "work": work}
    return syncoll.pareto(source, collective, optimise_for=chosen, **limits, **how)  # type: ignore[arg-type]


def recommendation_for(
    frontier: FrontierResult,
    source: object,
    sizes: int | str | Sequence[int | str],
    *,
    progress: str,
    to: str | None = None,
    in_place: bool = False,
    options: Mapping[str, object] | None = None,
    runtime: Runtime = WIRE,
    **model: Any,
) -> RecommendationResult:
    """The fastest algorithm for each message, of a frontier that was found or given.

    Args:
        source: the machine, if it is a text, for its variants; see `recommend`.
        to: the format whose runtime takes the messages; None for equal chunks of whole elements.
        model: alpha and beta.
    """
    record = None if to is None else session_of(frontier).plugins.exporters[to]
    how: dict[str, Any] = {"progress": style_after(progress), "runtime": runtime}
    how["classics"] = not any(one.instance.reproducible for one in frontier.points)
    how["collective"] = frontier.source  # so that its classics are constructed once
    compared = syncoll.simulate(frontier, sizes=sizes, **how, **model)
    counted: dict[str, tuple[str, ExportCounts | None]] = {}

    def misfit(size: int, one: StoredAlgorithm) -> str:
        """Why a message does not fit an algorithm, which is counted once; empty if it fits."""
        if record is None:
            why = "does not cut it into equal chunks of whole elements"
            return "" if compared.fits(size, one.chunks) else why
        if one.where not in counted:
            _, refused, found = carried([one], record, options or {}, in_place=in_place)
            counted[one.where] = refused[0][1] if refused else "", found.get(id(one))
        reason, counts = counted[one.where]
        if reason:
            return f"has no files for {to}: {reason}"
        if counts is None or counts.takes(size):
            return ""
        multiples = f"multiples of {counts.multiple_of} bytes, from {counts.min_bytes} on"
        return f"takes only {multiples}, with {to}"

    times = {
        id(one.algorithm): [
            None if misfit(size, one.algorithm) else seconds
            for size, seconds in zip(compared.sizes, one.seconds, strict=True)
        ]
        for one in compared.algorithms
        if one.algorithm.instance.reproducible
    }
    stored = [one.algorithm for one in compared.algorithms]
    kept, association = in_one_association(stored, lambda one: times[id(one)])
    places = {id(one) for one in kept}
    one_sum = tuple(one for one in compared.algorithms if id(one.algorithm) in places)
    compared = replace(compared, algorithms=one_sum)
    best = tuple(recommended(compared, lambda size, one: not misfit(size, one.algorithm)))
    misfits = {}
    for number, row in enumerate(best):
        for one in (compared.timed(row.where), compared.best(number)):
            if why := misfit(row.message_bytes, one.algorithm):
                misfits[row.message_bytes, one.name] = why
    name = frontier.topology.name
    if isinstance(source, str) and not Path(source).is_file():
        name = source
    variants = tuple(_variants(name, frontier, compared, model))
    optimal = compared.optimal_classic
    about = frontier, compared, best, optimal, variants, model
    return RecommendationResult(*about, association, misfits)


def _variants(
    name: str, frontier: FrontierResult, compared: SimulationResult, model: Mapping[str, Any]
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
        here = floors_by_cuts(collective, compared.network, sizes, compared.runtime)
        for added, reference in variants.items():
            network = given_network(session.topology(reference), **model)
            there = floors_by_cuts(collective, network, sizes, compared.runtime)
            ratios = [a / b if b else 1.0 for a, b in zip(there, here, strict=True)]
            at = ratios.index(min(ratios))
            if ratios[at] < _BETTER:
                yield VariantRecord(added, reference, sizes[at], here[at], there[at])
