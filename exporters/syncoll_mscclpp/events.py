"""Events: what one rank does through a switch for a group of ranks, amid puts and signals.

All ranks of a group bind a buffer to a multicast group.  One of them, the root of an event, loads
the sum of what lies at a place of all of them, or takes a chunk of its own, and stores it at one
place of all.  Where others made what is loaded, they say so to the root first; where others go on
from what is stored, or end with it, the root tells them.
"""

from __future__ import annotations

from dataclasses import dataclass

from syncoll.runtime import Slot

__all__ = ["Event", "Group"]

Group = tuple[int, ...]


@dataclass(frozen=True)
class Event:
    """One such operation.

    Args:
        step: in which it is done, before anything is put.
        chunk: what it belongs to, as operations of the lowered algorithm do.
        root: who does it.
        group: the ranks where it stores; the root is one of them.
        sums: whether it loads the sum over the group, or takes what the root has.
        source: where that lies, of a sum at every rank.
        target: where it is stored, at every rank.
        gathers: whether the others tell the root first that what is loaded is there.
        tells: whether the root tells the others that it is stored.
        size: chunks side by side.
    """

    step: int
    chunk: int
    root: int
    group: Group
    sums: bool
    source: Slot
    target: Slot
    gathers: bool
    tells: bool
    size: int = 1

    @property
    def others(self) -> Group:
        """The group without the root."""
        return tuple(rank for rank in self.group if rank != self.root)
