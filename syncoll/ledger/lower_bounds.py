"""Lower bounds of a collective on a topology for one C, without any search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial

from syncoll.bounding import (
    bound_at_once,
    combining_rounds_bound,
    rounds_bound,
    with_cut,
)
from syncoll.certificates import Certificate, ChunkClasses, Demand, DemandView, RoundsBound
from syncoll.clock import now
from syncoll.deadline import NEVER, Deadline, OutOfTimeError
from syncoll.ledger.bounds_table import BoundsTable
from syncoll.ledger.candidates import CandidateSource
from syncoll.ledger.request import SearchRequest
from syncoll.model import Collective, Topology
from syncoll.model.reach import Reach
from syncoll.results import (
    BY_CUTTING,
    Distance,
    Evidence,
    LowerBounds,
    Proof,
    ScaledShape,
    Scope,
)
from syncoll.results.evidence import undefined_chunks
from syncoll.wording import counted

__all__ = ["lower_bounds"]

_SECONDS = 20.0
"""What one bound may take."""

_MORE = 2
"""A bound that was late has another try where it may take so many times as long."""

_MOST_NODES_AT_LENGTH = 128
_SECONDS_BEYOND = 5.0
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
    on_message: Callable[[str], None] = lambda _: None,
) -> LowerBounds:
    """Proves lower bounds on S, on R/C with any number of steps, and on R/C for each S.

    Args:
        chunks: C; None for the least for which the collective is defined.
        max_steps: bounds for S up to this; None for 3 beyond the least.
        num_steps: bounds for so many S, from the least on, instead.
        until: deadline; a bound for S that is not proved by then is replaced by the bound for any
            number of steps.  Distances and quick bounds are always included.
        on_message: is told, in words, where more may be provable.

    Ctrl-C (`KeyboardInterrupt`) ends it likewise, marked as interrupted.

    Raises:
        UsageError: for an irregular collective.
        ModelError: when the collective makes no sense there.
        OutOfTimeError: when the time was over before it was known how far chunks must go.
    """
    collective.require_regular()
    if chunks is None:
        bounds = BoundsTable(topology, collective)
        chunks = CandidateSource(SearchRequest(topology, collective), bounds).least_chunks
    # Distances and cuts come whatever the time.
    table, combining = collective.table_on(topology, chunks), collective.combining
    reach = Reach.of(topology, table, combining)
    least = reach.least_steps
    shape = ChunkClasses.of(table, chunks, combining=combining)
    needs = () if combining else shape.demands(DemandView.MOVING)
    last = least + 3 if max_steps is None else max_steps
    if num_steps is not None:
        last = least + num_steps - 1
    proving = _Proving(topology, shape, needs, until)
    any_steps = proving.bound(None, max(0, last - least + 1), bound_at_once(topology, shape))
    found = proving.by_steps(range(least, last + 1), any_steps)
    any_steps = found.pop(None)
    by_steps = [
        (s, max(any_steps, bound, key=_rounds)) for s, bound in found.items() if s is not None
    ]
    late, interrupted = proving.late_in_words(), proving.interrupted
    if late:
        why = "it was interrupted" if interrupted else "the time was over"
        on_message(f"more may be provable, but {why}: {', '.join(late)}")
    evidence = _evidence(collective, shape, reach, any_steps, by_steps)
    return LowerBounds(
        topology,
        collective.name,
        chunks,
        least,
        any_steps,
        tuple(by_steps),
        last,
        evidence,
        late,
        interrupted,
    )


class _Proving:
    """Bounds of one shape, as far as there is time.

    Attributes:
        late: numbers of steps (None: any) of which more might be proved in more time.
        interrupted: whether a person stopped it.
    """

    def __init__(
        self, topology: Topology, shape: ChunkClasses, needs: Sequence[Demand], until: Deadline
    ) -> None:
        self._topology, self._shape, self._needs, self._until = topology, shape, needs, until
        self._had: dict[int | None, float] = {}
        self.late: set[int | None] = set()
        self.interrupted = False

    def by_steps(
        self, steps: Sequence[int], any_steps: RoundsBound
    ) -> dict[int | None, RoundsBound]:
        """The bounds for each number of steps and for any number (None).

        Bounds that were late get another try in the remaining time.

        Args:
            steps: ascending.
            any_steps: the bound for any number of steps so far, the default.
        """
        found: dict[int | None, RoundsBound] = {None: any_steps}
        settled = False
        for i, s in enumerate(steps):
            # Where S steps need no more rounds than any number of steps, more steps do not either.
            found[s] = any_steps if settled else self.bound(s, len(steps) - 1 - i, any_steps)
            settled |= found[s] is any_steps and s not in self.late
        again = [one for one in found if one in self.late]
        while again and not (self.interrupted or self._until.is_never or self._until.passed):
            each = self._seconds(len(again) - 1)
            again = [one for one in again if each >= _MORE * self._had[one]]
            for i, one in enumerate(again):
                self.late.discard(one)
                bound = self.bound(one, len(again) - 1 - i, found[None])
                found[one] = max(found[one], bound, key=_rounds)
            again = [one for one in again if one in self.late]
        return found

    def bound(self, steps: int | None, others: int, known: RoundsBound) -> RoundsBound:
        """One bound, or what is known of it when the time is over.

        Args:
            others: how many are still to come.
            known: the bound proved for any number of steps.
        """
        self._had[steps] = self._seconds(others)
        try:
            if not self.interrupted:
                self._until.check()
                return self._proved(steps, known)
        except OutOfTimeError:
            pass
        except KeyboardInterrupt:
            self.interrupted = True
        self.late.add(steps)
        return known

    def _seconds(self, others: int) -> float:
        """What one bound may take."""
        beyond = self._shape.combining and self._topology.num_nodes > _MOST_NODES_AT_LENGTH
        most = _SECONDS_BEYOND if beyond else _SECONDS
        if self._until.is_never:
            return most
        return min(most, max(0.0, self._until.left()) / (others + 1))

    def _proved(self, steps: int | None, known: RoundsBound) -> RoundsBound:
        began, seconds = now(), self._had[steps]

        def left_out() -> None:
            self.late.add(steps)

        if self._shape.combining:
            bound = combining_rounds_bound(
                self._topology,
                self._shape,
                steps,
                seconds=seconds,
                known=None if steps is None else known,
                prove=partial(rounds_bound, left_out=left_out),
            )
        else:
            bound = rounds_bound(
                self._topology, self._needs, steps, seconds=seconds, left_out=left_out
            )
        if now() - began >= seconds:
            self.late.add(steps)
        # Where a bound for so many steps did not come in time, that for any number holds too.
        if bound.rounds <= known.rounds:
            return known
        return with_cut(self._topology, self._needs, bound, self._until.seconds)

    def late_in_words(self) -> tuple[str, ...]:
        """Which numbers of steps were late, runs of them as one."""
        words = ["any number of steps"] if None in self.late else []
        run: list[int] = []
        for s in sorted(s for s in self.late if s is not None):
            if run and s == run[-1] + 1:
                run[-1] = s
                continue
            words += _in_words(run)
            run = [s, s]
        return (*words, *_in_words(run))


def _rounds(bound: RoundsBound) -> Fraction:
    return bound.rounds


def _in_words(run: Sequence[int]) -> list[str]:
    """A run of numbers of steps, by its ends; of none, nothing."""
    if not run:
        return []
    first, last = run
    return [counted(first, "step") if first == last else f"{first} to {last} steps"]


def _evidence(
    collective: Collective,
    shape: ChunkClasses,
    reach: Reach,
    any_steps: RoundsBound,
    by_steps: Sequence[tuple[int, RoundsBound]],
) -> Evidence:
    """What proves the bounds of a regular collective, for every C."""
    nodes, most = reach.topology.num_nodes, shape.chunks
    admitted = [c for c in range(1, most + 1) if shape.allows(c) and collective.admits(nodes, c)]
    shapes = (ScaledShape(shape, tuple(admitted), BY_CUTTING),)
    proofs = []
    for steps, bound in by_steps:
        low = bound.rounds / most
        certificates = (Certificate(shape, bound),)
        proofs.append(Proof(steps, None, low, certificates, Scope.OPEN, low))
    return Evidence(
        shapes,
        most,
        undefined_chunks(shapes, most, admitted.__contains__),
        Distance.of(reach),
        (Certificate(shape, any_steps),),
        tuple(proofs),
    )
