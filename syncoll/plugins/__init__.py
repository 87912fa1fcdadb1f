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
from syncoll.plugins.importers import Imported, Importer, ImporterRecord
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
    TakesHints,
    installed_distribution,
)

__all__ = [
    "Answer",
    "Backend",
    "BackendRecord",
    "BrokenPlugin",
    "CheckedExport",
    "Encoded",
    "Encoding",
    "EncodingRecord",
    "ExportChecker",
    "ExportRequest",
    "Exported",
    "Exporter",
    "ExporterRecord",
    "Imported",
    "Importer",
    "ImporterRecord",
    "Option",
    "OptionValue",
    "PluginManager",
    "Proposal",
    "Provenance",
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
