"""Topologies and collectives: shipped, of files, and imported."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from syncoll.api.sessions import session_for
from syncoll.model import Collective, Fabric, Topology
from syncoll.pages import Page

if TYPE_CHECKING:
    from syncoll.spec import CheckReport

__all__ = ["check_spec", "collective", "fabric", "import_topology", "list_specs", "topology"]

Where = str | Topology | Fabric
What = str | Collective


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
    from syncoll.routing import as_topology
    from syncoll.spec import check_file

    return check_file(str(file), session_for({}).specs, as_topology)


def list_specs() -> Page:
    """The topologies, collectives, relations and searches that come with syncoll."""
    from syncoll.pages.specs import specs_page

    return specs_page(session_for({}).specs)
