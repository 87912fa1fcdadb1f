"""The plugin manager: finds plugins, keeps the errors of broken ones, hands out records by name.

A plugin is a module, named under the entry point group ``syncoll``, whose ``RECORDS`` are what it
adds.  One plugin must not harm another, so

* a plugin that is broken in any way (import or syntax error, an exit, no records, a record of the
  wrong type) is set aside with its error, and the others work on;
* a name that two plugins claim belongs to neither: asking for it is an error naming both.

There is no global manager: what needs one makes it, or is given it.
"""

from __future__ import annotations

import importlib.metadata
import re
import traceback
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from syncoll.errors import PluginError, SyncollError
from syncoll.plugins.exporters import ExporterRecord
from syncoll.plugins.guard import calling
from syncoll.plugins.importers import ImporterRecord
from syncoll.plugins.records import BackendRecord, EncodingRecord, SeedRecord, SpecLibraryRecord
from syncoll.plugins.registry import BrokenPlugin, Provenance, Registry

__all__ = ["PROJECT", "PluginManager", "hookimpl"]

PROJECT = "syncoll"
"""The entry point group."""

_MARK = "syncoll_impl"
_F = TypeVar("_F", bound=Callable[..., Any])


def hookimpl(function: _F) -> _F:
    """Marks a function that returns records, as plugins had them before ``RECORDS``."""
    setattr(function, _MARK, True)
    return function


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
        self._plugins: dict[str, object] = {}
        broken = self._broken = list[BrokenPlugin]()
        self.encodings = Registry(EncodingRecord, "encoding", "encodings", broken)
        self.backends = Registry(BackendRecord, "backend", "backends", broken)
        self.seeds = Registry(SeedRecord, "seed", "seeds", broken)
        self.spec_libraries = Registry(SpecLibraryRecord, "spec library", "spec libraries", broken)
        self.importers = Registry(ImporterRecord, "importer", "importers", broken)
        self.exporters = Registry(ExporterRecord, "exporter", "exporters", broken)
        self._registries: list[Registry[Any]] = [
            one for one in vars(self).values() if isinstance(one, Registry)
        ]

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
        """Adds a plugin from Python.

        Args:
            plugin: a module or any object with records in its ``RECORDS``.
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
                raise PluginError(registry.claimed_twice(record.name, owner))
        self._add(plugin, records, owner)

    def _load(self, point: importlib.metadata.EntryPoint, distribution: str, version: str) -> None:
        owner = Provenance(point.name, distribution, version)
        try:
            with calling(f"plugin {point.name}"):
                records = self._collect(plugin := point.load(), point.name)
        # A plugin's own exit must not end the program; an interrupt is the user's.
        except (SyncollError, MemoryError) as error:
            cause = error.__cause__ or error
            details = "" if cause is error else "".join(traceback.format_exception(cause))
            # Wherever this is told the plugin is named already.
            named = f"plugin {point.name}"
            told = str(error).removeprefix(f"{named} failed: ").removeprefix(f"{named}: ")
            self._set_aside(owner, told or type(error).__name__, details)
        else:
            self._add(plugin, records, owner)

    def _collect(self, plugin: object, name: str) -> list[Record]:
        """The records of a plugin.

        Raises:
            PluginError: when anything about it is wrong.
        """
        if name in self._plugins or any(plugin is one for one in self._plugins.values()):
            raise PluginError(f"plugin {name} is registered already")
        result: list[Record] = []
        for source, records in _sources(plugin, name).items():
            holds = f"{source} of plugin {name}"
            if not isinstance(records, Iterable) or isinstance(records, str):
                raise PluginError(f"{holds}: {type(records).__name__}, not a list of records")
            for record in records:
                if not isinstance(record, Record):
                    raise PluginError(f"{holds}: a {type(record).__name__} in it, not a record")
                if not _NAME.fullmatch(record.name):
                    raise PluginError(
                        f"{holds}: a {type(record).__name__} named {record.name!r}; a name starts "
                        "with a letter or digit, and goes on with these or any of _ . -"
                    )
                if any(type(one) is type(record) and one.name == record.name for one in result):
                    raise PluginError(f"plugin {name} registers {record.name!r} twice")
                result.append(record)
        return result

    def _add(self, plugin: object, records: list[Record], owner: Provenance) -> None:
        self._plugins[owner.plugin] = plugin
        for record in records:
            registry = self._registry_of(record)
            if not registry.add(record, owner):
                self._set_aside(owner, registry.claimed_twice(record.name))

    def _registry_of(self, record: Record) -> Registry[Any]:
        return next(r for r in self._registries if isinstance(record, r.record_type))

    def _set_aside(self, owner: Provenance, error: str, details: str = "") -> None:
        self._broken.append(BrokenPlugin(owner.plugin, owner.distribution, error, details))


_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


def _sources(plugin: object, name: str) -> dict[str, Any]:
    """What a plugin adds, by the name of what says so."""
    if hasattr(plugin, "RECORDS"):
        return {"RECORDS": plugin.RECORDS}
    found: dict[str, Any] = {}
    for hook in dir(plugin):
        function: Any = getattr(plugin, hook, None)
        if hasattr(function, _MARK):
            with calling(f"plugin {name}", hook):
                records = function()
                found[hook] = list(records) if isinstance(records, Iterator) else records
    if not found:
        raise PluginError(
            f"plugin {name} has no records; put what it adds into a list `RECORDS`, such as "
            "RECORDS = [SeedRecord(...)], where its entry point leads"
        )
    return found
