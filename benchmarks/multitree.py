"""MultiTree against ring, double binary tree, 2D-ring and HDRM (MultiTree paper, section VI).

::

    python benchmarks/multitree.py                # the tables of results/multitree.md

On the eight networks of the paper, with 150 ns and 16 GB/s a link (Table III): steps, data that a
node sends, the load of the fullest link, and the ratio of times for large messages; the effect of
orders of neighbours, and the time MultiTree takes to build its trees. Bandwidths, weak scaling and
training in simulation, and the claims of the paper, are figures (``figures.py multitree-9``, -10
and -11).

Every algorithm has passed the verifier.  The alpha-beta model with contention says how long its
messages take on the links of the real machine: alpha for each link of a step's longest way, plus
bytes over bandwidth, where

- step by step: each step waits for its fullest link, in lockstep;
- overlapped: steps may overlap as they like, and the fullest link of all decides.  That is the best
  that contention allows a rival; the double binary tree, which is pipelined, is only seen so.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from itertools import pairwise

import numpy as np

import syncoll_multitree
from benchmarks.papers.multitree.allreduces import BANDWIDTH, LATENCY, Made, algorithms, verified
from benchmarks.papers.multitree.machines import Machine, bigraph, eight, fat_tree, grid, specs
from benchmarks.tables import made_at
from syncoll.model import Fabric, Topology
from syncoll.plugins import SeedLimits
from syncoll.plugins.options import resolve_options
from syncoll.routing import as_topology
from syncoll_multitree.construction import TimedTrees, multitree, places_of
from syncoll_multitree.quotient import TranslationQuotient, fewest_steps
from syncoll_multitree.switched import SEARCHES
from syncoll_multitree.translations import find_translations
from tests.oracles.multitrees import multitree_on_fabric, translated

LARGE = 64 << 20  # bytes: the largest that the paper tried


@dataclass(frozen=True)
class Cost:
    """Sizes are in units of a node's data, and link loads in such units per unit of bandwidth.

    Args:
        steps: S.
        sent: the data of the node that sends most.
        fullest: the total load of the fullest link.
        in_steps: the sum over the steps of the load of the fullest link.
        hops: the links of the longest way of each step, added up.
        making: CPU seconds of the construction.
        checking: CPU seconds of the verifier.
    """

    steps: int
    sent: float
    fullest: float
    in_steps: float
    hops: int
    making: float
    checking: float

    def seconds(self, size: float, *, overlapped: bool = False) -> float:
        load = self.fullest if overlapped else self.in_steps
        return self.hops * float(LATENCY) + load * size / float(BANDWIDTH)


def measure(machine: Machine, algorithm: Callable[[Machine], Made]) -> Cost:
    began = time.process_time()
    made = algorithm(machine)
    making = time.process_time() - began
    began = time.process_time()
    verified(made, machine.nodes)
    checking = time.process_time() - began
    route, bandwidth = cache(machine.route), machine.fabric.bandwidths
    loads: dict[int, dict[tuple[int, int], int]] = {}
    sent = [0] * machine.nodes
    longest: dict[int, int] = {}
    for part, a, b, step in made.sends[0].tolist():
        path = made.ways.get((part, a, b)) or route(a, b)
        load = loads.setdefault(step, {})
        for ends in pairwise(path):
            load[ends] = load.get(ends, 0) + 1
        sent[a] += 1
        longest[step] = max(longest.get(step, 0), len(path) - 1)
    in_all: dict[tuple[int, int], int] = {}
    in_steps = Fraction(0)
    for load in loads.values():
        in_steps += max(amount / bandwidth[ends] for ends, amount in load.items())
        for ends, amount in load.items():
            in_all[ends] = in_all.get(ends, 0) + amount
    fullest = max(amount / bandwidth[ends] for ends, amount in in_all.items())
    return Cost(
        len(loads), max(sent) / made.parts, float(fullest / made.parts),
        float(in_steps / made.parts), sum(longest.values()), making, checking,
    )  # fmt: skip


@cache
def costs(machine: Machine) -> dict[str, Cost]:
    return {name: measure(machine, algorithm) for name, algorithm in algorithms(machine)}


def ratios(machine: Machine, name: str, size: float) -> tuple[float | None, float]:
    """By how much MultiTree in steps is faster: than the rival in steps, and overlapped."""
    ours, theirs = costs(machine)["MultiTree"].seconds(size), costs(machine)[name]
    stepwise = None if name == "double binary tree" else theirs.seconds(size) / ours
    return stepwise, theirs.seconds(size, overlapped=True) / ours


def row(*cells: object) -> None:
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def table(title: str, *head: str) -> None:
    print(f"\n## {title}\n")
    row(*head)
    row(*["---"] * len(head))


def number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


PAPER = {
    ("torus", "ring"): "faster", ("torus", "2D-ring"): "faster", ("torus", "double binary tree"):
    "faster, by most", ("mesh", "ring"): "faster", ("mesh", "2D-ring"): "faster",
    ("mesh", "double binary tree"): "faster, by most", ("fat_tree", "ring"): "equal", ("bigraph",
    "ring"): "equal", ("fat_tree", "double binary tree"): "faster", ("bigraph",
    "double binary tree"): "faster", ("bigraph", "HDRM"): "equal",
}  # fmt: skip
"""The paper's text about large messages (section VI.A); its Figure 9 prints no numbers."""


def eight_networks() -> None:
    table(
        "The eight networks, 64 MiB", "network", "algorithm", "steps", "sent by a node",
        "fullest link", "step by step", "ms", "MultiTree is faster by: paper", "ours, step by step",
        "ours, rival overlapped", "CPU s", "to verify",
    )  # fmt: skip
    for machine in eight():
        for name, cost in costs(machine).items():
            stepwise, overlapped = ratios(machine, name, LARGE)
            alone = name == "double binary tree"
            kind = machine.reference.partition("(")[0]
            mine = name == "MultiTree"
            row(
                machine.reference, name, cost.steps, f"{cost.sent:.3f}", f"{cost.fullest:.3f}",
                "-" if alone else f"{cost.in_steps:.3f}",
                f"{cost.seconds(LARGE, overlapped=alone) * 1e3:.3f}",
                PAPER.get((kind, name), "-"), "-" if mine else number(stepwise),
                "-" if mine else number(overlapped), f"{cost.making:.3f}", f"{cost.checking:.2f}",
            )  # fmt: skip


def circulant(nodes: int, *jumps: int) -> Topology:
    links = {(a, (a + s * j) % nodes): 1 for a in range(nodes) for j in jumps for s in (1, -1)}
    named = ",".join(map(str, jumps))
    return Topology.from_links(f"circulant({nodes}; {named})", nodes, links)


def orders_of_neighbours() -> None:
    table(
        "Orders of neighbours, up to reflections: time steps (how many orders take them)",
        "network", "least", "a pair outermost", "others", "chosen", "each by itself: far",
    )  # fmt: skip

    def counted(steps: list[int]) -> str:
        return ", ".join(f"{s} ({n})" for s, n in sorted(Counter(steps).items())) or "-"

    tori = ("3,3", "4,4", "5,5", "6,6", "8,8", "12,12", "16,16", "3,7", "4,5", "4,8", "5,8",
            "8,16", "3,3,3", "4,4,4", "3,4,5")  # fmt: skip
    names = [*(f"torus({sizes})" for sizes in tori), "hypercube(4)", "hypercube(6)"]
    circulants = [circulant(16, 1, 4), circulant(17, 1, 4), circulant(21, 1, 8),
                  circulant(25, 1, 7), circulant(27, 1, 3, 9), circulant(65, 1, 8)]  # fmt: skip
    for topology in [*(as_topology(specs().topology(name)) for name in names), *circulants]:
        quotient = TranslationQuotient(topology, find_translations(topology)[0])
        outer: list[int] = []
        others: list[int] = []
        for order in quotient.orders():
            vectors = [quotient.vectors[order[i]] for i in (0, -1)]
            sizes = quotient.translations.sizes
            paired = all((a + b) % n == 0 for a, b, n in zip(*vectors, sizes, strict=True))
            (outer if paired else others).append(quotient.grow(1, 1, order).cost[0])
        least, _ = quotient.least(1, 1)
        chosen = fewest_steps([quotient], 1, 1).cost[0]
        row(topology.name, least, counted(outer), counted(others), chosen,
            multitree(topology).num_steps)  # fmt: skip
    for name in ("mesh(4,4)", "mesh(8,8)", "mesh(3,5)", "mesh(3,8)", "mesh(4,8)", "mesh(2,3,4)"):
        topology = as_topology(specs().topology(name))
        least = max(-(-(topology.num_nodes - 1) // len(into)) for into in topology.in_links)
        least = max(least, int(topology.distances.max()))
        places = places_of(topology)
        far, scarce = (
            multitree(topology, np.argsort(places).tolist(), order=order, places=places).num_steps
            for order in ("far", "scarce")
        )
        row(name, least, "-", f"long side first {far}, scarce {scarce}", min(far, scarce),
            multitree(topology).num_steps)  # fmt: skip


def the_seed() -> None:
    table(
        "The seed: CPU seconds until", "network", "the paper's schedule", "it",
        "all trees that are no worse than others", "how many", "the last of them: S, R, C",
    )  # fmt: skip
    record = syncoll_multitree.RECORD
    values = resolve_options(record.options, {"pipelined": False, "seconds": 1000.0}, "multitree")
    for name in ("torus(4,4)", "torus(8,8)", "torus(16,16)", "torus(8,8,8)"):
        began, times, made = time.process_time(), [], []
        proposed = record.load().propose(
            as_topology(specs().topology(name)),
            specs().collective("allgather"),
            SeedLimits(max_chunks=4),
            values,
        )
        for proposal in filter(None, proposed):
            times.append(time.process_time() - began)
            made.append((proposal.algorithm.steps, proposal.algorithm.rounds, proposal.chunks))
        row(name, f"{times[0]:.2f}", made[0], f"{time.process_time() - began:.2f}", len(made),
            made[-1])  # fmt: skip


ORDERS = """
The order of neighbours with the fewest time steps differs from network to network. On 4x4 and
8x8 it is any with the two ends of one dimension outermost, on 16x16 any other. With unequal sides
it most often has the longer side outermost, but the shorter on 4x8 and 4x5. In three dimensions
many of both kinds do. On 3x3, 5x5, 6x6 and 12x12 no order takes the least: all take one more. On
circulants it may be either kind. There is no rule, so the seed tries orders until one takes the
least, first the orders with a pair outermost; only the tree of one root has to be grown. A
hypercube is a torus with sides of 4 (and one of 2), and as such it takes the least too. On meshes
trees with the largest remaining height go first. There the longest side first takes the least on
each mesh that was tried.

One choice here differs from the paper, and a table below shows both: on switches a tree takes in
near nodes first. With the paper's search, node by node, a BiGraph needs 39 and 79 time steps, not
31 and 63. MultiTree would then be slower than the ring by a quarter, and the paper says equal.
"""


def building() -> None:
    table("How long the trees take", "network", "trees", "way", "time steps", "least", "CPU s")

    def timed(machine: Machine, way: str, least: int, make: Callable[[], TimedTrees]) -> None:
        began = time.process_time()
        made = make()
        seconds = time.process_time() - began
        row(machine.reference, machine.nodes, way, made.num_steps, least, f"{seconds:.2f}")

    grids = [grid(side, side, True) for side in (4, 8, 16, 32)]
    for machine in (*grids, grid(16, 16, False), grid(32, 32, False)):
        topology = as_topology(specs().topology(machine.reference))
        least = max(-(-(machine.nodes - 1) // len(links)) for links in topology.in_links)
        symmetry = find_translations(topology)
        if symmetry:
            make = partial(translated, topology, symmetry)
            timed(machine, "translated", least, make)
        timed(machine, "each by itself", least, partial(multitree, topology))
    for machine in (fat_tree(8), bigraph(4, 8), bigraph(4, 16)):
        for search in SEARCHES:
            timed(
                machine, f"search {search}", machine.nodes - 1,
                partial(over_switches, machine.fabric, search),
            )  # fmt: skip


def over_switches(fabric: Fabric, search: str) -> TimedTrees:
    return multitree_on_fabric(fabric, search=search).timed


def main() -> None:
    print(made_at("backends/syncoll_multitree"))
    eight_networks()
    orders_of_neighbours()
    print(ORDERS)
    building()
    the_seed()


if __name__ == "__main__":
    main()
