"""The table of lower bounds of a collective on a topology, computed without a search."""

from collections.abc import Callable
from contextlib import suppress
from itertools import count
from math import inf

from syncoll.bounding import bound_at_once, physical, rounds_bound
from syncoll.certificates import ChunkClasses, RoundsBound
from syncoll.clock import is_counted
from syncoll.deadline import NEVER, Deadline, OutOfTimeError
from syncoll.ledger.bounds_table import MORE, THOROUGH_SECONDS, BoundsTable
from syncoll.ledger.candidates import STEPS_BEYOND, CandidateSource
from syncoll.ledger.proof_state import evidence_of
from syncoll.ledger.request import SearchRequest
from syncoll.model import Collective, Fabric, Topology
from syncoll.results import Frontier, LowerBounds
from syncoll.results.lower_bounds import BOUNDS_ALONE
from syncoll.wording import argument, counted

_MOST_NODES_AT_LENGTH, _SECONDS_BEYOND = 128, 5.0
"""Seconds for one bound on machines with more nodes, for combining collectives.  Relaxations of one
node's data are far from symmetric, and improve the bound for the least steps only."""


def lower_bounds(
    topology: Topology,
    collective: Collective,
    *,
    chunks: int | None = None,
    max_steps: int | None = None,
    num_steps: int | None = None,
    until: Deadline = NEVER,
    prove: Callable[..., RoundsBound] = rounds_bound,
    further: Callable[..., RoundsBound] | None = None,
) -> LowerBounds:
    """Proves lower bounds on S, on R/C with any number of steps, and on R/C for each S.

    Ctrl-C (`KeyboardInterrupt`) ends it as the deadline does, and the result is marked as
    interrupted.

    Args:
        chunks: C; None for the least for which the collective is defined.
        max_steps: bounds for S up to this; None for 3 beyond the least.
        num_steps: bounds for this number of S, from the least on, instead.
        until: deadline; a bound for S that is not proved by then is replaced by the bound for any
            number of steps.  Distances and quick bounds are always included.
        prove: see `BoundsTable`.
        further: see `BoundsTable`.

    Raises:
        UsageError: for an irregular collective, or one that is not defined for this C.
        ModelError: when the demands of the collective are impossible there.
        OutOfTimeError: when the time was over before the distances were known.
    """
    collective.require_regular()
    table = BoundsTable(topology, collective, prove, until, chunks, further)
    chunks, least = table.shape.chunks, table.least_steps  # even if time is over
    last = least + STEPS_BEYOND if max_steps is None else max_steps
    if num_steps is not None:
        last = least + num_steps - 1
    asked: list[int | None] = [None, *range(least, last + 1)]
    most, again = THOROUGH_SECONDS, inf
    if collective.combining and topology.num_nodes > _MOST_NODES_AT_LENGTH:
        most = again = _SECONDS_BEYOND
    late, interrupted = _prove(table, asked, most, again)
    table.deadline = NEVER.sooner(0.0)  # from now on only known bounds
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
        _in_words(late),
        interrupted,
        f"each bound had {share}at most {most:g} s" + (" at first" if share else ""),
    )


def network_bounds(
    fabric: Fabric, collective: Collective, *, chunks: int | None = None, steps: int | None = None
) -> LowerBounds:
    """The bounds of cuts around nodes and switches, before routes are known; without evidence.

    Args:
        chunks: C; None for the least for which the collective is defined.
        steps: bounds for S up to this; None for 3 beyond the least.

    Raises:
        ModelError: if the collective is not defined for this C.
    """
    collective.require_regular()
    nodes = fabric.num_nodes
    chunks = chunks or next(c for c in count(1) if collective.admits(nodes, c))
    table = collective.tabulate(nodes, chunks)
    shape = ChunkClasses.of(table, chunks, combining=collective.combining)
    machine = physical(fabric)
    bound = bound_at_once(machine, shape, fabric.num_switches)
    least = int(bound.rounds > 0)
    last = least + STEPS_BEYOND if steps is None else steps
    every = tuple((s, bound) for s in range(least, last + 1))
    late = _in_words({None, *(s for s, _ in every)})
    why = "the time was over before the routes between all nodes were known"
    return LowerBounds(
        machine,
        collective.name,
        chunks,
        least,
        bound,
        every,
        last,
        None,
        late,
        had=why,
        switches=fabric.num_switches,
    )


def _prove(
    table: BoundsTable, asked: list[int | None], most: float, again: float
) -> tuple[set[int | None], bool]:
    """Bounds each S (any number first, then ascending), and tries late ones again in the rest, with
    at most `again` seconds for each.

    Returns the S for which more time might prove more, and whether the user interrupted it.
    """
    until, waiting, late = table.deadline, list(asked), set[int | None]()
    had: dict[int | None, float] = {}
    try:
        while waiting:
            steps, found = waiting[0], None
            had[steps] = min(most, max(0.0, until.left()) / len(waiting))
            with suppress(OutOfTimeError):
                until.check()
                found = table.tighten(steps, had[steps])
            late.discard(steps)
            if found is None or steps in table.late:
                late.add(steps)
            elif steps is not None and found == table.bandwidth():
                late -= set(waiting)
                waiting.clear()  # a bound that few steps reach, more steps reach too
            waiting = waiting[1:]
            if not (waiting or until.is_never or until.passed):
                most = again
                each = min(most, until.left() / max(1, len(late)))
                waiting = [one for one in asked if one in late and each >= MORE * had[one]]
    except KeyboardInterrupt:
        return late | set(waiting), True
    return late, False


def _in_words(late: set[int | None]) -> tuple[str, ...]:
    """The numbers of steps that were late; a run of them is one text."""
    numbers = sorted(s for s in late if s is not None)
    firsts = [s for s in numbers if s - 1 not in late]
    lasts = [s for s in numbers if s + 1 not in late]
    runs = [
        counted(first, "step") if first == last else f"{first} to {last} steps"
        for first, last in zip(firsts, lasts, strict=True)
    ]
    return ("any number of steps", *runs) if None in late else tuple(runs)
