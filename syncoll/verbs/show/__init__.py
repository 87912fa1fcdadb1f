"""Shows a machine (its links and bounds on them), a collective (where chunks start and must end),
or the contents of a file: algorithms step by step, or the trees of a forest.  --symmetry shows a
machine's symmetry.

  syncoll show dgx1
  syncoll show "torus(4,4)"
  syncoll show alltoall --nodes 4 -C 4
  syncoll show my-machine.syncoll:quad
  syncoll show frontier.json
  syncoll show --symmetry "torus(4,4)" allgather

--symmetry shows the permutations of the nodes that searches use to carry results from one node to
others: the automorphisms of the machine, or of the machine and a collective.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from syncoll.deadline import interrupted_at
from syncoll.verbs.asking import What, Where, deadline_of, session_for, verb
from syncoll.verbs.declaration import Shell

if TYPE_CHECKING:
    from syncoll import documents
    from syncoll.documents.record import written
    from syncoll.documents.written_problem import interconnect_record
    from syncoll.model import Collective, Fabric, Topology
    from syncoll.pages.collective import collective_page, least_size
    from syncoll.pages.frontier import stored_page
    from syncoll.pages.topology import topology_page
    from syncoll.spec.kinds import kind_of
    from syncoll.symmetry import find_symmetry
    from syncoll.verbs.result import Displayable, Shown
    from syncoll.verbs.show.result import SymmetryResult

SHELL = Shell(
    {"what": ("what NAME|FILE", "`syncoll spec list` lists the names"), "width": ""},
    {
        "collective [COLLECTIVE]": "the symmetry of a machine and a collective; only with "
        "--symmetry",
        "--symmetry": "of a machine, alone or with a collective",
    },
)


@verb
def show(
    what: str | Path | Topology | Fabric | Collective | Displayable,
    *,
    nodes: int | None = None,
    chunks: int | None = None,
    width: int | None = None,
) -> Shown:
    """A machine, a collective, or a stored algorithm step by step.

    Args:
        what: a name, a file or an object; ``syncoll spec list`` lists the names.
        nodes: P, for pre and post of a collective; None for 4, or the least defined above.
        chunks: C, for a collective; None for the least defined.
        width: number of columns for a matrix of links; None for the usual.

    Raises:
        SyncollError: if it does not exist.

    >>> print(str(show("ring(3)")).splitlines()[2])
    ring(3): 3 nodes, 6 directed links, diameter 1
    """
    session, thing, doc = session_for(), cast("Any", what), ""
    if isinstance(thing, Displayable):
        return Shown(thing.page(), lambda: thing.document())
    if isinstance(thing, str | Path):
        thing = str(thing)
        kind = kind_of(session.specs, thing)
        if kind == "file":
            stored = documents.read_file(Path(thing), (*documents.KINDS, "forest"), "show")
            return Shown(stored_page(stored), lambda: dict(stored.document))
        doc = session.specs.definition(kind, thing).doc  # type: ignore[arg-type]
        thing = session.topology(thing) if kind == "topology" else session.collective(thing)
    if isinstance(thing, Collective):
        size = least_size(thing, nodes, chunks)
        return Shown(collective_page(thing, *size, doc), lambda: _collective_document(thing, *size))
    topology = session.topology(thing)
    head = {"schema": "syncoll/topology/1", "topology": topology.name, "nodes": topology.num_nodes}
    return Shown(
        topology_page(topology, doc, width),
        lambda: {**head, "interconnect": written(interconnect_record(topology))},
    )


def _collective_document(collective: Collective, nodes: int, chunks: int) -> dict[str, Any]:
    relation = collective.tabulate(nodes, chunks)
    return {
        "schema": "syncoll/collective/1",
        "collective": collective.name,
        "nodes": nodes,
        "chunks": chunks,
        "global_chunks": len(relation.pre),
        "combining": collective.combining,
        "inverse_of": collective.dual.name if collective.dual else None,
        "composed_of": [[part.name for part in way] for way in collective.ways],
        "pre": [row.nonzero()[0].tolist() for row in relation.pre],
        "post": [row.nonzero()[0].tolist() for row in relation.post],
    }


@verb
def symmetry_of(
    topology: Where, collective: What | None = None, *, time_limit: float | str | None = None
) -> SymmetryResult:
    """The automorphisms of a topology, or of a topology and a collective, that searches use.

    Args:
        topology: a name or an object.
        collective: a name or an object; None for the topology alone.
        time_limit: of all of it, such as ``2min``.

    Raises:
        SyncollError: if it does not exist, or the collective is not defined on the topology.

    >>> symmetry_of("torus(4,4)", "allgather").group.order
    16
    """
    session, until = session_for(), deadline_of(time_limit)
    with interrupted_at(until):
        where = session.topology(topology)
        if collective is None:
            return SymmetryResult.of(find_symmetry(where, until=until))
        meant = session.collective(collective)
        _, chunks = least_size(meant, where.num_nodes, None)
        table = meant.table_on(where, chunks)
    return SymmetryResult.of(find_symmetry(where, meant.name, table, until))
