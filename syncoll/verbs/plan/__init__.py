"""Chooses, for every message, the fastest algorithm: of a frontier, or a classic that is faster.
Times are simulated, as `syncoll simulate` does it: a send leaves when its data is there and its
lane is free.  With --timing lockstep steps do not overlap, and S steps and R rounds with C chunks
per node take

  overhead + S * alpha + (R/C) * L * beta

--alpha is the latency of each send, in lockstep of each step, as a time (ns, us, ms, s).
--beta is given as a bandwidth: that of a link of one chunk per round, per second in bytes
(GB/s = 10^9, GiB/s = 2^30) or bits (Gb/s).  If the machine has units, the frontier's file gives
the bandwidth and --beta can be left out.  If it has latencies, --alpha can be left out; in lockstep
it is then the greatest of them.

Sizes are bytes of messages, as runtimes and nccl-tests count them.  So are the exported ranges and
the message in algbw, message over time.  L is the data of one node, C chunks of it:
  allgather, gather                   the output, P * L
  reducescatter, alltoall, scatter    the input, L
  allreduce, reduce, broadcast        the buffer, L
  your own, alltoallv, sums           the largest input of a node

  syncoll plan frontier.json --alpha 0.7us --beta 25GB/s
  syncoll plan frontier.json --alpha 0.7us --beta 200Gb/s --plot frontier.svg --sizes 1KiB..1GiB
  syncoll plan frontier.json --alpha 0.7us --beta 25GB/s --size 64MiB
  syncoll plan frontier.json --alpha 0.7us --beta 25GB/s --to msccl-xml --dialect rccl -o planned

-o makes a folder: index.json, and in algorithms/ an export of each algorithm that is the best for
some message, for these sizes and no others.  Algorithms of many chunks are left out as long as
messages take at most 2 % longer.  Ranges touch, the first begins at 0 and the last has no end, or
ends at the runtime's own limit, as a note then says.  Each export is verified, written, read back
by the checker of the format and executed; the folder appears with all of them or not at all.  After
Ctrl-C the folder has the finished exports.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from syncoll.errors import UsageError
from syncoll.verbs.asking import Progress, What, session_of, verb
from syncoll.verbs.declaration import SWEEP, Shell
from syncoll.wording import argument

if TYPE_CHECKING:
    from syncoll import values
    from syncoll.documents import StoredAlgorithm, require_new_folder
    from syncoll.planning import carried, export_plan, members_for
    from syncoll.planning.plan import PLANNED_SIZES, CostModel, message_of, plan_sizes
    from syncoll.results import NEARLY
    from syncoll.simulating import PACKETS, Runtime, SimulatedSeconds, given_network, given_runtime
    from syncoll.simulating.semantics import Semantics, Timing
    from syncoll.verbs.frontier import Source, algorithms_of, frontier_of
    from syncoll.verbs.plan.result import PlanResult
    from syncoll.verbs.simulate.result import classics_of

SHELL = Shell(
    {"source": ("source FRONTIER", "saved with -o"), "exports": "", "algorithms": ""},
    {
        "--sizes FROM..TO": "messages to show, such as 1KiB..1GiB, also FROM:TO, or one (default: "
        "all; in a plot 1KiB to 1GiB and every crossover)",
        "--plot PICTURE": "draw time and bandwidth over size; a name that ends in .png or .svg",
        "-o, --output FOLDER": "a new folder for the exports of --to",
        **SWEEP,
    },
    {"to": "exports", "sizes": "", "output": "exports", "format": ""},
)


@verb
def plan(
    source: Source,
    *,
    alpha: float | str | None = None,
    beta: float | str | None = None,
    runtime: str | Path | Runtime | None = None,
    overhead: float | str | None = None,
    timing: Literal["asynchronous", "lockstep"] = "asynchronous",
    size: int | str | Sequence[int | str] = (),
    classics: bool | Sequence[str] = True,
    collective: What | None = None,
    progress: Progress = "auto",
    exports: str | Path | None = None,
    to: str | None = None,
    in_place: bool = False,
    skip_refused: bool = False,
    tolerance: float | str | None = None,
    options: Mapping[str, object] | None = None,
    algorithms: Sequence[StoredAlgorithm] | None = None,
) -> PlanResult:
    """The fastest algorithm of a frontier for each message size.

    Args:
        source: a frontier, or its file.
        alpha: latency of each send, in lockstep of each step, such as ``0.7us``; None for the
            latencies in the file, if its machine has any.
        beta: bandwidth of a link of one chunk per round, such as ``25GB/s``; None for the bandwidth
            in the file, if its machine has units.
        runtime: as of ``syncoll simulate``; None for the runtime of the exports if it has their
            name, and else ``wire``.
        overhead: of each call of any algorithm; None for that of the runtime.
        size: of a message, such as ``64MiB``, for which to name the fastest; repeatable.  Of a
            pipeline the fastest member takes part, with those for 1 KiB to 1 GiB.  Reproducible
            sums have one association for all sizes: the best for these, or for 1 KiB to 1 GiB.
        classics: whether all classics take part, or the names of some; the ones that are the
            fastest for some message, and that the runtime of the exports carries, are planned.
            None takes part if sums are reproducible.
        collective: for the classics; None for the collective that the file names.
        exports: a new folder for an index and an export of each algorithm that is the best for
            some message.
        to: format of the exports, such as ``mscclpp`` or ``msccl-xml``; None for no exports.
        skip_refused: plan without the algorithms that the format cannot express.
        tolerance: share by which an algorithm of fewer chunks may take longer, such as ``1%``:
            algorithms are left out, the ones of most chunks first, as long as no size exceeds it,
            seen at sizes a factor of 1.4 apart; None for 2% with exports, and else 0.
        algorithms: verified algorithms to choose from, without others; None for the frontier's and
            classics.

    Raises:
        UsageError: on an invalid or missing number, without points, or with too many sends to
            simulate.
        ExportError: if the format cannot express a chosen algorithm.
    """
    if exports is not None:
        if to is None:
            raise UsageError("exports need a format, such as to='msccl-xml'")
        require_new_folder(Path(exports))
    how = values.choice_of("timing", timing, Timing)
    frontier = frontier_of(source, "plan")
    session = session_of(frontier)
    network = given_network(frontier.topology, alpha, beta)
    record = None if to is None else session.plugins.exporters[to]
    runs, call = given_runtime(runtime, overhead, record, options)
    semantics = Semantics(how, overhead=call)
    model, made = CostModel(network.greatest_latency, network.unit, call), None
    rivals: list[StoredAlgorithm] = []
    wanted = tuple(map(values.bytes_of, values.listed(size)))
    sizes = wanted or PLANNED_SIZES
    share = NEARLY * (to is not None)
    if tolerance is not None:
        share = values.share_of("tolerance", tolerance)
    if algorithms is None:
        models = runs.models(network, semantics)
        members = members_for(frontier, models, [*PLANNED_SIZES, *wanted])
        algorithms = [*algorithms_of(frontier, "plan"), *members]
        first = algorithms[0].instance
        found, _ = classics_of(session, first, not first.reproducible and classics, collective)
        rivals = [one for each in found.values() for one in each]
    times: SimulatedSeconds | None = None
    given: dict[str, Any] = {"options": options or {}, "in_place": in_place}
    if how is Timing.ASYNCHRONOUS or runs.accuracy:
        times = SimulatedSeconds(network, semantics, len(algorithms) + len(rivals), runs)
    while True:
        try:
            ranges = plan_sizes([*algorithms, *rivals], model, times, sizes).ranges
        except UsageError as error:
            hint = f"; {argument('timing', 'lockstep')} plans without a simulation"
            raise UsageError(f"{error}{hint * (times is not None)}") from error
        won = [one for one in rivals if any(one is each.algorithm for each in ranges)]
        refused = {id(one) for one, _ in carried(won, record, **given)[1]} if record else set()
        if not refused:
            break
        rivals = [one for one in rivals if id(one) not in refused]
    algorithms = [*algorithms, *won]
    if record is not None:
        given |= {"skip_refused": skip_refused, "simulated": times, "sizes": sizes, "optional": won}
        given |= {"tolerance": share}
        if times is not None and len(runs.protocols) > 1:
            measure, longer = message_of(one.instance for one in algorithms), times.longer_in
            given["small"] = lambda one, some: longer(
                PACKETS, one, [measure.node_bytes(max(1, size)) for size in some]
            )
        made = export_plan(algorithms, model, record, **given)
    chosen = made.plan if made else plan_sizes(algorithms, model, times, sizes, share)
    from_user: dict[str, Any] = {"given": beta is not None, "alpha_given": alpha is not None}
    about = {"frontier": frontier, "made": made, "wanted": wanted, "runtime": runs}
    result = PlanResult.of(chosen, **about, **from_user)
    if exports is not None:
        result.save(exports)
    return result
