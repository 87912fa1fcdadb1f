"""A folder of the results of a design."""

from __future__ import annotations

from syncoll.designing.candidates import MachineCandidate
from syncoll.designing.design import Proved, Question
from syncoll.documents.folder import FrontierFolder
from syncoll.model import Collective

__all__ = ["DesignFolder"]


class DesignFolder(FrontierFolder):
    """Stores the frontiers and bounds of a design."""

    def require_part_of(self, question: Question) -> None:
        """Passes if the folder belongs to a part of a design.

        Raises:
            UsageError: if it is something else: its machines and collectives would be missing in
                the table, but not in the folder.
        """
        there = self.table()
        if there is None:
            return
        asked = question.index()
        same = all(there.get(name) == asked[name] for name in ("schema", "where", "one_more_link"))
        if not (same and all(_grew(there.get(n), asked[n]) for n in ("topologies", "collectives"))):
            words = ", ".join([*question.families, *question.conditions])
            self.refuse(f"a part of the design of {words}")
        if not isinstance(most := there.get("most"), int) or most > question.most:
            self.refuse(f"a design with parameters up to {question.most}")

    def known(
        self, candidate: MachineCandidate, collective: Collective, steps: int = 0
    ) -> Proved | None:
        """An earlier result, checked; None if there is none, or too few.

        Args:
            steps: number of S for which bounds are asked.
        """
        frontier = self.read(candidate.topology, collective)
        if frontier is None or not (frontier.complete or frontier.points):
            return None
        found = Proved.read(frontier, steps)
        return found if frontier.points or found.covers(steps) else None

    def keep(self, candidate: MachineCandidate, proved: Proved) -> None:
        """Writes a result with its frontier, if it has one.

        Points of a search that proved less than is known get a file of their own.

        Raises:
            UsageError: when it cannot be written.
        """
        found = proved.frontier
        if found is None:
            return
        proves = found.least_steps >= proved.steps and found.least_bandwidth >= proved.bandwidth
        file = self.file(candidate.name, found.collective)
        self.write(found, file if proves else file.with_stem(f"{file.stem}-found"))


def _grew(before: object, now: list[str]) -> bool:
    """Whether a list contains all former entries."""
    return isinstance(before, list) and all(one in now for one in before)
