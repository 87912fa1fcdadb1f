"""Simulations as files for ui.perfetto.dev.

A file is a `Trace` of Perfetto's protocol buffers (its documentation, "Synthetic Track Event").
Each simulation has a group of tracks, a track for each cable of each lane, a slice for each
passage, and arrows from each hop to the next.  Counters show the used share of each lane's
bandwidth and busy lanes.  Times are whole nanoseconds, as in Perfetto; each slice also has the
exact times.

Only the written fields are described here, by their numbers in ``perfetto_trace.proto``.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from syncoll.arrays import Floats
from syncoll.errors import UsageError
from syncoll.model import OrbitAlgorithm
from syncoll.planning import message_of
from syncoll.protobuf import message_classes
from syncoll.simulating.simulation import Simulation

MOST_PASSAGES = 400_000
"""Most slices of a trace: a few hundred megabytes while it is written."""

_WINDOWS = 96
"""Number of values of each counter."""

_SEQUENCE = 1
_BEGIN, _END, _COUNTER = 1, 2, 4
_EXPLICIT = 3
_NANOSECONDS = 1e9

_MESSAGES = {
    "CounterDescriptor": "6 unit_name string",
    "TrackDescriptor": "1 uuid uint64, 2 name string, 5 parent_uuid uint64, "
    "8 counter CounterDescriptor, 11 child_ordering int32, 12 sibling_order_rank int32",
    "DebugAnnotation": "4 int_value int64, 5 double_value double, 10 name string",
    "TrackEvent": "4 debug_annotations DebugAnnotation*, 9 type int32, 11 track_uuid uint64, "
    "23 name string, 44 double_counter_value double, 47 flow_ids fixed64*, "
    "48 terminating_flow_ids fixed64*",
    "TracePacket": "8 timestamp uint64, 10 trusted_packet_sequence_id uint32, "
    "11 track_event TrackEvent, 60 track_descriptor TrackDescriptor",
    "Trace": "1 packet TracePacket*",
}


def trace_content(simulations: Mapping[str, Simulation]) -> bytes:
    """The content of a ``.pftrace`` file.  Raises `UsageError` if the simulations are too large."""
    passages = sum(len(one.passages) for one in simulations.values())
    if passages > MOST_PASSAGES:
        raise UsageError(
            f"a trace of {passages:,} passages over lanes is too large to view (limit "
            f"{MOST_PASSAGES:,}); take an algorithm of fewer sends"
        )
    writer = _Writer()
    for name, one in simulations.items():
        writer.simulation(name, one)
    return writer.content()


class _Writer:
    def __init__(self) -> None:
        self._trace = message_classes("syncoll_trace", _MESSAGES, syntax="proto2")["Trace"]()
        self._tracks = 0
        self._flows = 0

    def content(self) -> bytes:
        content: bytes = self._trace.SerializeToString()
        return content

    def simulation(self, name: str, one: Simulation) -> None:
        instance = one.algorithm.instance
        message = message_of([instance]).per_node * one.size
        images = f"; each slice stands for {one.copies} alike" if one.copies > 1 else ""
        whole = self._track(
            f"{name}: {instance.collective}, message of {message} bytes, "
            f"{float(one.seconds) * 1e6:.6g} us{images}"
        )
        passages = one.passages
        edges = np.linspace(0, float(passages.end.max(initial=0.0)) or 1e-9, _WINDOWS + 1)
        busy, busy_lanes = self._track("lanes busy", whole, 0, "lanes"), np.zeros(_WINDOWS)
        tracks: dict[tuple[int, int], int] = {}
        for place, lane in enumerate(np.unique(passages.lane).tolist(), start=1):
            own, of_lane = passages.lane == lane, one.network.lanes[lane]
            cables = np.unique(passages.cable[own]).tolist()
            for cable in cables:
                words = of_lane.name if len(cables) == 1 else f"{of_lane.name}, cable {cable}"
                tracks[lane, cable] = self._track(words, whole, place)
            start = passages.start[own]
            end = np.maximum(passages.end[own], start + 1e-15)
            spent = _overlap(start, end, edges, passages.size[own] / (end - start))
            use = self._track(f"{of_lane.name}, use", whole, place, "%")
            self._count(use, edges, 100 * spent / (float(of_lane.bandwidth) * np.diff(edges)))
            busy_lanes += np.minimum(1.0, _overlap(start, end, edges) / np.diff(edges))
        self._count(busy, edges, busy_lanes)
        self._slices(one, tracks)

    def _track(self, name: str, parent: int = 0, rank: int = 0, unit: str = "") -> int:
        self._tracks += 1
        packet = self._trace.packet.add(trusted_packet_sequence_id=_SEQUENCE)
        described = packet.track_descriptor
        described.uuid, described.name = self._tracks, name
        described.child_ordering, described.sibling_order_rank = _EXPLICIT, rank
        if parent:
            described.parent_uuid = parent
        if unit:
            described.counter.unit_name = unit
        return self._tracks

    def _event(self, track: int, kind: int, seconds: float) -> Any:
        packet = self._trace.packet.add(
            timestamp=round(seconds * _NANOSECONDS), trusted_packet_sequence_id=_SEQUENCE
        )
        packet.track_event.type, packet.track_event.track_uuid = kind, track
        return packet.track_event

    def _slices(self, one: Simulation, tracks: Mapping[tuple[int, int], int]) -> None:
        """Writes the passages track by track: the file's order breaks ties."""
        passages = one.passages
        leaving: dict[int, list[int]] = defaultdict(list)
        arriving: dict[int, list[int]] = defaultdict(list)
        for earlier, later in _hops(one):
            self._flows += 1
            leaving[earlier].append(self._flows)
            arriving[later].append(self._flows)
        order = np.lexsort((passages.end, passages.start, passages.cable, passages.lane))
        for i in order.tolist():
            send = int(passages.send[i])
            chunk, source, destination, step = one.sends[send].tolist()
            track = tracks[int(passages.lane[i]), int(passages.cable[i])]
            start, end = float(passages.start[i]), float(passages.end[i])
            event = self._event(track, _BEGIN, start)
            event.name = f"chunk {chunk}: {source} → {destination}"
            event.flow_ids.extend(leaving[i])
            event.terminating_flow_ids.extend(arriving[i])
            for key, number in (("chunk", chunk), ("step", step)):
                event.debug_annotations.add(name=key, int_value=number)
            for key, value in (
                ("bytes", float(passages.size[i])),
                ("start, ns", start * _NANOSECONDS),
                ("duration, ns", (end - start) * _NANOSECONDS),
            ):
                event.debug_annotations.add(name=key, double_value=value)
            self._event(track, _END, end)

    def _count(self, track: int, edges: Floats, values: Floats) -> None:
        """Writes a counter with a value for each window between two edges."""
        last = None
        for at, value in zip(edges.tolist(), [*values.tolist(), 0.0], strict=True):
            if value != last:
                self._event(track, _COUNTER, at).double_counter_value = value
                last = value


def _overlap(start: Floats, end: Floats, edges: Floats, weight: Floats | float = 1.0) -> Floats:
    """The weighted time of all spans in each window."""
    before = np.zeros(len(edges))
    for low, high, each in zip(start, end, np.broadcast_to(weight, start.shape), strict=True):
        before += each * (np.clip(edges, low, high) - low)
    return np.diff(before)


def _hops(one: Simulation) -> Iterator[tuple[int, int]]:
    """Pairs of passages where the second continues the first.  Within a send they follow the lanes
    of its way; between sends they lead from an arrival at a node to a later send of the same chunk:
    for a copy from the first arrival, for a partial result from all of its parts."""
    passages, sends = one.passages, one.sends
    order = np.lexsort((passages.start, passages.send))
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    before: dict[int, list[int]] = defaultdict(list)
    ends = [lane.ends for lane in one.network.lanes]
    for i in order.tolist():
        send, way = int(passages.send[i]), ends[int(passages.lane[i])]
        for earlier in reversed(before[send]):
            other = ends[int(passages.lane[earlier])]
            if way is None or other is None or other[1] == way[0]:
                yield earlier, i
                break
        before[send].append(i)
        first.setdefault(send, i)
        last[send] = i
    algorithm = one.algorithm.algorithm
    if isinstance(algorithm, OrbitAlgorithm):
        algorithm = algorithm.representative if one.copies > 1 else algorithm.expanded()
    carried = algorithm.contributions
    brought: dict[tuple[int, int], list[int]] = defaultdict(list)
    for send in np.lexsort((one.arrived, sends[:, 3])).tolist():
        chunk, source, destination, step = sends[send].tolist()
        parts = [m for m in brought[chunk, source] if sends[m, 3] < step]
        if carried is None:
            parts = parts[:1]
        else:
            parts = [m for m in parts if not (carried[m] & ~carried[send]).any()]
        for earlier in parts:
            if earlier in last and send in first:
                yield last[earlier], first[send]
        brought[chunk, destination].append(send)
