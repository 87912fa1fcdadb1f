"""A comparison as the document ``syncoll/simulation/2``."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Literal

from syncoll.documents.plan import MessageRecord
from syncoll.documents.record import written
from syncoll.documents.simulation import (
    BestRecord,
    LateRecord,
    LeftOutClassicRecord,
    MeasurementRecord,
    NetworkRecord,
    SemanticsRecord,
    SimulationRecord,
    SlowRecord,
    TimedRecord,
)
from syncoll.simulating.comparison import Comparison, Timed
from syncoll.simulating.semantics import Semantics
from syncoll.version import __version__

__all__ = ["simulation_document"]


def simulation_document(compared: Comparison, collective: str) -> dict[str, Any]:
    """The document of `syncoll simulate --format json`; times and rates are rounded."""
    network, message, topology = compared.network, compared.message, compared.network.topology
    return written(
        SimulationRecord(
            "syncoll/simulation/2",
            __version__,
            topology.name,
            collective,
            topology.num_nodes,
            NetworkRecord(
                len(network.lanes),
                network.alpha,
                network.greatest_latency,
                _origin(stated=network.states_latency),
                network.unit,
                _origin(stated=network.states_bandwidth),
            ),
            _semantics(compared.semantics),
            MessageRecord(str(message.kind), message.measured, message.per_node, message.words),
            "float",
            compared.redop,
            tuple(_timed(one, compared) for one in (*compared.algorithms, *compared.classics)),
            tuple(_best(number, compared) for number in range(len(compared.sizes))),
            tuple(LeftOutClassicRecord(name, why) for name, why in compared.left_out.items()),
        )
    )


def _origin(*, stated: bool) -> Literal["command", "file"]:
    return "file" if stated else "command"


def _semantics(semantics: Semantics) -> SemanticsRecord:
    entries = {field.name: getattr(semantics, field.name) for field in fields(semantics)}
    entries |= {
        name: str(entries[name]) for name in ("timing", "switching", "sharing", "injection")
    }
    entries["slow"] = tuple(SlowRecord.of(one) for one in semantics.slow)
    entries["late"] = tuple(LateRecord.of(one) for one in semantics.late)
    return SemanticsRecord(**entries)


def _timed(one: Timed, compared: Comparison) -> TimedRecord:
    stored = one.algorithm
    return TimedRecord(
        one.name,
        stored.steps,
        stored.rounds,
        stored.chunks,
        stored.bandwidth,
        one.classic or None,
        stored.algorithm.num_sends,
        tuple(
            MeasurementRecord(
                row.size,
                row.per_node,
                row.count,
                float(row.seconds),
                None if row.algbw is None else float(row.algbw),
                None if row.busbw is None else float(row.busbw),
            )
            for row in compared.measured(one)
        ),
    )


def _best(number: int, compared: Comparison) -> BestRecord:
    classic, speedup = compared.best_classic(number), compared.speedup(number)
    return BestRecord(
        compared.sizes[number],
        compared.best(number).name,
        compared.floor(number),
        None if classic is None else classic.name,
        None if speedup is None else float(speedup),
    )
