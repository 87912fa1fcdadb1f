"""The options of MSCCL++."""

from syncoll.plugins import Option

__all__ = ["CHANNELS", "OPTIONS", "SMALL"]

CHANNELS = ("auto", "memory", "port", "switch")
"""Memory: the GPU writes over NVLink or xGMI.  Port: a proxy, over InfiniBand as well.  Switch:
NVSwitches with NVLink SHARP copy and add up.  Auto: switch if the algorithm counts on it and a plan
can express it, else memory within a box and port over a network."""

SMALL = 1 << 16
"""Bytes up to which messages go by packets, if nothing else is said."""

OPTIONS = (
    Option(
        "channel",
        "auto",
        "who moves the data: the GPU itself (memory), a proxy on the host (port), or the GPU "
        "through switches that copy and add up (switch); auto: switch where the algorithm counts "
        "on that and a plan can express it, else memory within a box and port between boxes",
        choices=CHANNELS,
    ),
    Option("threads", 1024, "threads of a thread block, a multiple of 32", low=32, high=1024),
    Option(
        "blocks",
        32,
        "thread blocks of a rank, at most; more where a limit of the runtime asks for them",
        low=1,
        high=1024,
    ),
    Option(
        "alignment",
        16,
        "bytes of which chunks are multiples; itself a multiple of 16",
        low=16,
        high=1 << 20,
    ),
    Option(
        "packets",
        "auto",
        "protocol LL, data with flags in place of signals: auto for plans of at most 64 KiB over "
        "memory channels",
        choices=("auto", "yes", "no"),
    ),
)
