"""Finds the known algorithm that is nearest to the one a solver is asked for.

A solver that starts near an algorithm with a few rounds too many often needs few changes to find
one without them.  Copies of an algorithm for fewer chunks serve too, if their chunks start and end
as the chunks of the question do.
"""

from dataclasses import dataclass, field

from syncoll.model import Algorithm, Instance, refine, same_chunks
from syncoll.results.frontier import Point


@dataclass(eq=False)
class WarmStarts:
    """Algorithms for one collective on one topology, including dominated ones.  For each S and C
    the point of the fewest rounds is kept."""

    points: dict[tuple[int, int], Point] = field(default_factory=dict)

    def add(self, point: Point) -> None:
        """Adds the algorithm of a point."""
        known = self.points.get((point.steps, point.chunks))
        if known is None or point.rounds < known.rounds:
            self.points[point.steps, point.chunks] = point

    def nearest(self, instance: Instance) -> Algorithm | None:
        """The algorithm of the least R/C with no more steps that can be cut into this number of
        chunks.  None without one, and for combining instances, whose encoding takes no hints."""
        if instance.combining:
            return None
        fitting = [
            point
            for (steps, chunks), point in self.points.items()
            if steps <= instance.steps and instance.chunks % chunks == 0
        ]
        for point in sorted(fitting, key=lambda p: (p.bandwidth, -p.steps)):
            cut = refine(point.instance, point.algorithm, instance.chunks // point.chunks)
            if found := same_chunks(cut, instance):
                return found[1]
        return None
