"""The plugin host: what plugins register, the hooks they implement, and the manager."""

from syncoll.plugins.exporters import (
    CheckedExport,
    ExportChecker,
    Exported,
    Exporter,
    ExporterRecord,
    ExportRequest,
)
from syncoll.plugins.hooks import hookimpl
from syncoll.plugins.importers import (
    CLUSTER_OPTIONS,
    Imported,
    Importer,
    ImporterRecord,
    NetworkCard,
)
from syncoll.plugins.manager import PluginManager
from syncoll.plugins.options import Option, OptionValue, parse_options, resolve_options
from syncoll.plugins.records import (
    Answer,
    Backend,
    BackendRecord,
    Encoded,
    Encoding,
    EncodingRecord,
    EstimatesSize,
    Proposal,
    Rank,
    Seed,
    SeedLimits,
    SeedRecord,
    SpecLibraryRecord,
    TakesHints,
    installed_distribution,
)
from syncoll.plugins.registry import BrokenPlugin, Provenance, Registry

__all__ = [
    "CLUSTER_OPTIONS",
    "Answer",
    "Backend",
    "BackendRecord",
    "BrokenPlugin",
    "CheckedExport",
    "Encoded",
    "Encoding",
    "EncodingRecord",
    "EstimatesSize",
    "ExportChecker",
    "ExportRequest",
    "Exported",
    "Exporter",
    "ExporterRecord",
    "Imported",
    "Importer",
    "ImporterRecord",
    "NetworkCard",
    "Option",
    "OptionValue",
    "PluginManager",
    "Proposal",
    "Provenance",
    "Rank",
    "Registry",
    "Seed",
    "SeedLimits",
    "SeedRecord",
    "SpecLibraryRecord",
    "TakesHints",
    "hookimpl",
    "installed_distribution",
    "parse_options",
    "resolve_options",
]
