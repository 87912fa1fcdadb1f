"""Finds the best algorithms of a collective on a machine: for each number of steps S (latency cost)
the least bandwidth cost R/C, from the fewest steps possible down to the bandwidth bound.  Every
algorithm shown has passed an independent verifier.

  syncoll pareto dgx1 allgather
  syncoll pareto "ring(8)" "broadcast(root=3)" --max-steps 8
  syncoll pareto dgx1 broadcast --max-steps 5 --jobs 4 --proofs proofs
  syncoll pareto dgx1 allgather --optimise-for 64KiB:4MiB --alpha 1us --beta 25GB/s
  syncoll pareto my-machine.syncoll:quad my-collectives.syncoll:shift -o frontier.json
  syncoll pareto dgx1 'alltoallv("tokens.csv")'
  syncoll pareto dgx1 "allgather within [[0,1,2,3],[4,5,6,7]]"
  syncoll pareto dgx1 "2 * allgather + alltoall"

The search improves its points while a gap to a proved bound is open.  Ctrl-C and --time-limit end
it; the answer then says which points are not proved optimal, and how large their gaps are.

Exit codes: 0 searched to the end or points found; 1 proved impossible before any search
(--max-steps or --max-rounds is below the bounds by distances and cuts); 2 bad input; 3 stopped by a
limit without a point; 130 Ctrl-C, and the frontier is saved even without -o.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Unpack

from syncoll.errors import UsageError
from syncoll.verbs.asking import What, Where, deadline_of, reading, session_for, verb
from syncoll.verbs.search_options import SEARCH, SearchOptions, limits_of
from syncoll.wording import argument

if TYPE_CHECKING:
    from syncoll.ledger import Observer, SearchRequest, Strategy
    from syncoll.searching.by_time import aimed
    from syncoll.simulating import Runtime
    from syncoll.values import choice_of, doubled_sizes
    from syncoll.verbs.frontier import FrontierResult
    from syncoll.verbs.pareto.searching import require_possible, searched

SHELL = SEARCH


@verb
def pareto(
    topology: Where,
    collective: What,
    *,
    strategy: Literal["certified", "paper"] = "certified",
    symmetric: bool = True,
    optimise_for: int | str | Sequence[int | str] | None = None,
    alpha: float | str | None = None,
    beta: float | str | None = None,
    runtime: str | Path | Runtime | None = None,
    output: str | Path | None = None,
    proofs: str | Path | None = None,
    progress: str | Observer = "auto",
    **options: Unpack[SearchOptions],
) -> FrontierResult:
    """The Pareto frontier of a collective on a machine.

    Args:
        optimise_for: sizes of messages as nccl-tests counts them (of an allgather or gather the
            output): one, several with commas, or a range such as ``64KiB:4MiB`` by powers of two.
            Only points are searched that may be the fastest for one of them, by S * alpha +
            (R/C) * L * beta; then algorithms that take less simulated time are added: classics,
            points in smaller chunks, and other orders of sends.
        alpha: latency of a step, such as ``0.7us``; None for the latencies of the machine.
        runtime: the library that runs the algorithms, such as ``mscclpp``, or the file of one; None
            for ``wire``, the network without a library.
        progress: on standard error; ``log`` has a line for each event and a table of the engines;
            or an `Observer`.
        options: limits and settings, see `SearchOptions`.

    Raises:
        SyncollError: on names that do not exist, settings that contradict each other, and errors
            of plugins.

    >>> pareto("ring(4)", "allgather", progress="none")[0].bandwidth
    Fraction(3, 2)
    """
    require_possible(output, proofs, progress)
    limits, settings = limits_of(options)
    session = session_for(settings)
    until = deadline_of(limits["time_limit"], work=limits["work"])
    with reading(until):
        where, what = session.topology(topology), session.collective(collective)
    goal = aim = None
    if optimise_for is not None:
        sizes = doubled_sizes("optimise_for", optimise_for)
        goal, aim = aimed(where, what, sizes, alpha, beta, runtime)
    elif (alpha, beta, runtime) != (None, None, None):
        raise UsageError(
            f"{argument('alpha')}, {argument('beta')} and {argument('runtime')} need the sizes of "
            f"{argument('optimise_for')}, which is missing"
        )
    how = choice_of("strategy", strategy, Strategy)
    request = SearchRequest(where, what, how, symmetric=symmetric, aim=aim, **limits)
    return searched(session, request, until, output, proofs, progress, goal=goal)
