"""Events: operations of one rank through a switch for a group of ranks, amid puts and signals.

All ranks of a group bind a buffer to a multicast group.  One of them, the root of an event, loads
the sum over all of them of one place, or takes a chunk of its own, and stores it at one place of
all.  If others made the loaded data, they signal the root first; if others use the stored data, the
root signals them.
"""

from __future__ import annotations

from dataclasses import dataclass

from syncoll.runtime import Slot

__all__ = ["Event", "Group"]

Group = tuple[int, ...]


@dataclass(frozen=True)
class Event:
    """An operation through a switch.

    Args:
        step: in which it is done, before any put.
        chunk: as of operations of the lowered algorithm.
        root: the rank that executes it.
        group: the ranks where it stores; the root is one of them.
        sums: whether it loads the sum over the group, or a chunk of the root.
        source: the slot of that, for a sum at every rank.
        target: the slot where it is stored, at every rank.
        gathers: whether the others signal the root first that the data are there.
        tells: whether the root signals the others that it is stored.
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
