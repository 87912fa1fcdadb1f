"""Recommendations: the fastest algorithm for each message, in one call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Unpack

from syncoll.api import arguments
from syncoll.api.base import Saved, What, Where, counts_work, session_for, session_of, verb
from syncoll.api.frontier import FrontierResult, Source, frontier_of
from syncoll.api.plans import PlanResult, plan
from syncoll.api.searches import pareto
from syncoll.api.simulations import SimulationResult, simulate
from syncoll.deadline import Deadline, interrupted_at
from syncoll.documents import frontier_document, require_new_folder, to_text, write_new_folder
from syncoll.documents.plan import MessageRecord
from syncoll.documents.recommendation import (
    RecommendationRecord,
    RecommendedRecord,
    VariantRecord,
)
from syncoll.documents.record import written
from syncoll.errors import SyncollError, UsageError
from syncoll.model import Collective, Topology
from syncoll.pages import Page
from syncoll.pages.recommend import recommendation_page
from syncoll.planning import message_of_collective
from syncoll.results import Frontier
from syncoll.session.settings import SettingsOptions
from syncoll.simulating import PhysicalNetwork, floors
from syncoll.version import __version__
from syncoll.wording import argument

__all__ = [
    "FRONTIER",
    "RecommendationResult",
    "frontier_for",
    "recommend",
    "recommendation_for",
]

FRONTIER = "frontier.json"
"""The name of the frontier in the folder of a recommendation."""

_SIZES = "4KiB,1MiB,256MiB"

_SECONDS, _SHARE_OF_SEARCH = 60.0, 0.8
"""The usual limit of time, and the part that the search gets; simulations get the rest."""

_SAME = 1.001
"""Times that differ by at most this factor count as equal."""

_VARIANT_SECONDS, _BETTER = 2.0, 0.99
"""The time for the bounds of a machine's variants, and the ratio of bounds that is reported."""


@dataclass(frozen=True, eq=False, repr=False)
class RecommendationResult(Saved):
    """The fastest known algorithm for each message.

    Args:
        frontier: found by the search, or given.
        compared: the simulated times of its algorithms and of the classics.
        recommended: the fastest for each message.
        optimal: a classic that is proved optimal for all messages; None without one.
        variants: of the machine, with better bounds.
        model: the values of alpha and beta that were given.
    """

    frontier: FrontierResult
    compared: SimulationResult
    recommended: tuple[RecommendedRecord, ...]
    optimal: str | None
    variants: tuple[VariantRecord, ...]
    model: Mapping[str, Any]

    def page(self) -> Page:
        """The table of algorithms, and remarks."""
        told = self.recommended, self.optimal, self.variants
        return recommendation_page(self.frontier, self.compared, *told)

    def document(self) -> dict[str, Any]:
        """The recommendation as JSON."""
        frontier, message = self.frontier, self.compared.message
        measure = str(message.kind), message.measured, message.per_node, message.words
        return written(
            RecommendationRecord(
                "syncoll/recommendation/1",
                __version__,
                frontier.topology.name,
                frontier.collective,
                frontier.topology.num_nodes,
                MessageRecord(*measure),
                self.recommended,
                self.optimal,
                self.variants,
                frontier.interrupted,
            )
        )

    def export(
        self,
        folder: str | Path,
        to: str | None = None,
        *,
        in_place: bool = False,
        options: Mapping[str, object] | None = None,
        progress: str = "auto",
    ) -> PlanResult:
        """Writes a new folder: the frontier, a plan for all messages, and the plan's exports.

        Classics that are faster than the frontier take part in the plan.  If an export fails, the
        folder has the frontier.

        Args:
            to: the format of the exports; None for none.
            in_place: for calls whose input and output are one buffer.
            options: of the exporter, by name.
            progress: see `recommend`.

        Raises:
            ExportError: when the format can express none of the algorithms.
            UsageError: when the folder cannot be written.
        """
        files = {FRONTIER: f"{to_text(frontier_document(self.frontier))}\n".encode()}
        classics = dict.fromkeys(one.where for one in self.recommended if one.is_classic)
        try:
            found = plan(
                self.frontier,
                size=self.compared.sizes,
                to=to,
                in_place=in_place,
                skip_refused=True,
                options=options,
                progress=_style(progress),
                also=[self.compared.timed(name).algorithm for name in classics],
                **self.model,
            )
            files |= found.files()
        finally:
            write_new_folder(Path(folder), files)
        return found


@verb
@counts_work
def recommend(
    source: Where | Source,
    collective: What | None = None,
    *,
    sizes: int | str | Sequence[int | str] = _SIZES,
    alpha: float | str | None = None,
    beta: float | str | None = None,
    to: str | None = None,
    output: str | Path | None = None,
    in_place: bool = False,
    options: Mapping[str, object] | None = None,
    time_limit: float | str | None = None,
    work: float | None = None,
    progress: str = "auto",
    **settings: Unpack[SettingsOptions],
) -> RecommendationResult:
    """The fastest algorithm for each message size, searched, simulated and exported in one call.

    Args:
        source: a machine, as for `pareto`; or a frontier or its file, which is not searched again.
        collective: as for `pareto`; None with a frontier.
        sizes: of messages as nccl-tests counts them (of an allgather or gather the output): one, a
            range such as ``1KiB..1GiB``, or several.
        alpha: latency of each send, such as ``0.7us``; None for the latencies of the machine.
        beta: bandwidth of a link of one chunk per round, such as ``25GB/s``; None for the bandwidth
            in the description of the machine.
        to: the format of exports, such as ``mscclpp``; each is verified and executed.
        output: a new folder for the frontier, a plan, and the exports.
        in_place: for calls whose input and output are one buffer.
        options: of the exporter, by name.
        time_limit: of the whole command, such as ``2min``; None for one minute.
        work: see `pareto`.
        progress: ``auto``, ``live``, ``plain``, ``log`` or ``none``.
        settings: see `Settings`.

    Raises:
        SyncollError: as `pareto`, `simulate` and `plan`.

    >>> found = recommend("mi300x", "allgather", sizes="1MiB", work=5, progress="none")
    >>> found.recommended[0].steps, found.optimal
    (1, 'all_pairs')
    """
    if to is not None and output is None:
        raise UsageError(f"{argument('to', to)} needs {argument('output')}: name a new folder")
    if output is not None:
        require_new_folder(Path(output))
    if to is not None:
        session_for().plugins.exporters[to]  # a name that exists
    model: dict[str, Any] = {"alpha": alpha, "beta": beta}
    limits: dict[str, Any] = {"time_limit": time_limit, "work": work, "progress": progress}
    frontier = frontier_for(source, collective, sizes, **model, **limits, **settings)
    found = recommendation_for(frontier, source, sizes, progress=progress, **model)
    if output is not None:
        found.export(output, to, in_place=in_place, options=options, progress=progress)
    return found


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
    chosen = arguments.sizes_of("sizes", sizes)
    file = Path(source) if isinstance(source, str | Path) else None
    if collective is None:
        if file is not None and not file.is_file():
            raise UsageError(
                f"{source}: there is no such file; give a machine and a collective, such as "
                f"{source} allreduce, or the file of a frontier"
            )
        return frontier_of(source, "recommend")  # type: ignore[arg-type]
    if isinstance(source, Frontier):
        raise UsageError(f"{collective} with a frontier, which has its collective; leave it out")
    if work is None:
        seconds = arguments.seconds_of(time_limit)
        time_limit = _SHARE_OF_SEARCH * (_SECONDS if seconds is None else seconds)
    aim = f"{min(chosen)}:{max(chosen)}"
    limits = {"time_limit": time_limit, "work": work}
    return pareto(source, collective, optimise_for=aim, **limits, **how)  # type: ignore[arg-type]


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
    compared = simulate(frontier, sizes=sizes, progress=_style(progress), **model)
    best = tuple(_recommended(compared))
    name = frontier.topology.name
    if isinstance(source, str) and not Path(source).is_file():
        name = source
    variants = tuple(_variants(name, frontier, compared, model))
    optimal = _optimal_classic(frontier, compared, best)
    return RecommendationResult(frontier, compared, best, optimal, variants, model)


def _style(progress: str) -> str:
    """The style of progress after the search."""
    return "plain" if progress == "log" else progress


def _recommended(compared: SimulationResult) -> Iterator[RecommendedRecord]:
    """The fastest algorithm for each message; a classic only if it beats the frontier."""
    for number, size in enumerate(compared.sizes):
        best, classic = compared.best(number), compared.best_classic(number)
        if classic is not None and classic.seconds[number] * _SAME < best.seconds[number]:
            best = classic
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


def _optimal_classic(
    frontier: FrontierResult, compared: SimulationResult, best: Sequence[RecommendedRecord]
) -> str | None:
    """A classic that no algorithm beats: by its times, or both by its S and by its R/C."""
    scales = frontier.evidence is not None and frontier.max_chunks is None
    least = (frontier.least_steps, frontier.least_bandwidth) if scales else (0, Fraction(0))
    for one in compared.classics:
        times = list(zip(map(float, one.seconds), best, strict=True))
        if any(time > known.seconds * _SAME for time, known in times):
            continue
        stored = one.algorithm
        by_costs = stored.steps <= least[0] and stored.bandwidth <= least[1]
        if by_costs or all(time <= (known.floor or 0) * _SAME for time, known in times):
            return one.classic
    return None


def _variants(
    name: str,
    frontier: FrontierResult,
    compared: SimulationResult,
    model: Mapping[str, Any],
) -> Iterator[VariantRecord]:
    """The variants of a machine with a better bound, as far as there is time for their bounds.

    A machine or collective whose name is not known here has none.
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
            network = arguments.network_of(topology, **model)
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
