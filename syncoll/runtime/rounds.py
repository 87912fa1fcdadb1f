"""The order of the messages of a step, so that its rounds follow one another.

If ranks start their messages in the order of `syncoll.runtime.values`, two messages may meet at a
port while another port idles: a trunk's message comes when a neighbour's does.  Without fair shares
of each link, which TCP does not give, such a step takes longer than its rounds.  Steps of more than
256 messages keep their order.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import groupby
from operator import itemgetter
from typing import TypeVar

from syncoll.model import Topology

_TRIES, _WORK = 64, 1 << 17
"""Schedules of a step, and their number times the square of its messages."""

R = TypeVar("R", bound=tuple[int, ...])
Rounds = dict[int, Fraction]
"""Of a message: the rounds in which it occupies each bound, by the bound's number."""


def by_rounds(messages: Sequence[R], topology: Topology) -> Iterator[R]:
    """The rows of messages; within a step the messages in the order in which they should start.

    Args:
        messages: rows as `syncoll.runtime.tables.MessageRow`, ordered by message and step.
    """
    bounds: dict[tuple[int, int], list[int]] = {link: [] for link in topology.links}
    for number, bound in enumerate(topology.bounds):
        for link in bound.links:
            bounds[link].append(number)
    for _, rows in groupby(messages, itemgetter(0)):
        each = [list(message) for _, message in groupby(rows, itemgetter(0, 1, 2, 3))]
        slots = [sum(row[-1] for row in one) for one in each]
        rounds: list[Rounds] = [
            {b: size / topology.bounds[b].chunks_per_round for b in bounds[one[0][1], one[0][2]]}
            for one, size in zip(each, slots, strict=True)
        ]
        for i in _order(rounds):
            yield from each[i]


def _order(rounds: Sequence[Rounds]) -> list[int]:
    """The numbers of messages by their starts in a schedule; in order if that is as good."""
    load: Rounds = {}
    for one in rounds:
        for bound, some in one.items():
            load[bound] = load.get(bound, 0) + some
    least, longest = (max(x.values(), default=Fraction(0)) for x in (load, rounds[0]))
    found = order = [*range(len(rounds))]
    best, urgency = None, None
    for _ in range(min(_TRIES, _WORK // len(rounds) ** 2)):
        starts, end = _schedule(rounds, dict(load), urgency)
        if best is None or end < best:
            found, best = sorted(order, key=starts.__getitem__) if urgency else order, end
        if best <= least:
            break
        # Messages on the fullest bounds go first, and earlier than before if they ended too late.
        urgency = urgency or [Fraction(0)] * len(rounds)
        ends = (at + max(one.values(), default=at) for at, one in zip(starts, rounds, strict=True))
        urgency = [more + longest * (x > least) for more, x in zip(urgency, ends, strict=True)]
    return found


def _schedule(
    rounds: Sequence[Rounds], left: Rounds, urgency: Sequence[Fraction] | None
) -> tuple[list[Fraction], Fraction]:
    """When each message starts and the last one ends, if each bound carries one at a time."""
    now, starts = Fraction(0), [Fraction(0)] * len(rounds)
    free = dict.fromkeys(left, now)
    waiting = [*range(len(rounds))]
    while waiting:
        if urgency is not None:
            full = [sum(map(left.__getitem__, one)) for one in rounds]
            waiting.sort(key=lambda i: full[i] + urgency[i], reverse=True)
        blocked = []
        for i in waiting:
            if any(free[bound] > now for bound in rounds[i]):
                blocked.append(i)
                continue
            starts[i] = now
            for bound, some in rounds[i].items():
                free[bound], left[bound] = now + some, left[bound] - some
        waiting = blocked
        now = min((time for time in free.values() if time > now), default=now)
    return starts, max(free.values(), default=now)
