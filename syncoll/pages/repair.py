"""Pages of a repair and of a survey of single failures."""

from __future__ import annotations

from fractions import Fraction

from syncoll.pages.frontier import frontier_page
from syncoll.pages.page import Page
from syncoll.repairing.cost_delta import Loss, Repair, percent
from syncoll.repairing.survey import Survey
from syncoll.repairing.warm_start_seeds import KEPT, MENDED
from syncoll.wording import argument, counted, nearness, runs_in_words

__all__ = ["repair_page", "survey_page"]


def repair_page(repair: Repair) -> Page:
    """The loss, the part of it that is proved, and the frontier of the damaged machine."""
    page, machine = Page(), repair.machine
    page.text(f"{repair.frontier.collective} on {machine.whole.name}, {machine.words}")
    page.text()
    most = repair.frontier.max_chunks
    proved = ">proved >=" if most is None else f">proved >= (C <= {most})"
    columns = (">steps S", ">R/C whole", ">R/C now", ">lost", proved, ">lost for good", "found by")
    page.table(columns, [_row(one) for one in repair.losses], ("found by", "R/C whole"))
    before, after = repair.whole.least_steps, repair.frontier.least_steps
    if after != before:
        page.text(f"At least {counted(after, 'step')} now, {before} before.")
    names = {point.backend for point in repair.frontier.points}
    page.text(
        "lost: increase of the least R/C that was found; lost for good: the part of it that no "
        "algorithm can avoid, by the proved bound"
    )
    words = {
        KEPT: "kept: the algorithm of the whole machine, which still works",
        MENDED: "mended: an algorithm of the whole machine, rerouted around the damage",
    }
    for name, text in words.items():
        if name in names:
            page.text(text)
    if len(machine.nodes) == 1:
        page.text(f"1 node takes part; node 0 is the former node {machine.nodes[0]}")
    elif machine.lost_nodes:
        page.text(
            f"{len(machine.nodes)} nodes take part; nodes 0 to {len(machine.nodes) - 1} are the "
            f"former nodes {runs_in_words(machine.nodes)}"
        )
    page.text()
    page.add(frontier_page(repair.frontier))
    return page


def _row(loss: Loss) -> tuple[object, ...]:
    return (
        "any" if loss.steps is None else loss.steps,
        "-" if loss.whole is None else loss.whole,
        "-" if loss.now is None else loss.now,
        percent(loss.lost),
        "impossible" if loss.bound is None else loss.bound,
        "all" if loss.bound is None else percent(loss.lost_for_good),
        loss.found_by,
    )


def survey_page(survey: Survey) -> Page:
    """The loss by each single failure, the worst first."""
    page, whole = Page(), survey.whole
    page.text(
        f"{whole.collective} on {whole.topology.name}, without one of its "
        f"{counted(survey.failures, survey.kind.removesuffix('s'), survey.kind)}"
    )
    page.text()
    columns = (
        *("broken", ">alike", ">S >=", ">R/C whole", ">R/C now", ">lost", ">proved >="),
        *(">lost for good", "gap"),
    )
    known = {*survey.fatal, *survey.left_out}
    waiting = [one for one in survey.surveyed if one.repair is None and one not in known]
    lines = [(one.words, one.failure.images, "impossible", *[""] * 6) for one in survey.fatal]
    for one in survey.worst:
        loss, repair = one.any_steps, one.repair
        assert loss is not None
        assert repair is not None
        lines.append(
            (
                one.words,
                one.failure.images,
                repair.frontier.least_steps,
                *_row(loss)[1:-1],
                "-" if loss.now is None or loss.bound is None else nearness(loss.now, loss.bound),
            )
        )
    for reason, each in (("left out", survey.left_out), ("not yet", waiting)):
        lines += [(one.words, one.failure.images, reason, *[""] * 6) for one in each]
    page.table(columns, lines, ("R/C whole", "alike", "S >=", "proved >=", "R/C now"))
    page.text(
        "R/C: the least found with any number of steps; alike: failures that a symmetry takes to "
        "each other; S >=: no algorithm has fewer steps"
    )
    page.text(
        "lost for good: the increase of R/C that no algorithm can avoid, by the proved bound; gap: "
        "distance of the least R/C found from this bound"
    )
    if survey.worst:
        _add_worst(page, survey, "worst so far" if waiting else "worst")
    for one in survey.fatal:
        page.text(f"{one.words}: {one.refused}")
    for one in survey.left_out:
        page.text(f"{one.words}: left out, nothing is proved: {one.left_out}")
    vain = [one for one in survey.worst if one.any_steps is None or one.any_steps.now is None]
    if vain:
        page.text(
            f"R/C now -: no algorithm was found for {counted(len(vain), 'failure')} within "
            f"{argument('search_limit')}; algorithms may exist"
        )
    if waiting:
        reason = "interrupted" if survey.interrupted else f"{argument('time_limit')} is over"
        page.text(
            f"not yet: {counted(len(waiting), 'failure')} of {len(survey.surveyed)} were not "
            f"searched ({reason})"
        )
    return page


def _add_worst(page: Page, survey: Survey, which: str) -> None:
    """Adds the failure that costs most, for any S and for each S."""
    worst = survey.worst[0]
    loss = worst.any_steps
    assert loss is not None
    if loss.lost is not None:
        page.text(f"The {which} is {worst.words}: {percent(loss.lost)}.")
    for point in survey.whole.points:
        steps = point.steps
        lost = [
            (line.bound is None, line.lost is None, line.lost or 0, one.words)
            for one in survey.worst
            if one.repair is not None
            for line in one.repair.losses
            if line.steps == steps
        ]
        if lost:
            never, none, share, words = max(lost, key=lambda one: one[:3])
            cost = "nothing was found" if none else percent(Fraction(share))
            cost = "no algorithm is left" if never else cost
            page.text(f"With at most {counted(steps, 'step')} the {which} is {words}: {cost}.")
