"""Results: files and values, to check, plan with, export, run and show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from syncoll.api.algorithm import AlgorithmVerbs, ExecutionResult, ExportResult, StoredResult
from syncoll.api.frontier import CheckedResult, FrontierResult
from syncoll.api.planned import PlanResult
from syncoll.api.sessions import session_for
from syncoll.api.shown import Shown, dressed
from syncoll.documents import (
    read_file,
    schema,
)
from syncoll.errors import UsageError, VerificationError
from syncoll.model import Collective, Fabric, Topology
from syncoll.pages import Page
from syncoll.session.settings import SettingsOptions
from syncoll.store import Store

if TYPE_CHECKING:
    pass
from syncoll.documents import KINDS

__all__ = ["check", "export", "file_schema", "load", "open_store", "plan", "run", "show", "verify"]

Where = str | Topology | Fabric
What = str | Collective


Source = str | Path | FrontierResult | AlgorithmVerbs


def load(path: str | Path) -> FrontierResult | StoredResult:
    """What a file of ours holds; its algorithms are replayed before anyone sees them.

    Args:
        path: a frontier's file, or one with a single algorithm.

    Raises:
        FileFormatError: when it is not such a file, with the place and the reason.
        VerificationError: when an algorithm or a claim in it does not hold.
        UsageError: when there is no algorithm in it.
    """
    stored = read_file(Path(path))
    if stored.frontier is not None:
        return dressed(FrontierResult, stored.claims(), session=session_for({}))
    if not stored.algorithms:
        verdict = stored.document.get("verdict", "no algorithm")
        raise UsageError(f"{path}: it holds no algorithm; its answer is {verdict}")
    return dressed(StoredResult, stored.algorithms[0])


def _frontier(source: str | Path | FrontierResult) -> FrontierResult:
    if isinstance(source, FrontierResult):
        return source
    found = load(source)
    if not isinstance(found, FrontierResult):
        raise UsageError(f"{source}: it holds a single algorithm; expected a frontier")
    return found


def _algorithms(source: Source) -> Sequence[AlgorithmVerbs]:
    """The points of a frontier, or the algorithm of a file or an answer.

    Raises:
        UsageError: when there is none.
    """
    found = load(source) if isinstance(source, str | Path) else source
    if isinstance(found, AlgorithmVerbs):
        return [found]
    if not found:
        raise UsageError(
            f"the frontier of {found.collective} on {found.topology.name} has no points"
        )
    return list(found)


def check(
    source: str | Path | FrontierResult,
    collective: What | None = None,
    proofs: str | Path | None = None,
    topology: Where | None = None,
) -> CheckedResult:
    """Checks every claim of a frontier, without any solver; see `FrontierResult.check`."""
    return _frontier(source).check(collective, proofs, topology)


def verify(
    path: str | Path,
    *,
    to: str | None = None,
    topology: Where | None = None,
    collective: What | None = None,
    chunks: int | None = None,
    options: Mapping[str, object] | None = None,
) -> Page:
    """Replays a file of ours, or executes an exported file as its runtime would.

    Args:
        path: a file, or a folder of exports.
        to: the format of an export; None where the file tells.
        topology: that the file must be about, or over whose links alone data may go.
        collective: that is meant; None for what the file says of itself.
        chunks: C, for an export whose file has none.
        options: of the format, by name.

    Raises:
        VerificationError: when something is wrong, or could not be checked.
        FileFormatError: when it cannot be read.
    """
    from syncoll.documents import StoredFile
    from syncoll.pages.exports import exports_page
    from syncoll.runtime.exported import exporter_of, verify_exports
    from syncoll.trust.same_problem import require_same_collective, require_same_topology

    session, file = session_for({}), Path(path)
    where = None if topology is None else session.topology(topology)
    what = None if collective is None else session.collective(collective)
    plugins = session.plugins
    record = plugins.exporters[to] if to is not None else exporter_of(file, plugins, session.tell)
    if record is not None:
        found = verify_exports(
            file, record, options or {}, topology=where, collective=what, chunks=chunks
        )
        for place, reason in (*found.wrong, *found.unchecked):
            raise VerificationError(f"{place}: {reason}")
        return exports_page(found)
    stored: StoredFile = read_file(file)
    if where is not None:
        require_same_topology(stored.topology, where)
    if what is not None:
        evidence = None if stored.frontier is None else stored.frontier.evidence
        require_same_collective(
            stored.collective, stored.topology, stored.instances, evidence, what
        )
    page = Page().text(f"{stored.kind}: {stored.collective} on {stored.topology.name}")
    for one in stored.algorithms:
        page.text(f"  {one.where}: verified, {one.algorithm!r}")
    return page


def plan(
    source: str | Path | FrontierResult,
    *,
    alpha: float | str,
    beta: float | str | None = None,
    overhead: float | str = "0s",
) -> PlanResult:
    """Which point of a frontier is the fastest for which size; see `FrontierResult.plan`."""
    return _frontier(source).plan(alpha=alpha, beta=beta, overhead=overhead)


def export(
    source: Source,
    to: str,
    folder: str | Path,
    *,
    options: Mapping[str, object] | None = None,
    **how: Any,
) -> list[ExportResult]:
    """Writes every point of a frontier in a format of a runtime, each checked by executing it.

    Args:
        source: a frontier, or its file.
        to: the exporter.
        folder: where; made when it is not there.
        options: of the exporter, by name.
        how: `in_place`, `min_bytes` and `max_bytes`, as for a single point.

    Raises:
        ExportError: when the format cannot express one of them.
        UsageError: when a file cannot be written.
    """
    algorithms = _algorithms(source)
    path = Path(folder)
    try:
        path.mkdir(exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make the folder {path}: {error.strerror or error}") from error
    return [one.export_into(to, path, options=options, **how) for one in algorithms]


def run(source: Source, size: int | str = "1MiB", **how: Any) -> list[ExecutionResult]:
    """Runs every point of a frontier on random data and compares with the definition.

    Args:
        source: a frontier, or its file.
        size: bytes of one node's data.
        how: `dtype`, `op` and `seed`, as for a single point.

    Raises:
        UsageError: on a size or a type that makes no sense.
    """
    return [one.run(size, **how) for one in _algorithms(source)]


def show(
    what: str | Path | Topology | Fabric | Collective | Shown,
    *,
    nodes: int | None = None,
    chunks: int | None = None,
) -> Page:
    """What a topology, a collective, a file or a value looks like.

    Args:
        what: a name, a file or an object.
        nodes: P, for a collective; None for 4, or the least for which it is defined.
        chunks: C, for a collective; None for the least.

    Raises:
        SyncollError: when there is no such.

    >>> print(str(show("ring(3)")).splitlines()[2])
    ring(3): 3 nodes, 6 directed links, diameter 1
    """
    from syncoll.pages.collective import collective_page, least_size
    from syncoll.pages.topology import topology_page
    from syncoll.session.reference import kind_of

    if isinstance(what, Shown):
        return what.page()
    session = session_for({})
    if isinstance(what, Topology | Fabric):
        return topology_page(session.topology(what))
    if isinstance(what, Collective):
        return collective_page(what, *least_size(what, nodes, chunks))
    specs = session.specs
    name = str(what)
    kind = "file" if isinstance(what, Path) and what.suffix == ".json" else kind_of(specs, name)
    if kind == "topology":
        return topology_page(session.topology(name), specs.definition("topology", name).doc)
    if kind == "collective":
        found = specs.collective(name)
        doc = specs.definition("collective", name).doc
        return collective_page(found, *least_size(found, nodes, chunks), doc)
    return load(name).page()


def open_store(store: str | Path | None = None) -> Store:
    """The store of answers: to `describe`, `clear` and close, best in a ``with``.

    Args:
        store: its file; None for the one that searches use.

    Raises:
        UsageError: when it cannot be opened, or is to be none.
        FileFormatError: when it is not a store.
    """
    options: SettingsOptions = {} if store is None else {"store": store}
    found = session_for(options).store()
    if found is None:
        raise UsageError("there is no store: its name is none, or it cannot be opened")
    return found


def file_schema(kind: str) -> Mapping[str, Any]:
    """The JSON Schema of a kind of file, such as ``frontier``.

    Raises:
        UsageError: when there is no such kind.

    >>> file_schema("frontier")["title"] != ""
    True
    """
    try:
        return schema(kind)
    except KeyError:
        known = ", ".join(KINDS)
        raise UsageError(f"{kind!r} is not a kind of file; expected one of {known}") from None
