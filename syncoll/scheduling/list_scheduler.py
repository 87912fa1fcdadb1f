"""List scheduling: starts sends in order of priority as soon as there are data and room.

Every step has a budget of rounds.  A send that can wait no longer, because its successors need all
remaining steps, goes in any case, and the step may exceed its budget.  So every run ends with a
valid schedule, and one that keeps the budgets, if they suffice, is a solution.

Run backward, the procedure starts with the leaves in the last step: a send may go when all its
successors in its tree have gone.  Alternating both directions, each with the times of the other as
priorities, is the classic improvement for project scheduling under resource limits.
"""

import numpy as np

from syncoll.arrays import Floats, Ints
from syncoll.model import ranges
from syncoll.scheduling.link_sets import LinkSets
from syncoll.scheduling.streams import SendPlan, Streams, positions_of

_MANY = 1 << 62
_MOST_PASSES = 12
"""Most passes over a step to assign room, if links are in several sets."""


class ListScheduler:
    """List scheduling of streams."""

    def __init__(self, streams: Streams, sets: LinkSets) -> None:
        self._streams = streams
        self._sets = sets
        self._count = streams.count
        self._share = self._count.min(initial=_MANY) / self._count
        self._inner = streams.parent >= 0
        self._above = np.where(self._inner, streams.parent, 0)
        self._levels = {False: positions_of(streams.depth), True: positions_of(streams.below)}
        inner = np.flatnonzero(self._inner)
        self._children = inner[np.argsort(streams.parent[inner], kind="stable")]
        parents = streams.parent[self._children]
        new = np.ones(len(parents), dtype=bool)
        new[1:] = parents[1:] != parents[:-1]
        self._first_child = np.flatnonzero(new)
        self._parents = parents[new]

    def run(
        self, budgets: Ints, priority: Floats, *, backward: bool = False, spread: float = 0.0
    ) -> SendPlan:
        """One schedule.

        Args:
            budgets: the rounds of each of the S steps, S being at least the height.
            priority: ``[E]``, the least goes first.
            backward: whether to start with the last step and the leaves.
            spread: urgency that each further chunk of a stream loses (of the streams with the
                fewest chunks; less for streams with more).  Above 0 streams that compete for a link
                take turns, in proportion to their chunks; with 0 one follows the other.
        """
        steps = len(budgets)
        done = np.zeros(len(self._count), dtype=np.int64)
        levels = self._levels[backward]
        ahead = self._streams.depth if backward else self._streams.below
        rounds = np.zeros(steps, dtype=np.int64)
        active = np.zeros(0, dtype=np.int64)
        entries: list[Ints] = []
        amounts: list[Ints] = []
        for now in range(steps):
            step = steps - 1 - now if backward else now
            if now < len(levels):
                active = np.concatenate([active, levels[now]])
            ready = self._ready(active, done, backward)
            some = ready > 0
            entry, ready = active[some], ready[some]
            taken = np.where(ahead[entry] == steps - 1 - now, ready, 0)  # the ones that cannot wait
            load = self._sets.load(self._streams.link[entry], taken)
            rounds[step] = max(int(budgets[step]), self._sets.rounds(load))
            room = self._sets.room(int(rounds[step])) - load
            waiting = np.flatnonzero(taken == 0)
            if len(waiting):
                open_ = entry[waiting]
                taken[waiting] = self._fill(
                    open_, ready[waiting], room, priority[open_], spread * self._share[open_], done
                )
                load = self._sets.load(self._streams.link[entry], taken)
            rounds[step] = self._sets.rounds(load)
            gone = taken > 0
            entry, taken = entry[gone], taken[gone]
            done[entry] += taken
            active = active[done[active] < self._count[active]]
            entries.append(entry)
            amounts.append(taken)
        sizes = [len(entry) for entry in entries]
        order = range(steps - 1, -1, -1) if backward else range(steps)
        return SendPlan(
            rounds,
            np.concatenate(entries),
            np.repeat(np.array(order, dtype=np.int64), sizes),
            np.concatenate(amounts),
        )

    def _ready(self, active: Ints, done: Ints, backward: bool) -> Ints:
        """Number of chunks of each active entry that may go now."""
        if not backward:
            brought = np.where(self._inner[active], done[self._above[active]], self._count[active])
            return np.asarray(brought - done[active])
        followed = self._count.copy()
        if len(self._parents):
            followed[self._parents] = np.minimum.reduceat(done[self._children], self._first_child)
        return np.asarray(followed[active] - done[active])

    def _fill(
        self, entry: Ints, ready: Ints, room: Ints, urgency: Floats, spread: Floats, done: Ints
    ) -> Ints:
        """Number of chunks of each entry that go, most urgent first, until the room is used up."""
        owner, wish = np.arange(len(entry)), ready
        link = self._streams.link[entry]
        if spread.any() or self._sets.several[link].any():
            owner = np.repeat(owner, ready)
            turn = ranges(done[entry], ready)
            urgency = urgency[owner] + spread[owner] * turn
            wish = np.ones(len(owner), dtype=np.int64)
        order = np.argsort(urgency, kind="stable")
        owner, wish = owner[order], wish[order]
        sets = self._sets.of_link[self._streams.link[entry[owner]]]
        width = sets.shape[1]
        taken = np.zeros(len(entry), dtype=np.int64)
        for _ in range(1 if width == 1 else _MOST_PASSES):
            grouped = np.argsort(sets.ravel(), kind="stable")
            group = sets.ravel()[grouped]
            amount = np.repeat(wish, width)[grouped]
            before = np.cumsum(amount) - amount
            starts = np.searchsorted(group, group)  # where each one's group begins
            before -= before[starts]
            part = np.empty(len(group), dtype=np.int64)
            part[grouped] = np.clip(room[group] - before, 0, amount)
            got = part.reshape(-1, width).min(axis=1)
            if not got.any():
                break
            taken += np.bincount(owner, got, minlength=len(entry)).astype(np.int64)
            room = room - np.bincount(
                sets.ravel(), np.repeat(got, width), minlength=len(room)
            ).astype(np.int64)
            wish = wish - got
            still = (wish > 0) & (room[sets] > 0).all(axis=1)
            if not still.any():
                break
            owner, wish, sets = owner[still], wish[still], sets[still]
        return taken
