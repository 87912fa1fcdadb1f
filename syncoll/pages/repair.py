"""Repairs for people."""

from __future__ import annotations

from collections.abc import Sequence

from syncoll.pages.frontier import frontier_page
from syncoll.pages.page import Page
from syncoll.repairing.known import KEPT, MENDED
from syncoll.repairing.losses import Loss, percent
from syncoll.repairing.repair import Repair
from syncoll.wording import counted

__all__ = ["repair_page"]


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
    if machine.lost_nodes:
        page.text(
            f"{counted(len(machine.nodes), 'node')} take part; nodes 0 to "
            f"{len(machine.nodes) - 1} are now those that were {_numbers(machine.nodes)}"
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


def _numbers(nodes: Sequence[int]) -> str:
    """``0 to 4, 6 to 7``."""
    runs: list[list[int]] = []
    for node in nodes:
        if runs and node == runs[-1][1] + 1:
            runs[-1][1] = node
        else:
            runs.append([node, node])
    return ", ".join(str(a) if a == b else f"{a} to {b}" for a, b in runs)
