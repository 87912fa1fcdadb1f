"""The paper's encoding: arrival times of chunks, and their links (SCCL paper, section 3.4).

Variables, with the paper's names: ``time[c, n]`` in ``0 … S + 1``, the step at whose end
chunk c is at node n (S + 1: never), ``snd[n, c, n']`` for every link, and the rounds ``r[s]``.

* C1: ``time[c, n] = 0`` for pre.
* C2: ``time[c, n] <= S`` for post.
* C3: outside pre, ``time[c, n] <= S`` exactly if one of the sends into n is chosen, and then no
  other.  (The paper states the direction from left to right; the other only removes sends that are
  never received.)
* C4: ``snd[n, c, n']`` implies ``time[c, n] < time[c, n']``.
* C5: for each (L, b) and each step, the chosen sends over L whose chunk arrives in that step are at
  most ``b * r[s]``.
* C6: the rounds add up to R.

C5 is about ``snd and time = s``.  The equality is a Boolean ``at[c, n, s]`` tied to ``time`` by one
linear row, the conjunction a Boolean that both imply; C5 bounds from above, so that direction is
enough.

Pruning, which the paper does not mention but which changes no answer: a chunk reaches a node no
sooner than its distance.  If it cannot be passed on in time, it need not go at all.

Size: G * P integers and at most G * |links| * (S + 1) + G * P * S Booleans.
"""

from array import array
from dataclasses import dataclass

import numpy as np

from syncoll.arrays import Ints
from syncoll.formula import Assignment, Formula, FormulaBuilder, Labels
from syncoll.formula.builder import StepRounds
from syncoll.model import Algorithm, Instance, rows_within
from syncoll.plugins import Options

_SND, _AT, _RECEIVED, _BOTH = range(4)
"""The kinds of Booleans; the last is snd and at together."""

_COUNTED_CLASSES = 32
"""Number of classes of chunks that an estimate of the size counts."""


@dataclass(frozen=True, eq=False)
class PathEncoded:
    """The formula of an instance and the meaning of its variables.

    Args:
        formula: satisfiable exactly when the instance has an algorithm.
        steps: S; integer variable s is r[s].
        sends: ``[V, 3]``, the (chunk, source, destination) of each snd variable.
        literals: ``[V]``, the Booleans snd.
        arrivals: ``[V]``, the integer variable time of the destination.
        about: ``[num_booleans, 5]``, each Boolean's kind, chunk, source, destination and step, or
            -1; None if interchangeable chunks are ordered.
    """

    formula: Formula
    steps: int
    sends: Ints
    literals: Ints
    arrivals: Ints
    about: Ints | None
    nodes: int

    def decode(self, assignment: Assignment) -> Algorithm:
        """The algorithm that a model describes: T = {(c, n, n', time - 1) : snd[n, c, n']}."""
        chosen = assignment.booleans[self.literals]
        steps = assignment.integers[self.arrivals[chosen]] - 1
        sends = np.concatenate([self.sends[chosen], steps[:, None]], axis=1)
        return Algorithm(tuple(assignment.integers[: self.steps].tolist()), sends)

    def hint(self, algorithm: Algorithm) -> Ints:
        """For each snd whether the algorithm makes this send; see `syncoll.plugins`."""
        chosen = rows_within(self.sends, algorithm.sends[:, :3])
        return np.where(chosen, self.literals, -self.literals)

    def labels(self) -> Labels | None:
        """The label of each Boolean, and chunk and node of each time; see `syncoll.plugins`."""
        if self.about is None:
            return None
        integers = np.full((len(self.formula.integer_low), 5), -1)
        integers[: self.steps, 4] = np.arange(self.steps)
        times = np.arange(len(integers) - self.steps)
        integers[self.steps :, 1], integers[self.steps :, 3] = np.divmod(times, self.nodes)
        return Labels("kcnns", self.about, integers)


class PathEncoding:
    """Encodes instances with arrival times and chosen links."""

    def encode(self, instance: Instance, options: Options) -> PathEncoded:
        """The formula of an instance; ``symmetry`` ``arrival`` orders interchangeable chunks."""
        return _Encoder(instance).encode(str(options["symmetry"]))

    def literals(self, instance: Instance, options: Options) -> int:
        """Approximate number of literals in the rows, counted for some classes of equal chunks."""
        links = instance.topology.ends
        chosen = instance.chunk_classes[:: -(-len(instance.chunk_classes) // _COUNTED_CLASSES)]
        count = 0
        for members in chosen:
            c = members[0]
            earliest = instance.distance_from_pre[c]
            latest = instance.steps - instance.distance_to_post[c]
            window = np.where(instance.pre[c], 0, latest - np.maximum(1, earliest) + 1)
            window = np.maximum(0, window)
            into = window[links[:, 1]] * (earliest[links[:, 0]] < latest[links[:, 1]])
            # C5 and its conjunctions: 4 for each step of a link; C4: 2, and 1 in C3.
            cells = int(4 * into.sum() + 3 * np.count_nonzero(into) + 2 * window.sum())
            count += len(members) * cells
        return count * instance.num_chunks // sum(len(members) for members in chosen)


class _Encoder:
    """One run of the encoding: the builder, and tables of the variables made so far."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.topology = instance.topology
        self.steps = instance.steps
        self.builder = FormulaBuilder()
        # Arrival windows [G, P]; an empty one means that the chunk never goes there.
        self.earliest = instance.distance_from_pre.tolist()
        self.latest = (self.steps - instance.distance_to_post).tolist()
        self.pre = instance.pre.tolist()
        self.time: list[list[int]] = []
        self.at: dict[tuple[int, int, int], int] = {}
        # (chunk, link) to the literal snd, and (link, step) to the literals that C5 counts.
        self.snd: dict[tuple[int, int], int] = {}
        self.arriving: dict[tuple[int, int], list[int]] = {}
        self.about = array("q")  # see `PathEncoded`

    def encode(self, symmetry: str) -> PathEncoded:
        builder, steps = self.builder, self.steps
        rounds = StepRounds(builder, self.instance)
        for c in range(self.instance.num_chunks):
            self._times(c)
            for n in range(self.topology.num_nodes):
                self._deliveries(c, n)
        self._c5(rounds)
        rounds.add_up()  # C6
        if symmetry == "arrival":
            self._order_chunks()
        pairs = np.array(list(self.snd), dtype=np.int64).reshape(-1, 2)
        ends = self.topology.ends[pairs[:, 1]]
        arrivals = [self.time[c][n] for c, n in zip(pairs[:, 0], ends[:, 1], strict=True)]
        return PathEncoded(
            builder.build(),
            steps,
            np.concatenate([pairs[:, :1], ends], axis=1),
            np.array(list(self.snd.values()), dtype=np.int64),
            np.array(arrivals, dtype=np.int64),
            None if symmetry == "arrival" else np.array(self.about, dtype=np.int64).reshape(-1, 5),
            self.topology.num_nodes,
        )

    def _window(self, c: int, n: int) -> range:
        """The steps 1 … S at whose end chunk c may arrive at node n."""
        return range(max(1, self.earliest[c][n]), self.latest[c][n] + 1)

    def _times(self, c: int) -> None:
        """The variables time, with C1 and C2 as their bounds."""
        row = []
        for n in range(self.topology.num_nodes):
            window, post = self._window(c, n), bool(self.instance.post[c, n])
            if self.pre[c][n]:
                row.append(self.builder.integer(0, 0))  # C1
            elif not window:
                row.append(self.builder.integer(self.steps + 1, self.steps + 1))
                if post:
                    self.builder.clause([])
            else:
                never = self.steps if post else self.steps + 1  # C2
                row.append(self.builder.integer(window[0], never))
        self.time.append(row)

    def _deliveries(self, c: int, n: int) -> None:
        """C3 and C4 for chunk c at node n, and the literals that C5 counts."""
        window = self._window(c, n)
        if self.pre[c][n] or not window:
            return
        builder, post = self.builder, bool(self.instance.post[c, n])
        literals: list[int] = []
        for i in self.topology.in_links[n]:
            source = self.topology.links[i][0]
            if self.earliest[c][source] < window[-1]:
                literal = builder.boolean()
                literals.append(literal)
                self.snd[c, i] = literal
                self.about.extend((_SND, c, source, n, -1))
        at = builder.booleans(len(window))
        for s in window:
            self.about.extend((_AT, c, -1, n, s))
        if post:
            builder.exactly(literals, 1)
            builder.exactly(at, 1)
        else:
            received = builder.boolean()
            self.about.extend((_RECEIVED, c, -1, n, -1))
            builder.exactly([*literals, -received], 1)
            builder.exactly([*at, -received], 1)
        # time = S + 1, or the one step whose `at` is true.
        builder.linear(
            [self.steps + 1 - s for s in window],
            at,
            [1],
            [self.time[c][n]],
            low=self.steps + 1,
            high=self.steps + 1,
        )
        for s, literal in zip(window, at, strict=True):
            self.at[c, n, s] = literal
        for i in self.topology.in_links[n]:
            if (c, i) not in self.snd:
                continue
            snd, source = self.snd[c, i], self.topology.links[i][0]
            builder.difference(self.time[c][source], 1, self.time[c][n], snd)  # C4
            for s in window:
                both = builder.boolean()
                self.about.extend((_BOTH, c, source, n, s))
                builder.clause([-snd, -self.at[c, n, s], both])
                self.arriving.setdefault((i, s), []).append(both)

    def _c5(self, rounds: StepRounds) -> None:
        for bound, members in zip(self.topology.bounds, self.topology.bound_links, strict=True):
            for s in range(1, self.steps + 1):
                literals = [x for i in members.tolist() for x in self.arriving.get((i, s), ())]
                rounds.limit(bound, s - 1, literals)

    def _order_chunks(self) -> None:
        """Orders interchangeable chunks, which can be renumbered, by arrival at a node of post."""
        missing = self.instance.post & ~self.instance.pre
        for members in self.instance.chunk_classes:
            for node in np.flatnonzero(missing[members[0]])[:1].tolist():
                for c, d in zip(members[:-1].tolist(), members[1:].tolist(), strict=True):
                    self.builder.difference(self.time[c][node], 0, self.time[d][node])
