"""A comparison as the document ``syncoll/simulation/2``."""

from __future__ import annotations

from typing import Any, Literal

from syncoll.documents import simulation as records
from syncoll.documents.plan import MessageRecord
from syncoll.documents.record import rounded, written
from syncoll.simulating.comparison import Comparison, Timed
from syncoll.version import __version__

__all__ = ["simulation_document"]


def simulation_document(compared: Comparison, collective: str) -> dict[str, Any]:
    """The document of `syncoll simulate --format json`; times and rates are rounded."""
    network, topology, semantics = compared.network, compared.network.topology, compared.semantics
    slow = tuple(records.SlowRecord.of(one) for one in semantics.slow)
    late = tuple(records.LateRecord.of(one) for one in semantics.late)
    return written(
        records.SimulationRecord(
            "syncoll/simulation/2",
            __version__,
            topology.name,
            collective,
            topology.num_nodes,
            records.NetworkRecord(
                len(network.lanes),
                network.alpha,
                network.greatest_latency,
                _origin(stated=network.states_latency),
                network.unit,
                _origin(stated=network.states_bandwidth),
            ),
            records.SemanticsRecord.of(semantics, slow=slow, late=late),
            MessageRecord.of(compared.message),
            "float",
            compared.redop,
            tuple(_timed(one, compared) for one in (*compared.algorithms, *compared.classics)),
            tuple(_best(number, compared) for number in range(len(compared.sizes))),
            tuple(
                records.LeftOutClassicRecord(name, why) for name, why in compared.left_out.items()
            ),
        )
    )


def _origin(*, stated: bool) -> Literal["command", "file"]:
    return "file" if stated else "command"


def _timed(one: Timed, compared: Comparison) -> records.TimedRecord:
    rows = (
        records.MeasurementRecord.of(
            row, seconds=float(row.seconds), algbw=rounded(row.algbw), busbw=rounded(row.busbw)
        )
        for row in compared.measured(one)
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
