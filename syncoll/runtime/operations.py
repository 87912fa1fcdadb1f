"""What every rank does: operations on slots, in an order that is right, with what each waits for.

Steps are no barriers.  A rank may do its operations in any order, or at once, that keeps each after
those that it depends on and after the message that it receives; the order of the list is one such.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from syncoll.runtime.layout import Layout, Slot

__all__ = [
    "Action",
    "Dependency",
    "Hazard",
    "LoweredAlgorithm",
    "Message",
    "Operation",
    "RankOperations",
]


class Action(StrEnum):
    """What an operation does."""

    SEND = "send"
    RECEIVE = "receive"
    REDUCE = "reduce"
    COPY = "copy"


class Hazard(StrEnum):
    """Why an operation must come after another of the same rank."""

    READ_AFTER_WRITE = "RAW"
    WRITE_AFTER_READ = "WAR"
    WRITE_AFTER_WRITE = "WAW"


@dataclass(frozen=True)
class Dependency:
    """An operation that must be done before.

    Args:
        operation: its index in the rank's list; smaller than that of the one that waits.
        hazard: why.
    """

    operation: int
    hazard: Hazard


@dataclass(frozen=True)
class Operation:
    """One thing that a rank does with one chunk.

    Args:
        action: what.
        step: of the algorithm; the order of the list is that of the steps.
        chunk: whose data.
        contributions: the nodes whose contributions are reduced in what it sends, stores or
            computes; empty for a collective that only moves data.
        sources: slots that it reads: one of a send or copy, two of a reduce, none of a receive.
        target: the slot that it writes; None for a send.  A reduce may write one of its sources.
        message: index into `LoweredAlgorithm.messages` of a send or receive; else None.
        peer: the other end of that; else None.
        dependencies: at most one for each operation waited for, the strongest hazard first.
    """

    action: Action
    step: int
    chunk: int
    contributions: frozenset[int]
    sources: tuple[Slot, ...]
    target: Slot | None
    message: int | None
    peer: int | None
    dependencies: tuple[Dependency, ...]


@dataclass(frozen=True)
class Message:
    """One send of the algorithm that is needed.

    Args:
        chunk: what.
        contributions: as of an `Operation`.
        source: rank that sends.
        destination: rank that receives.
        step: of the algorithm.
        send: index of the send in the source's list.
        receive: index of the receive in the destination's list.
        source_slot: what is read.
        target_slot: where it is stored.
    """

    chunk: int
    contributions: frozenset[int]
    source: int
    destination: int
    step: int
    send: int
    receive: int
    source_slot: Slot
    target_slot: Slot


@dataclass(frozen=True)
class RankOperations:
    """All that one rank does.

    Args:
        rank: which.
        operations: in an order that is right: by step, and within one sends, receives, reduces,
            copies.
        input_chunks: of what the caller passes as input.
        output_chunks: of what the caller passes as output.
        scratch_chunks: slots of scratch.
    """

    rank: int
    operations: tuple[Operation, ...]
    input_chunks: int
    output_chunks: int
    scratch_chunks: int


@dataclass(frozen=True, eq=False)
class LoweredAlgorithm:
    """An algorithm as what every rank does.

    Args:
        layout: where chunks start and end, and of which collective.
        steps: S.
        ranks: one for each node.
        messages: ordered by step, and within one as `syncoll.runtime.turns` says; those of the
            algorithm that bring nothing needed are left out.
    """

    layout: Layout
    steps: int
    ranks: tuple[RankOperations, ...]
    messages: tuple[Message, ...]

    def links(self) -> Iterator[tuple[int, int]]:
        """The pairs of ranks between which messages go, each once, in order."""
        yield from sorted({(one.source, one.destination) for one in self.messages})
