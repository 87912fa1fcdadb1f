"""Pages of an algorithm, of a point, and of one (S, R, C): the answer, and the formula."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from syncoll.formula import StopReason, Verdict
from syncoll.model import Algorithm, Instance, OrbitAlgorithm
from syncoll.pages.page import PageParts, paged, table
from syncoll.results import Point, Solution
from syncoll.results.solution import Explanation
from syncoll.wording import counted, nearness

__all__ = ["algorithm_page", "explanation_page", "point_summary", "solution_page"]

_FIRST_SENDS = 4


@paged
def algorithm_page(instance: Instance, algorithm: Algorithm) -> PageParts:
    """Every step with its rounds and, link by link, the chunks that it sends.  For a partial result
    the nodes whose contributions it holds follow in parentheses."""
    yield (
        f"{instance.collective} on {instance.topology.name}: "
        f"{counted(instance.num_chunks, 'chunk')} in all (C = {instance.chunks}), "
        f"{counted(algorithm.steps, 'step')}, {counted(algorithm.rounds, 'round')}, "
        f"{counted(algorithm.num_sends, 'send')}"
    )
    if isinstance(algorithm, OrbitAlgorithm):
        carriers, algorithm = algorithm.carriers, algorithm.representative
        own = np.unique(algorithm.sends[:, 0]).tolist()
        numbers = ", ".join(map(str, own[:8])) + (", …" if len(own) > 8 else "")
        noun = "chunk" if len(own) == 1 else "chunks"
        yield (
            f"the {counted(algorithm.num_sends, 'send')} of {noun} {numbers}; "
            f"{carriers.order} automorphisms, the identity among them, carry these to all others"
        )
    by_step: dict[int, dict[tuple[int, int], list[str]]] = defaultdict(lambda: defaultdict(list))
    for i, (chunk, source, destination, step) in enumerate(algorithm.sends.tolist()):
        by_step[step][source, destination].append(_carried(instance, algorithm, i, chunk))
    digits = len(str(instance.topology.num_nodes - 1))
    for step, rounds in enumerate(algorithm.rounds_per_step):
        yield f"step {step}, {counted(rounds, 'round')}"
        for (source, destination), chunks in sorted(by_step[step].items()):
            noun = "chunk " if len(chunks) == 1 else "chunks"
            yield f"  {source:>{digits}} -> {destination:<{digits}}  {noun} {' '.join(chunks)}"


def point_summary(point: Point, place: str, max_chunks: int | None = None) -> str:
    """Ten lines: costs, the gap to the bound for C up to a limit, the origin, the first sends."""
    instance, algorithm = point.instance, point.algorithm
    if point.bound is None:
        gap = "no bound is proved"
    else:
        among = "" if max_chunks is None else f" for C <= {max_chunks}"
        gap = f"{nearness(point.bandwidth, point.bound)} (proved{among}: R/C >= {point.bound})"
    own = algorithm.representative if isinstance(algorithm, OrbitAlgorithm) else algorithm
    first = own.sends[np.argsort(own.sends[:, 3], kind="stable")[:_FIRST_SENDS]]
    lines = [
        f"{place}: {instance.collective} on {instance.topology.name}",
        f"  S = {point.steps} steps, R = {point.rounds}, C = {point.chunks} chunks per node",
        f"  R/C = {point.bandwidth}, {gap}",
        f"  found by {point.encoding}/{point.backend} in {point.seconds:.2f} s",
        f"  {counted(algorithm.num_sends, 'send')}, such as:",
        *(f"    step {s}: chunk {c}, {a} -> {b}" for c, a, b, s in first.tolist()),
        "  print() shows all of them",
    ]
    return "\n".join(lines)


def _carried(instance: Instance, algorithm: Algorithm, send: int, chunk: int) -> str:
    """A chunk, and the contributors of a partial result."""
    if algorithm.contributions is None:
        return str(chunk)
    carried = algorithm.contributions[send]
    if (carried == instance.pre[chunk]).all():
        return f"{chunk}(all)"
    return f"{chunk}({'+'.join(str(n) for n in carried.nonzero()[0].tolist())})"


@paged
def solution_page(solution: Solution) -> PageParts:
    """The answer to one (S, R, C), with the encoding, the backend and the seconds."""
    instance, outcome = solution.instance, solution.outcome
    question = (
        f"{instance.collective} on {instance.topology.name} with C = {instance.chunks}, "
        f"S = {instance.steps}, R = {instance.rounds}"
    )
    if solution.algorithm is not None:
        yield algorithm_page(instance, solution.algorithm)
        yield ""
        yield f"sat: {question}; verified."
        if solution.restriction is not None:
            order = solution.restriction.order
            yield f"Found among the algorithms that a group of order {order} preserves."
    elif outcome.verdict is Verdict.UNSAT:
        yield f"unsat: {question} has no algorithm."
        if min(instance.steps, instance.rounds) < instance.least_steps:
            noun = "step" if instance.steps < instance.least_steps else "round"
            yield (
                f"No algorithm with C = {instance.chunks} has fewer than "
                f"{counted(instance.least_steps, noun)}."
            )
            return
    elif outcome.reason is StopReason.NOT_SYMMETRIC:
        yield f"unknown: {question} has no symmetric algorithm; others may exist."
        yield outcome.message
    else:
        yield f"unknown: {question} was not decided ({outcome.reason})."
        if outcome.message:  # the document has all of it, such as the stack of a crash
            yield outcome.message.partition("\n")[0]
    yield f"Encoding {solution.encoding}, backend {solution.backend}{_effort(solution)}."


def _effort(solution: Solution) -> str:
    size = ""
    if solution.size.variables or solution.size.constraints:
        size = (
            f": {counted(solution.size.variables, 'variable')}, "
            f"{counted(solution.size.constraints, 'constraint')}"
        )
    phases = [(name, f"{value:.2f}") for name, value in solution.seconds.items()]
    parts = ", ".join(f"{name} {value}" for name, value in phases if float(value))
    if solution.restriction is not None:
        whole = solution.restriction.whole
        size += f" (without symmetry {whole.variables} and {whole.constraints})"
    total = sum(solution.seconds.values())
    return f"{size}; {total:.2f} seconds" + (f" ({parts})" if parts else "")


@paged
def explanation_page(found: Explanation) -> PageParts:
    """The formula after each stage, and whether the backend takes it."""
    instance = found.instance
    yield (
        f"{instance.collective} on {instance.topology.name}, C = {instance.chunks}, "
        f"S = {instance.steps}, R = {instance.rounds}: {counted(instance.num_chunks, 'chunk')} "
        f"in all, at least {counted(instance.least_steps, 'step')}\n"
    )
    if found.note:
        yield f"{found.note}\n"
    rows = [
        {
            "after": stage.name,
            ">Booleans": stage.size.booleans,
            ">integers": stage.size.integers,
            ">clauses": stage.size.clauses,
            ">cardinality": stage.size.cardinalities,
            ">linear": stage.size.linears,
            ">difference": stage.size.differences,
            ">literals": stage.size.literals,
            ">seconds": f"{stage.seconds:.3f}",
        }
        for stage in found.stages
    ]
    yield table(rows, ("seconds", "literals", "difference", "cardinality", "linear"))
    yield from (f"{stage.name}: {stage.summary}" for stage in found.stages)
    takes = ", ".join(found.features)
    yield f"backend {found.backend}: {found.summary}; takes {takes}"
    for name, ok, why in found.answers:
        verdict = "yes" if ok else "no"
        yield f"{name.replace('_', ' ')} this: {verdict}" + (f": {why}" if why else "")
