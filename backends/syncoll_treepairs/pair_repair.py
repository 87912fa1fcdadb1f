"""Replaces pairs of trees of a few chunks by an integer program, see `send_programs`.

The core of a pair and the steps of its exchange stay, or are taken from another pair of the packing
at random; the program chooses the forests into the core and out of it.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from syncoll.packing.send_programs import ChunkSends, SendPrograms, forest_sends
from syncoll_treepairs.network import AllreduceNetwork
from syncoll_treepairs.pairs import Pair

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

_OTHER = 0.3
"""Probability with which a pair gets another core."""


class PairRepair(SendPrograms[Pair]):
    """Replaces pairs of S steps.

    Args:
        pairs: at least one; their cores and exchanges are tried.
    """

    at_once: ClassVar[int | None] = 4
    """The oracle of pairs sees few pairs, and programs find more (torus(4,4) in
    `benchmarks/deployable.py`)."""

    def __init__(self, network: AllreduceNetwork, steps: int, pairs: Sequence[Pair]) -> None:
        super().__init__(network, len(network.topology.links), steps)
        self._network = network
        self._shapes = list(dict.fromkeys((pair.core, pair.after) for pair in pairs))
        self._random = np.random.default_rng(len(pairs))

    def chunk_sends(self, model: "cp_model.CpModel", demand: int, known: Pair) -> ChunkSends[Pair]:
        """See `SendPrograms.chunk_sends`."""
        core, after = known.core, known.after
        if self._random.random() < _OTHER:
            core, after = self._shapes[int(self._random.integers(len(self._shapes)))]
        begin, inside = after - core.steps, set(core.nodes)
        others = [v for v in range(self._network.num_nodes) if v not in inside]
        far = self._network.topology.distances
        into = far[:, list(core.nodes)].min(axis=1)
        out = far[list(core.nodes)].min(axis=0)
        # Towards the core time runs backwards.
        sides = (
            (self._network.back, into, begin, begin - 1, -1),
            (self._network.forth, out, self.steps - after, after, 1),
        )
        sends = {}
        for links, distance, steps, first, sign in sides:
            found = forest_sends(model, links, inside, others, distance, steps, {})
            for (link, step), variable in found.items():
                send = int(links.number[link]), first + sign * step
                sends[send] = variable
                model.add_hint(variable, (send[1], send[0]) in known.sends)
        kept = [(step + begin, link) for step, link in core.sends]
        fixed = [(link, step) for step, link in kept]

        def column(chosen: Sequence[tuple[int, int]]) -> Pair:
            own = [(step, link) for link, step in chosen]
            return Pair(tuple(sorted([*own, *kept])), core, after)

        return ChunkSends(sends, fixed, column)
