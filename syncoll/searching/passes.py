"""A search without a time limit: passes with a limit, each twice as long as the one before.

A limit is divided among seeds, parts, bounds and solvers; without one each engine would wait until
the engines before it have ended.
"""

import time
from collections.abc import Callable, Container, Iterable
from dataclasses import replace
from itertools import count
from math import exp, log

from syncoll.deadline import OutOfTimeError
from syncoll.ledger.ledger import OnPoints
from syncoll.results.frontier import Frontier, known_cost
from syncoll.searching.agenda import OUT_OF_MEMORY

_NEAR = 1.01
"""A pass within this factor of the bounds, or that gains less, is the last
(`benchmarks/allreduce.py`: later passes gained less than 1 %)."""


def in_passes(
    one_pass: Callable[[float], Frontier],
    on_points: OnPoints | None,
    losses: Container[str],
    seconds: float = 60.0,
) -> Frontier:
    """The frontier of the last pass: one that has found and proved little more.

    Args:
        one_pass: searches for this number of seconds, with the results of the earlier passes.
        losses: the reasons for which candidates were left out.
        seconds: of the first pass.
    """
    began = time.perf_counter()
    found: Frontier | None = None
    for doubled in (seconds * 2**i for i in count()):
        before = found
        try:
            found = one_pass(doubled)
            if on_points is not None:
                on_points(found)
        except OutOfTimeError:  # before the first result
            continue
        except KeyboardInterrupt:
            if found is None:
                raise
            found = replace(found, interrupted=True)
        if found.interrupted or OUT_OF_MEMORY in losses or _is_last(found, before):
            break
    assert found is not None
    complete = not (found.interrupted or losses)
    return replace(found, complete=complete, seconds=time.perf_counter() - began)


def _excess(frontier: Frontier, steps: Iterable[int]) -> tuple[int, float]:
    """Number of these S without a point, and the others' geometric mean of cost over bound."""
    proofs = () if frontier.evidence is None else frontier.evidence.proofs
    missing, found = 0, list[float]()
    for s in steps:
        cost = known_cost(s, frontier.points, frontier.families)
        proved = [one.bound for one in proofs if one.steps >= s]
        bound = max([*proved, frontier.least_bandwidth])
        if cost is None or not bound:
            missing += 1
        else:
            found.append(log(cost / bound))
    return missing, exp(sum(found) / len(found)) if found else 1.0


def _is_last(frontier: Frontier, before: Frontier | None) -> bool:
    """Whether little is open, or the pass found and proved little more than the one before."""
    last = max((point.steps for point in frontier.points), default=frontier.least_steps)
    steps = range(frontier.least_steps, last + 1)
    missing, gap = _excess(frontier, steps)
    if not frontier.open or (missing, gap) <= (0, _NEAR):
        return True
    if before is None:
        return False
    missed, was = _excess(before, steps)
    return missing >= missed and gap * _NEAR >= was
