"""The seed: for a broadcast, families of pipelines, and their first members as points.

The rate in the long run, chunks over rounds, comes from a linear program (`rate`).  A wave has as
many trees, and a step as many rounds, as make up that rate, or some times as many, which allows for
shallower trees.  For each of these the fewest steps are looked for (`waves`).
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from fractions import Fraction

import numpy as np

from syncoll.errors import ModelError
from syncoll.model import Algorithm, Collective, Topology
from syncoll.plugins import Answer, OptionValue, Proposal, SeedLimits
from syncoll.results import Family, Part
from syncoll_pipelines.rate import best_rate
from syncoll_pipelines.waves import Tree, Waves, find_waves

__all__ = ["PipelineSeed", "fits"]

_MOST_FLOWS = 40_000
"""Links times nodes up to which the rate is computed, and trees are chosen together."""

_MORE_STEPS = 4
"""A wave has at most so many steps more than the farthest node is away."""

_TIMES = (1, 2, 3, 4, 6, 7, 8)
"""Times the least trees and rounds that make up the rate."""

_MOST_IDLE = 2
"""After so many of these that brought nothing better there is no more to expect."""


def fits(topology: Topology, collective: Collective) -> Answer:
    """Whether all chunks start at the same one node and every node needs them."""
    if collective.combining or collective.ways:
        return Answer(False, f"{collective.name} is not a broadcast; pipelines distribute trees")
    nodes = topology.num_nodes
    least = collective.least_chunks(nodes)
    if least is None or collective.irregular or nodes < 2:
        return Answer(False, f"{collective.name} has no chunks in proportion to C here")
    table = collective.table_on(topology, least)
    if len(table) != least or not table.post.all() or len(_roots(table.pre)) != 1:
        return Answer(False, "not all chunks start at the same one node and are needed everywhere")
    if len(topology.links) * nodes > _MOST_FLOWS:
        return Answer(False, "there are too many links to choose all trees together")
    return Answer(True, "trees from one node, wave after wave")


def _roots(pre: np.ndarray) -> list[int]:
    """The nodes where chunks start."""
    found = np.flatnonzero(pre.any(axis=0)).tolist()
    return found if pre.all(axis=0).sum() == len(found) else []


class PipelineSeed:
    """Pipelines, as a seed."""

    def propose(
        self,
        topology: Topology,
        collective: Collective,
        limits: SeedLimits,
        options: Mapping[str, OptionValue],
    ) -> Generator[Proposal | None, SeedLimits | None, None]:
        """The members of few steps of each family that is better than those before."""
        if not fits(topology, collective).ok:
            return
        unit = collective.least_chunks(topology.num_nodes)
        assert unit is not None
        (root,) = _roots(collective.table_on(topology, unit).pre)
        ends = limits.deadline()
        rate = best_rate(topology, root, ends.seconds)
        if rate is None:
            return
        far, seconds = int(topology.distances[root].max()), float(options["seconds"])
        best: Waves | None = None
        idle = 0
        for times in _order(topology, root, rate, unit):
            if idle >= _MOST_IDLE:
                return
            idle += 1
            known: Waves | None = None
            chunks, rounds = rate.numerator * times, rate.denominator * times
            for depth in range(far, (far + _MORE_STEPS if best is None else best.depth) + 1):
                cells = chunks * len(topology.links) * depth * max(1, depth - far)
                if cells > int(options["cells"]):
                    break
                while True:
                    left = ends.seconds
                    given = seconds if left is None else min(seconds, left)
                    found, settled = find_waves(topology, root, chunks, rounds, depth, given, known)
                    if found is not None or settled or given >= seconds:
                        break
                    more = yield None
                    if more is None:
                        return
                    limits, ends = more, more.deadline()
                if found is None:
                    continue
                if known is not None and found.lost >= known.lost:
                    break
                known = found
                if best is None or found.lost < best.lost:
                    best, idle = found, 0
                    yield from _proposals(topology, collective, found, limits, options)


def _order(topology: Topology, root: int, rate: Fraction, unit: int) -> list[int]:
    """How many times the least trees and rounds, the most promising numbers first.

    With a tree for each link out of the root the trees can be as flat as there are any.
    """
    flat = -(-len(topology.out_links[root]) // rate.numerator)
    order = sorted({flat, *_TIMES}, key=lambda times: (times != flat, times))
    return [times for times in order if rate.numerator * times % unit == 0]


def _proposals(
    topology: Topology,
    collective: Collective,
    waves: Waves,
    limits: SeedLimits,
    options: Mapping[str, OptionValue],
) -> Iterator[Proposal]:
    """The members of few steps."""
    family = family_of(topology, collective, waves)
    if family is None:
        return
    most = int(options["steps"])
    if limits.max_steps is not None:
        most = min(most, limits.max_steps)
    last = family.within(max(most, family.steps.at(family.first)))
    assert last is not None
    for m in range(family.first, last + 1):
        rounds, chunks = family.rounds_needed.at(m), family.chunks.at(m)
        if limits.max_chunks is not None and chunks > limits.max_chunks:
            return
        if limits.max_rounds is not None and rounds > limits.max_rounds:
            return
        note = f"{len(waves.wave)} trees, {m} waves"
        yield Proposal(chunks, family.member(m).algorithm, note, family)


def family_of(topology: Topology, collective: Collective, waves: Waves) -> Family | None:
    """The family of waves started in every step; None where R/C would not fall."""
    wave = _part(topology, collective, waves.wave, waves.depth)
    tail = _part(topology, collective, waves.tail, waves.depth - 1) if waves.tail else None
    up, down = _trimmed(waves.ramp_up, waves.rounds), _trimmed(waves.ramp_down[::-1], waves.rounds)
    # S is d - 1 + m: the ramps must have room, and the tail behind the first one.
    least = max(len(up) + len(down) - (waves.depth - 1), len(up) if tail is not None else 1)
    try:
        return Family(wave, (waves.rounds,), least, up, down[::-1], None, tail)
    except ModelError:
        return None


def _trimmed(ramp: Sequence[int], rounds: int) -> tuple[int, ...]:
    """A ramp from the outside, without what is as everywhere on its inside."""
    different = [step for step, own in enumerate(ramp) if own != rounds]
    return tuple(ramp[: different[-1] + 1]) if different else ()


def _part(topology: Topology, collective: Collective, trees: Sequence[Tree], steps: int) -> Part:
    """Trees as an algorithm of as many chunks, in so many steps."""
    links = topology.links
    sends = [(chunk, *links[link], step) for chunk, tree in enumerate(trees) for link, step in tree]
    bare = Algorithm((1,) * steps, np.array(sends, dtype=np.int64))
    rounds = tuple(max(1, least) for least in bare.least_rounds(topology))
    algorithm = Algorithm(rounds, bare.sends)
    instance = collective.instantiate(
        topology, chunks=len(trees), steps=steps, rounds=algorithm.rounds
    )
    return Part(instance, algorithm)
