"""A frontier in the hands of a user: to look at, draw, save, check and export."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, overload

from syncoll.api.algorithm import PointResult
from syncoll.api.shown import Shown, dressed
from syncoll.documents import StoredAlgorithm, frontier_document, write_document
from syncoll.errors import UsageError
from syncoll.model import Collective, Fabric, Topology
from syncoll.pages import Page
from syncoll.pages.check import check_page
from syncoll.pages.frontier import frontier_page
from syncoll.results import Frontier
from syncoll.trust import require_valid
from syncoll.trust.claims import Checked, check_claims

if TYPE_CHECKING:
    from pandas import DataFrame

    from syncoll.api.planned import PlanResult
    from syncoll.planning import Picture
    from syncoll.session import Session

__all__ = ["CheckedResult", "FrontierResult"]


@dataclass(frozen=True, repr=False)
class CheckedResult(Shown, Checked):
    """What was checked and holds; `unchecked` names what a file alone cannot prove.

    Args:
        known: whether the collective was given.
    """

    known: bool = False

    def page(self) -> Page:
        """What is proved."""
        return check_page(self, known=self.known)


@dataclass(frozen=True, eq=False, repr=False)
class FrontierResult(Shown, Frontier):
    """A Pareto frontier: a sequence of points, the fewest steps first.

    Args:
        session: that found or read it.
        source: the collective, where it is known.
    """

    session: Session | None = None
    source: Collective | None = None

    @cached_property
    def _points(self) -> tuple[PointResult, ...]:
        return tuple(
            dressed(PointResult, point, number=i, session=self.session)
            for i, point in enumerate(self.points)
        )

    def __len__(self) -> int:
        return len(self.points)

    def __iter__(self) -> Iterator[PointResult]:
        return iter(self._points)

    @overload
    def __getitem__(self, which: int) -> PointResult: ...
    @overload
    def __getitem__(self, which: slice) -> tuple[PointResult, ...]: ...
    def __getitem__(self, which: int | slice) -> PointResult | tuple[PointResult, ...]:
        return self._points[which]

    def __bool__(self) -> bool:
        return bool(self.points)

    def page(self) -> Page:
        """The points, what is proved, and what is not settled."""
        return frontier_page(self)

    def _repr_html_(self) -> str:
        try:
            picture = self.plot()
        except UsageError:  # nothing to draw, or nothing to draw with: the table says it all
            return self.page().to_html()
        return f"{self.page().to_html()}\n{picture.svg}"

    @property
    def stored(self) -> tuple[StoredAlgorithm, ...]:
        """The points as a file would have them."""
        return tuple(
            StoredAlgorithm(point.instance, point.algorithm, f"points[{i}]")
            for i, point in enumerate(self.points)
        )

    def to_pandas(self) -> DataFrame:
        """A row for each point; costs and bounds are floats, their exact texts stand beside them.

        Raises:
            UsageError: when pandas is not installed.
        """
        from syncoll.api.tables import data_frame

        proofs = [self.proof(point) for point in self.points]
        return data_frame(
            {
                "steps": [point.steps for point in self.points],
                "rounds": [point.rounds for point in self.points],
                "chunks": [point.chunks for point in self.points],
                "bandwidth": [float(point.bandwidth) for point in self.points],
                "exact_bandwidth": [str(point.bandwidth) for point in self.points],
                "bound": [None if p.bound is None else float(p.bound) for p in self.points],
                "exact_bound": [None if p.bound is None else str(p.bound) for p in self.points],
                "optimal_for": [None if proof is None else proof.scope_text for proof in proofs],
                "sends": [len(point.algorithm.sends) for point in self.points],
                "encoding": [point.encoding for point in self.points],
                "backend": [point.backend for point in self.points],
                "seconds": [point.seconds for point in self.points],
            }
        )

    def plan(
        self, *, alpha: float | str, beta: float | str | None = None, overhead: float | str = "0s"
    ) -> PlanResult:
        """Which point is the fastest for which message size.

        Args:
            alpha: the latency of a step, such as ``0.7us``.
            beta: what a link of one chunk per round carries, such as ``25GB/s``; None where the
                topology says bandwidths.
            overhead: of each call.

        Raises:
            UsageError: on a number that makes no sense, one that is missing, or no points.
        """
        from syncoll.api.planned import plan_frontier

        return plan_frontier(self, alpha, beta, overhead)

    def plot(
        self,
        *,
        alpha: float | str | None = None,
        beta: float | str | None = None,
        overhead: float | str = "0s",
    ) -> Picture:
        """A picture: R/C over S, or with `alpha` the time over the message size; see `plan`.

        Raises:
            UsageError: when matplotlib is not installed, or there are no points.
        """
        from syncoll.planning import draw_frontier

        if alpha is None:
            if beta is not None or overhead != "0s":
                raise UsageError("a picture of times needs alpha too, such as alpha='0.7us'")
            return draw_frontier(self)
        return self.plan(alpha=alpha, beta=beta, overhead=overhead).plot()

    def save(self, path: str | Path) -> None:
        """Writes it as JSON, which `syncoll.load` and every command read.

        Raises:
            UsageError: when the file cannot be written.
        """
        write_document(Path(path), frontier_document(self))

    def prove(self, folder: str | Path, *, time_limit: float | str | None = None) -> FrontierResult:
        """The same with a proof file for each refutation that a claim rests on.

        Args:
            folder: for the files.
            time_limit: for all of them.

        Raises:
            UsageError: when the folder cannot be written.
        """
        from syncoll.api.sessions import session_of
        from syncoll.api.units import deadline_of

        proved = session_of(self).prove(self, Path(folder), None, deadline_of(time_limit))
        return replace(self, evidence=proved.evidence)

    def check(
        self,
        collective: str | Collective | None = None,
        proofs: str | Path | None = None,
        topology: str | Topology | Fabric | None = None,
    ) -> CheckedResult:
        """Replays every algorithm and checks every claim, without any solver.

        Args:
            collective: that it must be about; None for the one that was searched, where that is
                known.  Without it some claims stay unchecked, which the answer names.
            proofs: the folder of the proof files that refutations name.
            topology: that it must be about; None for any.

        Raises:
            VerificationError: naming the first thing that does not hold.
        """
        from syncoll.api.sessions import session_of

        for point in self.points:
            require_valid(point.instance, point.algorithm)
        meant = self.source
        if collective is not None:
            meant = session_of(self).collective(collective)
        witness = None
        if proofs is not None:
            from syncoll.proofs.refutation import FileWitness

            witness = FileWitness(Path(proofs), session_of(self).plugins)
        where = None if topology is None else session_of(self).topology(topology)
        checked = check_claims(self, witness, topology=where, collective=meant)
        return dressed(CheckedResult, checked, known=meant is not None)
