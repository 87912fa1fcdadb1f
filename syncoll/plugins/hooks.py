"""The plug points, as pluggy hooks.  A plugin is a module that implements any of them."""

from __future__ import annotations

import pluggy

from syncoll.plugins.exporters import ExporterRecord
from syncoll.plugins.importers import ImporterRecord
from syncoll.plugins.records import BackendRecord, EncodingRecord, SeedRecord, SpecLibraryRecord

__all__ = ["PROJECT", "HookSpecs", "hookimpl"]

PROJECT = "syncoll"
"""The project name for pluggy, and the entry point group."""

_hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)
"""Marks a function of a plugin module as the implementation of the hook of the same name."""


class HookSpecs:
    """Every hook; each is called once and returns records, which must be cheap to make."""

    @_hookspec
    def syncoll_encodings(self) -> list[EncodingRecord]:  # type: ignore[empty-body]
        """Encodings: from an instance to a formula and back."""

    @_hookspec
    def syncoll_backends(self) -> list[BackendRecord]:  # type: ignore[empty-body]
        """Solver backends: from a formula to an outcome."""

    @_hookspec
    def syncoll_seeds(self) -> list[SeedRecord]:  # type: ignore[empty-body]
        """Seed backends: algorithms by construction."""

    @_hookspec
    def syncoll_spec_libraries(self) -> list[SpecLibraryRecord]:  # type: ignore[empty-body]
        """Folders of specs whose definitions are found by bare name."""

    @_hookspec
    def syncoll_importers(self) -> list[ImporterRecord]:  # type: ignore[empty-body]
        """Importers: from a tool's description of a machine to a topology."""

    @_hookspec
    def syncoll_exporters(self) -> list[ExporterRecord]:  # type: ignore[empty-body]
        """Exporters: from an algorithm to files that a runtime loads, and their checkers."""
