"""The speed of simulations, and random cases against a simulator without arrays.

::

    python benchmarks/simulation.py                # the first table of results/simulation.md
    python benchmarks/simulation.py --cases 1000   # the second: random cases of tests/simulating

Alpha is 1 us, and beta 25 GB/s if the machine states no bandwidths.  Seconds are of the processor.
"""

from __future__ import annotations

import argparse
import sys
import time
from fractions import Fraction
from pathlib import Path

from benchmarks.tables import made_at
from syncoll.deadline import Deadline
from syncoll.documents import StoredAlgorithm
from syncoll.planning import unit_bandwidth
from syncoll.plugins import resolve_options
from syncoll.searching import ChosenSeed, constructed
from syncoll.session import Session
from syncoll.simulating import Semantics, Sharing, SimulatedSeconds, Timing, physical_network

ALPHA, BETA = Fraction(1, 10**6), Fraction(25 * 10**9)
SPEED = (
    ("torus(4,4)", "multitree"),
    ("torus(8,8)", "multitree"),
    ("torus(16,16)", "multitree"),
    ("torus(32,32)", "multitree"),
    ("dgx_h100(boxes=4)", "ring"),
    ("torus(16,16,16)", "bfb"),
)


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
                SimulatedSeconds(network, semantics)(stored, sizes)
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
        ("fair rates follow the definition", checks.test_fair_rates_match_the_definition),
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
    parser.add_argument("--cases", type=int, default=0)
    arguments = parser.parse_args()
    if arguments.cases:
        cases(arguments.cases)
        return 0
    print("# Simulations\n")
    print(made_at("syncoll/simulating"))
    speed(Session())
    return 0


if __name__ == "__main__":
    sys.exit(main())
