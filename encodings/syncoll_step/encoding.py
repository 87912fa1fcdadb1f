"""The step encoding: one Boolean per send and step, pruned by distance.

``x[c, (u, v), s]`` means that chunk c goes over link (u, v) in step s.  A variable exists only if s
is at least u's distance from c's pre, and enough steps are left from v to a node that needs c.  The
constraints are

* delivery: a node gets a chunk at most once, exactly once if post demands it (sending twice, or to
  a node of pre, never helps);
* causality: c leaves u in step s only if a send delivered it to u in a step before s;
* capacity: for each (L, b) of the bandwidth relation and each step, sends over L <= b * r_s;
* the rounds r_s add up to R.

A bound may count the sends of a node once for any number of destinations (`Counting.SOURCES`).  A
Boolean ``y[c, u, s]`` stands for all sends of chunk c from u in step s over its L; each implies it.
Data is never added up, so a bound that counts sums counts every send here.

Size: at most G * |links| * S Booleans before pruning, as many causality rows, G * P delivery rows
and |B| * S capacity rows.  The SCCL paper (section 3.4) reports that a Boolean for every (c, n, n',
s) did not scale; the differences here are the pruning and no arithmetic over time.
"""

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from syncoll.arrays import Ints
from syncoll.formula import Assignment, Formula, FormulaBuilder, Labels
from syncoll.formula.builder import StepRounds
from syncoll.model import Algorithm, Counting, Instance, ranges, rows_within
from syncoll.plugins import Options

_COUNTED_CLASSES = 32
"""Number of classes of chunks that an estimate of the size counts."""


@dataclass(frozen=True, eq=False)
class StepEncoded:
    """The formula of an instance and the meaning of its variables.

    Args:
        formula: satisfiable exactly when the instance has an algorithm.
        sends: ``[V, 4]``, the send (chunk, source, destination, step) of Boolean ``1 + row``.
        steps: S; integer variable s is r_s.
        ordered: whether interchangeable chunks are.
        copied: ``[K, 3]``, the chunk, source and step of each further Boolean, for several sends.
    """

    formula: Formula
    sends: Ints
    steps: int
    ordered: bool = False
    copied: Ints = field(default_factory=lambda: np.zeros((0, 3), dtype=np.int64))

    def decode(self, assignment: Assignment) -> Algorithm:
        """The algorithm that a model describes."""
        chosen = assignment.booleans[1 : 1 + len(self.sends)]
        return Algorithm(tuple(assignment.integers[: self.steps].tolist()), self.sends[chosen])

    def hint(self, algorithm: Algorithm) -> Ints:
        """For each variable whether the algorithm makes that send; see `syncoll.plugins`."""
        ids = np.arange(1, len(self.sends) + 1)
        return np.where(rows_within(self.sends, algorithm.sends), ids, -ids)

    def labels(self) -> Labels | None:
        """The send of each Boolean, and the step of each integer; see `syncoll.plugins`."""
        copies = np.full((len(self.copied), 4), -1)
        copies[:, [0, 1, 3]] = self.copied
        if self.ordered or len(np.unique(copies, axis=0)) < len(copies):
            return None  # Booleans of different bounds may be about the same chunk and source
        rounds = np.full((self.steps, 4), -1)
        rounds[:, 3] = np.arange(self.steps)
        return Labels("cnns", np.concatenate([self.sends, copies]), rounds)


class StepEncoding:
    """Encodes instances with one Boolean per send and step."""

    def encode(self, instance: Instance, options: Options) -> StepEncoded:
        """The formula of an instance; ``symmetry`` ``arrival`` orders interchangeable chunks."""
        topology, steps = instance.topology, instance.steps
        builder = FormulaBuilder()
        rounds = StepRounds(builder, instance)
        links = topology.ends
        source, target = links[:, 0], links[:, 1]

        # Variables lie ordered by chunk and target, then link, then step, so that everything that
        # may deliver c to v is one run of consecutive ids.
        order = np.argsort(target, kind="stable")
        chunk, position, begins, counts = _windows(instance, source[order], target[order])
        variables = builder.booleans(int(counts.sum()))
        step = ranges(begins, counts)
        chunk, link = np.repeat(chunk, counts), np.repeat(order[position], counts)
        sends = np.stack([chunk, source[link], target[link], step], axis=1)
        ids = np.arange(1, len(variables) + 1)

        _deliveries_and_causality(builder, instance, sends, ids)
        copied = _capacities(builder, instance, rounds, link, sends, ids)
        rounds.add_up()
        ordered = options["symmetry"] == "arrival"
        if ordered:
            _order_chunks(builder, instance, sends, ids)
        return StepEncoded(
            builder.build(), sends, steps, ordered, np.array(copied, dtype=np.int64).reshape(-1, 3)
        )

    def literals(self, instance: Instance, options: Options) -> int:
        """Approximate number of literals in the rows, counted for some classes of equal chunks."""
        topology, steps = instance.topology, instance.steps
        links = topology.ends
        source, target = links[:, 0], links[:, 1]
        shared = np.zeros(len(links), dtype=np.int64)  # the number of bounds over each link
        for members in topology.bound_links:
            shared[members] += 1
        chosen = instance.chunk_classes[:: -(-len(instance.chunk_classes) // _COUNTED_CLASSES)]
        count = 0
        for members in chosen:
            c = members[0]
            first = instance.distance_from_pre[c, source]
            last = steps - 1 - instance.distance_to_post[c, target]
            length = np.where(instance.pre[c, target], 0, np.maximum(0, last - first + 1))
            # Each variable is in its node's delivery row, its capacities, its causality clause ...
            own = int(length.sum() * 2 + (length * shared).sum())
            before = 0
            held = instance.pre[c, source]
            for step in range(1, steps):  # ... and the clauses of its node's later sends
                arrived = np.bincount(
                    target, np.clip(step - first, 0, length), minlength=topology.num_nodes
                )
                leaving = (first <= step) & (step < first + length) & ~held
                before += int(arrived[source[leaving]].sum())
            count += len(members) * (own + before)
        return count * instance.num_chunks // sum(len(members) for members in chosen)


def _windows(instance: Instance, source: Ints, target: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """Chunk, link, first step and number of steps of each possible use, by chunk, then link."""
    # Chunks that start and end alike have the same windows, and there may be few kinds of them.
    classes = instance.chunk_classes
    some = np.array([members[0] for members in classes], dtype=np.int64)
    first = instance.distance_from_pre[some][:, source]
    last = instance.steps - 1 - instance.distance_to_post[some][:, target]
    length = np.where(instance.pre[some][:, target], 0, np.maximum(0, last - first + 1))
    kind, link = np.nonzero(length)
    first, length = first[kind, link], length[kind, link]
    of_chunk = np.empty(instance.num_chunks, dtype=np.int64)
    for number, members in enumerate(classes):
        of_chunk[members] = number
    links = np.bincount(kind, minlength=len(classes))
    begins = np.cumsum(links) - links
    window = ranges(begins[of_chunk], links[of_chunk])
    chunk = np.repeat(np.arange(instance.num_chunks), links[of_chunk])
    return chunk, link[window], first[window], length[window]


def _order_chunks(builder: FormulaBuilder, instance: Instance, sends: Ints, ids: Ints) -> None:
    """Orders interchangeable chunks by delivery (step, then source) at one node of their post.

    Every algorithm can be renumbered to this, because members of a class have equal pre and post.
    """
    missing = instance.post & ~instance.pre
    for members in instance.chunk_classes:
        for node in np.flatnonzero(missing[members[0]])[:1].tolist():
            runs: list[list[int]] = []
            for c in members.tolist():
                rows = np.flatnonzero((sends[:, 0] == c) & (sends[:, 2] == node))
                runs.append(ids[rows[np.lexsort((sends[rows, 1], sends[rows, 3]))]].tolist())
            places = list(range(1, len(runs[0]) + 1))
            for one, next_one in pairwise(runs):
                builder.linear(places + [-p for p in places], one + next_one, high=0)


def _deliveries_and_causality(
    builder: FormulaBuilder, instance: Instance, sends: Ints, ids: Ints
) -> None:
    """Each node gets a chunk once, and sends only chunks that it has got before."""
    nodes = instance.topology.num_nodes
    keys = sends[:, 0] * nodes + sends[:, 2]
    starts = np.searchsorted(keys, np.arange(instance.num_chunks * nodes + 1))
    bounds = starts.tolist()
    steps = sends[:, 3]
    missing = (instance.post & ~instance.pre).ravel().tolist()
    # The sends of chunk c out of u, found from (c, u).
    out_keys = sends[:, 0] * nodes + sends[:, 1]
    out_order = np.argsort(out_keys, kind="stable")
    out_bounds = np.searchsorted(
        out_keys[out_order], np.arange(instance.num_chunks * nodes + 1)
    ).tolist()
    in_pre = instance.pre.ravel().tolist()
    for key in range(instance.num_chunks * nodes):
        a, b = bounds[key], bounds[key + 1]
        if a < b:
            run = ids[a:b].tolist()
            if missing[key]:
                builder.exactly(run, 1)
            elif len(run) > 1:
                builder.at_most(run, 1)
        elif missing[key]:
            builder.clause([])
        if in_pre[key]:
            continue
        leaving = out_order[out_bounds[key] : out_bounds[key + 1]]
        if not len(leaving):
            continue
        by_step = np.argsort(steps[a:b], kind="stable") + a
        arrivals = ids[by_step].tolist()
        cut = np.searchsorted(steps[by_step], steps[leaving]).tolist()
        for variable, k in zip(ids[leaving].tolist(), cut, strict=True):
            builder.clause([-variable, *arrivals[:k]])


def _capacities(
    builder: FormulaBuilder,
    instance: Instance,
    rounds: StepRounds,
    link: Ints,
    sends: Ints,
    ids: Ints,
) -> list[tuple[int, int, int]]:
    """Sends over L in step s stay within b * r_s; returns Booleans for sends that count once."""
    step = sends[:, 3]
    num_links, steps = len(instance.topology.links), instance.steps
    keys = step * num_links + link
    order = np.argsort(keys, kind="stable")
    bounds = np.searchsorted(keys[order], np.arange(num_links * steps + 1)).tolist()
    sorted_ids = ids[order].tolist()
    together = _Copies(builder, sends)
    for bound, members in zip(instance.topology.bounds, instance.topology.bound_links, strict=True):
        for s in range(steps):
            literals: list[int] = []
            for i in members.tolist():
                cell = s * num_links + i
                literals += sorted_ids[bounds[cell] : bounds[cell + 1]]
            if bound.counts is Counting.SOURCES:
                literals = together.of(literals)
            rounds.limit(bound, s, literals)
    return together.made


class _Copies:
    """Booleans for all sends of a chunk by a node in a step over some links, listed in `made`."""

    def __init__(self, builder: FormulaBuilder, sends: Ints) -> None:
        self.made: list[tuple[int, int, int]] = []
        self._builder, self._sends = builder, sends
        self._known: dict[tuple[int, ...], int] = {}

    def of(self, literals: list[int]) -> list[int]:
        """One literal for each chunk and source among the sends of a step."""
        groups: dict[tuple[int, int, int], list[int]] = {}
        rows = self._sends[np.array(literals, dtype=np.int64) - 1][:, [0, 1, 3]].tolist()
        for literal, (chunk, source, step) in zip(literals, rows, strict=True):
            groups.setdefault((chunk, source, step), []).append(literal)
        return [self._any(key, members) for key, members in groups.items()]

    def _any(self, key: tuple[int, int, int], members: list[int]) -> int:
        """A literal that each of these implies."""
        if len(members) == 1:
            return members[0]
        name = tuple(sorted(members))
        if name not in self._known:
            self._known[name] = literal = self._builder.boolean()
            for one in members:
                self._builder.clause([-one, literal])
            self.made.append(key)
        return self._known[name]
