"""The partial encoding: the contributions in every partial result that is sent.

For combining collectives without a single root per chunk, such as allreduce, which inversion cannot
reach.  A slot is a place for one send: chunk c over link (u, v) in step s.  A link with room for
several chunks in a step has several slots, since it may carry different partial results of one
chunk.  For each slot e

* ``x[e]``: it is used;
* ``k[e, i]``: its data holds node i's contribution;
* ``own[e]``: u adds its own contribution to it;
* ``a[f, e]``: u adds the data of the earlier slot f to it.

Every contribution of e comes from exactly one of these parts: ``k[e, i] = [i = u] own[e] + sum over
f of (a[f, e] and k[f, i])``, an equation between 0 and 1: nothing is counted twice.  Each node of
post forms the result in the same way, with every contribution exactly once.  A reduced value may
come back to a node that has contributed to it; otherwise an allreduce on a line of three nodes
would be impossible.

If switches copy and add up, equal data counts once and sums arrive as one; see `counting`.

A contribution is at u by step s only if its node is at most s away.  A slot is left out if too few
steps remain to reach a node of post.

Size: with E slots per chunk and D of them into one node at most E * D pairs of slots and E * D * P
products for each chunk; for few steps far fewer, since each arrival of step 0 is one known
contribution.
"""

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from syncoll.arrays import Ints
from syncoll.errors import FormulaTooLargeError
from syncoll.formula import Assignment, Formula, FormulaBuilder, Labels
from syncoll.formula.builder import StepRounds
from syncoll.model import UNREACHABLE, Algorithm, Counting, Instance
from syncoll.plugins import Options
from syncoll_partial.counting import CountedSlots, SendSlot

_USED, _CARRIES, _PART, _OWN, _BOTH = range(5)
"""The kinds of Booleans; the last is a part together with a contribution in it."""

_RESULT = 5
"""Offset of the kinds for results."""

_MOST_PRODUCTS = 2_000_000
"""Products of a formula that is worth building: more need several gigabytes for little hope."""

_PRODUCTS_PER_PAIR = 4
"""For each contributor of two slots that may count together."""

_LITERALS_PER_PRODUCT = 6
"""Three clauses and a place in an exactly-one row, for most of them, and the rows of the slots."""


@dataclass(frozen=True, eq=False)
class PartialEncoded:
    """The formula of an instance and the meaning of its variables.

    Args:
        formula: satisfiable exactly when the instance has an algorithm.
        slots: slots in order of steps.
        results: the slots of each result and the literals that add them.
        steps: S; integer variable s is r_s.
        goals: ``[results, 2]``, the chunk and the node of each result.
        about: ``[num_booleans, 4]``, each Boolean's kind, contributor and earlier slot (or -1), and
            slot or result.
        counted: whether switches copy or add up; then no used slot is left out, and Booleans have
            no labels.
    """

    formula: Formula
    slots: tuple[SendSlot, ...]
    results: tuple[tuple[tuple[int, int], ...], ...]
    steps: int
    nodes: int
    goals: Ints
    about: Ints
    counted: bool = False

    def decode(self, assignment: Assignment) -> Algorithm:
        """The algorithm that a model describes, without sends that are in no result."""
        true = assignment.booleans
        needed = {slot for parts in self.results for slot, literal in parts if true[literal]}
        for i in range(len(self.slots) - 1, -1, -1):
            if i in needed:
                needed.update(f for f, literal in self.slots[i].parts if true[literal])
        if self.counted:
            needed.update(i for i, slot in enumerate(self.slots) if true[slot.used])
        kept = [self.slots[i] for i in sorted(needed)]
        carried = np.zeros((len(kept), self.nodes), dtype=bool)
        for row, slot in zip(carried, kept, strict=True):
            row[[i for i, literal in slot.carries.items() if true[literal]]] = True
        sends = np.array([slot.send for slot in kept], dtype=np.int64).reshape(-1, 4)
        # Two slots of one link may carry equal data; one of them is enough.
        _, first = np.unique(np.concatenate([sends, carried], axis=1), axis=0, return_index=True)
        return Algorithm(
            tuple(assignment.integers[: self.steps].tolist()), sends[first], carried[first]
        )

    def labels(self) -> Labels | None:
        """The label of each Boolean, and the step of each integer; see `syncoll.plugins`."""
        if self.counted:
            return None
        sends = np.array([slot.send for slot in self.slots], dtype=np.int64).reshape(-1, 4)
        # Slots of one send follow each other.
        new = np.ones(len(sends), dtype=bool)
        new[1:] = (sends[1:] != sends[:-1]).any(axis=1)
        first = np.flatnonzero(new)
        place = np.arange(len(sends)) - first[np.cumsum(new) - 1] if len(sends) else sends[:, 0]
        slots = np.concatenate([sends, place[:, None]], axis=1)
        kind, contributor, earlier, end = self.about.T
        of_result = kind >= _RESULT
        ends = np.full((len(kind), 5), -1)
        ends[~of_result] = slots[end[~of_result]]
        ends[of_result, :2] = self.goals[end[of_result]]
        parts = np.full((len(kind), 3), -1)
        parts[earlier >= 0] = slots[earlier[earlier >= 0]][:, [1, 3, 4]]
        rounds = np.full((self.steps, 10), -1)
        rounds[:, 8] = np.arange(self.steps)
        return Labels(
            "knn--cnn--",
            np.concatenate([kind[:, None], contributor[:, None], parts, ends], axis=1),
            rounds,
        )


class PartialEncoding:
    """Encodes combining instances with the contents of every send."""

    def encode(self, instance: Instance, options: Options) -> PartialEncoded:
        """The formula of a combining instance, as the module describes it."""
        return _Encoder(instance).encode()

    def literals(self, instance: Instance, options: Options) -> int:
        """See `syncoll.plugins.EstimatesSize`; too large a formula is an error, as in `encode`."""
        return _LITERALS_PER_PRODUCT * _Encoder(instance).require_affordable()


class _Encoder:
    def __init__(self, instance: Instance) -> None:
        self.instance, self.topology = instance, instance.topology
        self.builder = FormulaBuilder()
        self.slots: list[SendSlot] = []
        self.counted: CountedSlots | None = None
        if self.topology.counts_copies:
            self.counted = CountedSlots(self.builder, self.topology, self.slots)
        kinds = {bound.counts for bound in self.topology.bounds}
        # An unneeded copy prevents others from being added up.
        self.all_goals = kinds >= {Counting.SOURCES, Counting.DESTINATIONS}
        self.results: list[tuple[tuple[int, int], ...]] = []
        self.goals: list[tuple[int, int]] = []
        self.about = array("q")  # see `PartialEncoded`
        self.distances = self.topology.distances.tolist()
        # [step][link]: how many sends the link may have room for.
        self.room = [[UNREACHABLE] * len(self.topology.links) for _ in range(instance.steps)]
        for bound, members in zip(self.topology.bounds, self.topology.bound_links, strict=True):
            if bound.counts is Counting.DESTINATIONS:
                continue  # the sends of a link may be added up
            for step, room in enumerate(self.room):
                most = bound.capacity(instance.rounds_range(step)[1])
                for i in members.tolist():
                    room[i] = min(room[i], most)

    def encode(self) -> PartialEncoded:
        self.require_affordable()
        builder, steps = self.builder, self.instance.steps
        rounds = StepRounds(builder, self.instance)
        for chunk in range(self.instance.num_chunks):
            if self.instance.post[chunk].any():
                self._chunk(chunk)
        self._capacities(rounds)
        rounds.add_up()
        return PartialEncoded(
            builder.build(),
            tuple(self.slots),
            tuple(self.results),
            steps,
            self.topology.num_nodes,
            np.array(self.goals, dtype=np.int64).reshape(-1, 2),
            np.array(self.about, dtype=np.int64).reshape(-1, 4),
            self.counted is not None,
        )

    def require_affordable(self) -> int:
        """Counts products before making any; raises FormulaTooLargeError if there are too many."""
        products = 0
        for members in self.instance.chunk_classes:
            arrived = [0] * self.topology.num_nodes
            for step in range(self.instance.steps):
                now = list(self._places(int(members[0]), step))
                for _, source, _, within, most in now:
                    products += len(members) * most * (1 + arrived[source]) * len(within)
                if products > _MOST_PRODUCTS:
                    raise FormulaTooLargeError(
                        f"encoded directly, {self.instance.collective} with C = "
                        f"{self.instance.chunks}, S = {self.instance.steps}, R = "
                        f"{self.instance.rounds} has over {_MOST_PRODUCTS} products of variables; "
                        "use fewer chunks, steps or rounds"
                    )
                for _, _, target, _, most in now:
                    arrived[target] += most
                if self.counted is not None:
                    products += len(members) * _pairs(now) * _PRODUCTS_PER_PAIR
        return products

    def _places(self, chunk: int, step: int) -> Iterator[tuple[int, int, int, list[int], int]]:
        """Links that may carry a chunk in a step: (link, source, target, within, slots).
        ``within`` are the contributors whose contribution can be at the source by then."""
        contributors = np.flatnonzero(self.instance.pre[chunk]).tolist()
        goals = np.flatnonzero(self.instance.post[chunk]).tolist()
        for i, (source, target) in enumerate(self.topology.links):
            to_goal = min((self.distances[target][d] for d in goals), default=UNREACHABLE)
            within = [n for n in contributors if self.distances[n][source] <= step]
            if (step + 1 + to_goal <= self.instance.steps or self.all_goals) and within:
                # No two slots need carry equal data, so non-empty sets limit their number.
                yield (
                    i,
                    source,
                    target,
                    within,
                    min(self.room[step][i], (1 << min(len(within), 30)) - 1),
                )

    def _chunk(self, chunk: int) -> None:
        """Every slot and every result of a chunk."""
        arrivals: list[list[int]] = [[] for _ in range(self.topology.num_nodes)]
        for step in range(self.instance.steps):
            arriving: list[tuple[int, int]] = []
            for _, source, target, within, most in self._places(chunk, step):
                before = 0
                for _ in range(most):
                    slot = self._slot(chunk, source, target, step, within, arrivals[source])
                    if before:  # slots of a link are used in order
                        self.builder.clause([-self.slots[slot].used, before])
                    before = self.slots[slot].used
                    arriving.append((target, slot))
            for target, slot in arriving:
                arrivals[target].append(slot)
            if self.counted is not None:
                self.counted.arrive([slot for _, slot in arriving])
        contributors = np.flatnonzero(self.instance.pre[chunk]).tolist()
        for node in np.flatnonzero(self.instance.post[chunk]).tolist():
            self._result(chunk, node, contributors, arrivals[node])

    def _boolean(self, kind: int, contributor: int, earlier: int, end: int) -> int:
        self.about.extend((kind, contributor, earlier, end))
        return self.builder.boolean()

    def _slot(
        self, chunk: int, source: int, target: int, step: int, within: list[int], arrived: list[int]
    ) -> int:
        builder, here = self.builder, len(self.slots)
        used = self._boolean(_USED, -1, -1, here)
        carries = {n: self._boolean(_CARRIES, n, -1, here) for n in within}
        for literal in carries.values():
            builder.clause([-literal, used])
        builder.clause([-used, *carries.values()])
        parts = tuple((f, self._boolean(_PART, -1, f, here)) for f in arrived)
        for f, literal in parts:
            builder.clause([-literal, used])
            builder.clause([-literal, self.slots[f].used])
        if self.counted is not None:
            self.counted.add_together(parts)
        own = self._boolean(_OWN, -1, -1, here) if source in carries else 0
        for n, literal in carries.items():
            origins = self._origins(n, parts, _BOTH, here)
            if n == source:
                origins.append(own)
            builder.exactly([*origins, -literal], 1)
        self.slots.append(SendSlot((chunk, source, target, step), used, carries, parts))
        return here

    def _origins(
        self, node: int, parts: tuple[tuple[int, int], ...], kind: int, end: int
    ) -> list[int]:
        """For each part the literal that it is added and holds the node's contribution."""
        origins = []
        for f, literal in parts:
            carries = self.slots[f].carries
            if node not in carries:
                continue
            if len(carries) == 1:  # if used at all, it carries only this
                origins.append(literal)
                continue
            both = self._boolean(kind, node, f, end)
            self.builder.clause([-both, literal])
            self.builder.clause([-both, carries[node]])
            self.builder.clause([both, -literal, -carries[node]])
            origins.append(both)
        return origins

    def _result(self, chunk: int, node: int, contributors: list[int], arrived: list[int]) -> None:
        builder, here = self.builder, len(self.results)
        parts = tuple((f, self._boolean(_RESULT + _PART, -1, f, here)) for f in arrived)
        for f, literal in parts:
            builder.clause([-literal, self.slots[f].used])
        if self.counted is not None:
            self.counted.add_together(parts)
        own = self._boolean(_RESULT + _OWN, -1, -1, here)
        for n in contributors:
            origins = self._origins(n, parts, _RESULT + _BOTH, here)
            if n == node:
                origins.append(own)
            builder.exactly(origins, 1)
        self.results.append(parts)
        self.goals.append((chunk, node))

    def _capacities(self, rounds: StepRounds) -> None:
        """Used slots over L in step s stay within b * r_s."""
        at: dict[tuple[int, int], list[int]] = {}
        index = self.topology.link_index
        for i, slot in enumerate(self.slots):
            _, source, target, step = slot.send
            at.setdefault((index[source, target], step), []).append(i)
        for bound, members in zip(self.topology.bounds, self.topology.bound_links, strict=True):
            for step in range(self.instance.steps):
                some = [x for i in members.tolist() for x in at.get((i, step), ())]
                if self.counted is None:
                    literals = [self.slots[x].used for x in some]
                else:
                    literals = list(self.counted.literals(bound, some))
                rounds.limit(bound, step, literals)


def _pairs(places: Sequence[tuple[int, int, int, list[int], int]]) -> int:
    """Contributors of pairs of slots that may count together: of one source, or one target."""
    slots: dict[tuple[int, int], int] = {}
    for _, source, target, _, most in places:
        for end in ((0, source), (1, target)):
            slots[end] = slots.get(end, 0) + most
    widest = max((len(within) for *_, within, _ in places), default=0)
    return sum(number * (number - 1) // 2 for number in slots.values()) * widest
