"""Lower bounds on the rounds of combining collectives.

If every chunk has one root, the bounds of the dual on the reversed topology hold: an algorithm run
backwards distributes.  Otherwise three arguments count, each valid wherever an algorithm adds up:

* the contribution of a node to a chunk must reach each node that needs the result, like a
  broadcast;
* every contribution must reach one of these, like a broadcast of it on the reversed topology;
* between many contributors and many receivers there are many sends, see `partition`.

For a number of steps there are three more, see `gossip`, `boxes` and `completions`. Where switches
copy or add up, only the first three count, and one for a number of steps, see `switches`.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from types import MappingProxyType

from syncoll.bounding.boxes import find_boxes
from syncoll.bounding.branching import divided
from syncoll.bounding.first_completion import find_completions
from syncoll.bounding.partition import find_partition
from syncoll.bounding.quotient import keeps_records
from syncoll.bounding.rounds import BoundsMemory, in_time, rounds_bound
from syncoll.bounding.shared_steiner_trees import find_gossip
from syncoll.bounding.switches import find_switch_prices
from syncoll.certificates.certificate import RoundsBound
from syncoll.certificates.chunk_classes import ChunkClasses, DemandList, DemandView
from syncoll.certificates.priced import Priced
from syncoll.deadline import Deadline, OutOfTimeError, interrupted_at
from syncoll.model import RelationTable, Topology
from syncoll.model.components import least_of_orbits
from syncoll.symmetry.candidates import automorphism_generators
from syncoll.symmetry.structure import Structure

_Found = tuple[Fraction, Priced] | None

_SHARES = (0.5, 0.25, 0.7, 0.25, 0.25, 0.5)
"""Shares of the remaining time for partitions, orbits of nodes, the larger relaxation of one node,
gossip, boxes, and completions if their cases may be divided."""

_LITTLE, _FALLS = 0.02, 3
"""The larger relaxation is left out if its expected gain over the smaller one is below this share.
The expected gain is the gain for fewer steps, divided by this power of the ratio of S."""


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
    left_out: Callable[[], None] = lambda: None,
    memory: BoundsMemory | None = None,
) -> RoundsBound:
    """The best of these bounds on R.

    Args:
        table: pre has the contributors, post the nodes that need the result.
        steps: S, or None for any number of steps.
        seconds: time limit of all of it; None for no limit.  Bounds proved by then count.
        prove: computes bounds, as `rounds_bound` does.
        known: the bound already proved for any number of steps, if any.
        enough: R of an algorithm of S steps; if the bound is lower, cases are divided, which takes
            long.
        left_out: called when a program for all sends of a chunk is skipped for want of time.
        memory: results of bounds for other S; it is added to.
    """
    deadline, memory = Deadline.after(seconds), memory or BoundsMemory()
    shape = table if isinstance(table, ChunkClasses) else ChunkClasses.of(table, 1, combining=True)
    best = known or _counting_sends(topology, shape, steps, deadline.share(_SHARES[0]))
    if steps is not None and topology.counts_copies:
        found = find_switch_prices(topology, shape, steps, deadline, best.rounds)
        if found is not None:
            best = RoundsBound(found[0], steps, found[1])
    most: dict[tuple[DemandView, int | None], float] = {}
    leader: Distribution | None = None

    def ask(question: Distribution, larger: bool, until: Deadline) -> bool:
        """Returns whether it proves more than the best bound so far."""
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
            most[question.about] = flows.ceiling(steps)
        if bound.rounds <= best.rounds:
            return False
        best = bound
        return True

    larger = thorough and shape.ends_alone  # only for a single node
    for question in distributions(topology, shape, deadline, memory.ratings):
        if ask(question, larger, deadline):
            leader = question
    if leader is not None and steps is not None and not (larger or deadline.passed):
        # Others mostly prove less, and each takes as long.
        until = deadline.share(_SHARES[2])
        fewer = memory.flows(leader.where, leader.demands).copies_prove(steps)
        if fewer is None or (fewer[1] - 1) * (fewer[0] / steps) ** _FALLS > _LITTLE:
            ask(leader, True, until)
        most |= dict.fromkeys((about for about in most if about != leader.about), 0.0)
    if best.rounds:
        memory.ratings |= {about: value / float(best.rounds) for about, value in most.items()}
    if steps is None or shape.ends_alone or deadline.passed or topology.counts_copies:
        return best
    complete = partial(find_completions, topology, shape, steps, thorough=thorough, late=left_out)
    return _of_whole_chunks(topology, shape, steps, best, complete, enough, deadline, memory)


@dataclass(frozen=True)
class Distribution:
    """Demands whose bound on R is one on the whole collective.

    Args:
        reading: the part of the collective that they are.
        node: for a reading that is about one node.
        where: the topology, or the reversed one.
    """

    reading: DemandView
    node: int | None
    where: Topology
    demands: DemandList

    @property
    def about(self) -> tuple[DemandView, int | None]:
        """Its reading and node."""
        return self.reading, self.node


def distributions(
    topology: Topology,
    shape: ChunkClasses,
    deadline: Deadline,
    ratings: Mapping[tuple[DemandView, int | None], float] = MappingProxyType({}),
) -> Sequence[Distribution]:
    """All demands of a collective that moves data; for others one for each orbit of nodes, as far
    as there is time, in descending order of ratings."""
    if not shape.combining:
        moving = DemandView.MOVING
        return [Distribution(moving, None, topology, shape.demands(moving))]
    found: dict[tuple[bool, DemandList], Distribution] = {}
    with suppress(OutOfTimeError), interrupted_at(deadline):
        turned = topology.reversed()
        is_alike = turned.same_as(topology)  # then trees into and out of a node cost the same
        readings: list[tuple[DemandView, int | None]] = [(DemandView.INVERSE, None)]
        if not shape.ends_alone:
            nodes = _representatives(topology, shape, deadline)
            readings = [(r, n) for r in (DemandView.SPREAD, DemandView.COLLECT) for n in nodes]
        for reading, node in readings:
            demands = shape.demands(reading, node)
            where = turned if reading.mirrored else topology
            key = reading.mirrored and not is_alike, demands
            found.setdefault(key, Distribution(reading, node, where, demands))
    return sorted(found.values(), key=lambda one: -ratings.get(one.about, 1.0))


def _representatives(topology: Topology, shape: ChunkClasses, deadline: Deadline) -> list[int]:
    """The least node of each orbit under the automorphisms found in time."""

    def find() -> list[int]:
        structure = Structure(topology)
        automorphisms = [
            images
            for images in automorphism_generators(structure)
            if structure.keeps(images) and keeps_records(images, shape.classes)
        ]
        return sorted(set(least_of_orbits(topology.num_nodes, automorphisms).tolist()))

    found = in_time(deadline.share(_SHARES[1]), find)
    return list(range(topology.num_nodes)) if found is None else found


def _of_whole_chunks(
    topology: Topology,
    shape: ChunkClasses,
    steps: int,
    best: RoundsBound,
    complete: Callable[[Deadline, Fraction], _Found],
    enough: Fraction | None,
    deadline: Deadline,
    memory: BoundsMemory,
) -> RoundsBound:
    """A bound for S steps, or a better one from all sends of a chunk together."""

    def divide(until: Deadline, more: Fraction) -> _Found:
        whole = best.certificate
        if enough is None or whole is None or more >= enough or best.method != "completions":
            return None
        return divided(topology, shape, whole, until, enough)

    finders: tuple[Callable[[Deadline, Fraction], _Found], ...] = (
        lambda until, more: find_gossip(topology, shape, steps, until, more, memory),
        lambda until, more: find_boxes(topology, shape, steps, until, more),
        complete,
        divide,
    )
    own = 1.0 if enough is None else _SHARES[5]
    for share, find in zip((*_SHARES[3:5], own, 1.0), finders, strict=True):
        until = deadline.share(share)
        found = in_time(until, partial(find, until, best.rounds))
        if found is not None:
            best = RoundsBound(found[0], steps, found[1])
    return best


def _counting_sends(
    topology: Topology, shape: ChunkClasses, steps: int | None, deadline: Deadline
) -> RoundsBound:
    found = in_time(deadline, lambda: find_partition(topology, shape.classes, deadline))
    if found is None:
        return RoundsBound(Fraction(0), steps, None)
    return RoundsBound(found[0], None, found[1])
