"""Repairs for people."""

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
    """What is lost, what of that for good, and the frontier of the damaged machine."""
    page, machine = Page(), repair.machine
    page.text(f"{repair.frontier.collective} on {machine.whole.name}, {machine.words}")
    page.text()
    most = repair.frontier.max_chunks
    proved = ">proved >=" if most is None else f">proved >= (C <= {most})"
    columns = (">steps S", ">R/C whole", ">R/C now", ">lost", proved, ">lost for good", "found by")
    page.table(columns, [_row(one) for one in repair.losses])
    before, after = repair.whole.least_steps, repair.frontier.least_steps
    if after != before:
        page.text(f"At least {counted(after, 'step')} now, {before} before.")
    names = {point.backend for point in repair.frontier.points}
    page.text(
        "lost: how much higher the least R/C found is; lost for good: how much higher it is for "
        "everybody, by the bound that is proved"
    )
    words = {
        KEPT: "kept: the algorithm of the whole machine, which still works",
        MENDED: "mended: one of the whole machine, with ways around what is broken",
    }
    for name, text in words.items():
        if name in names:
            page.text(text)
    if len(machine.nodes) == 1:
        page.text(f"1 node takes part; node 0 is now the one that was {machine.nodes[0]}")
    elif machine.lost_nodes:
        page.text(
            f"{len(machine.nodes)} nodes take part; nodes 0 to {len(machine.nodes) - 1} are now "
            f"those that were {runs_in_words(machine.nodes)}"
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
    """What each single failure costs, the worst first."""
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
    lines += [(one.words, one.failure.images, "left out", *[""] * 6) for one in survey.left_out]
    known = {*survey.fatal, *survey.left_out}
    waiting = [one for one in survey.surveyed if one.repair is None and one not in known]
    lines += [(one.words, one.failure.images, "not yet", *[""] * 6) for one in waiting]
    page.table(columns, lines)
    page.text(
        "R/C: the least found with any number of steps; alike: failures that a symmetry takes to "
        "each other; S >=: no algorithm has fewer steps"
    )
    page.text(
        "lost for good: how much higher R/C is for everybody, by the bound that is proved; gap: "
        "how near what was found is to that"
    )
    if survey.worst:
        _add_worst(page, survey, "worst so far" if waiting else "worst")
    for one in survey.fatal:
        page.text(f"{one.words}: {one.refused}")
    for one in survey.left_out:
        page.text(f"{one.words}: left out, which proves nothing: {one.left_out}")
    vain = [one for one in survey.worst if one.any_steps is None or one.any_steps.now is None]
    if vain:
        page.text(
            f"R/C now -: of {counted(len(vain), 'failure')} nothing was found in the time for each "
            f"({argument('search_limit')}), which does not mean that there is nothing"
        )
    if waiting:
        limit = f"the time for all of them ({argument('time_limit')}) was over"
        page.text(
            f"not yet: {counted(len(waiting), 'failure')} of {len(survey.surveyed)} had no turn, "
            f"as {'it was interrupted' if survey.interrupted else limit}"
        )
    return page


def _add_worst(page: Page, survey: Survey, which: str) -> None:
    """The failure that costs most, and for each S that which does."""
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
            cost = "nothing is found" if none else percent(Fraction(share))
            cost = "there is no such algorithm any more" if never else cost
            page.text(f"With at most {counted(steps, 'step')} the {which} is {words}: {cost}.")
