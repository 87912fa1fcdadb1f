"""The plugin manager: finds plugins, keeps the errors of broken ones, hands out records by name.

A plugin is a module, named under the entry point group ``syncoll``, that implements hooks of
pluggy.  A list ``RECORDS`` in it, or a single ``RECORD``, is short for the hook `syncoll_records`.
Stock pluggy ends discovery at one failed import, and does not compare names of records.  Here

* a broken plugin (a failed import, an exit or exception in a hook, a misspelt hook, a wrong record)
  is set aside with its error, and the others keep working;
* a name that two plugins claim belongs to neither: asking for it is an error naming both.

There is no global manager: functions that need one make it, or take it as an argument.
"""

from __future__ import annotations

import importlib.metadata
import re
import traceback
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, TypeVar

import pluggy

from syncoll.errors import PluginError, SyncollError
from syncoll.plugins.exporters import ExporterRecord
from syncoll.plugins.guard import calling
from syncoll.plugins.importers import ImporterRecord
from syncoll.plugins.record import Record
from syncoll.plugins.records import (
    BackendRecord,
    BoundRecord,
    EncodingRecord,
    SeedRecord,
    SpecLibraryRecord,
)
from syncoll.plugins.registry import BrokenPlugin, Provenance, Registry, did_you_mean

PROJECT = "syncoll"
"""The project name for pluggy, and the entry point group."""

_hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)
"""Marks a function of a plugin module as the implementation of the hook of the same name."""

_R = TypeVar("_R", bound=Record)


def _hook() -> Iterable[Record]:  # type: ignore[empty-body]
    """A hook: called once, returns records, which must be cheap to make."""


class PluginManager:
    """Encodings, backends, seeds, bounds, spec libraries, importers and exporters by name.

    A new manager is empty; `discover` finds the installed plugins.

    Attributes:
        encodings: every encoding by name, see `Registry`; so the others.
        backends: solver backends.
        seeds: heuristics.
        bounds: lower bounds.
        spec_libraries: folders of specs.
        importers: readers of tools' descriptions of machines.
        exporters: formats of runtimes.
    """

    def __init__(self) -> None:
        self._pluggy = pluggy.PluginManager(PROJECT)
        self._plugins: dict[str, object] = {}
        self._broken: list[BrokenPlugin] = []
        self._registries: dict[str, Registry[Any]] = {}
        self.encodings = self._registry(EncodingRecord, "encoding", "encodings")
        self.backends = self._registry(BackendRecord, "backend", "backends")
        self.seeds = self._registry(SeedRecord, "seed", "seeds")
        self.bounds = self._registry(BoundRecord, "bound", "bounds")
        self.spec_libraries = self._registry(SpecLibraryRecord, "spec library", "spec libraries")
        self.importers = self._registry(ImporterRecord, "importer", "importers")
        self.exporters = self._registry(ExporterRecord, "exporter", "exporters")
        # Of records of any kind, and of each kind.
        hooks = (f"{PROJECT}_records", *self._registries)
        self._pluggy.add_hookspecs(type("Hooks", (), {name: _hookspec(_hook) for name in hooks}))

    def _registry(self, kind: type[_R], noun: str, plural: str) -> Mapping[str, _R]:
        """A new registry, which others cannot change."""
        registry = Registry(kind, noun, plural, self._broken)
        self._registries[f"{PROJECT}_{plural.replace(' ', '_')}"] = registry
        return MappingProxyType(registry)

    @classmethod
    def discover(cls) -> PluginManager:
        """A manager of every installed plugin; imports no solver and never fails for a plugin."""
        manager = cls()
        points = importlib.metadata.entry_points(group=PROJECT)
        # Each access to a distribution's name parses all its metadata, a README included.
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
        """Where a record comes from; `PluginError` if this manager does not have it."""
        return self._registry_of(record).owner(record)

    def is_ours(self, record: Record) -> bool:
        """Whether a record comes with syncoll itself; else as `provenance`."""
        return self._registry_of(record).owner(record).distribution == PROJECT

    def register(self, plugin: object, name: str) -> None:
        """Adds a plugin from Python.

        Args:
            plugin: a module or any object with a list ``RECORDS``, with functions or methods that
                are marked with `hookimpl`, or with a single ``RECORD``.
            name: the plugin's name, for messages.

        Raises:
            PluginError: if it is broken, or a name of its records is taken; nothing is added.
        """
        with calling(f"plugin {name}"):
            records = self._collect(plugin, name)
        owner = Provenance(name)
        for record in records:
            registry = self._registry_of(record)
            if registry.claimed(record.name):
                self._forget(name)
                raise PluginError(registry.claimed_twice(record.name, owner))
        self._add(records, owner)

    def _load(self, point: importlib.metadata.EntryPoint, distribution: str, version: str) -> None:
        owner = Provenance(point.name, distribution, version)
        try:
            with calling(f"plugin {point.name}"):
                records = self._collect(point.load(), point.name)
        # A plugin's own exit must not end the program; an interrupt is the user's.
        except (SyncollError, MemoryError) as error:
            cause = error.__cause__ or error
            details = "" if cause is error else "".join(traceback.format_exception(cause))
            # The message names the plugin already.
            named = f"plugin {point.name}"
            told = str(error).removeprefix(f"{named} failed: ").removeprefix(f"{named}: ")
            self._set_aside(owner, told or type(error).__name__, details)
        else:
            self._add(records, owner)

    def _collect(self, plugin: object, name: str) -> list[Record]:
        """The records of a plugin, which is remembered.

        Raises:
            PluginError: if it is broken in any way; it is not remembered then.
        """
        if name in self._plugins or any(plugin is one for one in self._plugins.values()):
            raise PluginError(f"plugin {name} is registered already")
        result: list[Record] = []
        try:
            if hasattr(plugin, "RECORDS"):
                self._check("RECORDS", name, plugin.RECORDS, self._kinds, result)
            else:
                self._call_hooks(plugin, name, result)
        except BaseException as error:
            self._forget(name)
            if isinstance(error, pluggy.PluginValidationError):
                raise PluginError(f"plugin {name} has a wrong hook: {error}") from error
            raise
        self._plugins[name] = plugin
        return result

    @property
    def _kinds(self) -> tuple[type[Record], ...]:
        return tuple(registry.record_type for registry in self._registries.values())

    def _forget(self, name: str) -> None:
        self._plugins.pop(name, None)
        self._pluggy.unregister(name=name)

    def _call_hooks(self, plugin: object, name: str, result: list[Record]) -> None:
        """Adds the records of a plugin without ``RECORDS``: of its hooks, or its ``RECORD``."""
        self._pluggy.register(plugin, name)
        callers = self._pluggy.get_hookcallers(plugin) or []
        for caller in callers:
            if not caller.has_spec():
                known = [f"{PROJECT}_records", *self._registries]
                raise PluginError(
                    f"plugin {name} implements {caller.name}, which is not a hook"
                    f"{did_you_mean(caller.name, known)}; the hooks are: {', '.join(known)}"
                )
        if not callers and hasattr(plugin, "RECORD"):
            self._check("RECORD", name, [plugin.RECORD], self._kinds, result)
        elif not callers:
            raise PluginError(
                f"plugin {name} has no records; its entry point must lead to a module with a "
                "list `RECORDS`, such as RECORDS = [SeedRecord(...)], or with a `RECORD`"
            )
        for caller in callers:
            registry = self._registries.get(caller.name)
            with calling(f"plugin {name}", caller.name):
                # Only of this plugin, so that its failure harms no other.
                (one,) = (impl for impl in caller.get_hookimpls() if impl.plugin is plugin)
                records = one.function()
                if isinstance(records, Iterator):
                    records = list(records)  # a generator runs now
            expected = registry.record_type if registry else self._kinds
            self._check(caller.name, name, records, expected, result)

    @staticmethod
    def _check(where: str, name: str, records: Any, expected: Any, result: list[Record]) -> None:
        """Adds records, or raises `PluginError` with the fault in them."""
        holds = f"{where} of plugin {name}"
        if not isinstance(records, Iterable) or isinstance(records, str):
            raise PluginError(f"{holds}: {type(records).__name__}, not a list of records")
        for record in records:
            if not isinstance(record, expected):
                noun = getattr(expected, "__name__", "record")
                raise PluginError(f"{holds}: a {type(record).__name__} in it, not a {noun}")
            if not _NAME.fullmatch(record.name):
                raise PluginError(
                    f"{holds}: a {type(record).__name__} named {record.name!r}; a name starts "
                    "with a letter or digit, and continues with letters, digits, _ . or -"
                )
            if any(type(one) is type(record) and one.name == record.name for one in result):
                raise PluginError(f"plugin {name} registers {record.name!r} twice")
            result.append(record)

    def _add(self, records: list[Record], owner: Provenance) -> None:
        for record in records:
            registry = self._registry_of(record)
            if not registry.add(record, owner):
                self._set_aside(owner, registry.claimed_twice(record.name))

    def _registry_of(self, record: Record) -> Registry[Any]:
        return next(r for r in self._registries.values() if isinstance(record, r.record_type))

    def _set_aside(self, owner: Provenance, error: str, details: str = "") -> None:
        self._broken.append(BrokenPlugin(owner.plugin, owner.distribution, error, details))


_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
