"""An array from one layout over ranks to another: random pairs, run on data, against the bounds.

::

    python benchmarks/reshard.py                  # results/reshard.md
    python benchmarks/reshard.py dgx1 --pairs 3 --work 5

A pair has two random meshes of 2 axes over all ranks or half of them, and for each axis a dimension
that it divides, or copies.  The algorithms of each search run on data, and the fastest one is
simulated for an array of 256 MiB.  Gather and broadcast collect the array at one rank, which sends
it to all: their simulated times are added.
"""

from __future__ import annotations

import argparse
import random
from fractions import Fraction
from typing import Any

import syncoll
from benchmarks.tables import Page, add_options, least_cost, made_at
from syncoll.planning import message_of_collective
from syncoll.verbs.frontier import FrontierResult

MACHINES = {"dgx1": 16, "dgx_h100(boxes=2)": 17, "dgx_h100(boxes=4)": 17}
SHAPE = (192, 128)
"""Elements of the array."""

ENOUGH, MORE = Fraction(1, 20), (1, 4, 16)
"""A larger gap is searched again with these multiples of the work."""

GIVEN: dict[str, dict[str, Any]] = {"dgx1": {"alpha": "0.7us", "beta": "25GB/s"}}
"""Latency and bandwidth of machines that are described without them."""

ARRAY = 1 << 28
"""Its bytes in the simulation."""


def main() -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("machines", nargs="*", help="such as dgx1")
    parser.add_argument("--pairs", type=int, help="on each machine (default 16 or 17)")
    parser.add_argument("--work", type=float, default=2.0, help="of each search (default 2)")
    add_options(parser, "reshard")
    arguments = parser.parse_args()
    page = Page(arguments.output)
    page.say("# From one layout to another", "", made_at(), "")
    page.say(f"An array of {SHAPE[0]} x {SHAPE[1]}, with more work where the gap is above 5 %.", "")
    costs = "work", "R/C", "bound", "gap", "ran", "us", "gather, broadcast us"
    page.head("machine", "from", "to", *costs)
    for machine in arguments.machines or MACHINES:
        topology, rng = syncoll.topology(machine), random.Random(machine)
        plain = gathered(topology, arguments.work)
        for _ in range(arguments.pairs or MACHINES[machine]):
            cells = row(topology, *pair(rng, topology.num_nodes), arguments.work)
            page.row(machine, *cells, f"{plain:.0f}")
            page.write(None)


def pair(rng: random.Random, nodes: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Two layouts between which something moves."""
    while True:
        found = layout(rng, nodes), layout(rng, nodes)
        collective = syncoll.collective("reshard", *found)
        table = collective.tabulate(nodes, 1)
        if (table.post & ~table.pre).any():
            return found


def layout(rng: random.Random, nodes: int) -> dict[str, Any]:
    """A mesh of two axes over all ranks, or half of them."""
    some = rng.choice((nodes, nodes, nodes // 2))
    first = rng.choice([size for size in (1, 2, 4, 8) if size <= some])
    begin = rng.choice((0, nodes - some))
    ranks = list(range(begin, begin + some))
    if rng.random() < 0.3:
        rng.shuffle(ranks)
    spec: list[list[str]] = [[], []]
    for name in rng.sample(("a", "b"), 2):
        if (dimension := rng.randrange(3)) < 2:
            spec[dimension].append(name)
    mesh = {"names": ["a", "b"], "shape": [first, some // first], "ranks": ranks}
    return {"shape": list(SHAPE), "mesh": mesh, "spec": spec}


def words(own: dict[str, Any]) -> str:
    """A layout in words."""
    mesh = own["mesh"]
    sizes = dict(zip(mesh["names"], mesh["shape"], strict=True))
    parts = ["x".join(f"{name}{sizes[name]}" for name in axes) or "-" for axes in own["spec"]]
    ranks = mesh["ranks"]
    order = "" if ranks == sorted(ranks) else ", in random order"
    return f"({', '.join(parts)}) on {min(ranks)}..{max(ranks)}{order}"


def row(
    topology: syncoll.Topology, source: dict[str, Any], target: dict[str, Any], work: float
) -> list[str]:
    """The cells of a pair."""
    collective = syncoll.collective("reshard", source, target)
    for times in MORE:
        found = syncoll.pareto(topology, collective, work=work * times, progress="none")
        cost, bound = least_cost(found, 1 << 20), found.least_bandwidth
        if cost is not None and cost <= bound * (1 + ENOUGH):
            break
    assert cost is not None
    results = syncoll.run(found)
    passed = all(one.ok for one in results)
    return [
        *(words(source), words(target), f"{work * times:g}", str(cost), str(bound)),
        *(f"{float(cost / bound - 1):.2%}", f"{len(results)} {'ok' if passed else 'WRONG'}"),
        f"{1e6 * seconds(found, size(collective, topology.num_nodes)):.0f}",
    ]


def size(collective: syncoll.Collective, nodes: int) -> int:
    """The bytes of a message, as its kind is measured, for the array."""
    unit = Fraction(ARRAY, len(collective.tabulate(nodes, 1)))
    return int(unit * message_of_collective(collective, nodes).per_node)


def seconds(found: FrontierResult, message: int) -> float:
    """The simulated time of the fastest algorithm."""
    given = GIVEN.get(found.topology.name, {})
    times = syncoll.simulate(
        found, sizes=message, classics=False, progress="none", **given
    ).algorithms
    return min(float(one.seconds[0]) for one in times)


def gathered(topology: syncoll.Topology, work: float) -> float:
    """Microseconds of a gather of the array to a rank, then a broadcast from there."""
    parts = (
        syncoll.pareto(topology, f"{name}(root=0)", work=work, progress="none")
        for name in ("gather", "broadcast")
    )
    return 1e6 * sum(seconds(part, ARRAY) for part in parts)


if __name__ == "__main__":
    main()
