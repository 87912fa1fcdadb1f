"""Tokens of a mixture of experts: dispatch against two hops and alltoallv.

::

    python benchmarks/experts.py                                   # results/experts.md
    python benchmarks/experts.py "dgx_h100(boxes=2) zipf 64 1024"

A case is a machine, a routing, the number of experts and the tokens of a rank.  Each token has 8
different experts: all alike, or by Zipf's law in an order drawn at random.  The seed `routes` has
the dispatch, in which a token crosses to a box once; `two_hop` is the scheme in use; and `routes`
has an alltoallv, which sends a token to each of its ranks by itself.  A token has 7168 bytes.
Times are of the links alone, R/C rounds of a token, of the cheapest algorithm of the seed.  Gaps
are to the bound by cuts.  Seconds are processor time of the seed and the verifier, for all S.
"""

from __future__ import annotations

import argparse
import time
from fractions import Fraction

import numpy as np

import syncoll
from benchmarks.tables import Page, add_options, made_at
from syncoll.arrays import Bools, Ints
from syncoll.bounding.at_once import bound_at_once
from syncoll.certificates.chunk_classes import ChunkClasses
from syncoll.deadline import NEVER
from syncoll.planning.plan import unit_bandwidth
from syncoll.plugins import PluginManager, resolve_options
from syncoll.searching import ChosenSeed, constructed

CASES = tuple(
    f"dgx_h100(boxes={boxes}) {kind} {experts} {tokens}"
    for boxes, tokens in ((2, 4096), (4, 4096), (8, 4096))
    for kind in ("uniform", "zipf")
    for experts in (64, 256)
)
TOKEN = 7168


def main() -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", help='such as "dgx_h100(boxes=2) zipf 64 1024"')
    add_options(parser, "experts")
    arguments = parser.parse_args()
    page = Page(arguments.output)
    page.say("# Tokens of a mixture of experts", "", made_at(), "")
    page.head(
        *("machine", "routing", "experts", "tokens a rank", "bound us", "dispatch us", "gap", "S"),
        *("s", "two hops us", "alltoallv us", "gap", "s", "MB over the network", "of alltoallv"),
    )
    for case in arguments.cases or CASES:
        machine, kind, experts, tokens = case.rsplit(" ", 3)
        page.row(*row(machine, kind, int(experts), int(tokens)))
        page.write(None)


def routing(kind: str, ranks: int, experts: int, tokens: int) -> Ints:
    """``[tokens, 9]``: the rank of each token, and its 8 experts."""
    drawn = np.random.default_rng(ranks + experts)
    liked = drawn.permutation((1.0 + np.arange(experts)) ** -(kind == "zipf"))
    scores = np.log(liked) + drawn.gumbel(size=(ranks * tokens, experts))
    chosen = np.argpartition(-scores, 7, axis=1)[:, :8]
    return np.column_stack([np.repeat(np.arange(ranks), tokens), chosen])


def row(machine: str, kind: str, experts: int, tokens: int) -> list[str]:
    """The cells of a case."""
    topology = syncoll.topology(machine)
    nodes = topology.num_nodes
    rows = routing(kind, nodes, experts, tokens)
    needed = np.zeros((len(rows), nodes), dtype=bool)
    needed[np.arange(len(rows))[:, None], rows[:, 1:] * nodes // experts] = True
    starts = np.eye(nodes, dtype=bool)[rows[:, 0]]
    sizes = np.ones(len(rows), dtype=np.int64)
    dispatch = syncoll.Collective.from_arrays("dispatch", starts, needed, sizes)
    bound = lower_bound(topology, dispatch)
    sent = np.array([needed[rows[:, 0] == rank].sum(axis=0) for rank in range(nodes)])
    alltoallv = syncoll.collective("alltoallv", sent)
    steps, cost, seconds = cheapest("routes", topology, dispatch)
    own, all_ranks = crossing(needed, rows[:, 0], 8), crossing(needed, rows[:, 0], 1)
    _, plain, plain_seconds = cheapest("routes", topology, alltoallv)
    second = unit_bandwidth(topology)
    assert second is not None

    def us(rounds: Fraction) -> str:
        return f"{float(rounds * TOKEN / second * 10**6):.1f}"

    return [
        *(machine, kind, str(experts), str(tokens), us(bound), us(cost)),
        *(f"{float(cost / bound - 1):.2%}", str(steps), f"{seconds:.1f}"),
        us(cheapest("two_hop", topology, dispatch)[1]),
        *(us(plain), f"{float(plain / lower_bound(topology, alltoallv) - 1):.2%}"),
        *(f"{plain_seconds:.1f}", f"{own * TOKEN / 1e6:.1f}", f"{all_ranks * TOKEN / 1e6:.1f}"),
    ]


def lower_bound(topology: syncoll.Topology, collective: syncoll.Collective) -> Fraction:
    """The bound on R/C by cuts."""
    table = collective.tabulate(topology.num_nodes, 1)
    return bound_at_once(topology, ChunkClasses.of(table, 1)).rounds


def crossing(needed: Bools, rank: Ints, size: int) -> int:
    """The tokens that cross to other boxes, once for each group of `size` ranks of a box."""
    boxes = needed.shape[1] // 8
    groups = needed.reshape(len(needed), boxes, 8 // size, size).any(axis=3).sum(axis=2)
    groups[np.arange(len(needed)), rank // 8] = 0
    return int(groups.sum())


def cheapest(
    name: str, topology: syncoll.Topology, collective: syncoll.Collective
) -> tuple[int, Fraction, float]:
    """S and R/C of the cheapest verified algorithm of a seed, and the processor seconds of all."""
    began = time.process_time()
    record = PluginManager.discover().seeds[name]
    seed = ChosenSeed(record, resolve_options(record.options, {}, name), named=True)
    found, why = constructed(seed, topology, collective, NEVER, print)
    if not found:
        raise SystemExit(f"{name}: {why}")
    costs = ((Fraction(own.rounds) / one.chunks, own.steps) for one, own in found)
    cost, steps = min(costs)
    return steps, cost, time.process_time() - began


if __name__ == "__main__":
    main()
