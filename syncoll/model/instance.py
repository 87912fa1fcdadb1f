"""Instance: one synthesis problem, the paper's tuple (G, S, R, P, B, pre, post)."""

from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from syncoll.arrays import Bools, Ints, frozen, is_frozen
from syncoll.errors import ModelError, Origin
from syncoll.model.grains import Rounds, exact
from syncoll.model.node_sets import NodeSets
from syncoll.model.reach import Reach
from syncoll.model.rows import RelationTable
from syncoll.model.topology import UNREACHABLE, Topology
from syncoll.wording import counted


@dataclass(frozen=True, eq=False)
class Instance:
    """Is there an algorithm of S steps and R rounds that takes every chunk from pre to post?

    Rounds of a step may be 0, so "S steps" means at most S, and the answer can only change from no
    to yes as S or R grows.  (No steps have no rounds: with S = 0, R is 0.)

    In a combining instance every node of pre has a contribution of its own to the chunk.  Every
    node of post must end with the reduction of all of them, each counted once.

    Args:
        topology: P and B.
        collective: its name, for people and files.
        chunks: C, the chunks into which one node's data is cut.
        steps: S.
        rounds: R, the sum of all steps' rounds, a multiple of the topology's grain.
        pre: ``[G, P]``, chunk c starts at node n.
        post: ``[G, P]``, chunk c must end at node n.
        combining: whether the nodes of pre hold contributions, not copies.
        rounds_per_step: Q, when it is fixed; adds up to R.
        origin: where a spec file defines the collective.
        reproducible: whether all chunks with the same contributors have to be added up in one
            association, see `syncoll.model.associations`.

    Raises:
        ModelError: if arrays have a wrong shape, rounds are no multiple of a grain, or a post is
            empty or unreachable.

    Examples:
        >>> from syncoll.api import Instance, Topology
        >>> pair = Topology.from_matrix("pair", [[0, 1], [1, 0]])
        >>> instance = Instance(pair, "exchange", 1, 1, 1, [[1, 0], [0, 1]], [[0, 1], [1, 0]])
        >>> instance.num_chunks, instance.chunks
        (2, 1)
    """

    topology: Topology
    collective: str
    chunks: int
    steps: int
    rounds: Rounds
    pre: Bools
    post: Bools
    combining: bool = False
    rounds_per_step: tuple[Rounds, ...] | None = None
    origin: Origin | None = field(default=None, repr=False)
    reproducible: bool = False

    _last: ClassVar[tuple[Bools, Bools, RelationTable] | None] = None

    def __repr__(self) -> str:
        return (
            f"<instance {self.collective} on {self.topology.name}: C = {self.chunks}, "
            f"S = {self.steps}, R = {self.rounds}>"
        )

    def __post_init__(self) -> None:
        for name in ("pre", "post"):
            array = getattr(self, name)
            if not (isinstance(array, np.ndarray) and array.dtype == bool and is_frozen(array)):
                array = frozen(np.array(array, dtype=bool))
            object.__setattr__(self, name, array)
        nodes = self.topology.num_nodes
        if self.pre.ndim != 2 or self.pre.shape != self.post.shape or self.pre.shape[1] != nodes:
            raise ModelError(
                f"collective {self.collective}: pre of shape {self.pre.shape} and post of shape "
                f"{self.post.shape} on {counted(nodes, 'node')}",
                self.origin,
                f"two arrays of one shape [G, {nodes}]",
            )
        object.__setattr__(self, "rounds", exact(self.rounds))
        for name, value, least in (
            ("C", self.chunks, 1),
            ("S", self.steps, 0),
            ("R", self.rounds, 0),
        ):
            if value < least:
                raise ModelError(f"{name} = {value}", None, f"{name} of at least {least}")
        grains, given = self.topology.grains, self.rounds_per_step
        for rounds in (self.rounds, *(given or ())):
            if rounds * grains % 1:
                raise ModelError(
                    f"{rounds} rounds on {self.topology.name}",
                    self.topology.origin,
                    f"a multiple of 1/{grains}" if grains > 1 else "a whole number",
                )
        if given is not None and (
            len(given) != self.steps or sum(given) != self.rounds or min(given, default=0) < 0
        ):
            raise ModelError(
                f"rounds per step {given} with S = {self.steps} and R = {self.rounds}",
                None,
                "S numbers of at least 0 that add up to R",
            )
        if not self.post.any():
            raise nothing_to_do(self.collective, self.origin)
        self._reach.require(self.collective, self.origin)

    @cached_property
    def table(self) -> RelationTable:
        """Pre and post."""
        pre, post, table = Instance._last or (None, None, None)
        if table is None or pre is not self.pre or post is not self.post:
            table = RelationTable(self.pre, self.post)
            Instance._last = self.pre, self.post, table  # instances are often restated
        return table

    @cached_property
    def _reach(self) -> Reach:
        return Reach.of(self.topology, self.table, self.combining)

    @property
    def num_chunks(self) -> int:
        """G, the global number of chunks."""
        return int(self.pre.shape[0])

    @cached_property
    def in_grains(self) -> "Instance":
        """The same problem with a grain as its round, see `Topology.in_grains`."""
        return self.scaled(self.topology.in_grains, self.topology.grains)

    def scaled(self, topology: Topology, factor: int | Fraction) -> "Instance":
        """The problem with `factor` times the rounds, on a topology of as much less bandwidth."""
        if factor == 1:
            return self
        given = self.rounds_per_step
        return replace(
            self,
            topology=topology,
            rounds=exact(self.rounds * factor),
            rounds_per_step=given and tuple(exact(rounds * factor) for rounds in given),
        )

    def rounds_range(self, step: int) -> tuple[Rounds, Rounds]:
        """The fewest and the most rounds of a step."""
        if self.rounds_per_step is not None:
            return self.rounds_per_step[step], self.rounds_per_step[step]
        return 0, self.rounds

    @cached_property
    def distance_from_pre(self) -> Ints:
        """``[G, P]``: links from the nearest node that has chunk c at the start to node n."""
        return _nearest(self.table.starts, self.topology.distances)

    @cached_property
    def distance_to_post(self) -> Ints:
        """``[G, P]``: links from node n to the nearest node that must still get chunk c."""
        return _nearest(NodeSets.of(self.post & ~self.pre), self.topology.distances.T)

    @cached_property
    def least_steps(self) -> int:
        """The distance bound a_l on S: no chunk travels faster than one link a step."""
        return self._reach.least_steps

    @cached_property
    def chunk_classes(self) -> tuple[Ints, ...]:
        """The chunks in classes of equal pre and post rows, whose members are interchangeable."""
        order = self.table.by_kind()
        cuts = np.flatnonzero(np.diff(self.table.kind[order])) + 1
        return tuple(map(frozen, np.split(order, cuts)))


def _nearest(sets: NodeSets, distances: Ints) -> Ints:
    """``[G, P]``: the least of ``distances[i, n]`` over the nodes i of each chunk's set."""
    found = np.full(sets.sets.shape, UNREACHABLE, dtype=np.int64)
    for near, members in zip(found, sets.sets, strict=True):
        near[:] = distances[members].min(axis=0, initial=UNREACHABLE)
    return frozen(found[sets.number])


def nothing_to_do(collective: str, origin: Origin | None) -> ModelError:
    """The error for an empty post."""
    return ModelError(
        f"the post of collective {collective} is empty: no data has to move",
        origin,
        "at least one chunk that must reach a node",
    )
