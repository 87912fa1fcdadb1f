"""Branch and bound on the cases by the node that completes a sum first: whether a send is made.

The prices remain the prices of a certificate for whole cases.  Under these each case is a linear
program of its own.  The cheapest case is divided by a send that its solution makes in part: by the
one, of a few tried, that raises both parts most.  This ends when every case costs as much as an
algorithm.
"""

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import count
from math import inf

import numpy as np

from syncoll.arrays import Floats, Ints
from syncoll.bounding.first_completion import CaseAt, CaseProgram
from syncoll.bounding.orbit_model import OrbitModel
from syncoll.bounding.rationals import TOLERANCE, roundings
from syncoll.certificates.chunk_classes import ChunkClasses
from syncoll.certificates.completions import CompletionCase, Completions, Send, Way
from syncoll.certificates.link_prices import LinkPrices, Prices
from syncoll.certificates.priced import Priced
from syncoll.deadline import Deadline
from syncoll.linear import GrowingProgram
from syncoll.model import Topology

_TRIED = 3
"""Sends that are tried before a case is divided by one of them."""

_MOST_CASES = 64
"""ring(8) allreduce takes fewer for S = 6, to prove 5/4; each is checked and written."""


def divided(
    topology: Topology,
    shape: ChunkClasses,
    certificate: Priced,
    deadline: Deadline,
    enough: Fraction,
) -> tuple[Fraction, Priced] | None:
    """A better bound from the same prices, with its certificate; None without a better one.

    Args:
        certificate: of whole cases, all of one class of chunks.
        enough: the cost of an algorithm, which no bound needs to exceed.
    """
    classes = list(shape.classes)
    whole = certificate.argument
    assert isinstance(whole, Completions)
    assert certificate.steps is not None
    kinds = {case.chunks for case in whole.cases}
    if len(kinds) != 1:
        return None
    model = OrbitModel.of(topology, shape, certificate.steps)
    exact = LinkPrices.of(topology, certificate.steps, certificate.prices)
    prices = exact.floats()
    each = enough / classes[min(kinds)].count
    numbers = count()
    programs = [
        _Divisible(model, (case.chunks, case.node, case.after), prices, deadline, numbers)
        for case in whole.cases
    ]
    open_cases = [one.part((), deadline) for one in programs]
    heapq.heapify(open_cases)
    while len(open_cases) < _MOST_CASES and not deadline.passed:
        least = open_cases[0].value
        if least >= inf or exact.whole_sends(Fraction(least * (1 - TOLERANCE))) >= each:
            break
        parts = _halves(open_cases[0], deadline)
        if not parts:
            break
        heapq.heapreplace(open_cases, parts[0])
        heapq.heappush(open_cases, parts[1])
    on_links = exact.by_place()
    cases = tuple(one.program.case(one, on_links) for one in open_cases)
    better = replace(certificate, argument=replace(whole, cases=cases))
    proved = better.check(topology, classes)
    return (proved, better) if proved > certificate.check(topology, classes) else None


@dataclass(order=True)
class _Part:
    """A part of a case, with the cost of a chunk in it (`value`) by the linear program.  `number`
    decides between equal ones, `sends` divide it from the others, `sent` is ``[S, L]``."""

    value: float
    number: int
    sends: tuple[Send, ...] = field(compare=False)
    sent: Floats = field(compare=False)
    duals: Floats = field(compare=False)
    program: "_Divisible" = field(compare=False)


class _Divisible:
    """The linear program of one case under fixed prices; `numbers` counts its solved parts."""

    def __init__(
        self,
        model: OrbitModel,
        case: CaseAt,
        prices: Floats,
        deadline: Deadline,
        numbers: Iterator[int],
    ) -> None:
        self._numbers = numbers
        self._model, self._at = model, case
        self._program = CaseProgram(model, [case], deadline, prices)
        self._rows: Ints = self._program.divisible()
        self._highs = GrowingProgram.of(self._program.rows.program())

    def part(self, sends: tuple[Send, ...], deadline: Deadline) -> _Part:
        """The part of the case in which these sends are made or not."""
        for link, step, made in sends:
            low, high = (1.0, np.inf) if made else (0.0, 0.0)
            self._highs.change_row(int(self._rows[step, link]), low, high)
        optimum = self._highs.minimise(deadline.seconds)
        for link, step, _ in sends:
            self._highs.change_row(int(self._rows[step, link]), 0.0, np.inf)
        number = next(self._numbers)
        if optimum is None:
            nothing = np.zeros(self._rows.shape)
            value = inf if not self._highs.was_stopped else 0.0
            return _Part(value, number, sends, nothing, np.zeros(int(self._rows.max()) + 1), self)
        sent = self._program.sent(optimum.columns)
        return _Part(optimum.value, number, sends, sent, optimum.row_duals, self)

    def case(self, part: _Part, on_links: Prices) -> CompletionCase:
        """The part as a case with the shares of the dual solution."""
        if part.value >= inf:  # some node cannot be reached, with or without shares
            k, node, after = self._at
            one = self._model.classes[k]
            ways = tuple(Way(u, d, {}) for u in one.pre for d in one.post if u != d)
            return CompletionCase(k, node, after, ways, (), part.sends)
        rounding = next(roundings(part.duals))
        return self._program.case(0, -part.duals, on_links, rounding, part.sends)


def _halves(part: _Part, deadline: Deadline) -> Sequence[_Part]:
    """Two halves of a part; none if the time is over, or no send is made in part."""
    sent = part.sent.copy()
    for link, step, _ in part.sends:
        sent[step, link] = 0.0
    far = abs(sent - 0.5).ravel()
    best: tuple[float, list[_Part]] | None = None
    for place in np.argsort(far, kind="stable")[:_TRIED].tolist():
        if far[place] > 0.5 - TOLERANCE:
            break
        step, link = divmod(place, sent.shape[1])
        halves = []
        for made in (False, True):
            sends = (*part.sends, (link, step, made))
            halves.append(part.program.part(sends, deadline))
        if deadline.passed:
            break
        gain = 1.0
        for half in halves:
            gain *= min(half.value, 2 * part.value) - part.value + TOLERANCE
        if best is None or gain > best[0]:
            best = gain, halves
    return [] if best is None else best[1]
