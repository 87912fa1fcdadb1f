"""Machines with their costs and bounds: a table, a picture and a page."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from syncoll import documents
from syncoll.designing import Design
from syncoll.designing.design import listed
from syncoll.designing.picture import draw_design
from syncoll.pages.design import design_page
from syncoll.planning import Picture
from syncoll.reporting import design_report
from syncoll.values import picked
from syncoll.verbs.result import Tabular, columns_of


@dataclass(frozen=True, eq=False, repr=False)
class DesignResult(Tabular, Design):
    """Candidates with their costs and proved bounds."""

    page = design_page
    columns: ClassVar = columns_of(
        "str topology same, int images nodes ports links, float link_bandwidth, str collective, "
        "int least_steps, float least_bandwidth, "
        "str exact_least_bandwidth bounds_by_steps points behind no_better_than refused"
    )

    def document(self) -> dict[str, Any]:
        """The machines with their costs and bounds, without proofs."""
        ahead = self.behind()
        return {
            **self.question.index(),
            **picked(self, "complete interrupted"),
            "candidates": [
                {
                    "topology": one.candidate.name,
                    "same": list(one.candidate.same),
                    "images": one.candidate.images,
                    **picked(one.candidate.costs, "nodes ports links"),
                    "link_bandwidth": str(one.candidate.costs.bandwidth),
                    "bounds": {
                        name: {
                            "steps": found.steps,
                            "bandwidth": str(found.bandwidth),
                            "by_steps": [
                                {"steps": s, "bandwidth": str(low)} for s, low in found.by_steps
                            ],
                            "points": [
                                {"steps": s, "bandwidth": str(cost)} for s, cost in found.found
                            ],
                        }
                        for name in self.collectives
                        for found in (one.bounds.get(name),)
                        if found is not None
                    },
                    "refused": dict(one.refused),
                    "no_better_than": one.no_better_than,
                    "behind": None if other is None else other.candidate.name,
                }
                for one, other in zip(self.assessed, ahead, strict=True)
            ],
            "others": None
            if self.others is None
            else {
                "pairs": self.others.pairs,
                "at_least": {k: str(v) for k, v in self.others.at_least.items()},
            },
            "shared_pairs": self.shared_pairs,
            "unseen": dict(self.unseen),
            "left_out": {
                family: {"members": count, "why": error.message}
                for family, (error, count) in self.left_out.items()
            },
        }

    def records(self) -> Iterator[dict[str, Any]]:
        """A row for each machine and collective; points, and bounds by the number of steps, are
        texts such as ``2: 3/2, 3: 7/6``."""
        for one, ahead in zip(self.assessed, self.behind(), strict=True):
            machine, costs = one.candidate, one.candidate.costs
            for name in self.collectives:
                proved = one.bounds.get(name)
                yield {
                    "topology": machine.name,
                    "same": ", ".join(machine.same),
                    **picked(machine, "images"),
                    **picked(costs, "nodes ports links"),
                    "link_bandwidth": costs.bandwidth,
                    "collective": name,
                    "least_steps": proved and proved.steps,
                    "least_bandwidth": proved and proved.bandwidth,
                    "bounds_by_steps": proved and listed(proved.by_steps),
                    "points": proved and listed(proved.found),
                    "behind": ahead and ahead.candidate.name,
                    "no_better_than": one.no_better_than,
                    "refused": one.refused.get(name),
                }

    def plot(self) -> Picture:
        """R/C over links for each collective, with bounds and points.

        Raises `UsageError` if nothing is proved, or matplotlib is not installed.
        """
        return draw_design(self)

    def report(self, path: str | Path | None = None) -> str:
        """One page of HTML, which loads nothing: tables to sort, pictures, and dominance in words.

        It is also written to a file, if one is named.  Raises `UsageError` if that fails.
        """
        html = design_report(self)
        if path is not None:
            documents.write_atomically(Path(path), html)
        return html
