"""What the runtimes that load MSCCL XML are like.

Facts alone, taken from the runtimes' own sources (``MSCCL_MAX_NUM_STEPS`` and its siblings): the
writer and the checker share no code, and both look them up here.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["EXECUTOR", "MOST_NODES", "MSCCL", "RCCL", "Limits"]

MOST_NODES = 4095
"""Elements that a rank keeps of a file: algo, all gpus, its own thread blocks and steps."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """One runtime.

    Args:
        name: as an option.
        title: as people know it.
        uncalled: names of collectives that it reads in a file, and whose calls never look for one.
        fuses: whether it runs operations that receive and send, or receive and reduce, at once.
        open_sends: the protocols under which a send (``s``) ends without a barrier, so that its
            flag rises while some threads still read; the next step of its thread block, whichever
            it is, comes behind a barrier or ends with one.
        most_steps: of one thread block.
        most_blocks: thread blocks of one rank.
        most_channels: of a communicator.
        exclusive_end: whether the size range ends before its ``maxBytes``, of which 0 then means
            never and not always.
    """

    name: str
    title: str
    uncalled: frozenset[str]
    fuses: bool
    open_sends: frozenset[str]
    most_steps: int
    most_blocks: int
    most_channels: int
    exclusive_end: bool


MSCCL = Limits(
    name="msccl",
    title="microsoft/msccl",
    uncalled=frozenset(),
    fuses=True,
    open_sends=frozenset(),
    most_steps=256,
    most_blocks=216,
    most_channels=32,
    exclusive_end=True,
)
EXECUTOR = Limits(
    name="executor",
    title="msccl-executor-nccl",
    uncalled=frozenset({"alltoallv", "gather", "scatter"}),
    fuses=True,
    open_sends=frozenset(),
    most_steps=64,
    most_blocks=1024,
    most_channels=32,
    exclusive_end=False,
)
RCCL = Limits(
    name="rccl",
    title="RCCL",
    uncalled=frozenset({"alltoallv"}),
    fuses=False,
    open_sends=frozenset({"LL"}),
    most_steps=64,
    most_blocks=64,
    most_channels=128,
    exclusive_end=False,
)
