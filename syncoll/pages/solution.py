"""The answer to a single question, for people."""

from __future__ import annotations

from syncoll.formula import Verdict
from syncoll.pages.algorithm import algorithm_page
from syncoll.pages.page import Page
from syncoll.results import Solution
from syncoll.wording import counted

__all__ = ["solution_page"]


def solution_page(solution: Solution) -> Page:
    """The answer to one (S, R, C), and what it took."""
    page = Page()
    instance, outcome = solution.instance, solution.outcome
    question = (
        f"{instance.collective} on {instance.topology.name} with C = {instance.chunks}, "
        f"S = {instance.steps}, R = {instance.rounds}"
    )
    if solution.algorithm is not None:
        page.add(algorithm_page(instance, solution.algorithm)).text()
        page.text(f"sat: {question}; verified.")
    elif outcome.verdict is Verdict.UNSAT:
        page.text(f"unsat: {question} has no algorithm.")
        if instance.steps < instance.least_steps:
            page.text(
                f"No algorithm with C = {instance.chunks} has fewer than "
                f"{counted(instance.least_steps, 'step')}."
            )
    else:
        page.text(f"unknown: {question} was not decided ({outcome.reason}).")
        if outcome.message:  # what a crashed solver wrote, stacks and all, is in the JSON
            page.text(outcome.message.partition("\n")[0])
    return page.text(
        f"Encoding {solution.encoding}, backend {solution.backend}{_effort(solution)}."
    )


def _effort(solution: Solution) -> str:
    size = ""
    if solution.size.variables or solution.size.constraints:
        size = (
            f": {counted(solution.size.variables, 'variable')}, "
            f"{counted(solution.size.constraints, 'constraint')}"
        )
    phases = [(name, f"{value:.2f}") for name, value in solution.seconds.items()]
    told = ", ".join(f"{name} {value}" for name, value in phases if float(value))
    total = sum(solution.seconds.values())
    return f"{size}; {total:.2f} seconds" + (f" ({told})" if told else "")
