"""Frontiers and their algorithms: to show, draw, save, check and use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, overload

import numpy as np
import numpy.typing as npt

import syncoll
from syncoll import documents, values
from syncoll.documents import StoredAlgorithm, StoredFile
from syncoll.documents.checked import checked_document
from syncoll.documents.sniff import kind_in
from syncoll.errors import SyncollError, UsageError
from syncoll.model import Algorithm, Collective, Instance
from syncoll.pages import Page
from syncoll.pages.algorithm import algorithm_page, point_summary
from syncoll.pages.frontier import check_page, frontier_page
from syncoll.pages.price import price_page
from syncoll.results import Frontier, Point
from syncoll.session import Session
from syncoll.trust import require_valid
from syncoll.trust.claims import Checked, check_claims
from syncoll.trust.same_problem import require_same_instance, require_same_topology
from syncoll.values import picked
from syncoll.verbs.asking import What, Where, deadline_of, session_for, session_of, verb
from syncoll.verbs.result import Result, Tabular, columns_of, data_frame

if TYPE_CHECKING:
    from pandas import DataFrame

    from syncoll.ledger.events import EngineRecord, Entry
    from syncoll.planning import Picture

__all__ = ["CheckedResult", "FrontierResult", "PointResult", "StoredResult", "load"]


class AlgorithmVerbs(Result):
    """A verified algorithm of an instance, to show, run and export."""

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

    def document(self) -> dict[str, Any]:
        """The algorithm with its instance, as a file of its own has it."""
        return documents.algorithm_document(self.instance, self.algorithm)

    def sends_to_pandas(self) -> DataFrame:
        """The sends as a table with the columns chunk, source, destination and step.

        Raises `UsageError` if pandas is not installed.
        """
        names = ("chunk", "source", "destination", "step")
        return data_frame({name: self.sends[:, i] for i, name in enumerate(names)})

    def run(
        self, size: int | str | None = None, **how: Any
    ) -> syncoll.ExecutionResult | syncoll.MpiResult:
        """Runs it on random data and compares with the definition; see `syncoll.run`."""
        (done,) = syncoll.run(self, size, **how)
        return done

    def export(self, to: str, path: str | Path, **how: Any) -> syncoll.ExportResult:
        """Writes it as a file, or several in a folder, of a runtime; see `syncoll.export`."""
        (done,) = syncoll.export(self, to, path, apart=False, **how)
        return done


@dataclass(frozen=True, eq=False, repr=False)
class PointResult(AlgorithmVerbs, Point):
    """A point of a frontier.

    Args:
        number: its position in the frontier.
        session: of the search.
        max_chunks: its bound holds for C up to this; None for every C.
    """

    number: int = 0
    session: Session | None = None
    max_chunks: int | None = None

    @property
    def stored(self) -> StoredAlgorithm:
        """The same as an algorithm of a file, with its bound."""
        claim = self.claim(self.max_chunks)
        return StoredAlgorithm(self.instance, self.algorithm, self.where, claim)

    def __repr__(self) -> str:
        """Ten lines; `print` shows every send."""
        return point_summary(self, f"point {self.number}", self.max_chunks)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"

    @property
    def where(self) -> str:  # type: ignore[override]
        """Its place in the frontier's file."""
        return f"points[{self.number}]"


@dataclass(frozen=True, eq=False, repr=False)
class StoredResult(AlgorithmVerbs, StoredAlgorithm):
    """An algorithm of a file or an answer, with its session."""

    session: Session | None = None


@dataclass(frozen=True, repr=False)
class CheckedResult(Result, Checked):
    """The claims that hold; `unchecked` has the claims that a file alone cannot prove."""

    page = check_page
    document = checked_document


@dataclass(frozen=True, eq=False, repr=False)
class FrontierResult(Tabular, Frontier):
    """A Pareto frontier: a sequence of points, the fewest steps first.

    Args:
        session: of the search, or of the file.
        source: the collective, if it is known.
        unsaved: the reason why its file was not written; empty without an error.
        unproved: the reason why its proofs were not written.
        log: the events of the search with the engine, the seconds and the gap; empty for a
            frontier from a file.
        engines: the work of each engine of the search.
        plain: of a search for reproducible sums, the frontier without that demand.
    """

    session: Session | None = None
    source: Collective | None = None
    unsaved: str = ""
    unproved: str = ""
    log: tuple[Entry, ...] = ()
    engines: tuple[EngineRecord, ...] = ()
    plain: Frontier | None = None

    @cached_property
    def _points(self) -> tuple[PointResult, ...]:
        return tuple(
            PointResult.of(point, number=i, session=self.session, max_chunks=self.max_chunks)
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

    def page(self) -> Page:
        """The frontier, and the price of reproducible sums."""
        page = frontier_page(self)
        return page if self.plain is None else page.add(price_page(self, self.plain))

    def _repr_html_(self) -> str:
        try:
            picture = self.plot()
        except UsageError:  # nothing to draw, or no matplotlib
            return self.page().to_html()
        return f"{self.page().to_html()}\n{picture.svg}"

    columns: ClassVar = columns_of(
        "int steps rounds chunks messages, float bandwidth, str exact_bandwidth, float bound, "
        "str exact_bound optimal_for, int sends, str encoding backend, float seconds"
    )

    def records(self) -> Iterator[dict[str, Any]]:
        """A row for each point; costs and bounds are floats, with their exact texts."""
        costs = "steps rounds chunks messages bandwidth bound"
        for point in self.points:
            proof = None if self.is_simple(point) else self.proof(point)
            yield {
                **picked(point, f"{costs} encoding backend seconds"),
                "optimal_for": proof and proof.scope_text,
                "sends": point.algorithm.num_sends,
            }

    def plan(self, *, alpha: float | str | None = None, **how: Any) -> syncoll.PlanResult:
        """Which point is the fastest for which message size; see `syncoll.plan`."""
        return syncoll.plan(self, alpha=alpha, **how)

    def report(self, path: str | Path | None = None, **how: Any) -> syncoll.ReportResult:
        """One page about it; see `syncoll.report`."""
        return syncoll.report(self, path, **how)

    def simulate(self, **how: Any) -> syncoll.SimulationResult:
        """The time of each point on its physical network; see `syncoll.simulate`."""
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

        Raises `UsageError` if matplotlib is not installed, or there are no points.
        """
        if alpha is not None:
            return self.plan(alpha=alpha, beta=beta, overhead=overhead).plot()
        if beta is not None or overhead != "0s":
            raise UsageError("a picture of times needs alpha too, such as alpha='0.7us'")
        from syncoll.planning import draw_frontier

        return draw_frontier(self)

    def document(self, *, log: bool = False) -> dict[str, Any]:
        """The JSON document; `log`: with the log and the engines of the search."""
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

        Raises `UsageError` if the folder cannot be written.
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

        Without a collective, that of the search or of the frontier's name is the expected one.
        """
        for point in self.points:
            require_valid(point.instance, point.algorithm)
        return checked(self, collective, proofs, topology)


Source = str | Path | StoredFile | FrontierResult | AlgorithmVerbs | Point


@verb
def load(path: str | Path) -> FrontierResult | StoredResult:
    """The frontier or the algorithm of a file; its algorithms are replayed.

    Args:
        path: a frontier's file, or one with a single algorithm.

    Raises:
        FileFormatError: if it is not such a file, with the place and the reason.
        VerificationError: if an algorithm or a claim in it does not hold.
        UsageError: if it has no algorithm, or is no path.
    """
    return loaded(path, "load")


def stored_file(
    path: str | Path,
    kinds: Sequence[str],
    taker: str,
    topology: Where | None = None,
    collective: What | None = None,
) -> StoredFile:
    """The verified algorithms of a file; `taker`: the verb of errors; see `verification.opened`."""
    file = values.path_of("path", path)
    if kind_in(file) or not file.is_file():
        return documents.read_file(file, kinds, taker)
    from syncoll.runtime.exported import exporter_of
    from syncoll.verification import opened

    session = session_for()
    record = exporter_of(file, session.plugins, session.tell)
    meant = session.expected(topology, collective)
    return opened(session.collective, file, record, kinds, taker, *meant)


def require_meant(
    instances: Iterable[Instance], topology: Where | None, collective: What | None
) -> None:
    """Raises `VerificationError` if algorithms are for another machine or collective."""
    where, meant = session_for().expected(topology, collective)
    for one in instances:
        if where is not None:
            require_same_topology(one.topology, where, finer=True)
        if meant is not None:
            require_same_instance(one, meant)


def loaded(path: str | Path, taker: str, **meant: Any) -> FrontierResult | StoredResult:
    """As `load`; `taker`: the verb of error messages; `meant`: see `stored_file`."""
    stored = stored_file(path, documents.WITH_ALGORITHMS, taker, **meant)
    if stored.frontier is not None:
        return FrontierResult.of(stored.claims(), session=session_of(None))
    if not stored.algorithms:
        verdict = stored.document.get("verdict", "no algorithm")
        raise UsageError(f"{path}: it holds no algorithm; its answer is {verdict}")
    return StoredResult.of(stored.algorithms[0])


def frontier_of(source: Source, taker: str = "", name: str = "") -> FrontierResult:
    """A frontier with points, from a file or given; `taker` and `name`: verb and file of errors.

    Raises `UsageError` if there is no frontier, or no point in it.
    """
    if not isinstance(source, Frontier | AlgorithmVerbs | StoredFile):
        name = f"{source}: "
    if isinstance(source, str | Path):
        source = stored_file(source, ("frontier",), taker)
    if isinstance(source, StoredFile) and source.frontier is not None:
        source = FrontierResult.of(source.frontier, session=session_of(None))
    if not isinstance(source, FrontierResult):
        kind = source.kind if isinstance(source, StoredFile) else "algorithm"
        raise UsageError(
            f"{name}it holds no frontier (its kind is {kind}); expected the file of a search"
        )
    if not source:
        about = f"of {source.collective} on {source.topology.name}"
        raise UsageError(f"{name}the frontier {about} has no points; there is nothing to do")
    return source


def with_points(
    source: Source, taker: str, topology: Where | None, collective: What | None
) -> FrontierResult:
    """As `frontier_of`, also for a single algorithm, which becomes the only point."""
    name = ""
    if isinstance(source, str | Path):
        name = f"{source}: "
        source = loaded(source, taker, topology=topology, collective=collective)
    if isinstance(source, AlgorithmVerbs):
        instance = source.instance
        point = Point(instance, source.algorithm, "file", source.where, 0.0)
        source = FrontierResult(instance.topology, instance.collective, (point,), (), "one file")
    found = frontier_of(source, taker, name)
    require_meant([point.instance for point in found.points], topology, None)
    return found


def algorithms_of(
    source: Source, taker: str, topology: Where | None = None, collective: What | None = None
) -> Sequence[StoredAlgorithm]:
    """The points of a frontier, or the algorithm of a file or an answer, for a verb (`taker`).

    Raises `UsageError` if a frontier has none, and `VerificationError` if they are for another
    machine or collective.
    """
    found = source
    if isinstance(source, str | Path):
        found = loaded(source, taker, topology=topology, collective=collective)
    each: Sequence[StoredAlgorithm]
    if isinstance(found, StoredFile):
        each = found.algorithms
    elif isinstance(found, StoredResult):
        each = [found]
    elif isinstance(found, PointResult):
        each = [found.stored]
    elif isinstance(found, Point):  # a family's member
        each = [StoredAlgorithm(found.instance, found.algorithm, "member")]
    else:
        frontier = frontier_of(found, taker)
        timed = (
            (one.instance, one.algorithm, f"timed[{i}]") for i, one in enumerate(frontier.timed)
        )
        each = [*(one.stored for one in frontier), *(StoredAlgorithm(*one) for one in timed)]
    require_meant([one.instance for one in each], topology, collective)
    return each


def checked(
    frontier: Frontier, collective: What | None, proofs: str | Path | None, topology: Where | None
) -> CheckedResult:
    session = session_of(frontier)
    where, given = session.expected(topology, collective)
    meant = given or getattr(frontier, "source", None)
    by_name = meant is None
    if by_name:
        with suppress(SyncollError):
            meant = session.collective(frontier.collective)
    witness = None
    if proofs is not None:  # their check needs encodings and lowerings
        from syncoll.proofs.refutation import FileWitness

        witness = FileWitness(values.path_of("proofs", proofs), session.plugins)
    claims = check_claims(frontier, witness, topology=where, collective=meant, by_name=by_name)
    return CheckedResult.of(claims)
