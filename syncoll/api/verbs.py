"""The verbs: what the commands of the shell do, for programs and notebooks.

Each takes names as the shell does (``"dgx1"``, ``"broadcast(root=3)"``, ``"FILE:NAME"``,
``"nvidia-smi:topo.txt"``) or objects, and whatever `Settings` has as keywords: what is not given
has the command's default.  Values show themselves: as text in a terminal, as HTML in a notebook.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from syncoll.api.algorithm import ExecutionResult, ExportResult, StoredResult
from syncoll.api.answers import BoundsResult, ForestsResult, SolutionResult
from syncoll.api.frontier import CheckedResult, FrontierResult
from syncoll.api.planned import PlanResult
from syncoll.api.sessions import session_for
from syncoll.api.shown import dressed
from syncoll.api.units import seconds_of
from syncoll.deadline import NEVER, Deadline
from syncoll.documents import frontier_document, read_file, schema, write_document
from syncoll.errors import UsageError, VerificationError
from syncoll.model import Collective, Fabric, Topology
from syncoll.pages import Page
from syncoll.results import Frontier
from syncoll.searching import Asking, Observer, SearchRequest, Strategy
from syncoll.searching import search as search_with
from syncoll.session import Session
from syncoll.session.progress import progress as progress_of
from syncoll.session.settings import SettingsOptions
from syncoll.solving import Solver
from syncoll.store import Store

if TYPE_CHECKING:
    from syncoll.spec import CheckReport

__all__ = [
    "bounds",
    "check",
    "check_spec",
    "collective",
    "explain",
    "export",
    "fabric",
    "file_schema",
    "forest",
    "import_topology",
    "list_specs",
    "load",
    "open_store",
    "pareto",
    "plan",
    "run",
    "search",
    "show",
    "solve",
    "topology",
    "verify",
]

Where = str | Topology | Fabric
What = str | Collective
Source = str | Path | FrontierResult


def topology(what: Where) -> Topology:
    """A topology: shipped, of a file, or imported from what a tool says of a machine.

    Args:
        what: ``dgx1``, ``torus(8,8)``, ``my.syncoll:quad``, ``nvidia-smi:topo.txt``, or a network
            with switches, of which it has the links between nodes.

    Raises:
        SpecError: when there is no such, or it is wrong.

    >>> topology("ring(4)").num_nodes
    4
    """
    return session_for({}).topology(what)


def fabric(what: Where) -> Fabric:
    """The physical network of a topology, with its switches.

    Raises:
        SpecError: when there is no such, or it is wrong.
        ModelError: when its links share bandwidth and nothing says through which switches.

    >>> fabric("ring(4)").num_switches
    0
    """
    return session_for({}).fabric(what)


def collective(what: What) -> Collective:
    """A collective: shipped, or of a file.

    Raises:
        SpecError: when there is no such, or it is wrong.

    >>> collective("broadcast(root=3)").combining
    False
    """
    return session_for({}).collective(what)


def pareto(
    topology: Where,
    collective: What,
    *,
    strategy: str = "certified",
    k: int | None = None,
    max_steps: int | None = None,
    max_rounds: int | None = None,
    max_chunks: int | None = None,
    time_limit: float | str | None = None,
    point_limit: float | str | None = None,
    output: str | Path | None = None,
    progress: str | Observer = "auto",
    **settings: Unpack[SettingsOptions],
) -> FrontierResult:
    """The Pareto frontier: for each number of steps S the least bandwidth cost R/C.

    Every point has passed the verifier.  Ctrl-C and the limits end the search with what is known,
    which says what is not settled.

    Args:
        topology: a name or an object.
        collective: a name or an object.
        strategy: ``certified``, or ``paper`` for Algorithm 1 of the SCCL paper.
        k: only k-synchronous algorithms, R <= S + k.
        max_steps: S at most; None for 3 more than the least possible.
        max_rounds: R at most; None for no limit.
        max_chunks: C at most; None for 24 times the least possible.
        time_limit: seconds for all of it, or a text such as ``2min``.
        point_limit: seconds for each (S, R, C).
        output: a file where the frontier is kept as JSON as it grows.
        progress: ``auto``, ``live``, ``plain`` or ``none``, or an `Observer`.
        settings: see `Settings`.

    Raises:
        SyncollError: on names that do not exist, settings that do not go together, and what
            plugins do wrong.

    >>> pareto("ring(4)", "allgather", progress="none")[0].bandwidth
    Fraction(3, 2)
    """
    session = session_for(settings)
    request = SearchRequest(
        session.topology(topology),
        session.collective(collective),
        _strategy(strategy),
        k,
        max_steps,
        max_rounds,
        max_chunks,
        seconds_of(time_limit),
        seconds_of(point_limit),
    )
    return _searched(session, request, output, progress)


def search(
    what: str | SearchRequest,
    solver: Solver | Asking | None = None,
    *,
    output: str | Path | None = None,
    progress: str | Observer = "auto",
    **settings: Unpack[SettingsOptions],
) -> FrontierResult:
    """The Pareto frontier of a search written in a spec file, or of a request.

    Args:
        what: ``FILE:NAME``, a shipped search, or a request.
        solver: decides a request, with no seeds, store or pool beside it; None for what `pareto`
            asks.
        output: as for `pareto`.
        progress: as for `pareto`.
        settings: they go before what the file says; see `Settings`.

    Raises:
        SyncollError: as `pareto`.

    >>> search("dgx1_allgather", progress="none").least_steps
    2
    """
    session = session_for(settings)
    if isinstance(what, SearchRequest):
        return _searched(session, what, output, progress, answers=solver)
    if solver is not None:
        raise UsageError(f"{what!r} is asked as `pareto` asks; a solver goes with a request")
    spec = session.specs.search(what)
    request = SearchRequest(
        spec.topology,
        spec.collective,
        Strategy.CERTIFIED,
        spec.k,
        spec.steps,
        spec.rounds,
        spec.chunks,
        spec.seconds,
    )
    return _searched(session, request, output, progress, spec.encoding, spec.backend)


def _searched(
    session: Session,
    request: SearchRequest,
    output: str | Path | None,
    progress: str | Observer,
    encoding: str | None = None,
    backend: str | None = None,
    answers: Solver | Asking | None = None,
) -> FrontierResult:
    path = None if output is None else Path(output)

    def keep(frontier: Frontier) -> None:
        if path is not None:
            write_document(path, frontier_document(frontier))

    def ask(observer: Observer) -> Frontier:
        if answers is not None:
            return search_with(request, answers, observer, keep=keep)
        return session.pareto(
            request, encoding=encoding, backend=backend, observer=observer, keep=keep
        )

    if isinstance(progress, Observer):
        found = ask(progress)
    elif progress in ("auto", "live", "plain", "none"):
        with progress_of(progress) as observer:
            found = ask(observer)
    else:
        raise UsageError(f"progress {progress!r} is not one of auto, live, plain and none")
    keep(found)
    return dressed(FrontierResult, found, session=session, source=request.collective)


def _strategy(name: str) -> Strategy:
    try:
        return Strategy(name)
    except ValueError:
        raise UsageError(f"strategy {name!r} is not one of {', '.join(Strategy)}") from None


def solve(
    topology: Where,
    collective: What,
    *,
    chunks: int,
    steps: int,
    rounds: int,
    time_limit: float | str | None = None,
    **settings: Unpack[SettingsOptions],
) -> SolutionResult:
    """Whether there is an algorithm of at most S steps and R rounds with C chunks per node.

    Args:
        topology: a name or an object.
        collective: a name or an object.
        chunks: C.
        steps: S.
        rounds: R.
        time_limit: seconds for all of it, or a text such as ``2min``.
        settings: see `Settings`.

    Raises:
        SyncollError: as `pareto`.

    >>> str(solve("ring(4)", "allgather", chunks=1, steps=1, rounds=1).verdict)
    'unsat'
    """
    session = session_for(settings)
    what = session.collective(collective)
    instance = session.instance(topology, what, chunks=chunks, steps=steps, rounds=rounds)
    solution = session.solve(instance, what, Deadline.after(seconds_of(time_limit)))
    return dressed(SolutionResult, solution, session=session)


def bounds(
    topology: Where,
    collective: What,
    *,
    chunks: int | None = None,
    max_steps: int | None = None,
    time_limit: float | str | None = None,
) -> BoundsResult:
    """What no algorithm can go below, proved without searching.

    Args:
        topology: a name or an object.
        collective: a name or an object.
        chunks: C; None for the least for which the collective is defined.
        max_steps: bounds for S up to this; None for 3 beyond the least.
        time_limit: seconds for all of it, or a text such as ``2min``.

    Raises:
        SyncollError: as `pareto`.

    >>> bounds("torus(3,3)", "alltoall").bandwidth
    Fraction(1, 3)
    """
    session = session_for({})
    found = session.bounds(
        session.topology(topology),
        session.collective(collective),
        chunks=chunks,
        max_steps=max_steps,
        until=_until(time_limit),
    )
    return dressed(BoundsResult, found)


def forest(
    topology: Where,
    collective: str = "allgather",
    *,
    root: int | None = None,
    k: int | None = None,
    backend: str | None = None,
    time_limit: float | str | None = None,
) -> ForestsResult:
    """Spanning trees of provably optimal throughput, also with switches and for 1000 nodes.

    Args:
        topology: a name, a network with switches, or a topology.
        collective: ``allgather``, ``reducescatter``, ``allreduce``, ``broadcast`` or ``reduce``.
        root: of broadcast and reduce.
        k: trees for each root; None for as many as the optimum needs.
        backend: the seed that packs; None for the first that can.
        time_limit: seconds for all of it, or a text such as ``2min``.

    Raises:
        SyncollError: as `pareto`.

    >>> forest("ring(4)").algbw
    Fraction(8, 3)
    """
    session = session_for({})
    found = session.forest(
        session.fabric(topology),
        collective,
        root=root,
        fixed_k=k,
        backend=backend,
        until=_until(time_limit),
    )
    return dressed(ForestsResult, found)


def _until(time_limit: float | str | None) -> Deadline:
    return NEVER if time_limit is None else Deadline.after(seconds_of(time_limit))


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


def _frontier(source: Source) -> FrontierResult:
    if isinstance(source, FrontierResult):
        return source
    found = load(source)
    if not isinstance(found, FrontierResult):
        raise UsageError(f"{source}: it holds a single algorithm; expected a frontier")
    return found


def check(
    source: Source, collective: What | None = None, proofs: str | Path | None = None
) -> CheckedResult:
    """Checks every claim of a frontier, without any solver; see `FrontierResult.check`."""
    return _frontier(source).check(collective, proofs)


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
    source: Source, *, alpha: str, beta: str | None = None, overhead: str = "0s"
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
    path = Path(folder)
    try:
        path.mkdir(exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make the folder {path}: {error.strerror or error}") from error
    return [point.export(to, path, options=options, **how) for point in _frontier(source)]


def run(source: Source, size: int | str = "64KiB", **how: Any) -> list[ExecutionResult]:
    """Runs every point of a frontier on random data and compares with the definition.

    Args:
        source: a frontier, or its file.
        size: bytes of one node's data.
        how: `dtype`, `op` and `seed`, as for a single point.

    Raises:
        UsageError: on a size or a type that makes no sense.
    """
    return [point.run(size, **how) for point in _frontier(source)]


def show(what: str | Path | Topology | Collective) -> Page:
    """What a topology, a collective or a file looks like.

    Raises:
        SyncollError: when there is no such.

    >>> print(str(show("ring(3)")).splitlines()[2])
    ring(3): 3 nodes, 6 directed links, diameter 1
    """
    from syncoll.pages.collective import collective_page, least_size
    from syncoll.pages.topology import topology_page
    from syncoll.session.reference import kind_of

    if isinstance(what, Topology):
        return topology_page(what)
    if isinstance(what, Collective):
        return collective_page(what, *least_size(what, None, None))
    if isinstance(what, Path):
        return load(what).page()
    specs = session_for({}).specs
    kind = kind_of(specs, what)
    if kind == "topology":
        return topology_page(specs.topology(what), specs.definition("topology", what).doc)
    if kind == "collective":
        found = specs.collective(what)
        doc = specs.definition("collective", what).doc
        return collective_page(found, *least_size(found, None, None), doc)
    return load(what).page()


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


def import_topology(
    importer: str,
    file: str | Path,
    *,
    name: str = "",
    options: Mapping[str, object] | None = None,
) -> str:
    """The text of a spec for what a tool says of a machine; to be read, changed and saved.

    Args:
        importer: such as ``nvidia-smi`` or ``nccl-xml``.
        file: what the tool wrote.
        name: of the topology; empty for the file's.
        options: of the importer, by name.

    Raises:
        SyncollError: on a file that is not of that tool, and options that the importer lacks.
    """
    from syncoll.importing import import_spec, read_description

    plugins = session_for({}).plugins
    record = plugins.importers[importer]
    text = read_description(str(file))
    return import_spec(
        record, text, str(file), dict(options or {}), name=name, others=plugins.importers
    )


def check_spec(file: str | Path) -> CheckReport:
    """What a spec file defines, and every error in it.

    Raises:
        SpecError: when the file cannot be read.
    """
    from syncoll.spec import check_file

    return check_file(str(file), session_for({}).specs)


def list_specs() -> Page:
    """The topologies, collectives, relations and searches that come with syncoll."""
    from syncoll.pages.specs import specs_page

    return specs_page(session_for({}).specs)


def explain(
    topology: Where,
    collective: What,
    *,
    chunks: int,
    steps: int,
    rounds: int,
    **settings: Unpack[SettingsOptions],
) -> Page:
    """How large the formula of an (S, R, C) is after each lowering, and who would decide it.

    Args:
        topology: a name or an object.
        collective: a name or an object.
        chunks: C.
        steps: S.
        rounds: R.
        settings: see `Settings`.

    Raises:
        SyncollError: as `pareto`.
    """
    from syncoll.pages.explanation import explanation_page

    session = session_for(settings)
    what = session.collective(collective)
    instance = session.instance(topology, what, chunks=chunks, steps=steps, rounds=rounds)
    return explanation_page(session.explain(instance, what))


def file_schema(kind: str) -> Mapping[str, Any]:
    """The JSON Schema of a kind of file, such as ``frontier``.

    >>> file_schema("frontier")["title"] != ""
    True
    """
    return schema(kind)
