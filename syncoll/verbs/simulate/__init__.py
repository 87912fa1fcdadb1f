"""Simulates the algorithms of a file on their physical network, and prints their times for each
message as nccl-tests does: message, count, type, redop, time, algbw, busbw.  They are compared with
ring, double binary tree, recursive halving and doubling, and the other classics of this machine.  A
last table has the fastest for each message, and its lead.

--alpha is the latency of each send, --beta the bandwidth of a link of one chunk per round; values
in the description of the machine can be left out.

  syncoll simulate frontier.json --alpha 1us --beta 25GB/s
  syncoll simulate frontier.json --alpha 1us --beta 25GB/s --sizes 1KiB:1GiB --factor 2
  syncoll simulate frontier.json --alpha 1us --beta 25GB/s --timing lockstep --classics none
  syncoll simulate frontier.json --alpha 1us --beta 25GB/s --slow "0->1 by 3" --late "rank 3 by 9us"
  syncoll simulate frontier.json --runtime nccl --sizes 64KiB,1MiB
  syncoll simulate frontier.json --alpha 1us --beta 25GB/s --packet 256 --header 16 --format json
  syncoll simulate frontier.json --alpha 1us --beta 25GB/s --trace out.pftrace --trace-size 4MiB

docs/simulation.md explains each option.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from syncoll.verbs.asking import Progress, What, Where, session_of, verb
from syncoll.verbs.declaration import SWEEP, Shell

if TYPE_CHECKING:
    from syncoll import simulating, values
    from syncoll.planning import members_for
    from syncoll.simulating import Late, Runtime, Slow, parse_late, parse_slow
    from syncoll.values import require_whole
    from syncoll.verbs.frontier import FrontierResult, Source, algorithms_of, frontier_of, loaded
    from syncoll.verbs.simulate.result import SimulationResult, classics_of

SHELL = Shell(
    {"slow": '--slow "A->B by N" ...', "late": '--late "rank N by TIME" ...'},
    {
        **SWEEP,
        "--all-classics": "a table for each form of a classic, in place of one with the fastest "
        "form at each size",
        "--floors FILE": "write the proofs of the lower bounds on the times, for syncoll check",
        "--trace FILE": "write the events, such as out.pftrace: a track for each lane, arrows from "
        "hop to hop, and the utilisation of each lane",
        "--trace-size SIZE = 1MiB": "of the message",
        "--trace-of NAME ...": "such as points[1] or ring[0]; repeatable (default: the fastest, "
        "and the fastest classic)",
    },
    {
        "timing": "how the network behaves",
        "all-classics": "",
        "floors": "",
        "trace": "traces, for ui.perfetto.dev",
        "format": "",
    },
    page="all_classics",
)


@verb
def simulate(
    source: Source,
    *,
    sizes: int | str | Sequence[int | str] = "1KiB..1GiB",
    factor: int = 4,
    alpha: float | str | None = None,
    beta: float | str | None = None,
    runtime: str | Path | Runtime = "wire",
    overhead: float | str | None = None,
    classics: bool | Sequence[str] = True,
    topology: Where | None = None,
    collective: What | None = None,
    timing: Literal["asynchronous", "lockstep"] = "asynchronous",
    sharing: Literal["in-turn", "fair"] = "in-turn",
    switching: Literal["cut-through", "store-and-forward"] = "cut-through",
    packet: int | str | None = None,
    header: int | str = 0,
    injection: Literal["free", "lockstep"] = "free",
    depth: int | None = None,
    reduction: float | str | None = None,
    slow: Iterable[str | Slow] = (),
    late: Iterable[str | Late] = (),
    progress: Progress = "auto",
) -> SimulationResult:
    """Times of algorithms on their physical network, and of classics.

    Args:
        sizes: of messages as nccl-tests counts them (of an allgather or gather the output): a range
            such as ``1KiB:1GiB``, one size, or several with commas.
        factor: from each size of a range to the next.
        beta: bandwidth of a link of one chunk per round, such as ``25GB/s``; None for the bandwidth
            in the file, if its machine has units.
        overhead: of each call; None for that of the runtime.
        topology: the machine; None for the one of the file.
        collective: for the classics; None for the collective that the file names.
        sharing: sends that meet on a lane go one after the other, or share it fairly.
        switching: a switch forwards the first byte at once, or waits for the last.
        packet: payload of a packet; None for one packet for each send.
        header: bytes before each packet, or each send.
        injection: a node begins its next step at once, or in MultiTree's lockstep.
        depth: number of sends that a connection holds until the first has arrived; None for any
            number.
        reduction: bytes per second that a node adds up, such as ``300GB/s``; None for that of the
            runtime.
        slow: lanes with an Nth of their bandwidth; A and B are nodes, 'switch N', or *; repeatable.
        late: a rank that begins later; repeatable.

    Raises:
        UsageError: on an invalid or missing number, or if there is nothing to simulate.
    """
    if isinstance(source, str) or hasattr(source, "__fspath__"):
        given = {"topology": topology, "collective": collective}
        source = loaded(source, "simulate", **given)  # type: ignore[arg-type]
    algorithms = list(algorithms_of(source, "simulate", topology))
    machine = algorithms[0].instance.topology
    how, call = simulating.given_runtime(runtime, overhead)
    semantics = simulating.Semantics(
        values.choice_of("timing", timing, simulating.Timing),
        values.choice_of("switching", switching, simulating.Switching),
        values.choice_of("sharing", sharing, simulating.Sharing),
        values.choice_of("injection", injection, simulating.Injection),
        None if packet is None else values.bytes_of(packet),
        values.bytes_of(header),
        depth,
        Fraction(0) if reduction is None else 1 / values.bandwidth_of("reduction", reduction),
        call,
        tuple(parse_slow(one) if isinstance(one, str) else one for one in slow),
        tuple(parse_late(one) if isinstance(one, str) else one for one in late),
    )
    network = simulating.given_network(machine, alpha, beta)
    semantics.on(network)  # before anything that takes long
    require_whole("factor", factor, 2)
    chosen = sorted(values.sizes_of("sizes", sizes, factor))
    if isinstance(source, FrontierResult):
        models = how.models(network, semantics)
        algorithms += members_for(frontier_of(source), models, chosen)
    instance = algorithms[0].instance
    found, reasons = classics_of(session_of(source), instance, classics, collective)
    compared = simulating.compare(algorithms, found, network, semantics, chosen, reasons, how)
    compared = simulating.with_floors(
        compared, source if isinstance(source, FrontierResult) else None
    )
    return SimulationResult.of(compared, collective=instance.collective)
