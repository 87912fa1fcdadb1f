"""The subject of a report: a frontier, an answer or an algorithm, with its checks."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from syncoll.documents import StoredAlgorithm, StoredFile, stored_member
from syncoll.model import Instance, Topology
from syncoll.pages.families import optimal_for
from syncoll.results import Frontier, Point, Scope
from syncoll.trust.claims import Checked

_MEMBERS_ALONE = 4
"""Members of each family that are shown if a frontier has no points."""


@dataclass(frozen=True, eq=False)
class ReportEntry:
    """A verified algorithm of a report.

    Args:
        state: ``optimal`` for every C, ``limited`` to some C or R, or ``open``.
        scope: the algorithms among which it is optimal, in words.
        found_by: its encoding or seed, and backend; may be empty.
        bound: proved for its number of steps; None without one.
    """

    stored: StoredAlgorithm
    state: str
    scope: str
    found_by: str = ""
    bound: Fraction | None = None


@dataclass(frozen=True, eq=False)
class Subject:
    """The verified subject of a report.

    Args:
        entries: the algorithms, by steps.
        frontier: whose points they are; None for a single answer.
        checked: the checks of the frontier's claims; None if it carries no proofs.
        answer: the question and its answer in words, without a frontier.
        source: the file that it came from; empty for none.
        digest: of that file; empty for none.
    """

    topology: Topology
    collective: str
    entries: tuple[ReportEntry, ...]
    frontier: Frontier | None = None
    checked: Checked | None = None
    answer: str = ""
    source: str = ""
    digest: str = ""

    @classmethod
    def of_frontier(
        cls, frontier: Frontier, checked: Checked | None, source: str = "", digest: str = ""
    ) -> "Subject":
        """A frontier, with the first members of its families where it has no point."""
        entries = [
            ReportEntry(
                StoredAlgorithm(point.instance, point.algorithm, f"points[{i}]"),
                state_of(frontier, point),
                optimal_for(point, frontier),
                f"{point.encoding}/{point.backend}",
                point.bound,
            )
            for i, point in enumerate(frontier.points)
        ]
        if not entries:
            entries = [
                ReportEntry(member, "open", "a member of a pipeline", f"seed/{family.found_by}")
                for number, family in enumerate(frontier.families)
                for m in range(max(1, family.first), max(1, family.first) + _MEMBERS_ALONE)
                for member in [stored_member(family, number, m)]
            ]
        topology, collective = frontier.topology, frontier.collective
        return cls(topology, collective, tuple(entries), frontier, checked, "", source, digest)

    @classmethod
    def of_algorithms(
        cls, algorithms: Sequence[StoredAlgorithm], file: StoredFile | None, source: str = ""
    ) -> "Subject":
        """Algorithms without a frontier, or an answer of a file without any."""
        if file is not None and not algorithms:
            asked: Instance = file.instances[0]
            verdict, reason = (str(file.document.get(key, "")) for key in ("verdict", "reason"))
            costs = f"C = {asked.chunks}, S = {asked.steps}, R = {asked.rounds}"
            answer = f"{verdict or 'no algorithm'}: {asked.collective} with {costs}"
            answer += f" ({reason})." if reason else "."
        else:
            first = algorithms[0]
            asked = first.instance
            costs = f"C = {first.chunks}, S = {first.steps}, R = {first.rounds}"
            answer = f"An algorithm of {costs}, replayed send by send.  {first.derived}".rstrip()
        entries = tuple(ReportEntry(one, "open", "not looked at") for one in algorithms)
        return cls(asked.topology, asked.collective, entries, answer=answer, source=source)

    @property
    def stored(self) -> list[StoredAlgorithm]:
        """The algorithms."""
        return [one.stored for one in self.entries]

    @property
    def title(self) -> str:
        """The collective and the machine."""
        return f"{self.collective} on {self.topology.name}"


def state_of(frontier: Frontier, point: Point) -> str:
    """``optimal`` for every C, ``limited`` to some C or R, or ``open``; ``simple`` if a lower R/C
    is known for its S."""
    proof = frontier.proof(point)
    if frontier.is_simple(point):
        return "simple"
    if proof is not None and proof.scope is Scope.ALL:
        return "optimal"
    return "limited" if proof is not None and proof.scope is Scope.CHUNKS else "open"
