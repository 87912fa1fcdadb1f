"""Repair: a machine's frontier, and that of the same machine with something broken."""

from __future__ import annotations

from dataclasses import dataclass

from syncoll.damage.damaged import Damaged
from syncoll.repairing.cost_delta import Loss, losses
from syncoll.results import Frontier

__all__ = ["Repair"]


@dataclass(frozen=True, eq=False)
class Repair:
    """The result of a repair.

    Args:
        machine: the damaged one, and the whole one.
        whole: the frontier that was given.
    """

    machine: Damaged
    whole: Frontier
    frontier: Frontier

    @property
    def losses(self) -> tuple[Loss, ...]:
        """The cost of the damage for each S; the last for any number of steps."""
        return losses(self.whole, self.frontier)
