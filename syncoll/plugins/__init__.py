"""The plugin host: what plugins register, the hooks they implement, and the manager."""

from syncoll.plugins.hooks import hookimpl
from syncoll.plugins.manager import BrokenPlugin, PluginManager, Provenance
from syncoll.plugins.options import Option, OptionValue, parse_options, resolve_options
from syncoll.plugins.records import (
    Answer,
    Backend,
    BackendRecord,
    Encoded,
    Encoding,
    EncodingRecord,
    Proposal,
    Seed,
    SeedLimits,
    SeedRecord,
    SpecLibraryRecord,
    installed_distribution,
)

__all__ = [
    "Answer",
    "Backend",
    "BackendRecord",
    "BrokenPlugin",
    "Encoded",
    "Encoding",
    "EncodingRecord",
    "Option",
    "OptionValue",
    "PluginManager",
    "Proposal",
    "Provenance",
    "Seed",
    "SeedLimits",
    "SeedRecord",
    "SpecLibraryRecord",
    "hookimpl",
    "installed_distribution",
    "parse_options",
    "resolve_options",
]
