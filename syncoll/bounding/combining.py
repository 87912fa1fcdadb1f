"""Lower bounds on the rounds of combining collectives.

Where every chunk has one root, the bounds of the dual on the reversed topology hold: an algorithm
run backwards distributes.  Otherwise three arguments count, each valid whatever an algorithm adds
up where:

* what a node contributes to a chunk must reach each node that needs the result, like a broadcast;
* every contribution must reach one of these, like a broadcast of it on the reversed topology;
* what many contribute to and many need takes many sends between them, see `partition`.

For a number of steps two more join the three, see `gossip` and `completions`.  Where switches copy
or add up what is sent, only the first three count, and one for a number of steps, see `switches`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from syncoll.bounding.branching import divided
from syncoll.bounding.first_completion import find_completions
from syncoll.bounding.partition import find_partition
from syncoll.bounding.quotient import LEAST_NODES
from syncoll.bounding.rounds import BoundsMemory, rounds_bound
from syncoll.bounding.shared_steiner_trees import find_gossip
from syncoll.bounding.switches import find_switch_prices
from syncoll.certificates.certificate import RoundsBound
from syncoll.certificates.chunk_classes import ChunkClasses, Demand, DemandList, DemandView
from syncoll.certificates.priced import Priced
from syncoll.deadline import Deadline, OutOfTimeError, interrupted_at
from syncoll.linear.colour_refinement import Graph, hashes, mix, refine
from syncoll.model import RelationTable, Topology
from syncoll.symmetry import free_symmetry

__all__ = ["combining_rounds_bound", "signature"]

_Found = tuple[Fraction, Priced] | None

_SHARES = (0.5, 0.25, 0.5, 1.0)
"""The parts of the time that is left for partitions; and, after flows, for gossip, completions and
dividing their cases."""

_SHARE_OF_LARGER, _LITTLE, _FALLS = 0.7, 0.02, 3
"""The part of the time that is left for the larger relaxation of one node.  It is left out where,
by what it proved for fewer steps, it would prove not even this part more than the smaller one, if
its gain falls with this power of S."""


def combining_rounds_bound(
    topology: Topology,
    table: RelationTable | ChunkClasses,
    steps: int | None = None,
    *,
    thorough: bool = True,
    seconds: float | None = 20.0,
    prove: Callable[..., RoundsBound] = rounds_bound,
    known: RoundsBound | None = None,
    enough: Fraction | None = None,
    memory: BoundsMemory | None = None,
) -> RoundsBound:
    """The best of these bounds on R.

    Args:
        table: pre says who contributes, post who needs the result.
        steps: S, or None for any number of steps.
        seconds: time limit of all of it; None for none.  What is proved by then counts.
        prove: computes bounds, as `rounds_bound` does.
        known: the bound already proved for any number of steps, if any.
        enough: what an algorithm of so many steps has; where the bound is below that, cases are
            divided, which takes long.
        memory: what bounds for other S found; it is added to.
    """
    deadline, memory = Deadline.after(seconds), memory or BoundsMemory()
    shape = table if isinstance(table, ChunkClasses) else ChunkClasses.of(table, 1, combining=True)
    if shape.ends_alone:
        readings: list[tuple[DemandView, int | None]] = [(DemandView.INVERSE, None)]
    else:
        nodes = _unlike(topology, shape, deadline)
        readings = [(r, n) for r in (DemandView.SPREAD, DemandView.COLLECT) for n in nodes]
    best = known or _counting_sends(topology, shape, steps, deadline.share(_SHARES[0]))
    if steps is not None and topology.counts_copies:
        found = find_switch_prices(topology, shape, steps, deadline, best.rounds)
        if found is not None:
            best = RoundsBound(found[0], steps, found[1])
    most: dict[int, float] = {}
    leader: _Question | None = None

    def ask(question: _Question, larger: bool, until: Deadline) -> bool:
        """Whether it proves more than what is known."""
        nonlocal best
        bound = prove(
            question.where,
            question.demands,
            steps,
            thorough=larger,
            seconds=until.seconds,
            reading=question.reading,
            node=question.node,
            more_than=best.rounds,
            memory=memory,
        )
        if steps is not None:
            flows = memory.flows(question.where, question.demands)
            most[question.like] = flows.ceiling(steps)
        if bound.rounds <= best.rounds:
            return False
        best = bound
        return True

    for question in _questions(topology, shape, readings, memory.ratings, deadline):
        if ask(question, thorough, deadline):
            leader = question
    if leader is not None and steps is not None and not (thorough or deadline.passed):
        # Of the others it proves less as a rule, and takes as long for each.
        until = deadline if deadline.is_never else deadline.share(_SHARE_OF_LARGER)
        fewer = memory.flows(leader.where, leader.demands).copies_prove(steps)
        if fewer is None or (fewer[1] - 1) * (fewer[0] / steps) ** _FALLS > _LITTLE:
            ask(leader, True, until)
        most |= dict.fromkeys((like for like in most if like != leader.like), 0.0)
    if best.rounds:
        memory.ratings |= {like: value / float(best.rounds) for like, value in most.items()}
    if steps is None or shape.ends_alone or deadline.passed or topology.counts_copies:
        return best
    return _of_whole_chunks(topology, shape, steps, best, thorough, enough, deadline, memory)


@dataclass(frozen=True)
class _Question:
    """A distribution whose bound is one on the whole.

    Args:
        where: the topology, or the reversed one.
        like: the same for nodes that a symmetry exchanges, see `signature`.
    """

    reading: DemandView
    node: int | None
    where: Topology
    demands: DemandList
    like: int


def _questions(
    topology: Topology,
    shape: ChunkClasses,
    readings: Sequence[tuple[DemandView, int | None]],
    ratings: Mapping[int, float],
    deadline: Deadline,
) -> Sequence[_Question]:
    """One of each kind of node, as far as there is time to tell kinds; those first of which most
    could be proved for other S."""
    try:
        with interrupted_at(deadline):
            reversed_topology = topology.reversed()
    except OutOfTimeError:
        return []
    found: dict[int, _Question] = {}
    for reading, node in readings:
        if deadline.passed:
            break
        where = reversed_topology if reading.mirrored else topology
        demands = shape.demands(reading, node)
        like = 0 if reading is DemandView.INVERSE else signature(where, demands)
        found.setdefault(like, _Question(reading, node, where, demands, like))
    return sorted(found.values(), key=lambda one: -ratings.get(one.like, 1.0))


def _of_whole_chunks(
    topology: Topology,
    shape: ChunkClasses,
    steps: int,
    best: RoundsBound,
    thorough: bool,
    enough: Fraction | None,
    deadline: Deadline,
    memory: BoundsMemory,
) -> RoundsBound:
    """A bound for so many steps, or a better one from what the sends of a chunk are together."""

    def divide(until: Deadline, more: Fraction) -> _Found:
        whole = best.certificate
        if enough is None or whole is None or more >= enough or best.method != "completions":
            return None
        return divided(topology, shape, whole, until, enough)

    finders: tuple[Callable[[Deadline, Fraction], _Found], ...] = (
        lambda until, more: find_gossip(topology, shape, steps, until, more, memory),
        lambda until, more: find_completions(topology, shape, steps, until, more, thorough),
        divide,
    )
    for share, find in zip(_SHARES[1:], finders, strict=True):
        until = deadline if deadline.is_never else deadline.share(share)
        try:
            with interrupted_at(until):
                found = find(until, best.rounds)
        except OutOfTimeError:
            continue
        if found is not None:
            best = RoundsBound(found[0], steps, found[1])
    return best


def _unlike(topology: Topology, shape: ChunkClasses, deadline: Deadline) -> list[int]:
    """Nodes of which no two are exchanged by the automorphisms that were found."""
    nodes = topology.num_nodes
    everywhere = tuple(range(nodes))
    if shape.classes.sets != (everywhere,):
        return list(everywhere)
    if topology.num_nodes < LEAST_NODES:
        return list(everywhere)
    with suppress(OutOfTimeError), interrupted_at(deadline):
        group = free_symmetry(topology, until=deadline.share(0.2))
        return [int(node) for node in group.representatives]
    return list(everywhere)


def _counting_sends(
    topology: Topology, shape: ChunkClasses, steps: int | None, deadline: Deadline
) -> RoundsBound:
    found = None
    with suppress(OutOfTimeError), interrupted_at(deadline):
        found = find_partition(topology, shape.classes, deadline)
    if found is None:
        return RoundsBound(Fraction(0), steps, None)
    return RoundsBound(found[0], None, found[1])


def signature(topology: Topology, demands: Sequence[Demand]) -> int:
    """The same number for problems that differ in the numbers of nodes only.

    Nodes that symmetries of the topology exchange have equal bounds, so one linear program serves
    all of them.  Different problems that colour refinement cannot tell apart may share a signature
    too (two triangles and a hexagon, say, but for the distances from where chunks start).  So a
    bound may be transferred neither as a number nor as a proof: a signature is a reason to expect
    no more from solving a problem again.
    """
    nodes, links, bounds = topology.num_nodes, len(topology.links), len(topology.bounds)
    first_bound, first_demand = nodes + links, nodes + links + bounds
    pairs: list[tuple[int, int, int]] = []  # one end, other end, what they are to each other
    for i, (source, destination) in enumerate(topology.links):
        pairs += [(source, nodes + i, 1), (destination, nodes + i, 2)]
    for j, members in enumerate(topology.bound_links):
        pairs += [(nodes + i, first_bound + j, 3) for i in members.tolist()]
    starts: set[int] = set()
    for k, demand in enumerate(demands):
        starts.update(demand.sources)
        pairs += [(n, first_demand + k, 4) for n in demand.sources]
        pairs += [(n, first_demand + k, 5) for n in demand.destinations]
    table = np.array(pairs, dtype=np.int64).reshape(-1, 3)
    roles = np.stack([table[:, 2], table[:, 2] + 8])  # as one end, and as the other sees it
    graph = Graph.of(first_demand + len(demands), table[:, :2], roles)
    far = topology.distances[sorted(starts)].min(axis=0) if starts else np.zeros(nodes)
    kinds = [f"node {d}" for d in far.tolist()] + ["link"] * links
    kinds += [f"bound {bound.chunks_per_round} {bound.counts}" for bound in topology.bounds]
    kinds += [f"demand {demand.count}" for demand in demands]
    *_, colours = refine(graph, hashes(kinds))
    return int(mix(colours).sum(dtype=np.uint64))
