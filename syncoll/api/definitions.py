"""What questions are about, and what answers them: topologies, collectives, plugins, the store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from syncoll import documents
from syncoll.api.base import Displayable, What, Where, as_result, deadline_of, session_for, verb
from syncoll.deadline import interrupted_at
from syncoll.errors import UsageError
from syncoll.importing import import_spec, read_description
from syncoll.model import Collective, Fabric, Topology
from syncoll.pages import Page
from syncoll.pages.collective import collective_page, least_size
from syncoll.pages.frontier import stored_page
from syncoll.pages.plugins import plugins_page
from syncoll.pages.specs import specs_page
from syncoll.pages.symmetry import symmetry_page, symmetry_record
from syncoll.pages.topology import topology_page
from syncoll.plugins import PluginManager, resolve_options
from syncoll.routing import as_topology
from syncoll.session.reference import kind_of
from syncoll.spec import CheckReport, check_file
from syncoll.store import Store
from syncoll.symmetry import Symmetry, find_symmetry
from syncoll.wording import argument

__all__ = [
    "SymmetryResult",
    "check_spec",
    "collective",
    "discover",
    "fabric",
    "file_schema",
    "import_topology",
    "list_plugins",
    "list_specs",
    "open_store",
    "show",
    "symmetry_of",
    "topology",
]


@verb
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
    return session_for().topology(what)


@verb
def fabric(what: Where) -> Fabric:
    """The physical network of a topology, with its switches.

    Raises:
        SpecError: when there is no such, or it is wrong.
        ModelError: when its links share bandwidth and nothing says through which switches.

    >>> fabric("ring(4)").num_switches
    0
    """
    return session_for().fabric(what)


@verb
def collective(what: What, *values: object, **named: object) -> Collective:
    """A collective: shipped, of a file, or several combined.

    Args:
        what: ``broadcast(root=3)``, ``my.syncoll:step``, ``allgather within [[0,1],[2,3]]``,
            ``2 * allgather + alltoall``.
        values: arguments of a name that has none yet, as numbers, nested lists, numpy arrays or
            paths of CSV files.
        named: arguments with a name.

    Raises:
        SpecError: when there is no such, or it is wrong.

    >>> collective("broadcast(root=3)").combining
    False
    >>> len(collective("alltoallv", [[0, 2], [1, 0]]).tabulate(2, 1))
    3
    >>> collective("alltoallv", [[0, 3], [4, 0]], unit=2, round_up=True).name
    'alltoallv([[0,3],[4,0]],unit=2,round_up=true)'
    """
    return session_for().collective(what, *values, **named)


@verb
def import_topology(
    importer: str,
    file: str | Path,
    *,
    name: str | None = None,
    options: Mapping[str, object] | None = None,
) -> str:
    """The text of a spec for what a tool says of a machine; to be read, changed and saved.

    Args:
        importer: such as ``nvidia-smi`` or ``nccl-xml``.
        file: what the tool wrote; ``-`` for standard input.
        name: of the topology; None for the file's.
        options: of the importer, by name.

    Raises:
        SyncollError: on a file that is not of that tool, and options that the importer lacks.
    """
    importers = session_for().plugins.importers
    record, given = importers[importer], dict(options or {})
    resolve_options(record.options, given, f"importer {record.name}")
    if name == "":
        raise UsageError(f"the {argument('name')} of the topology is empty")
    text = read_description(str(file))
    label = "standard input" if str(file) == "-" else str(file)
    return import_spec(record, text, label, given, name=name or "", others=importers)


@verb
def check_spec(file: str | Path) -> CheckReport:
    """What a spec file defines, and every error in it.

    Raises:
        UsageError: when there is no such file.
        SpecError: when the file cannot be read.
    """
    if not Path(file).is_file():
        what = "a folder" if Path(file).is_dir() else "no file"
        raise UsageError(f"{file} is {what}; expected a .syncoll file")
    return check_file(str(file), session_for().specs, as_topology)


@verb
def list_specs() -> Page:
    """The topologies, collectives, relations and searches that come with syncoll."""
    return specs_page(session_for().specs)


@verb
def list_plugins(*, options: bool = False) -> Page:
    """What is installed, licensed and able to run here; also the options of each where asked."""
    return plugins_page(session_for().plugins, options=options)


@verb
def discover() -> PluginManager:
    """The installed encodings, backends and spec libraries."""
    return PluginManager.discover()


@verb
def show(
    what: str | Path | Topology | Fabric | Collective | Displayable,
    *,
    nodes: int | None = None,
    chunks: int | None = None,
    width: int | None = None,
) -> Page:
    """What a topology, a collective, a file or a value looks like.

    Args:
        what: a name, a file or an object.
        nodes: P, for a collective; None for 4, or the least for which it is defined.
        chunks: C, for a collective; None for the least.
        width: columns for a matrix of links; None for the usual.

    Raises:
        SyncollError: when there is no such.

    >>> print(str(show("ring(3)")).splitlines()[2])
    ring(3): 3 nodes, 6 directed links, diameter 1
    """
    if isinstance(what, Displayable):
        return what.page()
    session, doc = session_for(), ""
    if isinstance(what, str | Path):
        what = str(what)
        kind = kind_of(session.specs, what)
        if kind == "file":
            return stored_page(
                documents.read_file(Path(what), (*documents.KINDS, "forest"), "show")
            )
        doc = session.specs.definition(kind, what).doc  # type: ignore[arg-type]
        what = session.topology(what) if kind == "topology" else session.collective(what)
    if isinstance(what, Collective):
        return collective_page(what, *least_size(what, nodes, chunks), doc)
    return topology_page(session.topology(what), doc, width)


@dataclass(frozen=True, eq=False, repr=False)
class SymmetryResult(Displayable, Symmetry):
    """The symmetry of a topology, alone or with a collective."""

    page = symmetry_page
    document = record = symmetry_record


@verb
def symmetry_of(
    topology: Where, collective: What | None = None, *, time_limit: float | str | None = None
) -> SymmetryResult:
    """The automorphisms that searches use: those that keep the topology and the collective.

    Args:
        topology: a name or an object.
        collective: a name or an object; None for the topology alone.
        time_limit: seconds for all of it, or a text such as ``2min``.

    Raises:
        SyncollError: when there is no such, or the collective is not defined on the topology.

    >>> symmetry_of("torus(4,4)", "allgather").group.order
    16
    """
    session, until = session_for(), deadline_of(time_limit)
    with interrupted_at(until):
        where, what = session.topology(topology), None
        if collective is None:
            return as_result(SymmetryResult, find_symmetry(where, until=until))
        what = session.collective(collective)
        _, chunks = least_size(what, where.num_nodes, None)
        table = what.table_on(where, chunks)
    return as_result(SymmetryResult, find_symmetry(where, what.name, table, until))


@verb
def open_store(store: str | Path | None = None) -> Store:
    """The store of answers: to `describe`, `clear` and close, best in a ``with``.

    Args:
        store: its file; None for the one that searches use.

    Raises:
        UsageError: when it cannot be opened, or is to be none.
        FileFormatError: when it is not a store.
    """
    found = session_for({} if store is None else {"store": store}).store()
    if found is None:
        raise UsageError("there is no store: its name is none, or it cannot be opened")
    return found


@verb
def file_schema(kind: str) -> Mapping[str, Any]:
    """The JSON Schema of a kind of file, such as ``frontier``.

    Raises:
        UsageError: when there is no such kind.

    >>> file_schema("frontier")["title"] != ""
    True
    """
    try:
        return documents.schema(kind)
    except KeyError:
        known = ", ".join(documents.KINDS)
        raise UsageError(f"{kind!r} is not a kind of file; expected one of {known}") from None
