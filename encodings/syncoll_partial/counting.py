"""Slots that count together, and sums that arrive, if switches copy and add up.

The rules of `syncoll.model.counting` for the sends of an algorithm, in terms of slots:

* two slots of a node in a step with the same content are *equal*; over links of one bound that
  counts copies they are *copied*, and it counts them once;
* the slots of a chunk into a node in a step that are not copied, over links that share bounds which
  count sums, are a *group*; it is *summed* if no contribution is in two of them (a pair that
  *overlaps* shares one), and `added` is true.  A slot that includes one slot of a summed group in
  its data includes all.

An algorithm is valid if it is valid with everything addable added up, or with nothing: `added`
selects one of these.  Slots that are only needed as copies, or as overlaps, of others are kept.

Size: a few clauses for each contributor and each pair of slots of one node, or into one.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from syncoll.formula import FormulaBuilder
from syncoll.model import BandwidthBound, Counting, Topology
from syncoll.model.counting import links_together


@dataclass(frozen=True)
class SendSlot:
    """A place for one send.

    Args:
        send: chunk, source, destination, step.
        used: the literal x.
        carries: contributor to the literal k.
        parts: the earlier slots and the literals a.
    """

    send: tuple[int, int, int, int]
    used: int
    carries: Mapping[int, int]
    parts: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class _Group:
    """Slots, by number, that may be added up, and the literal of that."""

    slots: tuple[int, ...]
    summed: int


class CountedSlots:
    """The constraints about slots that count together; more slots may be added."""

    def __init__(
        self, builder: FormulaBuilder, topology: Topology, slots: Sequence[SendSlot]
    ) -> None:
        self._builder, self._topology, self._slots = builder, topology, slots
        self._group_of_link: list[int] = links_together(topology, Counting.DESTINATIONS).tolist()
        self._copying = [
            {i for i in bounds if topology.bounds[i].counts is Counting.SOURCES}
            for bounds in topology.link_bounds
        ]
        self._added = builder.boolean()
        self._equal: dict[tuple[int, int], int] = {}
        self._copied: dict[int, int] = {}
        self._alone: dict[int, int] = {}
        self._groups: dict[int, _Group] = {}
        self._firsts: dict[tuple[int, ...], int] = {}

    def _link(self, slot: int) -> int:
        _, source, target, _ = self._slots[slot].send
        return self._topology.link_index[source, target]

    def arrive(self, new: Sequence[int]) -> None:
        """Constrains which slots of a chunk in a step are copies, and which are added up."""
        by_source: dict[int, list[int]] = {}
        for slot in new:
            by_source.setdefault(self._slots[slot].send[1], []).append(slot)
        for leaving in by_source.values():
            self._copies(leaving)
        by_group: dict[int, list[int]] = {}
        for slot in new:
            if (group := self._group_of_link[self._link(slot)]) >= 0:
                by_group.setdefault(group, []).append(slot)
        for together in by_group.values():
            if len(together) > 1:
                self._sum(together)

    def _copies(self, slots: list[int]) -> None:
        builder = self._builder
        with_copies: dict[int, list[int]] = {}
        for one, other in combinations(slots, 2):
            link, second = self._link(one), self._link(other)
            if link == second:  # no send is made twice
                builder.clause([-self._same(one, other)])
            elif self._copying[link] & self._copying[second]:
                same = self._same(one, other)
                with_copies.setdefault(one, []).append(same)
                with_copies.setdefault(other, []).append(same)
        for slot, equal in with_copies.items():
            self._copied[slot] = self._any(equal)

    def _any(self, literals: Sequence[int]) -> int:
        """A literal that is true exactly when one of these is."""
        if len(literals) == 1:
            return literals[0]
        some = self._builder.boolean()
        self._builder.clause([-some, *literals])
        for one in literals:
            self._builder.clause([-one, some])
        return some

    def _same(self, one: int, other: int) -> int:
        """Whether both are used and carry equal data."""
        builder, a, b = self._builder, self._slots[one], self._slots[other]
        same = self._equal[one, other] = builder.boolean()
        builder.clause([-same, a.used])
        builder.clause([-same, b.used])
        differ = []
        for node, x in a.carries.items():
            y = b.carries[node]
            builder.clause([-same, -x, y])
            builder.clause([-same, x, -y])
            if len(a.carries) > 1:
                apart = builder.boolean()
                builder.clause([-apart, x, y])
                builder.clause([-apart, -x, -y])
                differ.append(apart)
        builder.clause([same, -a.used, -b.used, *differ])
        return same

    def _sum(self, slots: list[int]) -> None:
        builder, summed = self._builder, self._builder.boolean()
        builder.clause([-summed, self._added])
        for slot in slots:
            used, copied = self._slots[slot].used, self._copied.get(slot, 0)
            self._alone[slot] = used if not copied else builder.boolean()
            if copied:
                builder.clause([-self._alone[slot], used])
                builder.clause([-self._alone[slot], -copied])
                builder.clause([self._alone[slot], -used, copied])
        overlaps = []
        for one, other in combinations(slots, 2):
            a, b = self._slots[one].carries, self._slots[other].carries
            both = self._alone[one], self._alone[other]
            common = []
            for node in sorted(a.keys() & b.keys()):
                builder.clause([-summed, -both[0], -both[1], -a[node], -b[node]])
                shared = builder.boolean()
                for literal in (*both, a[node], b[node]):
                    builder.clause([-shared, literal])
                common.append(shared)
            overlaps += common
        builder.clause([summed, -self._added, *overlaps])
        group = _Group(tuple(slots), summed)
        self._groups |= dict.fromkeys(slots, group)

    def add_together(self, parts: Sequence[tuple[int, int]]) -> None:
        """Makes slots with the literals that add them, `parts`, include all of a sum or nothing."""
        by_group: dict[int, list[tuple[int, int]]] = {}
        for slot, literal in parts:
            if slot in self._groups:
                by_group.setdefault(self._groups[slot].summed, []).append((slot, literal))
        for summed, members in by_group.items():
            whole = self._builder.boolean()
            for slot, literal in members:
                self._builder.clause([-summed, -self._alone[slot], -literal, whole])
                self._builder.clause([-summed, -self._alone[slot], literal, -whole])

    def literals(self, bound: BandwidthBound, slots: Sequence[int]) -> Iterator[int]:
        """At least as many true literals as a bound counts of a step's slots; forces no more."""
        if bound.counts is Counting.SENDS:
            yield from (self._slots[slot].used for slot in slots)
        elif bound.counts is Counting.SOURCES:
            by_source: dict[tuple[int, int], list[int]] = {}
            for slot in slots:
                by_source.setdefault(self._slots[slot].send[:2], []).append(slot)
            for own in by_source.values():
                for i, slot in enumerate(own):
                    yield self._first(slot, own[:i])
        else:
            by_group: dict[int, list[int]] = {}
            for slot in slots:
                if slot in self._groups:
                    by_group.setdefault(self._groups[slot].summed, []).append(slot)
                else:
                    yield self._slots[slot].used
            for summed, own in by_group.items():
                yield from self._of_group(summed, own)

    def _first(self, slot: int, before: list[int]) -> int:
        """Whether it is used and no slot before it carries equal data."""
        earlier = (self._equal.get((min(x, slot), max(x, slot)), 0) for x in before)
        same = sorted(filter(None, earlier))
        if not same:
            return self._slots[slot].used
        if (slot, *same) not in self._firsts:
            first = self._firsts[slot, *same] = self._builder.boolean()
            self._builder.clause([-self._slots[slot].used, first, *same])
        return self._firsts[slot, *same]

    def _of_group(self, summed: int, slots: list[int]) -> Iterator[int]:
        """The sum, and the literals outside of it."""
        builder, once = self._builder, self._builder.boolean()
        yield once
        for slot in slots:
            used, alone = self._slots[slot].used, self._alone[slot]
            builder.clause([-summed, -alone, once])
            apart = builder.boolean()
            builder.clause([-used, summed, apart])
            if copied := self._copied.get(slot, 0):
                builder.clause([-used, -copied, apart])
            yield apart
