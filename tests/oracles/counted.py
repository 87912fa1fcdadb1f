"""Switches that copy and add up, implemented again with sets and loops, without product code."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from syncoll.model import Algorithm, Counting, Instance, Topology

Send = tuple[int, int, int, int, frozenset[int]]
"""Chunk, source, destination, step, and the contributors of its value (none for data)."""


def rows(algorithm: Algorithm) -> list[Send]:
    """The sends of an algorithm."""
    carried = algorithm.contributions
    return [
        (
            c,
            a,
            b,
            s,
            frozenset() if carried is None else frozenset(carried[i].nonzero()[0].tolist()),
        )
        for i, (c, a, b, s) in enumerate(algorithm.sends.tolist())
    ]


def is_copied(topology: Topology, one: Send, sends: list[Send]) -> bool:
    """Whether it counts together with another send of the same value."""
    return any(
        bound.counts is Counting.SOURCES
        and {(one[1], one[2]), (other[1], other[2])} <= {*bound.links}
        for other in sends
        if other != one and (other[:2], other[3:]) == (one[:2], one[3:])
        for bound in topology.bounds
    )


def added_with(topology: Topology, one: Send, sends: list[Send]) -> frozenset[Send]:
    """The sends that are added up with one, itself included.

    For machines where no two bounds that count sums have a link in common.
    """
    alone = frozenset([one])
    if not one[4] or is_copied(topology, one, sends):
        return alone
    group = alone
    for bound in topology.bounds:
        if bound.counts is Counting.DESTINATIONS and (one[1], one[2]) in bound.links:
            group |= {
                other
                for other in sends
                if (other[0], other[2], other[3]) == (one[0], one[2], one[3])
                and (other[1], other[2]) in bound.links
                and not is_copied(topology, other, sends)
            }
    whose = [i for other in group for i in other[4]]
    return group if len(whose) == len(set(whose)) else alone


def load(topology: Topology, number: int, step: int, sends: list[Send]) -> int:
    """The number of sends that a bound counts in a step."""
    bound = topology.bounds[number]
    now = [one for one in sends if one[3] == step and (one[1], one[2]) in bound.links]
    if bound.counts is Counting.SOURCES:
        return len({(c, a, whose) for c, a, _, _, whose in now})
    if bound.counts is Counting.DESTINATIONS:
        return len({added_with(topology, one, sends) for one in now})
    return len(now)


def has_moving_algorithm(instance: Instance) -> bool:
    """Whether all data can arrive, by trying every set of sends in every step; only if tiny."""
    topology = instance.topology
    every = [(c, a, b) for c in range(instance.num_chunks) for a, b in topology.links]
    start = frozenset(
        (c, n) for c, n in zip(*(x.tolist() for x in instance.pre.nonzero()), strict=True)
    )
    goal = frozenset(
        (c, n) for c, n in zip(*(x.tolist() for x in instance.post.nonzero()), strict=True)
    )

    def after(
        held: frozenset[tuple[int, int]], rounds: int
    ) -> Iterator[frozenset[tuple[int, int]]]:
        useful = [s for s in every if (s[0], s[1]) in held and (s[0], s[2]) not in held]
        for size in range(len(useful) + 1):
            for chosen in combinations(useful, size):
                sends: list[Send] = [(*one, 0, frozenset()) for one in chosen]
                if all(
                    load(topology, i, 0, sends) <= bound.chunks_per_round * rounds
                    for i, bound in enumerate(topology.bounds)
                ):
                    yield held | {(c, b) for c, _, b in chosen}

    seen: set[tuple[frozenset[tuple[int, int]], int, int]] = set()

    def reaches(held: frozenset[tuple[int, int]], steps: int, rounds: int) -> bool:
        if goal <= held:
            return steps > 0 or rounds == 0
        if steps == 0 or (held, steps, rounds) in seen:
            return False
        seen.add((held, steps, rounds))
        shares = [rounds] if steps == 1 else range(rounds + 1)
        return any(
            reaches(more, steps - 1, rounds - share)
            for share in shares
            for more in after(held, share)
        )

    return reaches(start, instance.steps, instance.rounds)


def box(nodes: int, *, multicast: bool = True, reduce: bool = True, rate: int = 1) -> Topology:
    """Nodes around one switch, each with a cable to it and one from it."""
    from fractions import Fraction

    from syncoll.model import BandwidthBound

    links = tuple((a, b) for a in range(nodes) for b in range(nodes) if a != b)
    bounds = []
    for node in range(nodes):
        for end, counts in (
            (0, Counting.SOURCES if multicast else Counting.SENDS),
            (1, Counting.DESTINATIONS if reduce else Counting.SENDS),
        ):
            own = tuple(link for link in links if link[end] == node)
            bounds.append(BandwidthBound(own, Fraction(rate), f"cable {node} {end}", counts))
    return Topology(f"box{nodes}", nodes, links, tuple(bounds))
