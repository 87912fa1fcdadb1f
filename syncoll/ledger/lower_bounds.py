"""Lower bounds of a collective on a topology without any search: the whole table of bounds."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from syncoll.bounding import rounds_bound
from syncoll.certificates import RoundsBound
from syncoll.clock import is_counted
from syncoll.deadline import NEVER, Deadline, OutOfTimeError
from syncoll.ledger.bounds_table import BoundsTable
from syncoll.ledger.candidates import CandidateSource
from syncoll.ledger.proof_state import evidence_of
from syncoll.ledger.request import SearchRequest
from syncoll.model import Collective, Topology
from syncoll.results import Frontier, LowerBounds
from syncoll.results.lower_bounds import BOUNDS_ALONE
from syncoll.wording import argument, counted

__all__ = ["lower_bounds"]

_SECONDS = 20
"""For one bound."""

_MORE = 2
"""A bound that was late has another try where it may take so many times as long."""

_MOST_NODES_AT_LENGTH, _SECONDS_BEYOND = 128, 5
"""The same on machines with more nodes, for collectives that combine: relaxations of one node's
data are far from symmetric, and prove something for the least steps only."""


def lower_bounds(
    topology: Topology,
    collective: Collective,
    *,
    chunks: int | None = None,
    max_steps: int | None = None,
    num_steps: int | None = None,
    until: Deadline = NEVER,
    prove: Callable[..., RoundsBound] = rounds_bound,
) -> LowerBounds:
    """Proves lower bounds on S, on R/C with any number of steps, and on R/C for each S.

    Args:
        chunks: C; None for the least for which the collective is defined.
        max_steps: bounds for S up to this; None for 3 beyond the least.
        num_steps: bounds for so many S, from the least on, instead.
        until: deadline; a bound for S that is not proved by then is replaced by the bound for any
            number of steps.  Distances and quick bounds are always included.
        prove: see `BoundsTable`.

    Ctrl-C (`KeyboardInterrupt`) ends it likewise, marked as interrupted.

    Raises:
        UsageError: for an irregular collective, or one that is not defined for this C.
        ModelError: when the collective makes no sense there.
        OutOfTimeError: when the time was over before it was known how far chunks must go.
    """
    collective.require_regular()
    table = BoundsTable(topology, collective, prove, until, chunks)
    chunks, least = table.shape.chunks, table.least_steps  # whatever the time
    last = least + 3 if max_steps is None else max_steps
    if num_steps is not None:
        last = least + num_steps - 1
    asked: list[int | None] = [None, *range(least, last + 1)]
    most = _SECONDS
    if collective.combining and topology.num_nodes > _MOST_NODES_AT_LENGTH:
        most = _SECONDS_BEYOND
    proving = _Proving(table, most)
    proving.bound(asked)
    table.until(NEVER.sooner(0.0))  # from now on as far as it is known
    source = CandidateSource(SearchRequest(topology, collective, max_chunks=chunks), table)
    steps = [s for s in asked if s is not None]
    nothing = Frontier(topology, collective.name, (), (), BOUNDS_ALONE)
    limit = argument("work" if is_counted() else "time_limit")
    share = "" if until.is_never else f"a share of {limit}, and "
    return LowerBounds(
        topology,
        collective.name,
        chunks,
        least,
        table.certificate().bound,
        tuple((s, table.certificate(s).bound) for s in steps),
        last,
        evidence_of(source, nothing, steps),
        _in_words(proving.late),
        proving.interrupted,
        f"each bound had {share}at most {most} s",
    )


class _Proving:
    """Bounds for one C after the other, as far as there is time.

    Attributes:
        late: numbers of steps (None: any) of which more might be proved in more time.
        interrupted: whether a person stopped it.
    """

    def __init__(self, table: BoundsTable, most: float) -> None:
        self._table, self._most = table, most
        self._had: dict[int | None, float] = {}
        self.late: set[int | None] = set()
        self.interrupted = False

    def bound(self, asked: list[int | None]) -> None:
        """Bounds each S; those that were late have another try in the time that is left."""
        until, any_steps = self._table.deadline, None
        for i, steps in enumerate(asked):
            found = self._tighten(steps, len(asked) - 1 - i)
            any_steps = found if steps is None else any_steps
            if steps is not None and found == any_steps and steps not in self.late:
                break  # what so few steps reach, more do
        while self.late and not (self.interrupted or until.is_never or until.passed):
            each = self._seconds(len(self.late) - 1)
            again = [one for one in asked if one in self.late and each >= _MORE * self._had[one]]
            if not again:
                return
            for i, steps in enumerate(again):
                self._tighten(steps, len(again) - 1 - i)

    def _tighten(self, steps: int | None, others: int) -> Fraction | None:
        """The bound on R/C for one S, before so many others; None where it did not come."""
        self._had[steps] = self._seconds(others)
        self.late.discard(steps)
        found = None
        try:
            if not self.interrupted:
                self._table.deadline.check()
                found = self._table.tighten(steps, self._had[steps])
        except OutOfTimeError:
            pass
        except KeyboardInterrupt:
            self.interrupted = True
        if found is None or steps in self._table.late:
            self.late.add(steps)
        return found

    def _seconds(self, others: int) -> float:
        until = self._table.deadline
        return min(self._most, max(0.0, until.left()) / (others + 1))


def _in_words(late: set[int | None]) -> tuple[str, ...]:
    """Which numbers of steps were late, runs of them as one."""
    numbers = sorted(s for s in late if s is not None)
    firsts = [s for s in numbers if s - 1 not in late]
    lasts = [s for s in numbers if s + 1 not in late]
    runs = [
        counted(first, "step") if first == last else f"{first} to {last} steps"
        for first, last in zip(firsts, lasts, strict=True)
    ]
    return ("any number of steps", *runs) if None in late else tuple(runs)
