"""Simulations: their speed, and their results for machines, in the columns of nccl-tests.

::

    python benchmarks/simulation.py                # results/simulation.md, some 20 minutes
    python benchmarks/simulation.py --speed        # its first table alone
    python benchmarks/simulation.py --cases 10000  # random cases of tests/simulating

Alpha is taken for 1 us, and beta for 25 GB/s where the machine states no bandwidths.  Seconds are
of this process, not of the machine, which others may use.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

from tables import made_at

import syncoll
from syncoll.deadline import Deadline
from syncoll.documents import StoredAlgorithm
from syncoll.errors import SyncollError
from syncoll.planning import CostModel, members_for, unit_bandwidth
from syncoll.plugins import resolve_options
from syncoll.searching import ChosenSeed, constructed
from syncoll.session import Session
from syncoll.simulating import (
    Comparison,
    Semantics,
    Sharing,
    Timing,
    compare,
    physical_network,
    simulated_seconds,
)

ALPHA, BETA = Fraction(1, 10**6), Fraction(25 * 10**9)
SIZES = tuple(1 << bits for bits in range(10, 31, 4))
MACHINES = ("dgx1", "a100(boxes=2)", "mi250(boxes=2)", "dgx_h100(boxes=4)", "torus(8,8)")
COLLECTIVES = (
    *("allgather", "reducescatter", "allreduce", "alltoall"),
    *("broadcast", "reduce", "gather", "scatter"),
)
SPEED = (
    ("torus(4,4)", "multitree"),
    ("torus(8,8)", "multitree"),
    ("torus(16,16)", "multitree"),
    ("torus(32,32)", "multitree"),
    ("dgx_h100(boxes=4)", "ring"),
    ("torus(16,16,16)", "bfb"),
)
SEARCH_SECONDS, CLASSIC_SECONDS = 20.0, 1.5


def row(*cells: object) -> None:
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def head(*cells: str) -> None:
    row(*cells)
    row(*["---"] * len(cells))


def speed(session: Session) -> None:
    """Sends simulated per second."""
    print("\n## Speed\n\nAllgathers, by one size at once, and by 11.\n")
    head("machine", "nodes", "seed", "sends", "listed", "semantics", "s", "sends/s", "11 sizes/s")
    for name, seed_name in SPEED:
        topology, record = session.topology(name), session.plugins.seeds[seed_name]
        seed = ChosenSeed(record, resolve_options(record.options, {}, seed_name))
        found, _ = constructed(
            seed, topology, session.collective("allgather"), Deadline.after(120.0), print
        )
        if not found:
            row(name, topology.num_nodes, seed_name, "none in 120 s", *[""] * 5)
            continue
        instance, algorithm = found[-1]
        stored = StoredAlgorithm(instance, algorithm, seed_name)
        network = physical_network(topology, ALPHA, unit_bandwidth(topology) or BETA)
        listed = getattr(algorithm, "representative", algorithm).num_sends
        ways = [Semantics(timing=Timing.LOCKSTEP), Semantics()]
        if algorithm.num_sends < 5000:
            ways.append(Semantics(sharing=Sharing.FAIR))
        for semantics in ways:
            seconds = []
            for sizes in ([1 << 20], [1 << bits for bits in range(10, 32, 2)]):
                if len(sizes) > 1 and algorithm.num_sends > 10**7 and listed == algorithm.num_sends:
                    continue
                began = time.process_time()
                simulated_seconds(stored, network, semantics, sizes)
                seconds.append((time.process_time() - began) / len(sizes))
            fair = semantics.sharing is Sharing.FAIR
            row(
                name,
                topology.num_nodes,
                seed_name,
                f"{algorithm.num_sends:,}",
                f"{listed:,}",
                "fair" if fair else str(semantics.timing),
                f"{seconds[0]:.3f}",
                *(f"{algorithm.num_sends / each:,.0f}" for each in seconds),
            )


def tables(session: Session, machines: Sequence[str], collectives: Sequence[str]) -> None:
    """The times of the frontier's best and the best classic."""
    print(
        f"\n## Machines\n\nThe best of a search of {SEARCH_SECONDS:g} s, and the best classic; "
        "asynchronous, in turn, cut-through. Times in us, bandwidths in GB/s, sizes of the "
        "message as nccl-tests has them. Alpha is 1 us, and a chunk per round 25 GB/s where the "
        "machine states no bandwidths."
    )
    for machine in machines:
        for collective in collectives:
            print(f"\n### {collective} on {machine}\n", flush=True)
            try:
                compared = _compared(session, machine, collective)
            except SyncollError as error:
                print(f"none: {error}")
                continue
            head(
                *("size", "count", "type", "redop", "fastest", "S", "R/C", "time", "algbw"),
                *("busbw", "best classic", "time", "speed-up"),
            )
            for number in range(len(SIZES)):
                _table_row(compared, number)


def _compared(session: Session, machine: str, collective: str) -> Comparison:
    topology = session.topology(machine)
    network = physical_network(topology, ALPHA, unit_bandwidth(topology) or BETA)
    frontier = syncoll.pareto(machine, collective, time_limit=SEARCH_SECONDS)
    stored = [StoredAlgorithm(p.instance, p.algorithm, p.where) for p in frontier]
    stored += members_for(frontier, CostModel(ALPHA, network.unit), SIZES)
    classics, _ = session.classics(
        topology, session.collective(collective), seconds=CLASSIC_SECONDS
    )
    made = {
        name: [StoredAlgorithm(*one, f"{name}[{i}]") for i, one in enumerate(found)]
        for name, found in classics.items()
    }
    return compare(stored, made, network, Semantics(), SIZES)


def _table_row(compared: Comparison, number: int) -> None:
    best, classic = compared.best(number), compared.best_classic(number)
    measured, speedup = list(compared.measured(best))[number], compared.speedup(number)
    assert measured.algbw is not None
    assert measured.busbw is not None
    row(
        measured.size,
        measured.count,
        "float",
        compared.redop,
        best.name,
        best.algorithm.steps,
        best.algorithm.bandwidth,
        f"{float(measured.seconds) * 1e6:.2f}",
        f"{float(measured.algbw) / 1e9:.2f}",
        f"{float(measured.busbw) / 1e9:.2f}",
        "-" if classic is None else classic.name,
        "-" if classic is None else f"{float(classic.seconds[number]) * 1e6:.2f}",
        "-" if speedup is None else f"{float(speedup):.2f}",
    )


def cases(count: int) -> None:
    """The random cases of tests/simulating, each with `count` seeds; stops at one that fails."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from tests.simulating import test_against_others as checks

    print("\n## Random cases\n")
    head("invariant", "cases", "failed", "processor s")
    for what, check in (
        (
            "agreement with the second simulator",
            checks.test_it_agrees_with_a_simulator_without_arrays,
        ),
        (
            "monotone in latency, bandwidth and size",
            checks.test_a_slower_network_makes_no_send_earlier,
        ),
        (
            "fair rates follow the definition",
            checks.test_fair_rates_match_the_definition,
        ),
        (
            "every send flows at its fair rate all the time",
            checks.test_each_send_flows_at_its_fair_rate_all_the_time,
        ),
        (
            "all bytes carried, no lane above its capacity",
            checks.test_fair_sharing_carries_all_bytes_and_no_lane_too_many,
        ),
    ):
        begin = time.process_time()
        for seed in range(count):
            check(seed)
        row(what, f"{count:,}", 0, f"{time.process_time() - begin:.0f}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--collective", action="append", help="this one only; also several")
    parser.add_argument("--cases", type=int, default=0)
    parser.add_argument("machines", nargs="*", default=list(MACHINES))
    arguments = parser.parse_args()
    if arguments.cases:
        cases(arguments.cases)
        return 0
    session = Session()
    print("# Simulations\n")
    print(made_at("syncoll/simulating"))
    if not arguments.collective:
        speed(session)
    if not arguments.speed:
        tables(session, arguments.machines, arguments.collective or COLLECTIVES)
    return 0


if __name__ == "__main__":
    sys.exit(main())
