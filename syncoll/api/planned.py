"""A plan in the hands of a user."""

from __future__ import annotations

from dataclasses import dataclass

from syncoll.api.frontier import FrontierResult
from syncoll.api.shown import Shown, dressed
from syncoll.api.units import bandwidth_of, time_of
from syncoll.errors import UsageError
from syncoll.pages import Page
from syncoll.pages.plan import plan_page, plan_title
from syncoll.planning import CostModel, Picture, Plan, draw, plan_sizes, unit_bandwidth
from syncoll.units import parse_size

__all__ = ["PlanResult", "plan_frontier"]


@dataclass(frozen=True, eq=False, repr=False)
class PlanResult(Shown, Plan):
    """Which algorithm of a frontier is the fastest for which size.

    Args:
        frontier: that was planned with.
        given: whether a user said the bandwidth, or the topology did.
    """

    frontier: FrontierResult
    given: bool

    def page(self) -> Page:
        """The ranges of sizes."""
        return plan_page(self, self.frontier, given=self.given)

    def plot(self, sizes: str | None = None) -> Picture:
        """Time and algorithm bandwidth over the size.

        Args:
            sizes: of one node's data, such as ``1KiB..1GiB``.

        Raises:
            UsageError: when matplotlib is not installed, or on sizes that make no sense.
        """
        shown = None
        if sizes is not None:
            low, dots, high = str(sizes).partition("..")
            if not dots:
                raise UsageError(f"{sizes!r} is not a range; expected FROM..TO, as '1KiB..1GiB'")
            shown = parse_size(low), parse_size(high)
            if shown[0] >= shown[1]:
                raise UsageError(f"{sizes!r} is empty; expected FROM..TO with FROM below TO")
        return draw(self, plan_title(self, self.frontier, given=self.given), shown)


def plan_frontier(
    frontier: FrontierResult, alpha: float | str, beta: float | str | None, overhead: float | str
) -> PlanResult:
    """See `FrontierResult.plan`."""
    name = frontier.topology.name
    if not frontier.points:
        raise UsageError(f"the frontier of {frontier.collective} on {name} has no points")
    bandwidth = unit_bandwidth(frontier.topology) if beta is None else bandwidth_of(beta)
    if bandwidth is None:
        raise UsageError(
            f"beta is missing: {name} is described in chunks per round, without units; say what a "
            "link of one chunk per round carries, such as beta='25GB/s'"
        )
    model = CostModel(time_of(alpha), bandwidth, time_of(overhead))
    plan = plan_sizes(frontier.stored, model)
    return dressed(PlanResult, plan, frontier=frontier, given=beta is not None)
