"""A frontier and its algorithms in the hands of a user: to look at, draw, save, check and use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt

import syncoll
from syncoll import documents
from syncoll.api import arguments
from syncoll.api.base import (
    Displayable,
    Saved,
    What,
    Where,
    as_result,
    data_frame,
    deadline_of,
    session_of,
    shows_progress,
    verb,
)
from syncoll.documents import StoredAlgorithm, StoredFile
from syncoll.errors import SyncollError, UsageError, VerificationError
from syncoll.model import Algorithm, Collective, Instance
from syncoll.pages import Page
from syncoll.pages.algorithm import algorithm_page, point_summary
from syncoll.pages.frontier import check_page, frontier_page
from syncoll.results import Frontier, LowerBounds, Point
from syncoll.session import Session
from syncoll.trust import require_valid
from syncoll.trust.claims import Checked, check_claims
from syncoll.wording import argument

if TYPE_CHECKING:
    from pandas import DataFrame

    from syncoll.api.exports import ExportResult
    from syncoll.api.plans import PlanResult
    from syncoll.api.reports import ReportResult
    from syncoll.api.runs import ExecutionResult, MpiResult
    from syncoll.api.simulations import SimulationResult
    from syncoll.ledger.events import EngineRecord, Entry
    from syncoll.planning import Picture

__all__ = ["CheckedResult", "FrontierResult", "PointResult", "StoredResult", "check", "load"]


class AlgorithmVerbs(Displayable):
    """What can be done with a verified algorithm of an instance."""

    instance: Instance
    algorithm: Algorithm
    where: str

    @property
    def sends(self) -> npt.NDArray[np.int64]:
        """``[send, 4]``: chunk, source, destination, step; a copy."""
        return np.array(self.algorithm.sends)

    def page(self) -> Page:
        """Every step with its sends."""
        return algorithm_page(self.instance, self.algorithm)

    def sends_to_pandas(self) -> DataFrame:
        """The sends as a table with the columns chunk, source, destination and step.

        Raises:
            UsageError: when pandas is not installed.
        """
        names = ("chunk", "source", "destination", "step")
        return data_frame({name: self.sends[:, i] for i, name in enumerate(names)})

    def run(self, size: int | str | None = None, **how: Any) -> ExecutionResult | MpiResult:
        """Runs it on random data and compares with the definition; see `syncoll.run`."""
        (done,) = syncoll.run(self, size, **how)
        return done

    def export(self, to: str, path: str | Path, **how: Any) -> ExportResult:
        """Writes it in a format of a runtime, after the format's checker has executed it.

        Args:
            to: the exporter, such as ``mscclpp``, ``msccl-xml``, ``chakra``, ``goal``, ``csv``.
            path: the file to write, or a folder for it.
            how: as for `syncoll.export`.

        Raises:
            ExportError: when the format cannot express it.
            UsageError: when the file cannot be written.
        """
        (done,) = syncoll.export(self, to, path, apart=False, **how)
        return done


@dataclass(frozen=True, eq=False, repr=False)
class PointResult(AlgorithmVerbs, Point):
    """A point of a frontier.

    Args:
        number: its position in the frontier.
        session: that asked.
    """

    number: int = 0
    session: Session | None = None

    def __repr__(self) -> str:
        """Ten lines; `print` shows every send."""
        return point_summary(self, f"point {self.number}")

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"

    @property
    def where(self) -> str:  # type: ignore[override]
        """Its place in the frontier's file."""
        return f"points[{self.number}]"


@dataclass(frozen=True, eq=False, repr=False)
class StoredResult(AlgorithmVerbs, StoredAlgorithm):
    """An algorithm out of a file, or of an answer, with the session that asked or read it."""

    session: Session | None = None


@dataclass(frozen=True, repr=False)
class CheckedResult(Displayable, Checked):
    """The claims that were checked and hold; `unchecked` names claims a file alone cannot prove."""

    page = check_page


@dataclass(frozen=True, eq=False, repr=False)
class FrontierResult(Saved, Frontier):
    """A Pareto frontier: a sequence of points, the fewest steps first.

    Args:
        session: that found or read it.
        source: the collective, where it is known.
        unsaved: why the file that a search was to write is not there; empty where all is well.
        unproved: the same of its proofs.
        log: the events of the search, as they came: which engine found, proved or refuted what,
            after how many seconds, and the gap; empty for a frontier out of a file.
        engines: what each engine of the search did.
    """

    session: Session | None = None
    source: Collective | None = None
    unsaved: str = ""
    unproved: str = ""
    log: tuple[Entry, ...] = ()
    engines: tuple[EngineRecord, ...] = ()

    @cached_property
    def _points(self) -> tuple[PointResult, ...]:
        return tuple(
            as_result(PointResult, point, number=i, session=self.session)
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

    page = frontier_page

    def _repr_html_(self) -> str:
        try:
            picture = self.plot()
        except UsageError:  # nothing to draw, or nothing to draw with: the table says it all
            return self.page().to_html()
        return f"{self.page().to_html()}\n{picture.svg}"

    def to_pandas(self) -> DataFrame:
        """A row for each point; costs and bounds are floats, their exact texts stand beside them.

        Raises:
            UsageError: when pandas is not installed.
        """
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
                "sends": [point.algorithm.num_sends for point in self.points],
                "encoding": [point.encoding for point in self.points],
                "backend": [point.backend for point in self.points],
                "seconds": [point.seconds for point in self.points],
            }
        )

    def plan(self, *, alpha: float | str | None = None, **how: Any) -> PlanResult:
        """Which point is the fastest for which message size; see `syncoll.plan`."""
        return syncoll.plan(self, alpha=alpha, **how)

    def report(self, path: str | Path | None = None, **how: Any) -> ReportResult:
        """One page about it, for people; see `syncoll.report`."""
        return syncoll.report(self, path, **how)

    def simulate(self, **how: Any) -> SimulationResult:
        """What each point takes on its physical network; see `syncoll.simulate`."""
        return syncoll.simulate(self, **how)

    @verb
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
        if alpha is not None:
            return self.plan(alpha=alpha, beta=beta, overhead=overhead).plot()
        if beta is not None or overhead != "0s":
            raise UsageError("a picture of times needs alpha too, such as alpha='0.7us'")
        from syncoll.planning import draw_frontier

        return draw_frontier(self)

    def document(self, *, log: bool = False) -> dict[str, Any]:
        """What `save` writes, with the log and the engines of the search where asked."""
        document = documents.frontier_document(self)
        if log:
            from syncoll.documents.document import digest
            from syncoll.documents.record import written

            document |= written({"log": self.log, "engines": self.engines})
            document["digest"] = digest(document)
        return document

    @verb
    def prove(self, folder: str | Path, *, time_limit: float | str | None = None) -> FrontierResult:
        """The same with a proof file in a folder for each refutation that a claim rests on.

        Raises:
            UsageError: when the folder cannot be written.
        """
        proved = session_of(self).prove(self, Path(folder), None, deadline_of(time_limit))
        return replace(self, evidence=proved.evidence)

    @verb
    def check(
        self,
        collective: What | None = None,
        proofs: str | Path | None = None,
        topology: Where | None = None,
    ) -> CheckedResult:
        """Replays every algorithm and checks every claim, without any solver; see `syncoll.check`.

        Args:
            collective: None for the collective of the search, or else of the frontier's name.
            proofs: the folder of the proof files that refutations name.
            topology: that it must be about; None for any.
        """
        for point in self.points:
            require_valid(point.instance, point.algorithm)
        return _checked(self, collective, proofs, topology)


Source = str | Path | StoredFile | FrontierResult | AlgorithmVerbs | Point


@verb
def load(path: str | Path) -> FrontierResult | StoredResult:
    """What a file of ours holds; its algorithms are replayed before anyone sees them.

    Args:
        path: a frontier's file, or one with a single algorithm.

    Raises:
        FileFormatError: when it is not such a file, with the place and the reason.
        VerificationError: when an algorithm or a claim in it does not hold.
        UsageError: when there is no algorithm in it, or it is no path.
    """
    return loaded(path, "load")


def loaded(path: str | Path, taker: str) -> FrontierResult | StoredResult:
    """As `load`, for another verb, which error messages name."""
    stored = documents.read_file(arguments.path_of("path", path), documents.WITH_ALGORITHMS, taker)
    if stored.frontier is not None:
        return as_result(FrontierResult, stored.claims(), session=session_of(None))
    if not stored.algorithms:
        verdict = stored.document.get("verdict", "no algorithm")
        raise UsageError(f"{path}: it holds no algorithm; its answer is {verdict}")
    return as_result(StoredResult, stored.algorithms[0])


def frontier_of(source: Source, taker: str = "") -> FrontierResult:
    """A frontier with points, from a file or given; `taker`: the verb that errors name.

    Raises:
        UsageError: when there is no frontier, or no point in it.
    """
    name = "" if isinstance(source, Frontier | AlgorithmVerbs | StoredFile) else f"{source}: "
    if isinstance(source, str | Path):
        source = documents.read_file(Path(source), ("frontier",), taker)
    if isinstance(source, StoredFile) and source.frontier is not None:
        source = as_result(FrontierResult, source.frontier, session=session_of(None))
    if not isinstance(source, FrontierResult):
        kind = source.kind if isinstance(source, StoredFile) else "algorithm"
        raise UsageError(
            f"{name}it holds no frontier (its kind is {kind}); expected what a search has found"
        )
    if not source:
        about = f"of {source.collective} on {source.topology.name}"
        raise UsageError(f"{name}the frontier {about} has no points; there is nothing to do")
    return source


def algorithms_of(source: Source, taker: str) -> Sequence[StoredAlgorithm]:
    """The points of a frontier, or the algorithm of a file or an answer, for a verb (`taker`).

    Raises:
        UsageError: when a frontier has none.
    """
    found = loaded(source, taker) if isinstance(source, str | Path) else source
    if isinstance(found, StoredFile):
        return found.algorithms
    if isinstance(found, Point) and not isinstance(found, AlgorithmVerbs):  # a family's member
        return [StoredAlgorithm(found.instance, found.algorithm, "member")]
    each = [found] if isinstance(found, AlgorithmVerbs) else frontier_of(found, taker)
    return [StoredAlgorithm(one.instance, one.algorithm, one.where) for one in each]


@verb
@shows_progress
def check(
    source: str | Path | StoredFile | Frontier | LowerBounds,
    collective: What | None = None,
    proofs: str | Path | None = None,
    topology: Where | None = None,
    *,
    progress: str = "auto",
) -> CheckedResult:
    """Replays every algorithm and checks every claim of a frontier, without any solver.

    Args:
        source: a frontier, bounds, or a file of either.
        collective: the collective to compare with; None for the one named in the file.  If that
            name is unknown here, or stands for another collective, some claims stay unchecked,
            and the answer names them.
        proofs: the folder of the proof files that refutations name.
        topology: that it must be about; None for any.
        progress: ``auto``, ``live``, ``plain`` or ``none``.

    Raises:
        VerificationError: naming the first thing that does not hold.
        UsageError: when it makes no claims, or there is no folder of proofs, or the
            collective is irregular.
    """
    if isinstance(source, LowerBounds):
        source = source.frontier()
    if isinstance(source, Frontier):
        found = source if isinstance(source, FrontierResult) else as_result(FrontierResult, source)
        return found.check(collective, proofs, topology)
    if isinstance(source, StoredFile):
        return _checked(source.claims(), collective, proofs, topology)
    path = arguments.path_of("source", source, "a frontier, bounds, or a path of their file")
    stored = documents.read_file(path, ("frontier", "forest"), "check")  # replays
    try:
        return _checked(stored.claims(), collective, proofs, topology)
    except VerificationError as error:
        raise VerificationError(f"{source}: {error}") from error


def _checked(
    frontier: Frontier,
    collective: What | None,
    proofs: str | Path | None,
    topology: Where | None,
) -> CheckedResult:
    session, meant = session_of(frontier), getattr(frontier, "source", None)
    where = None if topology is None else session.topology(topology)
    if collective is not None:
        meant = session.collective(collective)
    by_name = meant is None
    if by_name:
        with suppress(SyncollError):
            meant = session.collective(frontier.collective)
    witness = None
    if proofs is not None:  # which needs encodings and lowerings too
        from syncoll.proofs.refutation import FileWitness

        folder = arguments.path_of("proofs", proofs)
        if not folder.is_dir():  # of a frontier that names no proof nobody would notice
            raise UsageError(f"{argument('proofs')}: there is no folder {folder}")
        witness = FileWitness(folder, session.plugins)
    checked = check_claims(frontier, witness, topology=where, collective=meant, by_name=by_name)
    return as_result(CheckedResult, checked)
