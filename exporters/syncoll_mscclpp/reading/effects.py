"""Effects: the threads of a block that execute an instruction of the abstract machine."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

__all__ = ["Effect", "EffectKind"]


class EffectKind(Enum):
    """The kind of an instruction, as far as order is concerned."""

    MOVE = auto()
    """All threads touch memory."""
    PUSH = auto()
    """One thread tells the proxy of a channel to move data."""
    SIGNAL = auto()
    WAIT = auto()
    ACQUIRE = auto()
    RELEASE = auto()
    SYNC = auto()
    """The threads of the block meet."""
    BARRIER = auto()
    """Thread blocks of the rank meet."""
    NOTHING = auto()


@dataclass(frozen=True)
class Effect:
    """The execution of an instruction.

    Args:
        operation: a number that the instructions of one operation share.
        thread: of the block, for a push.
        counters: the signalled or awaited counters, or the semaphores; the n-th by thread n.  Of a
            push, the proxy's channel.
        relaxed: whether a signal or wait does not order memory.
        signals: the counter that the proxy raises, of a push that only signals; else -1.
        multicast: whether it goes through a switch.
    """

    kind: EffectKind
    operation: int
    thread: int = 0
    counters: tuple[int, ...] = ()
    relaxed: bool = False
    signals: int = -1
    multicast: bool = False
