"""Frontier: the points found, and in words and numbers what was not settled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from syncoll.model import Algorithm, Instance, Topology
from syncoll.results.evidence import Evidence
from syncoll.results.proof import Proof, Refuted
from syncoll.wording import counted

if TYPE_CHECKING:
    from syncoll.formula import FormulaSize
    from syncoll.results.family import Family

__all__ = ["Costs", "Frontier", "OpenClaim", "Point"]


class Costs:
    """What an algorithm of an instance costs."""

    instance: Instance
    algorithm: Algorithm

    @property
    def steps(self) -> int:
        """S, the latency cost."""
        return self.algorithm.steps

    @property
    def rounds(self) -> int:
        """R."""
        return self.algorithm.rounds

    @property
    def chunks(self) -> int:
        """C."""
        return self.instance.chunks

    @property
    def bandwidth(self) -> Fraction:
        """R/C, the bandwidth cost."""
        return Fraction(self.rounds, self.chunks)


@dataclass(frozen=True, eq=False)
class Point(Costs):
    """A verified algorithm of the frontier.

    Args:
        instance: what it solves, with the algorithm's own S and R.
        algorithm: passed the verifier.
        encoding: name of that which led to it.
        backend: name of that which found it.
        seconds: encode, lower, solve and verify together.
        size: of the encoding's formula; None when the point came from a file.
        bound: a proved lower bound on R/C for algorithms of at most S steps.
    """

    instance: Instance
    algorithm: Algorithm
    encoding: str
    backend: str
    seconds: float
    size: FormulaSize | None = None
    bound: Fraction | None = None

    def dominates(self, other: Point) -> bool:
        """Whether the other is no better in either cost."""
        return self.steps <= other.steps and self.bandwidth <= other.bandwidth


@dataclass(frozen=True)
class OpenClaim:
    """A region of costs that the search neither filled nor ruled out.

    An algorithm of `least_steps` to `most_steps` steps whose bandwidth cost is at least `low` and
    below `high` may exist.

    Args:
        most_steps: None for any number.
        low: proved: none of an algorithm within the limits of the search is below this.
        high: found with no more steps; None when nothing was found.
        reason: why the search left it open, in words.
    """

    least_steps: int
    most_steps: int | None
    low: Fraction
    high: Fraction | None
    reason: str

    def __str__(self) -> str:
        if self.most_steps is None:
            steps = f"{self.least_steps} or more steps"
        elif self.most_steps == self.least_steps:
            steps = counted(self.least_steps, "step")
        else:
            steps = f"{self.least_steps} to {self.most_steps} steps"
        costs = f"from {self.low}" + (f" to below {self.high}" if self.high is not None else "")
        return f"{steps}, bandwidth cost {costs}: {self.reason}"


@dataclass(frozen=True, eq=False)
class Frontier:
    """What a search found.

    Args:
        topology: P and B.
        collective: its name.
        points: none dominates another; ordered by steps.
        open: what is not settled.
        scope: among which algorithms the points are optimal, in words.
        settings: how the search was told to go, for the record.
        least_steps: the distance bound on S.
        least_bandwidth: the proved bound on R/C for any number of steps.
        complete: whether the search ended by itself.
        interrupted: whether a person stopped it.
        seconds: the whole search.
        evidence: what is proved, and by what; None for a frontier out of a file without proofs.
        refuted: everything that a solver ruled out, also what no proof rests on.
        left_out: C for which the collective is said to be defined but makes no sense, each with the
            reason: no algorithm was looked for.
        families: algorithms for every m, in closed form; the points are not beaten by any of them.
        counts_members: whether what is said to be known, and so what is open, counts their members;
            in files before version 4 it does not.
        impossible: a sentence that no algorithm keeps the limits of the search, if distances and
            cuts prove that before the search; not kept in files.

    Examples:
        >>> from syncoll.api import Algorithm, Instance, Topology
        >>> line = Topology.from_matrix("line", [[0, 1, 0], [1, 0, 1], [0, 1, 0]])
        >>> broadcast = Instance(line, "broadcast", 1, 2, 2, [[1, 0, 0]], [[1, 1, 1]])
        >>> along = Algorithm((1, 1), [[0, 0, 1, 0], [0, 1, 2, 1]])
        >>> from syncoll.api import Frontier, Point
        >>> points = (Point(broadcast, along, "step", "cpsat", seconds=0.01),)
        >>> frontier = Frontier(line, "broadcast", points, open=(), scope="C <= 1")
        >>> [(point.steps, str(point.bandwidth)) for point in frontier.points]
        [(2, '2')]
        >>> points[0].dominates(points[0]), frontier.proof(points[0])  # a search adds evidence
        (True, None)
    """

    topology: Topology
    collective: str
    points: tuple[Point, ...]
    open: tuple[OpenClaim, ...]
    scope: str
    settings: Mapping[str, object] = field(default_factory=dict)
    least_steps: int = 0
    least_bandwidth: Fraction = Fraction(0)
    complete: bool = True
    interrupted: bool = False
    seconds: float = 0.0
    evidence: Evidence | None = None
    refuted: tuple[Refuted, ...] = ()
    left_out: tuple[tuple[int, str], ...] = ()
    families: tuple[Family, ...] = ()
    counts_members: bool = True
    impossible: str = ""

    @property
    def max_chunks(self) -> int | None:
        """Everything that is proved, or said to be open, is about C up to this; None: every C."""
        if self.evidence is None or self.evidence.scaling:
            return None
        return self.evidence.max_chunks

    @property
    def bounds(self) -> list[tuple[int, Fraction]]:
        """The proved bounds on R/C by S, ascending; those of the points without evidence."""
        if self.evidence is not None and self.evidence.proofs:
            return [(proof.steps, proof.bound) for proof in self.evidence.proofs]
        return [(p.steps, p.bound) for p in self.points if p.bound is not None]

    def proof(self, point: Point) -> Proof | None:
        """What is proved about algorithms of at most as many steps as the point has."""
        return None if self.evidence is None else self.evidence.proof(point.steps)
