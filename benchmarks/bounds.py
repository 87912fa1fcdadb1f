"""Lower bounds: the bound and the size of each relaxation, and where the seconds go.

::

    python benchmarks/bounds.py                      # the machines of results/bounds.md
    python benchmarks/bounds.py --topology 'torus(4,4)' --collective allgather --extra-steps 4

A row is one linear program for a collective that moves chunks, or one bound for a collective that
combines them.  S is "any" where the bound holds for any number of steps.  The last column says
around how many nodes a cut proves the bound as well, or that none of those tried does.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from fractions import Fraction

from benchmarks.tables import made_at
from syncoll.bounding import combining_rounds_bound
from syncoll.bounding.cuts import find_cut
from syncoll.bounding.network import TimeExpandedNetwork
from syncoll.bounding.relaxation import Relaxation, RelaxationKind
from syncoll.certificates import Cut, Demand, Priced, demands
from syncoll.model import Collective, Topology
from syncoll.plugins import PluginManager
from syncoll.routing import as_topology
from syncoll.spec import SpecLibrary

TOPOLOGIES = ("dgx1", "ring(8)", "hypercube(3)", "torus(3,3)", "torus(4,4)", "torus(6,6)",
              "hub(8)", "dgx_a100", "dgx2")  # fmt: skip

COLLECTIVES = ("allgather", "alltoall", "broadcast", "gather", "allreduce")

HEAD = ("machine", "collective", "S", "R/C at least", "relaxation", "variables", "reduced to",
        "build", "reduce", "solve", "round and check", "a cut")  # fmt: skip


def row(cells: list[object]) -> None:
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def relaxations(topology: Topology, collective: Collective, steps: int | None, most: int) -> None:
    """The rows of one collective that moves chunks."""
    chunks = least_chunks(topology, collective)
    needs = demands(collective.tabulate(topology.num_nodes, chunks))
    network = TimeExpandedNetwork.of(topology, steps)
    several = any(len(need.destinations) > 1 for need in needs)
    for kind in (RelaxationKind.TOGETHER, RelaxationKind.COPIES):
        if kind is RelaxationKind.TOGETHER and not several:
            continue
        cells: list[object] = [topology.name, collective.name, "any" if steps is None else steps]
        relaxation = Relaxation(network, needs, kind)
        if relaxation.num_columns > most:
            row([*cells, "not tried", kind, relaxation.num_columns, *"------"])
            continue
        began = time.perf_counter()
        program = relaxation.program()
        built = time.perf_counter()
        reduction = program.reduced()
        reduced = time.perf_counter()
        smaller = program if reduction is None else reduction.program
        optimum = smaller.minimise_unreduced(60)
        solved = time.perf_counter()
        if optimum is None:
            seconds = [f"{s:.3f}" for s in (built - began, reduced - built, solved - reduced)]
            row([*cells, "no optimum", kind, len(program.costs), len(smaller.costs), *seconds,
                 "-", "-"])  # fmt: skip
            continue
        found = relaxation.solve(60)
        whole = time.perf_counter() - solved
        assert found is not None
        _, certificate, proved = found
        seconds = [f"{s:.3f}" for s in (built - began, reduced - built, solved - reduced)]
        seconds.append(f"{max(0.0, whole - (solved - began)):.3f}")
        row([*cells, proved / chunks, kind, len(program.costs), len(smaller.costs), *seconds,
             "-" if steps is not None else cut(topology, needs, proved, certificate)
             ])  # fmt: skip


def cut(topology: Topology, needs: Sequence[Demand], bound: Fraction, certificate: Priced) -> str:
    """Around how many nodes a cut proves the bound."""
    began = time.perf_counter()
    found = find_cut(topology, needs, bound, certificate)
    seconds = time.perf_counter() - began
    if found is None:
        return f"none ({seconds:.3f} s)"
    assert isinstance(found.argument, Cut)
    around = len(found.argument.nodes)
    size = min(around, topology.num_nodes - around)
    return f"{size} of {topology.num_nodes} ({seconds:.3f} s)"


def combining(topology: Topology, collective: Collective, steps: int | None) -> None:
    """The row of one collective that combines."""
    chunks = least_chunks(topology, collective)
    table = collective.tabulate(topology.num_nodes, chunks)
    began = time.perf_counter()
    bound = combining_rounds_bound(topology, table, steps, thorough=False)
    seconds = time.perf_counter() - began
    row([topology.name, collective.name, "any" if steps is None else steps, bound.rounds / chunks,
         bound.argument, "-", "-", "-", "-", f"{seconds:.3f} in all", "-", "-"])  # fmt: skip


def least_chunks(topology: Topology, collective: Collective) -> int:
    nodes = topology.num_nodes
    return next(c for c in range(1, nodes * nodes + 1) if collective.admits(nodes, c))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--topology", action="append")
    parser.add_argument("--collective", action="append")
    parser.add_argument("--extra-steps", type=int, default=2, help="S up to the distance plus this")
    parser.add_argument("--most-variables", type=int, default=400_000)
    arguments = parser.parse_args()
    print(made_at("syncoll/bounding", "syncoll/certificates", "syncoll/linear"))
    plugins = PluginManager.discover()
    specs = SpecLibrary([record.folder for record in plugins.spec_libraries.values()])
    row(list(HEAD))
    row(["---"] * len(HEAD))
    for name in arguments.topology or TOPOLOGIES:
        topology = as_topology(specs.topology(name))
        for title in arguments.collective or COLLECTIVES:
            collective = specs.collective(title)
            chunks = least_chunks(topology, collective)
            least = collective.instantiate(topology, chunks=chunks, steps=0, rounds=0).least_steps
            for steps in (None, *range(least, least + arguments.extra_steps + 1)):
                if collective.combining:
                    combining(topology, collective, steps)
                else:
                    relaxations(topology, collective, steps, arguments.most_variables)


if __name__ == "__main__":
    main()
