"""Comparisons in documents: all times, and the fastest algorithm for each message."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, Literal

from msgspec import UNSET, UnsetType

from syncoll.documents import recommendation as answers, simulation as records
from syncoll.documents.plan import MessageRecord, RuntimeRecord
from syncoll.documents.record import rounded, written
from syncoll.results import NEARLY
from syncoll.simulating.comparison import Comparison, Timed
from syncoll.simulating.runtimes import Runtime
from syncoll.version import __version__

_SAME = 1.001
"""Times that differ by at most this factor count as equal."""


def simulation_document(compared: Comparison, collective: str) -> dict[str, Any]:
    """The document of `syncoll simulate --format json`; times and rates are rounded."""
    network, topology, semantics = compared.network, compared.network.topology, compared.semantics
    slow = tuple(records.SlowRecord.of(one) for one in semantics.slow)
    late = tuple(records.LateRecord.of(one) for one in semantics.late)
    lanes = records.NetworkRecord(
        *(len(network.lanes), network.alpha, network.greatest_latency),
        _origin(stated=network.states_latency),
        network.unit,
        _origin(stated=network.states_bandwidth),
    )
    left_out = (records.LeftOutClassicRecord(name, why) for name, why in compared.left_out.items())
    return written(
        records.SimulationRecord(
            *("syncoll/simulation/2", __version__, topology.name, collective, topology.num_nodes),
            lanes,
            records.SemanticsRecord.of(semantics, slow=slow, late=late),
            MessageRecord.of(compared.message),
            "float",
            compared.redop,
            tuple(_timed(one, compared) for one in (*compared.algorithms, *compared.classics)),
            tuple(_best(number, compared) for number in range(len(compared.sizes))),
            tuple(left_out),
            runtime_record(compared.runtime),
        )
    )


def runtime_record(runtime: Runtime) -> RuntimeRecord | UnsetType:
    """A runtime in documents; left out if its costs are zero."""
    if not runtime.accuracy:
        return UNSET
    protocols = tuple(one.name for one in runtime.protocols)
    return RuntimeRecord.of(runtime, error=rounded(runtime.error), protocols=protocols)


def _origin(*, stated: bool) -> Literal["command", "file"]:
    return "file" if stated else "command"


def _timed(one: Timed, compared: Comparison) -> records.TimedRecord:
    rows = (
        records.MeasurementRecord.of(
            row,
            seconds=float(row.seconds),
            algbw=rounded(row.algbw),
            busbw=rounded(row.busbw),
            protocol=protocol if compared.runtime.accuracy else UNSET,
        )
        for protocol, row in zip(one.protocols, compared.measured(one), strict=True)
    )
    sends = one.algorithm.algorithm.num_sends
    return records.TimedRecord.of(
        one.algorithm, classic=one.classic or None, sends=sends, measurements=tuple(rows)
    )


def _best(number: int, compared: Comparison) -> records.BestRecord:
    classic = compared.best_classic(number)
    return records.BestRecord(
        compared.sizes[number],
        compared.best(number).name,
        compared.floor(number),
        None if classic is None else classic.name,
        rounded(compared.speedup(number)),
    )


def recommended(
    compared: Comparison, fits: Callable[[int, Timed], bool]
) -> Iterator[answers.RecommendedRecord]:
    """The fastest algorithm for each message.

    The message fits it, if it fits any algorithm: runtimes refuse other messages.  Of the
    algorithms that are nearly as fast, and as fast as a classic, it has the fewest chunks.

    Args:
        fits: whether a message fits an algorithm; asked for the fastest first.
    """
    for number, size in enumerate(compared.sizes):
        every = [*compared.algorithms, *compared.classics]
        every.sort(key=lambda one: one.seconds[number])
        first = next((one for one in every if fits(size, one)), None)
        fitting = fits if first is not None else lambda *_: True
        least = (first or every[0]).seconds[number]
        classic = next((one for one in every if one.classic and fitting(size, one)), None)
        same, most = least * Fraction(_SAME), least * (1 + NEARLY)
        if classic is not None:
            most = max(same, min(most, classic.seconds[number]))
        near = [one for one in every if one.seconds[number] <= most and fitting(size, one)]
        is_classic = all(one.classic for one in near if one.seconds[number] <= same)
        best = min(
            (one for one in near if bool(one.classic) == is_classic),
            key=lambda one: (one.algorithm.chunks, one.seconds[number]),
        )
        one, seconds, floor = best.algorithm, float(best.seconds[number]), compared.floor(number)
        yield answers.RecommendedRecord(
            *(best.name, one.steps, one.rounds, one.chunks, one.bandwidth, size),
            bool(best.classic),
            seconds,
            size / seconds if seconds else None,
            None if classic is None else classic.name,
            float(classic.seconds[number]) / seconds if classic and seconds else None,
            floor,
            seconds / floor if floor else None,
        )
