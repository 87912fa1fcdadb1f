"""Repairs and surveys: losses as tables and documents."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from syncoll.pages.frontier import frontier_page, proved_column
from syncoll.pages.page import PageParts, paged, table
from syncoll.repairing.cost_delta import Loss, Repair, percent
from syncoll.repairing.survey import FailureKind, Survey, Surveyed
from syncoll.repairing.warm_start_seeds import KEPT, MENDED
from syncoll.results import Frontier
from syncoll.values import picked
from syncoll.verbs.frontier import FrontierResult
from syncoll.verbs.result import Tabular, columns_of
from syncoll.wording import argument, counted, nearness, runs_in_words


@dataclass(frozen=True, eq=False, repr=False)
class RepairResult(Tabular, Repair):
    """The frontier of a machine, and that of the same machine after the damage.

    Args:
        frontier: of the damaged machine.
    """

    frontier: FrontierResult

    columns: ClassVar = columns_of(
        "int steps, str whole now bound, float lost lost_for_good gap, str found_by"
    )

    def records(self) -> list[dict[str, Any]]:
        """A row for each number of steps, and a last one (steps None) for any number."""
        return [picked(one, " ".join(self.columns)) for one in self.losses]

    def document(self) -> dict[str, Any]:
        """The damage, and the losses for each number of steps."""
        machine, frontier = self.machine, self.frontier
        return {
            "schema": "syncoll/repair/1",
            "topology": machine.whole.name,
            "collective": self.whole.collective,
            "without": [d.words for d in machine.damages if d.factor is None],
            "slow": [d.words for d in machine.damages if d.factor is not None],
            "nodes": list(machine.nodes),
            "damaged": {"topology": machine.topology.name, "collective": frontier.collective},
            "least_steps": {"whole": self.whole.least_steps, "now": frontier.least_steps},
            "losses": [_loss_entry(one) for one in self.losses],
            **picked(frontier, "complete interrupted"),
            "seconds": round(frontier.seconds, 6),
        }

    @paged
    def page(self) -> PageParts:
        """The loss, the part of it that is proved, and the frontier of the damaged machine."""
        machine = self.machine
        yield f"{self.frontier.collective} on {machine.whole.name}, {machine.words}"
        yield ""
        proved = proved_column(self.frontier)
        rows = [
            {
                ">steps S": "any" if one.steps is None else one.steps,
                **_costs(one, proved),
                "found by": one.found_by,
            }
            for one in self.losses
        ]
        yield table(rows, ("found by", "R/C whole"))
        before, after = self.whole.least_steps, self.frontier.least_steps
        if after != before:
            yield f"At least {counted(after, 'step')} now, {before} before."
        names = {point.backend for point in self.frontier.points}
        yield (
            "lost: increase of the least R/C that was found; lost for good: the part of it that no "
            "algorithm can avoid, by the proved bound"
        )
        words = {
            KEPT: "kept: the algorithm of the whole machine, which still works",
            MENDED: "mended: an algorithm of the whole machine, rerouted around the damage",
        }
        for name, text in words.items():
            if name in names:
                yield text
        if len(machine.nodes) == 1:
            yield f"1 node takes part; node 0 is the former node {machine.nodes[0]}"
        elif machine.lost_nodes:
            yield (
                f"{len(machine.nodes)} nodes take part; nodes 0 to {len(machine.nodes) - 1} are "
                f"the former nodes {runs_in_words(machine.nodes)}"
            )
        yield ""
        yield frontier_page(self.frontier)


@dataclass(frozen=True, eq=False, repr=False)
class SurveyResult(Tabular, Survey):
    """Every single failure of a machine, and its cost."""

    columns: ClassVar = columns_of(
        "str broken, int alike steps, float whole, str exact_whole, float now, str exact_now, "
        "float bound, str exact_bound, float lost lost_for_good gap, str found_by refused left_out"
    )

    def records(self) -> Iterator[dict[str, Any]]:
        """A row for each failure and number of steps, the worst failure first; the row for any
        number of steps has the steps None."""
        order = [*self.fatal, *self.worst, *self.left_out]
        for one in [*order, *(one for one in self.surveyed if one not in order)]:
            first = {"broken": one.words, "alike": one.failure.images}
            first |= picked(one, "refused left_out")
            losses = () if one.repair is None else one.repair.losses
            yield from (first | picked(loss, " ".join(RepairResult.columns)) for loss in losses)
            if not losses:
                yield first

    def document(self) -> dict[str, Any]:
        """Every failure with its losses."""
        each = [(one, one.repair) for one in self.surveyed]
        return {
            **survey_head(self.whole, self.kind),
            "failures": [
                {
                    "broken": one.words,
                    "alike": one.failure.images,
                    "refused": one.refused or None,
                    "left_out": one.left_out or None,
                    "least_steps": None if repair is None else repair.frontier.least_steps,
                    "losses": [_loss_entry(loss) for loss in repair.losses] if repair else [],
                }
                for one, repair in each
            ],
            **picked(self, "complete interrupted"),
            "seconds": round(self.seconds, 6),
        }

    @paged
    def page(self) -> PageParts:
        """The loss by each single failure, the worst first."""
        whole = self.whole
        yield (
            f"{whole.collective} on {whole.topology.name}, without one of its "
            f"{counted(self.failures, self.kind.removesuffix('s'), self.kind)}"
        )
        yield ""
        known = {*self.fatal, *self.left_out}
        waiting = [one for one in self.surveyed if one.repair is None and one not in known]
        rows = [_failure(one, "impossible") for one in self.fatal]
        rows += [_failure(one) for one in self.worst]
        rows += [_failure(one, "left out") for one in self.left_out]
        rows += [_failure(one, "not yet") for one in waiting]
        yield table(rows, ("R/C whole", "alike", "S >=", "proved >=", "R/C now"))
        yield (
            "R/C: the least found with any number of steps; alike: failures that a symmetry takes "
            "to each other; S >=: no algorithm has fewer steps"
        )
        yield (
            "lost for good: the increase of R/C that no algorithm can avoid, by the proved bound; "
            "gap: distance of the least R/C found from this bound (2x: twice the bound)"
        )
        if self.worst:
            yield from self._worst_words("worst so far" if waiting else "worst")
        yield from (f"{one.words}: {one.refused}" for one in self.fatal)
        for one in self.left_out:
            yield f"{one.words}: left out, nothing is proved: {one.left_out}"
        vain = [one for one in self.worst if one.any_steps is None or one.any_steps.now is None]
        if vain:
            yield (
                f"R/C now -: no algorithm was found for {counted(len(vain), 'failure')} within "
                f"{argument('search_limit')}; algorithms may exist"
            )
        if waiting:
            reason = "interrupted" if self.interrupted else f"{argument('time_limit')} is over"
            yield (
                f"not yet: {counted(len(waiting), 'failure')} of {len(self.surveyed)} were not "
                f"searched ({reason})"
            )

    def _worst_words(self, which: str) -> Iterator[str]:
        """The failure that costs most, for any S and for each S."""
        worst = self.worst[0]
        loss = worst.any_steps
        assert loss is not None
        if loss.lost is not None:
            yield f"The {which} is {worst.words}: {percent(loss.lost)}."
        for point in self.whole.best:
            steps = point.steps
            lost = [
                (line.bound is None, line.lost is None, line.lost or 0, one.words)
                for one in self.worst
                if one.repair is not None
                for line in one.repair.losses
                if line.steps == steps
            ]
            if lost:
                never, none, share, words = max(lost, key=lambda one: one[:3])
                cost = "nothing was found" if none else percent(Fraction(share))
                cost = "no algorithm is left" if never else cost
                yield f"With at most {counted(steps, 'step')} the {which} is {words}: {cost}."


def survey_head(whole: Frontier, kind: FailureKind) -> dict[str, str]:
    """The head of the document, which is known before the survey."""
    return {
        "schema": "syncoll/survey/1",
        "topology": whole.topology.name,
        "collective": whole.collective,
        "kind": str(kind),
    }


def _loss_entry(loss: Loss) -> dict[str, Any]:
    """A loss; fractions are texts, shares are numbers."""
    texts = {"whole": loss.whole, "now": loss.now, "bound": loss.bound}
    shares = {"lost": loss.lost, "lost_for_good": loss.lost_for_good, "gap": loss.gap}
    return {
        "steps": loss.steps,
        **{name: None if value is None else str(value) for name, value in texts.items()},
        **{name: None if value is None else float(value) for name, value in shares.items()},
        "found_by": loss.found_by,
    }


def _costs(loss: Loss, proved: str = ">proved >=") -> dict[str, object]:
    return {
        ">R/C whole": "-" if loss.whole is None else loss.whole,
        ">R/C now": "-" if loss.now is None else loss.now,
        ">lost": percent(loss.lost),
        proved: "impossible" if loss.bound is None else loss.bound,
        ">lost for good": "all" if loss.bound is None else percent(loss.lost_for_good),
    }


def _failure(one: Surveyed, reason: str = "") -> dict[str, object]:
    """A row of a survey, with the reason why costs are missing."""
    loss, repair = one.any_steps, one.repair
    row: dict[str, object] = {"broken": one.words, ">alike": one.failure.images, ">S >=": reason}
    if reason or loss is None or repair is None:
        return row
    row |= {">S >=": repair.frontier.least_steps, **_costs(loss), "gap": "-"}
    if loss.now is not None and loss.bound is not None:
        row["gap"] = nearness(loss.now, loss.bound, in_table=True)
    return row
