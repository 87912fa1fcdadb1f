"""Names of topologies and collectives, from the spec libraries and the importers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from syncoll.errors import UsageError
from syncoll.values import require_whole, rounds_of

if TYPE_CHECKING:
    from syncoll.model import Collective, Fabric, Instance, Topology
    from syncoll.plugins import PluginManager
    from syncoll.spec import SingleTopology, SpecLibrary, TopologyFamily

Tell = Callable[[str], None]

_MOST_SENDS = 50_000_000
"""Chunks x links x steps, above which the formula of an instance would not fit in memory."""


class Names:
    """Topologies, collectives and instances by name.

    Args:
        tell: receives messages about files.
        plugins: None for the installed ones.
    """

    def __init__(self, tell: Tell, plugins: PluginManager | None = None) -> None:
        self.tell = tell
        if plugins is not None:
            self.plugins = plugins

    @cached_property
    def plugins(self) -> PluginManager:
        """The installed plugins."""
        from syncoll.plugins import PluginManager

        return PluginManager.discover()

    @cached_property
    def specs(self) -> SpecLibrary:
        """The spec libraries, and the importers for references such as ``NAME:FILE``."""
        from syncoll.spec import SpecLibrary

        plugins = self.plugins
        records = sorted(plugins.spec_libraries.values(), key=lambda one: not plugins.is_ours(one))
        files = {name: partial(self._read, name) for name in plugins.importers}
        folders = [record.folder for record in records]
        return SpecLibrary(folders, files, self.tell, self._recognised)

    def _recognised(self, file: str) -> Sequence[str]:
        from syncoll.importing import recognised

        return recognised(self.plugins.importers, file)

    def _read(self, importer: str, file: str, settings: Sequence[str]) -> str:
        """Reads a file with an importer, whose modules are loaded only now."""
        from syncoll.importing import readers

        return readers(self.plugins.importers, self.tell)[importer](file, settings)

    def topology(self, what: str | Topology | Fabric) -> Topology:
        """See `syncoll.topology`.  Raises `ModelError` if a network of switches makes none."""
        from syncoll.routing import as_topology

        return as_topology(self.network(what))

    def fabric(self, what: str | Topology | Fabric) -> Fabric:
        """See `syncoll.fabric`."""
        from syncoll.model import Fabric

        return Fabric.of(self.network(what))

    def network(self, what: str | Topology | Fabric) -> Topology | Fabric:
        """The machine before routes are found: a fabric if it has switches."""
        from syncoll.model import Fabric, Topology

        if isinstance(what, Topology | Fabric):
            return what
        return self.specs.topology(_name(what, "topology"))

    def family(self, what: str | Topology | Fabric) -> TopologyFamily | SingleTopology:
        """The topologies of a name with arguments without values; an object is alone."""
        from syncoll.model import Fabric, Topology
        from syncoll.spec import SingleTopology

        if isinstance(what, Topology | Fabric):
            return SingleTopology(what)
        return self.specs.family(_name(what, "topology"))

    def collective(self, what: str | Collective, *values: object, **named: object) -> Collective:
        """See `syncoll.collective`."""
        from syncoll.model import Collective

        if isinstance(what, Collective):
            if values or named:
                raise UsageError(f"{what.name} is an object, and takes no arguments")
            return what
        return self.specs.collective(_name(what, "collective"), values, named)

    def instance(
        self,
        topology: str | Topology | Fabric,
        collective: str | Collective,
        *,
        chunks: int,
        steps: int,
        rounds: int | Fraction | str,
    ) -> Instance:
        """The instance for C, S and R.

        Raises:
            UsageError: if its formula would be too large for any machine.
            ModelError: if the collective is not defined for these numbers on the topology.
        """
        require_whole("chunks", chunks, 1)
        require_whole("steps", steps)
        rounds = rounds_of("rounds", rounds)
        where = self.topology(topology)
        instance = self.collective(collective).instantiate(
            where, chunks=chunks, steps=steps, rounds=rounds
        )
        sends = instance.num_chunks * len(where.links) * instance.steps
        if sends > _MOST_SENDS:
            raise UsageError(
                f"{instance.num_chunks} chunks on {len(where.links)} links in {instance.steps} "
                f"steps are {sends} possible sends, more than {_MOST_SENDS}; use fewer steps or "
                "chunks"
            )
        return instance


def _name(what: object, kind: str) -> str:
    if isinstance(what, Path):
        return str(what)
    if kind == "topology" and hasattr(what, "nodes") and hasattr(what, "edges"):
        raise UsageError("a networkx graph becomes a topology by Topology.from_networkx")
    if kind == "topology" and hasattr(what, "shape"):
        raise UsageError("a matrix becomes a topology by Topology.from_matrix")
    if not isinstance(what, str):
        raise UsageError(
            f"{what!r} is not a {kind}; expected a name such as "
            f"{'dgx1 or ring(8)' if kind == 'topology' else 'allgather'}, or an object of syncoll's"
        )
    return what
