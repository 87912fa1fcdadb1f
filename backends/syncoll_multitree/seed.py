"""The seed: which trees to grow for a collective, and what to make of them.

Where every chunk starts at one node and every node needs it (allgather, broadcast and their like)
each chunk is sent down a tree of its own.  The paper's schedule sends each tree edge in the time
step in which it was added: C = 1, as many steps as time steps, a round each.  Beyond the paper,
a time step may have several rounds, which trades rounds for steps, a node may have several trees,
which brings R/C nearer to its bound, and what goes down the trees may be cut and pipelined.

A network with switches is a `Topology` whose links are routes that share cables, so Algorithm 1
runs on it as on any other.  Where the switches are known, the paper's extension for switch networks
runs on them first; its trees become an algorithm on the same topology, whose bounds have the last
word on how many rounds a step takes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from fractions import Fraction
from math import lcm

import numpy as np
import numpy.typing as npt

from syncoll.model import UNREACHABLE, Collective, Topology
from syncoll.plugins import Answer, OptionValue, Proposal, SeedLimits
from syncoll.scheduling import schedule_trees
from syncoll_multitree.multitree import multitree, symmetry_of, usual_turns
from syncoll_multitree.switched import SEARCHES, multitree_on_fabric
from syncoll_multitree.timed_trees import TimedTrees
from syncoll_multitree.turns import OutOfTimeError
from syncoll_multitree.unit_network import UnitNetwork

__all__ = ["MultiTreeSeed", "fits"]

IntArray = npt.NDArray[np.int64]

_MOST_TRIED = 64
"""C, and rounds of a time step, up to which those that do are looked for."""

_MULTIPLES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
"""Rounds of a time step, in multiples of the fewest that do."""

_SEGMENTS = (2, 4, 8, 16)
"""Into how many segments what goes down a tree is cut, for the trees of the least R/C."""


def fits(topology: Topology, collective: Collective) -> Answer:
    """Whether each chunk starts at one node, is needed everywhere and can get everywhere."""
    if collective.combining:
        return Answer(False, f"{collective.name} combines, and MultiTree's trees distribute")
    if collective.ways:
        return Answer(False, f"{collective.name} is composed; ask for its parts")
    nodes = topology.num_nodes
    if nodes < 2:
        return Answer(False, "there is nobody to send to")
    chunks = next((c for c in range(1, _MOST_TRIED + 1) if collective.admits(nodes, c)), None)
    if chunks is None:
        return Answer(False, f"{collective.name} is not defined for any C up to {_MOST_TRIED}")
    roots = _roots(collective, nodes, chunks)
    if roots is None:
        return Answer(
            False,
            f"a chunk of {collective.name} does not start at exactly one node, or not every node "
            "needs it; MultiTree's trees span the network from one root",
        )
    lost = UnitNetwork.of(topology, _rounds_for_all(topology), "index").lost(
        frozenset(roots.tolist())
    )
    if lost is not None:
        return Answer(
            False,
            "MultiTree needs links that lead from every root to every node; none lead from node "
            f"{lost[0]} to node {lost[1]}",
        )
    return Answer(True, "a spanning tree for every chunk")


class MultiTreeSeed:
    """MultiTree, as a seed."""

    def propose(
        self,
        topology: Topology,
        collective: Collective,
        limits: SeedLimits,
        options: Mapping[str, OptionValue],
    ) -> Iterator[Proposal]:
        """The paper's schedule first, then other C and rounds, last what is pipelined."""
        if not fits(topology, collective).ok:
            return
        began = time.perf_counter()
        until = None if limits.seconds is None else began + limits.seconds
        ends = began + float(options["seconds"])
        ends = ends if until is None else min(ends, until)
        left = int(options["sends"])
        found: list[tuple[int, Fraction]] = []
        best: tuple[Fraction, TimedTrees] | None = None
        for proposal, trees in _grown(topology, collective, limits, options, until, ends):
            left -= len(proposal.algorithm.sends)
            if _improves(proposal, found, limits):
                yield proposal
            cost = Fraction(proposal.algorithm.rounds, proposal.chunks)
            if best is None or cost < best[0]:
                best = cost, trees
            if left <= 0:
                break
        if not options["pipelined"] or best is None:
            return
        trees = best[1]
        segments = [m for m in _SEGMENTS if m * len(trees.edges) <= left]
        seconds = ends - time.perf_counter()
        if not segments or seconds <= 0:
            return
        rest = SeedLimits(limits.max_steps, limits.max_rounds, limits.max_chunks, seconds)
        for made in schedule_trees(topology, collective, trees.trees(), rest, segments):
            proposal = Proposal(made.chunks, made.algorithm, made.note)
            if _improves(proposal, found, limits):
                yield proposal


_Grown = Iterator[tuple[Proposal, TimedTrees]]


def _grown(
    topology: Topology,
    collective: Collective,
    limits: SeedLimits,
    options: Mapping[str, OptionValue],
    until: float | None,
    ends: float,
) -> _Grown:
    """The algorithms of all trees, each with its trees.

    Args:
        topology: P and B.
        collective: which `fits`.
        limits: how many chunks there may be.
        options: of the seed.
        until: when the first trees must be there.
        ends: when all trees must be.
    """
    limit = until
    switched = topology.fabric is not None and topology.fabric.num_switches > 0
    for chunks in range(1, min(int(options["trees"]), limits.max_chunks or 1 << 30) + 1):
        if not collective.admits(topology.num_nodes, chunks):
            continue
        table_roots = _roots(collective, topology.num_nodes, chunks)
        if table_roots is None:
            continue
        for make in (_over_switches, _over_links) if switched else (_over_links,):
            try:
                for made in make(topology, chunks, table_roots, options, limit):
                    yield made
                    limit = ends
                    if time.perf_counter() >= ends:
                        return
            except OutOfTimeError:
                return


def _over_links(
    topology: Topology,
    chunks: int,
    table_roots: IntArray,
    options: Mapping[str, OptionValue],
    until: float | None,
) -> _Grown:
    """Trees whose edges are sent in their own time steps, for longer and longer time steps."""
    chunk_of = _turn_order(table_roots)
    roots = table_roots[chunk_of].tolist()
    order, turns = str(options["order"]), str(options["turns"])
    # Somebody who asked for an order or for turns gets them; else symmetry decides if there is any.
    symmetry = symmetry_of(topology, roots) if order == turns == "any" else None
    orders = ("far",) if symmetry is not None else ("far", "scarce") if order == "any" else (order,)
    least_steps = _eccentricity(topology, set(roots))
    for rounds in _rounds(topology, set(roots)):
        fewest = UNREACHABLE
        for name in orders:
            trees = multitree(
                topology,
                roots,
                rounds=rounds,
                order=name,
                turns=turns,
                translations=symmetry,
                until=until,
            )
            fewest = min(fewest, trees.num_steps)
            how = "translated from one root" if symmetry is not None else f"order {name}"
            yield _proposal(topology, chunks, chunk_of, trees, rounds, how), trees
        if fewest <= least_steps:  # longer time steps cannot make fewer of them
            return


def _over_switches(
    topology: Topology,
    chunks: int,
    table_roots: IntArray,
    options: Mapping[str, OptionValue],
    until: float | None,
) -> _Grown:
    """The same over the fabric's switches: a connection carries a chunk in a time step."""
    fabric = topology.fabric
    assert fabric is not None  # the caller looked
    chunk_of = _turn_order(table_roots)
    roots = table_roots[chunk_of].tolist()
    order, turns, search = (str(options[name]) for name in ("order", "turns", "search"))
    order = "index" if order == "any" else order
    turns = usual_turns(topology, roots) if turns == "any" else turns
    least_steps = _eccentricity(topology, set(roots))
    for rounds in _rounds(topology, set(roots)):
        fewest = UNREACHABLE
        for name in SEARCHES if search == "any" else (search,):
            trees = multitree_on_fabric(
                fabric,
                roots,
                unit=fabric.chunk_bandwidth / rounds,
                search=name,
                order=order,
                turns=turns,
                until=until,
            ).timed
            fewest = min(fewest, trees.num_steps)
            pairs = set(map(tuple, trees.edges[:, 1:3].tolist()))
            if pairs <= topology.link_index.keys():  # else some send has no route of its own
                how = f"over switches, search {name}"
                yield _proposal(topology, chunks, chunk_of, trees, rounds, how), trees
        if fewest <= least_steps:
            return


def _proposal(
    topology: Topology,
    chunks: int,
    chunk_of: IntArray,
    trees: TimedTrees,
    rounds: int,
    how: str,
) -> Proposal:
    algorithm = trees.to_algorithm(chunk_of, rounds).tightened(topology)
    per_step = "a round" if rounds == 1 else f"{rounds} rounds"
    trees_in_words = "1 tree" if len(chunk_of) == 1 else f"{len(chunk_of)} trees"
    note = f"{trees_in_words}, {per_step} per time step, {how}"
    return Proposal(chunks, algorithm, note)


def _roots(collective: Collective, nodes: int, chunks: int) -> IntArray | None:
    """``[G]``: where each chunk starts; None unless each starts once and is needed everywhere."""
    table = collective.tabulate(nodes, chunks)
    if not len(table.pre) or (table.pre.sum(axis=1) != 1).any() or not table.post.all():
        return None
    roots: IntArray = table.pre.argmax(axis=1).astype(np.int64)
    return roots


def _turn_order(roots: IntArray) -> IntArray:
    """The chunks in the order in which trees take turns: one of every root, by root, then more."""
    copy = np.zeros(len(roots), dtype=np.int64)
    seen: dict[int, int] = {}
    for chunk, root in enumerate(roots.tolist()):
        copy[chunk] = seen[root] = seen.get(root, -1) + 1
    return np.lexsort((roots, copy))


def _rounds_for_all(topology: Topology) -> int:
    """The fewest rounds of a time step in which every link has room for a chunk."""
    return max((-(-1 // b.chunks_per_round) for b in topology.bounds), default=1)


def _rounds(topology: Topology, roots: set[int]) -> Iterator[int]:
    """Rounds of a time step, ascending: from the fewest that let every root reach every node."""
    enough = _rounds_for_all(topology)
    span = lcm(*(b.chunks_per_round.denominator for b in topology.bounds))
    least = enough
    for rounds in range(1, min(enough, _MOST_TRIED)):
        if UnitNetwork.of(topology, rounds, "index").lost(frozenset(roots)) is None:
            least = rounds
            break
    tried = {least * multiple for multiple in _MULTIPLES}
    tried |= {r for r in (enough, span, 2 * span) if least <= r <= least * _MULTIPLES[-1]}
    yield from sorted(tried)


def _eccentricity(topology: Topology, roots: set[int]) -> int:
    """Links from a root to the node farthest from it, over all roots."""
    return int(topology.distances[sorted(roots)].max())


def _improves(proposal: Proposal, found: list[tuple[int, Fraction]], limits: SeedLimits) -> bool:
    """Whether it is within the limits and nothing found before is as good; remembers it if so."""
    algorithm = proposal.algorithm
    steps, cost = algorithm.steps, Fraction(algorithm.rounds, proposal.chunks)
    for most, value in (
        (limits.max_steps, steps),
        (limits.max_rounds, algorithm.rounds),
        (limits.max_chunks, proposal.chunks),
    ):
        if most is not None and value > most:
            return False
    if any(s <= steps and r <= cost for s, r in found):
        return False
    found.append((steps, cost))
    return True
