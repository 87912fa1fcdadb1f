"""The configuration file of NCCL's example tuner plug-in (``ext-tuner/example`` of NCCL 2.27)."""

from collections.abc import Sequence
from dataclasses import replace

from syncoll.measuring.fit import Sample, predicted
from syncoll.runtime import Kind
from syncoll.simulating import Runtime

TUNER_COLUMNS = (
    "collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks,numPipeOps,"
    "regBuff"
)

_KINDS = (Kind.BROADCAST, Kind.REDUCE, Kind.ALLGATHER, Kind.REDUCESCATTER, Kind.ALLREDUCE)
_PROTOCOLS = {"LL": "ll", "LL128": "ll128", "Simple": "simple", "NVLS": "simple"}
_GAIN = 0.9
"""A setting is written if it is predicted to take at most this part of the measured time."""


def tuner_rows(samples: Sequence[Sample], runtime: Runtime, boxes: Sequence[int]) -> list[str]:
    """The settings by which the library would be faster than it was, for each range of sizes.

    Args:
        samples: of one run, by ascending sizes.
        runtime: fitted to them.
        boxes: the number of GPUs in each box.
    """
    choices = []
    for i, way in enumerate(samples[0].ways if samples[0].kind in _KINDS else ()):
        name = way.name.removeprefix("nccl_") + "_tree" * (way.in_switches and len(boxes) > 1)
        alone = [replace(one, ways=one.ways[i : i + 1]) for one in samples]
        for one in runtime.protocols:
            if one.name in _PROTOCOLS and one.runs(way.name):
                times = predicted(replace(runtime, protocols=(one,)), alone)
                choices.append((times, f"{name},{_PROTOCOLS[one.name]}"))
    rows: list[tuple[int, int, str]] = []
    for number, row in enumerate(samples if choices else ()):
        times, setting = min(choices, key=lambda choice: float(choice[0][number]))
        if times[number] > _GAIN * row.seconds:
            continue
        last = samples[number + 1].size - 1 if number + 1 < len(samples) else row.size
        joined = bool(rows) and rows[-1][1:] == (row.size - 1, setting)
        rows.append((rows.pop()[0] if joined else row.size, last, setting))
    kind, ends = samples[0].kind, f"-1,{len(boxes)},{sum(boxes)},-1,-1"
    return [f"{kind},{low},{high},{setting},{ends}" for low, high, setting in rows]
