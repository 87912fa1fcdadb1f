"""Breadth-first broadcasts of collectives in which every chunk goes from one node to all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from math import ceil

import numpy as np
import numpy.typing as npt

from syncoll.errors import ModelError
from syncoll.model import Algorithm, Collective, RelationTable, Topology
from syncoll.plugins import Answer, OptionValue, Proposal, SeedLimits
from syncoll.symmetry import FreeGroup, free_symmetry
from syncoll_bfb.arrivals import Arrivals

__all__ = ["BreadthFirstSeed", "fits"]

IntArray = npt.NDArray[np.int64]

_MOST_LINKS = 14
"""Into a node; the kinds of sources double with each."""

_MOST_SENDS = 1 << 24
"""Algorithms of more sends are not made."""

_MOST_CHUNKS = 840
"""C at most: divisible by every number up to 8."""


def fits(topology: Topology, collective: Collective) -> Answer:
    """Whether every chunk goes from one node to all, and each node receives for itself."""
    if collective.combining:
        return Answer(False, "it combines; broadcasts move data, and the search turns them round")
    if topology.num_nodes < 2:
        return Answer(False, "a single node has no other to send to")
    if max(map(len, topology.in_links)) > _MOST_LINKS:
        return Answer(False, f"a node has more than {_MOST_LINKS} links into it")
    if _rates(topology) is None:
        return Answer(False, "links into different nodes share bandwidths")
    chunks = collective.least_chunks(topology.num_nodes)
    if chunks is None or not _spreads(collective.tabulate(topology.num_nodes, chunks)):
        return Answer(False, "not every chunk goes from one node to all")
    return Answer(True)


class BreadthFirstSeed:
    """Proposes the breadth-first broadcast of least R/C."""

    def propose(
        self,
        topology: Topology,
        collective: Collective,
        limits: SeedLimits,
        options: Mapping[str, OptionValue],
    ) -> Iterator[Proposal]:
        """See `syncoll.plugins.Seed`."""
        answer = fits(topology, collective)
        least, rates = collective.least_chunks(topology.num_nodes), _rates(topology)
        if not answer.ok or least is None or rates is None:
            raise ModelError(f"{collective.name} on {topology.name}: {answer.reason}")
        table = collective.tabulate(topology.num_nodes, least)
        group = free_symmetry(topology, table, limits.deadline())
        sources = np.unique(np.nonzero(table.pre)[1])
        weight = len(table.pre) // len(sources)  # chunks of a node, for the least C
        arrivals = list(_arrivals(topology, group, sources, rates))
        loads: dict[int, Fraction] = {}
        for one in arrivals:
            loads[one.step] = max(loads.get(one.step, Fraction(0)), one.load() * weight)
        if limits.max_steps is not None and len(loads) > limits.max_steps:
            return
        most = limits.max_chunks or least * _MOST_CHUNKS
        most = min(most, _MOST_SENDS // (len(table.pre) * topology.num_nodes) * least)
        times = range(1, max(1, most // least) + 1)
        best = min(
            times,
            key=lambda m: (Fraction(sum(ceil(load * m) for load in loads.values()), m), m),
        )
        rounds = {step: ceil(load * best) for step, load in loads.items()}
        chunks = best * least
        algorithm = _algorithm(topology, collective, group, arrivals, chunks, best * weight, rounds)
        yield Proposal(chunks, algorithm, f"carried round by {group.order} automorphisms")


def _spreads(table: RelationTable) -> bool:
    """Whether each chunk starts at one node and goes to all, and as many start at each such."""
    first = table.pre.sum(axis=0)
    return bool(
        len(table.pre)
        and table.post.all()
        and (table.pre.sum(axis=1) == 1).all()
        and len(np.unique(first[first > 0])) == 1
    )


def _rates(topology: Topology) -> tuple[list[Fraction], dict[int, Fraction]] | None:
    """Chunks per round of each link, and of all links into a node where something bounds these.

    None where a bound is of another kind.
    """
    single: list[Fraction | None] = [None] * len(topology.links)
    whole: dict[int, Fraction] = {}
    for bound, members in zip(topology.bounds, topology.bound_links, strict=True):
        rate = bound.chunks_per_round
        if len(members) == 1:
            link = int(members[0])
            known = single[link]
            single[link] = rate if known is None else min(known, rate)
            continue
        heads = {topology.links[link][1] for link in members.tolist()}
        if len(heads) > 1 or len(members) < len(topology.in_links[head := heads.pop()]):
            return None
        whole[head] = min(whole.get(head, rate), rate)
    rates = [
        rate if rate is not None else whole[topology.links[i][1]] for i, rate in enumerate(single)
    ]
    return rates, whole


def _arrivals(
    topology: Topology,
    group: FreeGroup,
    sources: IntArray,
    rates: tuple[list[Fraction], dict[int, Fraction]],
) -> Iterator[Arrivals]:
    """What arrives in each step at one node of each orbit."""
    distance: dict[int, IntArray] = {}

    def towards(node: int) -> IntArray:
        if node not in distance:
            distance[node] = _distances(topology, node)
        return distance[node]

    for node in group.representatives.tolist():
        into = list(topology.in_links[node])
        senders = np.array([topology.links[link][0] for link in into])
        to_node = towards(node)[sources]
        if (to_node < 0).any():
            raise ModelError(f"node {node} cannot be reached from every node", topology.origin)
        nearer = np.stack([towards(int(w))[sources] == to_node - 1 for w in senders], axis=1)
        masks = (nearer.astype(np.int64) << np.arange(len(senders))).sum(axis=1)
        link_rates = tuple(rates[0][link] for link in into)
        for step in range(int(to_node.max())):
            there = to_node == step + 1
            yield Arrivals(
                node, step, senders, link_rates, rates[1].get(node), sources[there], masks[there]
            )


def _distances(topology: Topology, node: int) -> IntArray:
    """``[P]``: how far each node is from this one, along the links; -1 for out of reach."""
    distance = np.full(topology.num_nodes, -1)
    distance[node] = 0
    layer, depth = [node], 0
    while layer:
        depth += 1
        before = {topology.links[link][0] for one in layer for link in topology.in_links[one]}
        layer = [one for one in before if distance[one] < 0]
        distance[layer] = depth
    return distance


def _algorithm(
    topology: Topology,
    collective: Collective,
    group: FreeGroup,
    arrivals: list[Arrivals],
    chunks: int,
    each: int,
    rounds: dict[int, int],
) -> Algorithm:
    """The algorithm: what arrives at one node of each orbit arrives alike at the others.

    Args:
        topology: where.
        collective: what.
        group: carries nodes to nodes.
        arrivals: at one node of each orbit.
        chunks: C.
        each: how many chunks start at each source.
        rounds: of each step.
    """
    table = collective.tabulate(topology.num_nodes, chunks)
    owner = table.pre.argmax(axis=1)
    order = np.argsort(owner, kind="stable")
    first = np.zeros(topology.num_nodes, dtype=np.int64)
    owners, start = np.unique(owner[order], return_index=True)
    first[owners] = start
    parts = []
    for one in arrivals:
        needed = rounds[one.step]
        while (senders := one.deal(each, needed)) is None:
            needed += 1  # parts of chunks per round add up in whole chunks only
        source = group.elements[:, one.sources][:, :, None]  # [H, n, 1]
        sends = np.empty((group.order, len(one.sources), each, 4), dtype=np.int64)
        sends[..., 0] = order[first[source] + np.arange(each)]
        sends[..., 1] = group.elements[:, senders]
        sends[..., 2] = group.elements[:, one.node][:, None, None]
        sends[..., 3] = one.step
        parts.append(sends.reshape(-1, 4))
    steps = len(rounds)
    return Algorithm((0,) * steps, np.concatenate(parts)).tightened(topology)
