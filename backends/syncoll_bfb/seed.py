"""Breadth-first broadcasts of collectives in which every chunk goes from one node to all.

If every bound limits one link, or all links into one node, each node is solved exactly on its own
(`arrivals`).  Otherwise, or if many links lead into a node, a step is one linear program
(`sharing`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np

from syncoll.arrays import Ints
from syncoll.deadline import Deadline
from syncoll.errors import ModelError
from syncoll.model import Algorithm, Carriers, Collective, OrbitAlgorithm, Topology
from syncoll.plugins import Answer, Proposal
from syncoll.plugins.turns import Proposals, Question, ResumingSeed
from syncoll.symmetry import FreeGroup, LinkOrbits, free_symmetry
from syncoll_bfb.arrivals import SeparateStep
from syncoll_bfb.sharing import LinkClasses, Reception, SharedStep, StepChunks, receptions

_MOST_LINKS = 14
"""Most links into a node that is solved exactly; each link doubles the kinds of sources."""

_MOST_CELLS = 1 << 24
"""Largest linear programs, in pairs of a link (one of each orbit) and a source."""

_MOST_OWN_SENDS = 1 << 24
"""Most sends of an algorithm, counting one of each orbit, ..."""

_MOST_SENDS = 1 << 27
"""... and counting all of them, as the verifier does."""

_FEW_NODES = 16
"""Up to this many nodes, finding a symmetry takes longer than it saves."""

_MOST_CHUNKS = 840
"""C at most: divisible by every number up to 8."""

_FEW_TIMES = 8
"""The first C is at most this multiple of the least C."""

_FEWER, _BEST = Fraction(1005, 1000), Fraction(10005, 10000)
"""The second and third C are the smallest ones whose R/C is within these factors of the best."""

_TRIES = 24
"""Values of C that are rounded for each of the three."""

_SECONDS = 10.0
"""Longest work on rounding, even without a time limit."""


class BreadthFirstSeed(ResumingSeed):
    """Proposes the breadth-first broadcast of least R/C."""

    @staticmethod
    def fits(topology: Topology, collective: Collective) -> Answer:
        """Whether every chunk goes from one node to all."""
        if collective.combining:
            reason = "the collective combines; the search reverses broadcasts of this seed instead"
            return Answer(False, reason)
        if topology.num_nodes < 2:
            return Answer(False, "a collective needs at least two nodes")
        # A free group has at most as many elements as there are nodes.
        if _rates(topology) is None and len(topology.links) > _MOST_CELLS:
            return Answer(False, f"more than {_MOST_CELLS} links, too many for its linear programs")
        chunks = collective.least_chunks(topology.num_nodes)
        roots = None if chunks is None else collective.tabulate(topology.num_nodes, chunks).roots
        if roots is None:
            return Answer(False, "not every chunk goes from one node to all")
        alike = len(set(np.unique(roots, return_counts=True)[1].tolist())) == 1
        return Answer(alike, "" if alike else "nodes with chunks start different numbers of chunks")

    def proposals(self, asked: Question) -> Proposals:
        """Algorithms with ever more chunks and a smaller R/C."""
        topology, collective, turn = asked.topology, asked.collective, asked.turn
        limits, until = turn.limits, turn.until
        least = collective.least_chunks(topology.num_nodes)
        assert least is not None  # it fits
        table = collective.tabulate(topology.num_nodes, least)
        rates = _rates(topology)
        group = FreeGroup.trivial(topology.num_nodes)
        if rates is None or topology.num_nodes > _FEW_NODES:
            group = free_symmetry(topology, table, until)
        sources = np.unique(np.nonzero(table.pre)[1])
        weight = len(table.pre) // len(sources)  # chunks of a node, for the least C
        cells = len(topology.links) * len(sources) // group.order
        if rates is None and cells > _MOST_CELLS:
            raise ModelError(
                f"{topology.name}: the linear programs of its steps would have {cells} "
                f"pairs of links and sources, more than {_MOST_CELLS}"
            )
        arriving = list(receptions(topology, group, sources))
        steps = 1 + max(one.step for one in arriving)
        if not limits.allow(steps=steps):
            return
        most = limits.max_chunks or least * _MOST_CHUNKS
        most_sends = min(_MOST_SENDS, _MOST_OWN_SENDS * group.order)
        most = min(most, most_sends // (len(table.pre) * topology.num_nodes) * least)
        times = range(1, max(1, most // least) + 1)
        together = [[one for one in arriving if one.step == step] for step in range(steps)]
        made: list[SharedStep | SeparateStep] = []
        if rates is not None:
            made += [SeparateStep(some, *rates) for some in together]
        else:
            ways = LinkClasses.of(topology, LinkOrbits.of(topology, group))
            shared = [SharedStep(some, ways) for some in together]
            if not all(step.solve(until) for step in shared):
                return
            made += shared
        for choice in choices(made, weight, times, until, exact=rates is not None):
            sent: list[tuple[Reception, Ints]] = []
            for step, some, whole in zip(made, together, choice.dealt, strict=True):
                sent += zip(some, step.deal(whole, choice.times * weight), strict=True)
            chunks = choice.times * least
            algorithm = _algorithm(topology, collective, group, sent, chunks)
            note = f"carried round by {group.order} automorphisms"
            yield Proposal(chunks, algorithm, note)


def _rates(topology: Topology) -> tuple[list[Fraction], dict[int, Fraction]] | None:
    """Chunks per round of each link, and of all links into a node; None if other bounds exist."""
    if max(map(len, topology.in_links)) > _MOST_LINKS:
        return None
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


def _algorithm(
    topology: Topology,
    collective: Collective,
    group: FreeGroup,
    sent: list[tuple[Reception, Ints]],
    chunks: int,
) -> Algorithm:
    """Builds the algorithm from the arrivals at one node of each orbit."""
    table = collective.tabulate(topology.num_nodes, chunks)
    owner = table.pre.argmax(axis=1)
    order = np.argsort(owner, kind="stable")  # the chunks of each source follow one another
    place = np.argsort(order)
    first = np.searchsorted(owner[order], np.arange(topology.num_nodes))
    parts = []
    for one, senders in sent:
        # Sends are stored for one source of each orbit: an arrival from another source is mapped by
        # the element that takes this source to its representative.
        home = group.inverses[group.carriers[one.sources]]
        rows = np.arange(len(one.sources))[:, None]
        source = home[rows, one.sources[:, None]]
        each = senders.shape[1]
        sends = np.empty((len(one.sources), each, 4), dtype=np.int64)
        sends[..., 0] = order[first[source] + np.arange(each)]
        sends[..., 1] = home[rows, senders]
        sends[..., 2] = home[:, one.node][:, None]
        sends[..., 3] = one.step
        parts.append(sends.reshape(-1, 4))
    steps = 1 + max(one.step for one, _ in sent)
    own = Algorithm((0,) * steps, np.concatenate(parts))
    if group.order == 1:
        return own.tightened(topology)
    chunk_maps = order[first[group.generators[:, owner]] + place - first[owner]]
    carriers = Carriers(group.generators, chunk_maps, group.products)
    return OrbitAlgorithm.plain_if_small(own, carriers).tightened(topology)


@dataclass(frozen=True, eq=False)
class DealtSteps:
    """Whole chunks of each step for C = `times` x the least C; `cost` is R/C in units of that C."""

    times: int
    dealt: tuple[StepChunks, ...]
    cost: Fraction


def choices(
    steps: Sequence[SharedStep | SeparateStep],
    weight: int,
    times: range,
    until: Deadline,
    *,
    exact: bool = False,
) -> Iterator[DealtSteps]:
    """Whole chunks for up to three C, each with a smaller R/C than the one before.

    C = m times the least takes at least the sum over steps of ``ceil(load * m)`` rounds.  The C
    with the lowest bound is rounded first, until no bound is below the best R/C reached.

    Args:
        weight: chunks of each source, for the least C.
        times: C as multiples of the least, from 1.
        exact: whether whole chunks take the fewest rounds; then only the best C is returned.
    """
    tries = len(times) if exact else _TRIES
    until = until.working(_SECONDS)
    promise = {m: Fraction(sum(step.least_rounds(m * weight) for step in steps), m) for m in times}

    @cache
    def rounded(m: int) -> DealtSteps:
        dealt = tuple(step.whole(m * weight, until) for step in steps)
        return DealtSteps(m, dealt, Fraction(sum(one.rounds for one in dealt), m))

    def best(candidates: Sequence[int]) -> DealtSteps:
        """The least R/C; ties go to the least C."""
        found: DealtSteps | None = None
        for m in sorted(candidates, key=lambda m: (promise[m], m))[:tries]:
            if found is not None and (promise[m] >= found.cost or until.passed):
                break
            if found is None or rounded(m).cost < found.cost:
                found = rounded(m)
        assert found is not None
        least = min(promise[m] for m in candidates)
        if found.cost > least * _BEST and not until.passed:
            # The more chunks, the smaller the loss by rounding up to whole rounds.
            finest = rounded(max(m for m in candidates if promise[m] == least))
            found = min(found, finest, key=lambda one: one.cost)
        return found

    def least(within: Fraction) -> DealtSteps | None:
        """The least C tried whose R/C is at most `within`."""
        near = [m for m in times if promise[m] <= within]
        for m in near[:_TRIES]:
            if until.passed:
                break
            if rounded(m).cost <= within:
                return rounded(m)
        return None

    few = best(times if exact else times[:_FEW_TIMES])
    yield few
    if exact:
        return
    finest = best(times)
    last = few
    for part in (_FEWER, _BEST):
        found = least(finest.cost * part) or finest
        if found.cost < last.cost:
            yield found
            last = found
