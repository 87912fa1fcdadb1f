"""Lower bounds of a collective on a topology for one C, without any search."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from fractions import Fraction

from syncoll.bounding import (
    combining_rounds_bound,
    least_combining_cut,
    least_cut,
    rounds_bound,
    with_cut,
)
from syncoll.certificates import Certificate, ChunkClasses, DemandView, RoundsBound
from syncoll.deadline import NEVER, Deadline, OutOfTimeError, interrupted_at
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
from syncoll.searching.bounds_table import BoundsTable
from syncoll.searching.candidates import CandidateSource
from syncoll.searching.request import SearchRequest
from syncoll.wording import counted

__all__ = ["lower_bounds"]

_SECONDS = 20.0
"""What one bound may take."""

_MOST_NODES_AT_LENGTH = 128
_SECONDS_BEYOND = 5.0
"""The same on machines with more nodes, for collectives that combine: relaxations of one node's
data are far from symmetric, and prove something for the least steps only."""

_GRACE_SECONDS = 0.5
"""What the cut around a single node may take that stands in where the time was over."""


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
        until: when all must be proved; where a bound for so many steps is not by then, that for
            any number of steps stands in, and at the least a cut around a node.
        on_message: is told, in words, where more may be provable.

    Ctrl-C (`KeyboardInterrupt`) ends it likewise, marked as interrupted.

    Raises:
        ModelError: when the collective makes no sense there.
        OutOfTimeError: when the time was over before it was known how far chunks must go.
    """
    if chunks is None:
        bounds = BoundsTable(topology, collective)
        chunks = CandidateSource(SearchRequest(topology, collective), bounds).least_chunks
    with interrupted_at(until):
        table, combining = collective.table_on(topology, chunks), collective.combining
        reach = Reach(topology, table, combining)
        least = reach.least_steps
        shape = ChunkClasses.of(table, chunks, combining=combining)
        needs = () if combining else shape.demands(DemandView.MOVING)
    last = least + 3 if max_steps is None else max_steps
    if num_steps is not None:
        last = least + num_steps - 1
    late: list[str] = []
    interrupted = False

    def prove(steps: int | None, others: int, known: RoundsBound | None) -> RoundsBound:
        """The bound, or what is known of it when the time is over."""
        nonlocal interrupted
        try:
            if not interrupted:
                until.check()
                return proved(steps, others, known)
        except OutOfTimeError:
            pass
        except KeyboardInterrupt:
            interrupted = True
        late.append("any number of steps" if steps is None else counted(steps, "step"))
        return known or RoundsBound(Fraction(0), None, None)

    def proved(steps: int | None, others: int, known: RoundsBound | None) -> RoundsBound:
        began, seconds = time.perf_counter(), _SECONDS
        if combining and topology.num_nodes > _MOST_NODES_AT_LENGTH:
            seconds = _SECONDS_BEYOND
        if not until.is_never:
            seconds = min(seconds, until.left() / (others + 1))
        if combining:
            bound = combining_rounds_bound(topology, shape, steps, seconds=seconds, known=known)
        else:
            bound = rounds_bound(topology, needs, steps, seconds=seconds)
        if time.perf_counter() - began >= seconds:
            late.append("any number of steps" if steps is None else counted(steps, "step"))
        # Where a bound for so many steps did not come in time, that for any number holds too.
        if known is not None and bound.rounds <= known.rounds:
            return known
        return with_cut(topology, needs, bound, until.seconds)

    any_steps = prove(None, max(0, last - least + 1), None)
    if not any_steps.rounds:
        in_time = NEVER if until.is_never else Deadline.after(max(_GRACE_SECONDS, until.left()))
        with suppress(OutOfTimeError), interrupted_at(in_time):
            if combining:
                any_steps = least_combining_cut(topology, shape)
            else:
                any_steps = least_cut(topology, needs)
    by_steps: list[tuple[int, RoundsBound]] = []
    for s in range(least, last + 1):
        # Where S steps need no more rounds than any number of steps, more steps do not either.
        settled = bool(by_steps) and by_steps[-1][1] is any_steps
        if settled and counted(s - 1, "step") in late:  # for all that is known
            late.append(counted(s, "step"))
        by_steps.append((s, any_steps if settled else prove(s, last - s, any_steps)))
    late = list(dict.fromkeys(late))
    if late:
        why = "it was interrupted" if interrupted else "the time was over"
        on_message(f"more may be provable, but {why}: {', '.join(late)}")
    evidence = None
    if not collective.irregular:
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
        tuple(late),
        interrupted,
    )


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
