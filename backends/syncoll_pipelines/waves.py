"""The trees of a wave and of the tail, chosen together by CP-SAT.

With a wave of c trees of at most d steps started in every step, all its trees together must fit
into the q rounds of a step.  In the last d - 1 steps no wave starts; trees of the tail use the idle
links.  The first and last d - 1 steps may have fewer rounds.

There is a variable for each tree, link and step; a tree in use reaches every node once, over a link
whose tail it reached before: about ``(c + tail) * L * d`` Booleans, and as many rows.

Known trees without steps (`trees`) are the warm start or, if this model is too large, the wave,
without a tail.

With S steps in all, ``R = q S - g`` and ``C = c S - f``, so ``R/C`` is about ``q/c (S - g/q) / (S -
f/c)``: the objective is ``f/c - g/q``, the steps that are lost, then f, as ``(S - a)/(S - b)`` for
the same b - a falls with b.
"""

from collections.abc import Sequence
from fractions import Fraction

from syncoll.deadline import NEVER, Deadline
from syncoll.model import Topology
from syncoll_pipelines.trees import CpSatModel, Tree, TreeWaves, least_bounds


def find_waves(
    topology: Topology,
    root: int,
    chunks: int,
    rounds: int,
    depth: int,
    seconds: float,
    known: TreeWaves | None = None,
    until: Deadline = NEVER,
) -> tuple[TreeWaves | None, bool]:
    """The best waves of `chunks` trees in these rounds and steps (or None), and whether proved.

    Limits are as in `find_trees`; `known` waves of as many trees in as many steps, or one step
    less, are the warm start.
    """
    model = _Model(topology, root, chunks, rounds, depth)
    if known is not None:
        model.hint(known)
    status, values = model.solve(seconds, until)
    if not values:
        return None, status == "INFEASIBLE"
    return model.waves(values), status == "OPTIMAL"


class _Model(CpSatModel):
    """The model, see above."""

    def __init__(self, topology: Topology, root: int, chunks: int, rounds: int, depth: int) -> None:
        super().__init__()
        self.topology, self.root = topology, root
        self.rounds, self.depth = rounds, depth
        self._far = topology.distances[root].tolist()
        least, window = max(self._far), depth - 1
        self.wave = [self._tree(depth, None) for _ in range(chunks)]
        most = chunks * (depth - least) if window >= least else 0
        self.used = [self.variable() for _ in range(most)]
        self.tail = [self._tree(window, used) for used in self.used]
        for one, two in zip(self.used, self.used[1:], strict=False):
            self.row([(one, 1), (two, -1)], 0)
        self.up = [self.variable(1, rounds) for _ in range(window)]
        self.down = [self.variable(1, rounds) for _ in range(window)]
        self._loads()
        objective = self.proto.objective
        # R and C lost, times q c; ties are broken by C.
        scale = (most + 1) * rounds
        for used in self.used:
            objective.vars.append(used)
            objective.coeffs.append(-rounds * scale - 1)
        for variable in (*self.up, *self.down):
            objective.vars.append(variable)
            objective.coeffs.append(chunks * scale)

    def _tree(self, steps: int, used: int | None) -> dict[tuple[int, int], int]:
        """Adds a tree of `steps` steps; `used`: the variable that is 1 if the tree exists."""
        links, root, far = self.topology.links, self.root, self._far
        tree: dict[tuple[int, int], int] = {}
        arrives: list[list[list[int]]] = [[[] for _ in range(steps)] for _ in far]
        for link, (source, destination) in enumerate(links):
            if destination != root:
                for step in range(far[source], steps):
                    tree[link, step] = variable = self.variable()
                    arrives[destination][step].append(variable)
        for node, by_step in enumerate(arrives):
            if node == root:
                continue
            every = [variable for now in by_step for variable in now]
            if used is None:
                self.exactly_one(every)
            else:
                self.row([*((one, 1) for one in every), (used, -1)], 0, 0)
        for (link, step), variable in tree.items():
            source = links[link][0]
            if source != root:
                before = [one for now in arrives[source][:step] for one in now]
                self.row([*((one, 1) for one in before), (variable, -1)], 0)
        return tree

    def _loads(self) -> None:
        """Limits the load of each bound in steady, first and last steps."""
        window = self.depth - 1
        for links, rate in least_bounds(self.topology).items():
            ages = [self._uses(self.wave, links, age) for age in range(self.depth)]
            late = [self._uses(self.tail, links, step) for step in range(window)]

            def room(variables: list[int], rounds: int | None, rate: Fraction = rate) -> None:
                terms = [(variable, rate.denominator) for variable in variables]
                if rounds is None:
                    high = rate.numerator * self.rounds
                    if len(terms) * rate.denominator > high:
                        self.row(terms, high=high)
                elif terms:
                    self.row([*terms, (rounds, -rate.numerator)], high=0)

            room([one for age in ages for one in age], None)
            for step in range(window):
                room([one for age in ages[: step + 1] for one in age], self.up[step])
                going = [one for age in ages[step + 1 :] for one in age]
                room([*going, *late[step]], self.down[step])

    @staticmethod
    def _uses(
        trees: Sequence[dict[tuple[int, int], int]], links: Sequence[int], step: int
    ) -> list[int]:
        return [tree[link, step] for tree in trees for link in links if (link, step) in tree]

    def hint(self, known: TreeWaves) -> None:
        """Hints known waves; with one step less, their last wave becomes part of the tail."""
        less = self.depth - known.depth
        tail = [tuple((link, step + less) for link, step in tree) for tree in known.tail]
        tail = [*known.wave * less, *tail]
        values = dict.fromkeys(range(len(self.proto.variables)), 0)
        for tree, edges in zip([*self.wave, *self.tail], [*known.wave, *tail], strict=False):
            values |= dict.fromkeys((tree[edge] for edge in edges), 1)
        values |= dict.fromkeys(self.used[: len(tail)], 1)
        more = (known.rounds,) * less
        ups, downs = (*known.ramp_up, *more), (*more, *known.ramp_down)
        values |= dict(zip([*self.up, *self.down], [*ups, *downs], strict=True))
        self.proto.solution_hint.vars.extend(list(values))
        self.proto.solution_hint.values.extend(list(values.values()))

    def waves(self, values: Sequence[int]) -> TreeWaves:
        def edges(tree: dict[tuple[int, int], int]) -> Tree:
            return tuple(edge for edge, variable in tree.items() if values[variable])

        used = [tree for tree, one in zip(self.tail, self.used, strict=True) if values[one]]
        return TreeWaves(
            self.rounds,
            self.depth,
            tuple(map(edges, self.wave)),
            tuple(map(edges, used)),
            tuple(values[one] for one in self.up),
            tuple(values[one] for one in self.down),
        )
