"""The plugin manager: finds plugins, keeps the errors of broken ones, hands out records by name.

It hides pluggy, whose stock behaviour does not fit a command line tool: there, one plugin that
cannot be imported ends the discovery of all, and two records of one name go unnoticed.  Here

* a plugin that is broken in any way (import or syntax error, an exception or an exit in a hook, a
  misspelt hook, a record of the wrong type) is set aside with its error, and the others work on;
* a name that two plugins claim belongs to neither: asking for it is an error naming both.

There is no global manager: what needs one makes it, or is given it.
"""

from __future__ import annotations

import importlib.metadata
import re
import traceback
from collections.abc import Iterable
from typing import Any

import pluggy

from syncoll.errors import PluginError, SyncollError
from syncoll.plugins.exporters import ExporterRecord
from syncoll.plugins.guard import calling
from syncoll.plugins.importers import ImporterRecord
from syncoll.plugins.records import BackendRecord, EncodingRecord, SeedRecord, SpecLibraryRecord
from syncoll.plugins.registry import BrokenPlugin, Provenance, Registry, did_you_mean

__all__ = ["PROJECT", "HookSpecs", "PluginManager", "hookimpl"]

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


Record = (
    EncodingRecord
    | BackendRecord
    | SeedRecord
    | SpecLibraryRecord
    | ImporterRecord
    | ExporterRecord
)


class PluginManager:
    """Encodings, backends, seeds, spec libraries, importers and exporters by name.

    An empty one knows nothing; `discover` finds what is installed.

    Attributes:
        encodings: every encoding by name; so the others, each a `Registry`.
        backends: solver backends.
        seeds: heuristics.
        spec_libraries: folders of specs.
        importers: readers of what tools say about machines.
        exporters: formats of runtimes.
    """

    def __init__(self) -> None:
        self._pluggy = pluggy.PluginManager(PROJECT)
        self._pluggy.add_hookspecs(HookSpecs)
        broken = self._broken = list[BrokenPlugin]()
        self.encodings = Registry(EncodingRecord, "encoding", "encodings", broken)
        self.backends = Registry(BackendRecord, "backend", "backends", broken)
        self.seeds = Registry(SeedRecord, "seed", "seeds", broken)
        self.spec_libraries = Registry(SpecLibraryRecord, "spec library", "spec libraries", broken)
        self.importers = Registry(ImporterRecord, "importer", "importers", broken)
        self.exporters = Registry(ExporterRecord, "exporter", "exporters", broken)
        self._registries: dict[str, Registry[Any]] = {
            f"{PROJECT}_{name}": one for name, one in vars(self).items() if name[0] != "_"
        }

    @classmethod
    def discover(cls) -> PluginManager:
        """A manager of every installed plugin; imports no solver and never fails on a plugin."""
        manager = cls()
        points = importlib.metadata.entry_points(group=PROJECT)
        # Each look at a distribution's name parses all its metadata, a README included.
        known: dict[int, tuple[str, str]] = {}
        for point in sorted(points, key=lambda p: (p.name, p.value)):
            dist = point.dist
            if dist is not None and id(dist) not in known:
                known[id(dist)] = dist.name, dist.version
            manager._load(point, *known.get(id(dist), ("", "")))
        return manager

    @property
    def broken(self) -> tuple[BrokenPlugin, ...]:
        """Plugins that were set aside, and names that two plugins claim."""
        return tuple(self._broken)

    def provenance(self, record: Record) -> Provenance:
        """Where a record comes from; `PluginError` when this manager does not know it."""
        return self._registry_of(record).owner(record)

    def is_ours(self, record: Record) -> bool:
        """Whether a record comes with syncoll itself; else as `provenance`."""
        return self.provenance(record).distribution == PROJECT

    def register(self, plugin: object, name: str) -> None:
        """Adds a plugin from Python: a module or any object with hook implementations.

        Args:
            plugin: its functions or methods marked with `hookimpl` are the hooks.
            name: of the plugin, for messages.

        Raises:
            PluginError: when it is broken, or a name of its records is taken; nothing is added.
        """
        with calling(f"plugin {name}"):
            records = self._collect(plugin, name)
        owner = Provenance(name)
        for record in records:
            registry = self._registry_of(record)
            if registry.claimed(record.name):
                self._pluggy.unregister(plugin)
                raise PluginError(registry.claimed_twice(record.name, owner))
        for record in records:
            self._add(record, owner)

    def _load(self, point: importlib.metadata.EntryPoint, distribution: str, version: str) -> None:
        owner = Provenance(point.name, distribution, version)
        try:
            with calling(f"plugin {point.name}"):
                records = self._collect(point.load(), point.name)
        # A plugin's own exit must not end the program; an interrupt is the user's.
        except (SyncollError, MemoryError) as error:
            cause = error.__cause__ or error
            details = "" if cause is error else "".join(traceback.format_exception(cause))
            # Wherever this is told the plugin is named already.
            named = f"plugin {point.name}"
            told = str(error).removeprefix(f"{named} failed: ").removeprefix(f"{named}: ")
            self._set_aside(owner, told or type(error).__name__, details)
        else:
            for record in records:
                self._add(record, owner)

    def _collect(self, plugin: object, name: str) -> list[Record]:
        """Registers with pluggy and calls the plugin's hooks.

        Raises:
            PluginError: when anything about it is wrong; it is not registered then.
        """
        if self._pluggy.has_plugin(name):
            raise PluginError(f"a plugin named {name} is registered already")
        try:
            self._pluggy.register(plugin, name)
        except ValueError as error:
            raise PluginError(f"plugin {name} is registered already: {error}") from error
        except pluggy.PluginValidationError as error:
            if self._pluggy.is_registered(plugin):  # older versions leave it half registered
                self._pluggy.unregister(plugin)
            raise PluginError(f"plugin {name} has a wrong hook: {error}") from error
        try:
            self._check_hooks(plugin, name)
            return self._call_hooks(plugin, name)
        except BaseException:
            self._pluggy.unregister(plugin)
            raise

    def _check_hooks(self, plugin: object, name: str) -> None:
        known = list(self._registries)
        callers = self._pluggy.get_hookcallers(plugin) or []
        if wrong := [caller.name for caller in callers if caller.name not in known]:
            raise PluginError(
                f"plugin {name} implements {', '.join(wrong)}, which is not a hook"
                f"{did_you_mean(wrong[0], known)}; the hooks are: {', '.join(known)}"
            )
        if not callers:
            raise PluginError(
                f"plugin {name} implements no hook; mark its functions with "
                f"syncoll.plugins.hookimpl; the hooks are: {', '.join(known)}"
            )

    def _call_hooks(self, plugin: object, name: str) -> list[Record]:
        others = [other for other in self._pluggy.get_plugins() if other is not plugin]
        result: list[Record] = []
        for caller in self._pluggy.get_hookcallers(plugin) or []:
            one = self._pluggy.subset_hook_caller(caller.name, others)
            expected = self._registries[caller.name].record_type
            with calling(f"plugin {name}", caller.name):
                # One plugin has one implementation; pluggy leaves out a result that is None.
                (records,) = one() or [None]
                if isinstance(records, Iterable):  # what a lazy one raises is the plugin's too
                    records = list(records)
            returned = f"{caller.name} of plugin {name} returned"
            if not isinstance(records, list):
                raise PluginError(
                    f"{returned} {type(records).__name__}, not a list of {expected.__name__}"
                )
            for record in records:
                if not isinstance(record, expected):
                    raise PluginError(
                        f"{returned} a {type(record).__name__} in its list, not a "
                        f"{expected.__name__}"
                    )
                if not _NAME.fullmatch(record.name):
                    raise PluginError(
                        f"{returned} a {expected.__name__} named {record.name!r}; a name starts "
                        "with a letter or digit, and goes on with these or any of _ . -"
                    )
                result.append(record)
        names = [(type(record), record.name) for record in result]
        for record in result:
            if names.count((type(record), record.name)) > 1:
                raise PluginError(f"plugin {name} registers {record.name!r} twice")
        return result

    def _add(self, record: Record, owner: Provenance) -> None:
        registry = self._registry_of(record)
        if not registry.add(record, owner):
            self._set_aside(owner, registry.claimed_twice(record.name))

    def _registry_of(self, record: Record) -> Registry[Any]:
        return next(r for r in self._registries.values() if isinstance(record, r.record_type))

    def _set_aside(self, owner: Provenance, error: str, details: str = "") -> None:
        self._broken.append(BrokenPlugin(owner.plugin, owner.distribution, error, details))


_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
