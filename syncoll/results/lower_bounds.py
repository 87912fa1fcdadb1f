"""Lower bounds of a collective on a topology, with their proofs."""

from dataclasses import dataclass
from fractions import Fraction

from syncoll.certificates import RoundsBound
from syncoll.errors import OutOfTimeError
from syncoll.model import Topology
from syncoll.results.evidence import Evidence
from syncoll.results.frontier import Frontier, OpenClaim

BOUNDS_ALONE = "no algorithms: lower bounds alone"
"""The scope of a frontier without a search."""

_NOT_SEARCHED = "not searched"


@dataclass(frozen=True, eq=False)
class LowerBounds:
    """Proved lower bounds for one C.

    Args:
        collective: its name.
        chunks: C.
        steps: the least S, by distances.
        any_steps: bound on R with any number of steps.
        by_steps: bounds on R for at most S steps, for each S from the least to `max_steps`.
        max_steps: the largest S.
        evidence: the proofs, to be saved and checked; None if the routes of sends are not known.
        late: the numbers of steps, in words, for which more time may prove more.
        interrupted: whether the user stopped it.
        had: the time of each bound, in words.
        switches: the number of the last nodes of `topology` that are a network's switches.
    """

    topology: Topology
    collective: str
    chunks: int
    steps: int
    any_steps: RoundsBound
    by_steps: tuple[tuple[int, RoundsBound], ...]
    max_steps: int
    evidence: Evidence | None
    late: tuple[str, ...] = ()
    interrupted: bool = False
    had: str = "the time was over"
    switches: int = 0

    @property
    def more(self) -> str:
        """The numbers of steps for which more may be provable, and why; may be empty."""
        if not self.late:
            return ""
        why = "it was interrupted" if self.interrupted else self.had
        return f"better bounds may be provable, but {why}: {', '.join(self.late)}"

    @property
    def bandwidth(self) -> Fraction:
        """The lower bound on R/C with any number of steps."""
        return self.any_steps.rounds / self.chunks

    def frontier(self) -> Frontier:
        """The bounds as a frontier without points, with all costs above them open.

        Raises:
            OutOfTimeError: if there was no time to find the routes of sends.
        """
        if self.evidence is None:
            raise OutOfTimeError("the time limit was reached before routes were known")
        claims = [
            OpenClaim(s, s, bound.rounds / self.chunks, None, _NOT_SEARCHED)
            for s, bound in self.by_steps
        ]
        beyond = self.by_steps[-1][0] + 1 if self.by_steps else self.steps
        claims.append(OpenClaim(beyond, None, self.bandwidth, None, _NOT_SEARCHED))
        return Frontier(
            self.topology,
            self.collective,
            (),
            tuple(claims),
            BOUNDS_ALONE,
            {"chunks": self.chunks, "max_steps": self.max_steps},
            self.steps,
            self.bandwidth,
            complete=not self.late,
            interrupted=self.interrupted,
            evidence=self.evidence,
        )
