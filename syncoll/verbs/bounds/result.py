"""Proved lower bounds, as a table, a document and a file that can be checked."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import syncoll
from syncoll import documents
from syncoll.errors import UsageError
from syncoll.pages.page import PageParts, paged, table
from syncoll.results import LowerBounds
from syncoll.verbs.asking import What, Where, verb
from syncoll.verbs.result import Result
from syncoll.wording import counted


@dataclass(frozen=True, eq=False, repr=False)
class BoundsResult(Result, LowerBounds):
    """Proved lower bounds."""

    @paged
    def page(self, *, prices: bool = False) -> PageParts:
        """Proved bounds on S and R/C; `prices`: and the prices that prove each."""
        yield f"{self.collective} on {self.topology.name}, C = {self.chunks}"
        yield f"steps: at least {self.steps} (distances)"
        yield f"bandwidth cost with any number of steps: at least {self.bandwidth}"
        rows = [
            {">steps S": s, ">R/C at least": one.rounds / self.chunks, ">R at least": one.rounds}
            for s, one in self.by_steps
        ]
        if rows:
            yield ""
            yield table(rows)
        else:
            yield f"no algorithm has S <= {self.max_steps}"
        if self.more:
            yield self.more
        if prices:
            for s, bound in (*self.by_steps, (None, self.any_steps)):
                steps = "any number of steps" if s is None else counted(s, "step")
                if bound.rounds == 0:
                    yield f"no price is needed to prove R >= {bound.rounds} for {steps}"
                    continue
                yield f"R >= {bound.rounds} for {steps}, by {bound.argument}"
                for price in self.prices(s):
                    when = "" if bound.steps is None else f", step {price['step']}"
                    yield f"  {price['links']}{when}: {price['price']}"

    def prices(self, steps: int | None = None) -> list[dict[str, Any]]:
        """The prices on links and steps that prove the bound for S, or for any number of steps,
        except zeros.  Raises `UsageError` if there is no bound for this S."""
        bound = self.any_steps if steps is None else dict(self.by_steps).get(steps)
        if bound is None:
            raise UsageError(f"steps is {steps!r}; expected one of {[s for s, _ in self.by_steps]}")
        sets = self.topology.bounds
        return [
            {
                "links": sets[i].label or " ".join(f"{a}->{b}" for a, b in sets[i].links),
                "step": step or 0,
                "price": str(price),
            }
            for i, step, price in bound.link_prices(self.topology)
        ]

    def document(self, *, prices: bool = False) -> dict[str, Any]:
        """The bounds, without their certificates; `prices`: with the prices that prove them."""

        def entry(steps: int | None, bandwidth: Fraction) -> dict[str, Any]:
            own = {"prices": self.prices(steps)} if prices else {}
            return {"bandwidth": str(bandwidth), **own}

        each = ((s, bound.rounds / self.chunks) for s, bound in self.by_steps)
        return {
            "schema": "syncoll/bounds/1",
            "topology": self.topology.name,
            "collective": self.collective,
            "nodes": self.topology.num_nodes - self.switches,
            "chunks": self.chunks,
            "steps": self.steps,
            "by_steps": [{"steps": one[0], **entry(*one)} for one in each],
            "complete": not self.late,
            "interrupted": self.interrupted,
            **entry(None, self.bandwidth),
        }

    def saved(self) -> dict[str, Any]:
        """A frontier without points, with the certificates of the bounds."""
        return documents.frontier_document(self.frontier())

    @verb
    def check(
        self, collective: "What | None" = None, topology: "Where | None" = None
    ) -> "syncoll.CheckedResult":
        """Checks every certificate, without any solver; see `syncoll.check`."""
        return syncoll.check(self, collective, topology=topology)
