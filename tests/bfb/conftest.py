"""The seed's proposals on machines of the library."""

from __future__ import annotations

from syncoll.model import Topology
from syncoll.plugins import PluginManager, Proposal, SeedLimits
from syncoll.routing import as_topology
from syncoll.spec import SpecLibrary
from syncoll_bfb import RECORD
from tests.oracles.proposals import verified

_LIBRARIES = PluginManager.discover().spec_libraries.values()
SPECS = SpecLibrary([record.folder for record in _LIBRARIES])


def propose(
    network: Topology | str, collective: str = "allgather", limits: SeedLimits | None = None
) -> list[Proposal]:
    """The verified proposals of the seed."""
    where = as_topology(SPECS.topology(network)) if isinstance(network, str) else network
    asked = SPECS.collective(collective)
    return verified(RECORD.load().propose(where, asked, limits or SeedLimits(), {}), where, asked)
