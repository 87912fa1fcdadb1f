"""Slot: a place for one send in a formula."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["SendSlot"]


@dataclass(frozen=True)
class SendSlot:
    """A place for one send.

    Args:
        send: chunk, source, destination, step.
        used: the literal x.
        carries: contributor to the literal k.
        parts: the earlier slots and the literals a.
    """

    send: tuple[int, int, int, int]
    used: int
    carries: Mapping[int, int]
    parts: tuple[tuple[int, int], ...]
