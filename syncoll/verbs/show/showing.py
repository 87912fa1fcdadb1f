"""The pages and documents of topologies, collectives and files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from syncoll import documents
from syncoll.documents.record import written
from syncoll.documents.written_problem import interconnect_record
from syncoll.model import Collective, Topology
from syncoll.pages.collective import collective_page, least_size
from syncoll.pages.frontier import stored_page
from syncoll.pages.topology import topology_page
from syncoll.session import Session
from syncoll.spec.kinds import kind_of
from syncoll.verbs.result import Displayable, Shown

__all__ = ["shown"]


def shown(
    session: Session, what: Any, nodes: int | None, chunks: int | None, width: int | None
) -> Shown:
    """The page and the document of a name, a file or an object; see `show`."""
    if isinstance(what, Displayable):
        return Shown(what.page(), lambda: what.document())
    doc = ""
    if isinstance(what, str | Path):
        what = str(what)
        kind = kind_of(session.specs, what)
        if kind == "file":
            stored = documents.read_file(Path(what), (*documents.KINDS, "forest"), "show")
            return Shown(stored_page(stored), lambda: dict(stored.document))
        doc = session.specs.definition(kind, what).doc  # type: ignore[arg-type]
        what = session.topology(what) if kind == "topology" else session.collective(what)
    if isinstance(what, Collective):
        size = least_size(what, nodes, chunks)
        return Shown(collective_page(what, *size, doc), lambda: _collective_document(what, *size))
    topology = session.topology(what)
    return Shown(topology_page(topology, doc, width), lambda: _topology_document(topology))


def _topology_document(topology: Topology) -> dict[str, Any]:
    return {
        "schema": "syncoll/topology/1",
        "topology": topology.name,
        "nodes": topology.num_nodes,
        "interconnect": written(interconnect_record(topology)),
    }


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
