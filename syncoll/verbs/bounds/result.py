"""Proved lower bounds, as a table, a document and a file that can be checked."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import syncoll
from syncoll import documents
from syncoll.errors import UsageError
from syncoll.pages import Page
from syncoll.pages.bounds import bounds_page, price_records
from syncoll.results import LowerBounds
from syncoll.verbs.asking import What, Where, verb
from syncoll.verbs.result import Result

if TYPE_CHECKING:
    from syncoll.verbs.frontier import CheckedResult

__all__ = ["BoundsResult"]


@dataclass(frozen=True, eq=False, repr=False)
class BoundsResult(Result, LowerBounds):
    """Proved lower bounds."""

    def page(self, *, prices: bool = False) -> Page:
        """The bounds; `prices`: and the prices that prove them."""
        return bounds_page(self, with_prices=prices)

    def prices(self, steps: int | None = None) -> list[dict[str, Any]]:
        """The prices on links and steps that prove a bound, except zeros.

        Args:
            steps: S of the bound; None for the bound for any number of steps.

        Raises:
            UsageError: if there is no bound for this S.
        """
        bound = self.any_steps if steps is None else dict(self.by_steps).get(steps)
        if bound is None:
            raise UsageError(f"steps is {steps!r}; expected one of {[s for s, _ in self.by_steps]}")
        return price_records(bound, self.topology)

    def document(self, *, prices: bool = False) -> dict[str, Any]:
        """The bounds, without their certificates; `prices`: with the prices that prove them."""

        def entry(bandwidth: Fraction, steps: int | None) -> dict[str, Any]:
            own = {"prices": self.prices(steps)} if prices else {}
            return {"bandwidth": str(bandwidth), **own}

        by_steps = [(s, bound.rounds / self.chunks) for s, bound in self.by_steps]
        return {
            "schema": "syncoll/bounds/1",
            "topology": self.topology.name,
            "collective": self.collective,
            "nodes": self.topology.num_nodes,
            "chunks": self.chunks,
            "steps": self.steps,
            "by_steps": [{"steps": s, **entry(bandwidth, s)} for s, bandwidth in by_steps],
            "complete": not self.late,
            "interrupted": self.interrupted,
            **entry(self.bandwidth, None),
        }

    def saved(self) -> dict[str, Any]:
        """A frontier without points, with the certificates of the bounds."""
        return documents.frontier_document(self.frontier())

    @verb
    def check(self, collective: What | None = None, topology: Where | None = None) -> CheckedResult:
        """Checks every certificate, without any solver; see `syncoll.check`.

        Args:
            collective: the expected collective; without it some claims stay unchecked.
            topology: the expected topology; None for any.
        """
        return syncoll.check(self, collective, topology=topology)
