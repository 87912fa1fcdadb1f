"""Names of topologies and collectives, from the spec libraries and the importers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import syncoll.plugins as hosts
from syncoll import importing, model
from syncoll.errors import UsageError
from syncoll.values import require_whole, rounds_of

if TYPE_CHECKING:
    from syncoll import spec

Where: TypeAlias = "str | model.Topology | model.Fabric"
What: TypeAlias = "str | model.Collective"
Tell = Callable[[str], None]

_MOST_SENDS = 50_000_000
"""Chunks x links x steps, above which the formula of an instance would not fit in memory."""


class Names:
    """Topologies, collectives and instances by name.

    Args:
        tell: receives messages about files.
        plugins: None for the installed ones.
    """

    def __init__(self, tell: Tell, plugins: hosts.PluginManager | None = None) -> None:
        self.tell = tell
        if plugins is not None:
            self.plugins = plugins

    @cached_property
    def plugins(self) -> hosts.PluginManager:
        """The installed plugins."""
        return hosts.PluginManager.discover()

    @cached_property
    def specs(self) -> spec.SpecLibrary:
        """The spec libraries, and the importers for references such as ``NAME:FILE``."""
        from syncoll.spec import SpecLibrary

        plugins = self.plugins
        records = sorted(plugins.spec_libraries.values(), key=lambda one: not plugins.is_ours(one))
        files = {name: partial(self._read, name) for name in plugins.importers}
        folders = [record.folder for record in records]
        return SpecLibrary(
            folders, files, self.tell, lambda file: importing.recognised(plugins.importers, file)
        )

    def _read(self, importer: str, file: str, settings: Sequence[str]) -> str:
        """Reads a file with an importer, whose modules are loaded only now."""
        return importing.readers(self.plugins.importers, self.tell)[importer](file, settings)

    def topology(self, what: Where) -> model.Topology:
        """See `syncoll.topology`.  Raises `ModelError` if a network of switches makes none."""
        from syncoll.routing import as_topology

        return as_topology(self.network(what))

    def fabric(self, what: Where) -> model.Fabric:
        """See `syncoll.fabric`."""
        return model.Fabric.of(self.network(what))

    def network(self, what: Where) -> model.Topology | model.Fabric:
        """The machine before routes are found: a fabric if it has switches."""
        if isinstance(what, model.Topology | model.Fabric):
            return what
        return self.specs.topology(_name(what, "topology"))

    def family(self, what: Where) -> spec.TopologyFamily | spec.SingleTopology:
        """The topologies of a name with arguments without values; an object is alone."""
        if isinstance(what, model.Topology | model.Fabric):
            from syncoll.spec import SingleTopology

            return SingleTopology(what)
        return self.specs.family(_name(what, "topology"))

    def collective(self, what: What, *values: object, **named: object) -> model.Collective:
        """See `syncoll.collective`."""
        if isinstance(what, model.Collective):
            if values or named:
                raise UsageError(f"{what.name} is an object, and takes no arguments")
            return what
        return self.specs.collective(_name(what, "collective"), values, named)

    def expected(
        self, topology: Where | None, collective: What | None
    ) -> tuple[model.Topology | None, model.Collective | None]:
        """The topology and the collective that a file should be about; None for any."""
        where = None if topology is None else self.topology(topology)
        return where, None if collective is None else self.collective(collective)

    def instance(
        self,
        topology: Where,
        collective: What,
        *,
        chunks: int,
        steps: int,
        rounds: int | Fraction | str,
    ) -> model.Instance:
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
