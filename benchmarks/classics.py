"""The classics: the claims of papers, and their costs on machines and networks.

::

    python benchmarks/classics.py                    # the tables of results/classics.md
    python benchmarks/classics.py --costs dgx1 'torus(8,8)'

Every algorithm in a table has passed the verifier; seconds are of the construction.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from benchmarks.tables import made_at
from syncoll.model import Algorithm, Collective, Instance, Topology, compose, invert
from syncoll.model.fabric import Fabric
from syncoll.plugins import PluginManager, Proposal, SeedLimits
from syncoll.plugins.options import resolve_options
from syncoll.routing import as_topology
from syncoll.spec import SpecLibrary
from syncoll.trust import require_valid
from syncoll_classics import RECORDS
from syncoll_classics.bigraph import numbered_bigraph, rank_mapping
from syncoll_classics.exchanges import doubling_peers, exchange
from tests.oracles.fabrics import a100, bigraph

Ints = npt.NDArray[np.int64]

COSTS = ("ring(8)", "dgx1", "hypercube(4)", "torus(4,4)", "mesh(4,4)", "hub(16)", "a100(boxes=2)")

COLLECTIVES = ("allgather", "broadcast", "alltoall", "allreduce")


def row(*cells: object) -> None:
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def head(title: str, *cells: str) -> None:
    print(f"\n## {title}\n")
    row(*cells)
    row(*["---"] * len(cells))


def proposals(
    name: str, topology: Topology, collective: Collective, **options: object
) -> Iterator[tuple[Proposal, Instance, float]]:
    """Verified proposals, each with the seconds of its construction."""
    record = next(record for record in RECORDS if record.name == name)
    values = resolve_options(record.options, options, f"seed {name}")
    found = record.load().propose(topology, collective, SeedLimits(), values)
    began = time.perf_counter()
    for proposal in filter(None, found):
        seconds = time.perf_counter() - began
        algorithm = proposal.algorithm
        instance = collective.instantiate(
            topology, chunks=proposal.chunks, steps=algorithm.steps, rounds=algorithm.rounds
        )
        require_valid(instance, algorithm)
        yield proposal, instance, seconds
        began = time.perf_counter()


def nccl(specs: SpecLibrary) -> None:
    """NCCL's collectives on DGX-1."""
    head("NCCL's rings on DGX-1 (SCCL paper, Table 3)", "collective", "paper (C, S, R)", "ours",
         "seconds")  # fmt: skip
    topology, allgather = as_topology(specs.topology("dgx1")), specs.collective("allgather")
    proposal, instance, seconds = next(proposals("ring", topology, allgather))

    def line(name: str, paper: tuple[int, int, int], ours: Instance, seconds: float) -> None:
        row(name, paper, (ours.chunks, ours.steps, ours.rounds), f"{seconds:.2f}")

    line("allgather", (6, 7, 7), instance, seconds)
    began = time.perf_counter()
    reducescatter = invert(instance, proposal.algorithm, "reducescatter")
    require_valid(*reducescatter)
    line("reducescatter", (6 * 8, 7, 7), reducescatter[0], seconds + time.perf_counter() - began)
    allreduce: tuple[Instance, Algorithm] = compose(
        reducescatter, (instance, proposal.algorithm), "allreduce"
    )
    require_valid(*allreduce)
    line("allreduce", (48, 14, 14), allreduce[0], seconds + time.perf_counter() - began)
    for m in (1, 2, 4, 8, 16):
        paper = (6 * m, 6 + m, 6 + m)
        for made, found, seconds in proposals("ring", topology, specs.collective("broadcast")):
            if (found.chunks, found.steps) == paper[:2]:
                line(f"broadcast, m = {m}", paper, found, seconds)
                began = time.perf_counter()
                turned = invert(found, made.algorithm, "reduce")
                require_valid(*turned)
                line(f"reduce, m = {m}", paper, turned[0], seconds + time.perf_counter() - began)


def textbook(specs: SpecLibrary) -> None:
    """Steps, rounds and chunks as textbooks have them, on networks that the algorithms suit."""
    head("Textbook counts, (S, R, C)", "classic", "collective", "network", "textbook", "ours",
         "seconds")  # fmt: skip

    def line(
        classic: str, collective: str, network: str, book: tuple[int, int, int], **options: object
    ) -> None:
        topology, wanted = as_topology(specs.topology(network)), specs.collective(collective)
        found = {
            (i.steps, i.rounds, i.chunks): seconds
            for _, i, seconds in proposals(classic, topology, wanted, **options)
        }
        ours = book if book in found else min(found)
        row(classic, collective, network, book, ours, f"{found[ours]:.3f}")

    for nodes in (8, 13, 32):
        line("ring", "allgather", f"hub({nodes})", (nodes - 1, nodes - 1, 1))
    for nodes in (8, 13, 32):
        log = (nodes - 1).bit_length()
        moved = sum(offset >> t & 1 for t in range(log) for offset in range(nodes))
        line("bruck", "allgather", f"hub({nodes})", (log, nodes - 1, 1))
        line("bruck", "alltoall", f"hub({nodes})", (log, moved, nodes))
        line("binomial", "broadcast", f"hub({nodes})", (log, log, 1))
        line("binomial", "scatter", f"hub({nodes})", (log, nodes - 1, nodes))
        line("all_pairs", "alltoall", f"fully_connected({nodes})", (1, 1, nodes))
    for dimension in (3, 5):
        nodes, network = 1 << dimension, f"hypercube({dimension})"
        line("recursive_doubling", "allgather", network, (dimension, nodes - 1, 1))
        line("recursive_doubling", "allreduce", network, (dimension, dimension, 1))
        line("halving_doubling", "allreduce", network, (2 * dimension, 2 * (nodes - 1), nodes))
    for nodes in (8, 13, 32):
        # Each of m segments a step, down a tree of ceil(log2 P) levels; two chunks a port and step.
        steps = (nodes - 1).bit_length() + 15
        line("double_binary_tree", "broadcast", f"hub({nodes})", (steps, 2 * steps, 32))


def step_loads(fabric: Fabric, ranks: Ints | None) -> list[Fraction]:
    """The load of the fullest link of each step of recursive doubling, in links' chunks."""
    digits = fabric.num_nodes.bit_length() - 1
    way = exchange(doubling_peers(list(range(digits)), ranks))
    loads: list[dict[tuple[int, int], Fraction]] = [{} for _ in range(digits)]
    pairs: Counter[tuple[int, int, int]] = Counter()
    for source, destination in zip(*np.nonzero(way.parents >= 0), strict=True):
        step, parent = way.steps[source, destination], way.parents[source, destination]
        pairs[int(step), int(parent), int(destination)] += 1
    for (step, a, b), chunks in pairs.items():
        for link, share in shortest_routes(fabric, a, b).items():
            loads[step][link] = loads[step].get(link, Fraction(0)) + share * chunks
    unit = fabric.chunk_bandwidth
    return [
        max(load * unit / fabric.bandwidths[link] for link, load in carried.items())
        for carried in loads
    ]


def rank_mappings() -> None:
    """Halving-doubling on BiGraphs, ranks as nodes are numbered and mapped."""
    head("Halving-doubling allgather on a BiGraph: load of the fullest physical link, step by step "
         "(the least is 1 2 4 ..., P - 1 in all)", "network", "ranks", "by step", "in all",
         "seconds")  # fmt: skip
    for switches, each in ((4, 8), (4, 16)):
        fabric = bigraph(switches, each)
        began = time.perf_counter()
        ranks = rank_mapping(numbered_bigraph(f"{switches}x{each}", fabric.num_nodes))
        for words, mapped in (("as numbered", None), ("mapped (HDRM)", ranks)):
            loads = step_loads(fabric, mapped)
            row(fabric.name, words, " ".join(str(load) for load in loads), sum(loads),
                f"{time.perf_counter() - began:.2f}")  # fmt: skip


def shortest_routes(
    fabric: Fabric, source: int, destination: int
) -> dict[tuple[int, int], Fraction]:
    """The load of each link by one unit that is split evenly over all shortest routes."""
    onward: dict[int, list[int]] = {}
    backward: dict[int, list[int]] = {}
    for link in fabric.links:
        onward.setdefault(link.source, []).append(link.destination)
        backward.setdefault(link.destination, []).append(link.source)
    away = {destination: 0}
    queue = deque([destination])
    while queue:
        vertex = queue.popleft()
        for before in backward.get(vertex, ()):
            if before not in away:
                away[before] = away[vertex] + 1
                queue.append(before)
    carried: dict[tuple[int, int], Fraction] = {}
    amount = {source: Fraction(1)}
    for left in range(away[source], 0, -1):
        for vertex in [v for v in amount if away[v] == left]:
            nexts = [v for v in onward[vertex] if away.get(v) == left - 1]
            for neighbour in nexts:
                share = amount[vertex] / len(nexts)
                carried[vertex, neighbour] = carried.get((vertex, neighbour), Fraction(0)) + share
                amount[neighbour] = amount.get(neighbour, Fraction(0)) + share
    return carried


def ring_algbw(fabric: Fabric, rings: Sequence[Sequence[int]]) -> Fraction:
    """The algorithmic bandwidth of a ring allgather, by ForestColl's model.

    Each node's shard, a P-th of the data, is cut evenly over the rings and travels P - 1 hops round
    each. So all but one P-th of a ring's part crosses every hop. A hop takes the shortest routes
    through the switches. The time is that of the most loaded link.

    Args:
        fabric: nodes, switches and bandwidths.
        rings: orders of the compute nodes.

    Returns:
        Data over time, in the unit of the fabric's bandwidths.
    """
    load: dict[tuple[int, int], Fraction] = {}
    part = Fraction(fabric.num_nodes - 1, fabric.num_nodes * len(rings))
    for ring in rings:
        for source, destination in zip(ring, (*ring[1:], ring[0]), strict=True):
            for link, share in shortest_routes(fabric, source, destination).items():
                load[link] = load.get(link, Fraction(0)) + share * part
    return 1 / max(amount / fabric.bandwidths[link] for link, amount in load.items())


def box_rings(boxes: int, gpus: int = 8) -> list[list[int]]:
    """As many rings as GPUs in a box, each leaving boxes by another card, as NCCL does.

    Rings pass the boxes, an even number, forth and back in turn. So a ring enters a box by the card
    of the same place as the card by which it left the box before.
    """
    rings = []
    for turn in range(gpus):
        forth = [(turn + i) % gpus for i in range(gpus)]
        rings.append(
            [
                gpus * box + i
                for box in range(boxes)
                for i in (forth if box % 2 == 0 else forth[::-1])
            ]
        )
    return rings


def fabrics(specs: SpecLibrary) -> None:
    """The ring of the ForestColl paper."""
    head("Ring allgather by ForestColl's model (section 5.3)", "network", "rings",
         "paper, GB/s", "ours, GB/s", "seconds")  # fmt: skip
    began = time.perf_counter()
    ours = ring_algbw(a100(2), box_rings(2))
    row("2 A100 boxes", 8, "213.33", f"{float(ours):.2f} = {ours}",
        f"{time.perf_counter() - began:.2f}")  # fmt: skip
    began = time.perf_counter()
    one = ring_algbw(a100(2), box_rings(2)[:1])
    row("2 A100 boxes", 1, "", f"{float(one):.2f} = {one}", f"{time.perf_counter() - began:.2f}")
    for boxes in (2, 4, 8):
        topology = as_topology(specs.topology(f"a100(boxes={boxes})"))
        proposal, found, seconds = next(
            proposals("ring", topology, specs.collective("allgather"), seconds=5.0)
        )
        assert topology.fabric is not None
        data = topology.num_nodes * found.chunks * topology.fabric.chunk_bandwidth
        rate = data / found.rounds
        row(topology.name, f"seed ring: {proposal.note}, (S, R, C) = "
            f"{(found.steps, found.rounds, found.chunks)}", "213.33" if boxes == 2 else "",
            f"{float(rate):.2f} = {rate}", f"{seconds:.2f}")  # fmt: skip


def ring2d(specs: SpecLibrary) -> None:
    """The 2D-ring against bandwidth-optimal allreduce."""
    head("2D-ring allreduce on N x N tori: data sent, against a bandwidth-optimal algorithm's "
         "(MultiTree paper, section II-C)", "torus", "paper 2N(N - 1) / (N^2 - 1)",
         "ours, sends a link", "steps", "seconds")  # fmt: skip
    for side in (4, 6, 8):
        topology = as_topology(specs.topology(f"torus({side},{side})"))
        ((_, found, seconds),) = proposals("ring2d", topology, specs.collective("allreduce"))
        least = Fraction(2 * (side**2 - 1), 4 * side**2)
        paper, ours = (
            Fraction(2 * side * (side - 1), side**2 - 1),
            found.rounds / least / found.chunks,
        )
        row(topology.name, paper, ours, found.steps, f"{seconds:.2f}")


def costs(specs: SpecLibrary, topologies: Sequence[str]) -> None:
    """The cost of each classic on each machine, for its proposals that no other one dominates."""
    head("Costs", "topology", "collective", "classic", "C", "S", "R", "R/C", "seconds", "note")
    for name in topologies:
        topology = as_topology(specs.topology(name))
        for title in COLLECTIVES:
            for record in RECORDS:
                segments = any(option.name == "segments" for option in record.options)
                found = [
                    (i.steps, Fraction(i.rounds, i.chunks), i, seconds, proposal.note)
                    for proposal, i, seconds in proposals(
                        record.name,
                        topology,
                        specs.collective(title),
                        **({"segments": 8} if segments else {}),
                    )
                ]
                least: Fraction | None = None
                for _, ratio, i, seconds, note in sorted(found, key=lambda f: f[:2]):
                    if least is None or ratio < least:
                        least = ratio
                        row(name, title, record.name, i.chunks, i.steps, i.rounds, ratio,
                            f"{seconds:.2f}", note)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--costs", nargs="*", metavar="TOPOLOGY", help="only the costs on these")
    arguments = parser.parse_args()
    print(made_at("backends/syncoll_classics"))
    plugins = PluginManager.discover()
    specs = SpecLibrary([record.folder for record in plugins.spec_libraries.values()])
    if arguments.costs is None:
        nccl(specs)
        textbook(specs)
        fabrics(specs)
        rank_mappings()
        ring2d(specs)
    costs(specs, arguments.costs or COSTS)


if __name__ == "__main__":
    main()
