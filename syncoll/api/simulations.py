"""Simulations in the hands of a user: what algorithms take on their physical networks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar, Literal

from syncoll.api import arguments
from syncoll.api.base import Tabular, What, as_result, session_of, shows_progress, verb
from syncoll.api.frontier import FrontierResult, Source, algorithms_of, frontier_of, loaded
from syncoll.documents import StoredAlgorithm, write_atomically
from syncoll.errors import SpecError, UsageError
from syncoll.model import Instance
from syncoll.pages import Page
from syncoll.pages.simulation import simulation_page
from syncoll.planning import CostModel, members_for
from syncoll.runtime import kind_of
from syncoll.session import Session
from syncoll.session.settings import require_whole
from syncoll.simulating import (
    Comparison,
    Injection,
    Late,
    Semantics,
    Sharing,
    Slow,
    Switching,
    Timing,
    compare,
    floors,
    parse_late,
    parse_slow,
    simulation_document,
    trace_content,
)
from syncoll.wording import argument

__all__ = ["SimulationResult", "classics_of", "simulate"]

_SIZES = "1KiB..1GiB"


@dataclass(frozen=True, eq=False, repr=False)
class SimulationResult(Tabular, Comparison):
    """The times of algorithms and classics for each size.

    Args:
        collective: its name.
    """

    collective: str = ""

    columns: ClassVar = {
        **dict.fromkeys(("where", "classic"), str),
        **dict.fromkeys(("steps", "rounds", "chunks", "size", "count"), int),
        **dict.fromkeys(("bandwidth", "per_node", "seconds", "algbw", "busbw"), float),
    }

    def rows(self) -> list[dict[str, Any]]:
        """A row for each algorithm and size; sizes are bytes, rates bytes per second."""
        each = self.document()["algorithms"]
        rows = [{**one, **row} for one in each for row in one["measurements"]]
        return [
            {
                name: row[name] and kind(Fraction(row[name])) if kind is float else row[name]
                for name, kind in self.columns.items()
            }
            for row in rows
        ]

    def page(self, *, all_classics: bool = False) -> Page:
        """Tables as nccl-tests prints them, and the fastest for each size.

        Args:
            all_classics: whether each form of a classic has a table of its own.
        """
        return simulation_page(self, self.collective, all_classics=all_classics)

    def document(self) -> dict[str, Any]:
        """The same as JSON."""
        return simulation_document(self, self.collective)

    def trace(
        self, path: str | Path, size: int | str = "1MiB", names: Sequence[str] = ()
    ) -> tuple[str, ...]:
        """Writes what happens when as a file that ui.perfetto.dev opens.

        Args:
            path: the file, such as ``out.pftrace``.
            size: of the message.
            names: of algorithms, such as ``points[1]`` or ``ring[0]``; without any the fastest and
                the fastest classic at that size.

        Returns:
            The names of those that are in it.

        Raises:
            UsageError: on a name that is not there, when there are too many sends to look at, or
                the file cannot be written.
        """
        chosen, exact = tuple(names), arguments.bytes_of(size)
        if exact < 1:
            raise UsageError(f"{argument('trace_size')}: {size!r}; expected at least 1 byte")
        if not chosen:
            fastest = (self.fastest(group, exact) for group in (self.algorithms, self.classics))
            chosen = tuple(one.name for one in fastest if one is not None)
        write_atomically(
            Path(path), trace_content({one: self.simulation(one, exact) for one in chosen})
        )
        return chosen


@verb
@shows_progress
def simulate(
    source: Source,
    *,
    sizes: int | str | Sequence[int | str] = _SIZES,
    factor: int = 4,
    alpha: float | str | None = None,
    beta: float | str | None = None,
    overhead: float | str = "0s",
    timing: Literal["asynchronous", "lockstep"] = "asynchronous",
    switching: Literal["cut-through", "store-and-forward"] = "cut-through",
    sharing: Literal["in-turn", "fair"] = "in-turn",
    injection: Literal["free", "lockstep"] = "free",
    packet: int | str | None = None,
    header: int | str = 0,
    depth: int | None = None,
    reduction: float | str | None = None,
    slow: Iterable[str | Slow] = (),
    late: Iterable[str | Late] = (),
    classics: bool | Sequence[str] = True,
    collective: What | None = None,
    progress: str = "auto",
) -> SimulationResult:
    """Predicts the time of each algorithm on its physical network, and of the classics.

    Args:
        source: a frontier or an algorithm, or its file.
        sizes: of messages as nccl-tests counts them (of an allgather or gather the output): a range
            such as ``1KiB..1GiB``, one such as ``1MiB``, or several.
        factor: from each size of a range to the next.
        alpha: what each send takes beside its bytes, such as ``0.7us``, in place of latencies that
            the topology states.
        beta: what a link of one chunk per round carries, such as ``25GB/s``, in place of what the
            topology states.
        overhead: of each call.
        timing: when a send leaves: with all of its step, or when its data is there and its lane
            free.
        switching: whether a switch waits for the first byte of a send, or packet, or for all of it.
        sharing: whether sends that meet on a lane take turns, or have a fair part of it each.
        injection: whether a node goes on to the sends of its next step at once, or in lockstep.
        packet: bytes of payload of a packet; None for sends that go as one.
        header: bytes before each packet, or each send.
        depth: sends that a connection has room for until the first has arrived; None for no limit.
        reduction: bytes per second that a node adds up, such as ``300GB/s``; None for no time.
        slow: degraded lanes, such as ``0->5 by 3``.
        late: stragglers, such as ``rank 3 by 50us``.
        classics: whether to compare with the classics, or with which.
        collective: that it is, for the classics; None for the one of the name in the file.
        progress: ``auto``, ``live``, ``plain`` or ``none``.

    Raises:
        UsageError: on an invalid or missing number, or nothing to simulate.
    """
    if isinstance(source, str) or hasattr(source, "__fspath__"):
        source = loaded(source, "simulate")  # type: ignore[arg-type]
    algorithms = list(algorithms_of(source, "simulate"))
    topology = algorithms[0].instance.topology
    semantics = Semantics(
        arguments.choice_of("timing", timing, Timing),
        arguments.choice_of("switching", switching, Switching),
        arguments.choice_of("sharing", sharing, Sharing),
        arguments.choice_of("injection", injection, Injection),
        None if packet is None else arguments.bytes_of(packet),
        arguments.bytes_of(header),
        depth,
        Fraction(0) if reduction is None else 1 / arguments.bandwidth_of("reduction", reduction),
        arguments.time_of("overhead", overhead),
        tuple(parse_slow(one) if isinstance(one, str) else one for one in slow),
        tuple(parse_late(one) if isinstance(one, str) else one for one in late),
    )
    network = arguments.network_of(topology, alpha, beta)
    semantics.on(network)  # before anything that takes long
    require_whole("factor", factor, 2)
    chosen = sorted(arguments.sizes_of("sizes", sizes, factor))
    if isinstance(source, FrontierResult):
        model = CostModel(network.greatest_latency, network.unit, semantics.overhead)
        algorithms += members_for(frontier_of(source), model, chosen)
    found, reasons = classics_of(session_of(source), algorithms[0].instance, classics, collective)
    least_steps, least_cost, by_steps = 0, Fraction(0), list[tuple[int, Fraction]]()
    if isinstance(source, FrontierResult) and source.evidence:
        least_steps = source.least_steps
        if source.max_chunks is None:
            least_cost, proofs = source.least_bandwidth, source.evidence.proofs
            by_steps = [(one.steps, one.bound) for one in proofs if one.bound_chunks is None]
    compared = compare(algorithms, found, network, semantics, chosen, reasons)
    least = floors(
        algorithms[0].instance,
        network,
        [compared.message.node_bytes(size) for size in chosen],
        least_steps=least_steps,
        least_cost=least_cost,
        by_steps=by_steps if semantics.timing is Timing.LOCKSTEP else None,
    )
    name = algorithms[0].instance.collective
    return as_result(SimulationResult, replace(compared, floors=least), collective=name)


def classics_of(
    session: Session, instance: Instance, wanted: bool | Sequence[str], meant: What | None
) -> tuple[dict[str, list[StoredAlgorithm]], dict[str, str]]:
    """The classics for an instance's collective, by name, and why others are left out."""
    if wanted is False or wanted == []:
        return {}, {}
    try:
        collective = session.collective(instance.collective if meant is None else meant)
        table = collective.tabulate(instance.topology.num_nodes, instance.chunks)
        same = table.matching(instance.table) is not None
    except SpecError as error:
        if meant is not None:
            raise
        return {}, {"every classic": f"what {instance.collective} is, is not known: {error}"}
    if not same:
        what = f"{collective.name} is another collective than {instance.collective} in the file"
        if meant is not None:
            raise UsageError(f"{argument('collective')}: {what}")
        return {}, {"every classic": what}
    names = None if wanted is True else list(wanted)
    found, reasons = session.classics(instance.topology, collective, names)
    stored = {
        name: [StoredAlgorithm(*one, f"{name}[{i}]") for i, one in enumerate(each)]
        for name, each in found.items()
    }
    kinds = kind_of(instance).kind
    for name, each in stored.items():
        assert all(kind_of(one.instance).kind is kinds for one in each), name
    return stored, reasons
