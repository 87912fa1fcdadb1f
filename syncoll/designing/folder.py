"""A folder of what is proved about the candidates of a design."""

from __future__ import annotations

from syncoll.designing.candidates import MachineCandidate
from syncoll.designing.design import Proved, Question
from syncoll.documents.folder import FrontierFolder
from syncoll.model import Collective

__all__ = ["DesignFolder"]


class DesignFolder(FrontierFolder):
    """Where what is proved is kept."""

    def require_part_of(self, question: Question) -> None:
        """Passes when what is there belongs to a design, which may have grown meanwhile.

        Raises:
            UsageError: when it is something else: its machines and collectives would be no part of
                the table, and yet in the folder.
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
        """What was found before, checked; None where that is nothing, or not all.

        Args:
            steps: for how many numbers of steps bounds are asked.
        """
        frontier = self.read(candidate.topology, collective)
        if frontier is None or not (frontier.complete or frontier.points):
            return None
        found = Proved.read(frontier, steps)
        return found if frontier.points or found.covers(steps) else None

    def keep(self, candidate: MachineCandidate, proved: Proved) -> None:
        """Writes what was found, where there is a file for it.

        Points of a search that proved less than is known have a file beside that of the bounds.

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
    """Whether a list has all that was in it."""
    return isinstance(before, list) and all(one in now for one in before)
