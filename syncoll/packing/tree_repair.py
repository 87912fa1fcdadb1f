"""Replaces timed trees of a few chunks by an integer program, see `send_programs`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from syncoll.packing.problem import PackingProblem
from syncoll.packing.send_programs import ChunkSends, SendPrograms, forest_sends
from syncoll.packing.trees import Send, TimedTree, of_use

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

__all__ = ["TreeRepair"]


class TreeRepair(SendPrograms[TimedTree]):
    """Replaces trees of S steps."""

    def __init__(self, problem: PackingProblem, steps: int) -> None:
        super().__init__(problem, len(problem.links.source), steps)
        self._problem = problem

    def chunk_sends(
        self, model: cp_model.CpModel, demand: int, known: TimedTree
    ) -> ChunkSends[TimedTree]:
        """See `SendPrograms.chunk_sends`."""
        one, links = self._problem.demands[demand], self._problem.links
        far = self._problem.topology.distances[list(one.sources)].min(axis=0)
        sends = forest_sends(model, links, one.sources, one.destinations, far, self.steps)
        for send, variable in sends.items():
            model.add_hint(variable, send in known.sends)

        def column(chosen: Sequence[Send]) -> TimedTree:
            first = {int(links.target[link]): (link, step) for link, step in chosen}
            return of_use(one, first, links.source)

        return ChunkSends(sends, (), column)
