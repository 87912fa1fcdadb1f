"""The types and functions behind the verbs, for programs that put a search together themselves."""

from syncoll.documents import read_file
from syncoll.errors import SyncollError
from syncoll.formula import Limits, Verdict
from syncoll.model import (
    Algorithm,
    BandwidthBound,
    Collective,
    Fabric,
    Instance,
    Topology,
    inverse_of,
    sequence_of,
)
from syncoll.plugins import PluginManager
from syncoll.results import Frontier, Point, Solution
from syncoll.searching import Observer, SearchRequest, Strategy
from syncoll.session import Session, Settings
from syncoll.solving import Solver
from syncoll.spec import SpecLibrary
from syncoll.trust import Violation, require_valid, violations

__all__ = [
    "Algorithm",
    "BandwidthBound",
    "Collective",
    "Fabric",
    "Frontier",
    "Instance",
    "Limits",
    "Observer",
    "PluginManager",
    "Point",
    "SearchRequest",
    "Session",
    "Settings",
    "Solution",
    "Solver",
    "SpecLibrary",
    "Strategy",
    "SyncollError",
    "Topology",
    "Verdict",
    "Violation",
    "discover",
    "inverse_of",
    "read_file",
    "require_valid",
    "sequence_of",
    "violations",
]


def discover() -> PluginManager:
    """The installed encodings, backends and spec libraries."""
    return PluginManager.discover()
