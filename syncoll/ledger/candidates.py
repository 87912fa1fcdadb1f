"""Candidates: which (R, C) a strategy tries for a given number of steps, cheapest first.

* paper: Algorithm 1 of the SCCL paper, ``S <= R <= S + k`` and ``R/C >= b_l``.
* certified: every C up to a limit, with R from the proved bound for S steps and this C upwards; no
  k.  The first candidate usually meets the bound, and then nothing is left to refute.  If no C up
  to the limit can meet it, the least C that can is tried too, unless it is much larger.

Both leave out candidates that cost at least as much as a point with fewer steps.
"""

import heapq
from collections.abc import Iterator
from fractions import Fraction
from math import ceil, lcm

from syncoll.errors import UsageError
from syncoll.ledger.bounds_table import LARGEST_LEAST_CHUNKS, BoundsTable
from syncoll.ledger.request import Candidate, SearchRequest, Strategy
from syncoll.model.grains import in_rounds
from syncoll.wording import argument, counted

STEPS_BEYOND = 3
"""Number of steps beyond the distance bound to which a search goes without a given limit."""

_DEFAULT_MULTIPLES = 24
"""The default limit on C, in multiples of the least C; solvers decide this number quickly."""

_MOST_MULTIPLES = 4 * _DEFAULT_MULTIPLES
"""The limit on a C that is tried only because of the bound's denominator."""

_BUDGETS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)
"""Limits on C for which the simplest algorithms are looked for, in multiples of the least C."""

_SIMPLE = 16
"""Solvers are asked for the simplest algorithms with C up to this multiple of the least."""


def budgets_of(least: int, most: int | None = None) -> tuple[int, ...]:
    """The limits on C for which a search looks for algorithms, small ones first.

    Args:
        least: the least C for which the collective is defined.
        most: the limit on C of the search, which is the last budget; None for no limit.

    >>> budgets_of(1, 5), budgets_of(4, 16)
    ((1, 2, 3, 4, 5), (4, 8, 12, 16))
    """
    within = [times * least for times in _BUDGETS if most is None or times * least <= most]
    return tuple(dict.fromkeys([*within, *([] if most is None else [most])]))


class CandidateSource:
    """Resolves a request's limits and lists its candidates.

    Raises `UsageError` if the collective is defined for no C within the limits, and `ModelError` if
    its demands cannot be met on the topology.
    """

    def __init__(self, request: SearchRequest, bounds: BoundsTable) -> None:
        self.request, self.bounds = request, bounds
        self.least_chunks = bounds.least_chunks(request.max_chunks)
        self.max_chunks = request.max_chunks or self.least_chunks * _DEFAULT_MULTIPLES
        self.least_steps = bounds.least_steps
        if self.least_steps == 0 and request.max_chunks is None:
            self.max_chunks = self.least_chunks  # everything is in place
        self.max_steps = self.least_steps + STEPS_BEYOND
        if request.max_steps is not None:
            self.max_steps = request.max_steps
        # The paper's strategy needs no limit on C: a bound for one C holds for every C.
        paper = request.strategy is Strategy.PAPER
        self.limits_chunks = request.max_chunks is not None or not paper
        self.k = request.k
        if self.k is None and paper:
            self.k = self._least_k()

    @property
    def scope(self) -> str:
        """The algorithms among which the search finds the best, in words."""
        limits = [] if self.k is None else [f"k = {self.k}"]
        if self.limits_chunks:
            limits.append(f"C <= {self.max_chunks}")
        if self.request.max_rounds is not None:
            limits.append(f"R <= {in_rounds(self.request.max_rounds, self.request.grains)}")
        if self.request.max_messages is not None:
            limits.append(f"at most {counted(self.request.max_messages, 'message')}")
        kind = "algorithms" if self.k is None else "k-synchronous algorithms"
        aim = "" if self.request.aim is None else f", fastest for {self.request.aim}"
        return f"{kind} with {' and '.join(limits)}{aim}"

    @property
    def impossible(self) -> str:
        """A sentence that no algorithm keeps the limits on S and R, if distances and cuts prove it;
        empty otherwise."""
        steps, rounds = self.request.max_steps, self.request.max_rounds
        if steps is not None and steps < self.least_steps:
            return (
                f"no algorithm has fewer than {counted(self.least_steps, 'step')}, and "
                f"{argument('max_steps', steps)} asks for fewer"
            )
        if rounds is None:
            return ""
        with self.bounds.at_once():
            chunks = self.least_chunks
            least = max(self.least_steps, ceil(self.bounds.bandwidth() * chunks))
        if rounds >= least:
            return ""
        least, rounds = (in_rounds(one, self.request.grains) for one in (least, rounds))
        return (
            f"no algorithm has fewer than {counted(least, 'round')}, and "
            f"{argument('max_rounds', rounds)} asks for fewer"
        )

    def admitted(self) -> Iterator[int]:
        """Every C up to the limit with which there are algorithms to look for."""
        most = self.max_chunks
        return (c for c in range(self.least_chunks, most + 1) if self.bounds.admits(c))

    def most_rounds(self, steps: int) -> int | None:
        """The limit on R for S = `steps`; None for none."""
        limits = [] if self.request.max_rounds is None else [self.request.max_rounds]
        if self.k is not None:
            limits.append((steps + self.k) * self.request.grains)
        return min(limits, default=None)

    def candidates(
        self,
        steps: int,
        below: Fraction | None,
        multiples: int | None = None,
        *,
        all_grains: bool = True,
    ) -> Iterator[Candidate]:
        """The candidates for S = `steps` with R/C less than `below`, in ascending order.

        Args:
            below: leaves out candidates that cost as much or more; None for no such limit.
            multiples: only C up to this multiple of the least; None for no such limit.
            all_grains: whether R grows by single grains; otherwise by 1, 2, 4, …, up to a round.
        """
        queue: list[tuple[Fraction, int, int, int]] = []
        widest = 1 if all_grains else self.request.grains
        last, most = self.max_chunks, self.most_rounds(steps)
        paper = self.request.strategy is Strategy.PAPER
        least = self.bounds.bandwidth() if paper else Fraction(0)
        if most is not None and least:
            by_bound = int(most / least)  # R/C >= b_l
            last = min(by_bound, last) if self.limits_chunks else by_bound
        if multiples is not None:
            last = min(last, self.least_chunks * multiples)
        bound = self.bounds.bandwidth(None if paper else steps)
        for chunks in range(self.least_chunks, last + 1):
            if self.bounds.admits(chunks) and self.least_steps <= steps:
                # With fewer rounds than steps a step is idle: that belongs to fewer steps.
                rounds = max(steps, ceil(bound * chunks))
                queue.append((Fraction(rounds, chunks), chunks, rounds, 1))
        beyond = self._meeting(steps) if multiples is None else None
        if beyond is not None and beyond.chunks > last:
            queue.append((beyond.bandwidth, beyond.chunks, beyond.rounds, 1))
        heapq.heapify(queue)
        while queue:
            ratio, chunks, rounds, more = heapq.heappop(queue)
            if below is not None and ratio >= below:
                return
            if most is not None and rounds > most:
                continue
            yield Candidate(steps, rounds, chunks)
            if chunks <= last:
                after = rounds + more
                entry = (Fraction(after, chunks), chunks, after, min(2 * more, widest))
                heapq.heappush(queue, entry)

    def near(self, steps: int, cost: Fraction) -> Iterator[Candidate]:
        """For each small C, in ascending order, the candidate of the most rounds with R/C up to
        `cost` that the known bounds leave."""
        most, bound = self.most_rounds(steps), self.bounds.known(steps)
        for chunks in budgets_of(self.least_chunks, self.max_chunks):
            rounds = int(cost * chunks)
            if most is not None:
                rounds = min(rounds, most)
            if chunks > _SIMPLE * self.least_chunks or self.least_steps > steps:
                return
            if rounds >= max(Fraction(steps), bound * chunks) and self.bounds.admits(chunks):
                yield Candidate(steps, rounds, chunks)

    def _meeting(self, steps: int) -> Candidate | None:
        """The candidate of least C that meets the bound for S = `steps`, where no limit is set."""
        asked = self.request
        if asked.max_chunks is not None or asked.strategy is Strategy.PAPER:
            return None
        if self.max_chunks < self.least_chunks * _DEFAULT_MULTIPLES:
            return None
        bound = self.bounds.bandwidth(steps)
        unit = lcm(bound.denominator, self.least_chunks)
        if not bound or unit > self.least_chunks * _MOST_MULTIPLES:
            return None
        chunks = unit * max(1, ceil(steps / (bound * unit)))
        return Candidate(steps, int(bound * chunks), chunks) if self.bounds.admits(chunks) else None

    def _least_k(self) -> int:
        """The least k with a bandwidth-optimal candidate at the least number of steps.

        Without a k, the set A of Algorithm 1 would be infinite.  The C of such a candidate is a
        multiple of the denominator of b_l.
        """
        bound, steps = self.bounds.bandwidth(), self.least_steps
        if bound == 0:
            return 0
        most = self.max_chunks if self.limits_chunks else LARGEST_LEAST_CHUNKS
        for chunks in range(bound.denominator, most + 1, bound.denominator):
            rounds = int(bound * chunks)
            if rounds >= steps and self.bounds.admits(chunks):
                return max(0, ceil(Fraction(rounds, self.request.grains)) - steps)
        raise UsageError(
            f"no C up to {most} meets the bandwidth bound {bound}; set a limit with --k"
        )
